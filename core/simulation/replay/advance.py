"""Letting time pass on a host that replays recordings.

A job uses in each step the cores that were recorded, or less where its limit or the host's other jobs leave
it less: weighted water-filling over the cores of the host, as in the simulator. It then takes longer for the
step, by just so much that the core-seconds of the step stay what they were:

    d(step)/dt = share / (demand · period)

A step in which nothing was used passes at its recorded pace. So a lower limit makes a job slower, its loss
falls later, and every job has used the recorded core-seconds when it ends, whatever happened to it.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final

from core.scheduling.shares import water_fill
from core.simulation.replay.state import DONE, KEPT, KILLED, Replay, ReplayedJob

if TYPE_CHECKING:
    from core.simulation.replay.state import ReplayPlan

_ALMOST: Final = 1e-9
"""Part of a limit by which rounding may miss it."""


def advance(plan: ReplayPlan, now: Replay, until: float) -> Replay:
    """Let time pass until `until`; what lies behind changes nothing."""
    while True:
        now = _forget(_begin(plan, now))
        if now.at >= until:
            return now
        cores = shares(plan, now)
        ends = [_step_ends(plan, job, now.at, share) for job, share in cores]
        now = _pass(plan, now, cores, ends, min([until, now.next_due, *ends]))


def shares(plan: ReplayPlan, now: Replay) -> list[tuple[ReplayedJob, float]]:
    """The cores that each job which runs has at this moment."""
    running = [job for job in now.jobs if job.runs]
    caps = [_cap(demand(plan, job), job.limit) for job in running]
    filled = water_fill(plan.cores, caps, [job.weight for job in running])
    return list(zip(running, filled, strict=True))


def demand(plan: ReplayPlan, job: ReplayedJob) -> float:
    """The cores that a job would use now if it got them."""
    return plan.recording(job).cores[len(job.left)]


def _cap(wanted: float, limit: float | None) -> float:
    return wanted if limit is None else min(wanted, limit)


def _pace(plan: ReplayPlan, job: ReplayedJob, share: float) -> float:
    """Steps per second."""
    recording, wanted = plan.recording(job), demand(plan, job)
    return (share / wanted if wanted > 0 else 1.0) / recording.period


def _step_ends(plan: ReplayPlan, job: ReplayedJob, at: float, share: float) -> float:
    pace = _pace(plan, job, share)
    return at + max(1.0 - job.part, 0.0) / pace if pace > 0 else inf


def _pass(
    plan: ReplayPlan,
    now: Replay,
    cores: list[tuple[ReplayedJob, float]],
    ends: list[float],
    moment: float,
) -> Replay:
    """Everything at `moment`, until which no job goes beyond its present step."""
    seconds = moment - now.at
    moved = {
        job.number: _worked(plan, job, share, seconds, moment if end <= moment else None)
        for (job, share), end in zip(cores, ends, strict=True)
    }
    later = replace(now, at=moment, jobs=tuple(moved.get(job.number, job) for job in now.jobs))
    for job in moved.values():
        later = _ended(plan, later, job)
    return later


def _worked(
    plan: ReplayPlan, job: ReplayedJob, share: float, seconds: float, over: float | None
) -> ReplayedJob:
    """A job after some seconds of one step; `over` is when the step ended, if it did."""
    limited = 0.0 if job.limit is None else seconds
    wanted = demand(plan, job)
    binds = job.limit is not None and share >= job.limit * (1.0 - _ALMOST) and share < wanted
    return replace(
        job,
        left=job.left if over is None else (*job.left, over),
        part=job.part + _pace(plan, job, share) * seconds if over is None else 0.0,
        used=job.used + share * seconds,
        limited=job.limited + limited,
        held_back=job.held_back + (seconds if binds else 0.0),
        withheld=job.withheld + ((wanted - share) * seconds if binds else 0.0),
    )


def _ended(plan: ReplayPlan, now: Replay, job: ReplayedJob) -> Replay:
    """End a job whose recording is over, or which needs more memory than it may have."""
    recording = plan.recording(job)
    if len(job.left) >= recording.steps:
        return now.stopped(plan, job.number, DONE)
    if job.memory_limit is not None and job.memory(recording) > job.memory_limit:
        return now.stopped(plan, job.number, KILLED)
    return now


def _begin(plan: ReplayPlan, now: Replay) -> Replay:
    """Begin the jobs that are due."""
    if now.next_due > now.at:
        return now
    due, jobs, begun = list(now.due), list(now.jobs), now.begun
    for place in sorted(range(len(due)), key=lambda each: due[each]):
        if due[place] <= now.at:
            given = plan.places[place]
            jobs.append(ReplayedJob(begun, place, now.at, given.cores, memory_limit=given.memory))
            due[place], begun = inf, begun + 1
    return Replay(now.at, tuple(due), tuple(jobs), begun)


def _forget(now: Replay) -> Replay:
    kept = tuple(
        job
        for job in now.jobs
        if job.ended is None or job.submitted is not None or now.at - job.ended <= KEPT
    )
    return now if len(kept) == len(now.jobs) else replace(now, jobs=kept)
