"""Evidence of a comparison for each workload: the sums behind a verdict and its manifests.

Everything is measured on held-out containers at matched violation, so the verdict can be read from the
report alone: how much each workload has now, how much every policy and a fixed amount would give it, how
often that is too little, and which containers would run out of memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from core.bootstrap_intervals import MIN_UNITS, bounds, resampled
from core.provisioning.evaluation.metrics import Tally, tally
from core.provisioning.fleet import ROLES, Resource, is_limit
from core.provisioning.policies.static import observed_peak
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

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
# little memory kills. It is judged as policies are, on containers that it was not made from. The same rule on
# the samples in one phase gives the amount of that phase.


def smallest_amounts(demand: Demand, tolerance: float, headroom: float) -> Floats:
    """The smallest fixed amount that is enough for each container, shape (n_containers,)."""
    fleet = demand.fleet
    return _smallest_enough(demand, np.arange(fleet.n_samples), fleet.offsets, tolerance, headroom)


def _smallest_enough(
    demand: Demand, samples: Integers, offsets: Integers, tolerance: float, headroom: float
) -> Floats:
    """The smallest amount that is enough for each stretch of the chosen samples, shape (n_stretches,)."""
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
    #: The amounts, shape (n_entries,).
    amount: Floats


def smallest_by_phase(demand: Demand, tolerance: float, headroom: float) -> PhaseNeeds | None:
    """`smallest_amounts` of each container in each phase that it was in; None without a phase model."""
    fleet = demand.fleet
    if fleet.labels is None:
        return None
    order = np.lexsort((fleet.labels, fleet.container))
    container, phase = fleet.container[order], fleet.labels[order].astype(np.int64)
    changed = (container[1:] != container[:-1]) | (phase[1:] != phase[:-1])
    begins = np.append(0, np.flatnonzero(changed) + 1)
    amounts = _smallest_enough(demand, order, np.append(begins, fleet.n_samples), tolerance, headroom)
    return PhaseNeeds(container[begins], phase[begins], amounts)


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
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Side:
    """Training or held-out containers, with what they have now."""

    #: Their use of one resource.
    demand: Demand
    #: What they have at each sample, shape (n,).
    now: Floats
    #: Which of them have a limit in the traces, shape (n_containers,).
    has_limit: Truths
    #: The workload of each, shape (n_containers,).
    workload: Integers
    #: The share of its time that a container may be short of CPU.
    tolerance: float
    #: What a fixed amount of memory has above the highest use.
    headroom: float

    @cached_property
    def enough(self) -> Floats:
        """The fixed amount that would be enough for each container, shape (n_containers,)."""
        return smallest_amounts(self.demand, self.tolerance, self.headroom)

    @cached_property
    def enough_by_phase(self) -> PhaseNeeds | None:
        """The sufficient fixed amount by container and phase; None without a phase model."""
        return smallest_by_phase(self.demand, self.tolerance, self.headroom)

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


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """One policy's sums, and its first allocation of each container."""

    name: str
    sums: Tally
    first: Floats
    constant: bool


def workload_evidence(
    compared: Comparison,
    training: Side,
    held_out: Side,
    workloads: Workloads,
) -> dict[str, Any]:
    """The evidence for all containers together and for each workload, as a JSON object."""
    fleet = held_out.demand.fleet
    evaluated = [
        _Evaluated(
            exam.policy.name,
            exam.matched,
            exam.factor * exam.allocation[fleet.offsets[:-1]],
            exam.policy.constant,
        )
        for exam in compared.exams
    ]
    make = _EvidenceBuilder(evaluated, training, held_out, compared.draws, compared.seed)
    return {
        "everything": make.entry(None, "", fixed=workloads.by is None),
        "each": [
            make.entry(number, name, fixed=True)
            for number, name in enumerate(workloads.names)
            if workloads.by is not None
        ],
    }


@dataclass(frozen=True, eq=False)
class _EvidenceBuilder:
    evaluated: list[_Evaluated]
    training: Side
    held_out: Side
    draws: int
    seed: int

    def entry(self, workload: int | None, name: str, *, fixed: bool) -> dict[str, Any]:
        """The evidence for one workload."""
        held_out, learned = self.held_out.of(workload), self.training.of(workload)
        is_single = self.held_out is self.training
        side, selected = (self.held_out, held_out) if len(held_out) else (self.training, learned)
        learned_seconds = 0.0 if is_single else self.training.seconds[learned].sum()
        seconds = self.held_out.seconds[held_out].sum() + learned_seconds
        lasting = float(side.seconds[selected].sum())
        return {
            "name": name,
            "training": 0 if is_single else len(learned),
            "held_out": [self.held_out.demand.fleet.ids[i] for i in held_out.tolist()],
            "container_seconds": float(seconds),
            "judged_seconds": lasting,
            "now": {
                "amount": float(side.has[selected].sum()) / lasting if lasting > 0 else 0.0,
                "given": int(side.has_limit[selected].sum()),
                "of": len(selected),
                "found": _figures(
                    side.tally_now.only(selected), [side.demand.fleet.ids[i] for i in selected.tolist()]
                ),
            },
            "policies": self._policies(held_out, exact=fixed),
            "fixed": self._fixed(held_out, learned) if fixed else None,
            "phases": self._by_phase(held_out, learned) if fixed else [],
        }

    def _policies(self, held_out: Integers, *, exact: bool) -> dict[str, Any]:
        if not len(held_out):
            return {}
        sums = [each.sums.only(held_out) for each in self.evaluated]
        intervals = self._intervals(sums, held_out)
        return {
            each.name: {
                **self._figures(mine, held_out, interval),
                "exact": self._exactly(_constant(mine, each.first[held_out]), held_out)
                if exact and each.constant
                else None,
            }
            for each, mine, interval in zip(self.evaluated, sums, intervals, strict=True)
        }

    def _exactly(self, constant: float | None, held_out: Integers) -> dict[str, Any] | None:
        """The figures of a constant policy, with its amount rounded to a step that can be set."""
        if constant is None:
            return None
        amount = rounded_up(constant, self.held_out.demand.unit)
        return self._judged(amount, self.held_out, held_out, tested=self.held_out is not self.training)

    def _judged(self, amount: float, side: Side, on: Integers, *, tested: bool) -> dict[str, Any]:
        """The figures of one amount for some containers; with intervals where that is a test."""
        demand = side.demand.only(on)
        sums = tally(demand, np.full(demand.fleet.n_samples, amount))
        intervals = self._intervals([sums], on)[0] if tested else {}
        return {"request": amount, "tested": tested, **_figures(sums, demand.fleet.ids), **intervals}

    def _fixed(self, held_out: Integers, learned: Integers) -> dict[str, Any]:
        """The fixed amount from training containers, or from the held-out ones where there are no others."""
        side, made_from, judged, on = self._sides(held_out, learned)
        amount = rounded_up(float(side.enough[made_from].max()), side.demand.unit)
        ids = side.demand.fleet.ids
        return {
            **self._judged(amount, judged, on, tested=judged is not side),
            "made_from": [ids[i] for i in made_from.tolist()],
        }

    def _sides(self, held_out: Integers, learned: Integers) -> tuple[Side, Integers, Side, Integers]:
        """The containers to make a fixed amount from, and those to judge it on: others where possible."""
        side, made_from = (self.training, learned) if len(learned) else (self.held_out, held_out)
        tested = len(held_out) and len(learned) and self.held_out is not self.training
        return (side, made_from, self.held_out, held_out) if tested else (side, made_from, side, made_from)

    def _by_phase(self, held_out: Integers, learned: Integers) -> list[dict[str, Any]]:
        """The fixed amount of each phase, by the same rule, judged on the samples in that phase alone."""
        side, made_from, judged, on = self._sides(held_out, learned)
        needs = side.enough_by_phase
        if needs is None:
            return []
        is_source = np.isin(needs.container, made_from)
        demand = judged.demand.only(on)
        labels, seconds = demand.fleet.labels, demand.fleet.seconds
        amounts = []
        for phase in sorted(set(needs.phase[is_source].tolist()), key=lambda number: (number < 0, number)):
            learned_from = needs.amount[is_source & (needs.phase == phase)]
            amount = rounded_up(float(learned_from.max()), demand.unit)
            inside = np.flatnonzero(labels == phase)
            lasting = float(seconds[inside].sum())
            short = inside[demand.values[inside] > amount]
            amounts.append(
                {
                    "phase": phase,
                    "request": amount,
                    "made_from": len(learned_from),
                    "tested": judged is not side and lasting > 0,
                    "judged_seconds": lasting,
                    "under_time_0": float(seconds[short].sum()) / lasting if lasting > 0 else None,
                    "containers_short": len(np.unique(demand.fleet.container[short])),
                }
            )
        return amounts

    def _figures(self, sums: Tally, held_out: Integers, interval: dict[str, Any]) -> dict[str, Any]:
        ids = self.held_out.demand.fleet.ids
        return {**_figures(sums, [ids[i] for i in held_out.tolist()]), **interval}

    def _intervals(self, sums: list[Tally], held_out: Integers) -> list[dict[str, Any]]:
        """Bootstrap intervals of the saving against now and of the time short; none for few containers."""
        if len(held_out) < MIN_UNITS:
            return [{} for _ in sums]
        now, seconds = self.held_out.has[held_out], self.held_out.seconds[held_out]
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


def _constant(sums: Tally, first: Floats) -> float | None:
    """The one amount that all containers get all the time, or None where there is none."""
    high = float(first.max())
    is_constant = not sums.resizes.any() and high - float(first.min()) <= _SAME * max(high, 1.0)
    return high if is_constant and high > 0 else None


def _per_container(demand: Demand, values: Floats) -> Floats:
    return np.add.reduceat(values, demand.fleet.offsets[:-1])
