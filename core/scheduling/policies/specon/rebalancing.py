"""SpeCon, Algorithm 5: spread containers again when all have converged; as resolved, and as printed.

As printed it can move containers to and fro, never fire (bf is rounded down to 0 with fewer containers than
workers) or move several at once. Resolved: bf = ⌈containers / workers⌉; the least-loaded worker below bf
takes, from the most-loaded one that has at least two more, the container with the shortest time since its
convergence; one move per interval, and each container once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.actions import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.model import Worker


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
