"""Scenarios and policies for tests of the simulator."""

import numpy as np
from hypothesis import strategies as st

from core.engines.simulated import simulated
from core.scheduling.actions import Migrate, Pause, Resume, SetLimit, SetThreads, Start, Stop
from core.scheduling.loop import drive
from core.scheduling.model import JobState
from core.scheduling.ports import Decision, SchedulingPolicy
from core.simulation.loss import curve
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from core.simulation.speedup import SpeedUp


def tenths(low, high):
    return st.integers(round(low * 10), round(high * 10)).map(lambda n: n / 10)


@st.composite
def job_specs(draw, number):
    return JobSpec(
        f"j{number}",
        work=draw(tenths(0.5, 8)),
        arrival=draw(tenths(0, 5)),
        demand=draw(st.none() | tenths(0.3, 2)),
        loss=curve(draw(st.sampled_from(["VAE", "GRU"])), draw(st.sampled_from(["exponential", "weibull"]))),
        values=draw(st.integers(1, 30)),
        noise_sigma=draw(st.sampled_from([0.0, 0.003])),
        checkpoint_s=draw(tenths(0, 1)),
        restore_s=draw(tenths(0, 1)),
        threads=draw(st.none() | st.integers(1, 3)),
        resizable=draw(st.booleans()),
        follows=draw(st.booleans()),
        speedup=draw(st.none() | st.just(SpeedUp(0.2, 0.7, 0.1))),
        prepare=draw(st.sampled_from([0.0, 0.2])),
        finish=draw(st.sampled_from([0.0, 0.1])),
    )


@st.composite
def scenarios(draw, failures=(0.0, 1.0), most_jobs=5):
    jobs = [draw(job_specs(number)) for number in range(draw(st.integers(1, most_jobs)))]
    workers = [
        WorkerSpec(f"w{n}", draw(tenths(0.5, 2)), lost=draw(st.sampled_from([0.0, 0.1])))
        for n in range(draw(st.integers(1, 3)))
    ]
    return Scenario(
        tuple(workers),
        tuple(jobs),
        gamma=draw(st.sampled_from([0.0, 0.05, 0.3])),
        contention=draw(st.sampled_from(["count", "effective"])),
        checkpoint_failure=draw(st.sampled_from(failures)),
        restore_failure=draw(st.sampled_from(failures)),
    )


def start_all(_, seen):
    """Start what waits on the first worker."""
    starts = tuple(Start(job.id, seen.workers[0].id) for job in seen.jobs if job.state is JobState.WAITING)
    return Decision(None, starts)


EAGER = SchedulingPolicy("eager", "Starts everything on the first worker.", lambda *_: None, start_all)


def run(scenario, policy=EAGER, seed=1, settings=None):
    """The whole ledger of a run."""
    return list(drive(simulated(scenario, seed), policy, settings, seed))


def ends(entries):
    """{job id: seconds when it ended}."""
    return {job.id: entry.observation.time for entry in entries for job in entry.observation.ended}


def scripted(script, worker_of):
    """A policy that starts each job on its worker as it arrives and does each line of a script in time."""
    script = sorted(script, key=lambda line: line[0])

    def decide(left, seen):
        starts = [worker_of[job.id] for job in seen.jobs if job.state is JobState.WAITING]
        due = [action for when, action in left if when <= seen.time]
        left = left[len(due) :]
        return Decision(left, (*starts, *due), wake=left[0][0] if left else None)

    return SchedulingPolicy("scripted", "Follows a script.", lambda *_: tuple(script), decide)


def _random_action(rng, seen, jobs):
    """Any action, possible or not."""
    job = str(rng.choice([*jobs, "nobody"]))
    worker = str(rng.choice([*(worker.id for worker in seen.workers), "nowhere"]))
    limit = [None, 0.1, 0.5, 1.0, 3.0, 0.0, -1.0][rng.integers(7)]
    weight = float(rng.choice([1.0, 0.25, 4.0, 0.0]))
    return (
        Start(job, worker, limit, weight),
        SetLimit(job, limit, weight),
        SetThreads(job, int(rng.integers(0, 4))),
        Migrate(job, worker),
        Pause(job),
        Resume(job),
        *([Stop(job)] if rng.random() < 0.1 else []),
    )[rng.integers(6)]


def chaos(jobs, calm_after=60):
    """A policy that does anything for a while, and then lets everything end."""

    def decide(seed, seen):
        rng = np.random.default_rng([seed, seen.number])
        if seen.number > calm_after:
            wishes = [
                Start(job.id, seen.workers[0].id) if job.state is JobState.WAITING else Resume(job.id)
                for job in seen.jobs
                if job.state in (JobState.WAITING, JobState.PAUSED)
            ]
            return Decision(seed, tuple(wishes))
        wishes = [_random_action(rng, seen, jobs) for _ in range(rng.integers(0, 5))]
        return Decision(seed, tuple(wishes), wake=seen.time + float(rng.random()))

    return SchedulingPolicy("chaos", "Does anything.", lambda _, seed: seed, decide)
