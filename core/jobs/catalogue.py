"""The training programs by name; a module is imported with its program, so an image needs one library."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .running import Program


@dataclass(frozen=True)
class Entry:
    """A training program."""

    #: Module of its class in this package.
    module: str
    name: str
    #: ``light``, ``torch`` or ``tensorflow``.
    image: str
    #: Its task in a few words.
    learns: str


CATALOGUE = {
    "mlp": Entry("programs.numpy.digits", "Classifier", "light", "digits told apart by dense layers"),
    "autoencoder": Entry("programs.numpy.digits", "Autoencoder", "light", "digits squeezed and restored"),
    "elman": Entry("programs.numpy.text", "Elman", "light", "the next character, by a recurrent network"),
    "factors": Entry(
        "programs.numpy.text", "Factors", "light", "words that stand near each other, by least squares"
    ),
    "vae": Entry("programs.torch.digits", "VAE", "torch", "digits drawn from a code of 16 numbers"),
    "classifier": Entry("programs.torch.digits", "Classifier", "torch", "digits told apart by convolutions"),
    "birnn": Entry("programs.torch.digits", "BidirectionalRNN", "torch", "digits read row by row, both ways"),
    "dynamic-rnn": Entry(
        "programs.torch.digits", "DynamicRNN", "torch", "digits of which some rows are seen"
    ),
    "rnn": Entry(
        "programs.torch.sequences", "RNN", "torch", "the next character, by a plain recurrent layer"
    ),
    "lstm": Entry(
        "programs.torch.sequences", "LSTM", "torch", "the next character, by long short-term memory"
    ),
    "gru": Entry("programs.torch.sequences", "GRU", "torch", "the next character, by gated units"),
    "lstm-crf": Entry("programs.torch.sequences", "LSTMCRF", "torch", "where words begin and end in letters"),
    "gru-forecast": Entry("programs.torch.sequences", "Forecast", "torch", "how a sum of waves goes on"),
    "tf-vae": Entry("programs.tensorflow.digits", "VAE", "tensorflow", "digits drawn from 16 numbers"),
    "tf-classifier": Entry(
        "programs.tensorflow.digits", "Classifier", "tensorflow", "digits told apart by convolutions"
    ),
    "tf-lstm": Entry(
        "programs.tensorflow.digits", "LSTM", "tensorflow", "digits read row by row, with memory"
    ),
    "tf-birnn": Entry(
        "programs.tensorflow.digits", "BidirectionalRNN", "tensorflow", "digits read row by row, both ways"
    ),
    "tf-dynamic-rnn": Entry(
        "programs.tensorflow.digits", "DynamicRNN", "tensorflow", "digits of which some rows are seen"
    ),
    "tf-rnn": Entry("programs.tensorflow.sequences", "RNN", "tensorflow", "the next character, plain"),
    "tf-gru": Entry("programs.tensorflow.sequences", "Forecast", "tensorflow", "how a sum of waves goes on"),
}
"""Every program by its name on the command line."""


def make(name: str, seed: int, size: float) -> Program:
    """Return the program of a name.

    Raises KeyError if no program has that name; ImportError if the image lacks the program's library.
    """
    entry = CATALOGUE[name]
    module = import_module(f".{entry.module}", __package__)
    program: Program = getattr(module, entry.name)(seed, size)
    return program
