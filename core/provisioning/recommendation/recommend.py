"""Recommended requests and limits per phase and group of containers, with the reason and the risk.

The request is the (1 − tolerance) quantile of demand over the samples of a group in a phase, so that it
is exceeded for the tolerated share of time. The limit is the highest demand seen plus headroom. The
expected violation is measured on containers left out: each third of a group's containers is compared
with the request made from the others.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from core.phases import predict
from core.provisioning.building import prepare
from core.provisioning.evaluation.intervals import group_numbers
from core.provisioning.fleet import Resource
from core.settings_fields import build, setting
from core.units import Unit, format_set_share, format_share, format_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from core.phases import PhaseModel
    from core.provisioning.fleet import Demand, Floats, Integers
    from core.traces.model import TraceSet

EVERYBODY = "all containers"
STEP = {Unit.CORES: 0.01, Unit.BYTES: 2.0**20, Unit.SHARE: 0.001}
_PARTS = 3
_FEW = 20


@dataclass(frozen=True)
class RecommendSettings:
    """How sure a recommendation is to be."""

    group_by: str = setting(
        "", label="Group by", help="The column that says which containers are alike; all when left empty."
    )
    tolerance: float = setting(
        0.05, label="Tolerance", low=0.0, high=0.5, help="The share of time that may exceed the request."
    )
    headroom: float = setting(
        0.1, label="Headroom", low=0.0, high=5.0, help="What the limit has above the highest demand seen."
    )

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> RecommendSettings:
        """Read settings.

        Raises
        ------
        InputError
            If a name is unknown or a value is out of bounds.
        """
        return build(cls, values)


@dataclass(frozen=True, slots=True)
class Advice:
    """What to give to a group of containers in a phase."""

    #: The group's name.
    group: str
    #: The phase's id, −1 for warm-up, or None for a container's whole life.
    phase: int | None
    #: What is given, in which unit.
    resource: Resource
    unit: Unit
    #: What to reserve, and what not to exceed.
    request: float
    limit: float
    #: How many there were to learn from.
    samples: int
    containers: int
    #: Of the demand.
    mean: float
    sd: float
    peak: float
    #: The share of time in which containers left out exceed their request; of the same containers where there
    #: is only one.
    expected_violation: float
    #: What these containers have on average, or None if unknown.
    given: float | None
    #: `given` − `request`, or None.
    saving: float | None
    #: Why, in a sentence.
    reason: str

    @property
    def phase_name(self) -> str:
        """The phase for people."""
        return phase_name(self.phase)

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        values = asdict(self)
        return {**values, "resource": self.resource.value, "unit": self.unit.value, "name": self.phase_name}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Advice:
        """Read back what `to_dict` gave."""
        known = {spec.name: values[spec.name] for spec in fields(cls)}
        return cls(**{**known, "resource": Resource(values["resource"]), "unit": Unit(values["unit"])})


def phase_name(phase: int | None) -> str:
    """A phase for people: φ1 is the phase with id 0; None is a container's whole life."""
    if phase is None:
        return "all phases"
    return "warm-up" if phase < 0 else f"φ{phase + 1}"


def recommend(
    traces: TraceSet, model: PhaseModel, settings: RecommendSettings | None = None
) -> tuple[Advice, ...]:
    """Recommend request and limit per group, phase and resource; a container's whole life comes first.

    Raises
    ------
    MismatchError
        If the model does not fit the traces.
    InputError
        If there is nothing to allocate, or the group column is missing.
    """
    settings = settings or RecommendSettings()
    labels = predict(model, traces)
    found = prepare(traces, group_by=settings.group_by).with_phases(labels, None)
    groups = found.fleet.groups if settings.group_by else (EVERYBODY,) * found.fleet.n_containers
    numbers, n = group_numbers(groups)
    names = list(dict.fromkeys(groups))
    phases = [*model.phases, -1]
    rows: list[Advice] = []
    for demand in found.demands.values():
        for group, phase, samples in _cells(demand, numbers, n, phases):
            rows.append(_advice(demand, samples, names[group], phase, settings))
    return tuple(sorted(rows, key=lambda row: (names.index(row.group), _place(row.phase, phases))))


def _place(phase: int | None, phases: list[int]) -> int:
    return -1 if phase is None else phases.index(phase)


def _cells(
    demand: Demand, numbers: Integers, n: int, phases: list[int]
) -> Iterator[tuple[int, int | None, Integers]]:
    """Each group's samples, and those of each phase in it."""
    labels = demand.fleet.labels
    if labels is None:
        raise AssertionError("labels were given")
    group = numbers[demand.fleet.container]
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(n + 1))
    for number in range(n):
        mine = order[bounds[number] : bounds[number + 1]]
        yield number, None, mine
        for phase in phases:
            inside = mine[labels[mine] == phase]
            if len(inside):
                yield number, phase, inside


def _advice(
    demand: Demand, samples: Integers, group: str, phase: int | None, settings: RecommendSettings
) -> Advice:
    values, level = demand.values[samples], 1.0 - settings.tolerance
    request = rounded_up(float(np.quantile(values, level)), demand.unit)
    peak, owners = float(values.max()), demand.fleet.container[samples]
    limit = max(rounded_up(peak * (1.0 + settings.headroom), demand.unit), request)
    violation, honest = _violation(demand, samples, owners, level)
    given = None if demand.given is None else float(demand.given[samples].mean())
    containers = len(np.unique(owners))
    reason = _reason(values, peak, violation, demand.unit, settings, honest=honest, containers=containers)
    return Advice(
        group=group,
        phase=phase,
        resource=demand.resource,
        unit=demand.unit,
        request=request,
        limit=limit,
        samples=len(samples),
        containers=containers,
        mean=float(values.mean()),
        sd=float(values.std()),
        peak=peak,
        expected_violation=violation,
        given=given,
        saving=None if given is None else given - request,
        reason=reason,
    )


def rounded_up(value: float, unit: Unit) -> float:
    """Rounded up to a step that can be given: 10 millicores, 1 MiB, 0.1% of a machine."""
    step = STEP.get(unit)
    return value if step is None else max(float(np.ceil(value / step - 1e-9)), 1.0) * step


def _violation(demand: Demand, samples: Integers, owners: Integers, level: float) -> tuple[float, bool]:
    """The share of time above a request made from other containers, and whether there were others."""
    values, seconds = demand.values[samples], demand.fleet.seconds[samples]
    _, number = np.unique(owners, return_inverse=True)
    part = number % _PARTS
    if part.max(initial=0) == 0:
        limit = rounded_up(float(np.quantile(values, level)), demand.unit)
        return _share(values > limit, seconds), False
    above = np.zeros(len(values), bool)
    for k in range(int(part.max()) + 1):
        mine = part == k
        above[mine] = values[mine] > rounded_up(float(np.quantile(values[~mine], level)), demand.unit)
    return _share(above, seconds), True


def _share(marks: np.ndarray, seconds: Floats) -> float:
    total = float(seconds.sum())
    return float(seconds[marks].sum()) / total if total > 0 else 0.0


def _reason(
    values: Floats,
    peak: float,
    violation: float,
    unit: Unit,
    settings: RecommendSettings,
    *,
    honest: bool,
    containers: int,
) -> str:
    few = f" Caution: only {len(values)} samples." if len(values) < _FEW else ""
    how = "containers left out" if honest else "this one container itself"
    who = f"{containers:,} containers" if containers > 1 else "1 container"
    return (
        f"{len(values):,} samples of {who} use {format_value(float(values.mean()), unit)} on average "
        f"(sd {format_value(float(values.std()), unit)}, highest {format_value(peak, unit)}); "
        f"the request covers {format_set_share(1 - settings.tolerance)} of them and {how} would exceed it "
        f"for {format_share(violation)} of the time.{few}"
    )
