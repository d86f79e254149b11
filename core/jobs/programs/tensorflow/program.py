"""Shared by the TensorFlow programs: named variables, Adam, a compiled step, checkpoints without pickles.

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
from ..batches import BatchProgram, generator_state_json, restore_generator

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
    def inputs(self, indices: Indices) -> tuple[npt.NDArray[Any], ...]:
        """Return what the loss of the chosen examples is computed from, examples along the first axis."""

    @abstractmethod
    def loss(self, *inputs: Any) -> Any:
        """Return the mean loss of the examples that `inputs` returned, as a tensor."""

    def learn(self, indices: Indices) -> float:
        """Move the variables against the gradients of the chosen examples' loss."""
        inputs = self.inputs(indices)
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
        """Write a checkpoint with everything that the next step depends on."""
        arrays = {
            f"{room}/{name}": one.numpy()
            for room, tensors in self._saved_tensors()
            for name, one in tensors.items()
        }
        arrays |= {f"order/{name}": value for name, value in self.order.state().items()}
        arrays |= {"rng": np.array(generator_state_json(self.rng)), "step": np.array(step)}
        write_atomically(path, lambda file: np.savez(file, allow_pickle=False, **arrays))

    def load(self, path: Path) -> int:
        """Restore a checkpoint and return its step."""
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        for room, tensors in self._saved_tensors():
            for name, one in tensors.items():
                one.assign(arrays[f"{room}/{name}"])
        self.order.load({name: arrays[f"order/{name}"] for name in self.order.state()})
        restore_generator(self.rng, str(arrays["rng"]))
        return int(arrays["step"])

    def _saved_tensors(self) -> list[tuple[str, dict[str, Any]]]:
        return [("variables", self.variables), *self._adam.tensors()]


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

    def tensors(self) -> list[tuple[str, dict[str, Any]]]:
        """Return what goes from step to step, by kind and name."""
        return [("first", self._first), ("second", self._second), ("powers", self._powers)]


# Recurrent layers: weights W of the inputs, U of the units and a bias b; a layer with gates has them side by
# side.

GATES = {"plain": 1, "lstm": 4, "gru": 3}
"""Parts of the weights, by kind of layer."""


def draw_layer(name: str, kind: str, inputs: int, units: int, rng: np.random.Generator) -> Arrays:
    """Draw the weights of a recurrent layer, uniform within ±1/√units."""
    width, bound = GATES[kind] * units, 1 / np.sqrt(units)
    shapes = {"W": (inputs, width), "U": (units, width), "b": (width,)}
    return {f"{name}.{one}": rng.uniform(-bound, bound, s).astype(np.float32) for one, s in shapes.items()}


def draw_dense(name: str, inputs: int, units: int, rng: np.random.Generator) -> Arrays:
    """Draw the weights of a dense layer, ``NAME.W`` and ``NAME.b`` (He et al. 2015, equation 10)."""
    weights = rng.normal(0, np.sqrt(2 / inputs), (inputs, units)).astype(np.float32)
    return {f"{name}.W": weights, f"{name}.b": np.zeros(units, np.float32)}


def dense(variables: dict[str, Any], name: str, x: Any) -> Any:
    """Return x W + b."""
    return tf.linalg.matmul(x, variables[f"{name}.W"]) + variables[f"{name}.b"]


def run_layer(variables: dict[str, Any], name: str, kind: str, x: Any, *, backwards: bool = False) -> Any:
    """Return the units' outputs at each time (n, time, units) while they read x (n, time, inputs)."""
    projected = tf.unstack(x @ variables[f"{name}.W"] + variables[f"{name}.b"], axis=1)
    state, output = _start(variables[f"{name}.U"], kind, projected[0]), []
    for one in reversed(projected) if backwards else projected:
        state = _advance(kind, one, state, variables[f"{name}.U"])
        output.append(state[0])
    return tf.stack(output[::-1] if backwards else output, axis=1)


def run_layer_until(variables: dict[str, Any], name: str, x: Any, lengths: Any) -> Any:
    """Return what plain units say (n, units) when each series of x (n, time, inputs) ends.

    Only as many times are read as the longest series of the batch has.
    """
    projected = tf.transpose(x @ variables[f"{name}.W"] + variables[f"{name}.b"], [1, 0, 2])
    (start,), U = _start(variables[f"{name}.U"], "plain", projected[0]), variables[f"{name}.U"]

    def advance(time: Any, h: Any) -> tuple[Any, Any]:
        (after,) = _advance("plain", projected[time], (h,), U)
        return time + 1, tf.where((time < lengths)[:, None], after, h)

    longest = tf.reduce_max(lengths)
    _, last = tf.while_loop(lambda time, _: time < longest, advance, (tf.constant(0), start))
    return last


def _start(U: Any, kind: str, projected: Any) -> tuple[Any, ...]:
    zeros = tf.zeros([tf.shape(projected)[0], U.shape[0]])
    return (zeros, zeros) if kind == "lstm" else (zeros,)


def _advance(kind: str, projected: Any, state: tuple[Any, ...], U: Any) -> tuple[Any, ...]:
    """Return the next state of a recurrent layer; `projected` is x W + b.

    Plain: Elman 1990. LSTM: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000.
    GRU: Cho et al. 2014, with the reset gate after the product, so that one product serves all gates.
    """
    h = state[0]
    recurrent = h @ U
    if kind == "plain":
        return (tf.tanh(projected + recurrent),)
    if kind == "lstm":
        enter, forget, new, leave = tf.split(projected + recurrent, 4, axis=1)
        c = tf.sigmoid(forget) * state[1] + tf.sigmoid(enter) * tf.tanh(new)
        return tf.sigmoid(leave) * tf.tanh(c), c
    parts = zip(tf.split(projected, 3, axis=1), tf.split(recurrent, 3, axis=1), strict=True)
    (reset, r), (keep, k), (new, n) = parts
    update = tf.sigmoid(keep + k)
    return (update * h + (1 - update) * tf.tanh(new + tf.sigmoid(reset + r) * n),)
