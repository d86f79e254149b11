"""Slow and obvious twins of what a queue does to jobs, recomputed from a whole ledger, job by job."""

from __future__ import annotations

from core.scheduling.actions import Pause, Resume, SetLimit, SetThreads, Start


def _done_of(entries, name):
    """What was done to one job and did not fail: (time, action) in order."""
    return [
        (entry.observation.time, action)
        for entry in entries
        for action in entry.actions
        if action.job == name and action not in [failure.action for failure in entry.failures]
    ]


def _states(entries, name):
    """(time, job) of every observation that shows a job, its end included."""
    return [
        (entry.observation.time, job)
        for entry in entries
        for job in (*entry.observation.jobs, *entry.observation.ended)
        if job.id == name
    ]


def job(entries, name):
    """A dict of one job's times and counts, from what was done to it; nothing was moved."""
    seen, acts = _states(entries, name), _done_of(entries, name)
    end, last = seen[-1]
    starts = [time for time, act in acts if isinstance(act, Start)]
    paused, since = 0.0, None
    for time, act in acts:
        if isinstance(act, Pause):
            since = time
        if isinstance(act, Resume):
            paused, since = paused + time - since, None
    row = {"id": name, "arrived": last.arrived, "ended": end, "state": last.state.value,
           "used": last.cpu_seconds, "pauses": sum(isinstance(act, Pause) for _, act in acts)}  # fmt: skip
    row |= {"resizes": _changes(entries, name, "limit"), "threads": _changes(entries, name, "threads")}
    if not starts:
        return row | {"waiting": None, "service": None, "paused": None}
    waiting = starts[0] - last.arrived
    return row | {"waiting": waiting, "paused": paused, "service": end - last.arrived - waiting - paused}


def _changes(entries, name, what):
    """How often a job that had begun had another limit, or other threads, after a decision than before it."""
    kinds, has, begun, n = ((Start, SetLimit) if what == "limit" else (SetThreads,)), None, False, 0
    for entry in entries:
        for seen in entry.observation.jobs:
            if seen.id == name and not begun:
                has = getattr(seen, what)
        before = has
        for time, act in _done_of([entry], name):
            if isinstance(act, kinds):
                has = getattr(act, what)
            if isinstance(act, Start) and what == "threads" and act.threads is not None:
                has = act.threads if _resizable(entry, name) else has
            assert time == entry.observation.time
        n += begun and has != before
        begun = begun or any(isinstance(act, Start) for _, act in _done_of([entry], name))
    return n


def _resizable(entry, name):
    return next(job.can_resize for job in entry.observation.jobs if job.id == name)


def run(entries):
    """Every measure of a run, by its definition."""
    names = {job.id for entry in entries for job in entry.observation.ended}
    rows = [job(entries, name) for name in names]
    done = [row for row in rows if row["state"] == "done"]
    ran = [row for row in rows if row["state"] != "refused"]
    long = max(row["ended"] for row in ran) - min(row["arrived"] for row in ran) if ran else 0.0
    cores = sum(worker.capacity for worker in entries[-1].observation.workers)

    def mean(what):
        return sum(row[what] for row in done) / len(done) if done else None

    return (
        {
            "waiting": mean("waiting"),
            "longest_wait": max((row["waiting"] for row in done), default=None),
            "service": mean("service"),
            "paused": mean("paused"),
            "jobs_per_hour": 3600 * len(done) / long if long else None,
            "used": sum(row["used"] for row in rows) / (cores * long) if long else None,
            "refused": len(rows) - len(ran),
            "pauses": sum(row["pauses"] for row in rows),
            "resizes": sum(row["resizes"] for row in rows),
            "thread_changes": sum(row["threads"] for row in rows),
        },
        {row["id"]: row for row in rows},
        long,
    )
