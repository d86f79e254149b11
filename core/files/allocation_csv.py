"""Allocations as CSV: one line per policy, resource and sample, so that others can recompute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import csv

from core.errors import InputError
from core.tables import safe_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from core.traces.model import FloatArray, IntArray

SCHEMA = pa.schema(
    [
        ("policy", pa.string()),
        ("execution", pa.string()),
        ("timestamp", pa.float64()),
        ("resource", pa.string()),
        ("allocation", pa.float64()),
        ("demand", pa.float64()),
    ]
)


def write_allocations(
    path: Path,
    ids: Sequence[str],
    offsets: IntArray,
    time: FloatArray,
    series: Iterable[tuple[str, str, FloatArray, FloatArray]],
) -> int:
    """Write allocations; names are made safe for spreadsheets (`core.tables`).

    Raises InputError if the file cannot be written.
    """
    names = pa.array([safe_cell(name) for name in ids], pa.string())
    owner = pa.array(np.repeat(np.arange(len(ids), dtype=np.int32), np.diff(offsets)))
    execution, count = names.take(owner), 0
    try:
        with csv.CSVWriter(str(path), SCHEMA) as writer:
            for policy, resource, allocation, demand in series:
                n = len(allocation)
                columns = [
                    pa.repeat(safe_cell(policy), n), execution,
                    pa.array(time, pa.float64()), pa.repeat(resource, n),
                    pa.array(allocation, pa.float64()), pa.array(demand, pa.float64()),
                ]  # fmt: skip
                writer.write_table(pa.table(columns, schema=SCHEMA))
                count += n
    except OSError as error:
        raise InputError(f"“{path}” cannot be written.", "Give another path for the allocations.") from error
    return count
