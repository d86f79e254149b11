"""The loop of every run: wait, observe, decide, act, record; and the replay of a ledger.

The loop does not depend on the engine. Each observation with its decision and outcome is one `Entry`; a run's
entries are its ledger, and `replay` checks that the policy decides the same from the same observations.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf, isclose
from typing import TYPE_CHECKING, Any

from core.scheduling.fast_frozen_init import fast_frozen_init

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from core.scheduling.actions import Action, Mark, Reason
    from core.scheduling.model import Failure, Observation
    from core.scheduling.ports import Engine, SchedulingPolicy

#: Amounts within this share of each other are one amount: the same sum in another order, or by another
#: version of a library, is rounded otherwise in its last digits.
SAME_AMOUNT = 1e-9


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger: the observation, the decision with its reasons, and immediate failures."""

    #: The observation.
    observation: Observation
    #: The decision.
    actions: tuple[Action, ...]
    reasons: Sequence[Reason]
    marks: tuple[Mark, ...]
    wake: float | None
    #: Actions that the engine refused at once; later failures are in a later observation.
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """A decision of a replayed policy that differs from the ledger."""

    number: int
    recorded: tuple[Action, ...]
    decided: tuple[Action, ...]


def drive(
    engine: Engine,
    policy: SchedulingPolicy,
    settings: Any,
    seed: int,
    pace: float | None = None,
    begin: tuple[Any, float | None] | None = None,
) -> Iterator[Entry]:
    """Run a policy on an engine until every job has ended, and yield each entry.

    The caller may stop after any entry; the engine stays as it is then.

    Parameters
    ----------
    engine
        Where the jobs run.
    policy
        The policy.
    settings
        An instance of the policy's settings.
    seed
        Seeds the policy's own random choices.
    pace
        Observe at least every `pace` seconds, so that a ledger of real time has the usage between events;
        None observes only at events and at the policy's wake-up times.
    begin
        The state of the policy and its wake-up time, if the run goes on (`recall`).
    """
    state, wake = (policy.begin(settings, seed), None) if begin is None else begin
    while not engine.finished:
        engine.wait(wake)
        observation = engine.observe()
        decision = policy.decide(state, observation)
        failures = engine.apply(decision.actions)
        state, wake = decision.state, decision.wake
        yield Entry(observation, decision.actions, decision.reasons, decision.marks, wake, failures)
        if pace is not None:
            wake = min(observation.time + pace, inf if wake is None else wake)


def recall(
    policy: SchedulingPolicy, settings: Any, seed: int, entries: Iterable[Entry]
) -> tuple[Any, float | None]:
    """Return the state of a policy after these entries of its ledger, and its wake-up time."""
    state, wake = policy.begin(settings, seed), None
    for entry in entries:
        state, wake = policy.decide(state, entry.observation).state, entry.wake
    return state, wake


def are_equal(actions: tuple[Action, ...], recorded: tuple[Action, ...]) -> bool:
    """Whether two decisions do the same, with amounts equal to `SAME_AMOUNT`."""
    return actions == recorded or (
        len(actions) == len(recorded) and all(map(_is_same_action, actions, recorded))
    )


def _is_same_action(one: Action, other: Action) -> bool:
    return type(one) is type(other) and all(
        isclose(mine, its, rel_tol=SAME_AMOUNT)
        if isinstance(mine, float) and isinstance(its, float)
        else mine == its
        for mine, its in ((getattr(one, each.name), getattr(other, each.name)) for each in fields(one))
    )


def replay(
    policy: SchedulingPolicy, settings: Any, seed: int, entries: Iterable[Entry]
) -> Iterator[Difference]:
    """Yield every decision that differs from the recorded one when a policy is shown its ledger."""
    state = policy.begin(settings, seed)
    for entry in entries:
        decision = policy.decide(state, entry.observation)
        state = decision.state
        if not are_equal(decision.actions, entry.actions):
            yield Difference(entry.observation.number, entry.actions, decision.actions)
