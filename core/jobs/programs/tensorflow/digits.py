"""TensorFlow programs on handwritten digits: VAE, convolutional and recurrent classifiers."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from ..batches import ShuffledOrder
from ..data import SIDE, draw_visible_rows, generate_digits
from .program import TensorFlowProgram, dense, draw_dense, draw_layer, run_layer, run_layer_until

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ..batches import Indices
    from ..data import Images, Labels
    from .program import Arrays


POINTS, CODE = SIDE * SIDE, 16


class TensorFlowDigits(TensorFlowProgram):
    """A model of images (n, 256) and their digits (n,)."""

    takes_images = True

    def prepare(self, tick: Callable[[], None]) -> str:
        """Make the images, a fifth as many of held-out digits."""
        count = self.example_count()
        self._x, self._labels = generate_digits(count, self.seed, tick)
        self._test_x, self._test_labels = generate_digits(max(50, count // 5), self.seed, tick, held_out=True)
        return f"{count} images of {SIDE} x {SIDE} points"

    def renew(self, images: Images, labels: Labels) -> None:
        """Replace the training images, and their order unless it has as many."""
        self._x, self._labels = images, labels
        if len(self.order) != len(images):
            self.order = ShuffledOrder(len(images), self.rng)

    def set_validation_data(self, images: Images, labels: Labels) -> None:
        """Replace the validation images."""
        self._test_x, self._test_labels = images, labels


class Recogniser(TensorFlowDigits):
    """A model that classifies digits."""

    @abstractmethod
    def scores(self, *inputs: Any) -> Any:
        """Return a score for each digit (n, 10), from images (n, 256) and whatever `more` returns."""

    def more(self, indices: Indices | slice, *, held_out: bool) -> tuple[npt.NDArray[Any], ...]:
        """Return what else there is to know about the chosen images."""
        del indices, held_out
        return ()

    def inputs(self, indices: Indices) -> tuple[npt.NDArray[Any], ...]:
        """Return the chosen images and their digits, and more."""
        return self._labels[indices], self._x[indices], *self.more(indices, held_out=False)

    def loss(self, *batch: Any) -> Any:
        """Return the cross-entropy."""
        labels, *inputs = batch
        return _cross_entropy(self.scores(*inputs), labels)

    def evaluate(self) -> dict[str, float]:
        """Return cross-entropy and the share classified correctly."""
        more = self.more(slice(None), held_out=True)
        parts = [slice(start, start + 500) for start in range(0, len(self._test_x), 500)]
        parts_scores = [
            self.scores(tf.constant(self._test_x[part]), *(one[part] for one in more)) for part in parts
        ]
        scores = tf.concat(parts_scores, axis=0)
        right = np.argmax(scores.numpy(), axis=1) == self._test_labels
        loss = float(_cross_entropy(scores, self._test_labels))
        return {"val_loss": loss, "val_accuracy": float(right.mean())}


def _cross_entropy(scores: Any, labels: Any) -> Any:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))


class Classifier(Recogniser):
    """Two layers of convolutions and two dense ones."""

    default_examples, rate = 12_000, 5e-4

    def initial(self) -> Arrays:
        """Draw the layers."""
        kernels = {
            f"conv{number}.W": self.rng.normal(
                0, np.sqrt(2 / (9 * channels_in)), (3, 3, channels_in, channels_out)
            ).astype(np.float32)
            for number, (channels_in, channels_out) in enumerate(((1, 32), (32, 64)), start=1)
        }
        biases = {"conv1.b": np.zeros(32, np.float32), "conv2.b": np.zeros(64, np.float32)}
        dense1 = draw_dense("dense1", 64 * SIDE, 128, self.rng)
        return kernels | biases | dense1 | draw_dense("dense2", 128, 10, self.rng)

    def scores(self, *inputs: Any) -> Any:
        """Return a score for each digit."""
        v, image = self.variables, tf.reshape(inputs[0], [-1, SIDE, SIDE, 1])
        for name in ("conv1", "conv2"):
            image = tf.nn.relu(tf.nn.conv2d(image, v[f"{name}.W"], 1, "SAME") + v[f"{name}.b"])
            image = tf.nn.max_pool2d(image, 2, 2, "VALID")
        flat = tf.reshape(image, [-1, 64 * SIDE])
        return dense(v, "dense2", tf.nn.relu(dense(v, "dense1", flat)))


class VAE(TensorFlowDigits):
    """A variational autoencoder (Kingma and Welling 2014): a code of 16 numbers, dense layers."""

    default_examples, batch = 40_000, 128

    def initial(self) -> Arrays:
        """Draw encoder and decoder."""
        layers = {"in1": (POINTS, 512), "in2": (512, 256), "code": (256, 2 * CODE)}
        layers |= {"out1": (CODE, 256), "out2": (256, 512), "image": (512, POINTS)}
        weights = [draw_dense(name, *widths, self.rng) for name, widths in layers.items()]
        return {name: value for layer in weights for name, value in layer.items()}

    def inputs(self, indices: Indices) -> tuple[npt.NDArray[Any], ...]:
        """Return the chosen images, and noise for their codes."""
        return self._x[indices], self.rng.standard_normal((len(indices), CODE), dtype=np.float32)

    def loss(self, *inputs: Any) -> Any:
        """Return the negative evidence lower bound of an image, in nats."""
        v, (x, noise) = self.variables, inputs
        hidden = tf.nn.relu(dense(v, "in2", tf.nn.relu(dense(v, "in1", x))))
        mean, log_variance = tf.split(dense(v, "code", hidden), 2, axis=1)
        code = mean + noise * tf.exp(log_variance / 2)
        restored = dense(v, "image", tf.nn.relu(dense(v, "out2", tf.nn.relu(dense(v, "out1", code)))))
        per_point = tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=restored)
        distance = -0.5 * (1 + log_variance - tf.square(mean) - tf.exp(log_variance))
        return tf.reduce_mean(tf.reduce_sum(per_point, axis=1) + tf.reduce_sum(distance, axis=1))

    def evaluate(self) -> dict[str, float]:
        """Return the bound at the codes' means."""
        x = self._test_x
        return {"val_loss": float(self.loss(tf.constant(x), np.zeros((len(x), CODE), np.float32)))}


UNITS = 160


class LSTM(Recogniser):
    """Plain long short-term memory (Hochreiter and Schmidhuber 1997), not a closed-form continuous-time cell.

    The documents' "LSTM-CFC" with softmax loss is older than cells of that name, so a classifier is meant.
    """

    default_examples = 6_000

    def initial(self) -> Arrays:
        """Draw the layers."""
        return draw_layer("rows", "lstm", SIDE, UNITS, self.rng) | draw_dense("told", UNITS, 10, self.rng)

    def scores(self, *inputs: Any) -> Any:
        """Return a score for each digit, from the units' outputs after the last row."""
        read_all = run_layer(self.variables, "rows", "lstm", tf.reshape(inputs[0], [-1, SIDE, SIDE]))
        return dense(self.variables, "told", read_all[:, -1])


class BidirectionalRNN(Recogniser):
    """A bidirectional recurrent network (Schuster and Paliwal 1997) of two layers."""

    default_examples = 8_000

    def initial(self) -> Arrays:
        """Draw the layers."""
        widths = {"down1": SIDE, "up1": SIDE, "down2": 2 * UNITS, "up2": 2 * UNITS}
        layers = [draw_layer(name, "plain", width, UNITS, self.rng) for name, width in widths.items()]
        weights = {name: value for layer in layers for name, value in layer.items()}
        return weights | draw_dense("told", 2 * UNITS, 10, self.rng)

    def scores(self, *inputs: Any) -> Any:
        """Return a score for each digit from the rows read in both directions."""
        output = tf.reshape(inputs[0], [-1, SIDE, SIDE])
        for layer in "12":
            down = run_layer(self.variables, f"down{layer}", "plain", output)
            up = run_layer(self.variables, f"up{layer}", "plain", output, backwards=True)
            output = tf.concat([down, up], axis=2)
        ends = tf.concat([output[:, -1, :UNITS], output[:, 0, UNITS:]], axis=1)
        return dense(self.variables, "told", ends)


class DynamicRNN(Recogniser):
    """Reads digits with only their first 8 to 16 rows visible, each to its last row."""

    takes_images = False
    default_examples = 16_000

    def initial(self) -> Arrays:
        """Draw the layers."""
        return draw_layer("rows", "plain", SIDE, UNITS, self.rng) | draw_dense("told", UNITS, 10, self.rng)

    def prepare(self, tick: Callable[[], None]) -> str:
        """Make the images, and draw the number of visible rows of each."""
        what = super().prepare(tick)
        self._rows = draw_visible_rows(len(self._x), self.seed)
        self._test_rows = draw_visible_rows(len(self._test_x), self.seed, held_out=True)
        return f"{what}, {SIDE // 2} to {SIDE} rows of each"

    def more(self, indices: Indices | slice, *, held_out: bool) -> tuple[npt.NDArray[Any], ...]:
        """Return the numbers of visible rows."""
        return ((self._test_rows if held_out else self._rows)[indices].astype(np.int32),)

    def scores(self, *inputs: Any) -> Any:
        """Return a score for each digit, from the units' outputs after its last row."""
        last = run_layer_until(self.variables, "rows", tf.reshape(inputs[0], [-1, SIDE, SIDE]), inputs[1])
        return dense(self.variables, "told", last)
