"""The one loop of every run: wait, observe, decide, act, record; and the replay of decisions from a record.

Nothing here knows whether the engine is a simulator or a cluster. What was seen, decided and done is one
`Entry` after another; a run's entries are its ledger, and `replay` proves that the policy, shown the same
observations, decides the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from core.scheduling.fast_frozen_init import fast_frozen_init

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from core.scheduling.actions import Action, Mark, Reason
    from core.scheduling.model import Failure, Observation
    from core.scheduling.ports import Engine, SchedulingPolicy


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger: what was seen, what was decided and why, and what failed at once."""

    #: What the policy was shown.
    observation: Observation
    #: Its decision.
    actions: tuple[Action, ...]
    reasons: Sequence[Reason]
    marks: tuple[Mark, ...]
    wake: float | None
    #: Actions that the engine refused at once; those that fail later are in a later observation.
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a replayed policy decides differently from its ledger."""

    number: int
    recorded: tuple[Action, ...]
    decided: tuple[Action, ...]


def drive(
    engine: Engine, policy: SchedulingPolicy, settings: Any, seed: int, pace: float | None = None
) -> Iterator[Entry]:
    """Run a policy on an engine until every job has ended, entry by entry.

    Whoever takes the entries may stop between two of them; the engine is then left as it is.

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
        Look at least every so many seconds, whatever the policy asks for, so that a ledger of real time says
        what was used between events; None looks only when something happens or the policy wants it.
    """
    state, wake = policy.begin(settings, seed), None
    while not engine.finished:
        engine.wait(wake)
        seen = engine.observe()
        decision = policy.decide(state, seen)
        failures = engine.apply(decision.actions)
        state, wake = decision.state, decision.wake
        yield Entry(seen, decision.actions, decision.reasons, decision.marks, wake, failures)
        if pace is not None:
            wake = min(seen.time + pace, inf if wake is None else wake)


def replay(
    policy: SchedulingPolicy, settings: Any, seed: int, entries: Iterable[Entry]
) -> Iterator[Difference]:
    """Show a policy what its ledger says it saw, and give every decision that is not the recorded one."""
    state = policy.begin(settings, seed)
    for entry in entries:
        decision = policy.decide(state, entry.observation)
        state = decision.state
        if decision.actions != entry.actions:
            yield Difference(entry.observation.number, entry.actions, decision.actions)
