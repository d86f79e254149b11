"""Evidence of a comparison for each workload: the sums behind a verdict and its manifests.

Everything is measured at matched violation on containers that are each held out once, so the verdict can be
read from the report alone: how much each workload has now, how much every policy and a fixed amount would
give it, how often that is too little, and which containers would run out of memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from core.bootstrap_intervals import MIN_UNITS, bounds, resampled
from core.provisioning.evaluation.metrics import Tally, tally
from core.provisioning.fleet import ROLES, Resource
from core.provisioning.policies.static import observed_peak
from core.traces.censoring import MAX_CENSORED, amounts_exceeded_for, is_limit
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.provisioning.evaluation.comparison import Comparison
    from core.provisioning.fleet import Demand, Floats, Integers, Truths
    from core.provisioning.verdict.savings import Workloads
    from core.traces.model import Feature


_ROUNDING = 1e-12


# Fixed amounts: what one request that never changes has to be, learned from training containers.
#
# Most policies change what they give, which no manifest can say. What is exported for them is a fixed
# amount that keeps the same promise for each of the training containers: for CPU the least that none of them
# exceeds for more than the tolerated share of its time, for memory the highest use plus headroom, because too
# little memory kills. It is made from all containers, and judged as policies are: in each fold, what is made
# of the others is applied to those held out. The same rule on the samples in one phase gives its amount.
#
# Use at its limit is not need: of such a sample only is known that the demand was at least that (it is right
# censored). The time above an amount is then what Kaplan and Meier estimate (1958, J. Am. Stat. Assoc. 53),
# and where more than `MAX_CENSORED` of the samples that decide are censored, the amount is "at least".


@dataclass(frozen=True, eq=False)
class Needs:
    """The smallest fixed amount that is enough, for some containers or stretches of them."""

    #: The amounts, shape (n,).
    amount: Floats
    #: Whether a limit bounded what decides it, so that at least that is needed, shape (n,).
    at_least: Truths

    def __getitem__(self, chosen: Integers | Truths) -> Needs:
        return Needs(self.amount[chosen], self.at_least[chosen])

    @property
    def is_at_least(self) -> bool:
        """Whether the largest amount is one that is at least needed, or too many others are."""
        decides = bool(self.at_least[int(np.argmax(self.amount))])
        return decides or float(self.at_least.mean()) > MAX_CENSORED


def smallest_amounts(demand: Demand, tolerance: float, headroom: float) -> Needs:
    """The smallest fixed amount that is enough for each container."""
    fleet = demand.fleet
    return _smallest_enough(demand, np.arange(fleet.n_samples), fleet.offsets, tolerance, headroom)


def _smallest_enough(
    demand: Demand, samples: Integers, offsets: Integers, tolerance: float, headroom: float
) -> Needs:
    """The smallest amount that is enough for each stretch of the chosen samples, shape (n_stretches,)."""
    amounts = _uncensored_amounts(demand, samples, offsets, tolerance, headroom)
    at_least = np.zeros(len(amounts), bool)
    if demand.censoring is None:
        return Needs(amounts, at_least)
    bounds = demand.censoring.at_least[samples]
    is_bounded = np.isfinite(bounds)
    for number in np.flatnonzero(np.logical_or.reduceat(is_bounded, offsets[:-1])).tolist():
        part = slice(offsets[number], offsets[number + 1])
        values, seconds, mine = (
            demand.values[samples[part]],
            demand.fleet.seconds[samples[part]],
            is_bounded[part],
        )
        if demand.resource is Resource.CPU:
            amounts[number] = amounts_exceeded_for(values, seconds, mine, [tolerance])[0]
        decides = values >= min(amounts[number], values.max())
        at_least[number] = seconds[decides & mine].sum() > MAX_CENSORED * seconds[decides].sum()
        if not np.isfinite(amounts[number]):
            amounts[number] = values.max()
        if at_least[number]:
            amounts[number] = max(amounts[number], bounds[part][mine].max())
    return Needs(amounts, at_least)


def _uncensored_amounts(
    demand: Demand, samples: Integers, offsets: Integers, tolerance: float, headroom: float
) -> Floats:
    """The amounts of all stretches if each sample's use were its demand, shape (n_stretches,)."""
    values, seconds = demand.values[samples], demand.fleet.seconds[samples]
    if demand.resource is Resource.MEMORY:
        return np.maximum.reduceat(values, offsets[:-1]) * (1.0 + headroom)
    lengths = np.diff(offsets)
    order = np.lexsort((-values, np.repeat(np.arange(len(lengths)), lengths)))
    lasting = np.cumsum(seconds[order])
    before = np.append(0.0, lasting)[offsets]
    limit = before[:-1] + tolerance * np.diff(before) * (1.0 + _ROUNDING)
    # the first sample, from the highest down, at which more than the tolerated time lies at or above it
    beyond = np.flatnonzero(lasting > np.repeat(limit, lengths))
    return values[order][beyond[np.searchsorted(beyond, offsets[:-1])]]


@dataclass(frozen=True, eq=False)
class PhaseNeeds:
    """The smallest amount that is enough for a container while it is in a phase."""

    #: Which container and which phase (−1 is warm-up) each entry is of, shape (n_entries,).
    container: Integers
    phase: Integers
    #: What is needed in each, n_entries of them.
    needs: Needs

    def of(self, containers: Integers) -> Integers:
        """The entries of some containers."""
        begins, ends = (np.searchsorted(self.container, containers, side) for side in ("left", "right"))
        return np.concatenate([np.arange(a, b) for a, b in zip(begins, ends, strict=True)]).astype(np.int64)


def smallest_by_phase(demand: Demand, tolerance: float, headroom: float) -> PhaseNeeds | None:
    """`smallest_amounts` of each container in each phase that it was in; None without a phase model."""
    fleet = demand.fleet
    if fleet.labels is None:
        return None
    order = np.lexsort((fleet.labels, fleet.container))
    container, phase = fleet.container[order], fleet.labels[order].astype(np.int64)
    changed = (container[1:] != container[:-1]) | (phase[1:] != phase[:-1])
    begins = np.append(0, np.flatnonzero(changed) + 1)
    needs = _smallest_enough(demand, order, np.append(begins, fleet.n_samples), tolerance, headroom)
    return PhaseNeeds(container[begins], phase[begins], needs)


_STEPS = {Unit.CORES: 0.01, Unit.BYTES: 2.0**20, Unit.SHARE: 0.001}


def rounded_up(value: float, unit: Unit) -> float:
    """Rounded up to a step that can be set: 10 millicores, 1 MiB, 0.1% of a machine."""
    step = _STEPS.get(unit)
    return value if step is None else max(float(np.ceil(value / step - 1e-9)), 1.0) * step


# What containers have now: their recorded request, else their limit, else their own peak.
#
# A request is what a cluster reserves. Without both a container takes what it needs, so its own peak stands
# for what is reserved today: the least fixed amount with which it would never have fallen short.


def present_amount(demand: Demand, features: Sequence[Feature]) -> tuple[Floats, Truths]:
    """The current amount of each container at each sample, and for which containers it is recorded.

    Returns
    -------
    amount, is_recorded
        Shapes (n,) and (n_containers,). A request or limit counts if it is set throughout a container's life
        (`core.provisioning.fleet.is_limit`).
    """
    fleet, (_, *roles) = demand.fleet, ROLES[demand.resource]
    amount, is_recorded = observed_peak(demand), np.zeros(fleet.n_containers, bool)
    for role in reversed(roles):
        feature = next((f for f in features if f.role is role and f.unit is demand.unit), None)
        if feature is not None and feature.name in fleet.columns:
            values = fleet.columns[feature.name]
            is_set = np.logical_and.reduceat(is_limit(values, feature.unit), fleet.offsets[:-1])
            amount = np.where(np.repeat(is_set, fleet.lengths), values, amount)
            is_recorded |= is_set
    return amount, is_recorded


_NAMED = 20
_DRAWS = 500


@dataclass(frozen=True, eq=False)
class Side:
    """All containers of a comparison, with what they have now."""

    #: Their use of one resource.
    demand: Demand
    #: What they have at each sample, shape (n,).
    now: Floats
    #: Which of them have a request or limit in the traces, shape (n_containers,).
    has_limit: Truths
    #: The workload of each, shape (n_containers,).
    workload: Integers
    #: The fold that holds each out, shape (n_containers,); None where nothing is tested.
    fold: Integers | None
    #: The share of its time that a container may be short of CPU.
    tolerance: float
    #: What a fixed amount of memory has above the highest use.
    headroom: float

    @cached_property
    def enough(self) -> Needs:
        """The fixed amount that would be enough for each container, n_containers of them."""
        return smallest_amounts(self.demand, self.tolerance, self.headroom)

    @cached_property
    def enough_by_phase(self) -> PhaseNeeds | None:
        """The sufficient fixed amount by container and phase; None without a phase model."""
        return smallest_by_phase(self.demand, self.tolerance, self.headroom)

    @cached_property
    def kills(self) -> Truths:
        """Which containers were killed for lack of this resource, shape (n_containers,)."""
        fleet = self.demand.fleet
        if self.demand.resource is Resource.CPU or fleet.killed is None:
            return np.zeros(fleet.n_containers, bool)
        return fleet.killed

    @cached_property
    def bounded_seconds(self) -> tuple[Floats, Floats]:
        """How long its limit, and its host's pressure, bounded each container's use, both (n_containers,)."""
        censoring, seconds = self.demand.censoring, self.demand.fleet.seconds
        if censoring is None:
            return (nothing := np.zeros(self.demand.fleet.n_containers)), nothing
        by_limit = np.isfinite(censoring.at_least) & ~censoring.pressed
        by_limit_seconds, pressed = (
            _per_container(self.demand, seconds * marks) for marks in (by_limit, censoring.pressed)
        )
        return by_limit_seconds, pressed

    @cached_property
    def seconds(self) -> Floats:
        """The duration of each container's recording, shape (n_containers,)."""
        return _per_container(self.demand, self.demand.fleet.seconds)

    @cached_property
    def has(self) -> Floats:
        """The current amount of each container times its seconds, shape (n_containers,)."""
        return _per_container(self.demand, self.now * self.demand.fleet.seconds)

    @cached_property
    def tally_now(self) -> Tally:
        """The sums of what containers have now."""
        return tally(self.demand, self.now)

    def of(self, workload: int | None) -> Integers:
        """The containers of one workload, or all of them."""
        return np.flatnonzero(np.ones_like(self.workload) if workload is None else self.workload == workload)

    def names(self, containers: Integers) -> list[str]:
        """The names of some containers."""
        return [self.demand.fleet.ids[i] for i in containers.tolist()]

    def from_others(self, enough: Floats, containers: Integers) -> Floats:
        """For each container, the amount from those of the other folds, shape (n,); NaN where there are none.

        Parameters
        ----------
        enough
            The sufficient amount of each of them, shape (n,).
        containers
            Their numbers.
        """
        amounts = np.full(len(containers), np.nan)
        if self.fold is None:
            return amounts
        folds = self.fold[containers]
        for fold in np.unique(folds):
            others = enough[folds != fold]
            if len(others):
                amounts[folds == fold] = rounded_up(float(others.max()), self.demand.unit)
        return amounts


def workload_evidence(compared: Comparison, side: Side, workloads: Workloads) -> dict[str, Any]:
    """The evidence for all containers together and for each workload, as a JSON object."""
    evaluated = {exam.policy.name: exam.matched for exam in compared.exams}
    make = _EvidenceBuilder(evaluated, side, compared.draws, compared.seed)
    return {
        "everything": make.entry(None, "", fixed=workloads.by is None),
        "each": [
            {**make.entry(number, name, fixed=True), "place": place}
            for number, (name, place) in enumerate(zip(workloads.names, workloads.places, strict=True))
            if workloads.by is not None
        ],
    }


@dataclass(frozen=True, eq=False)
class _EvidenceBuilder:
    #: The sums of each policy at matched violation, by its name.
    evaluated: Mapping[str, Tally]
    side: Side
    draws: int
    seed: int

    def entry(self, workload: int | None, name: str, *, fixed: bool) -> dict[str, Any]:
        """The evidence for one workload."""
        side, selected = self.side, self.side.of(workload)
        lasting, ids = float(side.seconds[selected].sum()), side.names(selected)
        return {
            "name": name,
            "training": 0,
            "held_out": ids,
            "container_seconds": lasting,
            "judged_seconds": lasting,
            "now": {
                "amount": float(side.has[selected].sum()) / lasting if lasting > 0 else 0.0,
                "given": int(side.has_limit[selected].sum()),
                "of": len(selected),
                "found": _figures(side.tally_now.only(selected), ids),
            },
            "policies": self._policies(selected),
            "fixed": self._fixed(selected) if fixed else None,
            "phases": self._by_phase(selected) if fixed else [],
        }

    def _policies(self, selected: Integers) -> dict[str, Any]:
        sums = [each.only(selected) for each in self.evaluated.values()]
        intervals = self._intervals(sums, selected)
        ids = self.side.names(selected)
        return {
            name: {**_figures(mine, ids), **interval}
            for name, mine, interval in zip(self.evaluated, sums, intervals, strict=True)
        }

    def _fixed(self, selected: Integers) -> dict[str, Any]:
        """The fixed amount from all containers, judged as made in each fold from those of the others."""
        side = self.side
        enough = side.enough[selected]
        request = rounded_up(float(enough.amount.max()), side.demand.unit)
        amounts = side.from_others(enough.amount, selected)
        tested = bool(np.isfinite(amounts).all())
        demand, ids = side.demand.only(selected), side.names(selected)
        given = amounts if tested else np.full(len(selected), request)
        sums = tally(demand, np.repeat(given, demand.fleet.lengths))
        alone = tally(demand, np.full(demand.fleet.n_samples, request))
        return {
            **_figures(sums, ids),
            **(self._intervals([sums], selected)[0] if tested else {}),
            "amount": request,
            "request": request,
            "tested": tested,
            "at_least": enough.is_at_least,
            **{
                name: float(bounded[selected].sum() / max(side.seconds[selected].sum(), _ROUNDING))
                for name, bounded in zip(("bounded", "pressed"), side.bounded_seconds, strict=True)
            },
            "kills": int(side.kills[selected].sum()),
            "made_from": ids,
            "folds": self._fold_amounts(amounts, selected) if tested else [],
            "on_all": {name: _figures(alone, ids)[name] for name in ("under_time_0", "events")},
        }

    def _fold_amounts(self, amounts: Floats, selected: Integers) -> list[dict[str, Any]]:
        """The amount that each fold was judged with, and the containers it was judged on."""
        if self.side.fold is None:
            return []
        folds = self.side.fold[selected]
        return [
            {
                "request": float(amounts[folds == fold][0]),
                "held_out": self.side.names(selected[folds == fold]),
            }
            for fold in np.unique(folds)
        ]

    def _by_phase(self, selected: Integers) -> list[dict[str, Any]]:
        """The fixed amount of each phase, by the same rule, judged on the samples in that phase alone."""
        side, needs = self.side, self.side.enough_by_phase
        if needs is None:
            return []
        entries = needs.of(selected)
        fleet = side.demand.fleet
        samples = fleet.samples_of(selected)
        labels = np.zeros(len(samples), np.int16) if fleet.labels is None else fleet.labels[samples]
        amounts = []
        for phase in sorted(set(needs.phase[entries].tolist()), key=lambda number: (number < 0, number)):
            chosen = entries[needs.phase[entries] == phase]
            containers, enough = needs.container[chosen], needs.needs[chosen]
            request = rounded_up(float(enough.amount.max()), side.demand.unit)
            others = side.from_others(enough.amount, containers)
            tested = bool(np.isfinite(others).any())
            given = np.full(fleet.n_containers, np.nan)
            given[containers] = others if tested else request
            inside = samples[labels == phase]
            inside = inside[np.isfinite(given[fleet.container[inside]])]
            lasting = float(fleet.seconds[inside].sum())
            short = inside[side.demand.values[inside] > given[fleet.container[inside]]]
            amounts.append(
                {
                    "phase": phase,
                    "request": request,
                    "made_from": len(containers),
                    "at_least": enough.is_at_least,
                    "tested": tested and lasting > 0,
                    "judged_seconds": lasting,
                    "under_time_0": float(fleet.seconds[short].sum()) / lasting if lasting > 0 else None,
                    "containers_short": len(np.unique(fleet.container[short])),
                }
            )
        return amounts

    def _intervals(self, sums: list[Tally], selected: Integers) -> list[dict[str, Any]]:
        """Bootstrap intervals of the saving against now and of the time short; none for few containers."""
        if len(selected) < MIN_UNITS:
            return [{} for _ in sums]
        now, seconds = self.side.has[selected], self.side.seconds[selected]
        columns = [each for one in sums for each in (one.allocated, one.violated)]
        resamples = resampled(np.stack([*columns, now, seconds], axis=1), min(self.draws, _DRAWS), self.seed)
        intervals = []
        for place in range(len(sums)):
            with np.errstate(divide="ignore", invalid="ignore"):
                saved = bounds(1.0 - resamples[:, 2 * place] / resamples[:, -2])
                short = bounds(resamples[:, 2 * place + 1] / resamples[:, -1])
            intervals.append(
                {"saved_low": saved[0], "saved_high": saved[1], "short_low": short[0], "short_high": short[1]}
            )
        return intervals


def _figures(sums: Tally, ids: tuple[str, ...] | list[str]) -> dict[str, Any]:
    """Mean amount, time short, resizes, and which containers would run out of it (memory: be killed)."""
    seconds = float(sums.seconds.sum())
    short = np.flatnonzero(sums.events > 0)
    worst = short[np.argsort(-sums.events[short], kind="stable")]

    def per_second(each: Floats) -> float:
        return float(each.sum()) / seconds if seconds > 0 else 0.0

    return {
        "amount": per_second(sums.allocated),
        "under_time_0": per_second(sums.violated),
        "under_time_05": per_second(sums.violated_05),
        "resizes_per_hour": 3600.0 * per_second(sums.resizes),
        "events": int(sums.events.sum()),
        "containers_short": len(short),
        "short": [ids[i] for i in worst[:_NAMED].tolist()],
    }


def _per_container(demand: Demand, values: Floats) -> Floats:
    return np.add.reduceat(values, demand.fleet.offsets[:-1])
