"""Updating the state of jobs from what the hosts report."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from core.engines.docker_host.adoption import adopt_new, put_back
from core.engines.docker_host.host import ending
from core.engines.docker_host.job import LiveJob
from core.engines.docker_host.start import remove_unanswered
from core.engines.errors import ChangeRefused, ContainerGone, HostLost
from core.errors import PhaseDockError
from core.scheduling.model import JobState, Trigger

if TYPE_CHECKING:
    from core.engines.docker_host.containers import Container
    from core.engines.docker_host.host import Host
    from core.engines.docker_host.shared_state import SharedState
    from core.engines.values import Counters

_JUST: Final = 10.0
_SIZE_WITHIN: Final = 5.0
"""Seconds after which it is noticed at the latest that a host has other cores or memory than before."""


def arrive(shared: SharedState) -> None:
    """Let planned jobs whose time has come arrive."""
    now = shared.clock.now()
    while shared.to_come and shared.to_come[0].arrival <= now:
        plan = shared.to_come.pop(0)
        shared.jobs[plan.id] = LiveJob(
            plan.id, plan.arrival, plan, can_migrate=plan.can_migrate, can_resize=plan.can_resize
        )
        shared.happened.add(Trigger.ARRIVAL)


def look(shared: SharedState) -> None:
    """Look at every host once; the jobs of one that is lost or answers with an error keep their last state.

    Raises
    ------
    HostLost
        If a host has been lost for longer than the run waits for it.
    """
    for name, host in shared.hosts.items():
        try:
            if name in shared.lost:
                host.info(0.0)  # it may have come back as another machine
                shared.returned[name] = time.monotonic()
            _measure(shared, host)
            _look_at(shared, host)
        except (HostLost, ChangeRefused) as lost:
            since = shared.lost.setdefault(name, time.monotonic())
            if time.monotonic() - since > shared.reconnect_within:
                raise HostLost(
                    f"The Docker host {name} was lost, and did not come back within "
                    f"{shared.reconnect_within:g} s.",
                    lost.hint,
                    getattr(lost, "kind", "lost"),
                ) from lost
        else:
            shared.lost.pop(name, None)


def read(shared: SharedState) -> None:
    """Take every job's new readings."""
    for job in shared.jobs.values():
        read_one(shared, job)


def read_one(shared: SharedState, job: LiveJob, at_end: bool = False) -> None:
    """Take one job's new readings; at its end for the last time, before its log is gone."""
    if job.follower is not None:
        news = job.follower.news(at_end)
        job.add([(shared.clock.at(when), value) for when, value in news], shared.clock.now())


def _measure(shared: SharedState, host: Host) -> None:
    """Ask now and then how large a host is: it may lose a core, and policies are told at once."""
    cores = host.info().cores
    if host.info(_SIZE_WITHIN).cores != cores:
        shared.happened.add(Trigger.TICK)


def _look_at(shared: SharedState, host: Host) -> None:
    if shared.unanswered:
        remove_unanswered(shared, host)
    running = {container.id: container for container in host.containers()}
    if shared.adopt is not None:
        adopt_new(shared, host, running)
    counters = host.counters(tuple(running.values()))
    shared.note_usage(host, running, counters)
    for job in list(shared.jobs.values()):
        here = job.worker is not None and job.worker.host is host and job.state is not JobState.MIGRATING
        if here and job.container:
            _update(shared, host, job, running.get(job.container), counters.get(job.container))


def _update(
    shared: SharedState, host: Host, job: LiveJob, container: Container | None, counters: Counters | None
) -> None:
    if counters is not None:
        job.count(counters)
    if container is None:
        _gone(shared, host, job)
    elif job.adopted and shared.adopt is not None and not shared.adopt(container):
        shared.end(job, JobState.FAILED, "It is no longer selected for PhaseDock.")
        shared.executor.submit(put_back, host, job)
    else:
        job.state = JobState.PAUSED if container.state == "paused" else JobState.RUNNING
        job.memory_limit = container.limits.memory_bytes
        if shared.kills[job.container] > job.kills:
            job.kills = shared.kills[job.container]
            shared.happened.add(Trigger.TICK)
        if job.adopted or not job.limit_stands(container.limits, host.info().cores):
            job.limit, job.weight = container.limits.cores, container.limits.weight


def _gone(shared: SharedState, host: Host, job: LiveJob) -> None:
    """A container that does not run: it has ended, is restarting, or was removed."""
    try:
        container = host.inspect(job.container)
    except ContainerGone:
        shared.end(job, JobState.FAILED, "Its container was removed.")
        return
    if container.running or container.state in ("restarting", "created"):
        return
    read_one(shared, job, at_end=True)
    outcome = ending(host, container, job.agent.says().state if job.agent is not None else "")
    state, why = JobState.DONE if outcome.done else JobState.FAILED, outcome.why
    if state is JobState.FAILED and time.monotonic() - shared.returned.get(host.name, float("-inf")) < _JUST:
        why = f"Docker on {host.name} was restarted, which ended its containers."
    shared.end(job, state, why)
    if not job.outlives:
        shared.executor.submit(_removed, host, job.container)


def _removed(host: Host, container: str) -> None:
    try:
        host.remove(container)
    except PhaseDockError:
        return  # it is removed at the end of the run
