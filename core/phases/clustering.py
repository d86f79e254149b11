"""k-means on codes, reproducible from a seed whatever the number of cores.

The starting points are sought on a seeded subsample with ten attempts, then Lloyd's algorithm runs once
over all codes from the best of them; above one million codes minibatch k-means takes its place. Both run
on one thread, because the order in which several threads add up changes the last bits.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from core.errors import InputError

if TYPE_CHECKING:
    from core.phases.encoders import Codes

SAMPLE = 20_000
MINIBATCH_ABOVE = 1_000_000
ATTEMPTS = 10


def subsample(n: int, size: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """At most `size` of the numbers 0 … n − 1, sorted, without repeats."""
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


def distinct(codes: Codes, enough: int) -> int:
    """The number of different codes, or `enough` where there are at least that many."""
    few = len(np.unique(codes[:: max(1, len(codes) // 1_000)], axis=0))
    return enough if few >= enough else min(enough, len(np.unique(codes, axis=0)))


def fit_centres(codes: Codes, k: int, seed: int) -> Codes:
    """The k centres of codes, shape (k, size).

    Raises
    ------
    InputError
        If there are fewer different codes than centres.
    """
    there = distinct(codes, k)
    if there < k:
        raise InputError(
            f"There are only {there} different codes, which is fewer than {k} phases.",
            f"Choose at most {max(there, 1)} phases, or traces that vary more.",
        )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Number of distinct clusters")
        return _fit(np.ascontiguousarray(codes, np.float32), k, seed)


def _fit(codes: Codes, k: int, seed: int) -> Codes:
    # scikit-learn takes a second to import, which only those who fit should wait for
    from sklearn.cluster import KMeans, MiniBatchKMeans  # noqa: PLC0415

    part = codes[subsample(len(codes), SAMPLE, seed)]
    if distinct(part, k) < k:
        part = codes
    first = KMeans(k, n_init=ATTEMPTS, random_state=seed).fit(part)
    if len(part) == len(codes):
        return np.asarray(first.cluster_centers_, np.float32)
    start = first.cluster_centers_
    if len(codes) > MINIBATCH_ABOVE:
        whole = MiniBatchKMeans(k, init=start, n_init=1, batch_size=65_536, max_iter=10, random_state=seed)
    else:
        whole = KMeans(k, init=start, n_init=1, random_state=seed)
    return np.asarray(whole.fit(codes).cluster_centers_, np.float32)


def within_squares(codes: Codes, centres: Codes, labels: np.ndarray[tuple[int], np.dtype[np.int16]]) -> float:
    """The sum of squared distances of codes to their centres."""
    difference = codes.astype(np.float64) - centres[labels].astype(np.float64)
    return float(np.einsum("ij,ij->", difference, difference))
