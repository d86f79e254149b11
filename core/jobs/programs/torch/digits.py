"""PyTorch programs on handwritten digits: VAE, classifiers by convolutions and by rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence

from ..batches import ShuffledOrder
from ..data import SIDE, draw_visible_rows, generate_digits
from .program import TorchProgram

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..batches import Indices
    from ..data import Images, Labels


POINTS = SIDE * SIDE


class TorchDigits(TorchProgram):
    """A model of images (n, 1, 16, 16) and their digits (n,)."""

    takes_images = True

    def prepare(self, tick: Callable[[], None]) -> str:
        """Make the images, a fifth as many of held-out digits."""
        count = self.example_count()
        self._x, self._labels = self._tensors(count, tick, held_out=False)
        self._test_x, self._test_labels = self._tensors(max(50, count // 5), tick, held_out=True)
        return f"{count} images of {SIDE} x {SIDE} points"

    def renew(self, images: Images, labels: Labels) -> None:
        """Replace the training images, and their order unless it has as many."""
        self._x, self._labels = _tensors(images, labels)
        if len(self.order) != len(images):
            self.order = ShuffledOrder(len(images), self.rng)

    def set_validation_data(self, images: Images, labels: Labels) -> None:
        """Replace the validation images."""
        self._test_x, self._test_labels = _tensors(images, labels)

    def _tensors(self, count: int, tick: Callable[[], None], *, held_out: bool) -> tuple[Any, Any]:
        return _tensors(*generate_digits(count, self.seed, tick, held_out=held_out))


def _tensors(images: Images, labels: Labels) -> tuple[Any, Any]:
    return torch.from_numpy(images).view(-1, 1, SIDE, SIDE), torch.from_numpy(labels)


class Recogniser(TorchDigits):
    """A model that classifies digits."""

    @abstractmethod
    def scores(self, x: Any) -> Any:
        """Return a score for each digit (n, 10)."""

    def loss(self, indices: Indices) -> Any:
        """Return the cross-entropy."""
        return functional.cross_entropy(self.scores(self._x[indices]), self._labels[indices])

    def validation_metrics(self) -> dict[str, float]:
        """Return cross-entropy and the share classified correctly."""
        scores = torch.cat([self.scores(part) for part in self._test_x.split(500)])
        loss = functional.cross_entropy(scores, self._test_labels)
        right = (scores.argmax(dim=1) == self._test_labels).float().mean()
        return {"val_loss": float(loss), "val_accuracy": float(right)}


class Classifier(Recogniser):
    """Two layers of convolutions and two dense ones, with dropout."""

    default_examples, rate = 8_000, 5e-4

    def parts(self) -> dict[str, Any]:
        """Return the layers."""
        layers = [
            *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(64 * SIDE, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 10)),
        ]
        return {"layers": nn.Sequential(*layers)}

    def scores(self, x: Any) -> Any:
        """Return a score for each digit."""
        return self.model["layers"](x)


class BidirectionalRNN(Recogniser):
    """A bidirectional recurrent network that reads the 16 rows of an image (Schuster and Paliwal 1997)."""

    default_examples = 8_000

    def parts(self) -> dict[str, Any]:
        """Return the layers."""
        rows = nn.RNN(SIDE, 160, num_layers=2, batch_first=True, bidirectional=True)
        return {"rows": rows, "told": nn.Linear(320, 10)}

    def scores(self, x: Any) -> Any:
        """Return a score for each digit from the rows read in both directions."""
        outputs, _ = self.model["rows"](x.squeeze(1))
        return self.model["told"](torch.cat([outputs[:, -1, :160], outputs[:, 0, 160:]], dim=1))


class VAE(TorchDigits):
    """A variational autoencoder (Kingma and Welling 2014): a code of 16 numbers, dense layers."""

    default_examples, batch = 30_000, 128

    def parts(self) -> dict[str, Any]:
        """Return encoder and decoder."""
        encoder = (nn.Flatten(), nn.Linear(POINTS, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU())
        decoder = (nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, POINTS))
        return {
            "encoder": nn.Sequential(*encoder, nn.Linear(256, 32)),
            "decoder": nn.Sequential(*decoder),
        }

    def loss(self, indices: Indices) -> Any:
        """Return the negative evidence lower bound of an image, in nats."""
        return self._bound(self._x[indices], is_sampled=True)

    def validation_metrics(self) -> dict[str, float]:
        """Return the bound at the codes' means."""
        return {"val_loss": float(self._bound(self._test_x, is_sampled=False))}

    def _bound(self, x: Any, *, is_sampled: bool) -> Any:
        mean, log_variance = self.model["encoder"](x).chunk(2, dim=1)
        noise = torch.randn_like(mean) if is_sampled else torch.zeros_like(mean)
        restored = self.model["decoder"](mean + noise * torch.exp(log_variance / 2))
        per_point = functional.binary_cross_entropy_with_logits(restored, x.flatten(1), reduction="sum")
        distance = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        return (per_point + distance) / len(x)


DYNAMIC_UNITS = 192


class DynamicRNN(TorchDigits):
    """Classifies digits with only their first 8 to 16 rows visible; reads each to its last row.

    A plain recurrent layer (Elman 1990) on packed sequences; what it has read at the end of each decides.
    """

    takes_images = False
    default_examples = 30_000

    def parts(self) -> dict[str, Any]:
        """Return the layers."""
        return {"rows": nn.RNN(SIDE, DYNAMIC_UNITS, batch_first=True), "told": nn.Linear(DYNAMIC_UNITS, 10)}

    def prepare(self, tick: Callable[[], None]) -> str:
        """Make the images, and draw the number of visible rows of each."""
        what = super().prepare(tick)
        self._rows = torch.from_numpy(draw_visible_rows(len(self._x), self.seed))
        self._test_rows = torch.from_numpy(draw_visible_rows(len(self._test_x), self.seed, held_out=True))
        return f"{what}, {SIDE // 2} to {SIDE} rows of each"

    def loss(self, indices: Indices) -> Any:
        """Return the cross-entropy."""
        return functional.cross_entropy(
            self._scores(self._x[indices], self._rows[indices]), self._labels[indices]
        )

    def validation_metrics(self) -> dict[str, float]:
        """Return cross-entropy and the share classified correctly."""
        scores = self._scores(self._test_x, self._test_rows)
        right = (scores.argmax(dim=1) == self._test_labels).float().mean()
        loss = functional.cross_entropy(scores, self._test_labels)
        return {"val_loss": float(loss), "val_accuracy": float(right)}

    def _scores(self, x: Any, rows: Any) -> Any:
        packed = pack_padded_sequence(x.squeeze(1), rows, batch_first=True, enforce_sorted=False)
        _, last = self.model["rows"](packed)
        return self.model["told"](last[0])
