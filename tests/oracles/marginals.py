"""Probabilities of single labels of a linear-chain conditional random field, by adding up all labellings.

Nothing but the standard library is needed, so that it can be run where PyTorch is.
"""

from __future__ import annotations

import itertools
import math


def label_probabilities(scores: list[list[float]], transitions: list[list[float]]) -> list[list[float]]:
    """Return the probability of each label (columns) at each place (rows)."""
    times, labels = len(scores), len(transitions)
    weights = [[0.0] * labels for _ in range(times)]
    for labelling in itertools.product(range(labels), repeat=times):
        score = sum(scores[time][label] for time, label in enumerate(labelling))
        score += sum(transitions[a][b] for a, b in itertools.pairwise(labelling))
        for time, label in enumerate(labelling):
            weights[time][label] += math.exp(score)
    total = sum(weights[0])
    return [[one / total for one in row] for row in weights]
