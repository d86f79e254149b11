"""FlowCon on one worker: the listener (Algorithm 2) and the runs of Algorithm 1 that it and time cause."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.actions import Reason, Start
from core.scheduling.policies.flowcon.limits import all_completing, assign, enforced, ordered, raised
from core.scheduling.policies.flowcon.lists import classified, demanded, entered, has_spare_time, usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from core.scheduling.actions import Action, Mark
    from core.scheduling.growth import Tracks
    from core.scheduling.model import Job, Worker
    from core.scheduling.policies.flowcon.lists import Container
    from core.scheduling.policies.flowcon.settings import FlowConSettings

NOW = 1e-9
"""Times closer than this, in seconds, count as the same."""


@dataclass(frozen=True, slots=True)
class Node:
    """What FlowCon remembers of one worker."""

    #: Those at the last run, by job, in order of arrival.
    containers: Mapping[str, Container] = field(default_factory=dict)
    #: The interval until the next run, seconds; doubles while all complete.
    itval: float = 0.0
    #: When the algorithm ran, when it runs again, and when refused limits are asked for again.
    last: float = -inf
    due: float = inf
    retry: float = inf
    #: Lists and growths as shown.
    marks: tuple[Mark, ...] = ()


class Scene(NamedTuple):
    """One worker as it is seen now."""

    #: The machine.
    worker: Worker
    #: Those on it, also those that start now.
    jobs: Mapping[str, Job]
    #: Names of the jobs that start now.
    starting: frozenset[str]
    #: What all jobs have printed.
    tracks: Tracks
    #: Seconds of the run's clock.
    now: float


class Step(NamedTuple):
    """What was decided for one worker."""

    node: Node
    actions: tuple[Action, ...] = ()
    reasons: tuple[Reason, ...] = ()


def refused(node: Node, jobs: frozenset[str], now: float, settings: FlowConSettings) -> Node:
    """Limits that the engine refused are unknown now, and are asked for again one interval later."""
    hit = {name: each._replace(given=None) for name, each in node.containers.items() if name in jobs}
    if not hit:
        return node
    return replace(node, containers={**node.containers, **hit}, retry=min(node.retry, now + settings.itval))


def advance(node: Node, scene: Scene, settings: FlowConSettings) -> Step:
    """What happens on one worker at this moment: a run by the listener, by time, a retry, or nothing."""
    if scene.jobs.keys() != node.containers.keys():
        changed, reasons = listen(node, scene, settings)
        stayed = node.containers.keys() & scene.jobs.keys()
        return run(changed, scene, settings, stayed, reasons)
    if node.containers and scene.now >= node.due - NOW:
        return run(node, scene, settings, node.containers.keys(), [])
    if scene.now >= node.retry - NOW:
        actions, containers = _asked(node.containers, scene, settings)
        return Step(replace(node, containers=containers, retry=inf), actions)
    return Step(node)


def listen(node: Node, scene: Scene, settings: FlowConSettings) -> tuple[Node, list[Reason]]:
    """Algorithm 2: put newcomers into NL, release those that left, and reset the interval.

    The sets of ids are compared: a count (lines 2 to 5 as printed) misses an arrival paired with a departure.
    """
    worker = scene.worker.id
    came = [name for name in scene.jobs if name not in node.containers]
    left = [name for name in node.containers if name not in scene.jobs]
    stay = {name: each for name, each in node.containers.items() if name in scene.jobs}
    new = {name: entered(scene.jobs[name], scene.tracks.get(name)) for name in came}
    reasons = [
        Reason("Algorithm 2, lines 5–9", f"{name} is new on {worker}: NL, limit 1.", name, worker)
        for name in came
    ]
    reasons += [
        Reason("Algorithm 2, lines 10–17", f"{name} left {worker}: its share is released.", name, worker)
        for name in left
    ]
    return replace(node, containers={**stay, **new}, itval=settings.itval), reasons


def run(
    node: Node, scene: Scene, settings: FlowConSettings, known: AbstractSet[str], reasons: list[Reason]
) -> Step:
    """Algorithm 1 on one worker, now; `known` are the containers that were there at the previous run."""
    if not node.containers:
        return Step(Node(itval=node.itval), reasons=tuple(reasons))
    containers = dict(node.containers)
    if scene.now - node.last > NOW:
        containers, why = _classify(node, known, scene, settings)
        reasons = [*reasons, *why]
    containers, why = assign(containers, scene.worker.id, settings)
    extra: tuple[Reason, ...] = ()
    if settings.work_conserving:
        containers, extra = raised(containers, scene.worker.id)
    itval = node.itval
    if all_completing(containers):
        itval = min(2.0 * itval, settings.back_off * settings.itval)
    actions, containers = _asked(containers, scene, settings)
    marks = tuple(each.mark for each in containers.values())
    after = Node(containers, itval, scene.now, scene.now + itval, inf, marks)
    return Step(after, actions, (*reasons, *why, *extra))


def _classify(
    node: Node, known: AbstractSet[str], scene: Scene, settings: FlowConSettings
) -> tuple[dict[str, Container], list[Reason]]:
    """Lines 2 to 13 for every container that was there at the previous run."""
    seconds, capacity = scene.now - node.last, scene.worker.capacity
    containers = dict(node.containers)
    old = {name: each for name, each in containers.items() if name in known}
    used = {name: usage(each, scene.jobs[name], seconds, capacity) for name, each in old.items()}
    idle = has_spare_time(sum(used.values()))
    reasons = []
    for name, each in old.items():
        job, track = scene.jobs[name], scene.tracks.get(name)
        after, why = classified(each, job, track, seconds, capacity, settings)
        containers[name] = after._replace(demand=demanded(each, used[name], idle))
        if why is not None:
            reasons.append(why)
    return containers, reasons


def _asked(
    containers: Mapping[str, Container], scene: Scene, settings: FlowConSettings
) -> tuple[tuple[Action, ...], dict[str, Container]]:
    """Shrink, start, grow: what to ask of the engine, and the containers with what they then have."""
    wanted = {
        name: enforced(each, scene.worker.capacity, settings.limits) for name, each in containers.items()
    }
    changed = {
        name: (each, wanted[name])
        for name, each in containers.items()
        if each.given != wanted[name] and name not in scene.starting
    }
    shrinks, grows = ordered(changed)
    starts = tuple(
        Start(name, scene.worker.id, *wanted[name]) for name in containers if name in scene.starting
    )
    after = {name: each._replace(given=wanted[name]) for name, each in containers.items()}
    return (*shrinks, *starts, *grows), after
