"""The trace model: samples of many executions, stored column by column.

A *trace set* is a table of samples; an *execution* is one container's run; a *feature* is a
numeric column. All executions lie in the same flat arrays, one after the other and in time order,
and `offsets` says where each begins. This keeps millions of samples in a few contiguous arrays,
which compiled kernels read directly, and makes an execution a slice instead of a copy.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from core.errors import NotFoundError
from core.units import GIB, KIB, MIB, Unit, format_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]


class Role(StrEnum):
    """The role of a feature, by which screens and policies find CPU and memory.

    A set may have several features of one role: a container with two GPUs has two of each GPU role.
    """

    CPU = "cpu"
    MEMORY = "memory"
    CPU_LIMIT = "cpu_limit"
    MEMORY_LIMIT = "memory_limit"
    CPU_REQUEST = "cpu_request"
    MEMORY_REQUEST = "memory_request"
    GPU = "gpu"
    GPU_MEMORY = "gpu_memory"
    GPU_POWER = "gpu_power"
    NETWORK_IN = "network_in"
    NETWORK_OUT = "network_out"
    BLOCK_IN = "block_in"
    BLOCK_OUT = "block_out"
    THROTTLED = "throttled"
    WITHHELD = "cpu_withheld"
    HOST_PRESSURE = "host_pressure"
    LOSS = "loss"
    PHASE = "phase"
    OTHER = "other"


ROLE_UNITS: dict[Role, tuple[Unit, ...]] = {
    Role.CPU: (Unit.CORES, Unit.SHARE),
    Role.CPU_LIMIT: (Unit.CORES, Unit.SHARE),
    Role.MEMORY: (Unit.BYTES, Unit.SHARE),
    Role.MEMORY_LIMIT: (Unit.BYTES, Unit.SHARE),
    Role.CPU_REQUEST: (Unit.CORES, Unit.SHARE),
    Role.MEMORY_REQUEST: (Unit.BYTES, Unit.SHARE),
    Role.GPU: (Unit.SHARE,),
    Role.GPU_MEMORY: (Unit.BYTES, Unit.SHARE),
    Role.GPU_POWER: (Unit.WATTS,),
    Role.NETWORK_IN: (Unit.BYTES_PER_SECOND,),
    Role.NETWORK_OUT: (Unit.BYTES_PER_SECOND,),
    Role.BLOCK_IN: (Unit.BYTES_PER_SECOND,),
    Role.BLOCK_OUT: (Unit.BYTES_PER_SECOND,),
    Role.THROTTLED: (Unit.SHARE,),
    Role.WITHHELD: (Unit.CORES,),
    Role.HOST_PRESSURE: (Unit.SHARE,),
}
"""The canonical units that a feature of a role can have, the usual one first; other roles have any."""
SET_ROLES = (Role.CPU_LIMIT, Role.MEMORY_LIMIT, Role.CPU_REQUEST, Role.MEMORY_REQUEST)
"""What people set for a container: it is no usage, and may be missing."""
HELD_BACK_ROLES = (Role.THROTTLED, Role.WITHHELD, Role.HOST_PRESSURE)
"""What kept a container from using more: the share of its quota's periods in which it was throttled, the
cores that the quota withheld, and the share of time in which something on its host waited for CPU or memory.
It is no usage, and may be missing."""
BESIDE = (Role.NETWORK_IN, Role.NETWORK_OUT, Role.BLOCK_IN, Role.BLOCK_OUT)
"""What goes in or out: it may be missing for a container without costing a sample of its usage."""
ROLE_NAMES: dict[Role, str] = {
    Role.CPU: "CPU",
    Role.MEMORY: "Memory",
    Role.CPU_LIMIT: "CPU limit",
    Role.MEMORY_LIMIT: "Memory limit",
    Role.CPU_REQUEST: "CPU request",
    Role.MEMORY_REQUEST: "Memory request",
    Role.GPU: "GPU",
    Role.GPU_MEMORY: "GPU memory",
    Role.GPU_POWER: "GPU power",
    Role.NETWORK_IN: "Network in",
    Role.NETWORK_OUT: "Network out",
    Role.BLOCK_IN: "Disk read",
    Role.BLOCK_OUT: "Disk write",
    Role.THROTTLED: "Throttled",
    Role.WITHHELD: "CPU withheld",
    Role.HOST_PRESSURE: "Host pressure",
    Role.LOSS: "Loss",
}
"""What a role is called on the screen; a feature of another role goes by its own name."""


class Resampling(StrEnum):
    """Rules for resampling irregular samples to the sampling period."""

    HOLD = "hold"
    MEAN = "mean"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Feature:
    """A numeric column: its name in the file, its role and its canonical unit."""

    name: str
    role: Role = Role.OTHER
    unit: Unit = Unit.PLAIN


@dataclass(frozen=True)
class TraceSet:
    """Samples of many executions."""

    #: The numeric columns.
    features: tuple[Feature, ...]
    #: One float array of shape (n_samples,) per feature, in canonical units.
    columns: tuple[FloatArray, ...]
    #: Seconds, shape (n_samples,); since 1970 where the file has dates, else from 0.
    time: FloatArray
    #: The executions' names, in the order of their samples.
    ids: tuple[str, ...]
    #: Shape (n_executions + 1,): samples ``offsets[i]:offsets[i + 1]`` are execution i.
    offsets: IntArray
    #: The declared sampling period in seconds.
    period: float
    #: Sorted indices of samples that come after a gap: no window crosses one.
    breaks: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: The rule by which the samples were resampled to the period.
    resampling: Resampling = Resampling.NONE
    #: Further facts per execution, such as its workload; one value per execution.
    attributes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        """The number of samples of all executions."""
        return len(self.time)

    @property
    def n_executions(self) -> int:
        """The number of executions."""
        return len(self.ids)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.ids)}

    def position(self, execution: str) -> int:
        """The index of an execution in `ids`.

        Raises NotFoundError if the set has no execution of that name.
        """
        try:
            return self._positions[execution]
        except KeyError:
            raise NotFoundError(
                f"There is no execution called “{execution}” in this trace set.",
                "Choose one from the list of executions.",
            ) from None

    def feature(self, role: Role) -> Feature | None:
        """The first feature of a role, or None."""
        return next((feature for feature in self.features if feature.role is role), None)

    def column(self, name: str) -> FloatArray:
        """The values of a feature, shape (n_samples,).

        Raises NotFoundError if the set has no such feature; the hint lists those it has.
        """
        for feature, values in zip(self.features, self.columns, strict=True):
            if feature.name == name:
                return values
        raise NotFoundError(
            f"There is no feature called “{name}” in this trace set.",
            f"It has: {', '.join(feature.name for feature in self.features)}.",
        )

    def values(self, role: Role) -> FloatArray | None:
        """The values of the first feature of a role, or None."""
        feature = self.feature(role)
        return None if feature is None else self.column(feature.name)

    def slice_of(self, execution: str) -> slice:
        """The samples of one execution as a slice of the flat arrays."""
        position = self.position(execution)
        return slice(int(self.offsets[position]), int(self.offsets[position + 1]))

    @cached_property
    def _segments(self) -> IntArray:
        bounds = np.concatenate([self.offsets, self.breaks]).astype(np.int64)
        # An execution without samples begins and ends at the same index, so a boundary may occur twice.
        return np.array(sorted(set(bounds.tolist())), dtype=np.int64)

    def segments(self) -> IntArray:
        """Boundaries of the segments (stretches without a gap), shape (n_segments + 1,).

        An execution without gaps is one segment; `offsets` is a subset of the result.
        """
        return self._segments

    def only(self, executions: Sequence[str]) -> TraceSet:
        """The trace set of selected executions, in that order (a copy of their samples)."""
        slices = [self.slice_of(name) for name in executions]
        lengths = np.array([part.stop - part.start for part in slices], dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        chosen = [self.position(name) for name in executions]
        breaks = [
            self.breaks[(self.breaks > part.start) & (self.breaks < part.stop)] - part.start + start
            for part, start in zip(slices, offsets[:-1], strict=True)
        ]
        return replace(
            self,
            columns=tuple(_gather(values, slices) for values in self.columns),
            time=_gather(self.time, slices),
            ids=tuple(executions),
            offsets=offsets,
            breaks=np.concatenate(breaks) if breaks else np.empty(0, dtype=np.int64),
            attributes={key: [values[i] for i in chosen] for key, values in self.attributes.items()},
        )

    def executions(self) -> Iterator[Execution]:
        """Go through the executions as views, without copying samples."""
        for name in self.ids:
            yield self.execution(name)

    def execution(self, name: str) -> Execution:
        """One execution as a view of this set."""
        part, position = self.slice_of(name), self.position(name)
        return Execution(
            name=name,
            time=self.time[part],
            columns={f.name: values[part] for f, values in zip(self.features, self.columns, strict=True)},
            attributes={key: values[position] for key, values in self.attributes.items()},
        )


@dataclass(frozen=True, slots=True)
class Execution:
    """One container's run: its time axis, its columns by feature name, and its attributes."""

    name: str
    time: FloatArray
    columns: Mapping[str, FloatArray]
    attributes: Mapping[str, str]

    @property
    def elapsed(self) -> FloatArray:
        """Seconds since the first sample, shape (n_samples,)."""
        return self.time - self.time[0] if len(self.time) else self.time


def _gather(values: FloatArray, slices: Sequence[slice]) -> FloatArray:
    return np.concatenate([values[part] for part in slices]) if slices else values[:0]


LONGEST = 3.0
"""From how many periods on a step is a gap, as in a new mapping: rows that stay as they come mark none."""


def sample_seconds(time: FloatArray, segments: IntArray, period: float) -> npt.NDArray[np.float64]:
    """The time that each sample stands for: until the next one, or one period before a gap or the end."""
    seconds = np.full(len(time), float(period))
    steps = np.diff(time)
    seconds[:-1] = np.where(steps > LONGEST * period, period, steps)
    seconds[segments[1:] - 1] = period
    return seconds


class Scale(NamedTuple):
    """A divisor of canonical values, and the unit to show."""

    size: float
    label: str

    def write(self, value: float) -> str:
        """A value without its unit; small ones keep two digits that mean something."""
        scaled = value / self.size
        return format_number(scaled, 2 if abs(scaled) >= 0.1 or not scaled else 3)

    def with_unit(self, value: float) -> str:
        """A value with its unit."""
        between = "" if self.label == "%" else " "
        return f"{self.write(value)}{between}{self.label}".strip()

    def about(self, value: float) -> str:
        """A value with its unit to two digits, as words say it: ``79 MiB``, ``8.7 GiB``."""
        scaled = float(f"{value / self.size:.2g}")
        between = "" if self.label == "%" else " "
        return f"{f'{scaled:,.0f}' if abs(scaled) >= 10 else f'{scaled:g}'}{between}{self.label}".strip()


_SCALES = {
    Unit.CORES: Scale(1.0, "cores"),
    Unit.SHARE: Scale(0.01, "%"),
    Unit.WATTS: Scale(1.0, "W"),
    Unit.SECONDS: Scale(1.0, "s"),
    Unit.PLAIN: Scale(1.0, ""),
}
_STEPS = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1.0, "B"))


def scale_of(unit: Unit, highest: float | None = None) -> Scale:
    """The scale for values up to `highest` in a canonical unit; GiB for bytes where that is not known."""
    if unit not in {Unit.BYTES, Unit.BYTES_PER_SECOND}:
        return _SCALES[unit]
    ending = "/s" if unit is Unit.BYTES_PER_SECOND else ""
    if highest is None or not np.isfinite(highest):
        return Scale(*((MIB, "MiB/s") if ending else (GIB, "GiB")))
    size, label = next((step for step in _STEPS if abs(highest) >= step[0]), _STEPS[-1])
    return Scale(size, label + ending)


def unit_scale(unit: Unit, values: FloatArray | None = None) -> Scale:
    """The scale for all of some values."""
    if values is None or unit not in {Unit.BYTES, Unit.BYTES_PER_SECOND}:
        return scale_of(unit)
    finite = values[np.isfinite(values)]
    return scale_of(unit, float(finite.max()) if len(finite) else None)


# A stable fingerprint of a trace set's content: results and models record by it what they were made from.
#
# The fingerprint is a SHA-256 over executions, offsets, breaks, period, features and every value in canonical
# form (64-bit little-endian floats, each NaN alike), so it does not depend on how a set was stored.


def column_digest(values: FloatArray) -> bytes:
    """The digest of one column; equal values give equal digests whatever their float width."""
    plain = np.ascontiguousarray(values, dtype="<f8")
    if np.isnan(plain.sum()):
        plain = np.where(np.isnan(plain), np.nan, plain)
    return hashlib.sha256(plain.data).digest()


def combine(traces: TraceSet, digests: list[bytes]) -> str:
    """The fingerprint of a set whose columns have these digests (the features' in order, then time's)."""
    whole = hashlib.sha256()
    names = [*traces.ids, *(f"{f.name}\x1f{f.role}\x1f{f.unit}" for f in traces.features)]
    for key, values in sorted(traces.attributes.items()):
        names += [key, *values]
    whole.update("\x1e".join(names).encode("utf-8", "surrogatepass"))
    whole.update(np.asarray(traces.offsets, dtype="<i8").tobytes())
    whole.update(np.asarray(traces.breaks, dtype="<i8").tobytes())
    whole.update(f"{traces.period!r} {traces.resampling}".encode())
    for digest in digests:
        whole.update(digest)
    return whole.hexdigest()


def fingerprint(traces: TraceSet) -> str:
    """The fingerprint of a trace set: 64 hexadecimal digits, equal for equal content only."""
    return combine(traces, [column_digest(values) for values in (*traces.columns, traces.time)])


def mean_of(values: FloatArray, offsets: IntArray) -> FloatArray:
    """The mean of each execution without missing values; NaN where all are missing."""
    if not np.isnan(values.sum()):
        return np.add.reduceat(values, offsets[:-1], dtype=np.float64) / np.diff(offsets)
    is_present = ~np.isnan(values)
    counts = np.add.reduceat(is_present, offsets[:-1], dtype=np.int64)
    sums = np.add.reduceat(np.where(is_present, values, 0.0), offsets[:-1], dtype=np.float64)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def peak_of(values: FloatArray, offsets: IntArray) -> FloatArray:
    """The largest value of each execution without missing values; NaN where all are missing."""
    return np.fmax.reduceat(values, offsets[:-1]).astype(np.float64)


def summarise(traces: TraceSet) -> pd.DataFrame:
    """The table of executions."""
    offsets = traces.offsets
    n = traces.n_executions
    table: dict[str, object] = {
        "execution": pd.array(list(traces.ids), dtype="str"),
        "samples": np.diff(offsets),
        "start_s": traces.time[offsets[:-1]] if n else np.empty(0),
        "duration_s": traces.time[offsets[1:] - 1] - traces.time[offsets[:-1]] + traces.period,
        "gaps": np.diff(np.searchsorted(traces.breaks, offsets)),
    }
    for name, role in (("cpu", Role.CPU), ("memory", Role.MEMORY)):
        values = traces.values(role)
        table[f"{name}_mean"] = np.full(n, np.nan) if values is None or not n else mean_of(values, offsets)
        table[f"{name}_peak"] = np.full(n, np.nan) if values is None or not n else peak_of(values, offsets)
    for key, entries in traces.attributes.items():
        table[key if key not in table else f"{key} (attribute)"] = pd.array(list(entries), dtype="str")
    return pd.DataFrame(table)
