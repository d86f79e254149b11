"""Fitting a phase model: standardise → encode windows → cluster → number and describe."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.phases.clustering import fit_centres, single_threaded
from core.phases.describe import phase_statistics
from core.phases.drift import measure_limits, measure_ranges
from core.phases.encoders import ENCODERS, nearest_of
from core.phases.matching import default_features, named_features
from core.phases.model import PhaseModel, TrainingRecord
from core.phases.prediction import predict, reading_order
from core.phases.rows import Scaler, Windows, check_finite, fit_scaler, windows_of
from core.phases.settings import PhaseSettings
from core.progress_reporting import Progress, silent
from core.traces.model import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.phases.encoders import Encoder
    from core.traces.model import Feature, TraceSet

ENCODING, CLUSTERING = 0.9, 0.98


def training_windows(
    traces: TraceSet, features: Sequence[Feature], history: int, warmup: str
) -> tuple[Scaler, Windows]:
    """A scaler fitted to a trace set, and the set's windows scaled by it.

    Raises
    ------
    InputError
        If a value is NaN or infinite, or no execution is longer than the history.
    """
    names = [feature.name for feature in features]
    check_finite(traces, names)
    columns = [traces.column(name) for name in names]
    scaler = fit_scaler(columns) if traces.n_samples else Scaler(np.zeros(len(names)), np.ones(len(names)))
    windows = windows_of(columns, scaler, traces.segments(), history, late=warmup == "zeros")
    if not len(windows.starts):
        longest = int(np.diff(traces.segments()).max(initial=0))
        raise InputError(
            f"No execution is long enough for a history of {history}: the longest stretch without a gap "
            f"has {longest} samples.",
            "Choose a shorter history, or traces with longer executions.",
        )
    return scaler, windows


def fit(
    traces: TraceSet,
    settings: PhaseSettings | None = None,
    features: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> PhaseModel:
    """Fit a phase model to a trace set. The same traces and settings give the same model, bit for bit.

    Parameters
    ----------
    traces
        The samples to learn from.
    settings
        What to fit; `PhaseSettings()` by default.
    features
        The names of the columns to read; by default all usage that varies, limits and loss left out.
    progress
        Called as ``progress(fraction, message, epoch=…, error=…)``; it may raise `Cancelled`.

    Raises
    ------
    InputError
        If a feature is missing or has NaN or infinite values, no execution is longer than the
        history, training diverges, or there are fewer different codes than phases.
    """
    settings, progress = settings or PhaseSettings(), progress or silent
    chosen = default_features(traces) if features is None else named_features(traces, features)
    scaler, windows = training_windows(traces, chosen, settings.history, settings.warmup)
    encoder, errors = _encoder(windows, len(chosen), settings, progress)
    last = {"error": errors[-1], "epoch": float(len(errors))} if errors else {}
    progress(ENCODING, "Clustering codes", **last)

    def partly(fraction: float, message: str, /, **metrics: float) -> None:
        progress(ENCODING + (CLUSTERING - ENCODING) * fraction, message, **last, **metrics)

    model = cluster_model(traces, chosen, scaler, windows, encoder, settings, partly)
    progress(CLUSTERING, "Describing phases", **last)
    statistics = phase_statistics(traces, predict(model, traces), model.phases)
    record = TrainingRecord(
        errors,
        traces.n_samples,
        traces.n_executions,
        len(windows.starts),
        fingerprint(traces),
        traces.period,
        measure_ranges([traces.column(feature.name) for feature in chosen]),
        measure_limits(model, windows),
    )
    progress(1.0, "Done", **last)
    return replace(model, training=record, statistics=statistics)


def _encoder(
    windows: Windows, features: int, settings: PhaseSettings, progress: Progress
) -> tuple[Encoder, tuple[float, ...]]:
    def partly(fraction: float, message: str, /, **metrics: float) -> None:
        progress(ENCODING * fraction, message, **metrics)

    with single_threaded():
        encoder, errors = ENCODERS[settings.encoder].fit(windows, features, settings, partly)
    return encoder, errors


def cluster_model(
    traces: TraceSet,
    features: tuple[Feature, ...],
    scaler: Scaler,
    windows: Windows,
    encoder: Encoder,
    settings: PhaseSettings,
    progress: Progress = silent,
) -> PhaseModel:
    """Cluster the codes of windows and number the clusters: a model without training record and statistics.

    Raises
    ------
    InputError
        If there are fewer different codes than phases.
    """
    codes, samples = encoder.codes(windows), windows.samples
    if settings.warmup == "zeros":
        codes_of_samples = np.zeros((windows.n_samples, encoder.size), np.float32)
        codes_of_samples[samples] = codes
        codes, samples = codes_of_samples, np.arange(windows.n_samples)
    centres = fit_centres(codes, settings.phases, settings.seed, progress)
    order = reading_order(traces, samples, nearest_of(codes, centres), settings.phases)
    return PhaseModel(features, scaler, encoder, centres[order], settings)
