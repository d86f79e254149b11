"""Readers and writers: trace files, stored trace sets and model files."""

from core.store.inspect import ColumnInfo, Inspection, inspect_file
from core.store.readers import read_traces, read_with_report
from core.store.trace_store import StoredTraces, open_trace_set, write_trace_set

__all__ = [
    "ColumnInfo",
    "Inspection",
    "StoredTraces",
    "inspect_file",
    "open_trace_set",
    "read_traces",
    "read_with_report",
    "write_trace_set",
]
