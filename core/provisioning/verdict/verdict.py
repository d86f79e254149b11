"""The verdict of a comparison: each workload's current amount, recommendation, saving and risk.

It is made from a report, the choice of policies, and prices alone, so page, exports and command line agree,
and prices can change without comparing again. Its values: an `Option` is one way to give a resource, a `Line`
one resource of a workload, a `Card` one workload, and the `Verdict` all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.provisioning.fleet import Resource
from core.provisioning.verdict.choice import pick, units
from core.provisioning.verdict.savings import PriceSettings, running, saved
from core.provisioning.verdict.standing import Standing, State, standing
from core.units import NO_NAMES, Unit, format_share, phase_name, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.provisioning.verdict.choice import Pick
    from core.provisioning.verdict.savings import Saved


STEERED, FIXED, KEEP = "steered", "fixed", "keep"


@dataclass(frozen=True, slots=True)
class Option:
    """One way to allocate a resource to a workload, with its measured outcome."""

    #: ``steered`` by a policy, ``fixed`` for a container's whole life, or ``keep`` where no fixed amount did
    #: what it promises, so that containers stay as they are.
    method: str
    #: The policy's name; empty for an amount that no policy gives.
    policy: str
    #: What a container gets on average, in the resource's unit.
    amount: float
    #: The figures (`core.provisioning.verdict.workload_evidence`).
    evidence: Mapping[str, Any]
    #: Against now, for all containers of the workload.
    saved: Saved
    #: As a share of what they have now, with its 95% interval, None for few containers.
    saved_share: float | None
    interval: tuple[float, float] | None
    #: How far it can be trusted.
    standing: Standing
    #: Whether it did what it promises where it was tested.
    keeps_promise: bool
    #: Whether containers' own limits bounded the use that decides it, so that at least that is needed.
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class PhaseAmount:
    """The fixed amount for a workload while it is in one phase."""

    #: The phase's id; −1 is warm-up.
    phase: int
    #: The amount, in the resource's unit, and whether at least that is needed, as for an `Option`.
    amount: float
    at_least: bool
    #: How many containers in this phase it was made from.
    made_from: int
    #: Whether it was judged on other containers than those.
    tested: bool
    #: The share of the judged containers' time in this phase that exceeds it; None where they have none.
    time_short: float | None
    #: How many of them exceed it.
    containers_short: int
    #: The name that people gave to the phase; empty without one.
    given_name: str = ""

    @property
    def name(self) -> str:
        """The phase as people read it."""
        return phase_name(self.phase, {self.phase: self.given_name})


@dataclass(frozen=True, slots=True)
class Line:
    """One resource of one workload."""

    #: What it is.
    resource: Resource
    unit: Unit
    #: What a container has on average; for how many containers it is recorded. Others count with their peak.
    now: float
    with_limit: int
    of: int
    #: What all its containers have at any moment, per day and in money.
    cost: Saved
    #: The ways to give it; None where a way was not measured.
    steered: Option | None
    fixed: Option | None
    #: The fixed amount, or to keep the present one; None where no fixed amount was measured.
    recommended: Option | None
    #: The fixed amount of each phase, made and judged by the same rule; empty without a phase model.
    by_phase: tuple[PhaseAmount, ...] = ()

    @property
    def tested(self) -> bool:
        """Whether the recommendation was judged on other containers than those it was made from."""
        return self.recommended is not None and self.recommended.standing.state is not State.UNTESTED

    @property
    def settable(self) -> bool:
        """Whether a manifest may say it: an amount that broke its promise where it was tested is withheld."""
        return self.recommended is not None and self.recommended.method == FIXED

    @property
    def now_is(self) -> str:
        """The source of `now`."""
        if self.with_limit == 0:
            return "none recorded (compared with the observed peak)"
        if self.with_limit == self.of:
            return "recorded"
        return f"recorded for {self.with_limit:,} of {self.of:,} (others: observed peak)"


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
    #: Its namespace and kind where the traces have them, such as “research · Job”.
    place: str = ""

    @property
    def money(self) -> float | None:
        """The saving per day over all resources; None where no line has a price."""
        savings = [line.recommended.saved.money for line in self.lines if line.recommended is not None]
        priced = [each for each in savings if each is not None]
        return sum(priced) if priced else None

    @property
    def tested_money(self) -> float | None:
        """The saving per day of recommendations that were judged on other containers."""
        savings = [line.recommended.saved.money for line in self.lines if line.tested and line.recommended]
        priced = [each for each in savings if each is not None]
        return sum(priced) if priced else None

    @property
    def worth(self) -> float | None:
        """The saving per day of tested recommendations, or of untested ones where nothing was tested."""
        return self.tested_money if self.held_out else self.money

    def line(self, resource: Resource) -> Line | None:
        """The line of one resource."""
        return next((line for line in self.lines if line.resource is resource), None)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on all workloads of a comparison."""

    #: The attribute that tells workloads apart, or None where all containers are one group.
    by: str | None
    #: The policy that would steer each resource.
    picks: Mapping[Resource, Pick]
    #: All containers together.
    whole: Card
    #: The workloads, those that save most first; only `whole` again where they are one group.
    cards: tuple[Card, ...]


_FAR = 2.0
"""How many times the promised share of time breaks the promise where there are too few for an interval."""


def verdict(
    report: Mapping[str, Any],
    overrides: Mapping[Resource, str] | None = None,
    prices: PriceSettings | None = None,
    phase_names: Mapping[int, str] = NO_NAMES,
) -> Verdict | None:
    """Read the verdict from a report; None where it was made before reports had what this needs.

    `phase_names` are those that people gave to phases of the model.
    """
    parts = {Resource(name): part for name, part in report["resources"].items()}
    if "recorded" not in report or not all(map(_readable, parts.values())):
        return None
    picks = {
        resource: pick(part, units(report), (overrides or {}).get(resource))
        for resource, part in parts.items()
    }
    make = _VerdictBuilder(report, parts, picks, prices or PriceSettings(), phase_names)
    whole = make.card(None)
    by = report["recorded"]["by"]
    n = len(next(iter(parts.values()))["workloads"]["each"])
    cards = [whole] if by is None else [make.card(number) for number in range(n)]
    cards.sort(key=lambda card: (card.held_out == 0, -(card.worth or 0.0), card.name))
    return Verdict(by, picks, whole, tuple(cards))


def _readable(part: Mapping[str, Any]) -> bool:
    return "workloads" in part and "judged_seconds" in part["workloads"]["everything"]


def mean_over(options: Sequence[tuple[Card, Option]], name: str) -> float:
    """A figure of several workloads together, by how long their containers were judged; 0 of nothing."""
    seconds = sum(card.judged_seconds for card, _ in options)
    total = sum(card.judged_seconds * float(option.evidence[name]) for card, option in options)
    return total / seconds if seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class _VerdictBuilder:
    report: Mapping[str, Any]
    parts: Mapping[Resource, Mapping[str, Any]]
    picks: Mapping[Resource, Pick]
    prices: PriceSettings
    phase_names: Mapping[int, str]

    def card(self, number: int | None) -> Card:
        """The card of one workload, or of all."""
        entries = {
            resource: part["workloads"]["everything"] if number is None else part["workloads"]["each"][number]
            for resource, part in self.parts.items()
        }
        first = next(iter(entries.values()))
        tested = self.report["split"]["tested"]
        held_out = tuple(first["held_out"]) if tested else ()
        return Card(
            name=first["name"],
            containers=first["training"] + len(first["held_out"]),
            training=first["training"] if tested else 1,
            held_out=len(held_out),
            tested_on=held_out,
            judged_seconds=first["judged_seconds"],
            lines=tuple(
                self._line(resource, entry, whole=number is None) for resource, entry in entries.items()
            ),
            place=first.get("place", ""),
        )

    def _line(self, resource: Resource, entry: Mapping[str, Any], *, whole: bool) -> Line:
        unit, policy = Unit(self.parts[resource]["unit"]), self.picks[resource].policy or ""
        split = self.report["split"]
        tested, groups = bool(split["tested"]), len(split["held_out_groups"]) if whole else 0
        steered = fixed = recommended = None
        if policy in entry["policies"]:
            evidence = entry["policies"][policy]
            steered = self._option(
                STEERED, policy, resource, unit, entry, evidence, tested=tested, groups=groups or None
            )
        if entry["fixed"] is not None:
            evidence = entry["fixed"]
            is_tested = tested and evidence["tested"]
            fixed = self._option(FIXED, "", resource, unit, entry, evidence, tested=is_tested)
            recommended = fixed if fixed.keeps_promise else self._keep(entry, unit, fixed)
        return Line(
            resource,
            unit,
            now=entry["now"]["amount"],
            with_limit=entry["now"]["given"],
            of=entry["now"]["of"],
            cost=saved(entry["now"]["amount"], unit, self._at_once(entry), self.prices),
            steered=steered,
            fixed=fixed,
            recommended=recommended,
            by_phase=tuple(_phase_amount(each, self.phase_names) for each in entry.get("phases", ())),
        )

    def _option(
        self,
        method: str,
        policy: str,
        resource: Resource,
        unit: Unit,
        entry: Mapping[str, Any],
        evidence: Mapping[str, Any],
        *,
        tested: bool,
        groups: int | None = None,
    ) -> Option:
        at_once = self._at_once(entry)
        now, containers = entry["now"]["amount"], entry["training"] + len(entry["held_out"])
        low, high = evidence.get("saved_low"), evidence.get("saved_high")
        trust = standing(
            evidence,
            resource,
            len(entry["held_out"]),
            containers,
            self.report["settings"],
            tested=tested,
            groups=groups,
        )
        if evidence.get("at_least") and trust.state in (State.SAFE, State.OPEN, State.FEW):
            trust = replace(trust, state=State.OPEN, sentence=bounded_sentence(evidence))
        return Option(
            method=method,
            policy=policy,
            amount=evidence["amount"],
            evidence=evidence,
            saved=saved(now - evidence["amount"], unit, at_once, self.prices),
            saved_share=1.0 - evidence["amount"] / now if now > 0 else None,
            interval=None if low is None or high is None else (low, high),
            standing=trust,
            keeps_promise=trust.state is not State.BROKEN and (not tested or self._keeps(evidence, resource)),
            at_least=bool(evidence.get("at_least")),
        )

    def _at_once(self, entry: Mapping[str, Any]) -> float:
        return running(entry["container_seconds"], self.report["recorded"], self.prices)

    def _keep(self, entry: Mapping[str, Any], unit: Unit, fixed: Option) -> Option:
        """The option to keep the current amount, where no fixed one did what it promises."""
        return Option(
            method=KEEP,
            policy="",
            amount=entry["now"]["amount"],
            evidence=entry["now"]["found"],
            saved=saved(0.0, unit, 0.0, self.prices),
            saved_share=0.0,
            interval=None,
            standing=replace(fixed.standing, state=State.OPEN),
            keeps_promise=True,
        )

    def _keeps(self, evidence: Mapping[str, Any], resource: Resource) -> bool:
        """Whether held-out containers were not short far more often than promised, or killed at all."""
        if resource is Resource.MEMORY:
            return not evidence["events"]
        return bool(evidence["under_time_0"] <= _FAR * self.report["settings"]["tolerance"])


def bounded_sentence(evidence: Mapping[str, Any]) -> str:
    """Say that limits, or pressure of hosts, bounded what containers used, and what to do."""
    if evidence["kills"]:
        runs = f"{evidence['kills']:,} of {plural(len(evidence['made_from']), 'run')}"
        return f"{runs} killed for lack of memory: raise the limit and record again."
    limited, pressed = float(evidence["bounded"]), float(evidence.get("pressed", 0.0))
    if pressed > limited:
        share = format_share(pressed, 0)
        return f"Its host was short of CPU or memory in {share} of the time: record again on a free host."
    share = format_share(limited, 0)
    return f"Limited by its own limit in {share} of the time: raise the limit and record again."


def _phase_amount(entry: Mapping[str, Any], names: Mapping[int, str]) -> PhaseAmount:
    return PhaseAmount(
        phase=entry["phase"],
        amount=entry["request"],
        at_least=bool(entry.get("at_least")),
        made_from=entry["made_from"],
        tested=entry["tested"],
        time_short=entry["under_time_0"],
        containers_short=entry["containers_short"],
        given_name=names.get(entry["phase"], ""),
    )
