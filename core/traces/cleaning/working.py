"""A file's columns while they are checked: rows may be dropped or moved, and each keeps its number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.traces.guessing.order import MOST_NAMES, TURNS, is_identity, is_place, is_state
from core.traces.model import TraceSet
from core.traces.validation import MOST_ROWS
from core.units import Unit, plural

if TYPE_CHECKING:
    from core.traces.mapping import ColumnMapping
    from core.traces.model import Feature, FloatArray, IntArray
    from core.traces.raw import RawTable
    from core.traces.validation import ProblemLog


Mask = npt.NDArray[np.bool_]


@dataclass
class Working:
    """The columns while they are checked; `offsets` and `ids` are valid after `group`."""

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
    def of(cls, raw: RawTable, mapping: ColumnMapping, log: ProblemLog) -> Working:
        """Begin with the columns as they were read."""
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
        """Rows that are left."""
        return len(self.codes)

    def row_of(self, index: int) -> int:
        """The number in the file of a row that is left."""
        return self.raw.row_of(int(self.positions[index]) if self.positions is not None else index)

    def first_row(self, bad: Mask) -> int:
        """The smallest row number in the file among some rows."""
        return self.raw.row_of(int(self._origin(np.flatnonzero(bad)).min()))

    def first_rows(self, bad: Mask, most: int = MOST_ROWS) -> tuple[int, ...]:
        """The numbers in the file of the first of some rows."""
        where = self._origin(np.flatnonzero(bad))
        few = np.sort(np.partition(where, most)[:most] if len(where) > most else where)
        return tuple(self.raw.row_of(int(position)) for position in few)

    def _origin(self, index: IntArray) -> IntArray:
        """The positions in the raw table of rows that are left."""
        return index if self.positions is None else self.positions[index]

    def unreported(self, bad: Mask, column: str | None) -> Mask:
        """Those of some rows whose cell in a column has not been reported by an earlier check."""
        known = self.flawed.get(column or "")
        if known is None or not len(known):
            return bad
        where = np.flatnonzero(bad)
        left = np.zeros(self.n, dtype=bool)
        left[where[~np.isin(self._origin(where), known)]] = True
        return left

    def mark_reported(self, bad: Mask, column: str) -> None:
        """Remember cells that were reported, so that they are not called empty as well."""
        before = self._origin(np.flatnonzero(bad))
        self.flawed[column] = np.concatenate([self.flawed.get(column, before[:0]), before])

    def take(self, chosen: IntArray | Mask) -> None:
        """Keep some rows, in the order given."""
        index = np.asarray(np.flatnonzero(chosen) if chosen.dtype == bool else chosen, dtype=np.int64)
        self.positions = self._origin(index)
        self.codes, self.time = self.codes[index], self.time[index]
        for i, values in enumerate(self.columns):
            self.columns[i] = values[index]
        for i, codes in enumerate(self.attributes):
            self.attributes[i] = codes[index]

    def drop(self, bad: Mask) -> None:
        """Drop some rows; the offsets of executions follow."""
        keep = ~bad
        if len(self.offsets) > 1 and self.ids:
            lengths = np.add.reduceat(keep, self.offsets[:-1], dtype=np.int64)
            self.ids = tuple(name for name, n in zip(self.ids, lengths, strict=True) if n)
            self.offsets = np.concatenate([[0], np.cumsum(lengths[lengths > 0])]).astype(np.int64)
        self.take(keep)

    def recorded(self) -> TraceSet:
        """The rows that are left as a trace set; its period is none before it is resampled."""
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
        """One text per execution and attribute: that of its first row."""
        found: dict[str, list[str]] = {}
        starts = self.offsets[:-1]
        for name, codes, raw in zip(
            self.mapping.attributes, self.attributes, self.raw.attributes, strict=True
        ):
            self._say_mixed(name, codes, codes >= 0)
            found[name] = [raw.names[code] if code >= 0 else "" for code in codes[starts]]
        for feature, values in zip(self.features, self.columns, strict=True):
            if feature.unit is Unit.PLAIN and is_identity(feature.name) and _whole(values):
                self._say_mixed(feature.name, values, np.isfinite(values))
        return found

    def _say_mixed(self, name: str, cells: npt.NDArray[Any], there: Mask) -> None:
        """Report a column with more than one value within an execution: it may name several."""
        owner = np.repeat(np.arange(len(self.ids)), np.diff(self.offsets))
        first = cells[self.offsets[:-1]]
        differs = ~np.isclose(cells, first[owner], equal_nan=True)
        if not differs.any():
            return
        mixed, row = len(np.unique(owner[differs])), self.first_row(differs)
        where = plural(mixed, "execution")
        message = f"Column “{name}” has more than one value within {where}, first in row {row}."
        kind = (
            "mixed_identity" if self._names_several(name, owner[there], cells[there]) else "mixed_attribute"
        )
        self.log.add(kind, message, row=row, column=name, count=mixed)

    def _names_several(self, name: str, owner: IntArray, cells: npt.NDArray[Any]) -> bool:
        """Whether cells are names that repeat within executions, of what neither moves nor is a state."""
        pairs = np.unique(np.column_stack([owner, cells]), axis=0)[:, 0].astype(np.int64)
        mixed = np.bincount(pairs, minlength=len(self.ids)) > 1
        repeat = int(mixed[pairs].sum()) <= MOST_NAMES * int(mixed[owner].sum())
        changes = int(((np.diff(owner) == 0) & (np.diff(cells) != 0)).sum())
        moves = is_place(name) and changes <= TURNS * self.n
        return bool(mixed.any()) and repeat and not moves and not is_state(name)


def _whole(values: FloatArray) -> bool:
    known = values[np.isfinite(values)]
    return bool((known == np.round(known)).all())
