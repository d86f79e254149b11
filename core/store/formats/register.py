"""What a trace file is, by its first bytes: one reader for each kind, all alike from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from core.store.formats import docker_stats, sar
from core.store.formats.csv.source import CsvSource
from core.store.formats.parquet import ParquetSource
from core.store.formats.prometheus_csv import LongSource
from core.store.formats.prometheus_json import PrometheusSource
from core.store.formats.text_table import TextTable
from core.store.streams import PARQUET, magic, read_head

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.traces.mapping import ColumnMapping
    from core.traces.raw import RawTable
    from core.traces.validation import Problem


class Source(Protocol):
    """A file whose columns are known and can be read with a mapping."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def header(self) -> tuple[str, ...]:
        """The columns' names."""
        ...

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The first rows as texts."""
        ...

    @property
    def types(self) -> tuple[str, ...]:
        """The columns' types where the file states them, else empty."""
        ...

    @property
    def n_rows(self) -> int | None:
        """The number of rows where it is known without reading everything."""
        ...

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was odd about the file's beginning."""
        ...

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns."""
        ...


def open_source(path: Path) -> Source:
    """Look at the beginning of a file and choose its reader.

    Raises
    ------
    InputError
        If it is not there, empty, damaged, or nothing that holds traces.
    """
    if magic(path).startswith(PARQUET):
        return ParquetSource.open(path)
    start = read_head(path, 64 * 1024).decode("utf-8-sig", "replace").lstrip()
    for fits, parser, what in _LOGS:
        if fits(start):
            return TextTable.open(path, parser, what)
    if start.startswith(("{", "[")):
        return PrometheusSource.open(path)
    table = CsvSource.open(path)
    return LongSource.of(table) or table


_LOGS = (
    (sar.is_sadf, sar.parse_sadf, "output of sadf -d"),
    (sar.is_sar, sar.parse_sar, "output of sar"),
    (docker_stats.is_json, docker_stats.parse_json, "JSON lines of docker stats"),
    (docker_stats.is_table, docker_stats.parse_table, "a table of docker stats"),
)
