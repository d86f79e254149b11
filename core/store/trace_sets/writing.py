"""Stored trace sets: a directory that is written once and then only read.

| file | what |
|---|---|
| ``samples.parquet`` | time and features, executions one after another; a row group holds whole executions |
| ``executions.parquet`` | one row per execution: name, first sample, row group, and the summary |
| ``breaks.npy`` | indices of the samples after a gap |
| ``report.json`` | what was wrong with the file that it came from |
| ``info.json`` | features, period, sizes, the content's fingerprint, and the format's version |

``info.json`` is written last, so a directory without it is not a trace set. Samples are stored plain
(64-bit floats, LZ4, no dictionary, no statistics): on real data that reads and writes faster than
anything smaller, and one execution is read without touching the others.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import ConflictError
from core.store.trace_sets.reading import (
    BREAKS,
    EXECUTIONS,
    GROUP,
    INFO,
    REPORT,
    SAMPLES,
    START,
    StoredInfo,
    info_to_dict,
)
from core.traces.model import column_digest, combine
from core.traces.summary import summarise
from core.traces.validation import Report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

    from core.traces.model import IntArray, TraceSet

GROUP_ROWS = 16_384


def write_trace_set(
    directory: Path,
    traces: TraceSet,
    report: Report | None = None,
    summary: pd.DataFrame | None = None,
    progress: Callable[[float, str], None] | None = None,
    *,
    durable: bool = False,
) -> StoredInfo:
    """Write a trace set into an empty directory.

    Raises
    ------
    ConflictError
        If the directory is not empty.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise ConflictError(f"The folder “{directory.name}” is not empty.", "Choose a new folder.")
    bounds = _group_bounds(traces.offsets)
    with ThreadPoolExecutor(2) as pool:
        table = pool.submit(lambda: summarise(traces) if summary is None else summary)
        digests = [pool.submit(column_digest, values) for values in (*traces.columns, traces.time)]
        _write_samples(directory / SAMPLES, traces, bounds, progress)
        _write_executions(directory / EXECUTIONS, traces, bounds, table.result())
        mark = combine(traces, [one.result() for one in digests])
    np.save(directory / BREAKS, np.asarray(traces.breaks, dtype=np.int64), allow_pickle=False)
    _write_json(directory / REPORT, (report or Report()).to_dict())
    info = StoredInfo(
        traces.features,
        tuple(traces.attributes),
        traces.period,
        traces.resampling,
        traces.n_executions,
        traces.n_samples,
        mark,
    )
    _write_json(directory / INFO, info_to_dict(info))
    if durable:
        _sync(directory)
    return info


def _group_bounds(offsets: IntArray) -> IntArray:
    """Bounds of the row groups: whole executions, about `GROUP_ROWS` samples each."""
    if len(offsets) < 2:
        return np.zeros(1, dtype=np.int64)
    groups = offsets[:-1] // GROUP_ROWS
    firsts = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.append(offsets[firsts], offsets[-1])


def _write_samples(
    path: Path, traces: TraceSet, bounds: IntArray, progress: Callable[[float, str], None] | None
) -> None:
    columns = [traces.time, *traces.columns]
    # columns are stored by position: a feature may have any name, even "time"
    table = pa.table({str(i): values for i, values in enumerate(columns)})
    with pq.ParquetWriter(
        path,
        table.schema,
        compression="lz4",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
        write_batch_size=4 * GROUP_ROWS,
        data_page_size=2**24,  # a column of a group is one page
    ) as writer:
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            writer.write_table(table.slice(start, end - start), row_group_size=max(end - start, 1))
            if progress is not None:
                progress(end / traces.n_samples, f"Storing {end:,} of {traces.n_samples:,} samples")


def _write_executions(path: Path, traces: TraceSet, bounds: IntArray, summary: pd.DataFrame) -> None:
    starts = traces.offsets[:-1]
    table = summary.assign(**{START: starts, GROUP: np.searchsorted(bounds, starts, side="right") - 1})
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path, compression="lz4")


def _write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1), encoding="utf-8")


def _sync(directory: Path) -> None:
    for path in (*directory.iterdir(), directory):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
