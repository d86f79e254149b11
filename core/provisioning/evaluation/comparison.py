"""Judging policies: each is fitted and scaled on training containers and judged on held-out ones.

An `Exam` holds what one policy did, in one fold or, joined, in all of them. A `Comparison` makes figures of
all exams: savings at matched violation with intervals, gaps closed, and the frontier.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from core.bootstrap_intervals import (
    MIN_UNITS,
    Interval,
    by_group,
    group_numbers,
    ratio_interval,
    resampled,
    saving_interval,
)
from core.provisioning.evaluation.metrics import (
    TARGETS,
    Tally,
    factors,
    figures,
    over,
    resizes_per_cycle,
    surplus_and_share,
    tally,
    under_time_0,
    under_time_05,
)
from core.provisioning.evaluation.splitting import Split, folds
from core.provisioning.policies.budget_oracle import allocation_at, steps_of
from core.provisioning.policy import PolicyKind, fit_policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.progress_reporting import Progress
    from core.provisioning.fleet import Demand, Floats
    from core.provisioning.policy import Policy


COMMON = ("kappa", "under_time", "target")
"""Settings that a policy, if it has them, takes from the comparison unless they are chosen for it."""


@dataclass(frozen=True, eq=False)
class Point:
    """One point of a frontier: the factor, each container's surplus with it, and the time short."""

    factor: float
    surplus: Floats
    under_time: float


@dataclass(frozen=True, eq=False)
class Exam:
    """The result of one policy for one resource."""

    #: The policy.
    policy: Policy
    #: A of each held-out sample, as the policy gave it.
    allocation: Floats
    #: Its sums on held-out containers: of all samples, of first cycles, and of the others.
    sums: Tally
    cold: Tally
    warm: Tally
    #: The factor that matches its violation on training containers; 1 for a bound.
    factor: float
    #: Its over-allocation on training containers at that factor.
    training_over: float
    #: Its sums on held-out containers at that factor.
    matched: Tally
    #: The results at each of `TARGETS` on held-out containers, with the factors from training.
    frontier: tuple[Point, ...]
    #: Each held-out container's surplus with the factor that makes their own violation the target.
    exact: Floats
    #: The factor of each fold, where this is the exam of several.
    factors: tuple[float, ...] = ()


def joined(parts: Sequence[tuple[Split, Exam]], demand: Demand) -> Exam:
    """One exam of the exams of all folds, in which every container was held out once."""
    if len(parts) == 1:
        return parts[0][1]
    exams = [exam for _, exam in parts]
    order = np.argsort(np.concatenate([part.held_out for part, _ in parts]), kind="stable")
    sizes = np.array([len(part.held_out) for part, _ in parts], float)
    allocation = np.empty(demand.fleet.n_samples)
    for part, exam in parts:
        allocation[demand.fleet.samples_of(part.held_out)] = exam.allocation

    def together(name: str) -> Tally:
        tallies = [getattr(exam, name) for exam in exams]
        return Tally(
            **{
                each.name: np.concatenate([getattr(one, each.name) for one in tallies])[order]
                for each in fields(Tally)
            }
        )

    def mean(values: Sequence[float], weights: Floats) -> float:
        return float(np.average(values, weights=weights))

    sums = together("sums")
    seconds = np.array([exam.sums.seconds.sum() for exam in exams])
    path = tuple(
        Point(
            mean([point.factor for point in points], sizes),
            np.concatenate([point.surplus for point in points])[order],
            mean([point.under_time for point in points], seconds),
        )
        for points in zip(*(exam.frontier for exam in exams), strict=True)
    )
    return Exam(
        exams[0].policy,
        allocation,
        sums,
        together("cold"),
        together("warm"),
        mean([exam.factor for exam in exams], sizes),
        mean([exam.training_over for exam in exams], sizes),
        together("matched"),
        path,
        np.concatenate([exam.exact for exam in exams])[order],
        tuple(exam.factor for exam in exams),
    )


def settings_of(policy: Policy, values: Mapping[str, object], kappa: float, target: float) -> Any:
    """A policy's settings: what was chosen for it, and κ and the target where it has such settings.

    Raises
    ------
    InputError
        If a setting is unknown or out of bounds.
    """
    names = {each.name for each in fields(policy.settings)}
    common = dict(zip(COMMON, (kappa, target, target), strict=True))
    return policy.chosen({**{k: v for k, v in common.items() if k in names}, **values})


def sit(
    policy: Policy,
    training: Demand,
    held_out: Demand,
    settings: Any,
    target: float,
    seed: int,
    progress: Progress | None = None,
) -> Exam:
    """Examine a policy: fit and scale it on training containers, judge it on the others."""
    allocate = fit_policy(policy, training, settings, progress)
    allocation = allocate(held_out)
    cold = held_out.fleet.cold
    plain = (
        tally(held_out, allocation),
        tally(held_out, allocation, cold),
        tally(held_out, allocation, ~cold),
    )
    if policy.kind is PolicyKind.BOUND:
        matched, path = plain[0], _bound_path(held_out)
        return Exam(policy, allocation, *plain, 1.0, float("nan"), matched, path, matched.surplus)
    learned = calibration(policy, training, settings, seed) if policy.memorises else allocate(training)
    at_target, *all_factors = factors(training, learned, (target, *TARGETS))
    path = tuple(Point(factor, *surplus_and_share(held_out, factor * allocation)) for factor in all_factors)
    exact_factor = factors(held_out, allocation, (target,))[0]
    return Exam(
        policy,
        allocation,
        *plain,
        at_target,
        _over(training, at_target * learned),
        tally(held_out, at_target * allocation),
        path,
        surplus_and_share(held_out, exact_factor * allocation)[0],
    )


def _over(demand: Demand, allocation: Floats) -> float:
    used = float((demand.values * demand.fleet.seconds).sum())
    return float(surplus_and_share(demand, allocation)[0].sum()) / used if used > 0 else float("inf")


def calibration(policy: Policy, training: Demand, settings: Any, seed: int, count: int = 3) -> Floats:
    """Allocations of training containers by fits that never saw them, shape (n,).

    Whole groups are left out in turn; with a single group, the fit on all of them is used.
    """
    everyone = np.arange(training.fleet.n_containers)
    parts = folds(training.fleet, count, seed) or [Split(everyone, everyone)]
    allocation = np.empty(training.fleet.n_samples)
    for part in parts:
        allocate = fit_policy(policy, training.only(part.training), settings)
        allocation[training.fleet.samples_of(part.held_out)] = allocate(training.only(part.held_out))
    return allocation


def _bound_path(held_out: Demand) -> tuple[Point, ...]:
    """The bound at every target: it needs no factor, because it is computed for each."""
    steps = steps_of(held_out)
    return tuple(
        Point(1.0, *surplus_and_share(held_out, allocation_at(held_out, steps, target))) for target in TARGETS
    )


PAPERS_BASE = "prev.step.rules"
"""What AI4DL compares with (Figure 4)."""
BASES = (PAPERS_BASE, "prev.step.max")
PAPERS_POLICY = "phase.rule"
PAPERS_POLICIES = ("current.step.max", "current.step.rules", "prev.step.max", PAPERS_BASE, PAPERS_POLICY)
"""The five that AI4DL draws over time (Figure 4)."""
PAPERS_SAVING = 0.3
"""What AI4DL reports for its own against `PAPERS_BASE` at 5% tolerance, not at matched violation."""


def best_reactive(exams: Sequence[Exam]) -> str | None:
    """The reactive rule with the least over-allocation at matched violation on training containers."""
    rules = [exam for exam in exams if exam.policy.kind is PolicyKind.REACTIVE]
    best = min(rules, key=lambda exam: exam.training_over, default=None)
    return None if best is None else best.policy.name


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of all policies for one resource, on the same held-out containers."""

    #: One per policy.
    exams: tuple[Exam, ...]
    #: The group of each held-out container.
    groups: tuple[str, ...]
    #: The number of bootstrap samples.
    draws: int
    #: Seeds the bootstrap samples.
    seed: int

    @cached_property
    def best(self) -> str | None:
        """The best reactive rule, chosen on training containers."""
        return best_reactive(self.exams)

    @cached_property
    def by_name(self) -> dict[str, Exam]:
        """The exams by policy."""
        return {exam.policy.name: exam for exam in self.exams}

    @cached_property
    def _names(self) -> dict[str, int]:
        return {exam.policy.name: at for at, exam in enumerate(self.exams)}

    @cached_property
    def _sums(self) -> Floats:
        """Each container's matched surplus by policy, its demand, and its surplus where matching is exact.

        Shape (n_containers, 2n + 1) with n policies.
        """
        columns = [exam.matched.surplus for exam in self.exams]
        exact = [exam.exact for exam in self.exams]
        return np.stack([*columns, self.exams[0].matched.demand, *exact], axis=1)

    @property
    def _demand(self) -> int:
        """The column of the demand."""
        return len(self.exams)

    @property
    def certain(self) -> bool:
        """Whether there are enough containers for intervals."""
        return len(self.groups) >= MIN_UNITS

    @cached_property
    def _over_containers(self) -> Floats:
        return self._drawn(self._sums, self.draws)

    def _drawn(self, sums: Floats, draws: int) -> Floats:
        """Bootstrap draws of containers; none, and so no interval, where there are too few of them."""
        return resampled(sums, draws if self.certain else 0, self.seed)

    @cached_property
    def _over_groups(self) -> Floats | None:
        """Draws of whole groups; None where each container is its own group, or there are too few."""
        _, n = group_numbers(self.groups)
        if n < 2 or n == len(self.groups) or not self.certain:
            return None
        return resampled(by_group(self._sums, self.groups), self.draws, self.seed + 1)

    def row(self, exam: Exam) -> dict[str, Any]:
        """Everything about one policy, as JSON takes it."""
        return {
            "policy": exam.policy.name,
            "kind": exam.policy.kind.value,
            "about": exam.policy.about,
            **figures(exam.sums),
            "headline": self._headline(exam),
            "cold": _brief(exam.cold),
            "warm": _brief(exam.warm),
            "matched": self._matched(exam),
            "frontier": self._frontier(exam),
        }

    def saving(self, exam: Exam, base: str) -> dict[str, Any] | None:
        """The relative saving of over-allocation against a policy at matched violation, with intervals."""
        if base not in self.by_name:
            return None
        own, other = self._names[exam.policy.name], self._names[base]
        interval = self._interval(own, other, self._over_containers)
        grouped = self._over_groups
        groups = None if grouped is None else self._interval(own, other, grouped)
        first = self._demand + 1
        exact = [
            self._interval(first + own, first + other, draws)
            for draws in (self._over_containers, grouped)
            if draws is not None
        ]
        lows = [each.low for each in exact if each.low is not None]
        highs = [each.high for each in exact if each.high is not None]
        return {
            "base": base,
            "saving": interval.value,
            "saving_if_exact": exact[0].value,
            "exact_low": min(lows, default=None),
            "exact_high": max(highs, default=None),
            "low": interval.low,
            "high": interval.high,
            "group_low": None if groups is None else groups.low,
            "group_high": None if groups is None else groups.high,
        }

    def _interval(self, mine: int, other: int, draws: Floats) -> Interval:
        total = self._sums.sum(axis=0)
        return saving_interval(float(total[mine]), float(total[other]), draws[:, mine], draws[:, other])

    def _headline(self, exam: Exam) -> dict[str, float | None]:
        """The paper's way of comparing, not at matched violation."""
        base = self.by_name.get(PAPERS_BASE)
        if base is None:
            return {"over_saving": None, "allocation_saving": None}
        own_sums, base_sums = exam.sums, base.sums
        return {
            "over_saving": _saving(own_sums.surplus, base_sums.surplus),
            "allocation_saving": _saving(own_sums.allocated, base_sums.allocated),
        }

    def _matched(self, exam: Exam) -> dict[str, Any]:
        pooled, at = exam.matched.pooled(), self._names[exam.policy.name]
        draws, total = self._over_containers, self._sums.sum(axis=0)
        used = self._demand
        interval = ratio_interval(float(total[at]), float(total[used]), draws[:, at], draws[:, used])
        bases = dict.fromkeys([*BASES, *([self.best] if self.best else [])])
        return {
            "factor": exam.factor,
            "factors": list(exam.factors),
            "over": interval.value,
            "low": interval.low,
            "high": interval.high,
            "under_time_0": float(under_time_0(pooled)[0]),
            "under_time_05": float(under_time_05(pooled)[0]),
            "resizes_per_cycle": float(resizes_per_cycle(pooled)[0]),
            "worst_under_time": figures(exam.matched)["worst_under_time"],
            "share_above_10": figures(exam.matched)["share_above_10"],
            "over_if_exact": float(exam.exact.sum()) / float(total[used]) if total[used] > 0 else None,
            "against": {base: self.saving(exam, base) for base in bases},
            "against_best": None if self.best is None else self.saving(exam, self.best),
            "gap_closed": self.gap_closed(exam),
        }

    def gap_closed(self, exam: Exam) -> float | None:
        """The share of the gap between the best reactive rule and the bound that a policy closes."""
        bound = next((each for each in self.exams if each.policy.kind is PolicyKind.BOUND), None)
        if self.best is None or bound is None:
            return None
        total = self._sums.sum(axis=0)
        base, mine, lowest = (
            float(total[self._names[name]]) for name in (self.best, exam.policy.name, bound.policy.name)
        )
        return (base - mine) / (base - lowest) if base > lowest else None

    def _frontier(self, exam: Exam) -> list[dict[str, Any]]:
        sums = np.stack([*(point.surplus for point in exam.frontier), exam.sums.demand], axis=1)
        draws = self._drawn(sums, min(self.draws, 500))
        total = sums.sum(axis=0)
        points = []
        for at, (target, point) in enumerate(zip(TARGETS, exam.frontier, strict=True)):
            interval = ratio_interval(float(total[at]), float(total[-1]), draws[:, at], draws[:, -1])
            points.append(
                {"target": target, "factor": point.factor, "under_time_0": point.under_time,
                 "over": interval.value, "low": interval.low, "high": interval.high}
            )  # fmt: skip
        return points

    def worst(self, exam: Exam, ids: Sequence[str], limit: int = 50) -> list[dict[str, Any]]:
        """The containers that fall short most, the worst first."""
        short, mean_over = under_time_0(exam.sums), over(exam.sums)
        order = np.lexsort((-mean_over, -short))[:limit]
        return [
            {"execution": ids[i], "group": self.groups[i], "under_time_0": float(short[i]),
             "over": float(mean_over[i]), "oom_events": float(exam.sums.events[i])}
            for i in order.tolist()
        ]  # fmt: skip


def _saving(own_surplus: Floats, base: Floats) -> float | None:
    total = float(base.sum())
    return 1.0 - float(own_surplus.sum()) / total if total > 0 else None


def _brief(sums: Tally) -> dict[str, float]:
    names = ("over", "under_time_0", "under_time_05", "oom_events")
    values: Mapping[str, float] = figures(sums)
    return {name: values[name] for name in names}
