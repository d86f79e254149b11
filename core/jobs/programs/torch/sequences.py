"""PyTorch programs on sequences: next characters, word boundaries, forecasts of waves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import nn
from torch.nn import functional

from ..data import ALPHABET, HORIZON, INPUT_LENGTH, characters, generate_waves, letters_with_positions
from .program import TorchProgram

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..batches import Indices


TEXT_LENGTH, TEXT_UNITS, NOISE = 48, 192, 0.2
"""Characters per stretch, units, and the share of characters that are misread while learning."""


class TorchText(TorchProgram):
    """Stretches of text through a recurrent layer of one kind."""

    default_examples, batch = 3_200, 32
    layer: ClassVar[Any]

    def parts(self) -> dict[str, Any]:
        """Return the layers."""
        letters = len(ALPHABET)
        return {
            "letters": nn.Embedding(letters, 48),
            "reads": self.layer(48, TEXT_UNITS, batch_first=True),
            "guesses": nn.Sequential(nn.Dropout(0.2), nn.Linear(TEXT_UNITS, letters)),
        }

    def prepare(self, tick: Callable[[], None]) -> str:
        """Read the text; its last tenth is held out."""
        text = torch.from_numpy(characters())
        cut = len(text) * 9 // 10
        self._stretches = text[:cut].unfold(0, TEXT_LENGTH + 1, 1)
        self._test = text[cut:].unfold(0, TEXT_LENGTH + 1, 7)
        tick()
        return f"{len(text)} characters"

    def loss(self, indices: Indices) -> Any:
        """Return the cross-entropy of the next characters."""
        stretches = self._stretches[indices % len(self._stretches)]
        codes = stretches[:, :-1]
        misread = torch.randint(len(ALPHABET), codes.shape)
        codes = torch.where(torch.rand(codes.shape) < NOISE, misread, codes)
        return self._cross_entropy(codes, stretches[:, 1:])

    def validation_metrics(self) -> dict[str, float]:
        """Return the cross-entropy of the held-out text."""
        return {"val_loss": float(self._cross_entropy(self._test[:, :-1], self._test[:, 1:]))}

    def _cross_entropy(self, codes: Any, target: Any) -> Any:
        outputs, _ = self.model["reads"](self.model["letters"](codes))
        return functional.cross_entropy(self.model["guesses"](outputs).flatten(0, 1), target.flatten())


class RNN(TorchText):
    """A plain recurrent layer (Elman 1990), a third faster than the others, so with more data."""

    default_examples = 4_800
    layer = nn.RNN


class LSTM(TorchText):
    """Long short-term memory (Hochreiter and Schmidhuber 1997)."""

    layer = nn.LSTM


class GRU(TorchText):
    """Gated recurrent units (Cho et al. 2014)."""

    layer = nn.GRU


# Labels: the text stands without spaces; each letter is labelled as its word's first, inner, last or only
# one. A bidirectional LSTM scores the labels of a letter, a linear-chain conditional random field the
# transitions between neighbours (Lafferty, McCallum and Pereira 2001; Huang, Xu and Yu 2015). The loss is not
# the usual negative log-likelihood but the squared distance between the labels' marginal probabilities and
# the truth (Brier 1950), because the models this one is compared with are trained with squared loss.

LABEL_LENGTH, LABEL_UNITS, PLACES = 24, 96, 4
"""Letters per stretch, units per direction, and labels."""


def marginals(scores: Any, transitions: Any) -> Any:
    """Return the probability of each label at each place (n, time, labels).

    A whole labelling y has a probability proportional to
    exp(Σ_t scores[t, y_t] + Σ_t transitions[y_t, y_t+1]). Those of single labels follow from it by the
    forward-backward algorithm (Rabiner 1989, section III.A).
    """
    times = scores.unbind(dim=1)
    forward, backward = [times[0]], [torch.zeros_like(times[0])]
    for score in times[1:]:
        forward.append(score + torch.logsumexp(forward[-1].unsqueeze(2) + transitions, dim=1))
    for score in reversed(times[1:]):
        backward.append(torch.logsumexp(transitions + (score + backward[-1]).unsqueeze(1), dim=2))
    both = torch.stack(forward, dim=1) + torch.stack(backward[::-1], dim=1)
    return functional.softmax(both, dim=2)


class LSTMCRF(TorchProgram):
    """Finds where words begin and end."""

    default_examples, batch, rate = 4_800, 32, 3e-3

    def parts(self) -> dict[str, Any]:
        """Return the layers."""
        return {
            "letters": nn.Embedding(len(ALPHABET), 32),
            "reads": nn.LSTM(32, LABEL_UNITS, batch_first=True, bidirectional=True),
            "scores": nn.Linear(2 * LABEL_UNITS, PLACES),
            "transitions": nn.ParameterDict({"scores": torch.zeros(PLACES, PLACES)}),
        }

    def prepare(self, tick: Callable[[], None]) -> str:
        """Read the text; its last tenth is held out."""
        letters, places = (
            torch.from_numpy(one).unfold(0, LABEL_LENGTH, 1) for one in letters_with_positions()
        )
        cut = len(letters) * 9 // 10
        self._letters, self._places = letters[: cut - LABEL_LENGTH], places[: cut - LABEL_LENGTH]
        self._test_letters, self._test_places = letters[cut::7], places[cut::7]
        tick()
        return f"{len(letters) + LABEL_LENGTH - 1} letters without spaces"

    def loss(self, indices: Indices) -> Any:
        """Return the mean squared distance of a letter's probabilities, 0 to 2."""
        rows = indices % len(self._letters)
        return self._distance(self._probabilities(self._letters[rows]), self._places[rows])

    def validation_metrics(self) -> dict[str, float]:
        """Return the distance, and the share of letters whose most probable label is right."""
        probabilities = self._probabilities(self._test_letters)
        right = (probabilities.argmax(dim=2) == self._test_places).float().mean()
        return {
            "val_loss": float(self._distance(probabilities, self._test_places)),
            "val_accuracy": float(right),
        }

    def _probabilities(self, letters: Any) -> Any:
        outputs, _ = self.model["reads"](self.model["letters"](letters))
        return marginals(self.model["scores"](outputs), self.model["transitions"]["scores"])

    @staticmethod
    def _distance(probabilities: Any, places: Any) -> Any:
        return (probabilities - functional.one_hot(places, PLACES)).square().sum(dim=2).mean()


FORECAST_UNITS = 128


class Forecast(TorchProgram):
    """Reads 32 values of a series through gated units (Cho et al. 2014) and tells the next 8."""

    default_examples = 8_000

    def parts(self) -> dict[str, Any]:
        """Return the layers."""
        return {
            "reads": nn.GRU(1, FORECAST_UNITS, batch_first=True),
            "told": nn.Linear(FORECAST_UNITS, HORIZON),
        }

    def prepare(self, tick: Callable[[], None]) -> str:
        """Make the series."""
        count = self.example_count()
        self._past, self._future = map(torch.from_numpy, generate_waves(count, self.seed))
        self._test = tuple(
            map(torch.from_numpy, generate_waves(max(50, count // 5), self.seed, held_out=True))
        )
        tick()
        return f"{count} series of {INPUT_LENGTH + HORIZON} values"

    def loss(self, indices: Indices) -> Any:
        """Return the mean squared error."""
        return self._error(self._past[indices], self._future[indices])

    def validation_metrics(self) -> dict[str, float]:
        """Return the mean squared error of other series."""
        return {"val_loss": float(self._error(*self._test))}

    def _error(self, past: Any, future: Any) -> Any:
        _, last = self.model["reads"](past)
        return functional.mse_loss(self.model["told"](last[0]), future)
