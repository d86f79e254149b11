"""Reading Parquet files: columns arrive typed, so only strings among numbers need a second look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.errors import InputError, RefusedError
from core.reading.formats.base import FREE_BYTES, MAX_RATIO, PARQUET, Format, Source
from core.reading.table import TableBuilder
from core.traces.validation import ProblemLog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.reading.mapping import ColumnMapping
    from core.reading.table import RawTable

SAMPLE_ROWS = 50


@dataclass(frozen=True, kw_only=True)
class ParquetSource(Source):
    """A Parquet file that can be read with a mapping; its first row is row 1."""

    @classmethod
    def open(cls, path: Path) -> ParquetSource:
        """Read the footer and the first rows.

        Raises InputError if the file is damaged or has no rows.
        """
        try:
            with pq.ParquetFile(path) as file:
                schema, n_rows = file.schema_arrow, file.metadata.num_rows
                _refuse_bomb(path, file.metadata)
            with pq.ParquetFile(path, read_dictionary=_list_texts(schema)) as file:
                batch = next(file.iter_batches(SAMPLE_ROWS), None)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise _damaged(path, error) from None
        if not n_rows or batch is None:
            raise InputError(f"“{path.name}” has no rows.", "Choose a file with samples.")
        if len(set(schema.names)) < len(schema.names):
            twice = next(name for name in schema.names if schema.names.count(name) > 1)
            raise InputError(f"“{path.name}” has two columns “{twice}”.", "Rename one of them.")
        _refuse_long_texts(path, pa.Table.from_batches([batch]))
        columns = [_cells(path, *pair) for pair in zip(schema.names, batch.columns, strict=True)]
        return cls(
            path=path,
            header=tuple(schema.names),
            rows=tuple(zip(*columns, strict=True)),
            types=tuple(str(kind) for kind in schema.types),
            n_rows=n_rows,
        )

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns.

        Raises InputError if a column is missing or of a non-numeric type, or the file is damaged.
        """
        mapping.require(self.header)
        if progress is not None:
            progress(0.0, f"Reading {self.n_rows:,} rows")
        try:
            texts = _list_texts(pq.read_schema(self.path))
            table = pq.read_table(
                self.path, columns=list(mapping.columns), memory_map=False, read_dictionary=texts
            )
        except (pa.ArrowException, OSError) as error:
            raise _damaged(self.path, error) from None
        _refuse_long_texts(self.path, table)
        builder = TableBuilder(mapping, self.header, ProblemLog())
        try:
            builder.add(
                dict(zip(table.column_names, table.columns, strict=True)), range(1, table.num_rows + 1)
            )
        except (UnicodeDecodeError, OverflowError, ValueError):
            for name, column in zip(table.column_names, table.columns, strict=True):
                _cells(self.path, name, column)  # says which column it is
            raise
        return builder.table(self.path.name.split(".")[0])


MAX_TEXT = 100_000
"""The largest number of bytes of a text."""
ROWS_PER_BYTE, FREE_ROWS = 10, 2_000_000
"""More rows of fewer bytes are no measurements, which have a time each."""


def _list_texts(schema: pa.Schema) -> list[str]:
    """List the columns of texts, which are read with each distinct text once."""
    return [one.name for one in schema if pa.types.is_string(one.type) or pa.types.is_large_string(one.type)]


def _refuse_bomb(path: Path, metadata: pq.FileMetaData) -> None:
    """Raise RefusedError for a file that is far larger once it is unpacked."""
    size, n_rows = path.stat().st_size, metadata.num_rows
    unpacked = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if unpacked > max(FREE_BYTES, MAX_RATIO * size) or n_rows > max(FREE_ROWS, ROWS_PER_BYTE * size):
        raise RefusedError(
            f"“{path.name}” unpacks to {unpacked / 2**20:,.0f} MiB in {n_rows:,} rows, "
            f"far more than its {size / 2**20:,.3f} MiB.",
            "Write it as CSV and import that if you trust it.",
        )


def _refuse_long_texts(path: Path, table: pa.Table) -> None:
    """Raise InputError for a text that is too long for a name."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        for chunk in column.chunks if pa.types.is_dictionary(column.type) else ():
            longest = pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0
            if longest > MAX_TEXT:
                raise InputError(
                    f"Column “{name}” of “{path.name}” has a text of {longest:,} bytes.",
                    "Leave columns of long texts out of the file.",
                )


def _cells(path: Path, name: str, column: pa.Array | pa.ChunkedArray) -> list[str]:
    """The values of a column as strings.

    Raises InputError if they are not valid UTF-8, or dates that no calendar has.
    """
    try:
        return [_text(value) for value in column.to_pylist()]
    except UnicodeDecodeError:
        reason = f"column “{name}” has text that is not UTF-8"
    except (OverflowError, ValueError):
        reason = f"column “{name}” has dates outside the years 1 to 9999"
    raise _damaged(path, ValueError(reason))


def _text(value: object) -> str:
    if value is None:
        return ""
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _damaged(path: Path, error: Exception) -> InputError:
    reason = str(error).splitlines()[0][:120] if str(error) else "it cannot be opened"
    return InputError(
        f"“{path.name}” is a damaged Parquet file: {reason}.", "Write or copy the whole file again."
    )


FORMATS = (
    Format(
        "parquet",
        "Parquet",
        (".parquet", ".pq"),
        lambda start: ParquetSource.open(start.path),
        PARQUET,
    ),
)
