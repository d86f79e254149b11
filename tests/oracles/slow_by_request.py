"""Policies that give every job its request or nothing, written down anew over a list of jobs as dictionaries.

Nothing of core.scheduling is used: at every arrival, end and (for laxity) interval all jobs are gone through
again. A job runs for work / request seconds in all.
"""

from __future__ import annotations

from math import inf

INTERVAL = 30.0


def simulate(jobs, capacities, rule):
    """Seconds at which each job ends.

    Parameters
    ----------
    jobs
        (name, arrival, work, request, deadline or None, steps) of each.
    capacities
        Cores of each worker.
    rule
        Name of the policy.
    """
    keys = ("name", "arrival", "work", "request", "deadline", "steps")
    todo = [
        dict(zip(keys, each, strict=True)) | {"done": 0.0, "state": "coming", "on": None} for each in jobs
    ]
    ends, now, tick = {}, 0.0, inf
    while len(ends) < len(jobs):
        finish = {
            j["name"]: now + (j["work"] - j["done"]) / j["request"] for j in todo if j["state"] == "runs"
        }
        coming = [j["arrival"] for j in todo if j["state"] == "coming"]
        after = min([*finish.values(), *coming, tick])
        for job in todo:
            if job["state"] == "runs":
                job["done"] += (after - now) * job["request"]
        now = after
        for job in todo:
            if job["state"] == "runs" and finish[job["name"]] <= now + 1e-9:
                job["state"], ends[job["name"]] = "ended", now
            if job["state"] == "coming" and job["arrival"] <= now + 1e-9:
                job["state"] = "waits"
        decide(todo, capacities, rule, now)
        alive = [j for j in todo if j["state"] in ("waits", "runs", "rests")]
        tick = now + INTERVAL if rule == "least.laxity" and len(alive) > 1 else inf
    return ends


def remaining_time(job):
    steps = job["steps"] - int(job["done"] / job["work"] * job["steps"] + 1e-9)
    return steps * job["work"] / job["steps"] / job["request"]


def order(job, rule, now):
    until = inf if job["deadline"] is None else job["arrival"] + job["deadline"]
    if rule in ("edf", "edf.preemptive"):
        return until
    if rule == "least.laxity":
        return until - now - remaining_time(job) if until < inf else inf
    return job["arrival"]


def decide(jobs, capacities, rule, now):
    free = dict(enumerate(capacities))
    alive = [j for j in jobs if j["state"] in ("waits", "runs", "rests")]
    queue = sorted(alive, key=lambda j: (order(j, rule, now), j["arrival"], j["name"]))
    if rule not in ("edf.preemptive", "least.laxity"):
        for job in alive:
            if job["state"] == "runs":
                free[job["on"]] -= job["request"]
        queue = [j for j in queue if j["state"] != "runs"]
    reserved = None
    for job in queue:
        worker = best(job, free, capacities)
        if reserved is not None and worker == reserved["on"] and delays(job, reserved, now):
            worker = None
        if worker is not None:
            free[worker] -= job["request"]
            job["state"], job["on"] = "runs", worker
            continue
        if job["state"] == "runs":
            job["state"] = "rests"
        if rule == "fifo":
            return
        if rule == "fifo.backfill" and reserved is None:
            reserved = reservation(job, jobs, free, capacities, now)


def delays(job, reserved, now):
    if now + remaining_time(job) <= reserved["from"]:
        return False
    if job["request"] > reserved["spare"] + 1e-9:
        return True
    reserved["spare"] -= job["request"]
    return False


def best(job, free, capacities):
    if job["on"] is not None:
        return job["on"] if free[job["on"]] >= job["request"] - 1e-9 else None
    best_pair = None
    for worker, cores in free.items():
        if cores >= job["request"] - 1e-9:
            share = cores / capacities[worker]
            if best_pair is None or share > best_pair[0]:
                best_pair = (share, worker)
    return None if best_pair is None else best_pair[1]


def reservation(first, jobs, free, capacities, now):
    """The earliest place and time for the first job; `from` is infinite if none exists."""
    earliest = None
    for worker, capacity in enumerate(capacities):
        ends = sorted(
            (now + remaining_time(j), j["request"])
            for j in jobs
            if j["state"] == "runs" and j["on"] == worker
        )
        cores = free[worker]
        for at, freed in ends if capacity >= first["request"] else ():
            cores += freed
            if cores >= first["request"] - 1e-9:
                if earliest is None or at < earliest["from"]:
                    earliest = {"on": worker, "from": at, "spare": cores - first["request"]}
                break
    return earliest
