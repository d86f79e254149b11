"""Slow and obvious twins of what a queue does to jobs, recomputed from a whole ledger, job by job."""

from __future__ import annotations

from core.scheduling.actions import Pause, Resume, SetLimit, SetThreads, Start


def _actions_on(entries, name):
    """The successful actions on one job: (time, action) in order."""
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
    states, acts = _states(entries, name), _actions_on(entries, name)
    end, last = states[-1]
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
    """The number of decisions that changed the limit or threads of a started job."""
    kinds, has, has_started, n = ((Start, SetLimit) if what == "limit" else (SetThreads,)), None, False, 0
    for entry in entries:
        for observed in entry.observation.jobs:
            if observed.id == name and not has_started:
                has = getattr(observed, what)
        before = has
        for time, act in _actions_on([entry], name):
            if isinstance(act, kinds):
                has = getattr(act, what)
            if isinstance(act, Start) and what == "threads" and act.threads is not None:
                has = act.threads if _resizable(entry, name) else has
            assert time == entry.observation.time
        n += has_started and has != before
        has_started = has_started or any(isinstance(act, Start) for _, act in _actions_on([entry], name))
    return n


def _resizable(entry, name):
    return next(job.can_resize for job in entry.observation.jobs if job.id == name)


def run(entries):
    """Every measure of a run, by its definition."""
    names = {job.id for entry in entries for job in entry.observation.ended}
    rows = [job(entries, name) for name in names]
    finished = [row for row in rows if row["state"] == "done"]
    ran = [row for row in rows if row["state"] != "refused"]
    long = max(row["ended"] for row in ran) - min(row["arrived"] for row in ran) if ran else 0.0
    cores = sum(worker.capacity for worker in entries[-1].observation.workers)

    def mean(what):
        return sum(row[what] for row in finished) / len(finished) if finished else None

    return (
        {
            "waiting": mean("waiting"),
            "longest_wait": max((row["waiting"] for row in finished), default=None),
            "service": mean("service"),
            "paused": mean("paused"),
            "jobs_per_hour": 3600 * len(finished) / long if long else None,
            "used": sum(row["used"] for row in rows) / (cores * long) if long else None,
            "refused": len(rows) - len(ran),
            "pauses": sum(row["pauses"] for row in rows),
            "resizes": sum(row["resizes"] for row in rows),
            "thread_changes": sum(row["threads"] for row in rows),
        },
        {row["id"]: row for row in rows},
        long,
    )
