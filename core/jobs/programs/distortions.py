"""Varying digits as training on images does before each epoch: turned, scaled, and bent elastically.

On a grid of 64 × 64 pixels each image is turned by up to 15 degrees, scaled by up to a tenth, moved by up to
two of the final pixels, and bent by a smooth field of random displacements; then it is averaged down to
16 × 16. Source: Simard, Steinkraus and Platt, Best practices for convolutional neural networks applied to
visual document analysis, ICDAR 2003.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .digits import HELD_OUT, SIDE, real_digits

if TYPE_CHECKING:
    from .digits import Images, Labels

_FINE = 64
_CHUNK = 200
_TURN, _SCALE, _MOVE, _BEND = np.deg2rad(15.0), 0.1, 8.0, 2.5
_KNOTS = 5


def distorted_digits(count: int, seed: tuple[int, ...]) -> tuple[Images, Labels]:
    """Return `count` images (count, 256) made of the real ones to learn from, and their digits."""
    images, labels = real_digits()
    images, labels = images[:-HELD_OUT], labels[:-HELD_OUT]
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(images), size=count)
    parts = [_distorted(images[chosen[at : at + _CHUNK]], rng) for at in range(0, count, _CHUNK)]
    return np.concatenate(parts), labels[chosen]


def _distorted(images: Images, rng: np.random.Generator) -> Images:
    n = len(images)
    fine = np.kron(images, np.ones((1, _FINE // 8, _FINE // 8), np.float32))
    turn = rng.uniform(-_TURN, _TURN, n)
    scale = 1 + rng.uniform(-_SCALE, _SCALE, n)
    move = rng.uniform(-_MOVE, _MOVE, (2, n))
    middle = (_FINE - 1) / 2
    rows, columns = np.meshgrid(np.arange(_FINE) - middle, np.arange(_FINE) - middle, indexing="ij")
    cos, sin = (np.cos(turn) / scale)[:, None, None], (np.sin(turn) / scale)[:, None, None]
    bend = _smooth(rng.normal(0.0, _BEND, (2, n, _KNOTS, _KNOTS)))
    y = cos * rows - sin * columns + middle + move[0][:, None, None] + bend[0]
    x = sin * rows + cos * columns + middle + move[1][:, None, None] + bend[1]
    small = _sampled(fine, y, x).reshape(n, SIDE, _FINE // SIDE, SIDE, _FINE // SIDE).mean(axis=(2, 4))
    ink = rng.uniform(0.7, 1.1, (n, 1, 1))
    noise = rng.normal(0, 0.06, small.shape)
    varied: Images = np.clip(small * ink + noise, 0, 1).reshape(n, SIDE * SIDE).astype(np.float32)
    return varied


def _smooth(knots: np.ndarray) -> np.ndarray:
    """Displacements at every pixel, bilinear between knots: (2, n, k, k) becomes (2, n, 64, 64)."""
    place = np.linspace(0, _KNOTS - 1, _FINE)
    low = np.minimum(place.astype(np.int64), _KNOTS - 2)
    share = place - low
    across = knots[..., low] * (1 - share) + knots[..., low + 1] * share
    return across[..., low, :] * (1 - share)[:, None] + across[..., low + 1, :] * share[:, None]


def _sampled(images: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The images at fractional pixels, bilinear; 0 outside."""
    low_y, low_x = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    share_y, share_x = y - low_y, x - low_x
    which = np.arange(len(images))[:, None, None]
    found = np.zeros_like(y)
    for step_y, weight_y in ((0, 1 - share_y), (1, share_y)):
        for step_x, weight_x in ((0, 1 - share_x), (1, share_x)):
            at_y, at_x = low_y + step_y, low_x + step_x
            inside = (at_y >= 0) & (at_y < _FINE) & (at_x >= 0) & (at_x < _FINE)
            values = images[which, np.clip(at_y, 0, _FINE - 1), np.clip(at_x, 0, _FINE - 1)]
            found += np.where(inside, values, 0.0) * weight_y * weight_x
    return found
