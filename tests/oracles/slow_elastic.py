"""``elastic`` on one worker as its rules are written down, without books: slow and plain.

Every decision uses the observation and three notes: since when each job waits, since when it
runs, and how often it was run. Cores are whole numbers, and a step on c cores takes 1/c.
"""

from __future__ import annotations

from math import ceil, floor
from types import SimpleNamespace


def threads(cores):
    """Threads that suit so many cores."""
    return max(1, ceil(cores - 0.05))


class SlowElastic:
    """One run; `decide` gives the cores of every job that runs, those paused and those refused."""

    def __init__(self, settings, cores):
        self.settings, self.cores = settings, cores
        self.waits_since, self.runs_since, self.runs = {}, {}, {}

    def decide(self, observation):
        """Cores of each job that runs after this decision, jobs paused by it, jobs refused by it."""
        self.now = observation.time
        self.jobs = {job.id: job for job in observation.jobs}
        self.requests = {job.id: self.request_of(job) for job in observation.jobs}
        for job in observation.jobs:
            self.waits_since.setdefault(job.id, job.arrived)
        self.allocations_before = {
            job.id: job.limit for job in observation.jobs if job.state.value == "running"
        }
        self.allocations, self.started = dict(self.allocations_before), []
        refused = [
            job.id for job in observation.jobs if job.state.value == "waiting" and self.impossible(job.id)
        ]
        self.queue = [
            name for name in self.jobs if name not in self.allocations_before and name not in refused
        ]
        self.factor = max(
            1.0,
            sum(self.requests[name].request for name in [*self.allocations_before, *self.queue]) / self.cores,
        )
        if self.settings.first == "running":
            self.grow()
        self.admit()
        self.take_turns()
        self.grow()
        if self.settings.reassign == "speedup" and observation.trigger.value == "tick":
            self.move()
        for name in self.started:
            self.runs_since[name] = self.now
            self.runs[name] = self.runs.get(name, 0) + 1
        return (
            self.allocations,
            [name for name in self.allocations_before if name not in self.allocations],
            refused,
        )

    def request_of(self, job):
        """Request, lowest and highest allocation of a job."""
        cap = self.settings.cap or self.cores
        lowest = job.terms_or_default.min if job.terms_or_default.min is not None else min(1.0, job.request)
        highest = min(self.cores, cap, job.terms_or_default.max or self.cores)
        if not job.can_resize and job.threads is not None:
            highest = min(highest, job.threads)
        request = min(job.request, self.settings.cap or job.request)
        return SimpleNamespace(request=max(request, lowest), lowest=lowest, highest=max(highest, lowest))

    def impossible(self, name):
        """Whether no worker can ever take a job."""
        needed = (
            self.requests[name].request if self.settings.admission == "strict" else self.requests[name].lowest
        )
        return needed > min(self.cores, self.settings.cap or self.cores)

    def due(self, name):
        """Cores that a job has a claim to while others wait."""
        asks = self.requests[name]
        if self.settings.admission == "proportional" and self.factor > 1:
            return min(max(floor(asks.request / self.factor + 1e-9), asks.lowest), asks.highest)
        return min(asks.request, asks.highest)

    def rank(self, name):
        """The lowest comes first."""
        arrived, waited = self.jobs[name].arrived, self.now - self.waits_since[name]
        if self.settings.order != "priority":
            return (self.waits_since[name], arrived, name)
        aged = waited / self.settings.ageing if self.settings.ageing else 0
        fed = self.runs.get(name, 0) if self.settings.feedback else 0
        return (-(self.jobs[name].terms_or_default.priority + aged - fed), arrived, name)

    def by_age(self, names):
        """In order of arrival."""
        return sorted(names, key=lambda name: (self.jobs[name].arrived, name))

    def admit(self):
        """Those that wait begin in their order, until one cannot."""
        for name in sorted(self.queue, key=self.rank):
            after = self.begins_beside(name, self.allocations)
            if after is None:
                return
            self.allocations = after
            self.started.append(name)

    def begins_beside(self, name, allocations):
        """The cores of all once a job begins beside others, or None."""
        names = self.by_age([*allocations, name])
        goals = self.equal(names) if self.settings.admission == "equal" else {n: self.due(n) for n in names}
        if self.settings.admission == "equal" and any(goals[n] < self.requests[n].lowest for n in names):
            return None
        goal = goals[name]
        allocations = (
            self.take_cores_back(allocations, goal, goals)
            if self.settings.first == "waiting"
            else allocations
        )
        cores = min(goal, self.cores - sum(allocations.values()))
        enough = goal if self.settings.admission in ("strict", "equal") else self.requests[name].lowest
        return None if cores < max(enough, 1e-9) else {**allocations, name: cores}

    def take_cores_back(self, allocations, needed, goals):
        """Take single cores from the jobs furthest above their goals, until enough are free."""
        allocations = dict(allocations)
        while self.cores - sum(allocations.values()) < needed and allocations:
            over = {
                n: allocations[n] - max(goals[n], self.requests[n].lowest) for n in self.by_age(allocations)
            }
            largest = max(over, key=over.get)
            if over[largest] < 1:
                break
            allocations[largest] -= 1
        return allocations

    def equal(self, names):
        """Equal shares; the remainder to the earliest."""
        shares = dict.fromkeys(names, 0)
        for _ in range(int(self.cores)):
            able = [name for name in names if shares[name] + 1 <= self.requests[name].highest]
            if able:
                shares[min(able, key=shares.get)] += 1
        return shares

    def take_turns(self):
        """Those whose quantum is over are paused while that lets another begin."""
        if not (
            self.settings.order == "round-robin"
            or (self.settings.order == "priority" and self.settings.feedback)
        ):
            return
        while waiting := [
            name for name in self.queue if name not in self.started and self.waits_since[name] < self.now
        ]:
            name = min(waiting, key=self.rank)
            allocations, stopped, after = dict(self.allocations), [], None
            for victim in self.victims(name):
                del allocations[victim]
                stopped.append(victim)
                after = self.begins_beside(name, allocations)
                if after is not None:
                    break
            if after is None:
                return
            self.allocations = after
            self.started.append(name)
            self.waits_since.update(dict.fromkeys(stopped, self.now))

    def victims(self, name):
        """The jobs that may be paused for a job, in order."""
        quantum = self.settings.quantum - 1e-6
        over = [
            n
            for n in self.allocations_before
            if n in self.allocations and self.now - self.runs_since[n] > quantum
        ]
        if self.settings.order == "priority":
            over = [n for n in over if self.jobs[n].terms_or_default.priority - 1 < -self.rank(name)[0]]
        if self.settings.victim == "smallest":
            return sorted(over, key=lambda n: (self.requests[n].request, self.jobs[n].arrived, n))
        return sorted(over, key=lambda n: (self.runs_since[n], self.jobs[n].arrived, n))

    def grow(self):
        """Free cores to those that run."""
        {
            "none": lambda: None,
            "strict": lambda: self.oldest(lambda n: min(self.requests[n].request, self.requests[n].highest)),
            "fill": lambda: self.oldest(lambda n: self.requests[n].highest),
            "proportional": self.alike,
            "speedup": self.fastest,
        }[self.settings.reassign]()

    @property
    def free(self):
        """The number of free cores."""
        return self.cores - sum(self.allocations.values())

    def oldest(self, goal):
        """The oldest first, each up to its goal."""
        for name in self.by_age(self.allocations):
            self.allocations[name] += max(0, min(goal(name) - self.allocations[name], self.free))

    def alike(self):
        """Give one core to each job that can use it, round after round, while cores remain."""
        while hungry := [
            n for n in self.by_age(self.allocations) if self.allocations[n] + 1 <= self.requests[n].highest
        ]:
            part = floor(self.free / len(hungry))
            if not part:
                return
            for name in hungry:
                self.allocations[name] += floor(
                    min(part, self.requests[name].highest - self.allocations[name])
                )

    def fastest(self):
        """One core after the other to whose step gets shorter by most."""
        while self.free >= 1:
            able = [
                n
                for n in self.by_age(self.allocations)
                if self.allocations[n] + 1 <= self.requests[n].highest
            ]
            if not able:
                return
            self.allocations[max(able, key=lambda n: 1 / (self.allocations[n] + 1))] += 1

    def move(self):
        """Move one core from the job that loses least to the job that gains clearly more."""
        names, allocations = self.by_age(self.allocations), self.allocations
        loss = {
            n: 1 / allocations[n]
            for n in names
            if allocations[n] > max(1, self.due(n), self.requests[n].lowest)
        }
        gain = {
            n: 1 / (allocations[n] + 1) if allocations[n] + 1 <= self.requests[n].highest else 0
            for n in names
        }
        if not loss:
            return
        giver, taker = min(loss, key=loss.get), max(gain, key=gain.get)
        if giver != taker and gain[taker] > 1.25 * loss[giver] + 1e-6:
            allocations[giver] -= 1
            allocations[taker] += 1
