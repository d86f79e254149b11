"""Who may begin before the first of the queue without delaying it (EASY backfilling; Lifka 1995).

The first one gets a reservation: where and when its request is free, by the predicted ends of those that run.
Another may begin now on that worker if it ends before, or needs only what is left beside the reservation.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.policies.by_request.scene import TINY

if TYPE_CHECKING:
    from core.scheduling.model import Job
    from core.scheduling.policies.by_request.scene import Scene


class Shadow(NamedTuple):
    """A reservation: on which worker, from when on, and how many cores it leaves free there."""

    worker: str
    begin: float
    spare: float


def shadow(scene: Scene, first: Job) -> Shadow | None:
    """The reservation of the first one; None where nobody's end is known."""
    running: dict[str, list[tuple[float, float]]] = {worker: [] for worker in scene.free}
    for job, worker, cores in scene.wanted:
        running[worker].append((scene.now + scene.left(job), cores))
    soonest: Shadow | None = None
    for worker, ends in running.items():
        free = scene.free[worker]
        if scene.capacity[worker] < scene.request(first) - TINY:
            continue
        for at, cores in sorted(ends):
            free += cores
            if free >= scene.request(first) - TINY:
                if at < inf and (soonest is None or at < soonest.begin):
                    soonest = Shadow(worker, at, free - scene.request(first))
                break
    return soonest


def passing(scene: Scene, job: Job, worker: str, reserved: Shadow) -> tuple[Shadow, bool]:
    """Whether a job may begin on a worker now without delaying the first one, and what is left then."""
    if worker != reserved.worker or scene.now + scene.left(job) <= reserved.begin:
        return reserved, True
    spare = reserved.spare - scene.request(job)
    return (reserved._replace(spare=spare), True) if spare >= -TINY else (reserved, False)
