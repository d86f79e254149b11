"""The training programs by name; a module is imported with its program, so NumPy programs need no PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .running import Program


@dataclass(frozen=True)
class Entry:
    """A program that can be run.

    Parameters
    ----------
    module, name
        Where its class is in this package.
    image
        ``light`` or ``torch``.
    learns
        What it learns, in a few words.
    """

    module: str
    name: str
    image: str
    learns: str


CATALOGUE = {
    "mlp": Entry("programs.numpy_digits", "Classifier", "light", "digits told apart by dense layers"),
    "autoencoder": Entry("programs.numpy_digits", "Autoencoder", "light", "digits squeezed and restored"),
    "elman": Entry("programs.numpy_elman", "Elman", "light", "the next character, by a recurrent network"),
    "factors": Entry(
        "programs.numpy_factors", "Factors", "light", "words that stand near each other, by least squares"
    ),
    "vae": Entry("programs.torch_digits", "VAE", "torch", "digits drawn from a code of 16 numbers"),
    "classifier": Entry("programs.torch_digits", "Classifier", "torch", "digits told apart by convolutions"),
    "birnn": Entry("programs.torch_digits", "BothWays", "torch", "digits read row by row, both ways"),
    "rnn": Entry("programs.torch_text", "RNN", "torch", "the next character, by a plain recurrent layer"),
    "lstm": Entry("programs.torch_text", "LSTM", "torch", "the next character, by long short-term memory"),
    "gru": Entry("programs.torch_text", "GRU", "torch", "the next character, by gated units"),
}
"""Every program, by the name it is started with."""


def make(name: str, seed: int, size: float) -> Program:
    """Return a program that is ready to prepare its data.

    Parameters
    ----------
    name
        A key of `CATALOGUE`.
    seed
        Seeds everything random.
    size
        How much data there is; 1 is the default.

    Raises
    ------
    KeyError
        If no program has that name.
    ImportError
        If the program needs PyTorch and the image has none.
    """
    entry = CATALOGUE[name]
    module = import_module(f".{entry.module}", __package__)
    program: Program = getattr(module, entry.name)(seed, size)
    return program
