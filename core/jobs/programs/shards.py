"""Shards: the images of a training job as compressed files, and how they are decoded.

The image's build writes them (``python3 -m phasedock_jobs.programs.shards 100 4``): varied digits, 2,000 to
a file, and a few files of held-out ones.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .data import distort, generate_digits, move_and_shade

if TYPE_CHECKING:
    from collections.abc import Callable

    from .data import Images, Labels

SHARD = 2000
"""Images per file."""
FOLDER = Path(__file__).parent / "shards"
_DISTORTED = 12
"""One image of so many is bent and turned while it is decoded."""


def shard_paths(*, held_out: bool = False) -> list[Path]:
    """Return the paths of the training or held-out shards.

    Raises FileNotFoundError if there is none.
    """
    paths = sorted(FOLDER.glob("held-out-*.npz" if held_out else "train-*.npz"))
    if not paths:
        raise FileNotFoundError("There are no shards here. Build the image again (make jobs-image).")
    return paths


def read_shard(path: Path) -> tuple[Images, Labels]:
    """Return the images (2000, 256), intensities from 0 to 1, and their digits (2000,)."""
    with np.load(path, allow_pickle=False) as file:
        return file["images"].astype(np.float32) / 255, file["labels"].astype(np.int64)


def decode_shard(path: str, seed: tuple[int, ...]) -> tuple[Images, Labels]:
    """Return a shard's images (2000, 256), each varied, some bent, and their digits (2000,)."""
    images, labels = read_shard(Path(path))
    rng = np.random.default_rng(seed)
    squares = images.reshape(-1, 16, 16)
    varied = move_and_shade(squares, rng)
    chosen = rng.choice(len(images), len(images) // _DISTORTED, replace=False)
    varied[chosen] = distort(squares[chosen], rng)
    return varied, labels


def write_shards(count: int, held_out: int, tick: Callable[[], None] = lambda: None) -> None:
    """Write so many training and held-out shards."""
    FOLDER.mkdir(exist_ok=True)
    for name, number, is_held_out in (("train", count, False), ("held-out", held_out, True)):
        for at in range(number):
            images, labels = generate_digits(SHARD, at, tick, held_out=is_held_out)
            content = {"images": (images * 255).astype(np.uint8), "labels": labels.astype(np.uint8)}
            np.savez_compressed(FOLDER / f"{name}-{at:03d}.npz", allow_pickle=False, **content)


if __name__ == "__main__":
    write_shards(int(sys.argv[1]), int(sys.argv[2]))
