"""``flowcon``: limits by growth efficiency, on every worker separately.

Jobs whose evaluation function still changes quickly per share of the processor keep it; those that near
convergence get a small limit. Settings and variants: `settings`; Algorithms 1 and 2: `node`. Source: Zheng,
"Efficient resource management for deep learning applications", 4.1, 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from core.scheduling.actions import SetLimit
from core.scheduling.growth import update_tracks
from core.scheduling.placement import Placer, place, placer
from core.scheduling.policies.flowcon.node import (
    TIME_TOLERANCE,
    NodeDecision,
    NodeSnapshot,
    NodeState,
    advance,
    mark_refused,
)
from core.scheduling.policies.flowcon.settings import PRESETS, FlowConSettings
from core.scheduling.ports import Decision, PolicyGroup, SchedulingPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.growth import Tracks
    from core.scheduling.model import Job, Observation
    from core.scheduling.placement import PlacementDecision


@dataclass(frozen=True, slots=True)
class FlowConState:
    """The state of FlowCon."""

    #: As configured.
    settings: FlowConSettings
    #: The default scheduler.
    placer: Placer
    #: The number of the last observation.
    number: int = -1
    #: The printed values of every job.
    tracks: Tracks = field(default_factory=dict)
    #: The state of every worker that has containers.
    nodes: Mapping[str, NodeState] = field(default_factory=dict)
    #: The last requested wake-up time.
    wake: float | None = None


def begin(settings: FlowConSettings, seed: int) -> FlowConState:
    """Return the initial state."""
    return FlowConState(settings, placer(settings.placement, seed))


def decide(state: FlowConState, observation: Observation) -> Decision[FlowConState]:
    """Start waiting jobs, and run Algorithm 1 where the listener or the interval says so."""
    if observation.number <= state.number:
        return Decision(state, wake=state.wake)
    placing, settings = place(state.placer, observation), state.settings
    tracks = update_tracks(state.tracks, observation)
    starting = frozenset(job.id for job, _ in placing.starts)
    failed = frozenset(f.action.job for f in observation.failures if isinstance(f.action, SetLimit))
    here, workers = (
        _group_by_worker(observation, placing),
        {worker.id: worker for worker in observation.workers},
    )
    nodes = {name: node for name, node in state.nodes.items() if name in workers}
    if failed:
        nodes = {name: mark_refused(node, failed, observation.time, settings) for name, node in nodes.items()}
    steps: list[NodeDecision] = []
    for name in _workers_to_run(nodes, here, observation.time):
        scene = NodeSnapshot(workers[name], here.get(name, {}), starting, tracks, observation.time)
        step = advance(nodes.get(name) or NodeState(itval=settings.itval), scene, settings)
        steps.append(step)
        nodes[name] = step.node
        if not step.node.containers:
            del nodes[name]
    return _make_decision(state, observation, placing, tracks, nodes, steps)


def _workers_to_run(
    nodes: Mapping[str, NodeState], here: Mapping[str, Mapping[str, Job]], now: float
) -> list[str]:
    """Return the workers whose containers changed or whose interval is over."""
    emptied = [name for name in nodes if name not in here]
    return emptied + [
        name
        for name, jobs in here.items()
        if (node := nodes.get(name)) is None
        or node.due <= now + TIME_TOLERANCE
        or node.retry <= now + TIME_TOLERANCE
        or jobs.keys() != node.containers.keys()
    ]


def _group_by_worker(observation: Observation, placing: PlacementDecision) -> dict[str, dict[str, Job]]:
    """Return the jobs by worker, with those that start now or have an unconfirmed start."""
    worker_ids = {worker.id for worker in observation.workers}
    soon = {job.id: worker for job, worker in placing.starts}
    soon.update(placing.pending)
    here: dict[str, dict[str, Job]] = {}
    for job in observation.jobs:
        worker = job.worker if job.worker is not None else soon.get(job.id)
        if worker in here:
            here[worker][job.id] = job
        elif worker is not None and worker in worker_ids:
            here[worker] = {job.id: job}
    return here


def _make_decision(
    state: FlowConState,
    observation: Observation,
    placing: PlacementDecision,
    tracks: Tracks,
    nodes: Mapping[str, NodeState],
    steps: Sequence[NodeDecision],
) -> Decision[FlowConState]:
    times = [min(node.due, node.retry) for node in nodes.values()]
    wake = min([*times, *([] if placing.wake is None else [placing.wake])], default=None)
    return Decision(
        FlowConState(state.settings, placing.placer, observation.number, tracks, nodes, wake),
        tuple(chain.from_iterable(step.actions for step in steps)),
        (*placing.reasons, *chain.from_iterable(step.reasons for step in steps)),
        tuple(chain.from_iterable(node.marks for node in nodes.values())),
        wake,
    )


FLOWCON = SchedulingPolicy(
    name="flowcon",
    about="Limits each job by its growth efficiency, so that quickly learning jobs get the processor.",
    begin=begin,
    decide=decide,
    settings=FlowConSettings,
    title="FlowCon",
    group=PolicyGroup.PROGRESS,
)


__all__ = ["FLOWCON", "POLICIES", "PRESETS", "FlowConSettings"]

POLICIES = (FLOWCON,)
