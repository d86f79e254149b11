"""The form that says which column of a file is what, with a preview of the rows.

The form shows a suggestion (`Inspection.mapping`); `mapping_of` turns what a person left in it into a
`ColumnMapping`. Roles and units of further features come from the suggestion, else they are plain.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import html

from core.traces.mapping import TIME_UNITS, ColumnMapping, MappedColumn
from core.traces.model import Resampling, Role
from core.units import FILE_UNITS, GIB, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.components.basics import Node

NOTHING = " "
FIELDS = (
    *("execution", "time", "time_unit", "cpu", "cpu_unit", "memory", "memory_unit", "features", "attributes"),
    *("period", "resampling", "max_gap", "cores", "memory_gib"),
)
RESAMPLING_HELP = {
    Resampling.HOLD: "Every period gets the last value before it; right for most recorders.",
    Resampling.MEAN: "Every period gets the mean of its samples; right when samples are denser than it.",
    Resampling.NONE: "Rows stay as they come; right when they are a period apart already.",
}
_RESAMPLING = {
    Resampling.HOLD: "Hold the last value",
    Resampling.MEAN: "Mean of each period",
    Resampling.NONE: "None: as they come",
}


def field_id(field: str) -> str:
    """The id of a field's control."""
    return f"map-{field.replace('_', '-')}"


def suggested(inspection: Any) -> dict[str, Any]:
    """The values that the form begins with."""
    mapping: ColumnMapping | None = inspection.mapping
    if mapping is None:
        empty: dict[str, Any] = dict.fromkeys(FIELDS)
        empty |= {"execution": NOTHING, "time": NOTHING, "cpu": NOTHING, "memory": NOTHING}
        return empty | {"time_unit": "s", "cpu_unit": "cores", "memory_unit": "bytes", "features": [],
                        "attributes": [], "resampling": "hold", "max_gap": 3}  # fmt: skip
    cpu, memory = _of_role(mapping, Role.CPU), _of_role(mapping, Role.MEMORY)
    rest = [one.column for one in mapping.features if one not in (cpu, memory)]
    return {
        "execution": mapping.execution or NOTHING,
        "time": mapping.time or NOTHING,
        "time_unit": "s" if mapping.time_unit == "none" else mapping.time_unit,
        "cpu": cpu.column if cpu else NOTHING,
        "cpu_unit": cpu.unit_key if cpu else "cores",
        "memory": memory.column if memory else NOTHING,
        "memory_unit": memory.unit_key if memory else "bytes",
        "features": rest,
        "attributes": list(mapping.attributes),
        "period": mapping.period,
        "resampling": mapping.resampling.value,
        "max_gap": mapping.max_gap,
        "cores": mapping.cores,
        "memory_gib": None if mapping.memory_bytes is None else round(mapping.memory_bytes / GIB, 3),
    }


def _of_role(mapping: ColumnMapping, role: Role) -> MappedColumn | None:
    return next((one for one in mapping.features if one.role is role), None)


def mapping_of(values: Mapping[str, Any], suggestion: ColumnMapping | None) -> ColumnMapping:
    """The mapping that the form says.

    Parameters
    ----------
    values
        One value per field of `FIELDS`.
    suggestion
        What was recognised; further features keep its roles and units.

    Raises
    ------
    InputError
        If the mapping cannot be; says which column or number.
    """
    known = {one.column: one for one in suggestion.features} if suggestion else {}
    features = []
    for key, role in (("cpu", Role.CPU), ("memory", Role.MEMORY)):
        if named(values[key]):
            features.append(MappedColumn(values[key], role, values[f"{key}_unit"]))
    features += [_further(name, known) for name in values["features"] or ()]
    time, gib = named(values["time"]), number(values["memory_gib"])
    period, max_gap = number(values["period"]), number(values["max_gap"])
    return ColumnMapping(
        features=tuple(features),
        execution=named(values["execution"]),
        time=time,
        time_unit=values["time_unit"] if time else "none",
        period=1.0 if period is None and not time else period,
        resampling=Resampling(values["resampling"]),
        max_gap=3.0 if max_gap is None else max_gap,
        attributes=tuple(values["attributes"] or ()),
        cores=number(values["cores"]),
        memory_bytes=None if gib is None else gib * GIB,
    )


def _further(name: str, known: Mapping[str, MappedColumn]) -> MappedColumn:
    """A further feature; the columns chosen for CPU and memory are the only ones of these roles."""
    found = known.get(name, MappedColumn(name))
    plain = found.role in (Role.CPU, Role.MEMORY)
    return MappedColumn(name, Role.OTHER, found.unit_key) if plain else found


def named(value: str | None) -> str | None:
    """The column that a select names; None while it says none."""
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
        return named(values[key]) is not None and FILE_UNITS[values[f"{key}_unit"]].of_machine

    return share("cpu"), share("memory")


def form(inspection: Any) -> Node:
    """The controls, filled in with the suggestion."""
    values, names = suggested(inspection), [column.name for column in inspection.columns]
    columns = html.Div(
        [
            html.Div(
                _column("execution", "Execution", names, values, "None: the file is one execution"),
                className="alone",
            ),
            html.Div(
                _many(
                    "attributes", "Attributes", names, values, "One text per execution, such as its workload."
                ),
                className="alone",
            ),
            _column("time", "Time", names, values, "None: row number × period"),
            _choice("time_unit", "Unit of time", _time_units(), values),
            _column("cpu", "CPU", names, values, "None"),
            _choice("cpu_unit", "Unit of CPU", _units(Unit.CORES), values),
            _column("memory", "Memory", names, values, "None"),
            _choice("memory_unit", "Unit of memory", _units(Unit.BYTES), values),
            html.Div(
                _many("features", "Further features", names, values, "Numbers that a model may also read."),
                className="wide",
            ),
        ],
        className="mapgrid",
    )
    sampling = html.Div(
        [
            _number(
                "period", "Sampling period", values, " s", "Left empty, it is found from the file.", "auto"
            ),
            _choice("resampling", "Irregular samples", _resamplings(), values, " "),
            _number("max_gap", "Longest gap", values, " periods", "A longer one splits the execution there."),
            _number("cores", "Cores of the machine", values, " cores", "Turns shares into cores.", "unknown"),
            _number(
                "memory_gib", "Memory of the machine", values, " GiB", "Turns shares into GiB.", "unknown"
            ),
        ],
        className="mapgrid one",
    )
    return html.Div([columns, html.Div(className="rule"), sampling], className="mapform")


def _options(names: Sequence[str], none: str) -> list[dict[str, str]]:
    return [{"value": NOTHING, "label": none}, *({"value": name, "label": name} for name in names)]


def _units(canonical: Unit) -> list[dict[str, str]]:
    return [
        {"value": unit.key, "label": unit.label}
        for unit in FILE_UNITS.values()
        if unit.unit is canonical or unit.of_machine
    ]


def _time_units() -> list[dict[str, str]]:
    return [{"value": key, "label": label} for key, label in TIME_UNITS.items() if key != "none"]


def _resamplings() -> list[dict[str, str]]:
    return [{"value": rule.value, "label": label} for rule, label in _RESAMPLING.items()]


def _column(field: str, label: str, names: Sequence[str], values: Mapping[str, Any], none: str) -> dmc.Select:
    return dmc.Select(
        id=field_id(field),
        label=label,
        data=_options(names, none),
        value=values[field],
        allowDeselect=False,
        searchable=len(names) > 8,
        nothingFoundMessage="No column of that name",
    )


def _choice(
    field: str, label: str, data: list[dict[str, str]], values: Mapping[str, Any], text: str | None = None
) -> dmc.Select:
    return dmc.Select(
        id=field_id(field),
        label=label,
        data=data,
        value=values[field],
        allowDeselect=False,
        description=text,
        inputWrapperOrder=["label", "input", "description", "error"],
    )


def _many(
    field: str, label: str, names: Sequence[str], values: Mapping[str, Any], text: str
) -> dmc.MultiSelect:
    return dmc.MultiSelect(
        id=field_id(field),
        label=label,
        data=list(names),
        value=values[field],
        searchable=True,
        clearable=True,
        hidePickedOptions=True,
        description=text,
        inputWrapperOrder=["label", "input", "description", "error"],
        nothingFoundMessage="No column of that name",
    )


def _number(
    field: str, label: str, values: Mapping[str, Any], unit: str, text: str, placeholder: str = ""
) -> html.Div:
    """A number with its unit; in a box of its own, so that it can be hidden where it means nothing."""
    control = dmc.NumberInput(
        id=field_id(field),
        label=label,
        value=values[field] if values[field] is not None else "",
        suffix=unit,
        min=0,
        allowNegative=False,
        hideControls=True,
        placeholder=placeholder,
        description=text,
        inputWrapperOrder=["label", "input", "description", "error"],
        debounce=250,
    )
    return html.Div(control, id=f"{field_id(field)}-box")
