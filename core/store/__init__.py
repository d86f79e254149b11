"""Readers and writers: trace files, stored trace sets and model files."""

from core.store.inspection import ColumnInfo, Inspection
from core.store.phase_models.ai4dl import import_ai4dl, read_crbm, read_kmeans, read_scaler
from core.store.phase_models.archive import (
    load_model,
    model_archive,
    model_fingerprint,
    read_model_archive,
    save_model,
)
from core.store.preview import group_files
from core.store.readers import FirstPart, inspect_file, read_first_part, read_traces, read_with_report
from core.store.trace_sets import StoredTraces, open_trace_set, write_trace_set

__all__ = [
    "ColumnInfo",
    "FirstPart",
    "Inspection",
    "StoredTraces",
    "group_files",
    "import_ai4dl",
    "inspect_file",
    "load_model",
    "model_archive",
    "model_fingerprint",
    "open_trace_set",
    "read_crbm",
    "read_first_part",
    "read_kmeans",
    "read_model_archive",
    "read_scaler",
    "read_traces",
    "read_with_report",
    "save_model",
    "write_trace_set",
]
