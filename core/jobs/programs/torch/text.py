"""PyTorch programs that guess the next character of a text: RNN, LSTM and GRU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import nn
from torch.nn import functional

from ..text import ALPHABET, characters
from .program import TorchProgram

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..batches import Indices

LENGTH, HIDDEN, NOISE = 48, 192, 0.2
"""Characters per stretch, units, and the share of characters that are misread while learning."""


class TorchText(TorchProgram):
    """Stretches of text through a recurrent layer of one kind."""

    usual, batch = 3_200, 32
    layer: ClassVar[Any]

    def parts(self) -> dict[str, Any]:
        """Return the layers."""
        letters = len(ALPHABET)
        return {
            "letters": nn.Embedding(letters, 48),
            "reads": self.layer(48, HIDDEN, batch_first=True),
            "guesses": nn.Sequential(nn.Dropout(0.2), nn.Linear(HIDDEN, letters)),
        }

    def prepare(self, tick: Callable[[], None]) -> str:
        """Read the text; its last tenth is never learned from."""
        text = torch.from_numpy(characters())
        cut = len(text) * 9 // 10
        self._stretches = text[:cut].unfold(0, LENGTH + 1, 1)
        self._test = text[cut:].unfold(0, LENGTH + 1, 7)
        tick()
        return f"{len(text)} characters"

    def loss(self, chosen: Indices) -> Any:
        """Return the cross-entropy of the next characters."""
        stretches = self._stretches[chosen % len(self._stretches)]
        seen = stretches[:, :-1]
        misread = torch.randint(len(ALPHABET), seen.shape)
        seen = torch.where(torch.rand(seen.shape) < NOISE, misread, seen)
        return self._cross_entropy(seen, stretches[:, 1:])

    def judge(self) -> dict[str, float]:
        """Return the cross-entropy of the text that was not learned from."""
        return {"val_loss": float(self._cross_entropy(self._test[:, :-1], self._test[:, 1:]))}

    def _cross_entropy(self, seen: Any, told: Any) -> Any:
        read, _ = self.model["reads"](self.model["letters"](seen))
        return functional.cross_entropy(self.model["guesses"](read).flatten(0, 1), told.flatten())


class RNN(TorchText):
    """A plain recurrent layer (Elman 1990), a third faster than the others, so with more data."""

    usual = 4_800
    layer = nn.RNN


class LSTM(TorchText):
    """Long short-term memory (Hochreiter and Schmidhuber 1997)."""

    layer = nn.LSTM


class GRU(TorchText):
    """Gated recurrent units (Cho et al. 2014)."""

    layer = nn.GRU
