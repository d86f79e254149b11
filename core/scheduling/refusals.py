"""What every engine refuses: the rules by which an action is refused, and the sentences that say so.

The simulated world and real hosts ask the same questions before anything happens, so that a policy meets the
same refusals wherever it runs.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from core.scheduling.actions import Reason, Resume, Start
from core.scheduling.model import JobState
from core.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.actions import Migrate, SetThreads
    from core.scheduling.model import Observation


START_TIMEOUT: Final = 60.0
"""Seconds after which a start that was neither confirmed nor refused is asked for again."""
_FIRST, _DOUBLINGS = 5.0, 7


def retry_delay(failures: int) -> float:
    """Seconds until it is tried again once `failures` before this one failed: 5, 10, 20 … 640."""
    return float(_FIRST * 2.0 ** min(failures, _DOUBLINGS))


class PendingStart(NamedTuple):
    """A start that was asked for, or failed: on which worker, until when it is waited for, and how often.

    `worker` is None after it failed; `avoids` is where that was.
    """

    worker: str | None
    wait_until: float
    refusals: int = 0
    avoided_worker: str | None = None


def update_pending_starts(
    before: Mapping[str, PendingStart], seen: Observation
) -> tuple[dict[str, PendingStart], list[Reason]]:
    """The starts of those that still wait, by their names, with the failures that are seen now."""
    waiting = {job.id for job in seen.jobs if job.state is JobState.WAITING}
    asked = {name: each for name, each in before.items() if name in waiting}
    reasons = []
    for failure in seen.failures:
        name = failure.action.job
        if isinstance(failure.action, Start | Resume) and (tried := asked.get(name)) is not None:
            again = seen.time + retry_delay(tried.refusals)
            asked[name] = PendingStart(None, again, tried.refusals + 1, tried.worker)
            text = f"{name} could not start: {failure.why}"
            reasons.append(Reason("failed start", text, name, tried.worker))
    return asked, reasons


Job = TypeVar("Job")
Worker = TypeVar("Worker")
Listener = TypeVar("Listener")


class ActionRefused(Exception):  # noqa: N818 - control flow between an action and its engine, which makes a Failure of it
    """Why an action cannot be done: a sentence for people."""


def find_job(jobs: Mapping[str, Job], name: str) -> Job:
    """Look up a job that has not ended."""
    job = jobs.get(name)
    if job is None:
        raise ActionRefused(f"There is no job {name}, or it has ended.")
    return job


def find_worker(workers: Mapping[str, Worker], name: str) -> Worker:
    """Look up a worker."""
    worker = workers.get(name)
    if worker is None:
        raise ActionRefused(f"There is no worker {name}.")
    return worker


def require_placed(job: str, state: JobState, worker: Worker | None) -> Worker:
    """The worker that a job is on; on its way between two it is on none."""
    if worker is None or state is JobState.MIGRATING:
        raise ActionRefused(f"Job {job} is on no worker now: it is {state.value}.")
    return worker


def require_waiting(job: str, state: JobState) -> None:
    """Only what waits is started, or turned away."""
    if state is not JobState.WAITING:
        raise ActionRefused(f"Job {job} does not wait to be started: it is {state.value}.")


def check_threads(job: str, threads: int | None) -> int | None:
    """A number of threads to begin with, at least one; None leaves it open."""
    if threads is not None and threads < 1:
        raise ActionRefused(f"Job {job} needs at least one thread, not {threads}.")
    return threads


def require_running(job: str, state: JobState, doing: str) -> None:
    """Only what runs is paused or migrated; `doing` is the verb."""
    if state is not JobState.RUNNING:
        raise ActionRefused(f"Job {job} cannot {doing}: it is {state.value}.")


def require_paused(job: str, state: JobState) -> None:
    """Only what is paused is resumed."""
    if state is not JobState.PAUSED:
        raise ActionRefused(f"Job {job} cannot be resumed: it is {state.value}.")


def require_listener(action: SetThreads, listener: Listener | None) -> Listener:
    """The listener to tell of a new number of threads, which is at least one; None: nothing listens."""
    if listener is None:
        raise ActionRefused(f"Job {action.job} cannot change its threads while it runs.")
    check_threads(action.job, action.threads)
    return listener


def check_migration(action: Migrate, state: JobState, *, writes: bool, there: bool) -> None:
    """A job moves while it runs, by its checkpoint, to where it is not yet."""
    require_running(action.job, state, "migrate")
    if not writes:
        raise ActionRefused(f"Job {action.job} writes no checkpoints.")
    if there:
        raise ActionRefused(f"Job {action.job} is already on {action.to}.")


def check_memory_limit(
    job: str, limit: float | None, used: float | None, worker: str, memory: float | None
) -> float | None:
    """A memory limit (bytes, None for none) that the worker has, and that does not kill the job at once.

    Parameters
    ----------
    job, limit
        As asked for.
    used, memory
        What the job uses now, and what the worker has, in bytes; None where that is not known.
    worker
        Its name.
    """
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
    limit: float | None, weight: float, worker: str, capacity: float
) -> tuple[float | None, float]:
    """A limit (cores, None for none) within a worker's capacity, and a weight above zero; both as given."""
    if limit is not None and not 0 < limit <= capacity:
        raise ActionRefused(
            f"A limit of {limit:g} cores is not possible on {worker}, which has {capacity:g}."
        )
    if not (isfinite(weight) and weight > 0):
        raise ActionRefused(f"A weight of {weight:g} is not possible; it must be above zero.")
    return limit, weight
