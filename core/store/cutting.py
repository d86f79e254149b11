"""The first part of a file, cut so that it is a whole file again.

A text file is cut after whole lines, a Parquet file after some rows; what cannot be cut (JSON) is taken whole
while it is small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from core.store.formats.opening import PARQUET, magic, read_head

if TYPE_CHECKING:
    from pathlib import Path

PART_BYTES = 2 * 2**20
PART_ROWS = 40_000
MOST_JSON = 32 * 2**20


def cut(path: Path, target: Path) -> Path | None:
    """The first part of a file.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    if magic(path).startswith(PARQUET):
        return _cut_parquet(path, target)
    data = read_head(path, PART_BYTES)
    if len(data) < PART_BYTES:
        return path
    json = data.lstrip()[:1] in (b"{", b"[")
    if json and b"\n{" not in data:
        return path if path.stat().st_size <= MOST_JSON else None
    end = data.rfind(b"\n{" if json else b"\n")
    target.write_bytes(data[: end + 1] if end > 0 else data)
    return target


def _cut_parquet(path: Path, target: Path) -> Path:
    with pq.ParquetFile(path) as file:
        if file.metadata.num_rows <= PART_ROWS:
            return path
        batch = next(file.iter_batches(PART_ROWS))
    pq.write_table(pa.Table.from_batches([batch]), target)
    return target


def cut_all(folder: Path, target: Path) -> Path | None:
    """A folder with the first part of every file; the folder itself where all are small (see `cut`)."""
    target.mkdir()
    for path in sorted(folder.iterdir()):
        part = cut(path, target / path.name)
        if part is None:
            return None
        if part == path:
            (target / path.name).symlink_to(path)
    return folder if all(one.is_symlink() for one in target.iterdir()) else target
