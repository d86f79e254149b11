"""Terminal output for people: tables with units, messages and progress bars."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table as RichTable

from core.plain_text import without_controls
from core.tables import Column, Table
from core.units import (
    format_count,
    format_duration,
    format_number,
    format_share,
    format_value,
    phase_name,
    plural,
    with_phase_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from core.application import StoreCheck
    from core.cli.offline_files import Checked, OpenQuestionsError, SequenceReport
    from core.phases import PhaseModel
    from core.progress_reporting import Progress
    from core.sequences import TransitionGraph

_MAX_RUNS = 12
_WIDE = 150
_MAX_PATHS = 20


def error(message: str, hint: str) -> None:
    """An error in two sentences, on standard error."""
    _console(stderr=True).print(f"[bold red]Error:[/] {plain(message)}\n{plain(hint)}", highlight=False)


def warning(headline: str, text: str) -> None:
    """Print a caveat about a result in one line on standard error."""
    _console(stderr=True).print(f"[bold yellow]Warning:[/] {plain(headline)} {plain(text)}", highlight=False)


def address(where: str, home: Path, ready: bool) -> None:
    """The address to open, so that it cannot be missed."""
    console = _console()
    if not ready:
        console.print(
            f"\n[bold]PhaseDock is not responding yet.[/] The log is in {plain(str(home / 'logs'))}\n"
        )
        return
    console.print(f"\n  [bold]PhaseDock is ready.[/] Open  [bold cyan]{where}[/]")
    console.print("  Press Ctrl+C to stop.\n", highlight=False)


def policies(rows: Sequence[Mapping[str, Any]], refused: Sequence[str]) -> None:
    """Every policy with its settings, and in sentences those that were refused."""
    console = _console(width=_WIDE)
    print_table(Table("policies", _POLICIES, rows), console, whole=("policy",))
    for sentence in refused:
        console.print(f"[bold yellow]Refused:[/] {plain(sentence)}", highlight=False)


_POLICIES = (
    Column("title", "policy"),
    Column("policy", "identifier"),
    Column("for", "for"),
    Column("kind", "kind"),
    Column("source", "from"),
    Column(
        "settings",
        "settings and defaults",
        value=lambda each: ", ".join(f"{one['name']}={one['default']}" for one in each["settings"]),
    ),
)


def readable(tables: Mapping[str, Any]) -> None:
    """The formats of files and the layouts of columns that can be read."""
    print_table(Table("formats", _FORMATS, tables["formats"]))
    print_table(Table("layouts", _LAYOUTS, tables["layouts"]))


_FORMATS = (
    Column("title", "format"),
    Column("name", "name"),
    Column("endings", "usual endings", value=lambda each: " ".join(each["endings"])),
)
_LAYOUTS = (Column("title", "layout of columns"), Column("name", "name"))
_FEATURES = (Column("name", "feature"), Column("role", "stands for"), Column("unit", "unit"))


def checked(file: Path, result: Checked) -> None:
    """Print the contents of a trace file, and its problems."""
    console, traces, summary = _console(), result.traces, result.summary
    console.print(f"[bold]{plain(file.name)}[/]: {plain(result.inspection.label)}", highlight=False)
    console.print(
        f"{plural(traces.n_executions, 'execution')}, {plural(traces.n_samples, 'sample')}, "
        f"one every {format_duration(traces.period)}, lasting {_range(summary['duration_s'])}",
        highlight=False,
    )
    print_table(Table("features", _FEATURES, traces.features), console)
    harmful = result.report.harmful
    for one in sorted(result.report.problems, key=lambda one: one not in harmful):
        mark = "[bold yellow]![/]" if one in harmful else "[dim]·[/]"
        console.print(f"{mark} {plain(one.sentence())}", highlight=False)
    if not result.report.problems:
        console.print("No problems found.")


def open_questions(file: Path, error: OpenQuestionsError) -> None:
    """Print what the columns of a file are so far, and the questions with the answers to each."""
    console, mapping = _console(), error.mapping
    console.print(f"[bold]{plain(file.name)}[/]: columns so far", highlight=False)
    rows = [(name, "execution", "") for name in mapping.executions]
    rows += [(mapping.time, "time", mapping.time_unit)] if mapping.time else []
    rows += [(one.column, one.role.value, one.unit_key) for one in mapping.features]
    print_table(Table("mapping", _MAPPED, rows), console)
    for question in error.to_dict()["questions"]:
        console.print(f"[bold yellow]?[/] {plain(question['question'])}", highlight=False)
        column, allowed = shlex.quote(question["column"]), " ".join(question["answers"])
        offered = f"seconds, such as {allowed}" if question["in_seconds"] else f"one of: {allowed}"
        console.print(f"  --set {plain(column)}=…  {plain(offered)}", highlight=False)


_MAPPED = (Column("column"), Column("meaning", "stands for"), Column("unit"))


def store_check(result: StoreCheck) -> None:
    """Print the contradictions in a store, line by line."""
    console = _console()
    for finding in result.findings:
        console.print(
            f"[bold]{finding.about} {plain(finding.id)}[/]: {plain(finding.sentence)}", highlight=False
        )
    looked = ", ".join(plural(count, name.removesuffix("s")) for name, count in result.checked.items())
    headline = plural(len(result.findings), "contradiction") if result.findings else "No contradictions"
    console.print(f"{headline} in {looked}.", highlight=False)


def model(trained: PhaseModel, out: Path, facts: Mapping[str, Any]) -> None:
    """A model that was saved, with its phases."""
    console = _console()
    if facts.get("epochs"):
        error_text = format_number(float(facts["final_error"]), 4)
        console.print(
            f"{facts['epochs']} epochs in {format_duration(float(facts['seconds']))}, error {error_text}",
            highlight=False,
        )
    if trained.statistics:
        columns = [_phase_column(trained.names), *_STATISTICS]
        print_table(Table("phases", columns, trained.statistics), console)
    else:
        phases = ", ".join(phase_name(phase, trained.names) for phase in trained.phases)
        console.print(f"Phases: {plain(phases)}", highlight=False)
    console.print(f"Saved to [bold]{plain(str(out))}[/]", highlight=False)


def _phase_column(names: Mapping[int, str]) -> Column:
    """The column of phases with the names that people gave to them."""
    return Column("phase", "phase", partial(phase_name, names=names), right=False)


_STATISTICS = (
    Column("share", "share", format_share),
    Column("cpu", "CPU", lambda cpu: format_value(cpu.mean, cpu.unit)),
    Column("memory", "memory", lambda memory: format_value(memory.mean, memory.unit)),
    Column("median_stay", "median dwell time", format_duration),
    Column("description", "description"),
)


def labels(by_execution: Mapping[str, Sequence[int]], names: Mapping[int, str]) -> None:
    """Each execution's phases as segments; `names` are those that people gave to phases."""
    rows = [(name, len(values), _segments(values, names)) for name, values in by_execution.items()]
    print_table(Table("labels", _LABELS, rows))


def _segments(numbers: Sequence[int], names: Mapping[int, str]) -> str:
    segments: list[list[int]] = []
    for number in numbers:
        if segments and segments[-1][0] == number:
            segments[-1][1] += 1
        else:
            segments.append([number, 1])
    text = " ".join(f"{phase_name(number - 1, names)}×{length}" for number, length in segments[:_MAX_RUNS])
    n_omitted = len(segments) - _MAX_RUNS
    return text if n_omitted <= 0 else f"{text} … and {n_omitted} more"


_LABELS = (
    Column("execution", "execution"),
    Column("samples", "samples", format_count),
    Column("phases", "phases"),
)


def sequences(analysed: SequenceReport) -> None:
    """Prototypes, transitions and dwell times, each in a table."""
    console, analysis, names = _console(), analysed.analysis, analysed.names
    console.print(analysed.sentence, highlight=False)
    rows = [
        (number, with_phase_names(str(path), names), path.count, path.share, path.covered, path.seconds)
        for number, path in enumerate(analysis.prototypes, 1)
    ]
    print_table(Table("prototypes", _PROTOTYPES, rows[:_MAX_PATHS]), console)
    if len(rows) > _MAX_PATHS:
        console.print(f"… and {len(rows) - _MAX_PATHS:,} more; --json has all of them.")
    print_table(_transitions(analysed.graph, names), console)
    print_table(_dwell_times(analysed), console)


_PROTOTYPES = (
    Column("number", "no.", lambda number: f"P{number}", right=False),
    Column("path", "packed sequence"),
    Column("count", "executions", format_count),
    Column("share", "share", format_share),
    Column("covered", "covers", partial(format_share, digits=0)),
    Column("seconds", "length", format_duration),
)


def _transitions(graph: TransitionGraph, names: Mapping[int, str]) -> Table:
    heads = [*(phase_name(phase, names) for phase in graph.phases), "end"]
    columns = [
        Column("after", "after"),
        *(Column(head, head, lambda chance: f"{chance:.2f}" if chance else "·") for head in heads),
        Column("seen", "seen", format_count),
    ]
    rows = [
        (" › ".join(phase_name(phase, names) for phase in state), *chances, visits)
        for state, chances, visits in zip(
            graph.states, graph.matrix()[0].tolist(), graph.visits.tolist(), strict=True
        )
    ]
    return Table("transitions", columns, rows)


def _dwell_times(analysed: SequenceReport) -> Table:
    columns = [
        _phase_column(analysed.names),
        Column("segments", "segments", format_count),
        Column("median", "median dwell time", format_duration),
    ]
    columns += [
        Column(f"within_{s:g}", f"in {format_duration(s)}", partial(format_share, digits=0))
        for s in analysed.within
    ]
    rows = [
        (phase, times.n_runs, times.median, *(times.leave_within(seconds) for seconds in analysed.within))
        for phase, times in analysed.dwell_times.items()
    ]
    return Table("dwell-times", columns, rows)


def comparison(report: Mapping[str, Any]) -> None:
    """Policies compared on held-out containers, one table per resource."""
    console = _console(width=_WIDE)
    console.print(plain(report["summary"]), highlight=False)
    for resource, best in report["best_reactive"].items():
        rows = [row for row in report["results"] if row["resource"] == resource]
        base = (
            f"the best reactive rule is {plain(_title(best))} ({plain(best)})"
            if best
            else "no reactive rule was compared"
        )
        console.print(f"\n[bold]{resource}[/]; {base}", highlight=False)
        print_table(Table(f"policies-{resource}", _COMPARED, rows), console, whole=("policy",))
    for missing in report["unavailable"]:
        console.print(
            f"• {plain(missing['policy'])} is left out. {plain(missing['reason'])}", highlight=False
        )
    for note in report["notes"]:
        console.print(f"• {plain(note)}", highlight=False)


def _title(policy: str) -> str:
    from core.provisioning.policies import policy_title

    return policy_title(policy)


def _matched(key: str, title: str, show: Callable[[Any], str] = format_share) -> Column:
    return Column(f"matched_{key}", title, show, lambda row: row["matched"][key])


def _saved(key: str, title: str, ends: tuple[str, str] | None = None) -> Column:
    """A saving against the best reactive rule, or the `ends` of its interval."""

    def value(row: Mapping[str, Any]) -> Any:
        saved = row["matched"]["against_best"] or {}
        if ends is None:
            return saved.get(key)
        pair = tuple(saved.get(end) for end in ends)
        return None if None in pair else pair

    return Column(key, title, format_share if ends is None else _span, value)


def _span(ends: tuple[float, float]) -> str:
    return f"{format_share(ends[0])} to {format_share(ends[1])}"


_COMPARED = (
    Column("policy_title", "policy", value=lambda row: _title(row["policy"])),
    Column("policy", "identifier"),
    Column("over", "over", format_share),
    Column("under_time_0", "short", format_share),
    _matched("over", "over matched"),
    _matched("under_time_0", "short"),
    _saved("saving", "less than best"),
    _saved("interval", "containers", ("low", "high")),
    _saved("group_interval", "groups", ("group_low", "group_high")),
    _matched("gap_closed", "gap"),
)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Progress | None]:
    """A bar on standard error while the block runs."""
    if quiet:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=_console(stderr=True), transient=True) as bar:
        task = bar.add_task("Reading traces", total=1.0)

        def say(fraction: float, message: str, /, **_metrics: float) -> None:
            bar.update(task, completed=fraction, description=plain(message))

        yield say


def _range(values: Any) -> str:
    low, high = format_duration(float(values.min())), format_duration(float(values.max()))
    return low if low == high else f"{low} to {high}"


def plain(text: str) -> str:
    """An untrusted text made safe for the console: neither markup nor anything that a terminal obeys."""
    return escape(without_controls(text))


def print_table(
    table: Table, console: Console | None = None, *, whole: Collection[str] = (), **style: Any
) -> None:
    """A table with its titled columns; those in `whole` are not wrapped."""
    (console or _console()).print(terminal_table(table, whole=whole, **style))


def terminal_table(table: Table, *, whole: Collection[str] = (), **style: Any) -> RichTable:
    """The table as rich draws it; names in it are neither markup nor commands."""
    rich_table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, **style)
    for column in table.titled:
        rich_table.add_column(
            plain(column.title),
            justify="right" if column.is_right else "left",
            no_wrap=column.key in whole,
        )
    for row in table.rows:
        rich_table.add_row(*map(plain, table.texts(row)))
    return rich_table


def _console(*, stderr: bool = False, width: int | None = None) -> Console:
    return Console(stderr=stderr, soft_wrap=True, width=width)
