"""Update the state of jobs from the reports of their hosts."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from core.engines.errors import ChangeRefused, ContainerGone, HostLost, OddAnswer
from core.engines.run.adoption import adopt_new, restore_container
from core.engines.run.job import LiveJob
from core.engines.run.start import remove_unanswered
from core.engines.submitted import STOPPED_EARLY
from core.errors import PhaseDockError
from core.scheduling.model import JobState, Trigger

if TYPE_CHECKING:
    from core.engines.ports import Container
    from core.engines.run.host import ContainerHost
    from core.engines.run.shared_state import SharedState
    from core.engines.values import Counters

_RECENT_RETURN: Final = 10.0
_MAX_SIZE_AGE: Final = 5.0
"""Maximum seconds until a change of a host's cores or memory is noticed."""


def admit_arrivals(shared: SharedState) -> None:
    """Admit planned jobs whose arrival time has passed."""
    now = shared.clock.now()
    while shared.planned_jobs and shared.planned_jobs[0].arrival <= now:
        plan = shared.planned_jobs.pop(0)
        shared.jobs[plan.id] = LiveJob(
            plan.id, plan.arrival, plan, can_migrate=plan.can_migrate, can_resize=plan.can_resize
        )
        shared.triggers.add(Trigger.ARRIVAL)


def update_jobs(shared: SharedState) -> None:
    """Update jobs from every host once; jobs of a lost or failing host keep their last state.

    Raises HostLost if a host is lost for longer than the run waits.
    """
    for name, host in shared.hosts.items():
        try:
            if name in shared.lost:
                host.info(0.0)  # it may have come back as another machine
                shared.returned[name] = time.monotonic()
            _check_host_size(shared, host)
            began = shared.clock.now()
            _update_host(shared, host)
            shared.looked_at[name] = began
        except (HostLost, ChangeRefused) as error:
            since = shared.lost.setdefault(name, time.monotonic())
            if time.monotonic() - since > shared.options.reconnect_within:
                raise HostLost(
                    f"The host {name} was lost, and did not come back within "
                    f"{shared.options.reconnect_within:g} s.",
                    error.hint,
                    getattr(error, "kind", "lost"),
                ) from error
        else:
            shared.lost.pop(name, None)


def take_readings(shared: SharedState) -> None:
    """Add the new readings of every job."""
    for job in shared.jobs.values():
        take_job_readings(shared, job)


def take_job_readings(shared: SharedState, job: LiveJob, at_end: bool = False) -> None:
    """Add the new readings of one job; `at_end` also reads its last ones."""
    if job.follower is not None:
        news = job.follower.news(at_end)
        job.add([(shared.clock.at(when), value) for when, value in news], shared.clock.now())


def _check_host_size(shared: SharedState, host: ContainerHost) -> None:
    """Check a host's size regularly and notify policies of a change, such as a lost core."""
    cores = host.info().cores
    if host.info(_MAX_SIZE_AGE).cores != cores:
        shared.triggers.add(Trigger.TICK)


def _update_host(shared: SharedState, host: ContainerHost) -> None:
    if shared.unanswered:
        remove_unanswered(shared, host)
    running = {container.id: container for container in host.containers()}
    if shared.adopt is not None:
        adopt_new(shared, host, running)
    counters = host.counters(tuple(running.values()))
    shared.record_usage(host, running, counters)
    for job in list(shared.jobs.values()):
        is_here = job.worker is not None and job.worker.host is host and job.state is not JobState.MIGRATING
        if is_here and job.container:
            with suppress(OddAnswer):  # it stays as it was, and is looked at again
                _update(shared, host, job, running.get(job.container), counters.get(job.container))


def _update(
    shared: SharedState,
    host: ContainerHost,
    job: LiveJob,
    container: Container | None,
    counters: Counters | None,
) -> None:
    if counters is not None:
        job.count(counters)
    if container is not None and container.unreadable:
        return
    if container is None:
        _handle_stopped(shared, host, job)
    elif job.adopted and shared.adopt is not None and not shared.adopt(container):
        shared.end(job, JobState.FAILED, "It is no longer selected for PhaseDock.")
        shared.executor.submit(restore_container, host, job)
    else:
        job.state = JobState.PAUSED if container.state == "paused" else JobState.RUNNING
        if job.owner.update(host, container):
            shared.triggers.add(Trigger.TICK)
        job.memory_limit = container.limits.memory_bytes
        if shared.kills[job.container] > job.kills:
            job.kills = shared.kills[job.container]
            shared.triggers.add(Trigger.TICK)
        if job.adopted or not job.has_requested_limits(container.limits, host.info().cores):
            job.limit, job.weight = container.limits.cores, container.limits.weight


def _handle_stopped(shared: SharedState, host: ContainerHost, job: LiveJob) -> None:
    """Handle a container that does not run: it ended, restarts or was removed."""
    try:
        outcome = host.outcome(job.container)
    except ContainerGone:
        shared.end(job, JobState.FAILED, "Its container was removed.")
        return
    if outcome is None:
        return
    take_job_readings(shared, job, at_end=True)
    if outcome.done and job.agent is not None and job.agent.read_report().state not in ("", "done"):
        outcome = STOPPED_EARLY  # its folder may be readable here, and the host be another machine
    state, why = JobState.DONE if outcome.done else JobState.FAILED, outcome.why
    if (
        state is JobState.FAILED
        and time.monotonic() - shared.returned.get(host.name, float("-inf")) < _RECENT_RETURN
    ):
        why = f"{host.name} was restarted, which ended its containers."
    shared.end(job, state, why)
    # a container that outlives the run gets its limits back at once: it may be started again
    if job.outlives_run:
        shared.executor.submit(restore_container, host, job)
    else:
        shared.executor.submit(_remove_quietly, host, job.container)


def _remove_quietly(host: ContainerHost, container: str) -> None:
    try:
        host.remove(container)
    except PhaseDockError:
        return  # it is removed at the end of the run
