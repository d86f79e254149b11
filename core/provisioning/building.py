"""Preparing policies' inputs from traces and a phase model; what cannot work is refused at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.phases.matching import main_feature
from core.provisioning.fleet import Demand, Fleet, Resource
from core.traces.model import Role, sample_seconds
from core.units import Unit, format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.provisioning.fleet import Floats, Labels, Truths
    from core.traces.model import TraceSet

ROLES = {Resource.CPU: (Role.CPU, Role.CPU_LIMIT), Resource.MEMORY: (Role.MEMORY, Role.MEMORY_LIMIT)}
_UNLIMITED = {Unit.BYTES: 2.0**50, Unit.CORES: 1e5}
"""Nobody has a container with so much."""
CYCLE_LOW, CYCLE_HIGH = 1.0, 30 * 86_400.0


@dataclass(frozen=True)
class Provisioning:
    """A trace set as policies see it."""

    #: The containers that have samples.
    fleet: Fleet
    #: Their demand for each resource that the traces have.
    demands: Mapping[Resource, Demand]
    #: What a person should know about it, in sentences.
    notes: tuple[str, ...]

    def with_phases(self, labels: Labels | None, codes: np.ndarray | None) -> Provisioning:
        """The same with the phase (n,) and the code (n, size) of each sample."""
        fleet = replace(self.fleet, labels=labels, codes=codes)
        demands = {resource: replace(demand, fleet=fleet) for resource, demand in self.demands.items()}
        return Provisioning(fleet, demands, self.notes)


def prepare(
    traces: TraceSet,
    cycle: float = 600.0,
    group_by: str | None = None,
) -> Provisioning:
    """Bring a trace set into the form that policies look at.

    Parameters
    ----------
    traces
        The samples, in canonical units.
    cycle
        The length of a rescaling cycle in seconds.
    group_by
        The attribute that says which group a container belongs to.

    Raises
    ------
    InputError
        If there is no sample or no CPU or memory, a value is NaN or infinite, the group column is
        missing, or the cycle is out of bounds.
    """
    _check_cycle(cycle)
    groups = groups_of(traces, group_by)
    alive = np.flatnonzero(np.diff(traces.offsets) > 0)
    if not len(alive):
        raise InputError("These traces have no samples.", "Choose a trace set with samples.")
    fleet = Fleet(
        ids=tuple(traces.ids[i] for i in alive),
        groups=tuple(groups[i] for i in alive),
        time=traces.time.astype(np.float64),
        seconds=sample_seconds(
            traces.time.astype(np.float64), traces.segments().astype(np.int64), traces.period
        ),
        offsets=np.append(traces.offsets[alive], traces.offsets[-1]).astype(np.int64),
        cycle=float(cycle),
        period=traces.period,
        breaks=traces.breaks.astype(np.int64),
        columns={
            f.name: v.astype(np.float64, copy=False)
            for f, v in zip(traces.features, traces.columns, strict=True)
        },
    )
    return Provisioning(fleet, _demands(traces, fleet), _notes(traces, fleet))


def require_past(fleet: Fleet) -> None:
    """Make sure that some container lives longer than one cycle.

    Raises
    ------
    InputError
        If none does, so that every allocation would be a cold start.
    """
    if fleet.n_cycles == fleet.n_containers:
        raise InputError(
            f"No execution is longer than one cycle of {format_duration(fleet.cycle)}, "
            "so no policy has any history to go by.",
            "Choose a shorter cycle, or traces of longer executions.",
        )


def groups_of(traces: TraceSet, group_by: str | None) -> tuple[str, ...]:
    """The group of each container; its own name without a group column.

    Raises
    ------
    InputError
        If the traces have no such attribute; the hint lists those they have.
    """
    if not group_by:
        return traces.ids
    if group_by not in traces.attributes:
        there = ", ".join(traces.attributes)
        raise InputError(
            f"The traces have no column “{group_by}” to group containers by.",
            f"Group by one of: {there}." if there else "They have no such columns: leave grouping out.",
        )
    return tuple(str(value) for value in traces.attributes[group_by])


def _check_cycle(cycle: float) -> None:
    if not CYCLE_LOW <= cycle <= CYCLE_HIGH:
        raise InputError(
            f"A cycle cannot be {cycle:g} s long.", "Choose from 1 s to 30 days; the paper uses 600 s."
        )


def _demands(traces: TraceSet, fleet: Fleet) -> dict[Resource, Demand]:
    found = {}
    for resource, (role, limit) in ROLES.items():
        feature = main_feature(traces.features, role)
        if feature is None:
            continue
        values = fleet.columns[feature.name]
        _check_numbers(traces, feature.name, values)
        given = next((f for f in traces.features if f.role is limit and f.unit is feature.unit), None)
        known = None if given is None else fleet.columns[given.name]
        usable = None if known is None or not is_limit(known, feature.unit).all() else known
        found[resource] = Demand(fleet, resource, values, feature.unit, usable)
    if not found:
        raise InputError(
            "These traces have neither CPU nor memory usage, so there is nothing to allocate.",
            "Say in the mapping which columns are CPU and memory.",
        )
    return found


def is_limit(values: Floats, unit: Unit) -> Truths:
    """Which values can be limits that somebody set.

    Files write 0, −1 or the largest whole number where there is none.
    """
    return np.isfinite(values) & (values > 0) & (values < _UNLIMITED.get(unit, np.inf))


def _check_numbers(traces: TraceSet, name: str, values: Floats) -> None:
    broken = np.flatnonzero(~np.isfinite(values))
    if len(broken):
        first = int(np.searchsorted(traces.offsets, broken[0], side="right")) - 1
        raise InputError(
            f"The feature “{name}” has {len(broken):,} values that are not numbers, "
            f"the first in execution “{traces.ids[first]}”.",
            "Import the file again with a rule that fills or drops them.",
        )


def _notes(traces: TraceSet, fleet: Fleet) -> tuple[str, ...]:
    notes, cycle = [], format_duration(fleet.cycle)
    short = int((np.diff(fleet.cycle_offsets) == 1).sum())
    empty = traces.n_executions - fleet.n_containers
    if empty:
        notes.append(f"{empty:,} of {traces.n_executions:,} executions have no samples and are left out.")
    if short:
        notes.append(
            f"{short:,} of {fleet.n_containers:,} executions are not longer than one cycle of {cycle}: "
            "all they get is the cold-start value."
        )
    return tuple(notes)
