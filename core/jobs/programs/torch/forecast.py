"""A PyTorch program that forecasts series with gated units and quadratic loss: regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from ..waves import AHEAD, SEEN, made_waves
from .program import TorchProgram

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..batches import Indices

UNITS = 128


class Forecast(TorchProgram):
    """Reads 32 values of a series through gated units (Cho et al. 2014) and tells the next 8."""

    usual = 8_000

    def parts(self) -> dict[str, Any]:
        """Return the layers."""
        return {"reads": nn.GRU(1, UNITS, batch_first=True), "told": nn.Linear(UNITS, AHEAD)}

    def prepare(self, tick: Callable[[], None]) -> str:
        """Make the series."""
        count = self.examples()
        self._seen, self._ahead = map(torch.from_numpy, made_waves(count, self.seed))
        self._test = tuple(map(torch.from_numpy, made_waves(max(50, count // 5), self.seed, held_out=True)))
        tick()
        return f"{count} series of {SEEN + AHEAD} values"

    def loss(self, chosen: Indices) -> Any:
        """Return the mean squared error."""
        return self._error(self._seen[chosen], self._ahead[chosen])

    def judge(self) -> dict[str, float]:
        """Return the mean squared error of other series."""
        return {"val_loss": float(self._error(*self._test))}

    def _error(self, seen: Any, ahead: Any) -> Any:
        _, last = self.model["reads"](seen)
        return functional.mse_loss(self.model["told"](last[0]), ahead)
