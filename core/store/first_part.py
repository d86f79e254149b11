"""The first part of a trace file, mapped as it would be imported: what a person sees before the import.

A text file is cut after whole lines, a Parquet file after some rows; what cannot be cut (JSON) is read whole
while it is small. The part is read by the same readers as the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from core.store.formats.opening import PARQUET, magic, read_head
from core.store.readers import read_with_report
from core.traces.evidence import Doubt, doubts

if TYPE_CHECKING:
    from os import PathLike

    from core.traces.mapping import ColumnMapping
    from core.traces.model import TraceSet
    from core.traces.validation import Report

PART_BYTES = 2 * 2**20
PART_ROWS = 40_000
MOST_JSON = 32 * 2**20


@dataclass(frozen=True, slots=True)
class FirstPart:
    """The traces of a file's first part, what was wrong there, and what does not look like containers.

    `whole` is true where the part is the file.
    """

    traces: TraceSet
    report: Report
    doubts: tuple[Doubt, ...]
    whole: bool


def first_part(path: str | PathLike[str], mapping: ColumnMapping) -> FirstPart | None:
    """Read the first part of a file.

    Parameters
    ----------
    path
        The file.
    mapping
        What its columns are.

    Returns
    -------
    FirstPart or None
        None where the file cannot be cut and is too large to be read for a look.

    Raises
    ------
    InputError
        As `core.store.readers.read_with_report` raises it.
    """
    where = Path(path)
    with TemporaryDirectory() as folder:
        part = _cut(where, Path(folder) / where.name)
        if part is None:
            return None
        traces, report = read_with_report(part, mapping)
        return FirstPart(traces, report, doubts(traces), part == where)


def _cut(path: Path, target: Path) -> Path | None:
    """The file itself where it is small, else its first part, or None."""
    if magic(path).startswith(PARQUET):
        return _cut_parquet(path, target)
    data = read_head(path, PART_BYTES)
    if len(data) < PART_BYTES:
        return path
    if data.lstrip()[:1] in (b"{", b"[") and b"\n{" not in data:
        return path if path.stat().st_size <= MOST_JSON else None
    end = data.rfind(b"\n")
    target.write_bytes(data[: end + 1] if end > 0 else data)
    return target


def _cut_parquet(path: Path, target: Path) -> Path:
    with pq.ParquetFile(path) as file:
        if file.metadata.num_rows <= PART_ROWS:
            return path
        batch = next(file.iter_batches(PART_ROWS))
    pq.write_table(pa.Table.from_batches([batch]), target)
    return target
