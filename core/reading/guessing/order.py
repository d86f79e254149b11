"""Conclusions from the order of rows: a falling counter is none, alternating names are several series."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from core.reading.dates import is_clock, is_date
from core.reading.guessing.column_names import normalize_name, split_words
from core.reading.mapping import UNKNOWN
from core.reading.numbers import EMPTY, find_style_of_rows, parse_number
from core.units import FILE_UNITS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from core.reading.mapping import ColumnMapping
    from core.reading.numbers import NumberStyle

MAX_FALLS = 0.05
"""A column that falls at a larger share of its steps is not a counter: counters rarely restart."""
MIN_TURNS = 0.1
"""A column alternates within an execution if it changes at a larger share of its steps."""
MIN_REPEATED = 0.8
"""Series take turns if this share of cells repeats the cell of one round before."""
MAX_DISTINCT = 0.5
"""Names repeat: a column with more distinct cells than this share of its rows is free text."""
_PART_WORDS = frozenset(
    ("namespace", "cluster", "host", "hostname", "node", "instance", "machine", "vm", "pod", "container",
     "job", "task", "run", "replica", "worker", "rank", "pid", "gpu", "uid", "uuid", "device", "index",
     "service", "app", "application", "workload", "deployment", "statefulset", "daemonset", "component",
     "process", "program", "execution", "experiment", "trial", "scenario", "repetition", "server", "shard",
     "tenant", "project", "collection", "executor", "broker", "config", "configuration", "seed", "fold",
     "session", "attempt", "slot", "member", "peer", "client", "rack", "blade", "name", "id")
)  # fmt: skip
_FILLER_WORDS = frozenset(
    ("id", "idx", "number", "nr", "no", "label", "local", "global", "exported", "kubernetes", "k8s", "docker",
     "compose", "com", "io", "spark", "kafka", "random", "containers", "pods")
)  # fmt: skip
"""Words around those of parts: ``kubernetes.pod.name``, ``local_rank``."""
_ID_WORD = re.compile(rf"(?:{'|'.join(_PART_WORDS - {'id', 'name'})})(?:id|name)s?$")
"""Words that end with the id or name of a part: ``containerid``, ``msinstanceid``."""
_STATE_WORDS = frozenset(
    ("status", "state", "phase", "stage", "message", "msg", "event", "comment", "note", "notes", "log",
     "level", "uptime", "age", "date", "day", "weekday", "hour", "timezone", "tz", "epoch", "step",
     "iteration", "iter", "batch", "reason", "error", "warning")
)  # fmt: skip
"""Words of columns with the state of an execution, which changes while it runs."""

_PLACE_WORDS = frozenset(("host", "hostname", "node", "machine", "vm", "server", "cluster", "instance"))
"""Words for the place of an execution, which may change."""


def is_identity_name(name: str) -> bool:
    """Whether a column's name means a part or the place of an execution."""
    name_words = set(split_words(name))
    parts = {word for word in name_words if word in _PART_WORDS or _ID_WORD.search(word)}
    return bool(parts) and name_words - parts <= _FILLER_WORDS


def is_state_name(name: str) -> bool:
    """Whether a column's name means a state that changes while an execution runs."""
    return bool(_STATE_WORDS & set(split_words(name)))


def is_place_name(name: str) -> bool:
    """Whether a column's name means the place where an execution runs."""
    return bool(_PLACE_WORDS & set(split_words(name)))


def group_by_execution(
    names: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[list[Sequence[str]]]:
    """Group rows by the columns that name executions together, in the order of the file."""
    whole = [row for row in rows if len(row) == len(header)]
    if not names:
        return [whole] if whole else []
    names_of = itemgetter(*(header.index(name) for name in names))
    found: dict[object, list[Sequence[str]]] = {}
    for row in whole:
        found.setdefault(names_of(row), []).append(row)
    return list(found.values())


def get_longest_execution_cells(
    name: str, executions: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[str]:
    """Return the cells of a column in the rows of the longest execution."""
    index = header.index(name)
    longest = max(group_by_execution(executions, header, rows), key=len, default=[])
    return [row[index] for row in longest]


def clear_false_counters(
    mapping: ColumnMapping, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> ColumnMapping:
    """Return the mapping with an unknown unit for counters that fall as gauges do.

    Recording rules and legends of a rate keep the name of its counter.
    """
    counters = [
        one.column
        for one in mapping.features
        if one.unit_key in FILE_UNITS and FILE_UNITS[one.unit_key].cumulative
    ]
    if not counters:
        return mapping
    style = find_style_of_rows(rows)
    groups = group_by_execution(mapping.executions, header, rows)
    false_counters = {
        name for name in counters if _share_of_falls(groups, header.index(name), style) > MAX_FALLS
    }
    features = tuple(
        replace(one, unit_key=UNKNOWN) if one.column in false_counters else one for one in mapping.features
    )
    return replace(
        mapping, features=features, assumed=tuple(n for n in mapping.assumed if n not in false_counters)
    )


def _share_of_falls(groups: Sequence[Sequence[Sequence[str]]], index: int, style: NumberStyle) -> float:
    """Return the share of a column's steps in the rarer direction; a file may begin with its latest row."""
    up = down = steps = 0
    for rows in groups:
        found = (parse_number(row[index], style) for row in rows if row[index].strip() not in EMPTY)
        values = [number.value for number in found if number is not None]
        for before, after in pairwise(values):
            steps += 1
            up += after > before
            down += after < before
    return min(up, down) / max(steps, 1)


def add_varying_attributes(
    mapping: ColumnMapping, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> ColumnMapping:
    """Return the mapping with unused columns of names that vary within an execution as attributes.

    The import checks all rows of an attribute: one that varies may belong to several executions.
    """
    groups = group_by_execution(mapping.executions, header, rows)
    style, occurrences, used = find_style_of_rows(rows), Counter(header), frozenset(mapping.columns)
    found = []
    for index, name in enumerate(header):
        if name in used or occurrences[name] > 1 or is_state_name(name):
            continue
        columns = [
            [row[index].strip() for row in group if row[index].strip() not in EMPTY] for group in groups
        ]
        if any(_are_names(name, cells, style) for cells in columns):
            found.append(name)
    return replace(mapping, attributes=(*mapping.attributes, *found)) if found else mapping


def _are_names(name: str, cells: Sequence[str], style: NumberStyle) -> bool:
    """Whether the cells of one execution are several repeating names, not numbers or times."""
    kinds = set(cells)
    if not 1 < len(kinds) <= MAX_DISTINCT * len(cells) or all(
        is_date(cell) or is_clock(cell) for cell in kinds
    ):
        return False
    if all(cell.isdecimal() for cell in kinds):
        return is_identity_name(name)
    return not all(parse_number(cell, style) is not None for cell in kinds)


def find_distinguishing_columns(
    names: Sequence[str],
    others: Sequence[str],
    time: str | None,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> list[str]:
    """Find the columns that distinguish rows which the names of executions do not."""
    found: list[str] = []
    time_index = None if time is None else header.index(time)
    for name in others:
        groups, index = group_by_execution([*names, *found], header, rows), header.index(name)
        cells = {row[index].strip() for group in groups for row in group} - EMPTY
        if not _can_name(name, cells):
            continue
        if any(_takes_turns([row[index].strip() for row in group]) for group in groups) or (
            time_index is not None and _separates_equal_times(groups, index, time_index)
        ):
            found.append(name)
    return found


def _can_name(name: str, cells: Collection[str]) -> bool:
    """Whether cells can be names: numbers only if they are ids or count from 0 or 1."""
    if not all(cell.isdecimal() for cell in cells) or normalize_name(name).endswith("id"):
        return True
    numbers = sorted({int(cell) for cell in cells if len(cell) < 9})
    return bool(numbers) and numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1


def _takes_turns(cells: Sequence[str]) -> bool:
    """Whether values take turns: each repeats the one of a round before, not the previous one."""
    filled = [cell for cell in cells if cell not in EMPTY]
    kinds = len(set(filled))
    repeated = sum(before == after for before, after in zip(filled, filled[kinds:], strict=False))
    changes = sum(before != after for before, after in pairwise(filled))
    rounds = len(filled) - kinds
    return kinds > 1 and rounds >= kinds and min(repeated, changes) >= MIN_REPEATED * rounds


def _separates_equal_times(groups: Sequence[Sequence[Sequence[str]]], index: int, time_index: int) -> bool:
    rows = sum(map(len, groups))
    distinct_times = sum(len({row[time_index] for row in group}) for group in groups)
    distinct_pairs = sum(len({(row[time_index], row[index]) for row in group}) for group in groups)
    return rows - distinct_times > MIN_TURNS * rows and rows - distinct_pairs < MIN_TURNS * (
        rows - distinct_times
    )
