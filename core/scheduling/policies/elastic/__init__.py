"""``elastic``: a queue of requests, with cores and threads that change while jobs run (Libutti)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.scheduling.policies.elastic.context import ElasticContext, ElasticState
from core.scheduling.policies.elastic.queue_order import ElasticRound
from core.scheduling.policies.elastic.settings import ElasticSettings
from core.scheduling.ports import Decision, SchedulingPolicy
from core.scheduling.shares import plan_changes

if TYPE_CHECKING:
    from core.scheduling.actions import Action
    from core.scheduling.model import Observation


def plan_actions(context: ElasticContext) -> tuple[Action, ...]:
    """Return the actions for the workers that changed, and the refusals."""
    targets = (
        (context.jobs[job], name, 0.0 if holding.is_paused else holding.cores)
        for name in context.changed
        for job, holding in context.books[name].holdings.items()
    )
    return plan_changes(targets, context.refusals)


__all__ = ["ELASTIC", "POLICIES", "ElasticSettings"]


# Source: Libutti, "Scheduling Elastic Machine Learning Process through Containers" (thesis overview, 2023),
# and the public scheduler of its author; docs/scheduling/elastic.md names what differs.


def begin(settings: ElasticSettings, seed: int) -> ElasticState:  # noqa: ARG001 - nothing is left to chance
    """Return the initial state."""
    return ElasticState(settings)


def decide(state: ElasticState, observation: Observation) -> Decision[ElasticState]:
    """Start waiting jobs in order, and distribute free cores."""
    if observation.number <= state.number:
        return Decision(state, wake=state.wake)
    context = ElasticContext(state, observation)
    round_ = ElasticRound(context)
    if state.settings.first == "running":
        round_.grow_jobs()
    round_.admit_jobs()
    round_.preempt_jobs()
    round_.grow_jobs()
    round_.move_cores()
    wake = round_.next_wake()
    after = replace(
        state,
        number=observation.number,
        books=context.books,
        queue={
            name: each.after_start_request(observation.time) if name in round_.started else each
            for name, each in context.queue.items()
        },
        measured=context.measured,
        placed=context.placed,
        wake=wake,
    )
    return Decision(after, plan_actions(context), tuple(context.reasons), wake=wake)


ELASTIC = SchedulingPolicy(
    name="elastic",
    title="Elastic",
    about="Jobs wait for cores; those that run get more or fewer, and their threads follow.",
    begin=begin,
    decide=decide,
    settings=ElasticSettings,
    ranks=lambda settings: settings.order == "priority",
)
POLICIES = (ELASTIC,)


__all__ = ["ELASTIC", "POLICIES", "ElasticSettings"]
