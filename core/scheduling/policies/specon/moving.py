"""SpeCon's migrations under way: which are asked for, which have arrived, which went wrong.

A migration that fails leaves the container where it was, and its decision stands: it is not tried again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.actions import Migrate, Reason
from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.lookup import Standing
    from core.scheduling.model import Observation

PATIENCE = 300.0
"""Seconds after which a migration that never began, and was never refused, is given up."""


class Move(NamedTuple):
    """A migration that was asked for."""

    #: The target.
    to: str
    #: When it was asked for, seconds.
    since: float
    #: True once the container was seen migrating.
    begun: bool = False


def followed(
    moves: Mapping[str, Move], seen: Observation, jobs: Mapping[str, Standing]
) -> tuple[Mapping[str, Move], tuple[Reason, ...]]:
    """The migrations that are still under way, and a reason for each that is over."""
    if not moves:
        return moves, ()
    failed = {(f.action.job, f.action.to): f.why for f in seen.failures if isinstance(f.action, Migrate)}
    open_, reasons = {}, []
    for name, move in moves.items():
        job = jobs.get(name)
        end = _ending(job, move, failed.get((name, move.to)), seen.time)
        if job is not None and end is None:
            open_[name] = move._replace(begun=move.begun or job.state is JobState.MIGRATING)
        elif end is not None:
            reasons.append(Reason(end[0], f"{name} {end[1]}", name, move.to))
    return open_, tuple(reasons)


def _ending(job: Standing | None, move: Move, why: str | None, now: float) -> tuple[str, str] | None:
    """The rule and sentence of a migration that is over, or None while it is not."""
    if job is None:
        return "Migration, job ended", f"ended before it was on {move.to}."
    if why is not None:
        return "Migration failed", f"goes on on {job.worker}: {why}"
    if job.state is JobState.MIGRATING:
        return None
    if job.worker == move.to:
        return "Migration done", f"goes on on {move.to}."
    if move.begun or now - move.since > PATIENCE:
        return "Migration failed", f"goes on on {job.worker}; it never came to {move.to}."
    return None
