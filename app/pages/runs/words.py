"""An experiment in words: what it runs on what, how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.experiments.spec import ENGINES
from core.scheduling.policies import spelt
from core.units import format_change, format_duration, format_number

if TYPE_CHECKING:
    from core.experiments.spec import Experiment

_FEW = 2
NOTHING = 0.0005
"""A relative change that is written as 0.0%."""


def machines(experiment: Experiment) -> str:
    """The workers in short: ``4 × 8 cores``."""
    groups = [f"{group.count:,} × {format_number(group.cores, 0 if group.cores == round(group.cores) else 2)}"
              for group in experiment.workers]  # fmt: skip
    return f"{' + '.join(groups)} core{'s' if groups != ['1 × 1'] else ''}"


def arrivals(experiment: Experiment) -> str:
    """How jobs come."""
    given = experiment.arrivals
    gap = format_duration(given.spacing)
    words = {
        "spacing": f"one every {gap}",
        "normal": f"one about every {gap} (σ {format_duration(given.spread)})",
        "uniform": f"arrivals uniform in {format_duration(given.within)}",
        "poisson": f"Poisson arrivals, {gap} apart",
        "load": f"arrivals at load {given.load:g}",
    }
    if given.by == "together" and all(job.at is None for job in experiment.jobs):
        return "all at once"
    return words.get(given.by, "listed arrivals")


def seeds(experiment: Experiment) -> str:
    """How many seeds."""
    n = len(experiment.seeds)
    return f"{n:,} seeds" if n != 1 else f"seed {experiment.seeds[0]}"


def about(experiment: Experiment) -> str:
    """An experiment in one line."""
    where = f"Real, on {ENGINES[experiment.engine].title}" if experiment.real else "Simulated"
    words = [where, machines(experiment)]
    words.append(f"{experiment.n_jobs:,} job{'s' if experiment.n_jobs != 1 else ''}")
    if experiment.world.gamma:
        words.append(f"contention γ {experiment.world.gamma:g}")
    words += [arrivals(experiment), seeds(experiment)]
    return ", ".join(words)


def titled(label: str, policy: str) -> str:
    """A policy's label for people, where it has none of its own: ``fewest`` is ``Fewest jobs``.

    ``NA`` is what the theses call running without a policy; files keep it.
    """
    own, apart, rest = label.partition(" · ")
    if own == policy:
        own = spelt(policy)
    elif policy == "free" and own.partition(" ")[0] == "NA":
        own = ", ".join(filter(None, (spelt(policy), own[3:])))
    return f"{own}{apart}{rest}"


def change(value: float) -> str:
    """A relative change; one that would be written as ``−0.0%`` is ``0.0%``."""
    return format_change(value if abs(value) >= NOTHING else 0.0)


def policies(experiment: Experiment) -> str:
    """Its policies by their labels, the first few."""
    labels = [titled(arm.label, arm.policy) for arm in experiment.policies]
    more = f" and {len(labels) - _FEW} more" if len(labels) > _FEW + 1 else ""
    return ", ".join(labels[: _FEW + 1] if not more else labels[:_FEW]) + more
