"""Who waits, and who comes first: by arrival, by priority with ageing and feedback, or in turns.

Ageing (a job that waits rises by one step of priority for every `ageing` seconds) keeps any job from waiting
for ever; with feedback a job falls by one each time it has been run. In turns, a paused job queues up again
behind those that wait already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.scheduling.retries import PATIENCE, pause_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.scheduling.policies.elastic.book import Claim, Held
    from core.scheduling.policies.elastic.settings import ElasticSettings


@dataclass(frozen=True, slots=True)
class Queued:
    """A job that wants cores and has none."""

    #: What it asks for where it asks for most: on the largest worker.
    claim: Claim
    #: When it queued up: its arrival, or when it was paused.
    since: float
    #: The worker that holds its place while it is paused; None before its first start.
    worker: str | None = None
    #: How often it was run before.
    runs: int = 0
    #: When it may be tried again after a start that failed or was not confirmed.
    again: float = 0.0
    #: How many starts in a row failed.
    refusals: int = 0
    #: What was last said of why it waits.
    told: str = ""

    def with_priority(self, priority: int) -> Queued:
        """The same with the priority that its owner says now."""
        if priority == self.claim.priority:
            return self
        return replace(self, claim=replace(self.claim, priority=priority))

    def tried(self, now: float) -> Queued:
        """After a start was asked for: it is not asked for again at once."""
        return replace(self, again=now + PATIENCE)

    def failed(self, now: float) -> Queued:
        """After a start failed: it is tried again after a pause that doubles."""
        return replace(self, again=now + pause_after(self.refusals), refusals=self.refusals + 1)


def paused(held: Held, worker: str, now: float) -> Queued:
    """A job that is paused queues up again."""
    return Queued(held.claim, now, worker, held.runs)


def order(settings: ElasticSettings, now: float) -> Callable[[Queued], tuple[float, float, str]]:
    """The key by which those that wait are sorted."""
    if settings.order == "priority":
        return lambda each: (-rank(each, settings, now), each.claim.arrived, each.claim.job)
    return lambda each: (each.since, each.claim.arrived, each.claim.job)


def rank(each: Queued, settings: ElasticSettings, now: float) -> float:
    """Priority with ageing and feedback; the highest comes first."""
    aged = (now - each.since) / settings.ageing if settings.ageing > 0 else 0.0
    return each.claim.priority + aged - (each.runs if settings.feedback else 0)
