"""From the cores that jobs are to have to actions in an order that can be done.

What loses cores comes first, then what begins, then what gains. Threads follow cores: to shrink, threads go
first, to grow, cores (docs/scheduling/elastic.md); a job without the agent gets cores only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.scheduling.actions import Pause, Refuse, Resume, SetLimit, SetThreads, Start
from core.scheduling.model import JobState
from core.scheduling.shares.threads import threads_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from core.scheduling.actions import Action
    from core.scheduling.model import Job

_TINY: Final = 1e-9


def changes(
    wanted: Iterable[tuple[Job, str, float]], refused: Mapping[str, str] | None = None
) -> tuple[Action, ...]:
    """Bring jobs to the cores that they are to have.

    Parameters
    ----------
    wanted
        Jobs as they are seen now, the worker that each is on or begins on, and its cores; 0: it rests.
    refused
        Why jobs that wait are turned away, by their names.
    """
    less: list[Action] = []
    begin: list[Action] = [Refuse(name, why) for name, why in (refused or {}).items()]
    more: list[Action] = []
    for job, worker, cores in wanted:
        rests = cores <= 0
        if job.state is JobState.WAITING and not rests:
            begin.append(Start(job.id, worker, cores, threads=_threads(job, cores)))
        elif job.state is JobState.PAUSED and not rests:
            begin += [*_resized(job, cores), Resume(job.id)]
        elif job.state is JobState.RUNNING and rests:
            less.append(Pause(job.id))
        elif job.state is JobState.RUNNING:
            shrinks = job.limit is None or cores < job.limit
            (less if shrinks else more).extend(_resized(job, cores))
    return (*less, *begin, *more)


def _threads(job: Job, cores: float) -> int | None:
    """Threads that suit so many cores; None of a job that does not change its threads."""
    return threads_for(cores) if job.can_resize else None


def _resized(job: Job, cores: float) -> list[Action]:
    """A job's new limit, and its threads before or after that; nothing if it has that limit."""
    if job.limit is not None and abs(job.limit - cores) <= _TINY:
        return []
    limit = SetLimit(job.id, cores, job.weight)
    threads = _threads(job, cores)
    if threads is None or threads == job.threads:
        return [limit]
    told = SetThreads(job.id, threads)
    return [told, limit] if job.limit is None or cores < job.limit else [limit, told]
