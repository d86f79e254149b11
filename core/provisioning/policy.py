"""The port of every policy: fitted on training containers, it allocates for others.

A policy is one file with one `Policy` value and one line in the register. Its `fit` sees training
containers only; what it returns maps a fleet's demand to one allocation per sample, where the
allocation of a sample depends only on earlier samples of the same container and on the training
containers. NaN means "I cannot know yet": such samples get the cold-start value, which is the
training set's 95th percentile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InputError
from core.provisioning.advice import Completed, fold
from core.provisioning.cycles import CycleAdviser, fold_cycles
from core.settings_fields import NoSettings, build

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.progress_reporting import Progress
    from core.provisioning.advice import Adviser
    from core.provisioning.cycles import CyclePolicy
    from core.provisioning.fleet import Demand, Floats

COLD_START_QUANTILE = 0.95


class PolicyKind(StrEnum):
    """The role of a policy in a comparison, in display order."""

    OURS = "ours"
    REACTIVE = "reactive"
    PUBLISHED = "published"
    CONTROL = "control"
    AUTOSCALER = "autoscaler"
    ADAPTIVE = "adaptive"
    LEARNED = "learned"
    STATIC = "static"
    BOUND = "bound"
    ORACLE = "oracle"

    @property
    def label(self) -> str:
        """The kind's name for people."""
        return _LABELS[self]

    @property
    def knows_future(self) -> bool:
        """Whether such policies look into the future, so that no real policy can save as much."""
        return self in {PolicyKind.BOUND, PolicyKind.ORACLE}

    @property
    def learns(self) -> bool:
        """Whether such policies are made of what training containers did, and say nothing about those."""
        return self in {
            PolicyKind.OURS,
            PolicyKind.PUBLISHED,
            PolicyKind.CONTROL,
            PolicyKind.ADAPTIVE,
            PolicyKind.LEARNED,
        }

    @property
    def family(self) -> str:
        """The heading under which forms list the kind."""
        return next(name for name, kinds in FAMILIES.items() if self in kinds)

    @property
    def plain(self) -> bool:
        """Whether such policies are simple rules that others are compared with."""
        return self in {PolicyKind.REACTIVE, PolicyKind.CONTROL, PolicyKind.STATIC}


_LABELS = {
    PolicyKind.OURS: "Ours",
    PolicyKind.REACTIVE: "Reactive",
    PolicyKind.PUBLISHED: "Published, with phases",
    PolicyKind.CONTROL: "Control, without phases",
    PolicyKind.AUTOSCALER: "Autoscaler, without phases",
    PolicyKind.ADAPTIVE: "Adapted online",
    PolicyKind.LEARNED: "Learned",
    PolicyKind.STATIC: "Static",
    PolicyKind.BOUND: "Lower bound",
    PolicyKind.ORACLE: "Oracles",
}


FAMILIES = {
    "Phase-based": (PolicyKind.OURS, PolicyKind.PUBLISHED, PolicyKind.CONTROL),
    "Reactive": (PolicyKind.REACTIVE, PolicyKind.AUTOSCALER),
    "Learned or adapted": (PolicyKind.LEARNED, PolicyKind.ADAPTIVE),
    "Static": (PolicyKind.STATIC,),
    "Oracles and bounds": (PolicyKind.BOUND, PolicyKind.ORACLE),
}
"""The kinds under the headings of a form; every kind is under one of them."""


class Need(StrEnum):
    """An input that a policy requires."""

    LABELS = "labels"
    CODES = "codes"
    LIMITS = "given"


WHY_NOT = {
    Need.LABELS: "It needs the phases of a model.",
    Need.CODES: "It needs the codes of a phase model.",
    Need.LIMITS: "The traces contain no limits.",
}

Allocate = Callable[["Demand"], "Floats"]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted policy."""

    #: From a fleet's demand to one allocation per sample, shape (n,).
    allocate: Allocate
    #: The same for one container as its samples come, so that running containers can be steered by it; None
    #: where that cannot be, because it looks into the future.
    adviser: Adviser | None = None

    def __call__(self, demand: Demand) -> Floats:
        """The allocation of each sample of a fleet."""
        return self.allocate(demand)


def by_cycles(policy: CyclePolicy) -> Fitted:
    """A policy that decides once a cycle; for fleets it is folded over their cycles."""
    return Fitted(lambda demand: fold_cycles(policy, demand), CycleAdviser(policy))


def by_advice(adviser: Adviser) -> Fitted:
    """A policy that is only written for one container at a time; for fleets it is folded over samples."""
    return Fitted(lambda demand: fold(adviser, demand), adviser)


@dataclass(frozen=True)
class Policy:
    """A way of giving containers what they need."""

    #: Its name in tables and on the command line.
    name: str
    #: What it is in a comparison.
    kind: PolicyKind
    #: One sentence for people: what it gives.
    about: str
    #: ``fit(training, settings, progress)`` learns from training containers and gives the function from a
    #: fleet's demand to one allocation per sample, shape (n,), NaN where it cannot know; a `Fitted` where it
    #: can advise running containers, too.
    fit: Callable[[Demand, Any, Progress | None], Allocate]
    #: The frozen dataclass of what can be chosen.
    settings: type[Any] = NoSettings
    #: What the traces or the phase model must offer.
    needs: frozenset[Need] = frozenset()
    #: True for oracles and bounds, which look into the future on purpose.
    foresight: bool = False
    #: True if it fits training containers better than others, so that what is calibrated on its allocations
    #: for them must come from a fit without them (folds).
    memorises: bool = False
    #: Settings that this variant has instead of the dataclass's own.
    defaults: Mapping[str, object] = field(default_factory=dict)
    #: True if it is compared unless others are chosen: together with the paper's five, the bound, and the
    #: best known of every family.
    usual: bool = False
    #: The policy that this one adapts, or None.
    wraps: Policy | None = None
    #: Its name for people, such as "Reactive: last interval’s maximum"; empty shows `name`.
    title: str = ""

    def chosen(self, values: Mapping[str, object] | None = None) -> Any:
        """The policy's settings with some values chosen.

        Raises
        ------
        InputError
            If a setting is unknown or out of bounds.
        """
        return build(self.settings, {**self.defaults, **(values or {})})

    def missing(self, demand: Demand) -> Need | None:
        """The first input that the policy requires and the demand lacks, or None."""
        available = {
            Need.LABELS: demand.fleet.labels is not None,
            Need.CODES: demand.fleet.codes is not None,
            Need.LIMITS: demand.limits is not None,
        }
        return next((need for need in Need if need in self.needs and not available[need]), None)


def cold_start(training: Demand) -> float:
    """The allocation of a container without a past: the 95th percentile of all training samples."""
    return float(np.quantile(training.values, COLD_START_QUANTILE))


def fit_policy(
    policy: Policy, training: Demand, settings: Any = None, progress: Progress | None = None
) -> Fitted:
    """Fit a policy; what comes back allocates finite, non-negative amounts, cold starts included.

    Parameters
    ----------
    policy
        The policy.
    training
        The training containers' demand.
    settings
        An instance of the policy's settings; its defaults when left out.
    progress
        Called as fitting goes on; it may raise `Cancelled`.

    Raises
    ------
    InputError
        If there are no training samples or something that the policy needs is missing.
    """
    if not training.fleet.n_samples:
        raise InputError("There are no training containers.", "Hold out a smaller share of them.")
    need = policy.missing(training)
    if need is not None:
        raise InputError(f"The policy “{policy.name}” cannot be used here.", WHY_NOT[need])
    allocate = policy.fit(training, policy.chosen() if settings is None else settings, progress)
    unknown = cold_start(training)

    def complete(demand: Demand) -> Floats:
        raw = allocate(demand)
        return np.maximum(np.where(np.isfinite(raw), raw, unknown), 0.0)

    adviser = allocate.adviser if isinstance(allocate, Fitted) else None
    return Fitted(complete, None if adviser is None else Completed(adviser, unknown))
