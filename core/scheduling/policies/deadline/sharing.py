"""How many cores each job of a worker has now.

Those that were promised to have the share of the plan's first slot; those that would end too late have as
much as helps them, for they may still be in time. Then come those that were promised nothing and may be in
time all the same, if they are lucky. What is left goes to whom it helps most, promised or not.
A mere look changes nothing while everybody has what the plan needs, unless two in a row say the same.
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
from core.scheduling.deadline_planning.plan import least_share
from core.scheduling.model import JobState
from core.scheduling.policies.deadline.job_estimate import SpareAllocation
from core.scheduling.policies.deadline.scene import Home
from core.units import format_cores, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from core.scheduling.deadline_planning.plan import AllocationRequest, Plan
    from core.scheduling.deadline_planning.rates import Rates
    from core.scheduling.model import Job
    from core.scheduling.policies.deadline.deadline_admission import DeadlineAdmission
    from core.scheduling.policies.deadline.job_estimate import JobEstimate
    from core.scheduling.policies.deadline.scene import Scene


_NO_GAIN = 1e-9


# Cores that nobody needs, to whom they help most.
#
# One step of cores at a time goes to the job that it speeds up most, in relation to its own speed on one
# core: the first core of any job counts as 1, and every further one as much as it adds (`spread`). As
# published by ElasticFlow (ASPLOS 2023, section 4.2, algorithm 2) it goes to the job whose core-time it saves
# most (`by_core_time`).


class Taker(NamedTuple):
    """A job that can use more cores."""

    #: Its name.
    job: str
    #: How fast it is.
    rates: Rates
    #: What it has already.
    grains: int
    #: What it begins with at least while it has nothing.
    first: int
    #: Steps per second that a grain is worth up to one core.
    unit: float
    #: What each further grain has to gain, of that, to be taken.
    worth: float = 0.0


def spread(takers: Sequence[Taker], free: int) -> dict[str, int]:
    """Give free grains away."""
    given: dict[str, int] = {}
    queue = [
        (-gain, each.grains, place, more)
        for place, each in enumerate(takers)
        for gain, more in [_next(each, each.grains)]
        if _helps(each, gain)
    ]
    heapify(queue)
    while free > 0 and queue:
        _, _, place, more = queue[0]
        taker = takers[place]
        if more > free:
            heappop(queue)
            continue
        free -= more
        held = given[taker.job] = given.get(taker.job, taker.grains) + more
        gain, more = _next(taker, held)
        if _helps(taker, gain):
            heapreplace(queue, (-gain, held, place, more))
        else:
            heappop(queue)
    return given


def _helps(taker: Taker, gain: float) -> bool:
    return gain > max(taker.worth - _NO_GAIN, _NO_GAIN)


def _next(taker: Taker, held: int) -> tuple[float, int]:
    """What each of the next grains gains that a job can make use of, and how many those are."""
    speed, rates = taker.rates.speed, taker.rates
    if held >= rates.most:
        return 0.0, 0
    after = max(taker.first, held + 1) if held == 0 else held + 1
    after = min(after, rates.most)
    if speed[after] <= speed[held]:  # the next number with which it is faster
        after = int(speed.searchsorted(speed[held], side="right"))
    return float(speed[after] - speed[held]) / ((after - held) * taker.unit), after - held


def by_core_time(wishes: Sequence[AllocationRequest], plan: Plan, free: int) -> dict[str, int]:
    """Give free grains of the first slot to jobs of a plan whose core-time that saves most."""
    given: dict[str, int] = {}
    queue = []
    for place, wish in enumerate(wishes):
        used = plan.shares[wish.job].used
        held = int(used[0])
        cost = float(used @ np.diff(plan.edges))
        after, then = _stepped(wish, plan, held)
        if after > held:
            queue.append((-(cost - then) / (after - held), place, held, after, then))
    heapify(queue)
    while free > 0 and queue:
        _, place, held, after, cost = heappop(queue)
        if after - held > free:
            continue
        free -= after - held
        wish = wishes[place]
        given[wish.job] = after
        further, then = _stepped(wish, plan, after)
        if further > after:
            heappush(queue, (-(cost - then) / (further - after), place, after, further, then))
    return given


def _stepped(wish: AllocationRequest, plan: Plan, held: int) -> tuple[int, float]:
    """The next useful number of grains in the first slot, and a job's grain-seconds with it."""
    speed = wish.rates.speed
    after = int(speed.searchsorted(speed[held], side="right"))
    if after >= len(speed):
        return held, inf
    length = float(plan.edges[1] - plan.edges[0])
    left = wish.steps - float(speed[after]) * length
    if left <= 0:
        return after, after * wish.steps / float(speed[after])
    own = plan.shares[wish.job].used[1:]
    later = least_share(wish._replace(steps=left), plan.free[1:] + own, plan.edges[1:])
    if later is None:
        return held, inf
    return after, after * length + float(later.used @ np.diff(plan.edges[1:]))


_GROWTH: Final = 0.05
_LONGEST: Final = 20
"""Looks become rarer with the time since something last happened, up to so many intervals."""
_SOON: Final = 10.0
"""Seconds between looks at a job with a deadline of whose speed nothing is known,"""
_YOUNG: Final = 60.0
"""for so many seconds after its start."""


class Sharing:
    """The cores of the workers that are shared anew."""

    def __init__(self, scene: Scene, promises: DeadlineAdmission) -> None:
        self.scene, self.promises = scene, promises
        self.wanted: list[tuple[Job, str, float]] = []
        self.marks: list[Mark] = []
        self._others = self._queue()
        self._ample = promises.bound() == inf
        self._hopes = self._hoping(name for name in scene.new if name in self._others)

    def share(self) -> None:
        """Share the cores of all workers that have changed, and of others as long as jobs can begin there."""
        for worker in list(self.scene.changed_workers):
            self._share(worker)
        for name, hope in self._hopes.items():
            homes = self.scene.homes
            idlest = max(homes, key=lambda each: homes[each].idle, default=None)
            if name in self._others and idlest is not None and homes[idlest].idle >= hope.least:
                self.scene.stir(idlest)
                self._share(idlest)
        while self._others:
            homes, first = self.scene.homes, next(iter(self._others.values()))
            freest = max(homes, key=lambda name: homes[name].spare, default=None)
            if freest is None or freest in self.scene.changed_workers or homes[freest].spare < first.first:
                return
            self.scene.stir(freest)
            self._share(freest)

    def _queue(self) -> dict[str, JobEstimate]:
        """Those that wait and were promised nothing: whose deadline may still be met first, by their work."""
        scene, now = self.scene, self.scene.now
        able = [
            known
            for known in map(scene.known.__getitem__, scene.waiting)
            if known.worker is None and known.again <= now and known.job not in scene.refused
        ]
        able.sort(key=lambda known: (known.until <= now, known.work, known.job))
        return {known.job: known for known in able}

    def _share(self, worker: str) -> None:
        scene, plan = self.scene, self.promises.plan(worker)
        before = scene.homes.get(worker, Home(scene.workers[worker].capacity, since=scene.now))
        every = [*scene.read(worker), *self.promises.begin.get(worker, ())]
        names = [name for name in every if self._able(name)]
        had = {name: 0 if scene.known[name].waits else self._held(name) for name in names}
        taken = sum(self._held(name) for name in every if name not in had)
        free = max(scene.grains(worker) - taken, 0)  # a host may have lost cores that a start was asked for
        needed = self._needed(plan, names, free)
        hopes = self._hoped([name for name in names if name not in needed], free - sum(needed.values()))
        needed |= hopes
        begins = self._beginning(worker, free - sum(needed.values()))
        hopes |= {name: grains for name, grains in begins.items() if name in self._hopes}
        needed |= hopes
        given = needed | self._left_over(plan, needed, [*names, *begins], free - sum(needed.values()))
        calm = worker in scene.looked and all(had[name] >= needed.get(name, 0) for name in names)
        begun = [name for name in begins if given.get(name)]
        wishes = any(had[name] != given.get(name, 0) for name in names)
        if calm and wishes and not begun and not before.wishes and sum(had.values()) <= free:
            given = had
        else:
            self._tell(plan, had, given)
            self._tell_hopes({name: need for name, need in hopes.items() if had.get(name, 0) < need})
            wishes = False
        for name in (*names, *begun):
            self._give(name, worker, given.get(name, 0))
        home = Home(
            scene.workers[worker].capacity,
            promised=sum(float(share.used @ np.diff(plan.edges)) for share in plan.shares.values()),
            spare=free - sum(given.values()),
            idle=free - sum(needed.values()),
            since=before.since if worker in scene.looked else scene.now,
            wishes=wishes,
            blocked=len(names) < len(every),
            plan=plan,
        )
        scene.homes[worker] = home._replace(due=self._due(worker, plan, home, (*every, *begun)))

    def _able(self, name: str) -> bool:
        """Whether something can be done to a job: it is not on its way, and its start was not asked for."""
        known = self.scene.known[name]
        if known.waits:
            return known.again <= self.scene.now
        return self.scene.jobs[name].state is not JobState.MIGRATING

    def _held(self, name: str) -> int:
        known = self.scene.known[name]
        return known.asked if known.waits else round(known.cores / self.scene.grain)

    def _needed(self, plan: Plan, names: list[str], free: int) -> dict[str, int]:
        """Grains of those that were promised to: in time first, then those that would be late.

        Before them, of whoever has done all its steps, promised or not, which is not stopped at its end.
        """
        needed: dict[str, int] = {}
        for name in (name for name in names if self.scene.known[name].ending):
            needed[name] = min(self._closing(name, plan), free)
            free -= needed[name]
        for name in (name for name in names if name in plan.shares and name not in needed):
            needed[name] = self._useful(name, min(int(plan.shares[name].used[0]), free))
            free -= needed[name]
        for name in (name for name in plan.late if name in names and name not in needed):
            needed[name] = self._useful(name, free)
            free -= needed[name]
        return needed

    def _closing(self, name: str, plan: Plan) -> int:
        """Grains of one that has done all its steps: its share, or what it has up to what it began with."""
        known = self.scene.known[name]
        share = self._useful(name, int(plan.shares[name].used[0])) if name in plan.shares else 0
        return max(share, known.rates.least, min(self._held(name), known.first))

    def _hoping(self, names: Iterable[str]) -> dict[str, SpareAllocation]:
        """With how many grains jobs may end in time that were promised nothing, of those that may."""
        scene, ample = self.scene, self._ample
        found = {name: scene.known[name].hope(scene.now, scene.spread, ample=ample) for name in names}
        return {name: hope for name, hope in found.items() if hope is not None}

    def _hoped(self, names: list[str], free: int) -> dict[str, int]:
        """Grains of those that run, were promised nothing and may be in time, the fewest first."""
        given: dict[str, int] = {}
        hoping = self._hoping(name for name in names if not self.scene.known[name].waits)
        for name, hope in sorted(hoping.items(), key=itemgetter(1)):
            if hope.least <= free:
                given[name] = self._useful(name, min(hope.enough, free))
                free -= given[name]
        return given

    def _useful(self, name: str, grains: int) -> int:
        """As many of these grains as a job can make use of."""
        rates = self.scene.known[name].rates
        return int(rates.useful[min(grains, rates.most)])

    def _beginning(self, worker: str, free: int) -> dict[str, int]:
        """Those that could begin here with what is left, and the grains that they need for it."""
        found: dict[str, int] = {}
        hoping = [name for name in self._hopes if name in self._others]
        for name in chain(hoping, (name for name in self._others if name not in hoping)):
            known = self._others[name]
            hope = self._hopes.get(name) or SpareAllocation(known.first, known.first)
            if free <= 0:
                break
            if hope.least <= free and self.promises.has_memory(worker, known):
                found[name] = min(hope.enough, free)
                free -= found[name]
        return found

    def _left_over(
        self, plan: Plan, needed: Mapping[str, int], names: list[str], free: int
    ) -> dict[str, int]:
        """What jobs have that get some of the grains that no promise needs."""
        given: dict[str, int] = {}
        if self.scene.settings.spare == "core-time":
            known = self.scene.known
            promised = [name for name in names if name in plan.shares and not known[name].ending]
            wishes = [self.scene.wish(known[name]) for name in promised]
            given = by_core_time(wishes, plan, free)
            free -= sum(after - needed[name] for name, after in given.items())
            names = [name for name in names if name not in plan.shares]
        return given | spread([self._taker(name, needed.get(name, 0)) for name in names], free)

    def _taker(self, name: str, grains: int) -> Taker:
        known = self.scene.known[name]
        one = min(max(round(1.0 / self.scene.grain), known.rates.least), known.rates.most)
        worth = 0.0 if known.promised else self.scene.settings.worth
        return Taker(name, known.rates, grains, known.first, float(known.rates.speed[one]) / one, worth)

    def _give(self, name: str, worker: str, grains: int) -> None:
        scene, known = self.scene, self.scene.known[name]
        cores = grains * scene.grain
        self.wanted.append((scene.jobs[name], worker, cores))
        known = known.with_cores(cores, scene.now)
        if known.waits and grains:
            known = known.tried(worker, grains, scene.now)
            self._others.pop(name, None)
        scene.known[name] = known
        self.marks.append(self._mark(known, grains))

    def _mark(self, known: JobEstimate, grains: int) -> Mark:
        """What is thought of a job now, and when it would end with the cores that it has."""
        ending = known.ends(grains, self.scene.now, self.scene.spread)
        ends, between = ending if ending is not None else (None, None)
        label = ("late" if known.late else "promised") if known.promised else "left over"
        promised = known.promised if known.until < inf else None
        return Mark(known.job, label, promised=promised, ends=ends, between=between)

    def _due(self, worker: str, plan: Plan, home: Home, names: Sequence[str]) -> float:
        """When a worker is looked at again: at an interval, or sooner where the plan changes."""
        scene, interval = self.scene, self.scene.settings.interval
        if home.spare == scene.grains(worker):
            return inf
        look = scene.now + min(max(_GROWTH * (scene.now - home.since), interval), _LONGEST * interval)
        if any(map(self._is_new, names)):
            look = min(look, scene.now + _SOON)
        used = np.array([share.used for share in plan.shares.values()])
        changes = np.flatnonzero((used != used[:, :1]).any(axis=0)) if len(used) else np.array([], int)
        return float(min([look, *plan.edges[changes[:1]].tolist()]))

    def _is_new(self, name: str) -> bool:
        known = self.scene.known[name]
        age = 0.0 if known.started is None else self.scene.now - known.started
        return known.until < inf and not known.known and age < _YOUNG

    def _tell(self, plan: Plan, had: Mapping[str, int], given: Mapping[str, int]) -> None:
        """Say who gets cores from whom, and which deadlines that protects."""
        scene = self.scene
        gains = [
            name
            for name, share in plan.shares.items()
            if name in had and had[name] < int(share.used[0]) <= given.get(name, 0)
        ]
        why = "".join(
            f", which {name} needs to end in time{self._else(name, had[name])}" for name in gains[:1]
        )
        for name, before in had.items():
            after = given.get(name, 0)
            if after < before:
                lost = format_cores((before - after) * scene.grain)
                scene.tell("cores", f"{name} gives back {lost}{why}.", name, protects=float(len(gains)))
            elif after > before > 0:
                text = f"{name} has {format_cores(after * scene.grain)} instead of {before * scene.grain:g}."
                scene.tell("cores", text, name)
        for name in had:
            known = scene.known[name]
            if known.promised and known.late != (name in plan.late):
                scene.known[name] = replace(known, late=name in plan.late)
                text = f"{name} will end too late{self._else(name, given.get(name, 0))}."
                if known.late:
                    text = f"{name} will end in time again."
                scene.tell("late" if name in plan.late else "in time", text, name)

    def _tell_hopes(self, hopes: Mapping[str, int]) -> None:
        """Say who may be in time without a promise."""
        for name, need in hopes.items():
            cores = format_cores(need * self.scene.grain)
            text = f"{name} is promised nothing, and may be in time all the same with {cores}."
            self.scene.tell("hope", text, name)

    def _else(self, name: str, grains: int) -> str:
        """How much too late a job would end with so many grains."""
        known = self.scene.known[name]
        wish = known.wish(1.0, self.scene.now)
        if not grains or not wish.rates.speed[min(grains, wish.rates.most)]:
            return ""
        over = self.scene.now + wish.steps / wish.rates.speed[min(grains, wish.rates.most)] - wish.last
        return f" (else {format_duration(over)} too late)" if over > 0 else ""
