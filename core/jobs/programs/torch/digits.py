"""PyTorch programs on handwritten digits: VAE, convolutional classifier, rows read in both directions."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from ..digits import SIDE, made_digits
from .program import TorchProgram

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..batches import Indices
    from ..digits import Images, Labels

POINTS = SIDE * SIDE


class TorchDigits(TorchProgram):
    """A model of images (n, 1, 16, 16) and their digits (n,)."""

    def prepare(self, tick: Callable[[], None]) -> str:
        """Make the images, a fifth as many of digits that are never learned from."""
        count = self.examples()
        self._x, self._labels = self._tensors(count, tick, held_out=False)
        self._test_x, self._test_labels = self._tensors(max(50, count // 5), tick, held_out=True)
        return f"{count} images of {SIDE} x {SIDE} points"

    def renew(self, images: Images, labels: Labels) -> None:
        """Learn from other images from now on."""
        self._x, self._labels = _tensors(images, labels)

    def judge_by(self, images: Images, labels: Labels) -> None:
        """Evaluate on other images from now on."""
        self._test_x, self._test_labels = _tensors(images, labels)

    def _tensors(self, count: int, tick: Callable[[], None], *, held_out: bool) -> tuple[Any, Any]:
        return _tensors(*made_digits(count, self.seed, tick, held_out=held_out))


def _tensors(images: Images, labels: Labels) -> tuple[Any, Any]:
    return torch.from_numpy(images).view(-1, 1, SIDE, SIDE), torch.from_numpy(labels)


class Recogniser(TorchDigits):
    """A model that classifies digits."""

    @abstractmethod
    def scores(self, x: Any) -> Any:
        """Return a score for each digit (n, 10)."""

    def loss(self, chosen: Indices) -> Any:
        """Return the cross-entropy."""
        return functional.cross_entropy(self.scores(self._x[chosen]), self._labels[chosen])

    def judge(self) -> dict[str, float]:
        """Return cross-entropy and the share classified correctly."""
        scores = torch.cat([self.scores(part) for part in self._test_x.split(500)])
        loss = functional.cross_entropy(scores, self._test_labels)
        right = (scores.argmax(dim=1) == self._test_labels).float().mean()
        return {"val_loss": float(loss), "val_accuracy": float(right)}


class Classifier(Recogniser):
    """Two layers of convolutions and two dense ones, with dropout."""

    usual, rate = 8_000, 5e-4

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


class BothWays(Recogniser):
    """A bidirectional recurrent network that reads the 16 rows of an image (Schuster and Paliwal 1997)."""

    usual = 8_000

    def parts(self) -> dict[str, Any]:
        """Return the layers."""
        rows = nn.RNN(SIDE, 160, num_layers=2, batch_first=True, bidirectional=True)
        return {"rows": rows, "told": nn.Linear(320, 10)}

    def scores(self, x: Any) -> Any:
        """Return a score for each digit, from what was read by then in either direction."""
        read, _ = self.model["rows"](x.squeeze(1))
        return self.model["told"](torch.cat([read[:, -1, :160], read[:, 0, 160:]], dim=1))


class VAE(TorchDigits):
    """A variational autoencoder (Kingma and Welling 2014): a code of 16 numbers, dense layers."""

    usual, batch = 30_000, 128

    def parts(self) -> dict[str, Any]:
        """Return encoder and decoder."""
        encoder = (nn.Flatten(), nn.Linear(POINTS, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU())
        decoder = (nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, POINTS))
        return {
            "encoder": nn.Sequential(*encoder, nn.Linear(256, 32)),
            "decoder": nn.Sequential(*decoder),
        }

    def loss(self, chosen: Indices) -> Any:
        """Return the negative evidence lower bound of an image, in nats."""
        return self._bound(self._x[chosen], drawn=True)

    def judge(self) -> dict[str, float]:
        """Return the bound at the codes' means."""
        return {"val_loss": float(self._bound(self._test_x, drawn=False))}

    def _bound(self, x: Any, *, drawn: bool) -> Any:
        mean, log_variance = self.model["encoder"](x).chunk(2, dim=1)
        noise = torch.randn_like(mean) if drawn else torch.zeros_like(mean)
        restored = self.model["decoder"](mean + noise * torch.exp(log_variance / 2))
        per_point = functional.binary_cross_entropy_with_logits(restored, x.flatten(1), reduction="sum")
        distance = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        return (per_point + distance) / len(x)
