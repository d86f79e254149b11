"""k-means on codes, reproducible from a seed whatever the number of cores.

The starting points are sought on a seeded subsample with ten attempts, then Lloyd's algorithm runs once
over all codes from the best of them, reporting progress after each round. Both run on one thread, because
the order in which several threads add up changes the last bits.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from core.errors import InputError
from core.phases.encoders import nearest_of
from core.phases.kernels import loops
from core.progress_reporting import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.phases.encoders import Codes

SAMPLE = 20_000
ATTEMPTS, ROUNDS = 10, 300
# centres have converged when they move by at most this share of the codes' mean variance
TOLERANCE = 1e-4


@contextmanager
def single_threaded() -> Iterator[None]:
    """Compute on one thread, scikit-learn included."""
    # what is loaded later would not be limited: k-means on small samples then takes several times as long
    import sklearn.cluster
    import sklearn.metrics  # noqa: F401 - as above

    with threadpool_limits(1):
        yield


def subsample(n: int, size: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """At most `size` of the numbers 0 … n − 1, sorted, without repeats."""
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


def count_distinct(codes: Codes, enough: int) -> int:
    """The number of different codes, or `enough` where there are at least that many."""
    estimate = len(np.unique(codes[:: max(1, len(codes) // 1_000)], axis=0))
    return enough if estimate >= enough else min(enough, len(np.unique(codes, axis=0)))


def fit_centres(codes: Codes, k: int, seed: int, progress: Progress = silent) -> Codes:
    """The k centres of codes, shape (k, size); `progress` is called after each round over all codes.

    Raises
    ------
    InputError
        If there are fewer different codes than centres.
    """
    n_distinct = count_distinct(codes, k)
    if n_distinct < k:
        raise InputError(
            f"There are only {n_distinct} different codes, which is fewer than {k} phases.",
            f"Choose at most {max(n_distinct, 1)} phases, or traces that vary more.",
        )
    with single_threaded(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Number of distinct clusters")
        return _fit_k_means(np.ascontiguousarray(codes, np.float32), k, seed, progress)


def _fit_k_means(codes: Codes, k: int, seed: int, progress: Progress) -> Codes:
    # scikit-learn takes a second to import, which only those who fit should wait for
    from sklearn.cluster import KMeans

    part = codes[subsample(len(codes), SAMPLE, seed)]
    if count_distinct(part, k) < k:
        part = codes
    first = KMeans(k, n_init=ATTEMPTS, random_state=seed).fit(part)
    centres = np.asarray(first.cluster_centers_, np.float32)
    return centres if len(part) == len(codes) else run_lloyd(codes, centres, progress)


def run_lloyd(codes: Codes, centres: Codes, progress: Progress = silent) -> Codes:
    """Move centres to the means of their codes until they converge (Lloyd, 1982).

    A centre without codes stays where it is.
    """
    still = TOLERANCE * float(codes.var(axis=0, dtype=np.float64).mean())
    for number in range(1, ROUNDS + 1):
        before, labels = centres, nearest_of(codes, centres)
        sums, sizes = np.zeros(centres.shape), np.zeros(len(centres), np.int64)
        loops.add_up(codes, labels, sums, sizes)
        means = sums / np.maximum(sizes, 1)[:, None]
        centres = np.where(sizes[:, None] > 0, means, before).astype(np.float32)
        progress(number / ROUNDS, f"Clustering codes, round {number}")
        if np.square(centres - before, dtype=np.float64).sum() <= still:
            break
    return centres


def within_squares(codes: Codes, centres: Codes, labels: np.ndarray[tuple[int], np.dtype[np.int16]]) -> float:
    """The sum of squared distances of codes to their centres."""
    difference = codes.astype(np.float64) - centres[labels].astype(np.float64)
    return float(np.einsum("ij,ij->", difference, difference))
