"""From a file's columns to a checked trace set.

The steps; each first checks whether there is anything to do (for a clean file none of them copies
a column), and records in the report what it did:

1. rows without execution or time are dropped,
2. rows are grouped by execution and sorted by time; of equal times the last row stays,
3. impossible numbers (infinite, negative usage, absurdly large) are removed,
4. growing counters become usage per second, file units become canonical ones,
5. missing cells are filled with the execution's last value, or the row is dropped,
6. samples are resampled to the sampling period, and executions that are too short are dropped.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from core.traces.cleaning import clean
from core.traces.evidence import doubts
from core.traces.mapping import PERIOD
from core.traces.model import Resampling, TraceSet
from core.traces.resample import infer_period, median_steps, resample
from core.traces.validation import ProblemLog, Report, UnusableError, many
from core.traces.working import Working
from core.units import file_unit, format_duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.traces.mapping import ColumnMapping
    from core.traces.model import FloatArray, IntArray
    from core.traces.raw import RawTable


def build(
    raw: RawTable, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
) -> tuple[TraceSet, Report]:
    """Check a file's columns and make a trace set of them.

    Parameters
    ----------
    raw
        The columns; its arrays may be reused but are never changed.
    mapping
        What they stand for.
    progress
        Called with the fraction done (0 to 1) and a sentence; may raise `Cancelled`.

    Raises
    ------
    UnusableError
        If no execution is left; its report says why.
    InputError
        If resampling would not fit into memory.
    """
    say = progress or _silent
    log = ProblemLog()
    log.extend(raw.problems)
    say(0.0, "Checking the rows")
    work = Working.of(raw, mapping, log)
    clean(work)
    _require(work.n > 0, log, raw.rows_read)
    say(0.5, "Resampling to one period")
    traces = _resampled(work)
    say(0.8, "Checking the executions")
    _say_single(work, log)
    traces, rows_kept = _long_enough(traces, work, mapping.min_samples)
    _say_doubts(traces, mapping, log)
    report = Report(log.problems, raw.rows_read, rows_kept, traces.n_executions)
    _require(traces.n_executions > 0, log, raw.rows_read)
    say(1.0, "Checked")
    return traces, report


def _silent(_share: float, _message: str) -> None:
    pass


def _require(usable: bool, log: ProblemLog, rows_read: int) -> None:
    """Raise if nothing is left, with the reason that matters most."""
    if usable:
        return
    report = Report(log.problems, rows_read)
    sentences = report.sentences()
    if rows_read == 0:
        raise UnusableError("The file has no rows below its header.", "Choose a file with samples.", report)
    hint = sentences[0] if sentences else "Check the mapping."
    raise UnusableError(f"None of the {rows_read:,} rows could be used.", hint, report)


def _resampled(work: Working) -> TraceSet:
    mapping, log = work.mapping, work.log
    medians = median_steps(work.time, work.offsets)
    period = mapping.period
    if period is None:
        period = infer_period(medians)
        _say_mixed(medians, period, mapping.resampling, log)
    done = resample(work.time, work.columns, work.offsets, period, mapping.resampling, mapping.max_gap)
    if done.changed > Report(log.problems).count("mixed_periods"):
        message = f"{many(done.changed, 'execution')} not sampled every {format_duration(period)}."
        log.add("irregular", message, column=mapping.time, count=done.changed)
    if len(done.breaks):
        message = (
            f"{many(len(done.breaks), 'gap')} longer than {mapping.max_gap:g} periods "
            f"({format_duration(mapping.max_gap * period)})."
        )
        log.add("gap", message, column=mapping.time, count=len(done.breaks))
    return TraceSet(
        features=work.features,
        columns=done.columns,
        time=done.time,
        ids=work.ids,
        offsets=done.offsets,
        period=period,
        breaks=done.breaks,
        resampling=mapping.resampling,
        attributes=work.attribute_values(),
    )


def _say_mixed(medians: FloatArray, period: float, rule: Resampling, log: ProblemLog) -> None:
    """Report it if executions were sampled at clearly different rates."""
    known = medians[np.isfinite(medians)]
    if rule is Resampling.NONE or not len(known):
        return
    others = int((np.abs(known - period) > 0.25 * period).sum())
    if others:
        low, high = format_duration(float(known.min())), format_duration(float(known.max()))
        message = (
            f"Executions are sampled every {low} to {high}; "
            f"{many(others, 'execution')} away from the period of {format_duration(period)}."
        )
        log.add("mixed_periods", message, count=others)


def _long_enough(traces: TraceSet, work: Working, least: int) -> tuple[TraceSet, int]:
    """Drop executions with too few samples; also count the rows of those that stay."""
    lengths = np.diff(traces.offsets)
    short = lengths < least
    if not short.any():
        return traces, work.n
    first = int(np.argmax(short))
    message = (
        f"{many(int(short.sum()), 'execution')} with fewer than {least} samples, "
        f"the first of them “{traces.ids[first]}”."
    )
    row = work.row_of(int(work.offsets[first]))
    work.log.add("too_short", message, row=row, column=work.mapping.execution, count=int(short.sum()))
    rows_kept = int(np.diff(work.offsets)[~short].sum())
    return _without(traces, short), rows_kept


def _say_single(work: Working, log: ProblemLog) -> None:
    """Report it if most executions are one sample long: another column names them."""
    single = int((np.diff(work.offsets) == 1).sum())
    if single * 2 > len(work.ids) and len(work.ids) > 2:
        column = work.mapping.execution
        message = (
            f"{single:,} of {many(len(work.ids), 'execution')} are one sample long: is “{column}” right?"
        )
        log.add("doubtful", message, column=column, count=single)


def _say_doubts(traces: TraceSet, mapping: ColumnMapping, log: ProblemLog) -> None:
    """Report units that were assumed, and what does not look like containers."""
    there = {feature.name: feature for feature in traces.features}
    for one in mapping.features:
        if one.column in mapping.assumed and one.column in there:
            unit = file_unit(one.unit_key).label
            message = f"Column “{one.column}” has no unit in the file; it was read as {unit}."
            log.add("assumed_unit", message, column=one.column, count=traces.n_samples)
    if PERIOD in mapping.assumed and mapping.time is None:
        message = f"The file has no times; its rows were taken to be {format_duration(traces.period)} apart."
        log.add("assumed_unit", message, count=traces.n_samples)
    if traces.n_samples:
        for doubt in doubts(traces):
            log.add("doubtful", doubt.sentence, column=doubt.column)


def _without(traces: TraceSet, gone: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> TraceSet:
    """The trace set without some executions, in one pass over the samples."""
    lengths = np.diff(traces.offsets)
    keep = np.repeat(~gone, lengths)
    stays: list[int] = np.flatnonzero(~gone).tolist()
    marks = np.zeros(traces.n_samples, dtype=bool)
    marks[traces.breaks] = True
    offsets: IntArray = np.concatenate([[0], np.cumsum(lengths[stays])]).astype(np.int64)
    return replace(
        traces,
        columns=tuple(values[keep] for values in traces.columns),
        time=traces.time[keep],
        ids=tuple(traces.ids[i] for i in stays),
        offsets=offsets,
        breaks=np.flatnonzero(marks[keep]),
        attributes={key: [values[i] for i in stays] for key, values in traces.attributes.items()},
    )
