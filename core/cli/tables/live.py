"""Terminal output for running containers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from core.cli.output import plain
from core.units import format_bytes, format_cores, format_duration, format_number, format_share, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.live.queue.deadline_previews import Answer
    from core.live.queue.values import QueuedJob
    from core.sampling.values import ContainerRow, LiveView, ReleaseResult
    from core.workspace.records import TraceSetInfo


_JOB_HEADS = ("job", "state", "priority", "cores", "threads", "for", "image")
_NUMBERS = ("priority", "cores", "threads", "for")


def outlook(found: Answer) -> None:
    """Whether a deadline can be met, and what that costs others."""
    from core.live.queue.deadline_previews import sentences

    console = Console(soft_wrap=True)
    for sentence in sentences(found):
        console.print(plain(sentence), highlight=False)


def submitted(job: QueuedJob) -> None:
    """A job that was submitted, and what it waits for."""
    console = Console(soft_wrap=True)
    console.print(
        f"[bold]{plain(job.name)}[/] waits on {plain(job.engine)}. {plain(job.why)}", highlight=False
    )


def jobs(engine: str, found: Sequence[QueuedJob]) -> None:
    """The jobs of an engine in a table."""
    console = Console(soft_wrap=True)
    if not found:
        console.print(f"No jobs on {plain(engine)}. Submit one: phasedock submit --program mlp")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in _JOB_HEADS:
        table.add_column(head, justify="right" if head in _NUMBERS else "left")
    now = time.time()
    for job in found:
        table.add_row(*_job_cells(job, now))
    console.print(table)
    for job in found:
        if job.spec.deadline is not None and not job.state.over:
            console.print(f"[bold]{plain(job.name)}[/]: {_due(job, now)}", highlight=False)
    for sentence, names in _reasons(found).items():
        console.print(f"[bold]{plain(', '.join(names))}[/]: {plain(sentence)}", highlight=False)


def _reasons(found: Sequence[QueuedJob]) -> dict[str, list[str]]:
    """What is known of why jobs wait or are over, and of which jobs it is said."""
    said: dict[str, list[str]] = {}
    for job in found:
        if job.why:
            said.setdefault(job.why, []).append(job.name)
    return said


def ended(done: Sequence[QueuedJob], *, removed: bool) -> None:
    """What became of jobs that were cancelled."""
    console = Console(soft_wrap=True)
    for job in done:
        said = "is being ended" if job.cancelling else "is cancelled"
        word = "is removed" if removed and job.state.over else said
        console.print(f"[bold]{plain(job.name)}[/] {word}.", highlight=False)


def _due(job: QueuedJob, now: float) -> str:
    """By when it has to be done, whether that is promised, and when it is expected to end."""
    from core.moments import say_deadline

    promised = {None: "", True: ", promised", False: ", not promised"}[job.promised]
    ends = None if job.stands is None else job.stands.ends
    expected = "" if ends is None else f"; expected to end {say_deadline(ends, now)}"
    return f"to be done by {say_deadline(job.spec.deadline or now, now)}{promised}{expected}."


def _job_cells(job: QueuedJob, now: float) -> tuple[str, ...]:
    since = job.finished or job.started or job.created
    return (
        plain(job.name),
        "ending" if job.cancelling else str(job.state),
        f"{job.priority}",
        "–" if job.cores is None else format_number(job.cores),
        "–" if job.threads is None else f"{job.threads}",
        format_duration(max(now - since, 0.0)),
        plain(job.spec.image),
    )


_HEADS = ("container", "cores", "limit", "memory", "limit", "throttled", "loss", "held")


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


def recorded(info: TraceSetInfo) -> None:
    """A trace set that was recorded."""
    Console(soft_wrap=True).print(
        f"[bold]{plain(info.name)}[/]: {plural(info.n_executions, 'container')}, "
        f"{plural(info.n_samples, 'sample')}. It is in the list of trace sets.",
        highlight=False,
    )


def released(done: ReleaseResult) -> None:
    """The outcome of a release."""
    console = Console(soft_wrap=True)
    if not (done.restored or done.gone or done.failed):
        console.print("Nothing to restore: PhaseDock has changed no limits.")
    for name in done.restored:
        console.print(f"The limits of {plain(name)} are restored.", highlight=False)
    for name in done.gone:
        console.print(f"{plain(name)} no longer exists.", highlight=False)
    for name, why in done.failed:
        console.print(f"[bold red]{plain(name)}[/] could not be restored: {plain(why)}", highlight=False)


def _table(view: LiveView) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
        title_justify="left",
        caption_justify="left",
    )
    for place, head in enumerate(_HEADS):
        table.add_column(head, justify="right" if 0 < place < len(_HEADS) - 1 else "left", no_wrap=True)
    for row in view.rows:
        table.add_row(*_cells(row))
    totals = view.totals
    of = "–" if totals.cores is None else format_cores(totals.cores)
    table.title = f"{view.engine.name}: {_number(totals.cpu)} of {of}"
    verb = "is" if view.others == 1 else "are"
    table.caption = f"{plural(view.others, 'other container')} {verb} neither labelled nor selected."
    return table


def _cells(row: ContainerRow) -> tuple[str, ...]:
    return (
        plain(row.name),
        _number(row.cpu),
        "none" if row.cpu_limit is None else _number(row.cpu_limit),
        "–" if row.memory is None else format_bytes(row.memory),
        "none" if row.memory_limit is None else format_bytes(row.memory_limit),
        "–" if row.throttled is None else format_share(row.throttled, 0),
        "–" if row.loss is None else format_number(row.loss, 4),
        "yes" if row.held else "",
    )


def _number(cores: float | None) -> str:
    """Cores without their unit, which the head or what follows says: lines are short."""
    return "–" if cores is None else format_number(cores)
