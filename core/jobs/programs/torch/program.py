"""Shared by the PyTorch programs: a model of named parts, Adam, and checkpoints without code.

Everything that the next step depends on goes into a checkpoint: parameters, Adam's moments, the states of
both generators, the order of the data and the position in it. With one number of threads a seed gives the
same losses every time; another number of threads adds in another order, which shows in the last digits.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from ...files import write_atomically
from ..batches import BatchProgram, generator_state_json, restore_generator

if TYPE_CHECKING:
    from pathlib import Path

    from ..batches import Indices


class TorchProgram(BatchProgram):
    """One training program."""

    suffix: ClassVar[str] = ".pt"

    def __init__(self, seed: int, size: float) -> None:
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(mode=True)
        super().__init__(seed, size)
        self.model: Any = torch.nn.ModuleDict(self.parts())
        self._adam = torch.optim.Adam(self.model.parameters(), lr=self.rate)

    @abstractmethod
    def parts(self) -> dict[str, Any]:
        """Return the parts of the model by name."""

    @abstractmethod
    def loss(self, indices: Indices) -> Any:
        """Return the mean loss of the chosen examples, as a tensor."""

    @abstractmethod
    def validation_metrics(self) -> dict[str, float]:
        """Return the metrics on held-out data."""

    def learn(self, indices: Indices) -> float:
        """Move the parameters against the gradients of the chosen examples' loss."""
        self.model.train()
        self._adam.zero_grad()
        loss = self.loss(indices)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self._adam.step()
        return float(loss.detach())

    def evaluate(self) -> dict[str, float]:
        """Return the metrics on held-out data, without drawing random numbers."""
        self.model.eval()
        with torch.no_grad():
            return self.validation_metrics()

    def save(self, path: Path, step: int) -> None:
        """Write a checkpoint with everything that the next step depends on."""
        order = {name: torch.from_numpy(np.asarray(value)) for name, value in self.order.state().items()}
        state = {
            "step": step,
            "model": self.model.state_dict(),
            "adam": self._adam.state_dict(),
            "torch_rng": torch.get_rng_state(),
            "rng": generator_state_json(self.rng),
            "order": order,
        }
        write_atomically(path, lambda file: torch.save(state, file))

    def load(self, path: Path) -> int:
        """Restore a checkpoint and return its step."""
        state = torch.load(path, weights_only=True)
        self.model.load_state_dict(state["model"])
        self._adam.load_state_dict(state["adam"])
        torch.set_rng_state(state["torch_rng"])
        restore_generator(self.rng, state["rng"])
        self.order.load({name: value.numpy() for name, value in state["order"].items()})
        return int(state["step"])
