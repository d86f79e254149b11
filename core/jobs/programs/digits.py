"""Handwritten digits: the 1,797 images of 8 × 8 pixels that ship with scikit-learn, and more made of them.

The file holds one image a line, 64 values from 0 to 16 and the digit. More images are made by moving the
real ones by up to two pixels, scaling their intensity and adding noise, on a grid of 16 × 16 pixels.
Source: Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998 (CC BY 4.0).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Images = npt.NDArray[np.float32]
    Labels = npt.NDArray[np.int64]

SIDE = 16
"""Pixels along a side of a made image."""
HELD_OUT = 297
"""Real images, the last of the file, that are never learned from."""
_CHUNK = 2000


def digits_file() -> Path:
    """Return where the digits are: beside this file, or with an installed scikit-learn.

    Raises
    ------
    FileNotFoundError
        If neither has them.
    """
    places = [Path(__file__).parent]
    found = importlib.util.find_spec("sklearn")
    if found is not None and found.origin is not None:
        places.append(Path(found.origin).parent / "datasets" / "data")
    for place in places:
        if (place / "digits.csv.gz").exists():
            return place / "digits.csv.gz"
    raise FileNotFoundError("digits.csv.gz lies neither beside the programs nor with scikit-learn.")


def real_digits() -> tuple[Images, Labels]:
    """Return the real images (1797, 8, 8) with intensities from 0 to 1, and their digits (1797,)."""
    table = np.loadtxt(digits_file(), delimiter=",", dtype=np.float32)
    return table[:, :-1].reshape(-1, 8, 8) / np.float32(16), table[:, -1].astype(np.int64)


def made_digits(
    count: int, seed: int, tick: Callable[[], None], *, held_out: bool = False
) -> tuple[Images, Labels]:
    """Return `count` images (count, 256), made of the real ones to learn from or of those held out."""
    images, labels = real_digits()
    part = slice(-HELD_OUT, None) if held_out else slice(None, -HELD_OUT)
    images, labels = images[part], labels[part]
    rng = np.random.default_rng([seed, int(held_out)])
    made, chosen = [], rng.integers(len(images), size=count)
    for start in range(0, count, _CHUNK):
        made.append(_vary(images[chosen[start : start + _CHUNK]], rng))
        tick()
    return np.concatenate(made), labels[chosen]


def seen_rows(count: int, seed: int, *, held_out: bool = False) -> Labels:
    """Return how many rows of each image are seen, from half of them to all, for networks of any length."""
    rng = np.random.default_rng([seed, int(held_out), SIDE])
    return rng.integers(SIDE // 2, SIDE + 1, size=count)


def _vary(images: Images, rng: np.random.Generator) -> Images:
    """Return images (n, 256): doubled, moved, with other intensities, with noise."""
    doubled = np.kron(images, np.ones((1, 2, 2), np.float32))
    moves = rng.integers(-2, 3, size=(len(images), 2))
    moved = np.stack([np.roll(one, move, (0, 1)) for one, move in zip(doubled, moves, strict=True)])
    ink = rng.uniform(0.7, 1.1, size=(len(images), 1, 1)).astype(np.float32)
    noise = rng.normal(0, 0.06, size=moved.shape).astype(np.float32)
    varied: Images = np.clip(moved * ink + noise, 0, 1).reshape(len(images), SIDE * SIDE)
    return varied
