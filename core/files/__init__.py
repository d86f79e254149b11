"""Stored trace sets, phase models and recorded runs; AI4DL's files are read without executing them."""

from core.files.phase_models.ai4dl import import_ai4dl, read_crbm, read_kmeans, read_scaler
from core.files.phase_models.archive import (
    load_model,
    model_archive,
    model_fingerprint,
    read_model_archive,
    save_model,
)
from core.files.trace_sets import StoredTraces, open_trace_set, write_trace_set

__all__ = [
    "StoredTraces",
    "import_ai4dl",
    "load_model",
    "model_archive",
    "model_fingerprint",
    "open_trace_set",
    "read_crbm",
    "read_kmeans",
    "read_model_archive",
    "read_scaler",
    "save_model",
    "write_trace_set",
]
