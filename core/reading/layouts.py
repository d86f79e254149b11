"""The register of known tables, recognised by their columns, and what their recognition says.

The first layout of the register that recognises a table wins; the last one, `generic`, guesses from the names
of columns and recognises every table with numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.errors import InputError, format_names
from core.reading import known_tables
from core.reading.dates import CLOCK, MINUTES, READERS
from core.reading.formats import prometheus
from core.reading.guessing import MAX_FEATURES, guess_mapping
from core.reading.guessing.column_names import normalize_name
from core.reading.guessing.cpu_and_memory_columns import describe_doubt, guess_other_role, guess_usage_role
from core.reading.guessing.order import add_varying_attributes, clear_false_counters
from core.reading.mapping import TIME_UNITS, UNKNOWN
from core.reading.numbers import BINARY_UNITS
from core.reading.tool_facts import TableHead, find_host_limit
from core.registry import Registry
from core.traces.model import ROLE_NAMES, ROLE_UNITS, Role
from core.units import file_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.reading.mapping import ColumnMapping
    from core.reading.tool_facts import ToolFacts

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Layout:
    """A known layout of columns, an entry of the register."""

    #: Its name in the register and in stored mappings.
    name: str
    #: Its name for people, as in “The columns look like: …”.
    label: str
    #: The mapping of a table of this layout, or None for a table of another layout.
    recognise: Callable[[TableHead], ColumnMapping | None]
    #: A header for the exam of layouts, names between commas; ``*`` marks columns of texts.
    example: str = ""


LAYOUTS: Registry[Layout] = Registry("layout")


def _layout_of(facts: ToolFacts) -> Layout:
    return Layout(facts.name, facts.label, facts.map_columns, facts.example)


for _facts in (
    known_tables.AI4DL,
    known_tables.RECORDER,
    known_tables.BATCH_JOBS,
    known_tables.BITBRAINS,
    known_tables.ALIBABA,
    known_tables.TRACKING,
):
    LAYOUTS.add(_facts.name, _layout_of(_facts))
LAYOUTS.add(
    "prometheus",
    Layout(
        "prometheus",
        "Prometheus with cAdvisor metrics",
        lambda head: prometheus.recognise(head) if head.find(prometheus.METRICS) else None,
    ),
)
LAYOUTS.add(
    "generic",  # the last: it takes whatever has a number
    Layout("generic", "columns guessed by name", lambda head: guess_mapping(head.header, head.rows)),
)


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
    is_chart: bool = False,
    facts: ToolFacts | None = None,
) -> Recognition:
    """Find the layout of a table and suggest a mapping; that of a known tool's reader is what its facts say.

    Raises InputError if no column has numbers.
    """
    head = TableHead(header, rows, is_chart)
    layouts = (
        [_layout_of(facts)]
        if facts
        else [*([_layout_of(known_tables.CHARTS)] if is_chart else []), *LAYOUTS.values()]
    )
    for layout in layouts:
        mapping = layout.recognise(head)
        if mapping is not None:
            mapping = add_varying_attributes(clear_false_counters(mapping, header, rows), header, rows)
            host_limit = find_host_limit(mapping, head, is_of_docker=_is_of_docker(header, facts))
            features = tuple(one for one in mapping.features if one.column != host_limit)
            mapping = replace(mapping, features=features)
            said = f"“{host_limit}” is one size for all, far above any use: the host’s memory, and no limit."
            reasons = (*_reasons(layout.label, mapping), *([said] if host_limit else []))
            return Recognition(layout.name, layout.label, mapping, reasons)
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
        parts.append(f"{MAX_FEATURES} columns of numbers are chosen: known ones, then the first others.")
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
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
