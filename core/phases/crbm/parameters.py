"""The conditional restricted Boltzmann machine: parameters and training.

Taylor and Hinton's CRBM with Gaussian visibles of unit variance and binary hiddens, as in AI4DL. For a
row v (n features) and its history c (the `history` rows before it, oldest first, flattened):

    p(h = 1 | v, c) = σ(W v + B c + b_h)        E[v | h, c] = Wᵀ h + A c + b_v

Training is CD-1 with mean-field hiddens in both phases: h⁺ = p(h | v⁺, c), v⁻ = E[v | h⁺, c],
h⁻ = p(h | v⁻, c); ΔW = h⁺v⁺ᵀ − h⁻v⁻ᵀ, ΔA = (v⁺ − v⁻)cᵀ, ΔB = (h⁺ − h⁻)cᵀ, Δb_v = v⁺ − v⁻,
Δb_h = h⁺ − h⁻. The reconstruction error is the mean of ‖v⁺ − v⁻‖₂ over the samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from core.phases.kernels.lanes import WIDTH

if TYPE_CHECKING:
    from core.phases.rows import FloatVector

Matrix = npt.NDArray[np.float32]


def padded(size: int) -> int:
    """The smallest multiple of the vector width that holds `size` numbers."""
    return -(-size // WIDTH) * WIDTH


def aligned(*shape: int) -> Matrix:
    """Zeros aligned to a cache line, where whole vectors are read at full speed."""
    room = np.zeros(math.prod(shape) + WIDTH, np.float32)
    first = -(room.ctypes.data // room.itemsize) % WIDTH
    return room[first : first + math.prod(shape)].reshape(shape)


@dataclass(frozen=True, eq=False)
class Crbm:
    """The parameters of a CRBM, float32."""

    #: Hidden from visible, shape (hidden, n).
    W: Matrix
    #: Visible from history, shape (n, history · n).
    A: Matrix
    #: Hidden from history, shape (hidden, history · n).
    B: Matrix
    #: b_v, shape (n,).
    visible_bias: Matrix
    #: b_h, shape (hidden,).
    hidden_bias: Matrix

    @property
    def hidden(self) -> int:
        """The number of hidden units."""
        return int(self.W.shape[0])

    @property
    def history(self) -> int:
        """The number of earlier rows in a window."""
        return int(self.A.shape[1] // self.A.shape[0])

    @property
    def layout(self) -> Layout:
        """The sizes by which kernels read the packed parameters."""
        return Layout(int(self.W.shape[1]), self.history, self.hidden)

    def encoder(self) -> tuple[FloatVector, FloatVector]:
        """The matrix [B W]ᵀ, flat (window, wide), and the bias b_h, (wide,), as kernels take them."""
        layout = self.layout
        matrix = aligned(layout.window, layout.wide)
        matrix[: layout.past, : self.hidden] = self.B.T
        matrix[layout.past :, : self.hidden] = self.W.T
        bias = aligned(layout.wide)
        bias[: self.hidden] = self.hidden_bias
        return matrix.ravel(), bias


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each part of a CRBM lies in the flat, padded array that kernels work on."""

    #: n, the number of visible units.
    features: int
    #: The number of earlier rows in a window.
    history: int
    #: The number of hidden units.
    hidden: int

    @property
    def past(self) -> int:
        """The number of values in a history."""
        return self.history * self.features

    @property
    def window(self) -> int:
        """The number of values in a window: the history and the row."""
        return self.past + self.features

    @property
    def wide(self) -> int:
        """The padded number of hidden units."""
        return padded(self.hidden)

    @property
    def tall(self) -> int:
        """The padded number of visible units."""
        return padded(self.features)

    @property
    def shape(self) -> npt.NDArray[np.int64]:
        """Features, values in a history, hidden units, as kernels take them."""
        return np.array([self.features, self.past, self.hidden], dtype=np.int64)

    def _parts(self) -> tuple[tuple[int, int], ...]:
        return (
            (self.window, self.wide),
            (self.past, self.tall),
            (self.hidden, self.tall),
            (1, self.wide),
            (1, self.tall),
        )

    def views(self, flat: FloatVector) -> list[Matrix]:
        """M, A, Wᵀ, b_h and b_v as two-dimensional views of the flat array."""
        views, at = [], 0
        for rows, columns in self._parts():
            views.append(flat[at : at + rows * columns].reshape(rows, columns))
            at += rows * columns
        return views

    def pack(self, crbm: Crbm) -> FloatVector:
        """Copy the parameters of a CRBM to a new flat array, padded with zeros."""
        flat = aligned(sum(rows * columns for rows, columns in self._parts()))
        M, A, Wt, bh, bv = self.views(flat)
        M[: self.past, : self.hidden] = crbm.B.T
        M[self.past :, : self.hidden] = crbm.W.T
        A[:, : self.features] = crbm.A.T
        Wt[:, : self.features] = crbm.W
        bh[0, : self.hidden] = crbm.hidden_bias
        bv[0, : self.features] = crbm.visible_bias
        return flat

    def unpack(self, flat: FloatVector) -> Crbm:
        """Copy a flat array back to a CRBM."""
        M, A, _, bh, bv = self.views(flat)
        return Crbm(
            W=M[self.past :, : self.hidden].T.copy(),
            A=A[:, : self.features].T.copy(),
            B=M[: self.past, : self.hidden].T.copy(),
            visible_bias=bv[0, : self.features].copy(),
            hidden_bias=bh[0, : self.hidden].copy(),
        )


def initial(layout: Layout, rng: np.random.Generator, spread: float = 0.2) -> Crbm:
    """A CRBM before training: weights N(0, spread)/(n · history), biases 0."""
    scale = spread / max(layout.past, 1)
    shapes = ((layout.hidden, layout.features), (layout.features, layout.past), (layout.hidden, layout.past))
    W, A, B = ((rng.normal(0.0, 1.0, shape) * scale).astype(np.float32) for shape in shapes)
    return Crbm(W, A, B, np.zeros(layout.features, np.float32), np.zeros(layout.hidden, np.float32))
