"""The verdict of a comparison: each workload's current amount, recommendation, saving and risk.

It is made from a report, the choice of policies, and prices alone, so page, exports and command line agree,
and prices can change without comparing again. Its values: an `Option` is one way to give a resource, a `Line`
one resource of a workload, a `Card` one workload, and the `Verdict` all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from core.bootstrap_intervals import MIN_UNITS
from core.provisioning.fleet import Resource
from core.provisioning.verdict.choice import kind_of, pick, units
from core.provisioning.verdict.savings import PriceSettings, running, saved
from core.provisioning.verdict.standing import Standing, State, standing
from core.units import Unit, format_share, phase_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.provisioning.verdict.choice import Pick
    from core.provisioning.verdict.savings import Saved


_RESOURCE_NAMES = {Resource.CPU: "CPU", Resource.MEMORY: "memory"}
STEERED, FIXED, EXACT, KEEP = "steered", "fixed", "exact", "keep"


@dataclass(frozen=True, slots=True)
class Option:
    """One way to allocate a resource to a workload, with its measured outcome."""

    #: ``steered`` by a policy, ``exact`` where that policy never changes it, ``fixed`` in its place, or
    #: ``keep`` where neither kept containers alive, so that they stay as they are.
    method: str
    #: The policy's name; for a fixed amount, the policy that it stands for.
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
    with_limit: int
    of: int
    #: The ways to give it; None where a way was not measured.
    steered: Option | None
    fixed: Option | None
    #: One of them, or None where there is neither.
    recommended: Option | None
    #: What a manifest says: the policy itself where it never changes, else the fixed amount; None where there
    #: is neither, or the policy knows the future.
    exported: Option | None
    #: The fixed amount of each phase, made and judged by the same rule; empty without a phase model.
    by_phase: tuple[PhaseAmount, ...] = ()

    @property
    def tested(self) -> bool:
        """Whether the recommendation was judged on other containers than those it was made from."""
        return self.recommended is not None and self.recommended.standing.state is not State.UNTESTED

    @property
    def settable(self) -> bool:
        """Whether a manifest may say it: an amount that broke its promise where it was tested is withheld."""
        return self.exported is not None and self.exported.keeps_promise

    @property
    def now_is(self) -> str:
        """The source of `now`."""
        if self.with_limit == 0:
            return "none recorded (compared with the observed peak)"
        if self.with_limit == self.of:
            return "recorded limit"
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
    #: The policy taken for each resource.
    picks: Mapping[Resource, Pick]
    #: All containers together.
    whole: Card
    #: The workloads, those that save most first; only `whole` again where they are one group.
    cards: tuple[Card, ...]
    #: How far what is recommended can be trusted over all workloads together, by resource.
    risk: Mapping[Resource, Standing]

    def total(self, resource: Resource) -> Saved | None:
        """The saving of all tested workloads together, as recommended for each.

        Workloads that would cost more count, too: to leave them out after looking would flatter the sum.
        """
        lines = [card.line(resource) for card in self.cards if card.held_out]
        savings = [
            line.recommended.saved
            for line in lines
            if line is not None and line.recommended is not None and line.tested
        ]
        return reduce(add, savings) if savings else None

    @property
    def money(self) -> float | None:
        """The saving per day of all tested workloads."""
        savings = [card.tested_money for card in self.cards if card.held_out]
        priced = [each for each in savings if each is not None]
        return sum(priced) if priced else None

    @property
    def against(self) -> str:
        """The reference of the savings where it is not a limit; "" where it is."""
        peaks = [_RESOURCE_NAMES[line.resource] for line in self.whole.lines if line.with_limit < line.of]
        if not peaks:
            return ""
        return (
            f"Not every container has a recorded {' and '.join(peaks)} limit; savings of the others "
            "are against their observed peak."
        )

    @property
    def untested(self) -> tuple[str, ...]:
        """Workloads without a held-out container; no total counts them."""
        return tuple(card.name for card in self.cards if not card.held_out)


_FAR = 2.0
"""How many times the promised share of time breaks the promise where there are too few for an interval."""


def verdict(
    report: Mapping[str, Any],
    overrides: Mapping[Resource, str] | None = None,
    prices: PriceSettings | None = None,
) -> Verdict | None:
    """Read the verdict from a report; None where it was made before reports had what this needs."""
    parts = {Resource(name): part for name, part in report["resources"].items()}
    if "recorded" not in report or not all(map(_readable, parts.values())):
        return None
    picks = {
        resource: pick(part, units(report), (overrides or {}).get(resource))
        for resource, part in parts.items()
    }
    make = _VerdictBuilder(report, parts, picks, prices or PriceSettings())
    whole = make.card(None)
    by = report["recorded"]["by"]
    n = len(next(iter(parts.values()))["workloads"]["each"])
    cards = [whole] if by is None else [make.card(number) for number in range(n)]
    cards.sort(key=lambda card: (card.held_out == 0, -(card.worth or 0.0), card.name))
    risk = {resource: _together(resource, whole, cards, report) for resource in parts}
    return Verdict(by, picks, whole, tuple(cards), {each: trust for each, trust in risk.items() if trust})


def _readable(part: Mapping[str, Any]) -> bool:
    return "workloads" in part and "judged_seconds" in part["workloads"]["everything"]


def _together(
    resource: Resource, whole: Card, cards: Sequence[Card], report: Mapping[str, Any]
) -> Standing | None:
    """The standing of the recommendations for one resource, over all tested workloads.

    CPU has the standing of its policy over all containers, and is not safe where one workload is short; where
    some workloads get a fixed amount instead, that of the weakest. For memory the kills are added up, also
    those of fixed limits that are not recommended because of them: what was chosen on the containers that it
    is judged on is never called safe.
    """
    line = whole.line(resource)
    if line is None or line.recommended is None:
        return None
    lines = [(card, card.line(resource)) for card in cards if card.held_out]
    recommended = [
        (card, each, each.recommended)
        for card, each in lines
        if each is not None and each.recommended is not None
    ]
    if not recommended or (
        resource is not Resource.MEMORY and all(each.method == STEERED for _, _, each in recommended)
    ):
        return with_workloads(line.recommended.standing, [option.standing for _, _, option in recommended])
    if resource is not Resource.MEMORY:
        return _mixed([(card, option) for card, _, option in recommended])
    ways = [
        (card, (each.fixed or option) if option.method == KEEP else option)
        for card, each, option in recommended
    ]
    # a limit that was made from the container that it is judged on is not tested by it
    tested = [(card, option) for card, option in ways if option.standing.state is not State.UNTESTED]
    if not tested:
        return Standing(State.UNTESTED, _ITSELF)
    sums = {name: sum(each.evidence[name] for _, each in tested) for name in ("events", "containers_short")}
    evidence = {**sums, "short": [name for _, each in tested for name in each.evidence["short"]]}
    judged = sum(card.held_out for card, _ in tested)
    combined = standing(evidence, resource, judged, whole.containers, report["settings"])
    methods = {option.method for _, _, option in recommended}
    if len(methods) == 1 and KEEP not in methods:
        return combined
    return Standing(
        State.FEW if combined.missing else State.OPEN,
        f"{combined.sentence} {_CHOSEN_HERE}",
        combined.missing,
    )


def _mixed(options: Sequence[tuple[Card, Option]]) -> Standing:
    """The standing of CPU where workloads are steered or get a fixed amount: the weakest of them.

    Each was chosen on the containers that it is judged on, so of several none is called safe together.
    """
    if len(options) == 1:
        return options[0][1].standing
    short = mean_over(options, "under_time_0")
    state = min((option.standing.state for _, option in options), key=list(State).index)
    combined = Standing(
        State.OPEN if state in (State.SAFE, State.BROKEN) else state,
        f"Short {format_share(short)} of the time over all workloads together. {_WAYS_CHOSEN_HERE}",
    )
    return with_workloads(combined, [option.standing for _, option in options])


def mean_over(options: Sequence[tuple[Card, Option]], name: str) -> float:
    """A figure of several workloads together, by how long their containers were judged; 0 of nothing."""
    seconds = sum(card.judged_seconds for card, _ in options)
    total = sum(card.judged_seconds * float(option.evidence[name]) for card, option in options)
    return total / seconds if seconds > 0 else 0.0


def with_workloads(whole: Standing, each: Sequence[Standing]) -> Standing:
    """The standing of CPU over all containers, with the number of workloads that fall short."""
    broken = sum(one.state is State.BROKEN for one in each)
    if len(each) < 2 or not broken:
        return whole
    are = "are" if broken > 1 else "is"
    sentence = f"{whole.sentence} {broken:,} of {len(each):,} workloads {are} short for more than that."
    return replace(whole, state=State.OPEN if whole.state is State.SAFE else whole.state, sentence=sentence)


_ITSELF = (
    "No fixed limit could be tested: each was made from the very container that was held out. Record more "
    "containers of each workload."
)
_WAYS_CHOSEN_HERE = (
    "Whether a workload is steered or gets a fixed amount was decided on these very containers, so none of "
    "it is called safe."
)
_CHOSEN_HERE = (
    "Where one way to give memory kills, another one is taken; that was decided on these very containers, so "
    "none of it is called safe."
)


@dataclass(frozen=True, slots=True)
class _VerdictBuilder:
    report: Mapping[str, Any]
    parts: Mapping[Resource, Mapping[str, Any]]
    picks: Mapping[Resource, Pick]
    prices: PriceSettings

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
        )

    def _line(self, resource: Resource, entry: Mapping[str, Any], *, whole: bool) -> Line:
        unit, choice = Unit(self.parts[resource]["unit"]), self.picks[resource]
        split = self.report["split"]
        tested, groups = bool(split["tested"]), len(split["held_out_groups"]) if whole else 0
        steered = fixed = exact = None
        policy = choice.policy or ""
        if policy in entry["policies"]:
            evidence = entry["policies"][policy]
            steered = self._option(
                STEERED, policy, resource, unit, entry, evidence, tested=tested, groups=groups or None
            )
            if evidence["exact"] is not None:
                exact = self._option(EXACT, policy, resource, unit, entry, evidence["exact"], tested=tested)
        if entry["fixed"] is not None:
            evidence = entry["fixed"]
            fixed = self._option(
                FIXED, policy, resource, unit, entry, evidence, tested=tested and evidence["tested"]
            )
        is_exportable = is_settable(policy, self.parts[resource])
        recommended = _recommended(
            resource, choice, steered, fixed, float(self.report["settings"]["tolerance"])
        )
        if recommended is None and fixed is not None and resource is Resource.MEMORY:
            recommended = self._keep(entry, unit, fixed)
        return Line(
            resource,
            unit,
            now=entry["now"]["amount"],
            with_limit=entry["now"]["given"],
            of=entry["now"]["of"],
            steered=steered,
            fixed=fixed,
            recommended=recommended,
            exported=(exact or fixed) if is_exportable else None,
            by_phase=tuple(_phase_amount(each) for each in entry.get("phases", ())),
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
        at_once = running(entry["container_seconds"], self.report["recorded"], self.prices)
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
        )

    def _keep(self, entry: Mapping[str, Any], unit: Unit, fixed: Option) -> Option:
        """The option to keep the current amount, where no alternative kept containers alive."""
        state = State.FEW if len(entry["held_out"]) < MIN_UNITS else State.OPEN
        sentence = fixed.standing.sentence
        leave = f"Leave its memory as it is. A fixed limit: {sentence[:1].lower()}{sentence[1:]}"
        return Option(
            method=KEEP,
            policy="",
            amount=entry["now"]["amount"],
            evidence=entry["now"]["found"],
            saved=saved(0.0, unit, 0.0, self.prices),
            saved_share=0.0,
            interval=None,
            standing=Standing(state, leave, fixed.standing.missing),
            keeps_promise=True,
        )

    def _keeps(self, evidence: Mapping[str, Any], resource: Resource) -> bool:
        """Whether held-out containers were not short far more often than promised, or killed at all."""
        if resource is Resource.MEMORY:
            return not evidence["events"]
        return bool(evidence["under_time_0"] <= _FAR * self.report["settings"]["tolerance"])


def _recommended(
    resource: Resource, choice: Pick, steered: Option | None, fixed: Option | None, tolerance: float
) -> Option | None:
    """The policy, or the fixed amount where that does better; for memory None where both would kill.

    Too little memory kills, so memory is fixed where the policy would kill. For CPU a fixed amount does
    better where it gives no more and is short no more often than the policy, or than is tolerated, or where
    the policy breaks its promise and it does not. A policy that a person chose stays, and its card names the
    risk.
    """
    if choice.by_hand or fixed is None:
        return steered or fixed
    if resource is Resource.MEMORY:
        without_kills = (
            each for each in (steered, fixed) if each is not None and not each.evidence["events"]
        )
        return next(without_kills, None)
    if steered is None or not fixed.keeps_promise or fixed.standing.state is State.UNTESTED:
        return steered or fixed
    allowed = max(float(steered.evidence["under_time_0"]), tolerance)
    better = fixed.amount <= steered.amount and fixed.evidence["under_time_0"] <= allowed
    return fixed if better or not steered.keeps_promise else steered


def _phase_amount(entry: Mapping[str, Any]) -> PhaseAmount:
    return PhaseAmount(
        phase=entry["phase"],
        amount=entry["request"],
        made_from=entry["made_from"],
        tested=entry["tested"],
        time_short=entry["under_time_0"],
        containers_short=entry["containers_short"],
    )


def is_settable(policy: str, part: Mapping[str, Any]) -> bool:
    """Whether what a policy gives can be set; policies that know the future cannot be followed."""
    row = next((row for row in part["policies"] if row["policy"] == policy), None)
    return row is not None and not kind_of(row).knows_future
