"""The slow, obvious twin of joining files: every sample of one file against every sample of the others."""

from __future__ import annotations

from itertools import pairwise
from statistics import median


def nearest(time, others):
    """The position of the nearest of some times, the first of equally near ones."""
    return min(range(len(others)), key=lambda j: (abs(others[j] - time), others[j]))


def partners(a, b, limit):
    """Pairs of positions of samples that are each other's nearest and less than a limit apart."""
    return [
        (i, nearest(a[i], b))
        for i in range(len(a))
        if nearest(b[nearest(a[i], b)], a) == i and abs(a[i] - b[nearest(a[i], b)]) < limit
    ]


def usual_step(times):
    return median(after - before for before, after in pairwise(times))


def joined(files):
    """The rows of several files by execution: a time, and the values of every file.

    `files` is a list of ``{execution: [(time, value), …]}``, at least two samples each.
    """
    rows = {}
    for name in files[0]:
        if not all(name in other for other in files):
            continue
        times = [[time for time, _ in file[name]] for file in files]
        limit = 0.5 * min(usual_step(one) for one in times)
        matches = [dict(partners(times[0], other, limit)) for other in times[1:]]
        joined_rows = [
            (time, value, *(files[k + 1][name][match[i]][1] for k, match in enumerate(matches)))
            for i, (time, value) in enumerate(files[0][name])
            if all(i in match for match in matches)
        ]
        if joined_rows:
            rows[name] = joined_rows
    return rows
