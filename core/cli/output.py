"""Terminal output for people: tables with units, messages and progress bars."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from core.plain_text import without_controls
from core.units import format_duration, format_number, format_share, format_value, phase_name, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from core.application import StoreCheck
    from core.cli.offline_models import Checked
    from core.cli.offline_sequences import FoundSequences
    from core.phases import FeatureStatistics, PhaseModel
    from core.progress_reporting import Progress

_RUNS_SHOWN = 12
_WIDE = 126
_COMPARED = (
    "policy", "over", "short", "over matched", "short", "less than best", "containers", "groups", "gap"
)  # fmt: skip
_PATHS_SHOWN = 20


def error(message: str, hint: str) -> None:
    """An error in two sentences, on standard error."""
    _console(stderr=True).print(f"[bold red]Error:[/] {plain(message)}\n{plain(hint)}", highlight=False)


def warning(headline: str, text: str) -> None:
    """What has to be known before believing a result, in one line on standard error."""
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


def policies(found: Sequence[Mapping[str, Any]], refused: Sequence[str]) -> None:
    """Every policy with its settings, and in sentences those that were refused."""
    console = _console(width=_WIDE)
    table = _table("policy", "for", "kind", "from", "settings and defaults", right=())
    for each in found:
        settings = ", ".join(f"{one['name']}={one['default']}" for one in each["settings"])
        table.add_row(each["policy"], each["for"], each["kind"], plain(each["source"]), plain(settings))
    console.print(table)
    for sentence in refused:
        console.print(f"[bold yellow]Refused:[/] {plain(sentence)}", highlight=False)


def readable(found: Mapping[str, Any]) -> None:
    """The formats of files and the layouts of columns that can be read."""
    console = _console()
    formats = _table("format", "name", "usual endings", right=())
    for each in found["formats"]:
        formats.add_row(plain(each["title"]), each["name"], " ".join(each["endings"]))
    layouts = _table("layout of columns", "name", right=())
    for each in found["layouts"]:
        layouts.add_row(plain(each["title"]), each["name"])
    console.print(formats)
    console.print(layouts)


def checked(file: Path, found: Checked) -> None:
    """What a trace file holds, and what was wrong with it."""
    console, traces, summary = _console(), found.traces, found.summary
    console.print(f"[bold]{plain(file.name)}[/]: {plain(found.inspection.label)}", highlight=False)
    console.print(
        f"{plural(traces.n_executions, 'execution')}, {plural(traces.n_samples, 'sample')}, "
        f"one every {format_duration(traces.period)}, lasting {_range(summary['duration_s'])}",
        highlight=False,
    )
    table = _table("feature", "stands for", "unit", right=())
    for feature in traces.features:
        table.add_row(plain(feature.name), feature.role.value, feature.unit.value)
    console.print(table)
    sentences = found.report.sentences()
    for sentence in sentences:
        console.print(f"• {plain(sentence)}", highlight=False)
    if not sentences:
        console.print("No problems found.")


def store_check(found: StoreCheck) -> None:
    """What is wrong with a store, line by line."""
    console = _console()
    for finding in found.findings:
        console.print(
            f"[bold]{finding.about} {plain(finding.id)}[/]: {plain(finding.sentence)}", highlight=False
        )
    looked = ", ".join(f"{count:,} {name}" for name, count in found.checked.items())
    said = f"{len(found.findings):,} contradictions" if found.findings else "No contradictions"
    console.print(f"{said} in {looked}.", highlight=False)


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
        table = _table(
            "phase", "share", "CPU", "memory", "median dwell time", "description", right=(1, 2, 3, 4)
        )
        for each in trained.statistics:
            table.add_row(
                phase_name(each.phase),
                format_share(each.share),
                _mean(each.cpu),
                _mean(each.memory),
                format_duration(each.median_stay),
                plain(each.description),
            )
        console.print(table)
    else:
        console.print(f"Phases: {', '.join(phase_name(phase) for phase in trained.phases)}", highlight=False)
    console.print(f"Saved to [bold]{plain(str(out))}[/]", highlight=False)


def labels(by_execution: Mapping[str, Sequence[int]]) -> None:
    """Each execution's phases, by their numbers, as runs."""
    table = _table("execution", "samples", "phases", right=(1,))
    for name, values in by_execution.items():
        table.add_row(plain(name), f"{len(values):,}", _runs(values))
    _console().print(table)


def sequences(found: FoundSequences) -> None:
    """Prototypes, transitions and dwell times, each in a table."""
    console, analysis, graph = _console(), found.analysis, found.graph
    console.print(found.sentence, highlight=False)
    table = _table("no.", "packed sequence", "executions", "share", "covers", "length", right=(2, 3, 4, 5))
    for number, path in enumerate(analysis.prototypes[:_PATHS_SHOWN], 1):
        facts = (f"{path.count:,}", format_share(path.share), format_share(path.covered, 0))
        table.add_row(f"P{number}", plain(str(path)), *facts, format_duration(path.seconds))
    console.print(table)
    if len(analysis.prototypes) > _PATHS_SHOWN:
        console.print(f"… and {len(analysis.prototypes) - _PATHS_SHOWN:,} more; --json has all of them.")
    heads = [*(phase_name(phase) for phase in graph.phases), "end", "seen"]
    table = _table("after", *heads, right=range(1, len(heads) + 1))
    for state, row, visits in zip(
        graph.states, graph.matrix()[0].tolist(), graph.visits.tolist(), strict=True
    ):
        shown = [f"{chance:.2f}" if chance else "·" for chance in row]
        table.add_row(" ".join(phase_name(phase) for phase in state), *shown, f"{visits:,}")
    console.print(table)
    table = _table(
        "phase",
        "segments",
        "median dwell time",
        *(f"in {format_duration(s)}" for s in found.within),
        right=range(1, 9),
    )
    for phase, times in found.dwell_times.items():
        chances = [format_share(times.leave_within(seconds), 0) for seconds in found.within]
        table.add_row(phase_name(phase), f"{times.n_runs:,}", format_duration(times.median), *chances)
    console.print(table)


def comparison(report: Mapping[str, Any]) -> None:
    """Policies compared on held-out containers, one table per resource."""
    console = _console(width=_WIDE)
    console.print(plain(report["summary"]), highlight=False)
    for resource, best in report["best_reactive"].items():
        rows = [row for row in report["results"] if row["resource"] == resource]
        console.print(f"\n[bold]{resource}[/]; the best reactive rule is {plain(str(best))}", highlight=False)
        table = _table(*_COMPARED, right=range(1, len(_COMPARED)))
        table.columns[0].no_wrap = True
        for row in rows:
            matched, saved = row["matched"], row["matched"]["against_best"] or {}
            shares = [row["over"], row["under_time_0"], matched["over"], matched["under_time_0"]]
            table.add_row(
                plain(row["policy"]),
                *(_share_of(value) for value in shares),
                _share_of(saved.get("saving")),
                _span(saved.get("low"), saved.get("high")),
                _span(saved.get("group_low"), saved.get("group_high")),
                _share_of(matched["gap_closed"]),
            )
        console.print(table)
    for missing in report["unavailable"]:
        console.print(
            f"• {plain(missing['policy'])} is left out. {plain(missing['reason'])}", highlight=False
        )
    for note in report["notes"]:
        console.print(f"• {plain(note)}", highlight=False)


def _span(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{format_share(low)} to {format_share(high)}"


def _share_of(value: float | None) -> str:
    return "–" if value is None else format_share(value)


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


def _runs(values: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    shown = " ".join(f"{phase_name(number - 1)}×{length}" for number, length in runs[:_RUNS_SHOWN])
    return shown if len(runs) <= _RUNS_SHOWN else f"{shown} … and {len(runs) - _RUNS_SHOWN} more"


def _mean(statistics: FeatureStatistics | None) -> str:
    return "–" if statistics is None else format_value(statistics.mean, statistics.unit)


def _range(values: Any) -> str:
    low, high = format_duration(float(values.min())), format_duration(float(values.max()))
    return low if low == high else f"{low} to {high}"


def plain(text: str) -> str:
    """An untrusted text made safe for the console: neither markup nor anything that a terminal obeys."""
    return escape(without_controls(text))


def _table(*heads: str, right: Sequence[int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place in right else "left")
    return table


def _console(*, stderr: bool = False, width: int | None = None) -> Console:
    return Console(stderr=stderr, soft_wrap=True, width=width)
