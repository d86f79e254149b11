"""Terminal output for running containers."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.live import Live

from core.cli.output import plain, print_table, terminal_table
from core.tables import Column, Table
from core.units import (
    DASH,
    format_bytes,
    format_cores,
    format_count,
    format_duration,
    format_number,
    format_share,
    plural,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table as RichTable

    from core.live.queue.deadline_previews import Answer
    from core.live.queue.values import QueuedJob
    from core.sampling.values import ContainerRow, LimitChange, LiveView, ReleaseResult
    from core.workspace.records import TraceSetInfo


def outlook(answer: Answer) -> None:
    """Whether a deadline can be met, and what that costs others."""
    from core.live.queue.deadline_previews import sentences

    console = Console(soft_wrap=True)
    for sentence in sentences(answer):
        console.print(plain(sentence), highlight=False)


def submitted(job: QueuedJob) -> None:
    """Print a submitted job and what it waits for."""
    console = Console(soft_wrap=True)
    console.print(
        f"[bold]{plain(job.name)}[/] waits on {plain(job.engine)}. {plain(job.why)}", highlight=False
    )


def jobs(engine: str, queued: Sequence[QueuedJob]) -> None:
    """The jobs of an engine in a table."""
    console = Console(soft_wrap=True)
    if not queued:
        console.print(f"No jobs on {plain(engine)}. Submit one: phasedock submit --program mlp")
        return
    now = time.time()
    print_table(Table(f"{engine}-jobs", _job_columns(now), queued), console, collapse_padding=True)
    for job in queued:
        if job.spec.deadline is not None and not job.state.over:
            console.print(f"[bold]{plain(job.name)}[/]: {_due(job, now)}", highlight=False)
    for sentence, names in _reasons(queued).items():
        console.print(f"[bold]{plain(', '.join(names))}[/]: {plain(sentence)}", highlight=False)


def _reasons(queued: Sequence[QueuedJob]) -> dict[str, list[str]]:
    """The names of jobs by the reason for which they wait or are over."""
    names: dict[str, list[str]] = {}
    for job in queued:
        if job.why:
            names.setdefault(job.why, []).append(job.name)
    return names


def ended(cancelled: Sequence[QueuedJob], *, removed: bool) -> None:
    """Print the outcome of cancelling jobs."""
    console = Console(soft_wrap=True)
    for job in cancelled:
        cancel_word = "is being ended" if job.cancelling else "is cancelled"
        word = "is removed" if removed and job.state.over else cancel_word
        console.print(f"[bold]{plain(job.name)}[/] {word}.", highlight=False)


def _due(job: QueuedJob, now: float) -> str:
    """A job's deadline, whether it is guaranteed, and the predicted finish time."""
    from core.deadline_text import format_deadline

    promised = {None: "", True: ", promised", False: ", not promised"}[job.promised]
    ends = None if job.stands is None else job.stands.ends
    expected = "" if ends is None else f"; expected to end {format_deadline(ends, now)}"
    return f"to be done by {format_deadline(job.spec.deadline or now, now)}{promised}{expected}."


def _job_columns(now: float) -> list[Column]:
    def age(job: QueuedJob) -> float:
        return max(now - (job.finished or job.started or job.created), 0.0)

    return [
        Column("name", "job"),
        Column("state", "state", value=lambda job: "ending" if job.cancelling else job.state),
        Column("priority", "priority", format_count),
        Column("cores", "cores", format_number),
        Column("threads", "threads", format_count),
        Column("age_s", "for", format_duration, age),
        Column("image", "image", value=lambda job: job.spec.image),
    ]


def watch(views: Iterable[LiveView], seconds: float) -> None:
    """Samples in one table, each replacing the one before; ends after `seconds`, or with Ctrl+C."""
    until = time.monotonic() + seconds
    try:
        console = Console()
        # a file has no height that lines could be cut at
        overflow: Literal["ellipsis", "visible"] = "ellipsis" if console.is_terminal else "visible"
        with Live(console=console, auto_refresh=False, vertical_overflow=overflow) as screen:
            for view in views:
                screen.update(_table(view), refresh=True)
                if seconds and time.monotonic() >= until:
                    return
    except KeyboardInterrupt:
        return


def to_be_touched(policy: str, mode: str, engine: str, containers: Sequence[str]) -> None:
    """What attaching a policy would concern."""
    console = Console(soft_wrap=True)
    does = "change the limits of" if mode == "control" else "watch, and change nothing of,"
    console.print(
        f"[bold]{plain(policy)}[/] would {does} {plural(len(containers), 'container')} on {plain(engine)}:",
        highlight=False,
    )
    for name in containers:
        console.print(f"  {plain(name)}", highlight=False)
    if mode == "control":
        console.print("Their limits are restored by: phasedock detach", highlight=False)


def attached(policy: str, engine: str) -> None:
    """That a policy was attached."""
    Console(soft_wrap=True).print(
        f"{plain(policy)} is attached to {plain(engine)}. End it: phasedock detach", highlight=False
    )


def detached(engine: str, restored: bool) -> None:
    """That a policy was detached."""
    text = "The policy is detached; every limit that it changed is restored."
    late = "The policy is being detached; its worker has not restored all limits yet."
    Console(soft_wrap=True).print(f"{plain(engine)}: {text if restored else late}", highlight=False)


def recording(name: str, engine: str) -> None:
    """That a recording runs in the background."""
    Console(soft_wrap=True).print(
        f"“{plain(name)}” is being recorded on {plain(engine)}. Stop it: phasedock record --stop",
        highlight=False,
    )


def limit_changed(change: LimitChange) -> None:
    """The limits of a container before and after a change by hand."""
    Console(soft_wrap=True).print(f"[bold]{plain(change.container)}[/]: {change.sentence}", highlight=False)


def recorded(info: TraceSetInfo) -> None:
    """A trace set that was recorded."""
    Console(soft_wrap=True).print(
        f"[bold]{plain(info.name)}[/]: {plural(info.n_executions, 'container')}, "
        f"{plural(info.n_samples, 'sample')}. It is in the list of trace sets.",
        highlight=False,
    )


def released(result: ReleaseResult) -> None:
    """The outcome of a release."""
    console = Console(soft_wrap=True)
    if not (result.restored or result.gone or result.failed):
        console.print("Nothing to restore: PhaseDock has changed no limits.")
    for name in result.restored:
        console.print(f"The limits of {plain(name)} are restored.", highlight=False)
    for name in result.gone:
        console.print(f"{plain(name)} no longer exists.", highlight=False)
    for name, why in result.failed:
        console.print(f"[bold red]{plain(name)}[/] could not be restored: {plain(why)}", highlight=False)


# Cores stand without their unit, which the heads or the title have: lines are short.
_CONTAINERS = (
    Column("name", "container"),
    Column("cpu", "cores", format_number),
    Column("cpu_limit", "limit", format_number, missing="none"),
    Column("memory", "memory", format_bytes),
    Column("memory_limit", "limit", format_bytes, missing="none"),
    Column("throttled", "throttled", partial(format_share, digits=0)),
    Column("loss", "loss", partial(format_number, digits=4)),
    Column("held", "held", lambda held: "yes" if held else "", right=False),
)


def _table(view: LiveView) -> RichTable:
    columns = [column.key for column in _CONTAINERS]
    table = terminal_table(
        Table(view.engine.name, _CONTAINERS, view.rows),
        whole=columns,
        collapse_padding=True,
        title_justify="left",
        caption_justify="left",
    )
    totals = view.totals
    used, capacity = (
        DASH if value is None else show(value)
        for value, show in ((totals.cpu, format_number), (totals.cores, format_cores))
    )
    table.title = f"{view.engine.name}: {used} of {capacity}"
    verb = "is" if view.others == 1 else "are"
    others = f"{plural(view.others, 'other container')} {verb} neither labelled nor selected."
    troubles = (_describe_trouble(row, view.at) for row in (*view.rows, *view.stopped))
    table.caption = "\n".join(map(plain, [*filter(None, troubles), others]))
    return table


def _describe_trouble(row: ContainerRow, at: float | None) -> str:
    """A container's last end as the page shows it, in a line; empty if it just runs."""
    if row.trouble is None:
        return f"{row.name}: {row.unreadable}" if row.unreadable else ""
    _, word, details = row.trouble
    passed = None if row.ended is None or row.is_running or at is None else max(at - row.ended, 0.0)
    parts = [word, details, "" if passed is None else f"{format_duration(passed)} ago"]
    return f"{row.name}: {', '.join(filter(None, parts))}"
