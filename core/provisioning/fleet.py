"""The input of every policy: many containers' demand for a resource, cut into rescaling cycles.

Time is cut into rescaling cycles of T seconds, counted from each container's first sample. A cycle
without samples (inside a gap) does not exist: the cycle before another one is the last that had any.
All containers lie in the same flat arrays, as in a trace set, so a policy allocates for all of them at
once. A policy is handed whole containers because that is fast; that it looks only backwards is what
the exam of all policies proves.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.phases.matching import main_feature
from core.phases.rows import check_finite
from core.traces.censoring import censor, is_limit, killed_for_memory
from core.traces.model import Role, sample_seconds
from core.units import Unit, format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.censoring import Censoring
    from core.traces.model import TraceSet


Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.int16]


class Resource(StrEnum):
    """A resource that is allocated."""

    CPU = "cpu"
    MEMORY = "memory"


@dataclass(frozen=True, eq=False)
class Fleet:
    """Many containers over time, with what has been seen of them besides the demand itself."""

    #: The containers' names.
    ids: tuple[str, ...]
    #: The group that each belongs to; the containers' own names where there are no groups.
    groups: tuple[str, ...]
    #: Seconds, shape (n,), increasing within a container.
    time: Floats
    #: The time that each sample stands for, Δ, shape (n,).
    seconds: Floats
    #: Samples ``offsets[i]:offsets[i + 1]`` are container i, shape (n_containers + 1,); none is empty.
    offsets: Integers
    #: The length of a rescaling cycle, T seconds.
    cycle: float
    #: The declared sampling period in seconds.
    period: float
    #: Samples that come after a gap.
    breaks: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    #: The phase of each sample, −1 for warm-up, or None without a phase model.
    labels: Labels | None = None
    #: The phase model's code of each sample, shape (n, size), or None.
    codes: npt.NDArray[np.float32] | None = None
    #: Every observed feature by name, each of shape (n,).
    columns: Mapping[str, Floats] = field(default_factory=dict)
    #: Which containers the kernel killed for lack of memory, as traces say, shape (n_containers,); or None.
    killed: Truths | None = None

    @property
    def n_samples(self) -> int:
        """The number of samples of all containers."""
        return len(self.time)

    @property
    def n_containers(self) -> int:
        """The number of containers."""
        return len(self.ids)

    @cached_property
    def lengths(self) -> Integers:
        """Samples of each container, shape (n_containers,)."""
        return np.diff(self.offsets)

    @cached_property
    def container(self) -> Integers:
        """The container of each sample, shape (n,)."""
        return np.repeat(np.arange(self.n_containers), self.lengths)

    @cached_property
    def starts(self) -> Integers:
        """The first sample of each cycle, shape (n_cycles,); every container begins one."""
        if not self.n_samples:
            return np.empty(0, np.int64)
        first_times = np.repeat(self.time[self.offsets[:-1]], self.lengths)
        number = np.floor((self.time - first_times) / self.cycle + 1e-9)
        is_start = np.ones(self.n_samples, bool)
        is_start[1:] = (number[1:] != number[:-1]) | (self.container[1:] != self.container[:-1])
        return np.flatnonzero(is_start)

    @property
    def n_cycles(self) -> int:
        """The number of cycles of all containers."""
        return len(self.starts)

    @cached_property
    def sizes(self) -> Integers:
        """Samples of each cycle, shape (n_cycles,)."""
        return np.diff(np.append(self.starts, self.n_samples))

    @cached_property
    def cycle_of(self) -> Integers:
        """The cycle of each sample, shape (n,)."""
        return np.repeat(np.arange(self.n_cycles), self.sizes)

    @cached_property
    def cycle_offsets(self) -> Integers:
        """Container i has the cycles ``cycle_offsets[i]:cycle_offsets[i + 1]``, shape (n_containers + 1,)."""
        return np.searchsorted(self.starts, self.offsets)

    @cached_property
    def first(self) -> Truths:
        """Mark each container's first cycle, shape (n_cycles,)."""
        marks = np.zeros(self.n_cycles, bool)
        marks[self.cycle_offsets[:-1]] = True
        return marks

    @cached_property
    def cold(self) -> Truths:
        """Mark the samples of each container's first cycle, which has no past, shape (n,)."""
        return self.first[self.cycle_of]

    def per_sample(self, per_cycle: Floats) -> Floats:
        """Each cycle's value for all of its samples, shape (n,)."""
        return np.repeat(per_cycle, self.sizes)

    def previous(self, per_cycle: Floats) -> Floats:
        """Each cycle gets the value of the container's cycle before it; the first gets NaN."""
        return np.where(self.first, np.nan, np.roll(per_cycle, 1))

    def samples_of(self, containers: Sequence[int] | Integers) -> Integers:
        """The samples of some containers, one container after the other."""
        chosen = np.asarray(containers, np.int64)
        lengths = self.lengths[chosen]
        ends = np.cumsum(lengths)
        within = np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)
        return np.repeat(self.offsets[chosen], lengths) + within

    def only(self, containers: Sequence[int] | Integers) -> Fleet:
        """Select containers by index, in that order (a copy)."""
        picked = self.samples_of(containers)
        lengths = self.lengths[np.asarray(containers, np.int64)]
        after_gap = np.isin(picked, self.breaks) if len(self.breaks) else np.zeros(len(picked), bool)
        return replace(
            self,
            ids=tuple(self.ids[i] for i in containers),
            groups=tuple(self.groups[i] for i in containers),
            time=self.time[picked],
            seconds=self.seconds[picked],
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            breaks=np.flatnonzero(after_gap),
            killed=None if self.killed is None else self.killed[np.asarray(containers, np.int64)],
            labels=None if self.labels is None else self.labels[picked],
            codes=None if self.codes is None else self.codes[picked],
            columns={name: values[picked] for name, values in self.columns.items()},
        )


@dataclass(frozen=True, eq=False)
class Demand:
    """A fleet's demand for one resource."""

    #: The containers.
    fleet: Fleet
    #: Which resource.
    resource: Resource
    #: The use of each sample, D, shape (n,), in `unit`.
    values: Floats
    #: Cores, bytes, or a share of a machine of unknown size.
    unit: Unit = Unit.PLAIN
    #: What each container was given at each sample (its limit), shape (n,), or None if unknown.
    limits: Floats | None = None
    #: Samples whose demand may have been higher than their use; None without any.
    censoring: Censoring | None = None

    def only(self, containers: Sequence[int] | Integers) -> Demand:
        """The demand of containers selected by index, in that order (a copy)."""
        return self.on(self.fleet.only(containers), self.fleet.samples_of(containers))

    def on(self, fleet: Fleet, samples: Integers) -> Demand:
        """The demand of selected samples, with the fleet that they form."""
        limits = None if self.limits is None else self.limits[samples]
        censoring = None if self.censoring is None else self.censoring.on(samples)
        return replace(self, fleet=fleet, values=self.values[samples], limits=limits, censoring=censoring)

    def with_(self, **changes: Any) -> Demand:
        """The demand with other fields."""
        return replace(self, **changes)


ROLES = {
    Resource.CPU: (Role.CPU, Role.CPU_REQUEST, Role.CPU_LIMIT),
    Resource.MEMORY: (Role.MEMORY, Role.MEMORY_REQUEST, Role.MEMORY_LIMIT),
}
"""The roles of a resource's usage, request and limit."""
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
        """The demands with the phase (n,) and the code (n, size) of each sample."""
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
        killed=killed_for_memory(traces)[alive],
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
        names = ", ".join(traces.attributes)
        raise InputError(
            f"The traces have no column “{group_by}” to group containers by.",
            f"Group by one of: {names}." if names else "They have no such columns: leave grouping out.",
        )
    return tuple(str(value) for value in traces.attributes[group_by])


def _check_cycle(cycle: float) -> None:
    if not CYCLE_LOW <= cycle <= CYCLE_HIGH:
        raise InputError(
            f"A cycle cannot be {cycle:g} s long.", "Choose from 1 s to 30 days; the paper uses 600 s."
        )


def _demands(traces: TraceSet, fleet: Fleet) -> dict[Resource, Demand]:
    demands = {}
    for resource, (role, request, limit) in ROLES.items():
        feature = main_feature(traces.features, role)
        if feature is None:
            continue
        values = fleet.columns[feature.name]
        check_finite(traces, (feature.name,), "Import the file again with a rule that fills or drops them.")
        limits = next(
            (
                values_
                for role_ in (request, limit)
                for each in traces.features
                if each.role is role_ and each.unit is feature.unit
                if is_limit(values_ := fleet.columns[each.name], feature.unit).all()
            ),
            None,
        )
        demands[resource] = Demand(
            fleet, resource, values, feature.unit, limits, censoring=censor(traces, feature)
        )
    if not demands:
        raise InputError(
            "These traces have neither CPU nor memory usage, so there is nothing to allocate.",
            "Say in the mapping which columns are CPU and memory.",
        )
    return demands


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
