"""``deadline``: meet as many deadlines as possible, and keep every guarantee."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from core.scheduling.actions import Mark
from core.scheduling.policies.deadline.context import DeadlineContext, DeadlineState
from core.scheduling.policies.deadline.deadline_admission import DeadlineAdmission
from core.scheduling.policies.deadline.settings import DeadlineSettings
from core.scheduling.policies.deadline.sharing import Sharing
from core.scheduling.ports import Decision, SchedulingPolicy
from core.scheduling.shares import plan_changes

if TYPE_CHECKING:
    from core.scheduling.model import Observation


__all__ = ["DEADLINE", "POLICIES", "DeadlineSettings"]


# After the framework for deep learning with deadlines, which sets the goal, and ElasticFlow (ASPLOS 2023),
# with its minimum satisfactory shares and diminishing returns; docs/scheduling/deadlines.md names what
# differs.


def begin(settings: DeadlineSettings, seed: int) -> DeadlineState:  # noqa: ARG001 - nothing is left to chance
    """Return the initial state."""
    return DeadlineState(settings)


def decide(state: DeadlineState, observation: Observation) -> Decision[DeadlineState]:
    """Admit jobs, and give every job its cores."""
    if observation.number <= state.number:
        return Decision(state, wake=state.wake)
    context = DeadlineContext(state, observation)
    admission = DeadlineAdmission(context, state.costs)
    admission.admit_jobs()
    sharing = Sharing(context, admission)
    sharing.share_workers()
    again = [
        context.estimates[name].retry_at
        for name in context.waiting
        if context.estimates[name].retry_at > context.now
    ]
    wake = min([*(home.next_decision for home in context.records.values()), *again], default=inf)
    after = replace(
        state,
        number=observation.number,
        estimates=context.estimates,
        records=context.records,
        costs=admission.costs,
        ratios=context.ratios,
        wake=None if wake == inf else wake,
    )
    others = [
        Mark(name, "left over", promised=False)
        for name in context.new_jobs
        if not context.estimates[name].is_promised
    ]
    return Decision(
        after,
        plan_changes(sharing.targets, context.refusals),
        tuple(context.reasons),
        (*others, *sharing.marks),
        wake=after.wake,
    )


DEADLINE = SchedulingPolicy(
    name="deadline",
    title="Deadline",
    about="Jobs say when they have to end; those that can are promised to, and cores follow from that.",
    begin=begin,
    decide=decide,
    settings=DeadlineSettings,
)
ELASTICFLOW = SchedulingPolicy(
    name="elasticflow",
    title="ElasticFlow",
    about="Jobs that end in time with the least cores are admitted, all others refused (Gu et al. 2023).",
    begin=begin,
    decide=decide,
    settings=DeadlineSettings,
    defaults={
        "grain": 1.0,
        "choosy": False,
        "rest": "refuse",
        "spare": "core-time",
        "worth": 0.0,
        "learn": False,
        "early": 0.0,
        "sizes": "powers",
    },
)
POLICIES = (DEADLINE, ELASTICFLOW)


__all__ = ["DEADLINE", "POLICIES", "DeadlineSettings"]
