"""Slow and obvious twins of what experiments compute."""

from __future__ import annotations

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
    """Pour a capacity over jobs in equal parts until each is full or nothing is left."""
    got, left = [0.0] * len(caps), capacity
    while left > 1e-12:
        open_jobs = [at for at, cap in enumerate(caps) if cap - got[at] > 1e-12]
        if not open_jobs:
            break
        each = left / len(open_jobs)
        for at in open_jobs:
            more = min(each, caps[at] - got[at])
            got[at] += more
            left -= more
    return got


def fair(jobs, workers, cores, gamma, step):
    """Completion times under fair sharing in small steps; jobs are (arrival, work, demand)."""
    left, ends, now = [work for _, work, _ in jobs], [None] * len(jobs), 0.0
    while any(end is None for end in ends):
        here = [at for at, (arrival, _, _) in enumerate(jobs) if arrival <= now + 1e-12 and ends[at] is None]
        if here:
            eta = 1 / (1 + gamma * (max(len(here) / workers, 1.0) - 1))
            got = shares([min(jobs[at][2], cores) for at in here], workers * cores)
            for at, rate in zip(here, got, strict=True):
                left[at] -= rate * eta * step
                if left[at] <= 1e-9:
                    ends[at] = now + step - jobs[at][0]
        now += step
    return ends
