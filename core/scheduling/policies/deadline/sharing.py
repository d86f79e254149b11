"""The cores of each job on a worker.

Guaranteed jobs get the share of their plan's first slot; those that would end too late get all cores that
help, because they may still be in time. Then come jobs without a guarantee that may end in time with luck.
The remaining cores go where they speed up most, guaranteed or not. A routine decision changes nothing while
every job has the cores of the plan, unless two decisions in a row agree.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify, heappop, heappush, heapreplace
from itertools import chain
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from core.scheduling.actions import Mark
from core.scheduling.deadline_planning.plan import find_min_share
from core.scheduling.model import JobState
from core.scheduling.policies.deadline.context import DeadlineContext, WorkerRecord
from core.scheduling.policies.deadline.job_estimate import SpareAllocation
from core.units import format_cores, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from core.scheduling.deadline_planning.plan import AllocationRequest, Plan
    from core.scheduling.deadline_planning.speed import Rates
    from core.scheduling.model import Job
    from core.scheduling.policies.deadline.deadline_admission import DeadlineAdmission
    from core.scheduling.policies.deadline.job_estimate import JobEstimate


_MIN_GAIN = 1e-9


# Spare cores go where they help most.
#
# One core unit at a time goes to the job that it speeds up most, relative to the job's speed on one core:
# the first core counts as 1, each further one as much as it adds (`distribute_spare`). In ElasticFlow (ASPLOS
# 2023, section 4.2, algorithm 2) it goes to the job whose core-time it saves most
# (`distribute_by_core_time`).


class CoreCandidate(NamedTuple):
    """A job that can use more cores."""

    #: Its name.
    job: str
    #: Its speed.
    rates: Rates
    #: Its units so far.
    units: int
    #: The units it starts with while it has none.
    initial_units: int
    #: Steps per second per core unit up to one core.
    unit_speed: float
    #: The gain that each further core unit must add, relative to that.
    min_gain: float = 0.0


def distribute_spare(candidates: Sequence[CoreCandidate], free: int) -> dict[str, int]:
    """Distribute free units; returns the new units by job."""
    allocated: dict[str, int] = {}
    queue = [
        (-gain, each.units, place, more)
        for place, each in enumerate(candidates)
        for gain, more in [_next_gain(each, each.units)]
        if _gains_enough(each, gain)
    ]
    heapify(queue)
    while free > 0 and queue:
        _, _, place, more = queue[0]
        candidate = candidates[place]
        if more > free:
            heappop(queue)
            continue
        free -= more
        current = allocated[candidate.job] = allocated.get(candidate.job, candidate.units) + more
        gain, more = _next_gain(candidate, current)
        if _gains_enough(candidate, gain):
            heapreplace(queue, (-gain, current, place, more))
        else:
            heappop(queue)
    return allocated


def _gains_enough(candidate: CoreCandidate, gain: float) -> bool:
    return gain > max(candidate.min_gain - _MIN_GAIN, _MIN_GAIN)


def _next_gain(candidate: CoreCandidate, current: int) -> tuple[float, int]:
    """Return the gain per core unit of the next useful step, and its units."""
    speed, rates = candidate.rates.speed, candidate.rates
    if current >= rates.max_units:
        return 0.0, 0
    after = max(candidate.initial_units, current + 1) if current == 0 else current + 1
    after = min(after, rates.max_units)
    if speed[after] <= speed[current]:  # the next number with which it is faster
        after = int(speed.searchsorted(speed[current], side="right"))
    return float(speed[after] - speed[current]) / ((after - current) * candidate.unit_speed), after - current


def distribute_by_core_time(requests: Sequence[AllocationRequest], plan: Plan, free: int) -> dict[str, int]:
    """Distribute free units of the first slot where they save most core-time."""
    allocated: dict[str, int] = {}
    queue = []
    for place, request in enumerate(requests):
        used = plan.shares[request.job].by_slot
        current = int(used[0])
        cost = float(used @ np.diff(plan.edges))
        after, then = _next_units(request, plan, current)
        if after > current:
            queue.append((-(cost - then) / (after - current), place, current, after, then))
    heapify(queue)
    while free > 0 and queue:
        _, place, current, after, cost = heappop(queue)
        if after - current > free:
            continue
        free -= after - current
        request = requests[place]
        allocated[request.job] = after
        following, then = _next_units(request, plan, after)
        if following > after:
            heappush(queue, (-(cost - then) / (following - after), place, after, following, then))
    return allocated


def _next_units(request: AllocationRequest, plan: Plan, current: int) -> tuple[int, float]:
    """Return the next useful number of units in the first slot, and the job's unit-seconds with it."""
    speed = request.rates.speed
    after = int(speed.searchsorted(speed[current], side="right"))
    if after >= len(speed):
        return current, inf
    length = float(plan.edges[1] - plan.edges[0])
    remaining = request.steps - float(speed[after]) * length
    if remaining <= 0:
        return after, after * request.steps / float(speed[after])
    planned = plan.shares[request.job].by_slot[1:]
    later = find_min_share(request._replace(steps=remaining), plan.free[1:] + planned, plan.edges[1:])
    if later is None:
        return current, inf
    return after, after * length + float(later.by_slot @ np.diff(plan.edges[1:]))


_INTERVAL_GROWTH: Final = 0.05
_MAX_INTERVALS: Final = 20
"""The interval between decisions grows with the time since the last event, up to so many intervals."""
_UNKNOWN_SPEED_INTERVAL: Final = 10.0
"""Seconds between decisions on a job with a deadline and unknown speed,"""
_UNKNOWN_SPEED_SECONDS: Final = 60.0
"""Seconds after its start for which that holds."""


class Sharing:
    """Divides the cores of the changed workers."""

    def __init__(self, context: DeadlineContext, admission: DeadlineAdmission) -> None:
        self.context, self.admission = context, admission
        self.targets: list[tuple[Job, str, float]] = []
        self.marks: list[Mark] = []
        self._queue = self._unpromised_queue()
        self._ample = admission.cost_bound() == inf
        self._spare = self._spare_allocations(name for name in context.new_jobs if name in self._queue)

    def share_workers(self) -> None:
        """Divide the cores of all changed workers, and of others while jobs can start there."""
        for worker in list(self.context.changed_workers):
            self._share_worker(worker)
        for name, spare in self._spare.items():
            records = self.context.records
            idlest = max(records, key=lambda each: records[each].idle_units, default=None)
            if name in self._queue and idlest is not None and records[idlest].idle_units >= spare.min_units:
                self.context.mark_changed(idlest)
                self._share_worker(idlest)
        while self._queue:
            records, first = self.context.records, next(iter(self._queue.values()))
            freest = max(records, key=lambda name: records[name].spare_units, default=None)
            if (
                freest is None
                or freest in self.context.changed_workers
                or records[freest].spare_units < first.initial_units
            ):
                return
            self.context.mark_changed(freest)
            self._share_worker(freest)

    def _unpromised_queue(self) -> dict[str, JobEstimate]:
        """Return waiting jobs without a guarantee: those with a deadline ahead first, by work."""
        context, now = self.context, self.context.now
        able = [
            estimate
            for estimate in map(context.estimates.__getitem__, context.waiting)
            if estimate.worker is None and estimate.retry_at <= now and estimate.job not in context.refusals
        ]
        able.sort(key=lambda estimate: (estimate.deadline <= now, estimate.min_work, estimate.job))
        return {estimate.job: estimate for estimate in able}

    def _share_worker(self, worker: str) -> None:
        context, plan = self.context, self.admission.plan_for(worker)
        before = context.records.get(
            worker, WorkerRecord(context.workers[worker].capacity, changed_at=context.now)
        )
        every = [*context.read_worker(worker), *self.admission.starting.get(worker, ())]
        names = [name for name in every if self._is_adjustable(name)]
        had = {name: 0 if context.estimates[name].is_waiting else self._current_units(name) for name in names}
        fixed = sum(self._current_units(name) for name in every if name not in had)
        free = max(context.units(worker) - fixed, 0)  # a host may have lost cores since a start was requested
        needed = self._needed_units(plan, names, free)
        hopes = self._allocate_spare(
            [name for name in names if name not in needed], free - sum(needed.values())
        )
        needed |= hopes
        begins = self._choose_starts(worker, free - sum(needed.values()))
        hopes |= {name: units for name, units in begins.items() if name in self._spare}
        needed |= hopes
        allocated = needed | self._distribute_rest(
            plan, needed, [*names, *begins], free - sum(needed.values())
        )
        calm = worker in context.due_workers and all(had[name] >= needed.get(name, 0) for name in names)
        starting = [name for name in begins if allocated.get(name)]
        requests = any(had[name] != allocated.get(name, 0) for name in names)
        if calm and requests and not starting and not before.wants_change and sum(had.values()) <= free:
            allocated = had
        else:
            self._explain_changes(plan, had, allocated)
            self._explain_spare({name: need for name, need in hopes.items() if had.get(name, 0) < need})
            requests = False
        for name in (*names, *starting):
            self._assign(name, worker, allocated.get(name, 0))
        record = WorkerRecord(
            context.workers[worker].capacity,
            promised_work=sum(float(share.by_slot @ np.diff(plan.edges)) for share in plan.shares.values()),
            spare_units=free - sum(allocated.values()),
            idle_units=free - sum(needed.values()),
            changed_at=before.changed_at if worker in context.due_workers else context.now,
            wants_change=requests,
            is_blocked=len(names) < len(every),
            plan=plan,
        )
        context.records[worker] = record._replace(
            next_decision=self._next_decision(worker, plan, record, (*every, *starting))
        )

    def _is_adjustable(self, name: str) -> bool:
        """Return whether a job's cores can change: it is not migrating, and no start is unconfirmed."""
        estimate = self.context.estimates[name]
        if estimate.is_waiting:
            return estimate.retry_at <= self.context.now
        return self.context.jobs[name].state is not JobState.MIGRATING

    def _current_units(self, name: str) -> int:
        estimate = self.context.estimates[name]
        return (
            estimate.requested_units
            if estimate.is_waiting
            else round(estimate.cores / self.context.core_unit)
        )

    def _needed_units(self, plan: Plan, names: list[str], free: int) -> dict[str, int]:
        """Return the units of guaranteed jobs: those in time first, then those that would be late.

        Jobs that have done all their steps come first, so that they are not stopped at their end.
        """
        needed: dict[str, int] = {}
        for name in (name for name in names if self.context.estimates[name].is_ending):
            needed[name] = min(self._closing_units(name, plan), free)
            free -= needed[name]
        for name in (name for name in names if name in plan.shares and name not in needed):
            needed[name] = self._useful_units(name, min(int(plan.shares[name].by_slot[0]), free))
            free -= needed[name]
        for name in (name for name in plan.late if name in names and name not in needed):
            needed[name] = self._useful_units(name, free)
            free -= needed[name]
        return needed

    def _closing_units(self, name: str, plan: Plan) -> int:
        """Return the units of a job that has done all its steps."""
        estimate = self.context.estimates[name]
        share = self._useful_units(name, int(plan.shares[name].by_slot[0])) if name in plan.shares else 0
        return max(share, estimate.rates.min_units, min(self._current_units(name), estimate.initial_units))

    def _spare_allocations(self, names: Iterable[str]) -> dict[str, SpareAllocation]:
        """Return the allocations with which jobs without a guarantee may end in time."""
        context, ample = self.context, self._ample
        allocations = {
            name: context.estimates[name].spare_allocation(context.now, context.spread, ample=ample)
            for name in names
        }
        return {name: spare for name, spare in allocations.items() if spare is not None}

    def _allocate_spare(self, names: list[str], free: int) -> dict[str, int]:
        """Return the units of running jobs that may end in time without a guarantee, the fewest first."""
        allocated: dict[str, int] = {}
        hoping = self._spare_allocations(
            name for name in names if not self.context.estimates[name].is_waiting
        )
        for name, spare in sorted(hoping.items(), key=itemgetter(1)):
            if spare.min_units <= free:
                allocated[name] = self._useful_units(name, min(spare.enough_units, free))
                free -= allocated[name]
        return allocated

    def _useful_units(self, name: str, units: int) -> int:
        """Return the part of these units that a job can use."""
        rates = self.context.estimates[name].rates
        return int(rates.useful[min(units, rates.max_units)])

    def _choose_starts(self, worker: str, free: int) -> dict[str, int]:
        """Choose jobs to start on the remaining units; returns their units."""
        starts: dict[str, int] = {}
        hoping = [name for name in self._spare if name in self._queue]
        for name in chain(hoping, (name for name in self._queue if name not in hoping)):
            estimate = self._queue[name]
            spare = self._spare.get(name) or SpareAllocation(estimate.initial_units, estimate.initial_units)
            if free <= 0:
                break
            if spare.min_units <= free and self.admission.has_memory(worker, estimate):
                starts[name] = min(spare.enough_units, free)
                free -= starts[name]
        return starts

    def _distribute_rest(
        self, plan: Plan, needed: Mapping[str, int], names: list[str], free: int
    ) -> dict[str, int]:
        """Distribute the units that no guarantee needs."""
        allocated: dict[str, int] = {}
        if self.context.settings.spare == "core-time":
            estimate = self.context.estimates
            promised = [name for name in names if name in plan.shares and not estimate[name].is_ending]
            requests = [self.context.allocation_request(estimate[name]) for name in promised]
            allocated = distribute_by_core_time(requests, plan, free)
            free -= sum(after - needed[name] for name, after in allocated.items())
            names = [name for name in names if name not in plan.shares]
        return allocated | distribute_spare(
            [self._core_candidate(name, needed.get(name, 0)) for name in names], free
        )

    def _core_candidate(self, name: str, units: int) -> CoreCandidate:
        estimate = self.context.estimates[name]
        one = min(
            max(round(1.0 / self.context.core_unit), estimate.rates.min_units), estimate.rates.max_units
        )
        worth = 0.0 if estimate.is_promised else self.context.settings.worth
        return CoreCandidate(
            name,
            estimate.rates,
            units,
            estimate.initial_units,
            float(estimate.rates.speed[one]) / one,
            worth,
        )

    def _assign(self, name: str, worker: str, units: int) -> None:
        context, estimate = self.context, self.context.estimates[name]
        cores = units * context.core_unit
        self.targets.append((context.jobs[name], worker, cores))
        estimate = estimate.with_cores(cores, context.now)
        if estimate.is_waiting and units:
            estimate = estimate.after_start_request(worker, units, context.now)
            self._queue.pop(name, None)
        context.estimates[name] = estimate
        self.marks.append(self._make_mark(estimate, units))

    def _make_mark(self, estimate: JobEstimate, units: int) -> Mark:
        """Return a job's mark with its expected finish time."""
        ending = estimate.estimate_finish(units, self.context.now, self.context.spread)
        ends, between = ending if ending is not None else (None, None)
        label = ("late" if estimate.is_late else "promised") if estimate.is_promised else "left over"
        promised = estimate.is_promised if estimate.deadline < inf else None
        return Mark(estimate.job, label, promised=promised, ends=ends, between=between)

    def _next_decision(self, worker: str, plan: Plan, record: WorkerRecord, names: Sequence[str]) -> float:
        """Return the time of a worker's next decision: after an interval, or earlier if the plan changes."""
        context, interval = self.context, self.context.settings.interval
        if record.spare_units == context.units(worker):
            return inf
        time = context.now + min(
            max(_INTERVAL_GROWTH * (context.now - record.changed_at), interval), _MAX_INTERVALS * interval
        )
        if any(map(self._is_new, names)):
            time = min(time, context.now + _UNKNOWN_SPEED_INTERVAL)
        used = np.array([share.by_slot for share in plan.shares.values()])
        changes = np.flatnonzero((used != used[:, :1]).any(axis=0)) if len(used) else np.array([], int)
        return float(min([time, *plan.edges[changes[:1]].tolist()]))

    def _is_new(self, name: str) -> bool:
        estimate = self.context.estimates[name]
        age = 0.0 if estimate.started is None else self.context.now - estimate.started
        return estimate.deadline < inf and not estimate.is_predictable and age < _UNKNOWN_SPEED_SECONDS

    def _explain_changes(self, plan: Plan, had: Mapping[str, int], allocated: Mapping[str, int]) -> None:
        """Add reasons for changed cores, with the deadlines that they protect."""
        context = self.context
        gains = [
            name
            for name, share in plan.shares.items()
            if name in had and had[name] < int(share.by_slot[0]) <= allocated.get(name, 0)
        ]
        why = "".join(
            f", which {name} needs to end in time{self._lateness_text(name, had[name])}" for name in gains[:1]
        )
        for name, before in had.items():
            after = allocated.get(name, 0)
            if after < before:
                lost = format_cores((before - after) * context.core_unit)
                context.explain("cores", f"{name} gives back {lost}{why}.", name, protects=float(len(gains)))
            elif after > before > 0:
                had_cores = before * context.core_unit
                text = f"{name} has {format_cores(after * context.core_unit)} instead of {had_cores:g}."
                context.explain("cores", text, name)
        for name in had:
            estimate = context.estimates[name]
            if estimate.is_promised and estimate.is_late != (name in plan.late):
                context.estimates[name] = replace(estimate, is_late=name in plan.late)
                text = f"{name} will end too late{self._lateness_text(name, allocated.get(name, 0))}."
                if estimate.is_late:
                    text = f"{name} will end in time again."
                context.explain("late" if name in plan.late else "in time", text, name)

    def _explain_spare(self, hopes: Mapping[str, int]) -> None:
        """Add reasons for jobs that may end in time without a guarantee."""
        for name, need in hopes.items():
            cores = format_cores(need * self.context.core_unit)
            text = f"{name} is promised nothing, and may be in time all the same with {cores}."
            self.context.explain("hope", text, name)

    def _lateness_text(self, name: str, units: int) -> str:
        """Return by how much a job would be late with these units, as a clause."""
        estimate = self.context.estimates[name]
        request = estimate.allocation_request(1.0, self.context.now)
        if not units or not request.rates.speed[min(units, request.rates.max_units)]:
            return ""
        over = (
            self.context.now
            + request.steps / request.rates.speed[min(units, request.rates.max_units)]
            - request.last_deadline
        )
        return f" (else {format_duration(over)} too late)" if over > 0 else ""
