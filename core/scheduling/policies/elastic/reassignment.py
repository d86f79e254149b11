"""Which running jobs of a worker get the cores that are free there.

Source: docs/scheduling/elastic.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.scheduling.forecasting import StepTime
from core.scheduling.policies.elastic.book import TINY, round_down

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.scheduling.policies.elastic.book import Holding, WorkerBook

_MIN_GAIN_RATIO = 1.25
_UNMEASURED = StepTime(0.0, 1.0)
"""What is expected of a job that was not measured: cores share all of its work."""


def reassign_free_cores(book: WorkerBook, rule: str, speeds: Mapping[str, StepTime]) -> WorkerBook:
    """A worker's book after its free cores were given away."""
    if book.free < book.grain - TINY or rule == "none":
        return book
    allocated = _RULES[rule](book.running, book.free, book.grain, speeds)
    return book.with_cores(allocated) if allocated else book


def _strict(
    running: Sequence[Holding], free: float, grain: float, _: Mapping[str, StepTime]
) -> dict[str, float]:
    return _oldest_first(
        running, free, grain, [min(each.claim.request, each.claim.max_cores) for each in running]
    )


def _fill(
    running: Sequence[Holding], free: float, grain: float, _: Mapping[str, StepTime]
) -> dict[str, float]:
    return _oldest_first(running, free, grain, [each.claim.max_cores for each in running])


def _oldest_first(
    running: Sequence[Holding], free: float, grain: float, goals: Sequence[float]
) -> dict[str, float]:
    allocated = {}
    for each, goal in zip(running, goals, strict=True):
        more = round_down(min(goal - each.cores, free), grain)
        if more > 0:
            allocated[each.claim.job] = each.cores + more
            free -= more
    return allocated


def _proportional(
    running: Sequence[Holding], free: float, grain: float, _: Mapping[str, StepTime]
) -> dict[str, float]:
    """⌊free / n⌋ to each of the n that can use it, again while that is a grain or more."""
    cores = {each.claim.job: each.cores for each in running}
    allocated: dict[str, float] = {}
    while hungry := [
        each for each in running if cores[each.claim.job] + grain <= each.claim.max_cores + TINY
    ]:
        part = round_down(free / len(hungry), grain)
        if part <= 0:
            break
        for each in hungry:
            name = each.claim.job
            more = round_down(min(part, each.claim.max_cores - cores[name]), grain)
            cores[name] = allocated[name] = cores[name] + more
            free -= more
    return allocated


def _speedup(
    running: Sequence[Holding], free: float, grain: float, speeds: Mapping[str, StepTime]
) -> dict[str, float]:
    """One grain at a time, to whom it shortens a step by most; nobody gets cores that would cost time."""
    cores = {each.claim.job: each.cores for each in running}
    gains = {each.claim.job: _gain(each, each.cores, grain, speeds) for each in running}
    by_name = {each.claim.job: each for each in running}
    allocated: dict[str, float] = {}
    while free >= grain - TINY and gains:
        name = max(gains, key=gains.__getitem__)
        if gains[name] <= 0:
            break
        free -= grain
        cores[name] += grain
        allocated[name] = cores[name]
        gains[name] = _gain(by_name[name], cores[name], grain, speeds)
    return allocated


def _gain(each: Holding, cores: float, grain: float, speeds: Mapping[str, StepTime]) -> float:
    if cores + grain > each.claim.max_cores + TINY or cores <= 0:
        return 0.0
    return speeds.get(each.claim.job, _UNMEASURED).gain(cores, grain)


def move_grain(book: WorkerBook, speeds: Mapping[str, StepTime], dues: Mapping[str, float]) -> WorkerBook:
    """One grain from the job that loses least by it to the one that gains most, if that is clearly better.

    Only cores beyond a job's due are moved, one grain at a time, and only for a gain of `_BETTER` times the
    loss, so that measurements which waver move nothing.
    """
    running, grain = book.running, book.grain
    gains = {each.claim.job: _gain(each, each.cores, grain, speeds) for each in running}
    losses = {
        each.claim.job: speeds.get(each.claim.job, _UNMEASURED).gain(each.cores - grain, grain)
        for each in running
        if each.cores - grain >= max(dues[each.claim.job], each.claim.min_cores) - TINY and each.cores > grain
    }
    if not losses:
        return book
    giver = min(losses, key=losses.__getitem__)
    taker = max(gains, key=gains.__getitem__)
    if taker == giver or gains[taker] <= 0 or gains[taker] <= _MIN_GAIN_RATIO * losses[giver] + TINY:
        return book
    cores = {name: book.holdings[name].cores for name in (giver, taker)}
    return book.with_cores({giver: cores[giver] - grain, taker: cores[taker] + grain})


_RULES: dict[str, Callable[..., dict[str, float]]] = {
    "strict": _strict,
    "proportional": _proportional,
    "fill": _fill,
    "speedup": _speedup,
}
