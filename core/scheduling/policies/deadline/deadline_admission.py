"""Which jobs ``deadline`` admits with a guaranteed finish time.

A job is admitted where a worker's plan (`core.scheduling.deadline_planning.plan`) has room for it beside all
jobs admitted earlier, so a later job never breaks an earlier promise. Under overload the jobs that need most
core-time are not admitted: for each of them several others finish in time. The bound is the largest cost such
that all recent jobs of at most that cost would together have fitted since the first of them arrived.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import merge
from itertools import islice
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from core.scheduling.deadline_planning.plan import continued, least_share, planned, slot_edges, with_one_more
from core.units import format_cores, format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from core.scheduling.deadline_planning.plan import Plan, Share
    from core.scheduling.deadline_planning.rates import Floats
    from core.scheduling.policies.deadline.job_estimate import JobEstimate
    from core.scheduling.policies.deadline.scene import Scene

COSTS: Final = 500
"""Jobs that the bound is found from, the latest."""
_FEWEST: Final = 10
_TRIES: Final = 8
"""Workers on which a job is tried at most, those with the least promised first."""
_MAX_REJECTED: Final = 3
"""Jobs that do not fit after which no further one is tried again,"""
_MAX_COSTLY: Final = 12
"""or that cost too much."""
_WORTH_A_WORD: Final = 1.02
_WORK = attrgetter("work", "job")


class DeadlineAdmission:
    """The promises of one decision."""

    def __init__(self, scene: Scene, costs: tuple[tuple[float, float], ...]) -> None:
        self.scene, self.costs = scene, costs
        self._plans: dict[str, Plan] = {}
        self._too_late: dict[str, frozenset[str]] = {}
        self.begin: dict[str, dict[str, None]] = {}
        for name in scene.waiting:
            known = scene.known[name]
            if known.worker is not None:
                self.begin.setdefault(known.worker, {})[name] = None

    def make(self) -> None:
        """Promise what can be promised: to new jobs, and to others where something ended."""
        for name in self.scene.new:
            self._consider(name)
        learned = self.scene.learned
        while learned:  # more of them are found where workers are read
            learned.sort(key=lambda name: -self.scene.known[name].work)
            self._consider(learned.pop())
        bound, queue = self.bound(), self._able(self.scene.waiting)
        if self.scene.settings.rest == "refuse":
            return
        for worker in [name for name in self.scene.changed_workers if name not in self.scene.looked]:
            self._again(worker, queue, bound)

    def _consider(self, name: str) -> None:
        known = self.scene.known[name]
        self.scene.known[name] = replace(known, considered=known.known)
        if known.until < inf and (known.waits or not (known.promised or known.until <= self.scene.now)):
            self._first(known)

    def bound(self) -> float:
        """Grain-seconds beyond which a job is promised nothing now."""
        if not self.scene.settings.choosy or len(self.costs) < _FEWEST:
            return inf
        costs = np.sort([cost for _, cost in self.costs])
        grains = sum(self.scene.grains(name) for name in self.scene.workers)
        passed = max(self.scene.now - self.costs[0][0], 1.0)
        fit = int(np.searchsorted(np.cumsum(costs), grains * passed, side="right"))
        return inf if fit >= len(costs) else float(costs[max(fit - 1, 0)])

    def plan(self, worker: str) -> Plan:
        """The plan of a worker with those whom it promised to: anew, or the old one where that is better."""
        if worker not in self._plans:
            strict = self._better(worker)
            # who would be late by a little only keeps a share, so that what is nearly done is not left lying
            self._plans[worker] = self._better(worker, grace=True) if strict.late else strict
        return self._plans[worker]

    def _better(self, worker: str, *, grace: bool = False) -> Plan:
        anew = self._planned(worker, self.of(worker), grace=grace)
        old = self._continued(worker, grace=grace) if anew.late else None
        return old if old is not None and len(old.late) < len(anew.late) else anew

    def _continued(self, worker: str, *, grace: bool = False) -> Plan | None:
        home, scene = self.scene.homes.get(worker), self.scene
        if home is None or home.plan is None:
            return None
        wishes = [scene.wish(known, grace=grace) for known in self.of(worker)]
        return continued(home.plan, wishes, scene.grains(worker), scene.now)

    def _with(self, worker: str, known: JobEstimate) -> Plan | None:
        """A plan with one more job in which nobody else is late because of it; None if there is none."""
        anew, base = self._planned(worker, self.of(worker), known), self.plan(worker)
        if not anew.late:
            return anew
        if known.job not in anew.late and set(anew.late) <= self._late(worker):
            # who is late by so little that it is overlooked must not be later than that
            anew = self._planned(worker, self.of(worker), known, grace=True)
            if set(anew.late) <= set(base.late):
                return anew
        if base.late:
            return None
        return with_one_more(base, self.scene.wish(known))

    def _late(self, worker: str) -> frozenset[str]:
        """Those whom a worker promised to and who end too late anyhow, even if by little."""
        if worker not in self._too_late:
            self._too_late[worker] = frozenset(self._better(worker).late)
        return self._too_late[worker]

    def of(self, worker: str) -> list[JobEstimate]:
        """Jobs to which a worker is promised."""
        known = self.scene.known
        names = (*self.scene.read(worker), *self.begin.get(worker, ()))
        return [known[name] for name in names if known[name].promised]

    def _planned(
        self, worker: str, jobs: Iterable[JobEstimate], new: JobEstimate | None = None, *, grace: bool = False
    ) -> Plan:
        """A plan made anew for jobs, with grace for those that were promised to but not for a new one."""
        scene = self.scene
        wishes = [scene.wish(known, grace=grace) for known in jobs]
        wishes += [] if new is None else [scene.wish(new)]
        ends = [end for wish in wishes for end in (wish.deadline, wish.last)]
        edges = slot_edges(scene.now, ends, scene.settings.interval)
        return planned(wishes, np.full(len(edges) - 1, scene.grains(worker)), edges)

    def _first(self, known: JobEstimate) -> None:
        """Try a new job on some workers, or one of which nothing was known where it is."""
        scene = self.scene
        if not known.known:
            text = f"Nothing is known yet of the speed of {known.job}."
            if known.foresight is not None:
                text = f"{known.job} does not say how many steps it has, so nobody knows when it will end."
            scene.tell("not profiled", text, known.job)
            return
        cost = self._cost_alone(known)
        self.costs = (*self.costs, (scene.now, 0.0 if cost is None else cost))[-COSTS:]
        if cost is None:
            self._out_of_reach(known)
            return
        if cost > self.bound():
            self._too_dear(known, cost)
            return
        for worker in self._candidates(known):
            if self._promised(known, worker, inf):
                return
        text = f"{known.job} is promised nothing: with it, others that were promised would end too late."
        self._nothing("no promise", text, known.job, cost=cost * scene.grain)

    def _nothing(self, rule: str, text: str, job: str, **values: float) -> None:
        """Say that a job is promised nothing, and turn it away where that is wanted."""
        self.scene.tell(rule, text, job, **values)
        rest = self.scene.settings.rest
        if not self.scene.known[job].waits:
            return
        if rest == "refuse" or (rest == "refuse-hopeless" and rule == "out of reach"):
            self.scene.refused[job] = text

    def _promised(self, known: JobEstimate, worker: str, bound: float) -> bool | None:
        """Promise a job on a worker; False if it does not fit there, None if it costs more than the bound."""
        plan = self._with(worker, known)
        if plan is None:
            return False
        share, scene = plan.shares[known.job], self.scene
        cost = float(share.used @ np.diff(plan.edges))
        if cost > bound:
            return None
        scene.known[known.job] = replace(scene.known[known.job], promised=True, worker=worker)
        self._plans[worker] = plan
        if known.waits:
            self.begin.setdefault(worker, {})[known.job] = None
        scene.stir(worker)
        cores, left = share.grains * scene.grain, known.until - scene.now
        enough = f"enough are {format_cores(cores)}"
        text = f"{known.job} is promised to end within {format_duration(left)}; {enough}."
        scene.tell("promise", text, known.job, cores=cores, cost=cost * scene.grain, left=left)
        return True

    def _candidates(self, known: JobEstimate) -> Iterator[str]:
        """Workers to try: where the least is promised first, and last where it could not be started."""
        scene = self.scene
        if not known.waits:
            return iter(() if known.worker is None else (known.worker,))

        def load(name: str) -> tuple[bool, float]:
            home = scene.homes.get(name)
            return name == known.avoids, home.promised / max(home.capacity, scene.grain) if home else 0.0

        able = (name for name in sorted(scene.workers, key=load) if self.has_memory(name, known))
        return islice(able, _TRIES)

    def has_memory(self, worker: str, known: JobEstimate) -> bool:
        """Whether a job that waits finds the memory that it needs on a worker."""
        there = self.scene.workers[worker]
        if there.memory is None or known.memory <= 0:
            return True
        names = {*self.scene.read(worker), *self.begin.get(worker, ())} - {known.job}
        said = sum(self.scene.known[name].memory for name in names)
        used = max(there.memory_used or 0.0, said)
        return bool(used + known.memory <= self.scene.settings.memory * there.memory)

    def _able(self, names: Iterable[str]) -> list[JobEstimate]:
        """Those of these that were promised nothing and have a deadline to come, the least work first."""
        now, every = self.scene.now, (self.scene.known[name] for name in names)
        able = [each for each in every if not each.promised and each.known and now < each.until < inf]
        return sorted(able, key=_WORK)

    def _again(self, worker: str, queue: Sequence[JobEstimate], bound: float) -> None:
        """Promise those that were promised nothing where something changed, those with least work first."""
        scene, rejected, costly = self.scene, 0, 0
        for each in merge(self._able(scene.read(worker)), queue, key=_WORK):
            waits = each.waits and (each.again > scene.now or not self.has_memory(worker, each))
            if each.work > bound:
                return  # no plan costs less than its work, and all behind it have more
            if waits or scene.known[each.job].promised or not self._possible(each):
                continue
            made = self._promised(each, worker, bound)
            rejected += made is False
            costly += made is None
            if rejected >= _MAX_REJECTED or costly >= _MAX_COSTLY:
                return

    def _possible(self, known: JobEstimate) -> bool:
        wish = self.scene.wish(known)
        return wish.steps <= float(wish.rates.speed[-1]) * (wish.last - self.scene.now)

    def alone(self, known: JobEstimate) -> float | None:
        """Cores with which a job would end in time on the largest worker, were it empty; None if none do."""
        found = self._alone(known)
        return None if found is None else found[0].grains * self.scene.grain

    def _cost_alone(self, known: JobEstimate) -> float | None:
        """Grain-seconds that a deadline needs on the largest worker, were it empty; None if that is small."""
        found = self._alone(known)
        return None if found is None else float(found[0].used @ np.diff(found[1]))

    def _alone(self, known: JobEstimate) -> tuple[Share, Floats] | None:
        scene, wish = self.scene, self.scene.wish(known)
        wish = wish._replace(deadline=wish.last)
        edges = slot_edges(scene.now, [wish.deadline], scene.settings.interval)
        most = max(scene.grains(name) for name in scene.workers)
        share = least_share(wish, np.full(len(edges) - 1, most), edges)
        return None if share is None else (share, edges)

    def _out_of_reach(self, known: JobEstimate) -> None:
        scene, wish = self.scene, self.scene.wish(known)
        startup = known.until - wish.last
        soonest = wish.steps / float(wish.rates.speed[-1]) + startup
        text = (
            f"{known.job} cannot end within {format_duration(known.until - scene.now)} with any number of "
            f"cores: {format_duration(soonest)} would be possible{self._spare(known)}."
        )
        self._nothing("out of reach", text, known.job, soonest=soonest)

    def _spare(self, known: JobEstimate) -> str:
        """The reserve that is kept for wrong predictions, where it is worth a word."""
        reserve = known.reserve(self.scene.reserve)
        share = f", with {format_share(reserve - 1, 0)} kept in reserve as predictions were wrong"
        return share if reserve > _WORTH_A_WORD else ""

    def _too_dear(self, known: JobEstimate, cost: float) -> None:
        scene, bound = self.scene, self.bound()
        hour = 3600 / scene.grain
        text = (
            f"{known.job} is promised nothing: it needs {cost / hour:.3g} core-hours, and while more is "
            f"asked for than there is, a job is promised at most {bound / hour:.3g}."
        )
        self._nothing("no promise", text, known.job, cost=cost * scene.grain, bound=bound * scene.grain)
