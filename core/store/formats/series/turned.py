"""What tables of series have in common: a text table that is seen with one column per metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from core.store.formats.csv.reader import CsvSource
    from core.traces.validation import Problem


@dataclass(frozen=True, kw_only=True)
class TurnedTable:
    """A text table as it is seen after turning.

    Parameters
    ----------
    source
        The table as it is written.
    header
        ``execution``, ``timestamp`` and one name per metric.
    rows
        The first rows under that header.
    """

    source: CsvSource
    header: tuple[str, ...]
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
