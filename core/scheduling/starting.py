"""Starts that were asked for by policies that start a job only where its request is free."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.actions import Reason, Resume, Start
from core.scheduling.model import JobState
from core.scheduling.retries import pause_after

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.model import Observation


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
