"""A PyTorch program that labels sequences: LSTM and a conditional random field, with squared loss.

The text stands there without spaces; each letter is labelled as its word's first, inner, last or only one.
A bidirectional LSTM scores the labels of a letter, a linear-chain conditional random field the transitions
between neighbours (Lafferty, McCallum and Pereira 2001; Huang, Xu and Yu 2015). Its usual loss is the
negative log-likelihood; here it is the squared distance between the labels' marginal probabilities and what
is right (Brier 1950), because the models that this one stands beside are trained with squared loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from ..text import ALPHABET, unspaced
from .program import TorchProgram

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..batches import Indices

LENGTH, UNITS, PLACES = 24, 96, 4
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

    usual, batch, rate = 4_800, 32, 3e-3

    def parts(self) -> dict[str, Any]:
        """Return the layers."""
        return {
            "letters": nn.Embedding(len(ALPHABET), 32),
            "reads": nn.LSTM(32, UNITS, batch_first=True, bidirectional=True),
            "scores": nn.Linear(2 * UNITS, PLACES),
            "transitions": nn.ParameterDict({"scores": torch.zeros(PLACES, PLACES)}),
        }

    def prepare(self, tick: Callable[[], None]) -> str:
        """Read the text; its last tenth is never learned from."""
        letters, places = (torch.from_numpy(one).unfold(0, LENGTH, 1) for one in unspaced())
        cut = len(letters) * 9 // 10
        self._letters, self._places = letters[: cut - LENGTH], places[: cut - LENGTH]
        self._test_letters, self._test_places = letters[cut::7], places[cut::7]
        tick()
        return f"{len(letters) + LENGTH - 1} letters without spaces"

    def loss(self, chosen: Indices) -> Any:
        """Return the mean squared distance of a letter's probabilities, 0 to 2."""
        taken = chosen % len(self._letters)
        return self._distance(self._probabilities(self._letters[taken]), self._places[taken])

    def judge(self) -> dict[str, float]:
        """Return the distance, and the share of letters whose most probable label is right."""
        found = self._probabilities(self._test_letters)
        right = (found.argmax(dim=2) == self._test_places).float().mean()
        return {"val_loss": float(self._distance(found, self._test_places)), "val_accuracy": float(right)}

    def _probabilities(self, letters: Any) -> Any:
        read, _ = self.model["reads"](self.model["letters"](letters))
        return marginals(self.model["scores"](read), self.model["transitions"]["scores"])

    @staticmethod
    def _distance(found: Any, places: Any) -> Any:
        return (found - functional.one_hot(places, PLACES)).square().sum(dim=2).mean()
