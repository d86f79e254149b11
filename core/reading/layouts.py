"""Known layouts of trace files, recognised by their headers: one module and one entry in the register each.

The first layout of the register that recognises a table wins; the last one, `generic`, guesses from the names
of columns and recognises every table with numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.errors import InputError, format_names
from core.reading.dates import CLOCK, MINUTES, READERS
from core.reading.formats import (
    ai4dl,
    alibaba,
    batch_jobs,
    bitbrains,
    generic,
    prometheus,
    recorder,
    tracking,
)
from core.reading.guessing import MAX_FEATURES
from core.reading.guessing.column_names import normalize_name
from core.reading.guessing.cpu_and_memory_columns import describe_doubt, guess_other_role, guess_usage_role
from core.reading.guessing.order import add_varying_attributes, clear_false_counters
from core.reading.mapping import TIME_UNITS, UNKNOWN
from core.reading.numbers import BINARY_UNITS
from core.reading.tool_facts import Layout, TableHead, ToolFacts, find_host_limit
from core.registry import Registry
from core.traces.model import ROLE_NAMES, ROLE_UNITS, Role
from core.units import file_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.reading.mapping import ColumnMapping

_NAMED = 3
LAYOUTS: Registry[Layout] = Registry("layout")
for _layout in (
    ai4dl.LAYOUT,
    recorder.LAYOUT,
    batch_jobs.LAYOUT,
    bitbrains.LAYOUT,
    alibaba.LAYOUT,
    tracking.LAYOUT,
    prometheus.LAYOUT,
    generic.LAYOUT,  # the last: it takes whatever has a number
):
    LAYOUTS.add(_layout.name, _layout)


@dataclass(frozen=True, slots=True)
class Recognition:
    """The recognised layout of a table and its suggested mapping."""

    #: The name of the layout in `LAYOUTS`.
    layout: str
    #: Its name for people.
    label: str
    #: The suggested mapping.
    mapping: ColumnMapping
    #: The reasons as sentences, for the mapping form.
    reasons: tuple[str, ...]


def recognise_layout(
    header: tuple[str, ...],
    rows: tuple[tuple[str, ...], ...],
    made: str = "",
    facts: ToolFacts | None = None,
) -> Recognition:
    """Find the layout of a table and suggest a mapping; that of a known tool's reader is what its facts say.

    Raises InputError if no column has numbers.
    """
    head = TableHead(header, rows, made)
    layouts: list[tuple[str, str, Callable[[TableHead], ColumnMapping | None]]] = [
        (name, layout.label, layout.recognise) for name, layout in LAYOUTS.items()
    ]
    if facts is not None:
        layouts = [(facts.name, facts.label, facts.map_columns)]
    for name, label, recognise in layouts:
        mapping = recognise(head)
        if mapping is not None:
            sure = add_varying_attributes(clear_false_counters(mapping, header, rows), header, rows)
            host_limit = find_host_limit(sure, head, is_of_docker=_is_of_docker(header, facts))
            if host_limit is None:
                return Recognition(name, label, sure, _reasons(label, sure))
            features = tuple(one for one in sure.features if one.column != host_limit)
            sure = replace(sure, features=features)
            said = f"“{host_limit}” is one size for all, far above any use: the host’s memory, and no limit."
            return Recognition(name, label, sure, (*_reasons(label, sure), said))
    raise InputError(
        f"None of the columns contains numbers: {format_names(header)}.",
        "Choose a file whose header is its first row and whose columns hold measurements.",
    )


_DOCKER_NAMES = frozenset(
    ("pids", "mem_perc", "mem_percent", "mem_percentage", "memperc", "block_io", "blockio", "net_io", "netio")
)
"""Names that only tables of docker stats have beside a memory limit."""


def _is_of_docker(header: Sequence[str], facts: ToolFacts | None) -> bool:
    """Whether a table is of Docker, which prints the host's memory where a container has no limit."""
    is_docker = facts is not None and facts.name in ("docker_stats", "docker_api")
    return is_docker or (facts is None and bool(_DOCKER_NAMES & set(map(normalize_name, header))))


def _reasons(label: str, mapping: ColumnMapping) -> tuple[str, ...]:
    parts = [f"The columns look like: {label}."]
    # what is asked may still be one of them
    roles = {
        guess_usage_role(one.column) or one.role if one.unit_key == UNKNOWN else one.role
        for one in mapping.features
    }
    missing = [name for role, name in ((Role.CPU, "CPU"), (Role.MEMORY, "memory")) if role not in roles]
    if missing:
        what = " or ".join(missing)
        # GPUs or a network are usage enough; a table without any is likelier to be read wrongly
        ask = "" if roles & set(ROLE_UNITS) else ": choose one if there is"
        parts.append(f"No column looks like {what} usage{ask}.")
    parts += _of_units(mapping)
    if len(mapping.features) == MAX_FEATURES:
        parts.append(f"Only the first {MAX_FEATURES} columns of numbers are chosen.")
    if mapping.time is None:
        parts.append("No column looks like a time: rows are counted instead.")
    if mapping.execution is None:
        parts.append("No column names an execution: the whole file is taken as one.")
    return tuple(parts)


def _of_units(mapping: ColumnMapping) -> list[str]:
    """Describe assumed units and known roles with an unknown unit."""
    plain = [one.column for one in mapping.features if one.role is Role.OTHER and one.unit_key == "plain"]
    roles = ((name, guess_other_role(name)) for name in plain)
    unsaid = [f"“{name}” ({ROLE_NAMES[role]})" for name, role in roles if role in ROLE_UNITS]
    parts = [f"Kept as plain numbers, for nothing tells their unit: {_some(unsaid)}."] if unsaid else []
    assumed: dict[str, list[str]] = {}
    for one in mapping.features:
        assumed_ = one.column in mapping.assumed
        taken = describe_doubt(one, mapping.features, mapping.executions) if assumed_ else None
        if taken:
            parts.append(taken)
        elif one.column in mapping.assumed and one.unit_key in BINARY_UNITS:
            label, meant = file_unit(one.unit_key).label, file_unit(BINARY_UNITS[one.unit_key]).label
            parts.append(f"“{one.column}” is read as {label}; many programs mean {meant} by that.")
        elif one.column in mapping.assumed:
            assumed.setdefault(file_unit(one.unit_key).label, []).append(f"“{one.column}”")
    timed = mapping.time is not None and mapping.time in mapping.assumed
    if timed and mapping.time_unit in (CLOCK, MINUTES):
        parts.append(f"The dates beside “{mapping.time}” are not used.")
    elif timed and mapping.time_unit in READERS:
        parts.append(f"The zone of “{mapping.time}” stands for several: read as UTC.")
    elif timed:
        assumed.setdefault(TIME_UNITS.get(mapping.time_unit, mapping.time_unit), []).append(
            f"“{mapping.time}”"
        )
    parts += [
        f"Nothing tells the unit of {_some(names)}: read as {label}." for label, names in assumed.items()
    ]
    return parts


def _some(names: Sequence[str]) -> str:
    """List a few names and the number of the others."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
