"""The checks of a file's rows, on all executions at once.

Each check first asks a cheap question about a whole column (is its smallest value negative? are the codes
already grouped?) and does the exact work only if the answer requires it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.reading.cleaning.resample import steps_before
from core.reading.dates import CLOCK
from core.reading.guessing.order import (
    MAX_DISTINCT,
    MAX_FALLS,
    MIN_TURNS,
    is_identity_name,
    is_place_name,
    is_state_name,
)
from core.traces.model import BESIDE, HELD_BACK_ROLES, ROLE_UNITS, SET_ROLES, Role, TraceSet
from core.traces.validation import MAX_ROWS
from core.units import Unit, file_unit, format_number, plural

if TYPE_CHECKING:
    from core.reading.mapping import ColumnMapping
    from core.reading.table import RawTable
    from core.traces.model import Feature, FloatArray, IntArray
    from core.traces.validation import ProblemLog


USAGE_ROLES = tuple(ROLE_UNITS)
OPTIONAL_ROLES = (Role.LOSS, *SET_ROLES, *HELD_BACK_ROLES)
# Larger values exceed any machine: the unit is wrong, or the file is damaged.
MAX_VALUES = {Unit.CORES: 1e6, Unit.BYTES: 2.0**60, Unit.SHARE: 1e4, Unit.PLAIN: 1e300, Unit.SECONDS: 1e300,
        Unit.BYTES_PER_SECOND: 2.0**50, Unit.WATTS: 1e7}  # fmt: skip

MAX_RESTARTS = 0.1
"""The largest share of steps at which time restarts; more often, rows are just unsorted."""
MIN_RUN = 10
"""The minimum number of samples of a run before a restart; fewer are swapped rows."""
_HALF_DAY = 43_200.0


def clean_rows(work: WorkingTable) -> None:
    """Run every check, so that `work` holds sorted, finite, canonical columns."""
    for feature in work.features:
        if feature.role in OPTIONAL_ROLES:
            work.log.rename("unparsable", feature.name, "unparsable_kept")
    _drop_unnamed_rows(work)
    _group_and_sort(work)
    if not work.n:
        return
    for index in range(len(work.columns)):
        _infinite_to_missing(work, index)
        if work.features[index].role in SET_ROLES:
            _no_limit_to_missing(work, index)
    _impossible_to_missing(work)
    _counters_to_rates(work)
    if work.n:
        _to_canonical(work)
        _clear_unmeasured_memory(work)
        _drop_empty_columns(work)
        _fill_missing(work)


def _drop_unnamed_rows(work: WorkingTable) -> None:
    if work.n and work.codes.min() < 0:
        bad = work.codes < 0
        work.report("missing_execution", bad, work.mapping.execution, "{} without an execution")
        work.take(~bad)
    if work.n and not np.isfinite(work.time.sum()):
        bad = ~np.isfinite(work.time)
        empty = work.select_unreported(bad, work.mapping.time)
        if empty.any():
            work.report("missing_time", empty, work.mapping.time, "{} without a time")
        work.take(~bad)


def _group_and_sort(work: WorkingTable) -> None:
    if not work.n:
        return
    changes = np.flatnonzero(np.diff(work.codes)) + 1
    starts = np.concatenate([[0], changes])
    order = work.codes[starts]
    if len(np.unique(order)) < len(order):
        present = len(np.unique(order))
        message = f"The rows of {plural(present, 'execution')} are mixed with each other."
        work.log.add("interleaved", message, column=work.mapping.execution, count=present)
        work.take(np.argsort(work.codes, kind="stable"))
        changes = np.flatnonzero(np.diff(work.codes)) + 1
        starts = np.concatenate([[0], changes])
        order = work.codes[starts]
    work.offsets = np.concatenate([starts, [work.n]]).astype(np.int64)
    work.ids = tuple(work.names[code] for code in order)
    if work.raw.time is None:
        period = work.mapping.period or 1.0
        work.time = (np.arange(work.n) - np.repeat(starts, np.diff(work.offsets))) * period
        return
    if work.mapping.time_unit == CLOCK:
        _continue_past_midnight(work)
    _sort_by_time(work)


def _continue_past_midnight(work: WorkingTable) -> None:
    """Continue times of day into the next day where they fall by most of a day."""
    falls = steps_before(work.time, work.offsets, 0.0) < -_HALF_DAY
    if not falls.any():
        return
    days = np.cumsum(falls)
    before = np.repeat(days[work.offsets[:-1]], np.diff(work.offsets))
    work.time = work.time + (days - before) * 2 * _HALF_DAY
    work.report("past_midnight", falls, work.mapping.time, "midnight passes {}", "time")


def _sort_by_time(work: WorkingTable) -> None:
    steps = steps_before(work.time, work.offsets, 1.0)
    if steps.min() > 0:
        return
    column, is_backwards = work.mapping.time, steps < 0
    owner = np.repeat(np.arange(len(work.ids)), np.diff(work.offsets))
    if is_backwards.any():
        ordered = np.lexsort((work.time, owner))
        n_moved = int((np.diff(ordered, prepend=-1) != 1).sum())
        work.report("unsorted", is_backwards, column, "time goes backwards at {}", least=n_moved)
        _report_restarts(work, steps)
        work.take(ordered)
        owner = owner[ordered]
    same = np.zeros(work.n, dtype=bool)
    same[:-1] = (np.diff(work.time) == 0) & (np.diff(owner) == 0)
    if same.any():
        work.report("duplicate_time", same, column, "{} with the time of a later row")
        work.drop(same)


def _report_restarts(work: WorkingTable, steps: FloatArray) -> None:
    """Report executions in which time restarts: several runs whose rows would be merged."""
    run = np.where(steps < 0, -steps, 0.0)
    starts = np.repeat(work.time[work.offsets[:-1]], np.diff(work.offsets))
    restarts = run > 0.5 * np.maximum(work.time + run - starts, 0.0)
    position = np.arange(work.n) - np.repeat(work.offsets[:-1], np.diff(work.offsets))
    restarts &= (steps < 0) & (position >= MIN_RUN)
    if 0 < restarts.sum() <= MAX_RESTARTS * work.n:
        work.report("starts_again", restarts, work.mapping.time, "time starts again at {}")


def _infinite_to_missing(work: WorkingTable, index: int) -> None:
    values = work.columns[index]
    if not np.isfinite(_extent(values)).all() and (bad := np.isinf(values)).any():
        kind = "infinite_kept" if work.features[index].role in OPTIONAL_ROLES else "infinite"
        work.clear(index, bad, kind, "{}", "infinite value")


def _extent(values: FloatArray) -> tuple[float, float]:
    """Return the lowest and the highest number; infinite without one."""
    low, high = np.fmin.reduce(values, initial=np.inf), np.fmax.reduce(values, initial=-np.inf)
    return float(low), float(high)


def _no_limit_to_missing(work: WorkingTable, index: int) -> None:
    """Clear limits of 0, −1 or beyond any machine, by which kernels and tools mean no limit."""
    values = work.columns[index]
    max_value = MAX_VALUES[work.features[index].unit] / work.mapping.factor(work.mapping.features[index])
    low, high = _extent(values)
    if (low <= 0 or high > max_value) and (bad := (values <= 0) | (values > max_value)).any():
        work.clear(index, bad, "no_limit", "{} that mean no limit", "value")


def _impossible_to_missing(work: WorkingTable) -> None:
    """Clear cells whose usage is negative or beyond any machine."""
    for index, feature in enumerate(work.features):
        values, factor = work.columns[index], work.mapping.factor(work.mapping.features[index])
        low, high = _extent(values)
        max_value = np.inf if file_unit(work.units[index]).cumulative else MAX_VALUES[feature.unit]
        if feature.role in USAGE_ROLES and low < 0:
            work.clear(index, values < 0, "negative", f"{{}} below zero (as far as {_write(low)})", "value")
        if high * factor > max_value or -low * factor > MAX_VALUES[Unit.PLAIN]:
            with np.errstate(over="ignore"):  # an overflow is larger, too
                bad = np.abs(values) * factor > max_value
            what = f"{{}} larger than any machine (as far as {_write(max(high, -low))})"
            work.clear(index, bad, "implausible", what, "value")


def _write(value: float) -> str:
    return format_number(value) if abs(value) < 1e15 else f"{value:.3g}"


def _counters_to_rates(work: WorkingTable) -> None:
    """Turn growing counters into usage per second; an execution's first sample has no rate."""
    growing = [i for i, unit in enumerate(work.units) if file_unit(unit).cumulative]
    if not growing:
        return
    steps = steps_before(work.time, work.offsets, 0.0)
    for index in growing:
        values = work.columns[index]
        rise = steps_before(values, work.offsets, 0.0)
        has_fallen = rise < 0
        if has_fallen.any():
            name = work.features[index].name
            count = work.report("counter_reset", has_fallen, name, "the counter starts again at {}")
            if count > MAX_FALLS * max(work.n - len(work.ids), 1):
                question = f"“{name}” falls at {plural(count, 'row')}: is it usage, and no counter?"
                work.log.add("doubtful", question, rows=work.first_rows(has_fallen), column=name, count=count)
            rise = np.where(has_fallen, values, rise)
        work.columns[index] = np.divide(rise, steps, out=np.zeros_like(rise), where=steps > 0)
    first = np.zeros(work.n, dtype=bool)
    first[work.offsets[:-1]] = True
    usage = [index for index in growing if work.features[index].role not in BESIDE]
    if not usage:
        _use_second_rate(work, growing)
        return
    name = work.features[usage[0]].name
    count = len(work.ids)
    message = f"Column “{name}”: the first sample of {plural(count, 'execution')} only starts the counter."
    work.log.add("counter_start", message, row=work.first_row(first), column=name, count=count)
    work.drop(first)


def _use_second_rate(work: WorkingTable, growing: list[int]) -> None:
    """Give first samples the rate of the second, so that network and disk cost no row."""
    has_several = np.diff(work.offsets) > 1
    first = work.offsets[:-1][has_several]
    for index in growing:
        values = work.columns[index]
        values[first] = values[first + 1]
    names = ", ".join(f"“{work.features[index].name}”" for index in growing[:4])
    message = f"{names}: the first sample of {plural(len(work.ids), 'execution')} only starts the counter."
    work.log.add("counter_second", message, column=work.features[growing[0]].name, count=len(work.ids))


def _to_canonical(work: WorkingTable) -> None:
    for index, mapped in enumerate(work.mapping.features):
        factor = work.mapping.factor(mapped)
        if factor != 1.0:
            work.columns[index] = work.columns[index] * factor


def _clear_unmeasured_memory(work: WorkingTable) -> None:
    """Clear memory that is 0 in every row: it was not measured, as every process uses some."""
    for index, feature in enumerate(work.features):
        values = work.columns[index]
        if feature.role is Role.MEMORY and feature.unit is Unit.BYTES and _extent(values) == (0.0, 0.0):
            message = f"Column “{feature.name}” is 0 in every row."
            work.log.add("not_measured", message, column=feature.name, row=None)
            work.columns[index] = np.full_like(values, np.nan)


def _drop_empty_columns(work: WorkingTable) -> None:
    """Drop features without a number; without any other feature, drop all rows."""
    empty = [bool(np.isnan(values[0]) and np.isnan(values).all()) for values in work.columns]
    if not any(empty):
        return
    for feature, is_empty in zip(work.features, empty, strict=True):
        if is_empty:
            blank = feature.role is Role.OTHER and feature.name not in work.flawed
            blank |= any(one.kind == "no_limit" and one.column == feature.name for one in work.log.problems)
            message = f"Column “{feature.name}” has no usable number in any row."
            kind = "blank_column" if blank else "empty_column"
            if not any(
                one.kind == "not_measured" and one.column == feature.name for one in work.log.problems
            ):
                work.log.add(kind, message, column=feature.name, row=None)
    if all(empty):
        work.take(np.empty(0, dtype=np.int64))
        work.offsets, work.ids = np.zeros(1, dtype=np.int64), ()
        return
    kept_indices = [i for i, is_empty in enumerate(empty) if not is_empty]
    work.columns[:] = [work.columns[i] for i in kept_indices]
    work.features = tuple(work.features[i] for i in kept_indices)
    work.units = [work.units[i] for i in kept_indices]


def _fill_missing(work: WorkingTable) -> None:
    """Fill missing cells with the last value of the execution, or drop the row.

    Network and disk beside other usage cost no row, because a pod on its host's network has no network of
    its own. Nor do columns without usage, which only some tools or executions fill.
    """
    rejected = np.zeros(work.n, dtype=bool)
    roles = {feature.role for feature in work.features}
    optional_roles: set[Role] = set()
    if roles - {*OPTIONAL_ROLES, *BESIDE}:
        optional_roles |= {*BESIDE}
    if roles & {*USAGE_ROLES} - {*OPTIONAL_ROLES, *BESIDE}:
        optional_roles |= {Role.OTHER}
    for index, feature in enumerate(work.features):
        values = work.columns[index]
        if not work.n or not np.isnan(values.sum()):
            continue
        bad = np.isnan(values)
        if feature.role in OPTIONAL_ROLES:
            _report_missing(work, feature.name, bad, "missing_kept")
            continue
        work.columns[index], lost = _hold_last_values(values, bad, work.offsets, work.mapping.max_gap)
        if feature.role in optional_roles:
            _report_missing(work, feature.name, bad & ~lost, "missing")
            _report_missing(work, feature.name, lost, "missing_kept")
            continue
        _report_missing(work, feature.name, bad, "missing")
        rejected |= lost
    if rejected.any():
        work.drop(rejected)


def _report_missing(work: WorkingTable, name: str, bad: Mask, kind: str) -> None:
    """Report missing cells without an earlier problem."""
    empty = work.select_unreported(bad, name)
    if empty.any():
        work.report(kind, empty, name, "{}", "empty cell")


def _hold_last_values(
    values: FloatArray, bad: Mask, offsets: IntArray, longest: float
) -> tuple[FloatArray, Mask]:
    """Carry the last value forward within executions, at most `longest` samples; mark empty cells."""
    index = np.arange(len(values))
    source = np.maximum.accumulate(np.where(bad, -1, index))
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    lost = bad & ((source < starts) | (index - source > longest))
    return np.where(bad & ~lost, values[source], values), lost


Mask = npt.NDArray[np.bool_]


@dataclass
class WorkingTable:
    """The columns during cleaning; `offsets` and `ids` are valid once rows are grouped."""

    mapping: ColumnMapping
    log: ProblemLog
    raw: RawTable
    codes: IntArray
    names: tuple[str, ...]
    time: FloatArray
    columns: list[FloatArray]
    attributes: list[IntArray]
    features: tuple[Feature, ...]
    units: list[str]
    positions: IntArray | None
    offsets: IntArray
    ids: tuple[str, ...] = ()
    flawed: dict[str, IntArray] = field(default_factory=dict)

    @classmethod
    def of(cls, raw: RawTable, mapping: ColumnMapping, log: ProblemLog) -> WorkingTable:
        """Begin with the columns of the reader."""
        return cls(
            mapping=mapping,
            log=log,
            raw=raw,
            codes=raw.executions.codes,
            names=raw.executions.names,
            time=raw.time if raw.time is not None else np.arange(raw.n_rows, dtype=np.float64),
            columns=raw.columns,
            attributes=[one.codes for one in raw.attributes],
            features=tuple(mapping.feature(one) for one in mapping.features),
            units=[one.unit_key for one in mapping.features],
            positions=None,
            offsets=np.array([0, raw.n_rows], dtype=np.int64),
            flawed=dict(raw.flawed),
        )

    @property
    def n(self) -> int:
        """The number of remaining rows."""
        return len(self.codes)

    def row_of(self, index: int) -> int:
        """Return the number in the file of a remaining row."""
        return self.raw.row_of(int(self.positions[index]) if self.positions is not None else index)

    def first_row(self, bad: Mask) -> int:
        """Return the smallest number in the file of the marked rows."""
        return self.raw.row_of(int(self._raw_positions(np.flatnonzero(bad)).min()))

    def first_rows(self, bad: Mask, max_rows: int = MAX_ROWS) -> tuple[int, ...]:
        """Return the smallest numbers in the file of the marked rows."""
        positions_ = self._raw_positions(np.flatnonzero(bad))
        first = np.sort(
            np.partition(positions_, max_rows)[:max_rows] if len(positions_) > max_rows else positions_
        )
        return tuple(self.raw.row_of(int(position)) for position in first)

    def _raw_positions(self, index: IntArray) -> IntArray:
        """Return the positions in the raw table of remaining rows."""
        return index if self.positions is None else self.positions[index]

    def select_unreported(self, bad: Mask, column: str | None) -> Mask:
        """Return the marked rows whose cell in a column has no reported problem yet."""
        reported = self.flawed.get(column or "")
        if reported is None or not len(reported):
            return bad
        positions_ = np.flatnonzero(bad)
        unreported = np.zeros(self.n, dtype=bool)
        unreported[positions_[~np.isin(self._raw_positions(positions_), reported)]] = True
        return unreported

    def report(
        self, kind: str, bad: Mask, column: str | None, what: str, noun: str = "row", *, least: int = 0
    ) -> int:
        """Report marked rows, of which `what` says what is wrong; return their number, at least `least`."""
        count, rows = int(bad.sum()), self.first_rows(bad)
        message = f"Column “{column}”: {what.format(plural(count, noun))}, first in row {rows[0]}."
        self.log.add(kind, message, rows=rows, column=column, count=max(count, least))
        return count

    def clear(self, index: int, bad: Mask, kind: str, what: str, noun: str) -> None:
        """Report marked cells and make them missing, not to be reported as empty, too."""
        column = self.features[index].name
        self.report(kind, bad, column, what, noun)
        self.columns[index] = np.where(bad, np.nan, self.columns[index])
        positions = self._raw_positions(np.flatnonzero(bad))
        self.flawed[column] = np.concatenate([self.flawed.get(column, positions[:0]), positions])

    def take(self, selection: IntArray | Mask) -> None:
        """Keep the selected rows, in the order of the selection."""
        index = np.asarray(
            np.flatnonzero(selection) if selection.dtype == bool else selection, dtype=np.int64
        )
        self.positions = self._raw_positions(index)
        self.codes, self.time = self.codes[index], self.time[index]
        for i, values in enumerate(self.columns):
            self.columns[i] = values[index]
        for i, codes in enumerate(self.attributes):
            self.attributes[i] = codes[index]

    def drop(self, bad: Mask) -> None:
        """Drop the marked rows and update the offsets of executions."""
        keep = ~bad
        if len(self.offsets) > 1 and self.ids:
            lengths = np.add.reduceat(keep, self.offsets[:-1], dtype=np.int64)
            self.ids = tuple(name for name, n in zip(self.ids, lengths, strict=True) if n)
            self.offsets = np.concatenate([[0], np.cumsum(lengths[lengths > 0])]).astype(np.int64)
        self.take(keep)

    def recorded(self) -> TraceSet:
        """Return the remaining rows as a trace set, not resampled."""
        return TraceSet(
            features=self.features,
            columns=tuple(self.columns),
            time=self.time,
            ids=self.ids,
            offsets=self.offsets,
            period=self.mapping.period or 1.0,
            attributes=self._attribute_values(),
        )

    def _attribute_values(self) -> dict[str, list[str]]:
        """Return one text per execution and attribute, taken from the execution's first row."""
        texts: dict[str, list[str]] = {}
        starts = self.offsets[:-1]
        for name, codes, raw in zip(
            self.mapping.attributes, self.attributes, self.raw.attributes, strict=True
        ):
            self._report_mixed_column(name, codes, codes >= 0)
            texts[name] = [raw.names[code] if code >= 0 else "" for code in codes[starts]]
        for feature, values in zip(self.features, self.columns, strict=True):
            if feature.unit is Unit.PLAIN and is_identity_name(feature.name) and _are_whole(values):
                self._report_mixed_column(feature.name, values, np.isfinite(values))
        return texts

    def _report_mixed_column(self, name: str, cells: npt.NDArray[Any], is_filled: Mask) -> None:
        """Report a column with more than one value within an execution: it may identify several."""
        owner = np.repeat(np.arange(len(self.ids)), np.diff(self.offsets))
        first = cells[self.offsets[:-1]]
        differs = ~np.isclose(cells, first[owner], equal_nan=True)
        if not differs.any():
            return
        n_mixed, row = len(np.unique(owner[differs])), self.first_row(differs)
        positions_ = plural(n_mixed, "execution")
        message = f"Column “{name}” has more than one value within {positions_}, first in row {row}."
        kind = (
            "mixed_identity"
            if self._identifies_several(name, owner[is_filled], cells[is_filled])
            else "mixed_attribute"
        )
        self.log.add(kind, message, row=row, column=name, count=n_mixed)

    def _identifies_several(self, name: str, owner: IntArray, cells: npt.NDArray[Any]) -> bool:
        """Whether cells are repeating names within executions, and neither places nor states."""
        pairs = np.unique(np.column_stack([owner, cells]), axis=0)[:, 0].astype(np.int64)
        n_mixed = np.bincount(pairs, minlength=len(self.ids)) > 1
        has_repeats = int(n_mixed[pairs].sum()) <= MAX_DISTINCT * int(n_mixed[owner].sum())
        changes = int(((np.diff(owner) == 0) & (np.diff(cells) != 0)).sum())
        is_moved_place = is_place_name(name) and changes <= MIN_TURNS * self.n
        return bool(n_mixed.any()) and has_repeats and not is_moved_place and not is_state_name(name)


def _are_whole(values: FloatArray) -> bool:
    finite = values[np.isfinite(values)]
    return bool((finite == np.round(finite)).all())
