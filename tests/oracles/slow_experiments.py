"""Slow and obvious twins of what experiments compute."""

from __future__ import annotations

import itertools

import numpy as np


def interval(mine, base, draws, seed=0):
    """Mean relative difference and the 95% percentile interval of its bootstrap, seed by seed."""
    relative = [a / b - 1.0 for a, b in zip(mine, base, strict=True)]
    rng, means = np.random.default_rng(seed), []
    for _ in range(draws):
        picked = rng.integers(0, len(relative), len(relative))
        means.append(sum(relative[at] for at in picked) / len(relative))
    means.sort()
    return sum(relative) / len(relative), quantile(means, 0.025), quantile(means, 0.975)


def quantile(ordered, share):
    """Linear interpolation between the two nearest of ordered values."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def shares(caps, capacity):
    """Divide a capacity in equal parts among jobs, until each is full or no capacity remains."""
    got, remaining = [0.0] * len(caps), capacity
    while remaining > 1e-12:
        open_jobs = [at for at, cap in enumerate(caps) if cap - got[at] > 1e-12]
        if not open_jobs:
            break
        each = remaining / len(open_jobs)
        for at in open_jobs:
            part = min(each, caps[at] - got[at])
            got[at] += part
            remaining -= part
    return got


def fair(jobs, workers, cores, gamma, step):
    """Completion times under fair sharing in small steps; jobs are (arrival, work, demand)."""
    remaining, ends, now = [work for _, work, _ in jobs], [None] * len(jobs), 0.0
    while any(end is None for end in ends):
        active = [
            at for at, (arrival, _, _) in enumerate(jobs) if arrival <= now + 1e-12 and ends[at] is None
        ]
        if active:
            eta = 1 / (1 + gamma * (max(len(active) / workers, 1.0) - 1))
            got = shares([min(jobs[at][2], cores) for at in active], workers * cores)
            for at, rate in zip(active, got, strict=True):
                remaining[at] -= rate * eta * step
                if remaining[at] <= 1e-9:
                    ends[at] = now + step - jobs[at][0]
        now += step
    return ends


def standing(mine, base):
    """Share of jobs (id, seconds, state) sooner, best and worst job of a run, and each job's mean change."""
    sooner, best, worst, changes = [], [], [], {}
    for run, other in zip(mine, base, strict=True):
        pairs = [(name, now, then) for name, now, state in run for also, then, was in other
                 if name == also and state == was == "done" and then > 0]  # fmt: skip
        if not pairs:
            continue
        sooner.append(len([1 for _, now, then in pairs if then - now > 1e-3]) / len(pairs))
        relative = sorted(now / then - 1 for _, now, then in pairs)
        best.append(relative[0])
        worst.append(relative[-1])
        for name, now, then in pairs:
            changes.setdefault(name, []).append(now / then - 1)
    means = {name: sum(values) / len(values) for name, values in changes.items()}
    return [sum(each) / len(each) if each else None for each in (sooner, best, worst)], means


def growth(readings, usage, capacity, end, bounds):
    """P / R of one job in each interval, second values first looked up one by one; None where not known."""

    def last(at):
        latest = None
        for time, value in readings:
            if time <= at:
                latest = value
        return latest

    def used(at):
        before = usage[0]
        for point in usage:
            if point[0] >= at:
                wide = point[0] - before[0]
                return point[1] if wide <= 0 else before[1] + (point[1] - before[1]) * (at - before[0]) / wide
            before = point
        return usage[-1][1]

    growths = []
    for start, stop in itertools.pairwise(bounds):
        if stop > end or last(start) is None:
            growths.append(None)
            continue
        largest = max(abs(value) for time, value in readings if time <= stop)
        rise = abs(last(stop) - last(start)) / (largest or 1.0) / (stop - start)
        use = (used(stop) - used(start)) / (stop - start) / capacity
        growths.append(rise / max(use, 0.01))
    return growths


def work_of(samples, period):
    """Core-seconds of (time, cores, after a gap) samples, and the seconds that they stand for."""
    work = seconds = 0.0
    before = None
    for time, cores, gap in samples:
        spent = period if before is None or gap else time - before
        work, seconds, before = work + cores * spent, seconds + spent, time
    return work, seconds


def smallest_not_exceeded(values, seconds, share):
    """The least of the values that is not exceeded for a share of the time."""
    for value in sorted(values):
        below = sum(spent for each, spent in zip(values, seconds, strict=True) if each <= value)
        if below >= share * sum(seconds) * (1 - 1e-12):
            return value
    return max(values)
