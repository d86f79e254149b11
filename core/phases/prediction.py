"""Codes and phases of samples, and dividing a phase."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.phases.clustering import fit_centres
from core.phases.describe import phase_statistics
from core.phases.encoders import nearest_of
from core.phases.kernels.blocks import BLOCK, label_columns
from core.phases.matching import main_feature, match_features
from core.phases.model import WARM_UP, Expansion, PhaseModel
from core.phases.rows import Windows, check_finite, windows_of, without_window
from core.traces.model import Role

if TYPE_CHECKING:
    from core.phases.encoders import Codes, Labels
    from core.phases.rows import FloatVector, IntVector
    from core.traces.model import FloatArray, IntArray, TraceSet


# Stable numbers for phases: by mean CPU, then mean memory, of their samples.
#
# Clusters come in an order that depends on the seed; people and colours need one that does not.


def _means(values: FloatArray, labels: Labels, k: int) -> FloatArray:
    """The mean of each cluster, to twelve digits, so that the order of adding up does not matter."""
    counts = np.maximum(np.bincount(labels, minlength=k), 1)
    means = np.bincount(labels, values.astype(np.float64), minlength=k) / counts
    return np.array([float(f"{mean:.9e}") for mean in means])


def reading_order(traces: TraceSet, samples: IntArray, labels: Labels, k: int) -> IntArray:
    """The clusters in the order in which they become phases, shape (k,).

    Parameters
    ----------
    traces
        Where CPU and memory are; without them the features in their order decide.
    samples, labels
        The clustered samples and the cluster of each, 0 … k − 1, shape (n,).
    k
        The number of clusters. Clusters without a sample come last.
    """
    chosen = [main_feature(traces.features, role) for role in (Role.CPU, Role.MEMORY)]
    first = [feature.name for feature in chosen if feature is not None]
    names = first + [feature.name for feature in traces.features if feature.name not in first]
    keys = [_means(traces.column(name)[samples], labels, k) for name in names]
    empty = np.bincount(labels, minlength=k) == 0
    size = -np.bincount(labels, minlength=k)
    return np.lexsort([size, *keys[::-1], empty])


def model_windows(model: PhaseModel, traces: TraceSet) -> Windows:
    """The standardised windows of a trace set as a model reads them.

    Raises
    ------
    MismatchError
        If the set lacks a feature or has it in another unit.
    InputError
        If a value is NaN or infinite.
    """
    names = match_features(model.features, traces, model.scaler)
    check_finite(traces, names)
    columns = [traces.column(name) for name in names]
    late = model.warmup == "zeros"
    return windows_of(columns, model.scaler, traces.segments(), model.history, late=late)


def encode(model: PhaseModel, traces: TraceSet) -> Codes:
    """The code of every sample, float32 of shape (n_samples, size); zeros without a full window.

    Raises
    ------
    MismatchError, InputError
        As `model_windows`.
    """
    windows = model_windows(model, traces)
    codes = np.zeros((windows.n_samples, model.encoder.size), np.float32)
    codes[windows.samples] = model.encoder.codes(windows)
    return codes


def predict(model: PhaseModel, traces: TraceSet) -> Labels:
    """The phase of every sample, int16 of shape (n_samples,).

    A sample without a full window is warm-up (−1), or, with ``warmup="zeros"``, in the phase of the
    all-zero code.

    Raises
    ------
    MismatchError, InputError
        As `model_windows`.
    """
    if model.encoder.affine is None:
        return labels_of(model, model_windows(model, traces))
    names = match_features(model.features, traces, model.scaler)
    delay = int(model.warmup == "zeros")
    labels = np.empty(traces.n_samples + delay + BLOCK, np.int16)
    ready = model.history + delay
    finite = label_columns(
        [traces.column(name) for name in names],
        model.scaler,
        model.encoder.affine,
        model.encoder.size,
        _centres(model),
        labels[ready:],
    )
    if not finite:
        check_finite(traces, names)
    labels = labels[: traces.n_samples]
    labels[without_window(traces.segments(), ready)] = _mask_without_window(model)
    return labels


def _centres(model: PhaseModel) -> tuple[FloatVector, IntVector, FloatVector]:
    """All centres of a model in the form that `label_columns` takes."""
    parts = [model.centres, *(each.centres for each in model.expansions)]
    bounds = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    divided = [0, *(each.phase for each in model.expansions)]
    ids = [*range(len(model.centres)), *(number for each in model.expansions for number in each.ids)]
    groups = np.column_stack([divided, bounds[:-1], bounds[1:]]).astype(np.int64)
    return np.concatenate(parts).astype(np.float32).ravel(), groups, np.array(ids, np.float32)


def _mask_without_window(model: PhaseModel) -> int:
    """The label of samples without a full window."""
    if model.warmup != "zeros":
        return WARM_UP
    zero = np.zeros((1, model.encoder.size), np.float32)
    return int(_divide_codes(model, nearest_of(zero, model.centres), zero)[0])


def labels_of(model: PhaseModel, windows: Windows) -> Labels:
    """The phase of every sample of windows that were made for this model."""
    labels = np.full(windows.n_samples, _mask_without_window(model), np.int16)
    labels_of_windows = model.encoder.nearest(windows, model.centres)
    labels[windows.samples] = _divide_windows(model, labels_of_windows, windows)
    return labels


def _divide_codes(model: PhaseModel, labels: Labels, codes: Codes) -> Labels:
    for expansion in model.expansions:
        inside = np.flatnonzero(labels == expansion.phase)
        ids = np.array(expansion.ids, np.int16)
        labels[inside] = ids[nearest_of(codes[inside], expansion.centres)]
    return labels


def _divide_windows(model: PhaseModel, labels: Labels, windows: Windows) -> Labels:
    """Apply `_divide`, encoding again only the windows of divided phases."""
    divided = np.flatnonzero(np.isin(labels, [expansion.phase for expansion in model.expansions]))
    if len(divided):
        codes = model.encoder.codes(select_windows(windows, divided))
        labels[divided] = _divide_codes(model, labels[divided], codes)
    return labels


def select_windows(windows: Windows, chosen: IntArray) -> Windows:
    """Some of the windows, over the same rows."""
    return replace(windows, samples=windows.samples[chosen], starts=windows.starts[chosen])


def expand(model: PhaseModel, traces: TraceSet, phase: int, into: int, seed: int = 0) -> PhaseModel:
    """Divide a phase into new ones by clustering its codes again (AI4DL's second notebook).

    No other sample's label changes. The new phases get the next ids, ordered among themselves like all
    phases; the old id no longer occurs in any label. Expansions can be nested.

    Parameters
    ----------
    model
        The model to expand; it stays as it is.
    traces
        Samples to find the new phases in, often newer ones than the training set.
    phase
        The phase to divide, one of `model.phases`.
    into
        The number of new phases, 2 to 64.
    seed
        Seeds the clustering.

    Raises
    ------
    InputError
        If the phase is not in the model, `into` is out of bounds, or the phase has fewer different codes.
    MismatchError
        If the traces do not fit the model.
    """
    if phase not in model.phases:
        live = ", ".join(f"φ{each + 1}" for each in model.phases)
        raise InputError(f"The model has no phase φ{phase + 1}.", f"It has: {live}.")
    if not 2 <= into <= 64:
        raise InputError(f"A phase cannot be divided into {into}.", "Choose a number from 2 to 64.")
    labels, codes = predict(model, traces), encode(model, traces)
    inside = np.flatnonzero(labels == phase)
    if not len(inside):
        raise InputError(
            f"No sample of these traces is in phase φ{phase + 1}.", "Choose another phase or other traces."
        )
    centres = fit_centres(codes[inside], into, seed)
    new_labels = nearest_of(codes[inside], centres)
    order = reading_order(traces, inside, new_labels, into)
    ids = tuple(range(model.next_id, model.next_id + into))
    expanded = replace(model, expansions=(*model.expansions, Expansion(phase, ids, centres[order])))
    statistics = phase_statistics(traces, predict(expanded, traces), expanded.phases)
    return replace(expanded, statistics=statistics)
