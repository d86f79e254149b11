"""What the TensorFlow programs share: named variables, Adam, a compiled step, checkpoints without pickles.

Everything random is drawn with NumPy and given to the compiled step as data: initial weights, order and
noise. So the variables, Adam's moments, one generator's state and the order are all that the next step
depends on. How sums are split depends on the size of TensorFlow's pool, not on the processors in use.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import tensorflow as tf

from ...files import write_atomically
from ..batches import BatchProgram, generator_text, restore_generator

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from ..batches import Indices

    Arrays = dict[str, npt.NDArray[np.float32]]


class TensorFlowProgram(BatchProgram):
    """One training program."""

    suffix: ClassVar[str] = ".npz"

    def __init__(self, seed: int, size: float) -> None:
        super().__init__(seed, size)
        tf.config.experimental.enable_op_determinism()
        first = self.initial()
        self.variables: dict[str, Any] = {name: tf.Variable(value) for name, value in first.items()}
        self._adam = Adam(self.variables, self.rate)
        self._train: Any = None

    @abstractmethod
    def initial(self) -> Arrays:
        """Draw the parameters that training begins with."""

    @abstractmethod
    def inputs(self, chosen: Indices) -> tuple[npt.NDArray[Any], ...]:
        """Return what the loss of the chosen examples is computed from, examples along the first axis."""

    @abstractmethod
    def loss(self, *inputs: Any) -> Any:
        """Return the mean loss of the examples that `inputs` returned, as a tensor."""

    def learn(self, chosen: Indices) -> float:
        """Move the variables against the gradients of the chosen examples' loss."""
        inputs = self.inputs(chosen)
        if self._train is None:
            kinds = [tf.TensorSpec([None, *one.shape[1:]], one.dtype) for one in inputs]
            self._train = tf.function(self._learn, input_signature=kinds)
        return float(self._train(*inputs))

    def _learn(self, *inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = self.loss(*inputs)
        gradients = tape.gradient(loss, list(self.variables.values()))
        self._adam.move(tf.clip_by_global_norm(gradients, 1.0)[0])
        return loss

    def save(self, path: Path, step: int) -> None:
        """Write everything that the next step depends on."""
        arrays = {f"{room}/{name}": one.numpy() for room, held in self._held() for name, one in held.items()}
        arrays |= {f"order/{name}": value for name, value in self.order.state().items()}
        arrays |= {"rng": np.array(generator_text(self.rng)), "step": np.array(step)}
        write_atomically(path, lambda file: np.savez(file, allow_pickle=False, **arrays))

    def load(self, path: Path) -> int:
        """Go on from a checkpoint and return its step."""
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        for room, held in self._held():
            for name, one in held.items():
                one.assign(arrays[f"{room}/{name}"])
        self.order.load({name: arrays[f"order/{name}"] for name in self.order.state()})
        restore_generator(self.rng, str(arrays["rng"]))
        return int(arrays["step"])

    def _held(self) -> list[tuple[str, dict[str, Any]]]:
        return [("variables", self.variables), *self._adam.held()]


class Adam:
    """Adam (Kingma and Ba 2015, algorithm 1), computed by TensorFlow's own kernel."""

    def __init__(self, variables: dict[str, Any], rate: float) -> None:
        self._variables, self._rate = variables, rate
        self._first = {name: tf.Variable(tf.zeros_like(one)) for name, one in variables.items()}
        self._second = {name: tf.Variable(tf.zeros_like(one)) for name, one in variables.items()}
        self._powers = {name: tf.Variable(1.0) for name in ("first", "second")}

    def move(self, gradients: list[Any]) -> None:
        """Take one step; gradients are in the order of the variables."""
        powers = [self._powers["first"].assign(self._powers["first"] * 0.9)]
        powers.append(self._powers["second"].assign(self._powers["second"] * 0.999))
        for (name, variable), gradient in zip(self._variables.items(), gradients, strict=True):
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=self._first[name].handle,
                v=self._second[name].handle,
                beta1_power=powers[0],
                beta2_power=powers[1],
                lr=self._rate,
                beta1=0.9,
                beta2=0.999,
                epsilon=1e-8,
                grad=gradient,
            )

    def held(self) -> list[tuple[str, dict[str, Any]]]:
        """Return what goes from step to step, by kind and name."""
        return [("first", self._first), ("second", self._second), ("powers", self._powers)]
