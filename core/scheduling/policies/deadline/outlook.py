"""What ``deadline`` would say to a job that is not submitted yet, and what that would cost the others.

The policy itself decides twice, with the job and without: so the answer is what it would do, not an estimate
beside it. What it remembers of the others is made anew from what is seen and from what they were promised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Final

from core.scheduling.model import JobState
from core.scheduling.policies.deadline.deadline_admission import DeadlineAdmission
from core.scheduling.policies.deadline.job_estimate import first_estimate
from core.scheduling.policies.deadline.scene import DeadlineState, Scene
from core.scheduling.policies.deadline.sharing import Sharing

if TYPE_CHECKING:
    from core.scheduling.model import Job, Observation
    from core.scheduling.policies.deadline.settings import DeadlineSettings

_TRIES: Final = 16
"""Deadlines that are tried to find the earliest one that can be promised, each at least."""
_PRECISE: Final = 0.01
_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Outlook:
    """What would become of a job."""

    #: Whether its end can be predicted: how fast its kind is and how many steps it has.
    known: bool
    #: Whether its deadline would be promised; None without a deadline.
    promised: bool | None
    #: What the policy would say of it; empty where it would say nothing.
    why: str
    #: The fewest cores with which it would end in time, were it alone; None if none do, or not known.
    cores: float | None = None
    #: Cores that it would have at once; 0: it would wait.
    has: float = 0.0
    #: When it would end with the cores that it would have at once, or else with the fewest that suffice, and
    #: between which moments eight times out of ten; None where not known. Seconds of the run's clock.
    ends: float | None = None
    between: tuple[float, float] | None = None
    #: Seconds from its submission to the earliest deadline that would be promised; None where there is none.
    soonest: float | None = None
    #: Jobs that run and would have fewer cores at once: their names, cores without it, and with it.
    gives_way: tuple[tuple[str, float, float], ...] = ()


def outlook(settings: DeadlineSettings, seen: Observation, job: Job) -> Outlook:
    """What would become of a job that is submitted now."""
    without, _ = _decided(settings, seen, None)
    with_it, scene = _decided(settings, seen, job)
    known = scene.known[job.id]
    promises = DeadlineAdmission(scene, ())
    has = with_it.get(job.id, 0.0)
    cores = promises.alone(known) if known.known and known.until < inf else None
    ending = known.ends(round((has or cores or 0.0) / scene.grain), scene.now, scene.spread)
    said = [reason.text for reason in scene.reasons if reason.job == job.id]
    placed = [each.id for each in seen.jobs if each.state.placed]
    lost = [(name, without.get(name, 0.0), with_it.get(name, 0.0)) for name in placed]
    return Outlook(
        known.known,
        known.promised if known.until < inf else None,
        said[0] if said else "",
        cores,
        has,
        None if ending is None else ending.at,
        None if ending is None else ending.between,
        _soonest(settings, seen, job) if known.known else None,
        tuple(each for each in lost if each[1] > each[2] + _TINY),
    )


def _decided(
    settings: DeadlineSettings, seen: Observation, job: Job | None
) -> tuple[dict[str, float], Scene]:
    """The cores that every job would have, and what was found."""
    scene = _scene(settings, seen, job)
    promises = DeadlineAdmission(scene, ())
    promises.make()
    sharing = Sharing(scene, promises)
    sharing.share()
    return {each.id: cores for each, _, cores in sharing.wanted}, scene


def _scene(settings: DeadlineSettings, seen: Observation, job: Job | None) -> Scene:
    """What is seen; whoever waits and was promised nothing has been considered before."""
    largest = max((worker.capacity for worker in seen.workers), default=1.0)
    known = {
        each.id: first_estimate(each, settings, largest)
        for each in seen.jobs
        if each.state is not JobState.WAITING or not each.said.promised
    }
    after = seen if job is None else replace(seen, jobs=(*seen.jobs, job))
    return Scene(DeadlineState(settings, known=known), after)


def _soonest(settings: DeadlineSettings, seen: Observation, job: Job) -> float | None:
    """Seconds to the earliest deadline that would be promised, to one part in a hundred."""

    def fits(seconds: float) -> bool:
        timed = replace(job, terms=replace(job.said, deadline=seconds))
        scene = _scene(settings, seen, timed)
        DeadlineAdmission(scene, ()).make()
        return scene.known[job.id].promised

    high = 1.0
    for _ in range(2 * _TRIES):
        if fits(high):
            break
        high *= 2
    else:
        return None
    low = high / 2
    for _ in range(_TRIES):
        if high - low <= _PRECISE * high:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
