"""Recurrent layers: a plain one, long short-term memory, and gated units, read from the first to the last.

Each has weights W of what is read, U of its units and a bias b; a layer with gates has them side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

if TYPE_CHECKING:
    from .program import Arrays

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


def read(variables: dict[str, Any], name: str, kind: str, x: Any, *, backwards: bool = False) -> Any:
    """Return what the units say at each time (n, time, units) while they read x (n, time, inputs)."""
    given = tf.unstack(x @ variables[f"{name}.W"] + variables[f"{name}.b"], axis=1)
    state, said = _start(variables[f"{name}.U"], kind, given[0]), []
    for one in reversed(given) if backwards else given:
        state = _advance(kind, one, state, variables[f"{name}.U"])
        said.append(state[0])
    return tf.stack(said[::-1] if backwards else said, axis=1)


def read_until(variables: dict[str, Any], name: str, x: Any, lengths: Any) -> Any:
    """Return what plain units say (n, units) when each series of x (n, time, inputs) ends.

    Only as many times are read as the longest series of the batch has.
    """
    given = tf.transpose(x @ variables[f"{name}.W"] + variables[f"{name}.b"], [1, 0, 2])
    (start,), U = _start(variables[f"{name}.U"], "plain", given[0]), variables[f"{name}.U"]

    def advance(time: Any, h: Any) -> tuple[Any, Any]:
        (after,) = _advance("plain", given[time], (h,), U)
        return time + 1, tf.where((time < lengths)[:, None], after, h)

    longest = tf.reduce_max(lengths)
    _, last = tf.while_loop(lambda time, _: time < longest, advance, (tf.constant(0), start))
    return last


def _start(U: Any, kind: str, given: Any) -> tuple[Any, ...]:
    zeros = tf.zeros([tf.shape(given)[0], U.shape[0]])
    return (zeros, zeros) if kind == "lstm" else (zeros,)


def _advance(kind: str, given: Any, state: tuple[Any, ...], U: Any) -> tuple[Any, ...]:
    """Return the state after what is given, x W + b.

    Plain: Elman 1990. LSTM: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000.
    GRU: Cho et al. 2014, with the reset gate after the product, so that one product serves all gates.
    """
    h = state[0]
    turned = h @ U
    if kind == "plain":
        return (tf.tanh(given + turned),)
    if kind == "lstm":
        enter, forget, new, leave = tf.split(given + turned, 4, axis=1)
        c = tf.sigmoid(forget) * state[1] + tf.sigmoid(enter) * tf.tanh(new)
        return tf.sigmoid(leave) * tf.tanh(c), c
    parts = zip(tf.split(given, 3, axis=1), tf.split(turned, 3, axis=1), strict=True)
    (reset, r), (keep, k), (new, n) = parts
    kept = tf.sigmoid(keep + k)
    return (kept * h + (1 - kept) * tf.tanh(new + tf.sigmoid(reset + r) * n),)
