"""What tables of series have in common: a text table that is seen with one column per metric."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.traces.cells.numbers import style_of_rows
from core.traces.cells.quantities import BINARY, numbers_of, written_unit
from core.units import Unit

if TYPE_CHECKING:
    from pathlib import Path

    from core.store.formats.csv.reader import CsvSource
    from core.traces.mapping import ColumnMapping
    from core.traces.validation import Problem


@dataclass(frozen=True, kw_only=True)
class TurnedTable:
    """A text table as it is seen after turning."""

    #: The table as it is written.
    source: CsvSource
    #: ``execution``, ``timestamp`` and one name per metric.
    header: tuple[str, ...]
    #: The first rows under that header.
    rows: tuple[tuple[str, ...], ...]

    @property
    def path(self) -> Path:
        """The file."""
        return self.source.path

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was odd about the beginning of the table as it is written."""
        return self.source.problems

    @property
    def types(self) -> tuple[str, ...]:
        """Empty: text files state no types."""
        return ()

    @property
    def n_rows(self) -> int | None:
        """Unknown before the end: how many rows become one is not known."""
        return None

    def as_read(self, mapping: ColumnMapping) -> ColumnMapping:
        """The mapping in which sizes that cells write are in bytes, since series are read so.

        Who writes legends and units (Grafana) means 1000³ by GB, and has GiB for 1024³.
        """
        style = style_of_rows(self.rows)

        def in_bytes(column: str) -> bool:
            place = self.header.index(column)
            return written_unit(numbers_of((row[place] for row in self.rows), style)) is Unit.BYTES

        features = tuple(
            replace(one, unit_key="bytes") if one.unit_key in BINARY and in_bytes(one.column) else one
            for one in mapping.features
        )
        return replace(mapping, features=features)
