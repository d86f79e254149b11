"""The rules by which every engine refuses an action, and their sentences.

The simulated world and real hosts check the same rules before they act, so a policy meets the same refusals
everywhere.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from core.scheduling.actions import Reason, Resume, Start
from core.scheduling.model import JobState, at_most
from core.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.actions import Migrate, SetThreads
    from core.scheduling.model import Observation


START_TIMEOUT: Final = 60.0
"""Seconds after which an unconfirmed start is requested again."""
_FIRST, _DOUBLINGS = 5.0, 7


def retry_delay(failures: int) -> float:
    """Return the delay before a retry after `failures` earlier failures: 5, 10, 20 … 640 s."""
    return float(_FIRST * 2.0 ** min(failures, _DOUBLINGS))


class PendingStart(NamedTuple):
    """A requested or failed start: the worker, until when it is waited for, and the number of failures.

    After a failure `worker` is None and `avoided_worker` is where it failed.
    """

    worker: str | None
    wait_until: float
    refusals: int = 0
    avoided_worker: str | None = None


def update_pending_starts(
    before: Mapping[str, PendingStart], observation: Observation
) -> tuple[dict[str, PendingStart], list[Reason]]:
    """Return the pending starts of waiting jobs, updated with the failures of an observation."""
    waiting = {job.id for job in observation.jobs if job.state is JobState.WAITING}
    pending = {name: each for name, each in before.items() if name in waiting}
    reasons = []
    for failure in observation.failures:
        name = failure.action.job
        if isinstance(failure.action, Start | Resume) and (attempt := pending.get(name)) is not None:
            again = observation.time + retry_delay(attempt.refusals)
            pending[name] = PendingStart(None, again, attempt.refusals + 1, attempt.worker)
            text = f"{name} could not start: {failure.why}"
            reasons.append(Reason("failed start", text, name, attempt.worker))
    return pending, reasons


Job = TypeVar("Job")
Worker = TypeVar("Worker")
Listener = TypeVar("Listener")


class ActionRefused(Exception):  # noqa: N818 - control flow between an action and its engine, which makes a Failure of it
    """Why an action is refused: one sentence for the screen."""


def find_job(jobs: Mapping[str, Job], name: str) -> Job:
    """Return a job that has not ended."""
    job = jobs.get(name)
    if job is None:
        raise ActionRefused(f"There is no job {name}, or it has ended.")
    return job


def find_worker(workers: Mapping[str, Worker], name: str) -> Worker:
    """Return a worker."""
    worker = workers.get(name)
    if worker is None:
        raise ActionRefused(f"There is no worker {name}.")
    return worker


def require_placed(job: str, state: JobState, worker: Worker | None) -> Worker:
    """Return the worker of a job; a job that migrates has none."""
    if worker is None or state is JobState.MIGRATING:
        raise ActionRefused(f"Job {job} is on no worker now: it is {state.value}.")
    return worker


def require_waiting(job: str, state: JobState) -> None:
    """Refuse unless the job waits."""
    if state is not JobState.WAITING:
        raise ActionRefused(f"Job {job} does not wait to be started: it is {state.value}.")


def check_threads(job: str, threads: int | None) -> int | None:
    """Return a number of threads to start with; None leaves it open."""
    if threads is not None and threads < 1:
        raise ActionRefused(f"Job {job} needs at least one thread, not {threads}.")
    return threads


def require_running(job: str, state: JobState, doing: str) -> None:
    """Refuse unless the job runs; `doing` is the verb of the message."""
    if state is not JobState.RUNNING:
        raise ActionRefused(f"Job {job} cannot {doing}: it is {state.value}.")


def require_paused(job: str, state: JobState) -> None:
    """Refuse unless the job is paused."""
    if state is not JobState.PAUSED:
        raise ActionRefused(f"Job {job} cannot be resumed: it is {state.value}.")


def require_listener(action: SetThreads, listener: Listener | None) -> Listener:
    """Return the listener that changes a job's threads."""
    if listener is None:
        raise ActionRefused(f"Job {action.job} cannot change its threads while it runs.")
    check_threads(action.job, action.threads)
    return listener


def check_migration(action: Migrate, state: JobState, *, writes: bool, there: bool) -> None:
    """Refuse a migration unless the job runs, writes checkpoints and is not there already."""
    require_running(action.job, state, "migrate")
    if not writes:
        raise ActionRefused(f"Job {action.job} writes no checkpoints.")
    if there:
        raise ActionRefused(f"Job {action.job} is already on {action.to}.")


def check_memory_limit(
    job: str,
    limit: float | None,
    used: float | None,
    worker: str,
    memory: float | None,
    bound: float | None = None,
) -> float | None:
    """Return a memory limit (bytes, None for none) if the worker has it and the job fits into it.

    The limit is at most `bound`, which the job's owner allows (None: any).
    """
    limit = at_most(bound, limit)
    if limit is None:
        return None
    if not 0 < limit <= (inf if memory is None else memory):
        has = "" if memory is None else f", which has {format_bytes(memory)}"
        raise ActionRefused(f"A memory limit of {format_bytes(limit)} is not possible on {worker}{has}.")
    if used is not None and limit < used:
        raise ActionRefused(
            f"Job {job} uses {format_bytes(used)}: a limit of {format_bytes(limit)} would end it."
        )
    return limit


def check_limit(
    limit: float | None, weight: float, worker: str, capacity: float, bound: float | None = None
) -> tuple[float | None, float]:
    """Return a limit (cores, None for none) and a weight if both are possible on a worker.

    The limit is at most `bound`, which the job's owner allows (None: any).
    """
    if limit is not None and not 0 < limit <= capacity:
        raise ActionRefused(
            f"A limit of {limit:g} cores is not possible on {worker}, which has {capacity:g}."
        )
    if not (isfinite(weight) and weight > 0):
        raise ActionRefused(f"A weight of {weight:g} is not possible; it must be above zero.")
    return at_most(bound, limit), weight
