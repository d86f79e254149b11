"""Training data from files in the image: digits, distorted digits, a text and generated waves."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Images = npt.NDArray[np.float32]
    Labels = npt.NDArray[np.int64]
    Codes = npt.NDArray[np.int64]
    Series = npt.NDArray[np.float32]

# Digits: the 1,797 images of 8 × 8 pixels that ship with scikit-learn, one image a line: 64 values from 0 to
# 16 and the digit. More images move these by up to two pixels, scale their intensity and add noise, on a grid
# of 16 × 16 pixels. Source: Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998 (CC BY
# 4.0).

SIDE = 16
"""Pixels along a side of a generated image."""
HELD_OUT = 297
"""Number of real images held out from training, the last of the file."""
_CHUNK = 2000


def digits_file() -> Path:
    """Return the path of the digits: beside this file, else in an installed scikit-learn.

    Raises FileNotFoundError if neither has them.
    """
    places = [Path(__file__).parent]
    spec = importlib.util.find_spec("sklearn")
    if spec is not None and spec.origin is not None:
        places.append(Path(spec.origin).parent / "datasets" / "data")
    for place in places:
        if (place / "digits.csv.gz").exists():
            return place / "digits.csv.gz"
    raise FileNotFoundError("digits.csv.gz was not found. Install scikit-learn or build the image again.")


def real_digits() -> tuple[Images, Labels]:
    """Return the real images (1797, 8, 8), intensities from 0 to 1, and their digits (1797,)."""
    table = np.loadtxt(digits_file(), delimiter=",", dtype=np.float32)
    return table[:, :-1].reshape(-1, 8, 8) / np.float32(16), table[:, -1].astype(np.int64)


def generate_digits(
    count: int, seed: int, tick: Callable[[], None], *, held_out: bool = False
) -> tuple[Images, Labels]:
    """Return `count` images (count, 256) varied from the real training or held-out ones, and their digits."""
    images, labels = real_digits()
    part = slice(-HELD_OUT, None) if held_out else slice(None, -HELD_OUT)
    images, labels = images[part], labels[part]
    rng = np.random.default_rng([seed, int(held_out)])
    parts, indices = [], rng.integers(len(images), size=count)
    for start in range(0, count, _CHUNK):
        doubled = np.kron(images[indices[start : start + _CHUNK]], np.ones((1, 2, 2), np.float32))
        parts.append(move_and_shade(doubled, rng))
        tick()
    return np.concatenate(parts), labels[indices]


def draw_visible_rows(count: int, seed: int, *, held_out: bool = False) -> Labels:
    """Return the number of visible rows of each image, from half of the rows to all."""
    rng = np.random.default_rng([seed, int(held_out), SIDE])
    return rng.integers(SIDE // 2, SIDE + 1, size=count)


def move_and_shade(images: Images, rng: np.random.Generator) -> Images:
    """Return images (n, 16, 16) as (n, 256), moved, scaled in intensity and with noise."""
    moves = rng.integers(-2, 3, size=(len(images), 2))
    moved = np.stack([np.roll(one, move, (0, 1)) for one, move in zip(images, moves, strict=True)])
    ink = rng.uniform(0.7, 1.1, size=(len(images), 1, 1)).astype(np.float32)
    noise = rng.normal(0, 0.06, size=moved.shape).astype(np.float32)
    varied: Images = np.clip(moved * ink + noise, 0, 1).reshape(len(images), SIDE * SIDE)
    return varied


# Distorted digits, as training on images augments them. On a grid of 64 × 64 pixels each
# image is turned by up to 15 degrees, scaled by up to a tenth, moved by up to two of the final pixels and
# bent by a smooth field of random displacements; then it is averaged down to 16 × 16. Source: Simard,
# Steinkraus and Platt, Best practices for convolutional neural networks applied to visual document analysis,
# ICDAR 2003.

_FINE = 64
_TURN, _SCALE, _MOVE, _BEND = np.deg2rad(15.0), 0.1, 8.0, 2.5
_KNOTS = 5


def distort(images: Images, rng: np.random.Generator) -> Images:
    """Return square images (n, 16, 16) as (n, 256), each turned, scaled, moved and bent."""
    n, factor = len(images), _FINE // images.shape[-1]
    fine = np.kron(images, np.ones((1, factor, factor), np.float32))
    turn = rng.uniform(-_TURN, _TURN, n)
    scale = 1 + rng.uniform(-_SCALE, _SCALE, n)
    move = rng.uniform(-_MOVE, _MOVE, (2, n))
    middle = (_FINE - 1) / 2
    rows, columns = np.meshgrid(np.arange(_FINE) - middle, np.arange(_FINE) - middle, indexing="ij")
    cos, sin = (np.cos(turn) / scale)[:, None, None], (np.sin(turn) / scale)[:, None, None]
    bend = _interpolate_knots(rng.normal(0.0, _BEND, (2, n, _KNOTS, _KNOTS)))
    y = cos * rows - sin * columns + middle + move[0][:, None, None] + bend[0]
    x = sin * rows + cos * columns + middle + move[1][:, None, None] + bend[1]
    small = (
        _sample_bilinear(fine, y, x).reshape(n, SIDE, _FINE // SIDE, SIDE, _FINE // SIDE).mean(axis=(2, 4))
    )
    ink = rng.uniform(0.7, 1.1, (n, 1, 1))
    noise = rng.normal(0, 0.06, small.shape)
    varied: Images = np.clip(small * ink + noise, 0, 1).reshape(n, SIDE * SIDE).astype(np.float32)
    return varied


def _interpolate_knots(knots: np.ndarray) -> np.ndarray:
    """Displacements at every pixel, bilinear between knots: (2, n, k, k) becomes (2, n, 64, 64)."""
    place = np.linspace(0, _KNOTS - 1, _FINE)
    low = np.minimum(place.astype(np.int64), _KNOTS - 2)
    share = place - low
    across = knots[..., low] * (1 - share) + knots[..., low + 1] * share
    return across[..., low, :] * (1 - share)[:, None] + across[..., low + 1, :] * share[:, None]


def _sample_bilinear(images: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the images at fractional pixels, bilinear; 0 outside."""
    low_y, low_x = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    share_y, share_x = y - low_y, x - low_x
    which = np.arange(len(images))[:, None, None]
    pixels = np.zeros_like(y)
    for step_y, weight_y in ((0, 1 - share_y), (1, share_y)):
        for step_x, weight_x in ((0, 1 - share_x), (1, share_x)):
            at_y, at_x = low_y + step_y, low_x + step_x
            inside = (at_y >= 0) & (at_y < _FINE) & (at_x >= 0) & (at_x < _FINE)
            values = images[which, np.clip(at_y, 0, _FINE - 1), np.clip(at_x, 0, _FINE - 1)]
            pixels += np.where(inside, values, 0.0) * weight_y * weight_x
    return pixels


ALPHABET = " abcdefghijklmnopqrstuvwxyz.,;"
"""The characters that a program distinguishes; every other one counts as a space."""


def read_text() -> str:
    """Return the text in lower case."""
    return (Path(__file__).parent / "text.txt").read_text(encoding="utf-8").lower()


def characters() -> Codes:
    """Return the text as indices into `ALPHABET`, runs of spaces counted once."""
    text = re.sub(f"[^{re.escape(ALPHABET)}]", " ", read_text())
    return np.array([ALPHABET.index(one) for one in re.sub(" +", " ", text)], dtype=np.int64)


def words() -> tuple[Codes, tuple[str, ...]]:
    """Return the text as indices into its list of words, and that list."""
    tokens = re.findall("[a-z]+", read_text())
    vocabulary = sorted(set(tokens))
    places = {word: place for place, word in enumerate(vocabulary)}
    return np.array([places[word] for word in tokens], dtype=np.int64), tuple(vocabulary)


def letters_with_positions() -> tuple[Codes, Codes]:
    """Return the letters of the text without spaces, and each letter's place in its word.

    Letters are indices into `ALPHABET`; places are 0 for a word's first letter, 1 for one inside, 2 for its
    last and 3 for a word of one letter.
    """
    tokens = re.findall("[a-z]+", read_text())
    places = [
        place for word in tokens for place in ([3] if len(word) == 1 else [0, *[1] * (len(word) - 2), 2])
    ]
    letters = [ALPHABET.index(one) for one in "".join(tokens)]
    return np.array(letters, dtype=np.int64), np.array(places, dtype=np.int64)


INPUT_LENGTH, HORIZON = 32, 8
"""Number of input values and of values to forecast."""
_WAVE_NOISE = 0.05


def generate_waves(count: int, seed: int, *, held_out: bool = False) -> tuple[Series, Series]:
    """Return the inputs (count, 32, 1) and the values to forecast (count, 8), of variance near 1."""
    rng = np.random.default_rng([seed, int(held_out)])
    size, frequency, phase = rng.uniform(
        [[[0.4], [0.1], [0.0]]], [[[1.1], [0.9], [2 * np.pi]]], size=(count, 3, 3)
    ).transpose(1, 0, 2)
    time = np.arange(INPUT_LENGTH + HORIZON)
    waves = size[..., None] * np.sin(frequency[..., None] * time + phase[..., None])
    series = (waves.sum(axis=1) + rng.normal(0, _WAVE_NOISE, (count, len(time)))).astype(np.float32)
    return series[:, :INPUT_LENGTH, None], series[:, INPUT_LENGTH:]
