"""Stable numbers for phases: by mean CPU, then mean memory, of their samples.

Clusters come in an order that depends on the seed; people and colours need one that does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.phases.matching import main_feature
from core.traces.model import Role

if TYPE_CHECKING:
    from core.phases.encoders import Labels
    from core.traces.model import FloatArray, IntArray, TraceSet


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
