"""All random numbers of a simulation, drawn from the seed and the job's id alone.

No draw depends on the order of events, so policies compared under one seed meet the same noise and the same
failures, and an additional job changes nothing for the others.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from math import ceil, log, sqrt
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from core.simulation.loss import Floats, LossCurve
    from core.simulation.scenario import JobSpec

_NOISE, _MIGRATION = 0, 1
_BATCH = 32


def _generator(seed: int, job: str, *purpose: int) -> np.random.Generator:
    words: list[int] | NDArray[np.uint32] = [seed, crc32(job.encode()), *purpose]
    if seed < 1 << 32:  # numpy would come to these words by itself, but takes four times as long
        words = np.array(words, dtype=np.uint32)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))


def sample_noise(job: JobSpec, seed: int) -> Floats:
    """Return the noise of each printed value: AR(1), n_i = φ n_{i−1} + √(1 − φ²) σ ε_i, standard deviation σ.

    It is summed up as Σ_k φ^k ε_{i−k}, without powers of φ that are too small to change a double.
    """
    if job.noise_sigma == 0:
        return np.zeros(job.values)
    phi = job.noise_phi
    noise = _generator(seed, job.id, _NOISE).normal(0.0, job.noise_sigma, job.values)
    if phi == 0:
        return noise
    noise[1:] *= sqrt(1 - phi * phi)
    return np.convolve(noise, _powers(phi, job.values))[: job.values]


@lru_cache(maxsize=64)
def _powers(phi: float, max_count: int) -> Floats:
    return np.asarray(phi ** np.arange(min(max_count, 1 + ceil(log(1e-18) / log(abs(phi))))))


def sample_values(job: JobSpec, seed: int) -> list[float]:
    """Return E as the job prints it: value i of n at i/n of its training, with noise."""
    printed: list[float] = (_noiseless_values(job.loss, job.values) + sample_noise(job, seed)).tolist()
    return printed


def sample_printed_values(jobs: Iterable[JobSpec], seed: int) -> Iterator[list[float]]:
    """Yield `sample_values` of each job, drawn in batches, which halves the time."""
    iterator = iter(jobs)
    while block := list(islice(iterator, _BATCH)):
        yield from [sample_values(job, seed) for job in block]


@lru_cache(maxsize=256)
def _noiseless_values(loss: LossCurve, values: int) -> Floats:
    return loss.level(np.arange(1, values + 1) / values)


def migration_fails(job: str, seed: int, attempt: int, stage: int, probability: float) -> bool:
    """Return whether this stage (0 checkpoint, 1 restore) of a migration attempt fails."""
    if probability <= 0:
        return False
    return bool(_generator(seed, job, _MIGRATION, attempt, stage).random() < probability)
