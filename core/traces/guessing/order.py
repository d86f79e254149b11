"""What the order of rows tells: a counter that falls is none, names that take turns are of several series."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from core.traces.cells.dates import is_clock, is_date
from core.traces.cells.numbers import EMPTY, read, style_of_rows
from core.traces.guessing.column_names import key, words
from core.traces.mapping import UNKNOWN
from core.units import FILE_UNITS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from core.traces.cells.numbers import NumberStyle
    from core.traces.mapping import ColumnMapping

MOST_FALLS = 0.05
"""What falls at more of its steps than this has only a counter's name: counters rarely start again."""
TURNS = 0.1
"""A column goes to and fro within an execution where it changes at more of its steps than this."""
ROTATES = 0.8
"""Series take turns where this share of cells are those of one round before."""
MOST_NAMES = 0.5
"""Names repeat: a column with more different cells than this share of its rows is text, and names nothing."""
_PARTS = frozenset(
    ("namespace", "cluster", "host", "hostname", "node", "instance", "machine", "vm", "pod", "container",
     "job", "task", "run", "replica", "worker", "rank", "pid", "gpu", "uid", "uuid", "device", "index",
     "service", "app", "application", "workload", "deployment", "statefulset", "daemonset", "component",
     "process", "program", "execution", "experiment", "trial", "scenario", "repetition", "server", "shard",
     "tenant", "project", "collection", "executor", "broker", "config", "configuration", "seed", "fold",
     "session", "attempt", "slot", "member", "peer", "client", "rack", "blade", "name", "id")
)  # fmt: skip
_AROUND = frozenset(
    ("id", "idx", "number", "nr", "no", "label", "local", "global", "exported", "kubernetes", "k8s", "docker",
     "compose", "com", "io", "spark", "kafka", "random", "containers", "pods")
)  # fmt: skip
"""Words that stand around those of parts: ``kubernetes.pod.name``, ``local_rank``."""
_ID = re.compile(rf"(?:{'|'.join(_PARTS - {'id', 'name'})})(?:id|name)s?$")
"""Words that end with the id or name of a part: ``containerid``, ``msinstanceid``."""
_STATES = frozenset(
    ("status", "state", "phase", "stage", "message", "msg", "event", "comment", "note", "notes", "log",
     "level", "uptime", "age", "date", "day", "weekday", "hour", "timezone", "tz", "epoch", "step",
     "iteration", "iter", "batch", "reason", "error", "warning")
)  # fmt: skip
"""Words of columns that say how an execution is doing: these change while it runs."""

_PLACES = frozenset(("host", "hostname", "node", "machine", "vm", "server", "cluster", "instance"))
"""Where an execution runs: it may be moved."""


def is_identity(name: str) -> bool:
    """Whether a column is called like a part of an execution, or like the place of one."""
    said = set(words(name))
    parts = {word for word in said if word in _PARTS or _ID.search(word)}
    return bool(parts) and said - parts <= _AROUND


def is_state(name: str) -> bool:
    """Whether a column is called like what changes while an execution runs."""
    return bool(_STATES & set(words(name)))


def is_place(name: str) -> bool:
    """Whether a column is called like where an execution runs."""
    return bool(_PLACES & set(words(name)))


def by_execution(
    names: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[list[Sequence[str]]]:
    """The rows of each execution, which some columns name together, in the order of the file."""
    whole = [row for row in rows if len(row) == len(header)]
    if not names:
        return [whole] if whole else []
    named = itemgetter(*(header.index(name) for name in names))
    found: dict[object, list[Sequence[str]]] = {}
    for row in whole:
        found.setdefault(named(row), []).append(row)
    return list(found.values())


def cells_of_longest(
    name: str, executions: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[str]:
    """The cells of a column in the rows of the execution that has most of them."""
    place = header.index(name)
    longest = max(by_execution(executions, header, rows), key=len, default=[])
    return [row[place] for row in longest]


def without_false_counters(
    mapping: ColumnMapping, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> ColumnMapping:
    """The mapping in which a counter that falls as gauges do has an unknown unit.

    A recording rule and a legend keep the name of the counter that they are the rate of.
    """
    counters = [
        one.column
        for one in mapping.features
        if one.unit_key in FILE_UNITS and FILE_UNITS[one.unit_key].cumulative
    ]
    if not counters:
        return mapping
    style = style_of_rows(rows)
    groups = by_execution(mapping.executions, header, rows)
    false = {name for name in counters if _falls(groups, header.index(name), style) > MOST_FALLS}
    features = tuple(
        replace(one, unit_key=UNKNOWN) if one.column in false else one for one in mapping.features
    )
    return replace(mapping, features=features, assumed=tuple(n for n in mapping.assumed if n not in false))


def _falls(groups: Sequence[Sequence[Sequence[str]]], place: int, style: NumberStyle) -> float:
    """The share of a column's steps that go the rarer way: a file may also begin with its latest row."""
    up = down = steps = 0
    for rows in groups:
        found = (read(row[place], style) for row in rows if row[place].strip() not in EMPTY)
        values = [number.value for number in found if number is not None]
        for before, after in pairwise(values):
            steps += 1
            up += after > before
            down += after < before
    return min(up, down) / max(steps, 1)


def with_varying(
    mapping: ColumnMapping, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> ColumnMapping:
    """The mapping with those columns of names as attributes that it leaves out and that vary in an execution.

    All rows of an attribute are looked at when the file is read: what varies may be of several executions.
    """
    groups = by_execution(mapping.executions, header, rows)
    style, called, used = style_of_rows(rows), Counter(header), frozenset(mapping.columns)
    found = []
    for place, name in enumerate(header):
        if name in used or called[name] > 1 or is_state(name):
            continue
        columns = [
            [row[place].strip() for row in group if row[place].strip() not in EMPTY] for group in groups
        ]
        if any(_are_names(name, cells, style) for cells in columns):
            found.append(name)
    return replace(mapping, attributes=(*mapping.attributes, *found)) if found else mapping


def _are_names(name: str, cells: Sequence[str], style: NumberStyle) -> bool:
    """Whether the cells of one execution are several names that repeat, and no numbers or times."""
    kinds = set(cells)
    if not 1 < len(kinds) <= MOST_NAMES * len(cells) or all(
        is_date(cell) or is_clock(cell) for cell in kinds
    ):
        return False
    if all(cell.isdecimal() for cell in kinds):
        return is_identity(name)
    return not all(read(cell, style) is not None for cell in kinds)


def telling_apart(
    names: Sequence[str],
    others: Sequence[str],
    time: str | None,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> list[str]:
    """Those of other columns that tell apart what the names of executions do not."""
    found: list[str] = []
    moment = None if time is None else header.index(time)
    for name in others:
        groups, place = by_execution([*names, *found], header, rows), header.index(name)
        cells = {row[place].strip() for group in groups for row in group} - EMPTY
        if not _may_name(name, cells):
            continue
        if any(_rotates([row[place].strip() for row in group]) for group in groups) or (
            moment is not None and _settles(groups, place, moment)
        ):
            found.append(name)
    return found


def _may_name(name: str, cells: Collection[str]) -> bool:
    """Whether cells can be names: numbers only where they are ids, or count from 0 or 1."""
    if not all(cell.isdecimal() for cell in cells) or key(name).endswith("id"):
        return True
    numbers = sorted({int(cell) for cell in cells if len(cell) < 9})
    return bool(numbers) and numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1


def _rotates(cells: Sequence[str]) -> bool:
    """Whether values come in turns: each is that of one round before, and not the one just before."""
    filled = [cell for cell in cells if cell not in EMPTY]
    kinds = len(set(filled))
    again = sum(before == after for before, after in zip(filled, filled[kinds:], strict=False))
    changes = sum(before != after for before, after in pairwise(filled))
    rounds = len(filled) - kinds
    return kinds > 1 and rounds >= kinds and min(again, changes) >= ROTATES * rounds


def _settles(groups: Sequence[Sequence[Sequence[str]]], place: int, moment: int) -> bool:
    """Whether rows of one time are told apart by a column."""
    rows = sum(map(len, groups))
    apart = sum(len({row[moment] for row in group}) for group in groups)
    told = sum(len({(row[moment], row[place]) for row in group}) for group in groups)
    return rows - apart > TURNS * rows and rows - told < TURNS * (rows - apart)
