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

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from core.traces.cells.dates import CLOCK, MINUTES, READERS, SEVERAL_ZONES
from core.traces.cells.numbers import BINARY
from core.traces.cleaning.resample import infer_period, resample, usual_steps
from core.traces.cleaning.rows import clean
from core.traces.cleaning.suspect_samples import changed, mixtures
from core.traces.cleaning.working import Working
from core.traces.evidence import doubts
from core.traces.guessing.cpu_and_memory_columns import taken_for
from core.traces.mapping import PERIOD, TIME_UNITS
from core.traces.model import Resampling
from core.traces.validation import ProblemLog, Report, UnusableError
from core.units import file_unit, format_duration, plural

if TYPE_CHECKING:
    from core.traces.mapping import ColumnMapping, MappedColumn
    from core.traces.model import FloatArray, IntArray, TraceSet
    from core.traces.raw import RawTable


def build(
    raw: RawTable, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
) -> tuple[TraceSet, Report]:
    """Check a file's columns and make a trace set of them.

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
    work = checked(raw, mapping, log)
    say(0.5, "Resampling to one period")
    traces, rows_kept = finished(work.recorded(), mapping, log, work.row_of)
    report = Report(log.problems, raw.rows_read, rows_kept, traces.n_executions)
    require(traces.n_executions > 0, log, raw.rows_read)
    say(1.0, "Checked")
    return traces, report


def record(
    raw: RawTable, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
) -> tuple[TraceSet, Report]:
    """As `build`, but the samples stay as they were recorded: other files are to be joined to them.

    Raises
    ------
    UnusableError
        If no row is left; its report says why.
    """
    log = ProblemLog()
    log.extend(raw.problems)
    (progress or _silent)(0.0, "Checking the rows")
    work = checked(raw, mapping, log)
    traces = work.recorded()
    return traces, Report(log.problems, raw.rows_read, work.n, traces.n_executions)


def checked(raw: RawTable, mapping: ColumnMapping, log: ProblemLog) -> Working:
    """The rows of a file after every check, in canonical units and as they were recorded.

    Raises
    ------
    UnusableError
        If no row is left.
    """
    work = Working.of(raw, mapping, log)
    clean(work)
    require(work.n > 0, log, raw.rows_read)
    return work


def _silent(_share: float, _message: str) -> None:
    pass


def require(usable: bool, log: ProblemLog, rows_read: int) -> None:
    """Raise if nothing is left, with the reason that matters most.

    Raises
    ------
    UnusableError
        If nothing is `usable`.
    """
    if usable:
        return
    report = Report(log.problems, rows_read)
    sentences = report.sentences()
    if rows_read == 0:
        raise UnusableError("The file has no rows below its header.", "Choose a file with samples.", report)
    hint = sentences[0] if sentences else "Check the mapping."
    raise UnusableError(f"None of the {rows_read:,} rows could be used.", hint, report)


RowOf = Callable[[int], int]


def finished(
    recorded: TraceSet, mapping: ColumnMapping, log: ProblemLog, row_of: RowOf | None = None
) -> tuple[TraceSet, int]:
    """The trace set of samples as they were recorded; also how many of these are in it."""
    with ThreadPoolExecutor(1) as pool:  # passes over whole columns leave a processor to what looks at few
        beside = pool.submit(lambda: (list(changed(recorded)), list(mixtures(recorded))))
        traces = resampled(recorded, mapping, log)
        _say_single(recorded, mapping.execution, log)
        traces, kept = _long_enough(traces, recorded, mapping, log, row_of)
        _say_doubts(traces, mapping, log)
        levels, mixed = beside.result()
    for column, sentence in levels:
        log.add("doubtful", sentence, column=column)
    for sentence in mixed:
        log.add("doubtful", sentence, column=mapping.execution)
    return traces, kept


def resampled(traces: TraceSet, mapping: ColumnMapping, log: ProblemLog) -> TraceSet:
    """Bring samples as they were recorded to the mapping's period, or to the usual one of the executions.

    Raises
    ------
    InputError
        If the result would not fit into memory.
    """
    usual = usual_steps(traces.time, traces.offsets)
    period = mapping.period
    if period is None:
        period = infer_period(usual)
        _say_mixed(usual, period, mapping.resampling, log)
    done = resample(traces.time, traces.columns, traces.offsets, period, mapping.resampling, mapping.max_gap)
    if done.changed > Report(log.problems).count("mixed_periods"):
        message = f"{plural(done.changed, 'execution')} not sampled every {format_duration(period)}."
        log.add("irregular", message, column=mapping.time, count=done.changed)
    if done.skipped:
        message = f"{plural(done.skipped, 'sample')} of {traces.n_samples:,} closer together than the period."
        log.add("thinned", message, column=mapping.time, count=done.skipped)
    if done.filled:
        message = f"{plural(done.filled, 'sample')} of {len(done.time):,} missing between those of the file."
        log.add("filled", message, column=mapping.time, count=done.filled)
    if len(done.breaks):
        message = (
            f"{plural(len(done.breaks), 'gap')} longer than {mapping.max_gap:g} periods "
            f"({format_duration(mapping.max_gap * period)})."
        )
        log.add("gap", message, column=mapping.time, count=len(done.breaks))
    return replace(
        traces,
        columns=done.columns,
        time=done.time,
        offsets=done.offsets,
        period=period,
        breaks=done.breaks,
        resampling=mapping.resampling,
    )


def _say_mixed(usual: FloatArray, period: float, rule: Resampling, log: ProblemLog) -> None:
    """Report it if executions were sampled at clearly different rates."""
    known = usual[np.isfinite(usual)]
    if rule is Resampling.NONE or not len(known):
        return
    others = int((np.abs(known - period) > 0.25 * period).sum())
    if others:
        low, high = format_duration(float(known.min())), format_duration(float(known.max()))
        message = (
            f"Executions are sampled every {low} to {high}; "
            f"{plural(others, 'execution')} away from the period of {format_duration(period)}."
        )
        log.add("mixed_periods", message, count=others)


def _long_enough(
    traces: TraceSet, recorded: TraceSet, mapping: ColumnMapping, log: ProblemLog, row_of: RowOf | None
) -> tuple[TraceSet, int]:
    """Drop executions with too few samples; also count the recorded samples of those that stay."""
    least = mapping.min_samples
    lengths = np.diff(traces.offsets)
    short = lengths < least
    if not short.any():
        return traces, recorded.n_samples
    first = int(np.argmax(short))
    message = (
        f"{plural(int(short.sum()), 'execution')} with fewer than {least} samples, "
        f"the first of them “{traces.ids[first]}”."
    )
    row = None if row_of is None else row_of(int(recorded.offsets[first]))
    log.add("too_short", message, row=row, column=mapping.execution, count=int(short.sum()))
    rows_kept = int(np.diff(recorded.offsets)[~short].sum())
    return _without(traces, short), rows_kept


def _say_single(recorded: TraceSet, column: str | None, log: ProblemLog) -> None:
    """Report it if most executions are one sample long: another column names them."""
    single = int((np.diff(recorded.offsets) == 1).sum())
    if single * 2 > recorded.n_executions > 2:
        of = plural(recorded.n_executions, "execution")
        message = f"{single:,} of {of} are one sample long: is “{column}” right?"
        log.add("doubtful", message, column=column, count=single)


def _say_doubts(traces: TraceSet, mapping: ColumnMapping, log: ProblemLog) -> None:
    """Report units that were assumed, and what does not look like containers."""
    there = {feature.name: feature for feature in traces.features}
    for one in mapping.features:
        taken = taken_for(one, mapping.features, mapping.executions)
        if one.column not in mapping.assumed or one.column not in there:
            continue
        if taken:
            log.add("assumed_role", taken, column=one.column, count=traces.n_samples)
        else:
            log.add("assumed_unit", _of_unit(one), column=one.column, count=traces.n_samples)
    if mapping.time in mapping.assumed:
        kind, message = _of_time(mapping)
        log.add(kind, message, column=mapping.time, count=traces.n_samples)
    if PERIOD in mapping.assumed and mapping.time is None:
        message = f"The file has no times; its rows were taken to be {format_duration(traces.period)} apart."
        log.add("assumed_unit", message, count=traces.n_samples)
    if traces.n_samples:
        for doubt in doubts(traces):
            log.add("doubtful", doubt.sentence, column=doubt.column)


def _of_unit(one: MappedColumn) -> str:
    """What was assumed of a column's unit."""
    unit = file_unit(one.unit_key).label
    if one.unit_key in BINARY:
        meant = file_unit(BINARY[one.unit_key]).label
        return f"Column “{one.column}” was read as {unit}; many programs mean {meant} by that."
    return f"Column “{one.column}” has no unit in the file; it was read as {unit}."


def _of_time(mapping: ColumnMapping) -> tuple[str, str]:
    """What was assumed of the column of time: the kind of problem, and its sentence."""
    column = f"Column “{mapping.time}”"
    if mapping.time_unit in (CLOCK, MINUTES):
        return "assumed_unit", f"{column} has no date; the dates of another column were not used."
    if mapping.time_unit in READERS:
        return "assumed_zone", f"{column} names a zone that is several: {SEVERAL_ZONES}."
    unit = TIME_UNITS[mapping.time_unit]
    return "assumed_unit", f"{column} has no unit in the file; it was read as {unit}."


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
