"""Which column of a file is what: the one thing that a person must specify to import any table.

A mapping names the columns of execution and time, the features with their roles and units, and the
rule by which irregular samples are resampled to a period. It is plain data, kept as JSON.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from core.errors import InputError, format_names
from core.traces.model import Feature, Resampling, Role
from core.units import Unit, file_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TIME_UNITS: dict[str, str] = {
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
    "min": "minutes",
    "h": "hours",
    "iso": "date and time",
    "dmy": "date, day first (31/01/2026)",
    "mdy": "date, month first (01/31/2026)",
    "ymd": "date, year first (26/01/31)",
    "clock": "time of day (12:00:00)",
    "mmss": "minutes and seconds (05:30)",
    "none": "none: row number × period",
}
INTERVAL = "row interval"
"""In place of a column's name among what is unknown: the seconds between the rows of a file without times."""
UNKNOWN = "unknown"
"""In place of a unit that neither the file nor its values tell: nothing is imported before it is chosen."""


@dataclass(frozen=True, slots=True)
class MappedColumn:
    """A column of a file that becomes a feature."""

    #: Its name in the file, which is also the feature's name.
    column: str
    #: What it stands for.
    role: Role = Role.OTHER
    #: A key of `core.units.FILE_UNITS`: the unit that the file has; or `UNKNOWN`.
    unit_key: str = "plain"


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """How a table becomes a trace set.

    Raises InputError if a value is invalid, or a column is mapped to two things.
    """

    #: The columns to keep, at least one.
    features: tuple[MappedColumn, ...]
    #: The column that names the execution; None: the whole file is one.
    execution: str | None = None
    #: The column of time; None: row number times period.
    time: str | None = None
    #: A key of `TIME_UNITS`, or `UNKNOWN`; with ``none`` the column of time is not used.
    time_unit: str = "s"
    #: The sampling period in seconds; None: found from the file's times.
    period: float | None = None
    #: How irregular samples are resampled to the period.
    resampling: Resampling = Resampling.HOLD
    #: A gap of more than this many periods splits an execution; also the longest run filled forward.
    max_gap: float = 3.0
    #: Columns with one text per execution, such as its workload.
    attributes: tuple[str, ...] = field(default=())
    #: Processors of the machine, which turn shares of it into cores.
    cores: float | None = None
    #: Memory of the machine, which turns shares of it into bytes.
    memory_bytes: float | None = None
    #: Executions with fewer samples are dropped.
    min_samples: int = 2
    #: Further columns that name it together with the first, such as the container of a pod.
    execution_parts: tuple[str, ...] = ()
    #: Columns whose unit nothing tells and that were given the likeliest one; the report names them.
    assumed: tuple[str, ...] = ()
    #: Whether a table of series is read as it is written, and not turned: its columns are not executions.
    as_written: bool = False

    def __post_init__(self) -> None:
        if self.time_unit == "none":
            object.__setattr__(self, "time", None)
        self._check_columns()
        self._check_numbers()

    def _check_columns(self) -> None:
        if not self.features:
            raise InputError("No CPU or memory column is chosen.", "Choose a CPU or memory column.")
        uses: dict[str, str] = {}
        mapped = [
            *((name, "time") for name in [self.time] if name),
            *((name, "the execution") for name in self.executions),
            *((one.column, "a feature") for one in self.features),
            *((name, "an attribute") for name in self.attributes),
        ]
        for name, use in mapped:
            if name in uses:
                which = "twice" if uses[name] == use else f"to {uses[name]} and to {use}"
                raise InputError(f"Column “{name}” is mapped {which}.", "Map every column once.")
            uses[name] = use
        for feature in self.features:
            if feature.unit_key != UNKNOWN:
                file_unit(feature.unit_key)

    def _check_numbers(self) -> None:
        if self.time_unit not in TIME_UNITS and self.time_unit != UNKNOWN:
            raise InputError(
                f"“{self.time_unit}” is not a unit of time.", f"Use one of: {', '.join(TIME_UNITS)}."
            )
        limits = (
            ("The sampling period", self.period),
            ("The longest gap", self.max_gap),
            ("The number of cores", self.cores),
            ("The machine's memory", self.memory_bytes),
        )
        for what, value in limits:
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError(f"{what} is {value}.", "Give a number above 0, or leave it empty.")
        if self.max_gap < 1:
            raise InputError(f"The longest gap is {self.max_gap} periods.", "Give at least 1.")
        if self.min_samples < 1:
            raise InputError(f"The least number of samples is {self.min_samples}.", "Give at least 1.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the file that is needed, execution and time first."""
        single = [name for name in (self.execution, *self.execution_parts, self.time) if name is not None]
        return tuple(dict.fromkeys([*single, *(f.column for f in self.features), *self.attributes]))

    @property
    def executions(self) -> tuple[str, ...]:
        """The columns that name the execution together; none where the file is one."""
        return () if self.execution is None else (self.execution, *self.execution_parts)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The columns whose unit has to be chosen before anything is imported; or `INTERVAL`."""
        found = [one.column for one in self.features if one.unit_key == UNKNOWN]
        if self.time is None and self.period is None:
            return (*found, INTERVAL)
        return (*found, self.time) if self.time and self.time_unit == UNKNOWN else tuple(found)

    def feature(self, mapped: MappedColumn) -> Feature:
        """The feature that a mapped column becomes, in its canonical unit."""
        unit = file_unit(mapped.unit_key)
        if unit.of_machine and self._size(mapped.role) is not None:
            return Feature(mapped.column, mapped.role, _MACHINE_UNITS[mapped.role])
        return Feature(mapped.column, mapped.role, unit.unit)

    def factor(self, mapped: MappedColumn) -> float:
        """The factor that turns the file's values into canonical ones."""
        unit = file_unit(mapped.unit_key)
        size = self._size(mapped.role) if unit.of_machine else None
        return unit.factor if size is None else unit.factor * size

    def _size(self, role: Role) -> float | None:
        sizes = {Unit.CORES: self.cores, Unit.BYTES: self.memory_bytes}
        return sizes[_MACHINE_UNITS[role]] if role in _MACHINE_UNITS else None

    def require(self, header: Sequence[str]) -> None:
        """Check that a file has every column of this mapping.

        Raises
        ------
        InputError
            Naming the missing columns; the hint lists those that the file has. Also while a unit is unknown.
        """
        if self.unknown:
            name = self.unknown[0]
            if name == INTERVAL:
                raise InputError(
                    "The file has no times, and nothing says how far apart its rows are.",
                    "Set the sampling period in the mapping: the seconds between two rows.",
                )
            if any(one.column == name and one.role is Role.OTHER for one in self.features):
                raise InputError(
                    f"Nothing says what column “{name}” measures.", "Choose its role and unit in the mapping."
                )
            raise InputError(
                f"The unit of column “{name}” is not known.",
                "Choose it in the mapping: neither its name nor its values tell it.",
            )
        missing = [name for name in self.columns if name not in header]
        if missing:
            word = "column" if len(missing) == 1 else "columns"
            raise InputError(
                f"Row 1 (the header) has no {word} {format_names(missing)}.",
                f"Change the mapping; the file has: {format_names(header)}.",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the mapping as a JSON object."""
        plain = {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }
        return plain | {"resampling": self.resampling.value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ColumnMapping:
        """Return the mapping that `to_dict` wrote, or that a form filled in.

        Raises InputError if a field is missing, unknown or not of its type.
        """
        unknown = set(data) - set(_FIELDS)
        if unknown:
            raise InputError(
                f"The mapping has no field “{min(unknown)}”.", f"Its fields are: {', '.join(_FIELDS)}."
            )
        try:
            optional: dict[str, Any] = {name: tuple(map(str, data[name])) for name in _NAMES if name in data}
            optional |= {name: _number(data[name]) for name in _NUMBERS if name in data}
            return cls(
                features=tuple(
                    MappedColumn(
                        str(one["column"]), Role(one.get("role", "other")), str(one.get("unit_key", "plain"))
                    )
                    for one in data["features"]
                ),
                execution=_text(data.get("execution")),
                time=_text(data.get("time")),
                time_unit=str(data.get("time_unit", "s")),
                resampling=Resampling(data.get("resampling", "hold")),
                max_gap=float(data.get("max_gap", 3.0)),
                min_samples=int(data.get("min_samples", 2)),
                as_written=bool(data.get("as_written", False)),
                **optional,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"The mapping cannot be read: {error}.", "Open the mapping form and save it again."
            ) from None


_MACHINE_UNITS = {
    Role.CPU: Unit.CORES,
    Role.CPU_LIMIT: Unit.CORES,
    Role.CPU_REQUEST: Unit.CORES,
    Role.MEMORY: Unit.BYTES,
    Role.MEMORY_LIMIT: Unit.BYTES,
    Role.MEMORY_REQUEST: Unit.BYTES,
}
_FIELDS = tuple(ColumnMapping.__dataclass_fields__)
_NAMES, _NUMBERS = ("attributes", "execution_parts", "assumed"), ("period", "cores", "memory_bytes")


def _text(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


def _number(value: Any) -> float | None:
    return None if value is None or value == "" else float(value)
