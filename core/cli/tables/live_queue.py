"""Terminal output for submitted jobs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from core.cli.output import plain
from core.units import format_duration, format_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.live.queue.asking import Answer
    from core.live.queue.values import QueuedJob

_HEADS = ("job", "state", "priority", "cores", "threads", "for", "image")
_NUMBERS = ("priority", "cores", "threads", "for")


def outlook(found: Answer) -> None:
    """Whether a deadline can be met, and what that costs others."""
    from core.live.queue.asking import sentences

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
    for head in _HEADS:
        table.add_column(head, justify="right" if head in _NUMBERS else "left")
    now = time.time()
    for job in found:
        table.add_row(*_cells(job, now))
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


def _cells(job: QueuedJob, now: float) -> tuple[str, ...]:
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
