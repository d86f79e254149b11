"""The values of the mapping form's fields, and the mapping made of them.

`suggested` fills the form in from what was recognised (`Inspection.mapping`); `mapping_of` turns what a
person left in it into a `ColumnMapping`. Roles and units of further features are those that were said
(``answers``, by column), else those of the suggestion, else they are plain.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from core.traces.guessing.cpu_and_memory_columns import guess_usage_role
from core.traces.mapping import PERIOD, UNKNOWN, ColumnMapping, MappedColumn
from core.traces.model import Resampling, Role
from core.units import FILE_UNITS, GIB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOTHING = " "
FIELDS = (
    *("execution", "execution_parts", "time", "time_unit", "cpu", "cpu_unit", "memory", "memory_unit"),
    *("features", "attributes"),
    *("period", "resampling", "max_gap", "cores", "memory_gib"),
    "answers",
)
_MAIN = (Role.CPU, Role.MEMORY)


def suggested(mapping: ColumnMapping | None) -> dict[str, Any]:
    """The values that the form begins with; a unit that nothing tells is None."""
    if mapping is None:
        empty: dict[str, Any] = dict.fromkeys(FIELDS)
        empty |= {"execution": NOTHING, "time": NOTHING, "cpu": NOTHING, "memory": NOTHING}
        return empty | {"time_unit": "s", "cpu_unit": "cores", "memory_unit": "bytes", "features": [],
                        "attributes": [], "execution_parts": [], "resampling": "hold", "answers": {},
                        "max_gap": 3}  # fmt: skip
    cpu, memory = _of_role(mapping, Role.CPU), _of_role(mapping, Role.MEMORY)
    rest = [one for one in mapping.features if one not in (cpu, memory)]
    return {
        "execution": mapping.execution or NOTHING,
        "time": mapping.time or NOTHING,
        "execution_parts": list(mapping.execution_parts),
        "time_unit": "s" if mapping.time_unit == "none" else _known(mapping.time_unit),
        "cpu": cpu.column if cpu else NOTHING,
        "cpu_unit": _known(cpu.unit_key) if cpu else "cores",
        "memory": memory.column if memory else NOTHING,
        "memory_unit": _known(memory.unit_key) if memory else "bytes",
        "features": [one.column for one in rest],
        "attributes": list(mapping.attributes),
        "period": mapping.period,
        "resampling": mapping.resampling.value,
        "max_gap": mapping.max_gap,
        "cores": mapping.cores,
        "memory_gib": None if mapping.memory_bytes is None else round(mapping.memory_bytes / GIB, 3),
        "answers": _said_of(rest),
    }


def _said_of(columns: Sequence[MappedColumn]) -> dict[str, dict[str, str]]:
    """The roles and units of further features as if they had been said; those that are open are not."""
    return {
        one.column: {"role": one.role.value, "unit": one.unit_key}
        for one in columns
        if one.unit_key != UNKNOWN and one.role not in _MAIN
    }


def _known(unit: str) -> str | None:
    return None if unit == UNKNOWN else unit


def _of_role(mapping: ColumnMapping, role: Role) -> MappedColumn | None:
    return next((one for one in mapping.features if one.role is role), None)


def mapping_of(values: Mapping[str, Any], suggestion: ColumnMapping | None) -> ColumnMapping:
    """The mapping that the form describes.

    Raises
    ------
    InputError
        If the mapping is invalid; says which column or number.
    """
    features = []
    for key, role in (("cpu", Role.CPU), ("memory", Role.MEMORY)):
        if named(values[key]):
            features.append(MappedColumn(values[key], role, values[f"{key}_unit"] or UNKNOWN))
    features += further(values, suggestion)
    time, gib = named(values["time"]), number(values["memory_gib"])
    period, max_gap = number(values["period"]), number(values["max_gap"])
    execution = named(values["execution"])
    return ColumnMapping(
        features=tuple(features),
        execution=execution,
        execution_parts=tuple(values["execution_parts"] or ()) if execution else (),
        assumed=_still_assumed(features, time, values["time_unit"], period, suggestion),
        time=time,
        time_unit=(values["time_unit"] or UNKNOWN) if time else "none",
        period=1.0 if period is None and not time else period,
        resampling=Resampling(values["resampling"]),
        max_gap=3.0 if max_gap is None else max_gap,
        attributes=tuple(values["attributes"] or ()),
        cores=number(values["cores"]),
        memory_bytes=None if gib is None else gib * GIB,
        as_written=suggestion is not None and suggestion.as_written,
    )


def _still_assumed(
    features: list[MappedColumn],
    time: str | None,
    time_unit: str | None,
    period: float | None,
    suggestion: ColumnMapping | None,
) -> tuple[str, ...]:
    """The columns that keep the unit which was only assumed, and the period of a file without times."""
    if suggestion is None:
        return ()
    kept = set(suggestion.features) & set(features)
    names = [one.column for one in features if one in kept and one.column in suggestion.assumed]
    if time is not None and time in suggestion.assumed and time_unit == suggestion.time_unit:
        names.insert(0, time)
    unset = time is None and (
        period is None or (PERIOD in suggestion.assumed and period == suggestion.period)
    )
    return (PERIOD, *names) if unset else tuple(names)


def further(values: Mapping[str, Any], suggestion: ColumnMapping | None) -> list[MappedColumn]:
    """The further features that the form names, with their roles and units."""
    known = {one.column: one for one in suggestion.features} if suggestion else {}
    answers, main = values["answers"] or {}, (values["cpu"], values["memory"])
    fields = ((Role.CPU, "cpu"), (Role.MEMORY, "memory"))
    chosen = {role for role, key in fields if named(values[key])}
    return [
        _further(known.get(name, MappedColumn(name)), answers.get(name), chosen)
        for name in values["features"] or ()
        if name not in main
    ]


def _further(found: MappedColumn, said: Mapping[str, str | None] | None, chosen: set[Role]) -> MappedColumn:
    """A further feature; the columns chosen for CPU and memory are the only ones of these roles."""
    found = unmeasured(found) if found.role in _MAIN else found
    if said is None:
        # it was asked whether this is CPU or memory, which is another column now
        settled = found.unit_key == UNKNOWN and guess_usage_role(found.column) in chosen
        return MappedColumn(found.column) if settled else found
    role = Role(said.get("role") or found.role)
    return MappedColumn(found.column, role, said.get("unit") or ("plain" if role is Role.OTHER else UNKNOWN))


def unmeasured(found: MappedColumn) -> MappedColumn:
    """The column without a role, in the unit that the file is known to have, as long as that needs none."""
    kept = found.role in (*_MAIN, Role.OTHER)
    return MappedColumn(found.column, Role.OTHER, found.unit_key if kept else "plain")


def named(value: str | None) -> str | None:
    """The column chosen in a select; None while it is empty."""
    return value if value and value != NOTHING else None


def number(value: Any) -> float | None:
    """What a number field holds; None while it is empty."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def needs_machine(values: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether the number of cores and the memory of the machine would turn a share into a quantity."""

    def share(key: str) -> bool:
        unit = values[f"{key}_unit"]
        return named(values[key]) is not None and unit is not None and FILE_UNITS[unit].of_machine

    return share("cpu"), share("memory")
