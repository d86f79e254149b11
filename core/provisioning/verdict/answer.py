"""The values of a verdict: one option, one resource's line, one workload's card, and all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from core.provisioning.fleet import Resource
from core.provisioning.verdict.standing import State
from core.units import phase_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.provisioning.verdict.choice import Pick
    from core.provisioning.verdict.savings import Saved
    from core.provisioning.verdict.standing import Standing
    from core.units import Unit

_SAID = {Resource.CPU: "CPU", Resource.MEMORY: "memory"}
STEERED, FIXED, EXACT, KEEP = "steered", "fixed", "exact", "keep"


@dataclass(frozen=True, slots=True)
class Option:
    """One way to give a workload a resource, with what it was measured to do."""

    #: ``steered`` by a policy, ``exact`` where that policy never changes it, ``fixed`` in its place, or
    #: ``keep`` where neither kept containers alive, so that they stay as they are.
    way: str
    #: The policy's name; for a fixed amount, the policy that it stands for.
    policy: str
    #: What a container gets on average, in the resource's unit.
    amount: float
    #: The figures (`core.provisioning.verdict.candidates`).
    found: Mapping[str, Any]
    #: Against now, for all containers of the workload.
    saved: Saved
    #: As a share of what they have now, with its 95% interval, None for few containers.
    saved_share: float | None
    interval: tuple[float, float] | None
    #: How far it can be trusted.
    standing: Standing
    #: Whether it did what it promises where it was tested.
    kept: bool


@dataclass(frozen=True, slots=True)
class PhaseAmount:
    """The fixed amount for a workload while it is in one phase."""

    #: The phase's id; −1 is warm-up.
    phase: int
    #: The amount, in the resource's unit.
    amount: float
    #: How many containers in this phase it was made from.
    made_from: int
    #: Whether it was judged on other containers than those.
    tested: bool
    #: The share of the judged containers' time in this phase that exceeds it; None where they have none.
    time_short: float | None
    #: How many of them exceed it.
    containers_short: int

    @property
    def name(self) -> str:
        """The phase as people read it."""
        return phase_name(self.phase)


@dataclass(frozen=True, slots=True)
class Line:
    """One resource of one workload."""

    #: What it is.
    resource: Resource
    unit: Unit
    #: What a container has on average; the limits of how many of the containers are in the traces. Others
    #: count with their own peak.
    now: float
    given: int
    of: int
    #: The ways to give it; None where a way was not measured.
    steered: Option | None
    fixed: Option | None
    #: One of them, or None where there is neither.
    recommended: Option | None
    #: What a manifest says: the policy itself where it never changes, else the fixed amount; None where there
    #: is neither, or nobody can give what the policy gives.
    exported: Option | None
    #: The fixed amount of each phase, made and judged by the same rule; empty without a phase model.
    by_phase: tuple[PhaseAmount, ...] = ()

    @property
    def tested(self) -> bool:
        """Whether what is recommended was judged on containers that it was not made from."""
        return self.recommended is not None and self.recommended.standing.state is not State.UNTESTED

    @property
    def settable(self) -> bool:
        """Whether a manifest may say it: an amount that broke its promise where it was tested is withheld."""
        return self.exported is not None and self.exported.kept

    @property
    def now_is(self) -> str:
        """Where `now` is from."""
        if self.given == 0:
            return "own peak, known only afterwards; no limit in the traces"
        if self.given == self.of:
            return "limit in the traces"
        return f"limit of {self.given:,} of {self.of:,}, own peak of the others"


@dataclass(frozen=True, slots=True)
class Card:
    """The verdict on one workload, or on all together."""

    #: The workload's; empty for all together.
    name: str
    #: How many there are, were learned from, and were tested on.
    containers: int
    training: int
    held_out: int
    #: The held-out containers' names.
    tested_on: tuple[str, ...]
    #: How long the containers that figures are of were recorded, together.
    judged_seconds: float
    #: One per resource.
    lines: tuple[Line, ...]

    @property
    def money(self) -> float | None:
        """What is saved per day, all resources together; None where no line has a price."""
        found = [line.recommended.saved.money for line in self.lines if line.recommended is not None]
        known = [each for each in found if each is not None]
        return sum(known) if known else None

    @property
    def tested_money(self) -> float | None:
        """What is saved per day by what was judged on containers that it was not made from."""
        found = [line.recommended.saved.money for line in self.lines if line.tested and line.recommended]
        known = [each for each in found if each is not None]
        return sum(known) if known else None

    @property
    def worth(self) -> float | None:
        """What is said to be saved per day: what was tested, or where nothing was, what it was made from."""
        return self.tested_money if self.held_out else self.money

    def line(self, resource: Resource) -> Line | None:
        """The line of one resource."""
        return next((line for line in self.lines if line.resource is resource), None)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a comparison comes to."""

    #: The attribute that tells workloads apart, or None where all containers are one group.
    by: str | None
    #: The policy taken for each resource.
    picks: Mapping[Resource, Pick]
    #: All containers together.
    whole: Card
    #: The workloads, those that save most first; only `whole` again where they are one group.
    cards: tuple[Card, ...]
    #: How far what is recommended can be trusted over all workloads together, by resource.
    risk: Mapping[Resource, Standing]

    def total(self, resource: Resource) -> Saved | None:
        """What all workloads that were tested would save together, as recommended for each.

        Workloads that would cost more count, too: to leave them out after looking would flatter the sum.
        """
        lines = [card.line(resource) for card in self.cards if card.held_out]
        found = [
            line.recommended.saved
            for line in lines
            if line is not None and line.recommended is not None and line.tested
        ]
        return reduce(add, found) if found else None

    @property
    def money(self) -> float | None:
        """What all workloads that were tested save per day."""
        found = [card.tested_money for card in self.cards if card.held_out]
        known = [each for each in found if each is not None]
        return sum(known) if known else None

    @property
    def against(self) -> str:
        """What savings are measured against, where that is not a limit; "" where it is."""
        peaks = [_SAID[line.resource] for line in self.whole.lines if line.given < line.of]
        if not peaks:
            return ""
        return (
            f"The traces do not say which {' and '.join(peaks)} every container was given: what is saved is "
            "against its own peak, which is known only afterwards."
        )

    @property
    def untested(self) -> tuple[str, ...]:
        """Workloads without a held-out container; no total counts them."""
        return tuple(card.name for card in self.cards if not card.held_out)
