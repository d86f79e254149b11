"""TensorFlow programs that read the rows of an image of a digit one after the other, and classify it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from ..digits import SIDE, seen_rows
from .cells import dense, draw_dense, draw_layer, read, read_until
from .images import Recogniser

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ..batches import Indices
    from .program import Arrays

UNITS = 160


class LSTM(Recogniser):
    """Plain long short-term memory (Hochreiter and Schmidhuber 1997), not a closed-form continuous-time cell.

    The documents' "LSTM-CFC" with softmax loss is older than cells of that name, so a classifier is meant.
    """

    usual = 6_000

    def initial(self) -> Arrays:
        """Draw the layers."""
        return draw_layer("rows", "lstm", SIDE, UNITS, self.rng) | draw_dense("told", UNITS, 10, self.rng)

    def scores(self, *seen: Any) -> Any:
        """Return a score for each digit, from what the units say after the last row."""
        read_all = read(self.variables, "rows", "lstm", tf.reshape(seen[0], [-1, SIDE, SIDE]))
        return dense(self.variables, "told", read_all[:, -1])


class BothWays(Recogniser):
    """A bidirectional recurrent network (Schuster and Paliwal 1997) of two layers."""

    usual = 8_000

    def initial(self) -> Arrays:
        """Draw the layers."""
        widths = {"down1": SIDE, "up1": SIDE, "down2": 2 * UNITS, "up2": 2 * UNITS}
        layers = [draw_layer(name, "plain", width, UNITS, self.rng) for name, width in widths.items()]
        drawn = {name: value for layer in layers for name, value in layer.items()}
        return drawn | draw_dense("told", 2 * UNITS, 10, self.rng)

    def scores(self, *seen: Any) -> Any:
        """Return a score for each digit, from what was read by then in either direction."""
        said = tf.reshape(seen[0], [-1, SIDE, SIDE])
        for layer in "12":
            down = read(self.variables, f"down{layer}", "plain", said)
            up = read(self.variables, f"up{layer}", "plain", said, backwards=True)
            said = tf.concat([down, up], axis=2)
        ends = tf.concat([said[:, -1, :UNITS], said[:, 0, UNITS:]], axis=1)
        return dense(self.variables, "told", ends)


class DynamicRNN(Recogniser):
    """Reads digits of which the first 8 to 16 rows are seen, each for as long as it lasts."""

    usual = 16_000

    def initial(self) -> Arrays:
        """Draw the layers."""
        return draw_layer("rows", "plain", SIDE, UNITS, self.rng) | draw_dense("told", UNITS, 10, self.rng)

    def prepare(self, tick: Callable[[], None]) -> str:
        """Make the images, and draw how many of their rows are seen."""
        what = super().prepare(tick)
        self._rows = seen_rows(len(self._x), self.seed)
        self._test_rows = seen_rows(len(self._test_x), self.seed, held_out=True)
        return f"{what}, {SIDE // 2} to {SIDE} rows of each"

    def more(self, chosen: Indices | slice, *, held_out: bool) -> tuple[npt.NDArray[Any], ...]:
        """Return how many rows are seen."""
        return ((self._test_rows if held_out else self._rows)[chosen].astype(np.int32),)

    def scores(self, *seen: Any) -> Any:
        """Return a score for each digit, from what the units say after its last row."""
        last = read_until(self.variables, "rows", tf.reshape(seen[0], [-1, SIDE, SIDE]), seen[1])
        return dense(self.variables, "told", last)
