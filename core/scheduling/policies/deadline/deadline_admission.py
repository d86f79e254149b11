"""Which jobs ``deadline`` admits with a guaranteed finish time.

A job is admitted where a worker's plan (`core.scheduling.deadline_planning.plan`) has room for it beside all
jobs admitted earlier, so a later job never breaks an earlier guarantee. Under overload the jobs that need
most core-time are not admitted: for each of them several others finish in time. The bound is the largest cost
such that all recent jobs of at most that cost would together have fitted since the first of them arrived.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import merge
from itertools import islice
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from core.scheduling.deadline_planning.plan import (
    add_request,
    continue_plan,
    find_min_share,
    make_plan,
    slot_edges,
)
from core.units import format_cores, format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from core.scheduling.deadline_planning.plan import Plan, PlannedShare
    from core.scheduling.deadline_planning.speed import Floats
    from core.scheduling.policies.deadline.context import DeadlineContext
    from core.scheduling.policies.deadline.job_estimate import JobEstimate

MAX_COSTS: Final = 500
"""The latest jobs that determine the cost bound."""
_MIN_COSTS: Final = 10
_MAX_WORKERS_TRIED: Final = 8
"""Workers tried for one job, those with the least guaranteed work first."""
_MAX_REJECTED: Final = 3
"""Jobs that do not fit after which the queue is not tried further,"""
_MAX_COSTLY: Final = 12
"""or that cost too much."""
_MIN_RESERVE_SHOWN: Final = 1.02
_BY_WORK = attrgetter("min_work", "job")


class DeadlineAdmission:
    """The admissions of one decision."""

    def __init__(self, context: DeadlineContext, costs: tuple[tuple[float, float], ...]) -> None:
        self.context, self.costs = context, costs
        self._plans: dict[str, Plan] = {}
        self._too_late: dict[str, frozenset[str]] = {}
        self.starting: dict[str, dict[str, None]] = {}
        for name in context.waiting:
            estimate = context.estimates[name]
            if estimate.worker is not None:
                self.starting.setdefault(estimate.worker, {})[name] = None

    def admit_jobs(self) -> None:
        """Admit jobs: new ones, and waiting ones where cores became free."""
        for name in self.context.new_jobs:
            self._admit_if_possible(name)
        learned = self.context.newly_predictable
        while learned:  # more of them are found where workers are read
            learned.sort(key=lambda name: -self.context.estimates[name].min_work)
            self._admit_if_possible(learned.pop())
        bound, queue = self.cost_bound(), self._unpromised(self.context.waiting)
        if self.context.settings.rest == "refuse":
            return
        for worker in [name for name in self.context.changed_workers if name not in self.context.due_workers]:
            self._retry_unpromised(worker, queue, bound)

    def _admit_if_possible(self, name: str) -> None:
        estimate = self.context.estimates[name]
        self.context.estimates[name] = replace(estimate, was_considered=estimate.is_predictable)
        if estimate.deadline < inf and (
            estimate.is_waiting or not (estimate.is_promised or estimate.deadline <= self.context.now)
        ):
            self._try_new(estimate)

    def cost_bound(self) -> float:
        """Return the unit-seconds above which a job is not admitted now."""
        if not self.context.settings.choosy or len(self.costs) < _MIN_COSTS:
            return inf
        costs = np.sort([cost for _, cost in self.costs])
        units = sum(self.context.units(name) for name in self.context.workers)
        passed = max(self.context.now - self.costs[0][0], 1.0)
        fit = int(np.searchsorted(np.cumsum(costs), units * passed, side="right"))
        return inf if fit >= len(costs) else float(costs[max(fit - 1, 0)])

    def plan_for(self, worker: str) -> Plan:
        """Return a worker's plan: a new one, or the earlier one where that has fewer late jobs."""
        if worker not in self._plans:
            strict = self._better_plan(worker)
            # a job that would be slightly late keeps its share, so that nearly finished work is not abandoned
            self._plans[worker] = self._better_plan(worker, grace=True) if strict.late else strict
        return self._plans[worker]

    def _better_plan(self, worker: str, *, grace: bool = False) -> Plan:
        anew = self._make_plan(worker, self.admitted_on(worker), grace=grace)
        old = self._continue_plan(worker, grace=grace) if anew.late else None
        return old if old is not None and len(old.late) < len(anew.late) else anew

    def _continue_plan(self, worker: str, *, grace: bool = False) -> Plan | None:
        record, context = self.context.records.get(worker), self.context
        if record is None or record.plan is None:
            return None
        requests = [
            context.allocation_request(estimate, grace=grace) for estimate in self.admitted_on(worker)
        ]
        return continue_plan(record.plan, requests, context.units(worker), context.now)

    def _plan_with(self, worker: str, estimate: JobEstimate) -> Plan | None:
        """Return a plan with one more job that makes no other job late; None if there is none."""
        anew, base = self._make_plan(worker, self.admitted_on(worker), estimate), self.plan_for(worker)
        if not anew.late:
            return anew
        if estimate.job not in anew.late and set(anew.late) <= self._late_jobs(worker):
            # a job that is late within the tolerance must not become later
            anew = self._make_plan(worker, self.admitted_on(worker), estimate, grace=True)
            if set(anew.late) <= set(base.late):
                return anew
        if base.late:
            return None
        return add_request(base, self.context.allocation_request(estimate))

    def _late_jobs(self, worker: str) -> frozenset[str]:
        """Return the admitted jobs of a worker that end too late in any case."""
        if worker not in self._too_late:
            self._too_late[worker] = frozenset(self._better_plan(worker).late)
        return self._too_late[worker]

    def admitted_on(self, worker: str) -> list[JobEstimate]:
        """Return the admitted jobs of a worker."""
        estimate = self.context.estimates
        names = (*self.context.read_worker(worker), *self.starting.get(worker, ()))
        return [estimate[name] for name in names if estimate[name].is_promised]

    def _make_plan(
        self, worker: str, jobs: Iterable[JobEstimate], new: JobEstimate | None = None, *, grace: bool = False
    ) -> Plan:
        """Make a new plan; admitted jobs have a grace period, a new one has none."""
        context = self.context
        requests = [context.allocation_request(estimate, grace=grace) for estimate in jobs]
        requests += [] if new is None else [context.allocation_request(new)]
        ends = [end for request in requests for end in (request.deadline, request.last_deadline)]
        edges = slot_edges(context.now, ends, context.settings.interval)
        return make_plan(requests, np.full(len(edges) - 1, context.units(worker)), edges)

    def _try_new(self, estimate: JobEstimate) -> None:
        """Try to admit a new job, or a running one that has become predictable."""
        context = self.context
        if not estimate.is_predictable:
            text = f"Nothing is known yet of the speed of {estimate.job}."
            if estimate.prediction is not None:
                text = f"{estimate.job} does not print its number of steps, so its end cannot be predicted."
            context.explain("not profiled", text, estimate.job)
            return
        cost = self._cost_alone(estimate)
        self.costs = (*self.costs, (context.now, 0.0 if cost is None else cost))[-MAX_COSTS:]
        if cost is None:
            self._decline_unreachable(estimate)
            return
        if cost > self.cost_bound():
            self._decline_costly(estimate, cost)
            return
        for worker in self._candidate_workers(estimate):
            if self._try_promise(estimate, worker, inf):
                return
        text = f"{estimate.job} is promised nothing: with it, others that were promised would end too late."
        self._decline("no promise", text, estimate.job, cost=cost * context.core_unit)

    def _decline(self, rule: str, text: str, job: str, **values: float) -> None:
        """Explain why a job is not admitted, and refuse it if the settings say so."""
        self.context.explain(rule, text, job, **values)
        fallback = self.context.settings.rest
        if not self.context.estimates[job].is_waiting:
            return
        if fallback == "refuse" or (fallback == "refuse-hopeless" and rule == "out of reach"):
            self.context.refusals[job] = text

    def _try_promise(self, estimate: JobEstimate, worker: str, bound: float) -> bool | None:
        """Try to admit a job on a worker; False if it does not fit, None if it costs more than the bound."""
        plan = self._plan_with(worker, estimate)
        if plan is None:
            return False
        share, context = plan.shares[estimate.job], self.context
        cost = float(share.by_slot @ np.diff(plan.edges))
        if cost > bound:
            return None
        context.estimates[estimate.job] = replace(
            context.estimates[estimate.job], is_promised=True, worker=worker
        )
        self._plans[worker] = plan
        if estimate.is_waiting:
            self.starting.setdefault(worker, {})[estimate.job] = None
        context.mark_changed(worker)
        cores, remaining = share.units * context.core_unit, estimate.deadline - context.now
        enough = f"enough are {format_cores(cores)}"
        text = f"{estimate.job} is promised to end within {format_duration(remaining)}; {enough}."
        context.explain(
            "promise", text, estimate.job, cores=cores, cost=cost * context.core_unit, left=remaining
        )
        return True

    def _candidate_workers(self, estimate: JobEstimate) -> Iterator[str]:
        """Return the workers to try: the least guaranteed work first, the worker of a failed start last."""
        context = self.context
        if not estimate.is_waiting:
            return iter(() if estimate.worker is None else (estimate.worker,))

        def load(name: str) -> tuple[bool, float]:
            record = context.records.get(name)
            return name == estimate.avoided_worker, record.promised_work / max(
                record.capacity, context.core_unit
            ) if record else 0.0

        unpromised = (name for name in sorted(context.workers, key=load) if self.has_memory(name, estimate))
        return islice(unpromised, _MAX_WORKERS_TRIED)

    def has_memory(self, worker: str, estimate: JobEstimate) -> bool:
        """Return whether a worker has the memory for a waiting job."""
        there = self.context.workers[worker]
        if there.memory is None or estimate.memory <= 0:
            return True
        if there.memory_used is None:
            return False
        names = {*self.context.read_worker(worker), *self.starting.get(worker, ())} - {estimate.job}
        reserved = sum(self.context.estimates[name].memory for name in names)
        used = max(there.memory_used, reserved)
        return bool(used + estimate.memory <= self.context.settings.memory * there.memory)

    def _unpromised(self, names: Iterable[str]) -> list[JobEstimate]:
        """Return the jobs without a guarantee and with a deadline ahead, the least work first."""
        now, every = self.context.now, (self.context.estimates[name] for name in names)
        unpromised = [
            each
            for each in every
            if not each.is_promised and each.is_predictable and now < each.deadline < inf
        ]
        return sorted(unpromised, key=_BY_WORK)

    def _retry_unpromised(self, worker: str, queue: Sequence[JobEstimate], bound: float) -> None:
        """Try jobs that are not admitted on a changed worker, the least work first."""
        context, rejected, costly = self.context, 0, 0
        for each in merge(self._unpromised(context.read_worker(worker)), queue, key=_BY_WORK):
            waits = each.is_waiting and (each.retry_at > context.now or not self.has_memory(worker, each))
            if each.min_work > bound:
                return  # no plan costs less than its work, and all behind it have more
            if waits or context.estimates[each.job].is_promised or not self._is_possible(each):
                continue
            is_admitted = self._try_promise(each, worker, bound)
            rejected += is_admitted is False
            costly += is_admitted is None
            if rejected >= _MAX_REJECTED or costly >= _MAX_COSTLY:
                return

    def _is_possible(self, estimate: JobEstimate) -> bool:
        request = self.context.allocation_request(estimate)
        return request.steps <= float(request.rates.speed[-1]) * (request.last_deadline - self.context.now)

    def cores_alone(self, estimate: JobEstimate) -> float | None:
        """Return the cores with which a job alone would end in time on the largest worker, or None."""
        solution = self._share_alone(estimate)
        return None if solution is None else solution[0].units * self.context.core_unit

    def _cost_alone(self, estimate: JobEstimate) -> float | None:
        """Return the unit-seconds that a deadline needs on the largest worker, alone; None if impossible."""
        solution = self._share_alone(estimate)
        return None if solution is None else float(solution[0].by_slot @ np.diff(solution[1]))

    def _share_alone(self, estimate: JobEstimate) -> tuple[PlannedShare, Floats] | None:
        context, request = self.context, self.context.allocation_request(estimate)
        request = request._replace(deadline=request.last_deadline)
        edges = slot_edges(context.now, [request.deadline], context.settings.interval)
        largest = max(context.units(name) for name in context.workers)
        share = find_min_share(request, np.full(len(edges) - 1, largest), edges)
        return None if share is None else (share, edges)

    def _decline_unreachable(self, estimate: JobEstimate) -> None:
        context, request = self.context, self.context.allocation_request(estimate)
        startup = estimate.deadline - request.last_deadline
        soonest = request.steps / float(request.rates.speed[-1]) + startup
        within = format_duration(estimate.deadline - context.now)
        text = (
            f"{estimate.job} cannot end within {within} with any number of cores: "
            f"{format_duration(soonest)} would be possible{self._reserve_text(estimate)}."
        )
        self._decline("out of reach", text, estimate.job, soonest=soonest)

    def _reserve_text(self, estimate: JobEstimate) -> str:
        """Return the reserve for prediction errors as a clause, if it is large enough to mention."""
        reserve = estimate.reserve(self.context.reserve)
        share = f", with {format_share(reserve - 1, 0)} kept in reserve as predictions were wrong"
        return share if reserve > _MIN_RESERVE_SHOWN else ""

    def _decline_costly(self, estimate: JobEstimate, cost: float) -> None:
        context, bound = self.context, self.cost_bound()
        hour = 3600 / context.core_unit
        text = (
            f"{estimate.job} is promised nothing: it needs {cost / hour:.3g} core-hours, and while more is "
            f"asked for than there is, a job is promised at most {bound / hour:.3g}."
        )
        self._decline(
            "no promise", text, estimate.job, cost=cost * context.core_unit, bound=bound * context.core_unit
        )
