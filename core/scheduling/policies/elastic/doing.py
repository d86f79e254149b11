"""What is done about a decision: the difference between the books and what is seen, as actions in order.

What loses cores comes first, then what begins, then what gains. Threads follow cores: to shrink, threads go
first, to grow, cores (docs/scheduling/elastic.md); a job without the agent gets cores only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.scheduling.actions import Pause, Refuse, Resume, SetLimit, SetThreads, Start
from core.scheduling.model import JobState
from core.scheduling.policies.elastic.book import TINY
from core.scheduling.shares.threads import threads_for

if TYPE_CHECKING:
    from core.scheduling.actions import Action
    from core.scheduling.model import Job
    from core.scheduling.policies.elastic.book import Held
    from core.scheduling.policies.elastic.scene import Scene


def actions(scene: Scene) -> tuple[Action, ...]:
    """Less first, then what begins, then more."""
    less: list[Action] = []
    begin: list[Action] = [Refuse(name, why) for name, why in scene.refused.items()]
    more: list[Action] = []
    for name in scene.changed:
        for job, held in scene.books[name].held.items():
            seen = scene.jobs[job]
            if seen.state is JobState.WAITING:
                begin.append(Start(job, name, held.cores, threads=_threads(seen, held.cores)))
            elif seen.state is JobState.PAUSED and not held.paused:
                begin += [*_resized(seen, held), Resume(job)]
            elif seen.state is JobState.RUNNING and held.paused:
                less.append(Pause(job))
            elif seen.state is JobState.RUNNING:
                shrinks = seen.limit is None or held.cores < seen.limit
                (less if shrinks else more).extend(_resized(seen, held))
    return (*less, *begin, *more)


def _threads(job: Job, cores: float) -> int | None:
    """Threads that suit so many cores; None of a job that does not change its threads."""
    return threads_for(cores) if job.can_resize else None


def _resized(job: Job, held: Held) -> list[Action]:
    """A job's new limit, and its threads before or after that; nothing if it has that limit."""
    if job.limit is not None and abs(job.limit - held.cores) <= TINY:
        return []
    limit = SetLimit(job.id, held.cores, job.weight)
    threads = _threads(job, held.cores)
    if threads is None or threads == job.threads:
        return [limit]
    told = SetThreads(job.id, threads)
    return [told, limit] if job.limit is None or held.cores < job.limit else [limit, told]
