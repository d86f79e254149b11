"""``elastic`` on one worker as its rules are written down, without books: slow and plain.

Every decision begins from nothing but what is seen and three notes: since when each job waits, since when it
runs, and how often it was run. Cores are whole numbers of the grain, and a step on c cores takes 1/c.
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

    def decide(self, seen):
        """Cores of each job that runs after this decision, jobs paused by it, jobs refused by it."""
        self.now = seen.time
        self.jobs = {job.id: job for job in seen.jobs}
        self.ask = {job.id: self.asked_for(job) for job in seen.jobs}
        for job in seen.jobs:
            self.waits_since.setdefault(job.id, job.arrived)
        self.had = {job.id: job.limit for job in seen.jobs if job.state.value == "running"}
        self.given, self.begun = dict(self.had), []
        refused = [job.id for job in seen.jobs if job.state.value == "waiting" and self.impossible(job.id)]
        self.queue = [name for name in self.jobs if name not in self.had and name not in refused]
        self.factor = max(1.0, sum(self.ask[name].request for name in [*self.had, *self.queue]) / self.cores)
        if self.settings.first == "running":
            self.grow()
        self.admit()
        self.take_turns()
        self.grow()
        if self.settings.reassign == "speedup" and seen.trigger.value == "tick":
            self.move()
        for name in self.begun:
            self.runs_since[name] = self.now
            self.runs[name] = self.runs.get(name, 0) + 1
        return self.given, [name for name in self.had if name not in self.given], refused

    def asked_for(self, job):
        """Request, least and most of a job."""
        cap = self.settings.cap or self.cores
        least = job.terms_or_default.min if job.terms_or_default.min is not None else min(1.0, job.request)
        most = min(self.cores, cap, job.terms_or_default.max or self.cores)
        if not job.can_resize and job.threads is not None:
            most = min(most, job.threads)
        request = min(job.request, self.settings.cap or job.request)
        return SimpleNamespace(request=max(request, least), least=least, most=max(most, least))

    def impossible(self, name):
        """Whether no worker can ever take a job."""
        needed = self.ask[name].request if self.settings.admission == "strict" else self.ask[name].least
        return needed > min(self.cores, self.settings.cap or self.cores)

    def due(self, name):
        """Cores that a job has a claim to while others wait."""
        asks = self.ask[name]
        if self.settings.admission == "proportional" and self.factor > 1:
            return min(max(floor(asks.request / self.factor + 1e-9), asks.least), asks.most)
        return min(asks.request, asks.most)

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
            after = self.begins_beside(name, self.given)
            if after is None:
                return
            self.given = after
            self.begun.append(name)

    def begins_beside(self, name, held):
        """The cores of all once a job begins beside others, or None."""
        names = self.by_age([*held, name])
        goals = self.equal(names) if self.settings.admission == "equal" else {n: self.due(n) for n in names}
        if self.settings.admission == "equal" and any(goals[n] < self.ask[n].least for n in names):
            return None
        wanted = goals[name]
        held = self.given_back(held, wanted, goals) if self.settings.first == "waiting" else held
        cores = min(wanted, self.cores - sum(held.values()))
        enough = wanted if self.settings.admission in ("strict", "equal") else self.ask[name].least
        return None if cores < max(enough, 1e-9) else {**held, name: cores}

    def given_back(self, held, wanted, goals):
        """One core after the other from whom holds most beyond its goal, until enough are free."""
        held = dict(held)
        while self.cores - sum(held.values()) < wanted and held:
            over = {n: held[n] - max(goals[n], self.ask[n].least) for n in self.by_age(held)}
            most = max(over, key=over.get)
            if over[most] < 1:
                break
            held[most] -= 1
        return held

    def equal(self, names):
        """Equal shares; the remainder to the earliest."""
        shares = dict.fromkeys(names, 0)
        for _ in range(int(self.cores)):
            able = [name for name in names if shares[name] + 1 <= self.ask[name].most]
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
        while left := [
            name for name in self.queue if name not in self.begun and self.waits_since[name] < self.now
        ]:
            name = min(left, key=self.rank)
            held, stopped, after = dict(self.given), [], None
            for victim in self.victims(name):
                del held[victim]
                stopped.append(victim)
                after = self.begins_beside(name, held)
                if after is not None:
                    break
            if after is None:
                return
            self.given = after
            self.begun.append(name)
            self.waits_since.update(dict.fromkeys(stopped, self.now))

    def victims(self, name):
        """Who may be paused for a job, in order."""
        quantum = self.settings.quantum - 1e-6
        over = [n for n in self.had if n in self.given and self.now - self.runs_since[n] > quantum]
        if self.settings.order == "priority":
            over = [n for n in over if self.jobs[n].terms_or_default.priority - 1 < -self.rank(name)[0]]
        if self.settings.victim == "smallest":
            return sorted(over, key=lambda n: (self.ask[n].request, self.jobs[n].arrived, n))
        return sorted(over, key=lambda n: (self.runs_since[n], self.jobs[n].arrived, n))

    def grow(self):
        """Free cores to those that run."""
        {
            "none": lambda: None,
            "strict": lambda: self.oldest(lambda n: min(self.ask[n].request, self.ask[n].most)),
            "fill": lambda: self.oldest(lambda n: self.ask[n].most),
            "proportional": self.alike,
            "speedup": self.fastest,
        }[self.settings.reassign]()

    @property
    def free(self):
        """Cores that nobody has."""
        return self.cores - sum(self.given.values())

    def oldest(self, goal):
        """The oldest first, each up to its goal."""
        for name in self.by_age(self.given):
            self.given[name] += max(0, min(goal(name) - self.given[name], self.free))

    def alike(self):
        """As many to each that can use them, again while there are any for each."""
        while hungry := [n for n in self.by_age(self.given) if self.given[n] + 1 <= self.ask[n].most]:
            part = floor(self.free / len(hungry))
            if not part:
                return
            for name in hungry:
                self.given[name] += floor(min(part, self.ask[name].most - self.given[name]))

    def fastest(self):
        """One core after the other to whose step gets shorter by most."""
        while self.free >= 1:
            able = [n for n in self.by_age(self.given) if self.given[n] + 1 <= self.ask[n].most]
            if not able:
                return
            self.given[max(able, key=lambda n: 1 / (self.given[n] + 1))] += 1

    def move(self):
        """One core from whom it costs least to whom it helps clearly more."""
        names, given = self.by_age(self.given), self.given
        loss = {n: 1 / given[n] for n in names if given[n] > max(1, self.due(n), self.ask[n].least)}
        gain = {n: 1 / (given[n] + 1) if given[n] + 1 <= self.ask[n].most else 0 for n in names}
        if not loss:
            return
        giver, taker = min(loss, key=loss.get), max(gain, key=gain.get)
        if giver != taker and gain[taker] > 1.25 * loss[giver] + 1e-6:
            given[giver] -= 1
            given[taker] += 1
