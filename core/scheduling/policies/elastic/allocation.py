"""The cores of jobs on one worker: admission of a waiting job, and reassignment of free cores.

``strict``, ``proportional`` and ``attend`` are the rules of the public scheduler of Libutti's thesis;
``equal`` is ours (docs/scheduling/elastic.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.forecasting import StepTime
from core.scheduling.policies.elastic.book import TINY, round_down

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.scheduling.policies.elastic.book import Claim, Holding, WorkerBook


class AdmissionResult(NamedTuple):
    """The cores of an admitted job, and its worker's book with the cores reclaimed for it."""

    cores: float
    book: WorkerBook


@dataclass(frozen=True, slots=True)
class Admission:
    """The admission rule."""

    #: One of `settings.ADMISSIONS`.
    rule: str
    #: Whether cores beyond a job's entitlement are reclaimed for waiting jobs.
    reclaims: bool
    #: Requested over available cores, running and waiting jobs together, at least 1; for ``proportional``
    #: only.
    factor: float = 1.0

    def try_admit(self, claim: Claim, book: WorkerBook) -> AdmissionResult | None:
        """Return the cores that a job starts with; None if it must wait."""
        shares = self._equal_shares(claim, book) if self.rule == "equal" else None
        if self.rule == "equal" and shares is None:
            return None
        entitled = self.entitled_cores(claim, book.core_unit) if shares is None else shares[claim.job]
        enough = entitled if self.rule in ("strict", "equal") else claim.min_cores
        open_ = book.capacity - book.allocated  # below 0 if jobs found running hold more than the capacity
        if open_ < entitled - TINY and self.reclaims:
            dues = (
                shares
                if shares is not None
                else {
                    each.claim.job: self.entitled_cores(each.claim, book.core_unit) for each in book.running
                }
            )
            book = self._reclaim(book, entitled - open_, dues)
        cores = min(entitled, book.free)
        if cores < entitled - TINY:
            cores = max(round_down(cores, book.core_unit), min(claim.min_cores, cores))
        return None if cores < enough - TINY or cores <= 0 else AdmissionResult(cores, book)

    def entitled_cores(self, claim: Claim, core_unit: float) -> float:
        """Return the cores that a job is entitled to while others wait."""
        if self.rule != "proportional" or self.factor <= 1.0:
            return min(claim.request, claim.max_cores)
        part = round_down(claim.request / self.factor, core_unit)
        return min(max(part, claim.min_cores), claim.max_cores)

    def _equal_shares(self, claim: Claim, book: WorkerBook) -> Mapping[str, float] | None:
        """Return equal shares for a worker's jobs and one more; None where one gets too little."""
        claims = sorted(
            [claim, *(each.claim for each in book.running)], key=lambda each: (each.arrived, each.job)
        )
        fixed = sum(each.cores for each in book.holdings.values() if each.is_moving)
        shares = equal_shares(book.capacity - fixed, claims, book.core_unit)
        short = any(shares[each.job] < each.min_cores - TINY for each in claims)
        return None if short else shares

    def _reclaim(self, book: WorkerBook, missing: float, dues: Mapping[str, float]) -> WorkerBook:
        """Return the book after reclaiming cores beyond entitlements, from the largest surplus first."""
        core_unit = book.core_unit
        beyond = {
            each.claim.job: round_down(
                each.cores - max(dues[each.claim.job], each.claim.min_cores), core_unit
            )
            for each in book.running
        }
        if sum(each for each in beyond.values() if each > 0) < core_unit - TINY:
            return book
        cores = {each.claim.job: each.cores for each in book.running}
        reduced: dict[str, float] = {}
        while missing > TINY:
            name = max(beyond, key=beyond.__getitem__)
            if beyond[name] < core_unit - TINY:
                break
            beyond[name] -= core_unit
            cores[name] -= core_unit
            missing -= core_unit
            reduced[name] = cores[name]
        return book.with_cores(reduced)


def equal_shares(capacity: float, claims: Sequence[Claim], core_unit: float) -> dict[str, float]:
    """Return equal shares in multiples of `core_unit`, capped at each job's maximum."""
    shares = {each.job: 0.0 for each in claims}
    remaining = capacity
    while remaining >= core_unit - TINY:
        hungry = [each for each in claims if shares[each.job] + core_unit <= each.max_cores + TINY]
        if not hungry:
            break
        level = min(shares[each.job] for each in hungry)
        for each in hungry:
            if shares[each.job] <= level + TINY and remaining >= core_unit - TINY:
                shares[each.job] += core_unit
                remaining -= core_unit
    return shares


_MIN_GAIN_RATIO = 1.25
_UNMEASURED = StepTime(0.0, 1.0)
"""Assumed for unmeasured jobs: cores share all of the work."""


def reassign_free_cores(book: WorkerBook, rule: str, speeds: Mapping[str, StepTime]) -> WorkerBook:
    """Return a worker's book with its free cores reassigned."""
    if book.free < book.core_unit - TINY or rule == "none":
        return book
    allocated = _RULES[rule](book.running, book.free, book.core_unit, speeds)
    return book.with_cores(allocated) if allocated else book


def _reassign_strict(
    running: Sequence[Holding], free: float, core_unit: float, _: Mapping[str, StepTime]
) -> dict[str, float]:
    return _grow_oldest_first(
        running, free, core_unit, [min(each.claim.request, each.claim.max_cores) for each in running]
    )


def _reassign_fill(
    running: Sequence[Holding], free: float, core_unit: float, _: Mapping[str, StepTime]
) -> dict[str, float]:
    return _grow_oldest_first(running, free, core_unit, [each.claim.max_cores for each in running])


def _grow_oldest_first(
    running: Sequence[Holding], free: float, core_unit: float, goals: Sequence[float]
) -> dict[str, float]:
    allocated = {}
    for each, goal in zip(running, goals, strict=True):
        more = round_down(min(goal - each.cores, free), core_unit)
        if more > 0:
            allocated[each.claim.job] = each.cores + more
            free -= more
    return allocated


def _reassign_proportional(
    running: Sequence[Holding], free: float, core_unit: float, _: Mapping[str, StepTime]
) -> dict[str, float]:
    """Give ⌊free / n⌋ to each of the n jobs that can use it, while that is at least a core unit."""
    cores = {each.claim.job: each.cores for each in running}
    allocated: dict[str, float] = {}
    while hungry := [
        each for each in running if cores[each.claim.job] + core_unit <= each.claim.max_cores + TINY
    ]:
        part = round_down(free / len(hungry), core_unit)
        if part <= 0:
            break
        for each in hungry:
            name = each.claim.job
            more = round_down(min(part, each.claim.max_cores - cores[name]), core_unit)
            cores[name] = allocated[name] = cores[name] + more
            free -= more
    return allocated


def _reassign_by_speedup(
    running: Sequence[Holding], free: float, core_unit: float, speeds: Mapping[str, StepTime]
) -> dict[str, float]:
    """Give one core unit at a time to the job whose step it shortens most, while it shortens one."""
    cores = {each.claim.job: each.cores for each in running}
    gains = {each.claim.job: _gain(each, each.cores, core_unit, speeds) for each in running}
    by_name = {each.claim.job: each for each in running}
    allocated: dict[str, float] = {}
    while free >= core_unit - TINY and gains:
        name = max(gains, key=gains.__getitem__)
        if gains[name] <= 0:
            break
        free -= core_unit
        cores[name] += core_unit
        allocated[name] = cores[name]
        gains[name] = _gain(by_name[name], cores[name], core_unit, speeds)
    return allocated


def _gain(each: Holding, cores: float, core_unit: float, speeds: Mapping[str, StepTime]) -> float:
    if cores + core_unit > each.claim.max_cores + TINY or cores <= 0:
        return 0.0
    return speeds.get(each.claim.job, _UNMEASURED).gain(cores, core_unit)


def move_core_unit(book: WorkerBook, speeds: Mapping[str, StepTime], dues: Mapping[str, float]) -> WorkerBook:
    """Move one core unit from the job that loses least to the one that gains most, if that is clearly better.

    Only cores beyond a job's entitlement move, and only for a gain of `_MIN_GAIN_RATIO` times the loss, so
    that noisy measurements move nothing.
    """
    running, core_unit = book.running, book.core_unit
    gains = {each.claim.job: _gain(each, each.cores, core_unit, speeds) for each in running}
    losses = {
        each.claim.job: speeds.get(each.claim.job, _UNMEASURED).gain(each.cores - core_unit, core_unit)
        for each in running
        if each.cores - core_unit >= max(dues[each.claim.job], each.claim.min_cores) - TINY
        and each.cores > core_unit
    }
    if not losses:
        return book
    giver = min(losses, key=losses.__getitem__)
    taker = max(gains, key=gains.__getitem__)
    if taker == giver or gains[taker] <= 0 or gains[taker] <= _MIN_GAIN_RATIO * losses[giver] + TINY:
        return book
    cores = {name: book.holdings[name].cores for name in (giver, taker)}
    return book.with_cores({giver: cores[giver] - core_unit, taker: cores[taker] + core_unit})


_RULES: dict[str, Callable[..., dict[str, float]]] = {
    "strict": _reassign_strict,
    "proportional": _reassign_proportional,
    "fill": _reassign_fill,
    "speedup": _reassign_by_speedup,
}
