"""Turning strings into numbers and times, cell by cell, with a row number for each that is neither."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from core.traces.cells.dates import READERS
from core.traces.cells.numbers import EMPTY, POINT, read
from core.traces.cells.quantities import quantity
from core.traces.mapping import TIME_FACTORS
from core.units import FILE_UNITS, format_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.cells.numbers import NumberStyle
    from core.traces.model import FloatArray
    from core.traces.validation import ProblemLog
    from core.units import FileUnit

_PLAIN = FILE_UNITS["plain"]


def numbers(
    cells: Sequence[str],
    rows: Sequence[int],
    column: str,
    log: ProblemLog,
    style: NumberStyle = POINT,
    unit: FileUnit = _PLAIN,
) -> tuple[FloatArray, list[int]]:
    """Read cells as numbers in a unit; missing and unparsable ones become NaN."""
    if style.decimal == ".":
        try:
            quick = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
        except ValueError:
            pass
        else:
            if not any("_" in cell for cell in cells):
                return quick, []
    values, flawed = np.empty(len(cells)), []
    for i, cell in enumerate(cells):
        value = number(cell, unit, style)
        if value is None:
            flawed.append(i)
            _say(log, "unparsable", column, rows[i], cell, _wrong(cell, unit, style))
        elif not value[1]:
            read_as = f"{format_number(value[0])} {unit.label}"
            message = f"Column “{column}”: row {rows[i]} has “{_shown(cell)}”, read as {read_as}."
            log.add("assumed_suffix", message, row=rows[i], column=column)
        values[i] = math.nan if value is None else value[0]
    return values, flawed


def number(cell: str, unit: FileUnit, style: NumberStyle) -> tuple[float, bool] | None:
    """A cell's value and whether its unit is sure; NaN where it is empty, None where it is no such value."""
    text = cell.strip()
    return (math.nan, True) if text in EMPTY else quantity(text, unit, style)


def times(
    cells: Sequence[str],
    rows: Sequence[int],
    column: str,
    unit: str,
    log: ProblemLog,
    style: NumberStyle = POINT,
) -> tuple[FloatArray, list[int]]:
    """Read cells as seconds; missing and unparsable ones become NaN (see `numbers`)."""
    if unit not in READERS:
        scratch = type(log)()
        values, flawed = numbers(cells, rows, column, scratch, style)
        for i in flawed:
            _say(log, "unparsable_time", column, rows[i], cells[i], "no time")
        return values * TIME_FACTORS.get(unit, 1.0), flawed
    values, flawed = np.empty(len(cells)), []
    for i, cell in enumerate(cells):
        value = moment(cell, unit)
        if value is None:
            flawed.append(i)
            wanted = "no date" if unit != "clock" else "no time of day"
            _say(log, "unparsable_time", column, rows[i], cell, wanted)
        values[i] = math.nan if value is None else value
    return values, flawed


def moment(cell: str, unit: str) -> float | None:
    """A date's or a time of day's seconds; NaN where the cell is empty, None where it is neither."""
    text = cell.strip()
    return math.nan if text in EMPTY else READERS[unit](text)


def _wrong(cell: str, unit: FileUnit, style: NumberStyle) -> str:
    """Why a cell is no value in a unit."""
    if read(cell, style) is None:
        return "no number"
    return "no plain number" if unit is _PLAIN else f"not in {unit.label}"


def _shown(cell: str) -> str:
    text = cell.strip()
    return text if len(text) <= 40 else text[:40] + "…"


def _say(log: ProblemLog, kind: str, column: str, row: int, cell: str, what: str) -> None:
    message = f"Column “{column}”: row {row} has “{_shown(cell)}”, which is {what}."
    log.add(kind, message, row=row, column=column)
