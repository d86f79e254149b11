"""When a start is tried again: soon after it failed, then ever later, or after a while without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from core.scheduling.actions import Reason, Resume, Start
from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.model import Observation

PATIENCE: Final = 60.0
"""Seconds after which a start that was neither confirmed nor refused is asked for again."""
_FIRST, _DOUBLINGS = 5.0, 7


def pause_after(failures: int) -> float:
    """Seconds until it is tried again once `failures` before this one failed: 5, 10, 20 … 640."""
    return float(_FIRST * 2.0 ** min(failures, _DOUBLINGS))


class Asked(NamedTuple):
    """A start that was asked for, or failed: on which worker, until when it is waited for, and how often.

    `worker` is None after it failed; `avoids` is where that was.
    """

    worker: str | None
    until: float
    refusals: int = 0
    avoids: str | None = None


def after_failures(before: Mapping[str, Asked], seen: Observation) -> tuple[dict[str, Asked], list[Reason]]:
    """The starts of those that still wait, by their names, with the failures that are seen now."""
    waiting = {job.id for job in seen.jobs if job.state is JobState.WAITING}
    asked = {name: each for name, each in before.items() if name in waiting}
    reasons = []
    for failure in seen.failures:
        name = failure.action.job
        if isinstance(failure.action, Start | Resume) and (tried := asked.get(name)) is not None:
            again = seen.time + pause_after(tried.refusals)
            asked[name] = Asked(None, again, tried.refusals + 1, tried.worker)
            text = f"{name} could not start: {failure.why}"
            reasons.append(Reason("failed start", text, name, tried.worker))
    return asked, reasons
