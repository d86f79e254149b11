"""Turning strings into numbers and times, cell by cell, with a row number for each that is neither."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from core.traces.guessing import EMPTY, is_number
from core.traces.mapping import TIME_FACTORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray
    from core.traces.validation import ProblemLog


def numbers(
    cells: Sequence[str], rows: Sequence[int], column: str, log: ProblemLog, decimal: str = "."
) -> tuple[FloatArray, list[int]]:
    """Read cells as numbers; missing and unparsable ones become NaN.

    Parameters
    ----------
    cells
        Strings, shape (n,).
    rows
        Their row numbers.
    column
        The column's name, for the report.
    log
        Where unparsable cells are reported.
    decimal
        The decimal mark.

    Returns
    -------
    tuple
        The values, shape (n,), and the positions of the cells that were reported.
    """
    if decimal == ".":
        try:
            quick = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
        except ValueError:
            pass
        else:
            if not any("_" in cell for cell in cells):
                return quick, []
    values, flawed = np.empty(len(cells)), []
    for i, cell in enumerate(cells):
        value = _number(cell, decimal)
        if value is None:
            flawed.append(i)
            _say(log, "unparsable", column, rows[i], cell, "number")
        values[i] = math.nan if value is None else value
    return values, flawed


def _number(cell: str, decimal: str) -> float | None:
    """A cell's number, NaN where it is empty, None where it is neither."""
    text = cell.strip()
    if text in EMPTY:
        return math.nan
    if decimal == ",":
        text = text.replace(".", "").replace(",", ".") if text.count(",") == 1 else text
    return float(text.rstrip("% \t")) if is_number(text) else None


def times(
    cells: Sequence[str], rows: Sequence[int], column: str, unit: str, log: ProblemLog, decimal: str = "."
) -> tuple[FloatArray, list[int]]:
    """Read cells as seconds; missing and unparsable ones become NaN (see `numbers`)."""
    if unit != "iso":
        scratch = type(log)()
        values, flawed = numbers(cells, rows, column, scratch, decimal)
        for i in flawed:
            _say(log, "unparsable_time", column, rows[i], cells[i], "time")
        return values * TIME_FACTORS.get(unit, 1.0), flawed
    values, flawed = np.empty(len(cells)), []
    for i, cell in enumerate(cells):
        value = _seconds(cell)
        if value is None:
            flawed.append(i)
            _say(log, "unparsable_time", column, rows[i], cell, "date")
        values[i] = math.nan if value is None else value
    return values, flawed


def _seconds(cell: str) -> float | None:
    text = cell.strip()
    if text in EMPTY:
        return math.nan
    try:
        moment = datetime.fromisoformat(text.replace("/", "-"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _say(log: ProblemLog, kind: str, column: str, row: int, cell: str, what: str) -> None:
    shown = cell.strip()
    shown = shown if len(shown) <= 40 else shown[:40] + "…"
    log.add(kind, f"Column “{column}”: row {row} has “{shown}”, which is no {what}.", row=row, column=column)
