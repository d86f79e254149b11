"""Series to forecast: each a sum of three sines of its own, with noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Series = npt.NDArray[np.float32]

SEEN, AHEAD = 32, 8
"""Values that are read, and those after them that are to be told."""
_NOISE = 0.05


def made_waves(count: int, seed: int, *, held_out: bool = False) -> tuple[Series, Series]:
    """Return the seen values (count, 32, 1) and those to be told (count, 8), of variance near 1."""
    rng = np.random.default_rng([seed, int(held_out)])
    size, frequency, phase = rng.uniform(
        [[[0.4], [0.1], [0.0]]], [[[1.1], [0.9], [2 * np.pi]]], size=(count, 3, 3)
    ).transpose(1, 0, 2)
    time = np.arange(SEEN + AHEAD)
    waves = size[..., None] * np.sin(frequency[..., None] * time + phase[..., None])
    series = (waves.sum(axis=1) + rng.normal(0, _NOISE, (count, len(time)))).astype(np.float32)
    return series[:, :SEEN, None], series[:, SEEN:]
