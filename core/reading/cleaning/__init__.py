"""Clean a file's columns to a checked trace set.

Each step first checks whether it is needed (for a clean file no step copies a column) and adds what it did to
the report:

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

from core.reading.cleaning.resample import infer_period, resample, usual_steps
from core.reading.cleaning.rows import WorkingTable, clean_rows
from core.reading.cleaning.suspect_samples import find_level_changes, find_mixed_executions
from core.reading.dates import AMBIGUOUS_ZONES, CLOCK, MINUTES, READERS
from core.reading.guessing.cpu_and_memory_columns import describe_doubt
from core.reading.mapping import TIME_UNITS
from core.reading.numbers import BINARY_UNITS
from core.traces.evidence import find_doubts
from core.traces.model import Resampling
from core.traces.validation import ProblemLog, Report, UnusableError
from core.units import file_unit, format_duration, plural

if TYPE_CHECKING:
    from core.reading.mapping import ColumnMapping, MappedColumn
    from core.reading.table import RawTable
    from core.traces.model import FloatArray, IntArray, TraceSet


def build_trace_set(
    raw: RawTable, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
) -> tuple[TraceSet, Report]:
    """Build a trace set from a file's columns, cleaned and resampled, and the report of the import.

    Raises UnusableError if no execution remains; its report says why; InputError if resampling would not fit
    into memory.
    """
    say = progress or _silent
    log, work = _check_rows(raw, mapping, say)
    say(0.5, "Resampling to one period")
    traces, rows_kept = finish_trace_set(work.recorded(), mapping, log, work.row_of)
    report = Report(log.problems, raw.rows_read, rows_kept, traces.n_executions)
    require_usable(traces.n_executions > 0, log, raw.rows_read)
    say(1.0, "Checked")
    return traces, report


def build_recorded_set(
    raw: RawTable, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
) -> tuple[TraceSet, Report]:
    """Build a trace set of the recorded samples without resampling, for a join with other files.

    Raises UnusableError if no row is left; its report says why.
    """
    log, work = _check_rows(raw, mapping, progress or _silent)
    traces = work.recorded()
    return traces, Report(log.problems, raw.rows_read, work.n, traces.n_executions)


def _check_rows(
    raw: RawTable, mapping: ColumnMapping, say: Callable[[float, str], None]
) -> tuple[ProblemLog, WorkingTable]:
    """Return the rows of a file after every check, in canonical units, not resampled."""
    log = ProblemLog()
    log.extend(raw.problems)
    say(0.0, "Checking the rows")
    work = WorkingTable.of(raw, mapping, log)
    clean_rows(work)
    require_usable(work.n > 0, log, raw.rows_read)
    return log, work


def _silent(_share: float, _message: str) -> None:
    pass


def require_usable(usable: bool, log: ProblemLog, rows_read: int) -> None:
    """Raise with the most severe problem if no row or execution remains.

    Raises UnusableError if nothing is `usable`.
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


def finish_trace_set(
    recorded: TraceSet, mapping: ColumnMapping, log: ProblemLog, row_of: RowOf | None = None
) -> tuple[TraceSet, int]:
    """Resample recorded samples, drop short executions and report doubts; also count the used samples."""
    with ThreadPoolExecutor(1) as pool:  # passes over whole columns leave a processor idle
        background = pool.submit(
            lambda: (list(find_level_changes(recorded)), list(find_mixed_executions(recorded)))
        )
        traces = resample_set(recorded, mapping, log)
        _report_single_samples(recorded, mapping.execution, log)
        traces, n_kept = _drop_short_executions(traces, recorded, mapping, log, row_of)
        _report_doubts(traces, mapping, log)
        levels, mixed = background.result()
    for column, sentence in levels:
        log.add("doubtful", sentence, column=column)
    for sentence in mixed:
        log.add("doubtful", sentence, column=mapping.execution)
    return traces, n_kept


def resample_set(traces: TraceSet, mapping: ColumnMapping, log: ProblemLog) -> TraceSet:
    """Resample recorded samples to the mapping's period, or to the usual one of the executions.

    Raises InputError if the result would not fit into memory.
    """
    usual = usual_steps(traces.time, traces.offsets)
    period = mapping.period
    if period is None:
        period = infer_period(usual)
        _report_mixed_periods(usual, period, mapping.resampling, log)
    result = resample(
        traces.time, traces.columns, traces.offsets, period, mapping.resampling, mapping.max_gap
    )
    irregular = result.changed if result.changed > Report(log.problems).count("mixed_periods") else 0
    gap = f"{mapping.max_gap:g} periods ({format_duration(mapping.max_gap * period)})"
    for kind, count, noun, what in (
        ("irregular", irregular, "execution", f"not sampled every {format_duration(period)}"),
        ("thinned", result.skipped, "sample", f"of {traces.n_samples:,} closer together than the period"),
        ("filled", result.filled, "sample", f"of {len(result.time):,} missing between those of the file"),
        ("gap", len(result.breaks), "gap", f"longer than {gap}"),
    ):
        if count:
            log.add(kind, f"{plural(count, noun)} {what}.", column=mapping.time, count=count)
    return replace(
        traces,
        columns=result.columns,
        time=result.time,
        offsets=result.offsets,
        period=period,
        breaks=result.breaks,
        resampling=mapping.resampling,
    )


def _report_mixed_periods(usual: FloatArray, period: float, rule: Resampling, log: ProblemLog) -> None:
    """Report executions with clearly different sampling periods."""
    known_steps = usual[np.isfinite(usual)]
    if rule is Resampling.NONE or not len(known_steps):
        return
    n_others = int((np.abs(known_steps - period) > 0.25 * period).sum())
    if n_others:
        low, high = format_duration(float(known_steps.min())), format_duration(float(known_steps.max()))
        message = (
            f"Executions are sampled every {low} to {high}; "
            f"{plural(n_others, 'execution')} away from the period of {format_duration(period)}."
        )
        log.add("mixed_periods", message, count=n_others)


def _drop_short_executions(
    traces: TraceSet, recorded: TraceSet, mapping: ColumnMapping, log: ProblemLog, row_of: RowOf | None
) -> tuple[TraceSet, int]:
    """Drop executions with too few samples; also count the recorded samples of the others."""
    min_samples = mapping.min_samples
    lengths = np.diff(traces.offsets)
    short = lengths < min_samples
    if not short.any():
        return traces, recorded.n_samples
    first = int(np.argmax(short))
    message = (
        f"{plural(int(short.sum()), 'execution')} with fewer than {min_samples} samples, "
        f"the first of them “{traces.ids[first]}”."
    )
    row = None if row_of is None else row_of(int(recorded.offsets[first]))
    log.add("too_short", message, row=row, column=mapping.execution, count=int(short.sum()))
    rows_kept = int(np.diff(recorded.offsets)[~short].sum())
    return _remove_executions(traces, short), rows_kept


def _report_single_samples(recorded: TraceSet, column: str | None, log: ProblemLog) -> None:
    """Report if most executions have one sample: another column names them."""
    n_single = int((np.diff(recorded.offsets) == 1).sum())
    if n_single * 2 > recorded.n_executions > 2:
        total = plural(recorded.n_executions, "execution")
        message = f"{n_single:,} of {total} are one sample long: is “{column}” right?"
        log.add("doubtful", message, column=column, count=n_single)


def _report_doubts(traces: TraceSet, mapping: ColumnMapping, log: ProblemLog) -> None:
    """Report assumed units and values that do not look like containers."""
    features = {feature.name: feature for feature in traces.features}
    for one in mapping.features:
        doubt = describe_doubt(one, mapping.features, mapping.executions)
        if one.column not in mapping.assumed or one.column not in features:
            continue
        if doubt:
            log.add("assumed_role", doubt, column=one.column, count=traces.n_samples)
        else:
            log.add("assumed_unit", _describe_assumed_unit(one), column=one.column, count=traces.n_samples)
    if mapping.time in mapping.assumed:
        kind, message = _describe_assumed_time(mapping)
        log.add(kind, message, column=mapping.time, count=traces.n_samples)
    if traces.n_samples:
        for odd in find_doubts(traces):
            log.add("doubtful", odd.sentence, column=odd.column)


def _describe_assumed_unit(one: MappedColumn) -> str:
    unit = file_unit(one.unit_key).label
    if one.unit_key in BINARY_UNITS:
        likely_unit = file_unit(BINARY_UNITS[one.unit_key]).label
        return f"Column “{one.column}” was read as {unit}; many programs mean {likely_unit} by that."
    return f"Column “{one.column}” has no unit in the file; it was read as {unit}."


def _describe_assumed_time(mapping: ColumnMapping) -> tuple[str, str]:
    """Describe what was assumed of the column of time: the kind of problem and its message."""
    column = f"Column “{mapping.time}”"
    if mapping.time_unit in (CLOCK, MINUTES):
        return "assumed_unit", f"{column} has no date; the dates of another column were not used."
    if mapping.time_unit in READERS:
        return "assumed_zone", f"{column} names a zone that is several: {AMBIGUOUS_ZONES}."
    unit = TIME_UNITS[mapping.time_unit]
    return "assumed_unit", f"{column} has no unit in the file; it was read as {unit}."


def _remove_executions(traces: TraceSet, removed: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> TraceSet:
    """Return the trace set without some executions, in one pass over the samples."""
    lengths = np.diff(traces.offsets)
    keep = np.repeat(~removed, lengths)
    remaining: list[int] = np.flatnonzero(~removed).tolist()
    marks = np.zeros(traces.n_samples, dtype=bool)
    marks[traces.breaks] = True
    offsets: IntArray = np.concatenate([[0], np.cumsum(lengths[remaining])]).astype(np.int64)
    return replace(
        traces,
        columns=tuple(values[keep] for values in traces.columns),
        time=traces.time[keep],
        ids=tuple(traces.ids[i] for i in remaining),
        offsets=offsets,
        breaks=np.flatnonzero(marks[keep]),
        attributes={key: [values[i] for i in remaining] for key, values in traces.attributes.items()},
    )
