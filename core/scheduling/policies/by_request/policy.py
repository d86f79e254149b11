"""``fifo``, ``fifo.backfill``, ``kube.default``, ``edf``, ``edf.preemptive`` and ``least.laxity``.

Every job runs with its request or not at all. They differ in the order of the queue, in whether one that
does not fit holds up those behind it, and in whether running jobs are paused for others
(docs/scheduling/by_request.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from core.scheduling.actions import Reason
from core.scheduling.deadlines.time_left import deadline_of
from core.scheduling.model import JobState
from core.scheduling.policies.by_request.backfill import passing, shadow
from core.scheduling.policies.by_request.scene import RequestState, Scene
from core.scheduling.policies.by_request.settings import LaxitySettings, RequestSettings
from core.scheduling.ports import Decision, SchedulingPolicy
from core.scheduling.shares.resizing import changes
from core.units import format_cores

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.scheduling.model import Job, Observation


@dataclass(frozen=True, slots=True)
class Rule:
    """How such a policy differs from the others."""

    #: The policy's name.
    name: str
    #: Those with the least come first; of equal ones, those that were submitted first.
    key: Callable[[Scene, Job], float]
    #: Whether one that does not fit holds up all behind it.
    blocks: bool = False
    #: Whether those behind it may begin nevertheless if that does not delay it.
    backfills: bool = False
    #: Whether jobs that run are paused for others.
    preempts: bool = False


def _arrival(_: Scene, job: Job) -> float:
    return job.arrived


def _deadline(_: Scene, job: Job) -> float:
    return deadline_of(job)


def _laxity(scene: Scene, job: Job) -> float:
    """How long a job could rest and still be in time."""
    left, until = scene.left(job), deadline_of(job)
    return inf if until == inf else until - scene.now - (left if left < inf else 0.0)


def begin(settings: RequestSettings, seed: int) -> RequestState:  # noqa: ARG001 - nothing is left to chance
    """The state before the first observation."""
    return RequestState(settings)


def decide(rule: Rule, state: RequestState, seen: Observation) -> Decision[RequestState]:
    """Let jobs run in the order of the rule, as far as cores suffice."""
    if seen.number <= state.number:
        return Decision(state, wake=state.wake)
    scene = Scene(state, seen)
    queue = list(scene.jobs)
    if not rule.preempts:  # whoever runs keeps its cores
        for job in queue:
            if job.state is JobState.RUNNING and job.worker in scene.free:
                scene.run(job, job.worker, rule.name)
        queue = [job for job in queue if job.state is not JobState.RUNNING]
    queue.sort(key=lambda job: (rule.key(scene, job), job.arrived, job.id))
    told = _serve(rule, scene, queue)
    if told and told != state.told:
        scene.reasons.append(Reason(f"{rule.name}, queue", told))
    waits = [each.until for each in scene.asked.values() if each.until > scene.now and each.worker is None]
    if isinstance(scene.settings, LaxitySettings) and len(scene.jobs) > 1:
        waits.append(scene.now + scene.settings.interval)
    wake = min(waits, default=None)
    after = replace(state, number=seen.number, asked=scene.asked, told=told, wake=wake)
    return Decision(after, changes(scene.wanted), tuple(scene.reasons), wake=wake)


def _serve(rule: Rule, scene: Scene, queue: list[Job]) -> str:
    """Go through the queue; a sentence of the first one that has to wait."""
    told, reserved = "", None
    for job in queue:
        worker = scene.place(job)
        if worker is not None and reserved is not None:
            reserved, passes = passing(scene, job, worker, reserved)
            worker = worker if passes else None
        if worker is not None:
            scene.run(job, worker, rule.name)
            continue
        scene.rest(job, rule.name)
        if not told:
            told = f"{job.id} waits for {format_cores(scene.request(job))}."
            if rule.backfills:
                reserved = shadow(scene, job)
            elif rule.blocks:
                break
    return told


def _policy(
    rule: Rule, title: str, about: str, settings: type[RequestSettings] = RequestSettings
) -> SchedulingPolicy:
    return SchedulingPolicy(
        name=rule.name, title=title, about=about, begin=begin, decide=partial(decide, rule), settings=settings
    )


POLICIES = (
    _policy(
        Rule("fifo", _arrival, blocks=True),
        "FIFO",
        "Jobs run in order of submission, with their requests; whoever does not fit holds up all behind it.",
    ),
    _policy(
        Rule("fifo.backfill", _arrival, backfills=True),
        "FIFO, backfilling",
        "As fifo, but jobs further behind may begin as long as that does not delay the first one.",
    ),
    _policy(
        Rule("kube.default", _arrival),
        "Kubernetes’ default",
        "Jobs start in order of submission wherever their request fits; whoever does not fit stays pending.",
    ),
    _policy(
        Rule("edf", _deadline),
        "EDF",
        "Earliest deadline first: it starts first, with its request; what runs is left alone.",
    ),
    _policy(
        Rule("edf.preemptive", _deadline, preempts=True),
        "EDF, preemptive",
        "Earliest deadline first: it runs, with its request; others are paused for it.",
    ),
    _policy(
        Rule("least.laxity", _laxity, preempts=True),
        "Least laxity first",
        "Whoever can wait least runs, with its request; others are paused for it.",
        LaxitySettings,
    ),
)
