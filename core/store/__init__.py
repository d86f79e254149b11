"""Readers and writers: trace files, stored trace sets and model files."""

from core.store.belonging import belonging
from core.store.first_part import FirstPart, first_part
from core.store.inspection import ColumnInfo, Inspection
from core.store.phase_models.ai4dl import import_ai4dl, read_crbm, read_kmeans, read_scaler
from core.store.phase_models.archive import (
    load_model,
    model_archive,
    model_fingerprint,
    read_model_archive,
    save_model,
)
from core.store.readers import inspect_file, read_traces, read_with_report
from core.store.trace_sets.reading import StoredTraces, open_trace_set
from core.store.trace_sets.writing import write_trace_set

__all__ = [
    "ColumnInfo",
    "FirstPart",
    "Inspection",
    "StoredTraces",
    "belonging",
    "first_part",
    "import_ai4dl",
    "inspect_file",
    "load_model",
    "model_archive",
    "model_fingerprint",
    "open_trace_set",
    "read_crbm",
    "read_kmeans",
    "read_model_archive",
    "read_scaler",
    "read_traces",
    "read_with_report",
    "save_model",
    "write_trace_set",
]
