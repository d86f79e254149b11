"""Phases of whole columns at once: sixteen samples side by side, as the lanes of a vector.

A trace set keeps every feature in one array, so the values that sixteen neighbouring samples need of a
feature at some lag lie side by side: one load, at any offset, without transposing anything. Compared with
`core.phases.kernels.loops`, where the lanes are hidden units, nothing is wasted on padding (of ten hidden
units to sixteen), no sum crosses the lanes, and σ, distances and the choice of the nearest centre are also
computed for sixteen samples at once.

A block is 64 windows. Its samples and the history before them are standardised into a buffer that stays in
the first-level cache; codes stay there too and are never written out. The kernel knows nothing of
executions: it labels every window of the columns, and those that cross a boundary are overwritten
afterwards, which is cheaper than leaving them out. Lanes do not interact, so a label is the same wherever in
a block its sample stands, and the same as from `Encoder.nearest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numba.np.numpy_support import carray

from core.phases.crbm import aligned_empty, pad_size
from core.phases.kernels.compiling import compiled, inlined
from core.phases.kernels.lanes import (
    WIDTH,
    fused,
    load,
    pointer,
    sigmoid,
    smaller,
    spread,
    store,
    store_whole,
    sub,
    where_equal,
    where_less,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.phases.rows import Scaler
    from core.traces.model import FloatArray

# as in loops.py
LANES_MARK = "1338e2ff4758"
F32 = np.float32
BLOCK = 4 * WIDTH

Array = npt.NDArray[Any]
Affine = tuple[Array, Array, bool]
Centres = tuple[Array, Array, Array]


@inlined
def standardise_block(
    addresses: Array, mean: Array, factor: Array, first: int, last: int, planes: Array, stride: int
) -> float:
    """Write ``(x − mean) · factor`` of samples first … last − 1, feature by feature; return their sum."""
    total = 0.0
    for f in range(addresses.shape[0]):
        values = carray(pointer(addresses[f]), last, np.float64)[first:last]
        plane = planes[f * stride : f * stride + last - first]
        m, s = mean[f], factor[f]
        for i in range(last - first):
            scaled = (values[i] - m) * s
            total += scaled
            plane[i] = F32(scaled)
    return total


@inlined
def two_sums(planes: Array, stride: int, at: int, n: int, affine: Affine, h: int, code: Array) -> None:
    """Write the sums of hidden units h and h + 1 for the 64 windows that begin at `at`.

    Each number loaded serves several multiplications, and eight sums side by side hide the latency of
    each: with two units at a time at most one is wasted, and the sums still fit the registers.
    """
    matrix, bias = affine[0], affine[1]
    wide = bias.shape[0]
    p0, q0 = spread(bias[h]), spread(bias[h + 1])
    p1, p2, p3 = p0, p0, p0
    q1, q2, q3 = q0, q0, q0
    m = h
    for lag in range(matrix.shape[0] // (wide * n)):
        for f in range(n):
            k = f * stride + at + lag
            x0, x1 = load(planes, k), load(planes, k + WIDTH)
            x2, x3 = load(planes, k + 2 * WIDTH), load(planes, k + 3 * WIDTH)
            w = spread(matrix[m])
            p0, p1, p2, p3 = fused(w, x0, p0), fused(w, x1, p1), fused(w, x2, p2), fused(w, x3, p3)
            w = spread(matrix[m + 1])
            q0, q1, q2, q3 = fused(w, x0, q0), fused(w, x1, q1), fused(w, x2, q2), fused(w, x3, q3)
            m += wide
    c = h * BLOCK
    store(code, c, p0)
    store(code, c + WIDTH, p1)
    store(code, c + 2 * WIDTH, p2)
    store(code, c + 3 * WIDTH, p3)
    c += BLOCK
    store(code, c, q0)
    store(code, c + WIDTH, q1)
    store(code, c + 2 * WIDTH, q2)
    store(code, c + 3 * WIDTH, q3)


@inlined
def label_sixteen(code: Array, v: int, size: int, centres: Centres, labels: Array, at: int) -> None:
    """Write the labels of sixteen of a block's windows, from the v-th on.

    Centres come in groups. The first has those of all windows; each further one divides a phase, so it
    changes only the windows that have this phase by then.
    """
    places, groups, ids = centres
    label = spread(F32(0))
    for g in range(groups.shape[0]):
        best, lowest = spread(ids[groups[g, 1]]), spread(F32(np.inf))
        for c in range(groups[g, 1], groups[g, 2]):
            distance = spread(F32(0))
            for h in range(size):
                difference = sub(load(code, h * BLOCK + v), spread(places[c * size + h]))
                distance = fused(difference, difference, distance)
            best = where_less(distance, lowest, spread(ids[c]), best)
            lowest = smaller(distance, lowest)
        label = where_equal(label, spread(F32(groups[g, 0])), best, label)
    store_whole(labels, at + v, label)


@compiled
def label_windows(
    addresses: Array,
    n_samples: int,
    scaling: tuple[Array, Array],
    planes: Array,
    affine: Affine,
    size: int,
    centres: Centres,
    labels: Array,
) -> float:
    """Write the phase of each window of columns, the first at ``labels[0]``, and up to one block more.

    `addresses` are those of the columns, float64 of length `n_samples`; `planes` is scratch for one
    stretch, feature after feature, whose windows are a multiple of a block. Returns the sum of all
    standardised values, which is not finite if one of the values is not.
    """
    n = addresses.shape[0]
    history = affine[0].shape[0] // (affine[1].shape[0] * n) - 1
    stride = planes.shape[0] // n
    stretch = (stride - history) // BLOCK * BLOCK
    code = np.empty((size + 1) * BLOCK, F32)
    total = 0.0
    for first in range(0, n_samples - history, stretch):
        last = min(first + stretch + history, n_samples)
        total += standardise_block(addresses, scaling[0], scaling[1], first, last, planes, stride)
        for at in range(0, last - first - history, BLOCK):
            for h in range(0, size, 2):
                two_sums(planes, stride, at, n, affine, h, code)
            if affine[2]:
                for c in range(0, size * BLOCK, WIDTH):
                    store(code, c, sigmoid(load(code, c)))
            for v in range(0, BLOCK, WIDTH):
                label_sixteen(code, v, size, centres, labels, first + at)
    return total


def label_columns(
    columns: Sequence[FloatArray], scaler: Scaler, affine: Affine, size: int, centres: Centres, labels: Array
) -> bool:
    """Write the phase of each window of columns, as if they were one execution.

    Parameters
    ----------
    columns
        The features in the model's order, each of shape (n_samples,).
    scaler
        Their mean and scale.
    affine
        Matrix and bias that make a code of a window, and whether σ is applied (`Encoder.affine`).
    size
        The length of a code.
    centres
        All centres, flat (k, size); the groups of them, rows (phase that is divided, first, end); and the
        phase that each stands for. The first group divides phase 0, in which every window starts.
    labels
        int16, one for each window and room for a `BLOCK` behind them.

    Returns
    -------
    whether all values of the columns are surely finite numbers.
    """
    plain = [np.ascontiguousarray(values, np.float64) for values in columns]
    addresses = np.array([values.ctypes.data for values in plain], np.int64)
    history = len(affine[0]) // (len(affine[1]) * len(plain)) - 1
    # each stretch standardises its history again, so a long history gets a longer stretch
    stretch = BLOCK * max(1, 4 * history // BLOCK)
    planes = aligned_empty(len(plain) * pad_size(stretch + history)).ravel()
    scaling = (scaler.mean, scaler.factor)
    total = label_windows(addresses, len(plain[0]), scaling, planes, affine, size, centres, labels)
    return len(plain[0]) > history and bool(np.isfinite(total))
