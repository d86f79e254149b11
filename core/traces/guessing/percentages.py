"""Percentages: whether a column's numbers are some, and not shares of one; and of what those of CPU are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from core.traces.cells.numbers import style_of_rows
from core.traces.cells.quantities import numbers_of, written_unit
from core.traces.mapping import UNKNOWN
from core.traces.model import Role
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.mapping import ColumnMapping

PERCENT = frozenset(("percent", "pct", "perc", "percentage"))
KEYS = ("percent", "percent_of_core", "percent_of_machine")
CLEARLY = 110.0
"""Above this a percentage is of one core: rounding and turbo make a little more than 100 of a machine."""
REPEATEDLY = 0.01
"""And it is so in more than this share of samples: one of them alone is a glitch."""
_FEW = 20
_OF_MACHINE = frozenset(("machine", "host", "node", "limit", "request", "requested"))


def are_shares(values: Sequence[float]) -> bool:
    """Whether the numbers under the name of a percentage may be shares of one: 0.31 for 31%."""
    return bool(values) and max(values) <= 1 and not all(value.is_integer() for value in values)


def without_shares(
    mapping: ColumnMapping, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> ColumnMapping:
    """The mapping in which a percentage that may be a share of one has an unknown unit."""
    style = style_of_rows(rows)

    def doubtful(name: str) -> bool:
        place = header.index(name)
        numbers = numbers_of((row[place] for row in rows if place < len(row)), style)
        return written_unit(numbers) is not Unit.SHARE and are_shares([number.value for number in numbers])

    features = tuple(
        replace(one, unit_key=UNKNOWN)
        if one.unit_key in KEYS and one.role is not Role.OTHER and doubtful(one.column)
        else one
        for one in mapping.features
    )
    return replace(mapping, features=features)


def of_cpu(values: Sequence[float], said: Sequence[str]) -> str:
    """The unit of a percentage of CPU; `UNKNOWN` where nobody can know of what it is."""
    if of_one_core(said):
        return "percent_of_core"
    if _OF_MACHINE & set(said):
        return "percent_of_machine"
    above = sum(value > CLEARLY for value in values)
    sure = above > REPEATEDLY * len(values) and (above > 1 or len(values) < _FEW)
    # Windows' utility exceeds 100 while the clock does
    return "percent_of_core" if sure and "utility" not in said else UNKNOWN


def of_one_core(said: Sequence[str]) -> bool:
    """Whether a name says that 100 is one core, and not the usage of core 3, or the mean of all cores."""
    if {"avg", "average", "mean"} & set(said):
        return False
    of = ("of", "per", "one", "single", "1")
    return any(second == "core" and first in of for first, second in pairwise(said))
