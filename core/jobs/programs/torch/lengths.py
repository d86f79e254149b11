"""A PyTorch program that reads sequences of different lengths: a dynamic recurrent network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence

from ..digits import SIDE, seen_rows
from .digits import TorchDigits

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..batches import Indices

UNITS = 192


class DynamicRNN(TorchDigits):
    """Classifies digits of which the first 8 to 16 rows are seen: each is read for as long as it lasts.

    A plain recurrent layer (Elman 1990) on packed sequences; what it has read at the end of each decides.
    """

    usual = 30_000

    def parts(self) -> dict[str, Any]:
        """Return the layers."""
        return {"rows": nn.RNN(SIDE, UNITS, batch_first=True), "told": nn.Linear(UNITS, 10)}

    def prepare(self, tick: Callable[[], None]) -> str:
        """Make the images, and draw how many of their rows are seen."""
        what = super().prepare(tick)
        self._rows = torch.from_numpy(seen_rows(len(self._x), self.seed))
        self._test_rows = torch.from_numpy(seen_rows(len(self._test_x), self.seed, held_out=True))
        return f"{what}, {SIDE // 2} to {SIDE} rows of each"

    def loss(self, chosen: Indices) -> Any:
        """Return the cross-entropy."""
        return functional.cross_entropy(
            self._scores(self._x[chosen], self._rows[chosen]), self._labels[chosen]
        )

    def judge(self) -> dict[str, float]:
        """Return cross-entropy and the share classified correctly."""
        scores = self._scores(self._test_x, self._test_rows)
        right = (scores.argmax(dim=1) == self._test_labels).float().mean()
        loss = functional.cross_entropy(scores, self._test_labels)
        return {"val_loss": float(loss), "val_accuracy": float(right)}

    def _scores(self, x: Any, rows: Any) -> Any:
        packed = pack_padded_sequence(x.squeeze(1), rows, batch_first=True, enforce_sorted=False)
        _, last = self.model["rows"](packed)
        return self.model["told"](last[0])
