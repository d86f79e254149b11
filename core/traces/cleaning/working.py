"""A file's columns during cleaning: rows may be dropped or moved, and each keeps its number in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.traces.guessing.order import MAX_DISTINCT, MIN_TURNS, is_identity_name, is_place_name, is_state_name
from core.traces.model import TraceSet
from core.traces.validation import MAX_ROWS
from core.units import Unit, plural

if TYPE_CHECKING:
    from core.traces.mapping import ColumnMapping
    from core.traces.model import Feature, FloatArray, IntArray
    from core.traces.raw import RawTable
    from core.traces.validation import ProblemLog


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
            columns=list(raw.columns),
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

    def mark_reported(self, bad: Mask, column: str) -> None:
        """Remember reported cells, so that they are not reported as empty, too."""
        before = self._raw_positions(np.flatnonzero(bad))
        self.flawed[column] = np.concatenate([self.flawed.get(column, before[:0]), before])

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
