"""Dense layers with ReLU between them, forward and backward, on named NumPy arrays."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .optimiser import Array


def dense_layers(widths: tuple[int, ...], rng: np.random.Generator) -> dict[str, Array]:
    """Draw weights W1, b1, W2, … of layers between `widths` units (He et al. 2015, equation 10)."""
    found: dict[str, Array] = {}
    for number, (before, after) in enumerate(pairwise(widths), start=1):
        scale = np.float32(np.sqrt(2 / before))
        found[f"W{number}"] = rng.standard_normal((before, after), dtype=np.float32) * scale
        found[f"b{number}"] = np.zeros(after, np.float32)
    return found


def forward(parameters: dict[str, Array], x: Array) -> list[Array]:
    """Return the input (n, widths[0]) and every layer's output; the last one without ReLU."""
    outputs, last = [x], len(parameters) // 2
    for number in range(1, last + 1):
        linear = outputs[-1] @ parameters[f"W{number}"] + parameters[f"b{number}"]
        outputs.append(linear if number == last else np.maximum(linear, 0))
    return outputs


def backward(parameters: dict[str, Array], outputs: list[Array], error: Array) -> dict[str, Array]:
    """Return the gradients, given the loss's gradient with respect to the last output."""
    gradients: dict[str, Array] = {}
    for number in range(len(parameters) // 2, 0, -1):
        below = outputs[number - 1]
        gradients[f"W{number}"] = below.T @ error
        gradients[f"b{number}"] = error.sum(axis=0)
        if number > 1:
            error = (error @ parameters[f"W{number}"].T) * (below > 0)
    return gradients


def softmax(scores: Array) -> Array:
    """Return probabilities along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Array = powers / powers.sum(axis=-1, keepdims=True)
    return result
