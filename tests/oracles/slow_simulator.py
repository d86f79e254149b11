"""The simulated world as one would write it first: a small fixed time step, and every job looked at in each.

It shares no code with core.simulation: levels of water-filling are found by bisection, contention and speed
are the formulas of docs/simulator.md. Actions are given as a script of (time, action).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from core.scheduling.actions import Migrate, Pause, Resume, SetLimit, Start


@dataclass
class SlowJob:
    spec: object
    state: str = "absent"
    worker: str | None = None
    limit: float | None = None
    weight: float = 1.0
    done: float = 0.0
    cpu: float = 0.0
    ended: float | None = None
    phases: list = field(default_factory=list)  # (when, worker or None) of the migration under way


def shares(capacity, caps, weights):
    """min(cap, w·level), with the level by bisection so that all cores are used."""
    if sum(caps) <= capacity:
        return list(caps)
    low, high = 0.0, capacity / min(weights) + 1
    for _ in range(100):
        level = (low + high) / 2
        total = sum(min(cap, weight * level) for cap, weight in zip(caps, weights, strict=True))
        low, high = (level, high) if total < capacity else (low, level)
    return [min(cap, weight * low) for cap, weight in zip(caps, weights, strict=True)]


def threads_of(spec, cores):
    """One for each core and begun core above a twentieth, if they follow."""
    if not spec.follows:
        return spec.threads
    whole_cores = int(cores)
    return max(1, whole_cores + (cores - whole_cores > 0.05))


def trains(job):
    """Before and after its training a job computes with one thread."""
    return job.spec.prepare <= job.done < job.spec.work - job.spec.finish


def speed(job, cores):
    spec = job.spec
    if cores <= 0:
        return 0.0
    curve = spec.speedup
    if curve is None or cores <= 1:
        plain = cores
    else:
        total = curve.fixed + curve.parallel + curve.overhead
        plain = total / (curve.fixed + curve.parallel / cores + curve.overhead * cores)
    threads = threads_of(spec, cores)
    if trains(job) and threads is not None and threads > max(cores, 1):
        plain /= 1 + spec.thread_penalty * (threads / max(cores, 1) - 1)
    return plain


def simulate(scenario, script, step, end=10_000.0):
    """Run the script; {job id: (when it ended, core-seconds used)}."""
    jobs = {spec.id: SlowJob(spec) for spec in scenario.jobs}
    script = sorted(script, key=lambda line: line[0])
    for tick in range(int(end / step)):
        now = tick * step
        for job in jobs.values():
            if job.state == "absent" and job.spec.arrival <= now:
                job.state = "waiting"
        while script and script[0][0] <= now:
            act(scenario, jobs, now, script.pop(0)[1])
        for job in jobs.values():
            while job.phases and job.phases[0][0] <= now:
                job.state, job.worker = "running", job.phases.pop(0)[1]
        for worker in scenario.workers:
            pass_step(scenario, worker, [j for j in jobs.values() if on(j, worker)], now, step)
        if all(job.ended is not None for job in jobs.values()):
            break
    return {name: (job.ended, job.cpu) for name, job in jobs.items()}


def on(job, worker):
    return job.state == "running" and job.worker == worker.id


def act(scenario, jobs, now, action):
    job = jobs[action.job]
    if isinstance(action, Start):
        job.state, job.worker, job.limit, job.weight = "running", action.worker, action.limit, action.weight
    elif job.state not in ("running", "paused"):
        return
    elif isinstance(action, SetLimit):
        job.limit, job.weight = action.limit, action.weight
    elif isinstance(action, Pause) and job.state == "running":
        job.state = "paused"
    elif isinstance(action, Resume) and job.state == "paused":
        job.state = "running"
    elif isinstance(action, Migrate) and job.state == "running" and job.worker != action.to:
        migrate(scenario, job, now, action.to)


def migrate(scenario, job, now, to):
    job.state = "migrating"
    checkpointed = now + scenario.control_s + job.spec.checkpoint_s
    if scenario.checkpoint_failure == 1:
        job.phases = [(checkpointed, job.worker)]
    elif scenario.restore_failure == 1:
        job.phases = [(checkpointed + 2 * job.spec.restore_s, job.worker)]
    else:
        job.phases = [(checkpointed + job.spec.restore_s, to)]


def pass_step(scenario, worker, jobs, now, step):
    if not jobs:
        return
    caps = []
    for job in jobs:
        threads = None if job.spec.follows else job.spec.threads
        if (job.spec.follows or threads is not None) and not trains(job):
            threads = 1
        caps.append(
            min(cap for cap in (job.limit, job.spec.demand, threads, worker.cores) if cap is not None)
        )
    allocations = shares(worker.cores - worker.lost, caps, [job.weight for job in jobs])
    effective = sum(allocations) ** 2 / sum(a * a for a in allocations)
    n = len(jobs) if scenario.contention == "count" else effective
    for job, cores in zip(jobs, allocations, strict=True):
        job.cpu += cores * step
        job.done += speed(job, cores) / (1 + scenario.gamma * (n - 1)) * step
        if job.done >= job.spec.work:
            job.state, job.ended = "done", now + step
