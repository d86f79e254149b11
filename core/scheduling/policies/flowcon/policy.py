"""FlowCon's `decide`: place what waits, then let every worker look after itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from math import inf
from typing import TYPE_CHECKING

from core.scheduling.actions import SetLimit
from core.scheduling.growth import follow
from core.scheduling.placement import Placer, place, placer
from core.scheduling.policies.flowcon.node import Node, Scene, Step, advance, refused
from core.scheduling.policies.flowcon.settings import FlowConSettings
from core.scheduling.ports import Decision, SchedulingPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.growth import Tracks
    from core.scheduling.model import Job, Observation
    from core.scheduling.placement import Placing


@dataclass(frozen=True, slots=True)
class FlowConState:
    """What FlowCon remembers.

    Parameters
    ----------
    settings
        As chosen.
    placer
        The default scheduler.
    number
        Of the last observation.
    tracks
        What every job has printed.
    nodes
        Every worker's own state.
    wake
        What it last asked for.
    """

    settings: FlowConSettings
    placer: Placer
    number: int = -1
    tracks: Tracks = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    wake: float | None = None


def begin(settings: FlowConSettings, seed: int) -> FlowConState:
    """The state before the first observation."""
    return FlowConState(settings, placer(settings.placement, seed))


def decide(state: FlowConState, seen: Observation) -> Decision[FlowConState]:
    """Start what waits, and run Algorithm 1 where the listener or time says so."""
    if seen.number <= state.number:
        return Decision(state, wake=state.wake)
    placing, settings = place(state.placer, seen), state.settings
    tracks = follow(state.tracks, seen)
    starting = frozenset(job.id for job, _ in placing.starts)
    failed = frozenset(f.action.job for f in seen.failures if isinstance(f.action, SetLimit))
    here = _by_worker(seen, placing)
    steps: dict[str, Step] = {}
    for worker in seen.workers:
        node = state.nodes.get(worker.id) or Node(itval=settings.itval)
        if failed:
            node = refused(node, failed, seen.time, settings)
        scene = Scene(worker, here[worker.id], starting, tracks, seen.time)
        steps[worker.id] = advance(node, scene, settings)
    return _answer(state, seen, placing, tracks, steps)


def _by_worker(seen: Observation, placing: Placing) -> dict[str, dict[str, Job]]:
    """The jobs on each worker, with those that start there now or were asked to."""
    here: dict[str, dict[str, Job]] = {worker.id: {} for worker in seen.workers}
    soon = {job.id: worker for job, worker in placing.starts}
    soon.update(placing.pending)
    for job in seen.jobs:
        worker = job.worker if job.worker is not None else soon.get(job.id)
        if worker in here:
            here[worker][job.id] = job
    return here


def _answer(
    state: FlowConState, seen: Observation, placing: Placing, tracks: Tracks, steps: Mapping[str, Step]
) -> Decision[FlowConState]:
    nodes = {name: step.node for name, step in steps.items()}
    first = min((node.wake for node in nodes.values()), default=inf)
    soonest = first if placing.wake is None else min(first, placing.wake)
    wake = None if soonest == inf else soonest
    return Decision(
        FlowConState(state.settings, placing.placer, seen.number, tracks, nodes, wake),
        tuple(chain.from_iterable(step.actions for step in steps.values())),
        (*placing.reasons, *chain.from_iterable(step.reasons for step in steps.values())),
        tuple(chain.from_iterable(node.marks for node in nodes.values())),
        wake,
    )


FLOWCON = SchedulingPolicy(
    name="flowcon",
    about="Limits each job by its growth efficiency, so that quickly learning jobs get the processor.",
    begin=begin,
    decide=decide,
    settings=FlowConSettings,
)
