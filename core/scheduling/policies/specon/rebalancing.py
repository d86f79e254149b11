"""SpeCon, Algorithm 5: spread containers again when all have converged; as resolved, and as printed.

As printed it can move containers to and fro, never fire (bf is rounded down to 0 with fewer containers than
workers) or move several at once. Resolved: bf = ⌈containers / workers⌉; the least-loaded worker below bf
takes, from the most-loaded one that has at least two more, the container with the shortest time since its
convergence; one move per interval, and each container once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.actions import Migrate, Reason
from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from core.scheduling.lookup import Standing
    from core.scheduling.model import Observation, Worker


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


_SHOWN = 16  # scores that a reason carries at most: of a thousand workers, those that decided


def scores(
    categories: Iterable[tuple[str, str]], workers: Sequence[Worker], weights: Mapping[str, float]
) -> dict[str, float]:
    """Lines 2 and 3: the weighted score of every worker."""
    score = {worker.id: 0.0 for worker in workers}
    for worker, category in categories:
        if worker in score:
            score[worker] += weights[category]
    return score


def candidates(score: Mapping[str, float]) -> list[str]:
    """Lines 4 to 7: the workers with the least score."""
    least = min(score.values())
    return [worker for worker, each in score.items() if each <= least + 1e-9]


def chosen(job: str, own: str, score: Mapping[str, float], workers: Sequence[Worker]) -> tuple[str, Reason]:
    """Lines 8 to 21: where the container shall run, which may be where it is.

    Parameters
    ----------
    job, own
        The container, and its worker.
    score
        Of every worker.
    workers
        With the cores in use on each, for ties.
    """
    targets = candidates(score)
    shown = score if len(score) <= _SHOWN else dict.fromkeys((own, *targets[:_SHOWN]))
    values = tuple((f"score of {name}", score[name]) for name in shown)
    if own in targets:
        text = f"{job} stays: no worker is scored below {own}."
        return own, Reason("Algorithm 4, lines 8–10", text, job, own, values)
    if len(targets) == 1:
        to, lines, why = targets[0], "11–16", "has the least score"
    else:
        used = {worker.id: worker.used for worker in workers}
        to = min(targets, key=lambda name: (used[name], name))
        lines, why = "17–21", f"uses least of the {len(targets)} with the least score"
    text = f"{job} moves from {own} to {to}, which {why}."
    return to, Reason(f"Algorithm 4, lines {lines}", text, job, own, values)


class Placed(NamedTuple):
    """A container as Algorithm 5 sees it."""

    #: The container, and the worker that it is on or on its way to.
    job: str
    worker: str
    #: Seconds since it converged.
    duration: float
    #: True if it writes checkpoints; what does not cannot be moved at all.
    able: bool = True
    #: True if Algorithm 5 has moved it before.
    rebalanced: bool = False


class Rebalanced(NamedTuple):
    """A container to move, and why."""

    job: str
    to: str
    reason: Reason


def loads(placed: Sequence[Placed], workers: Sequence[Worker]) -> dict[str, int]:
    """|w| of every worker (line 3)."""
    load = {worker.id: 0 for worker in workers}
    for each in placed:
        load[each.worker] += 1
    return load


def resolved(placed: Sequence[Placed], workers: Sequence[Worker]) -> tuple[Rebalanced, ...]:
    """One move at most."""
    load = loads(placed, workers)
    used = {worker.id: worker.used for worker in workers}
    factor = -(-len(placed) // len(workers))
    target = min(load, key=lambda name: (load[name], used[name], name))
    if load[target] >= factor:
        return ()
    donors = _movable(placed, [name for name in load if load[name] >= load[target] + 2])
    if not donors:
        return ()
    donor = min(donors, key=lambda name: (-load[name], -used[name], name))
    mover = donors[donor]
    values = (
        ("jobs here", float(load[donor])),
        ("jobs there", float(load[target])),
        ("bf", float(factor)),
        ("seconds since convergence", mover.duration),
    )
    text = f"{mover.job} moves from {donor} ({load[donor]} jobs) to {target} ({load[target]})."
    return (Rebalanced(mover.job, target, Reason("Algorithm 5 as resolved", text, mover.job, donor, values)),)


def _movable(placed: Sequence[Placed], donors: Sequence[str]) -> dict[str, Placed]:
    """What each donor would give: of those never rebalanced, the one that converged last."""
    best: dict[str, Placed] = {}
    allowed = set(donors)
    for each in placed:
        if each.able and not each.rebalanced and each.worker in allowed:
            before = best.get(each.worker)
            if before is None or each.duration < before.duration:
                best[each.worker] = each
    return best


def as_printed(placed: Sequence[Placed], workers: Sequence[Worker]) -> tuple[Rebalanced, ...]:
    """Algorithm 5 word by word, with nothing added but a guard against no workers."""
    if not workers:
        return ()
    load = loads(placed, workers)  # lines 2 to 8
    factor = len(placed) // len(workers)  # line 9
    empty = [name for name, count in load.items() if count == 0]
    if empty:
        return _to_empty(placed, empty, factor)
    return _to_light(placed, load, factor)


def _to_empty(placed: Sequence[Placed], empty: Sequence[str], factor: int) -> tuple[Rebalanced, ...]:
    """Lines 10 to 18: each idle worker takes the container that converged last and is still in D."""
    durations = [each for each in placed if each.able]
    moves = []
    for worker in empty:
        if factor > 0 and durations:
            mover = min(durations, key=lambda each: each.duration)
            durations.remove(mover)
            moves.append(_printed(mover, worker, factor, "10–16"))
    return tuple(moves)


def _to_light(placed: Sequence[Placed], load: Mapping[str, int], factor: int) -> tuple[Rebalanced, ...]:
    """Lines 19 to 31: one container is found, and every worker below bf − 1 is to take it."""
    light = [name for name, count in load.items() if count < factor - 1]
    others = [each for each in placed if each.able and each.worker not in light]
    if not light or not others:
        return ()
    mover = min(others, key=lambda each: each.duration)
    return tuple(_printed(mover, worker, factor, "19–29") for worker in light)


def _printed(mover: Placed, to: str, factor: int, lines: str) -> Rebalanced:
    values = (("bf", float(factor)), ("seconds since convergence", mover.duration))
    text = f"{mover.job} moves from {mover.worker} to {to}."
    return Rebalanced(
        mover.job, to, Reason(f"Algorithm 5 as printed, lines {lines}", text, mover.job, mover.worker, values)
    )


REBALANCE = {"resolved": resolved, "as-printed": as_printed}
