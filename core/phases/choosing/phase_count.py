"""How many phases? Three views of k-means for k = 2 … 12, and one recommendation with its reason.

Within-cluster sum of squares with its elbow (the k farthest from the chord between both ends), the mean
silhouette (Rousseeuw, 1987) on a sample, and stability: the mean adjusted Rand index (Hubert and Arabie,
1985) between a clustering and those of bootstrap refits. The recommendation is the elbow if it is stable
and keeps two thirds of the best silhouette: the silhouette alone nearly always prefers two or three, because
traces drift between phases and leave no empty space. Otherwise it is the best silhouette among the stable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.phases.clustering import distinct, fit_centres, one_thread, subsample, within_squares
from core.phases.encoders import nearest_of
from core.phases.prediction import model_windows
from core.progress_reporting import Progress, silent
from core.units import format_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.phases.encoders import Codes, Labels
    from core.phases.model import PhaseModel
    from core.traces.model import FloatArray, TraceSet

SAMPLE, SILHOUETTE_SAMPLE = 5_000, 2_000
KEPT_SILHOUETTE = 2 / 3
STABLE, ALWAYS_STABLE = 0.05, 0.9


@dataclass(frozen=True, slots=True)
class Candidate:
    """One number of phases and how well it does.

    Parameters
    ----------
    k
        The number of phases.
    within
        The within-cluster sum of squares as a share of the total, 0 to 1.
    silhouette
        The mean silhouette, −1 to 1.
    stability
        The mean adjusted Rand index over the bootstrap refits, at most 1.
    """

    k: int
    within: float
    silhouette: float
    stability: float


@dataclass(frozen=True, slots=True)
class Choice:
    """All candidates, the elbow, and the recommendation with its reason."""

    candidates: tuple[Candidate, ...]
    elbow: int
    recommended: int
    reason: str


def choose_k(
    codes: Codes,
    ks: Sequence[int] = range(2, 13),
    *,
    seed: int = 0,
    refits: int = 20,
    progress: Progress = silent,
) -> Choice:
    """Compare numbers of phases on codes.

    Parameters
    ----------
    codes
        Shape (n, size), without warm-up.
    ks
        The numbers to compare; those above the number of different codes are left out.
    seed
        Seeds the sample, the clusterings and the refits.
    refits
        The number of bootstrap refits that stability is averaged over.
    progress
        Called after each refit.

    Raises
    ------
    InputError
        If the codes do not differ enough for two phases.
    """
    part = np.ascontiguousarray(codes[subsample(len(codes), SAMPLE, seed)], np.float32)
    usable = [k for k in ks if 2 <= k <= distinct(part, max(ks)) and k < len(part)]
    if not usable:
        raise InputError(
            "The codes do not differ enough for two phases.",
            "Choose traces that vary more, or other features.",
        )
    total = float(((part - part.mean(axis=0, dtype=np.float64)) ** 2).sum()) or 1.0
    candidates = []
    with one_thread():
        for place, k in enumerate(usable):
            candidates.append(_candidate(part, k, total, seed, refits))
            progress(
                (place + 1) / len(usable),
                f"k = {usable[0]} to {k} compared",
                k=k,
                silhouette=candidates[-1].silhouette,
            )
    return recommend(candidates)


def choose_k_for(
    model: PhaseModel, traces: TraceSet, *, seed: int = 0, progress: Progress = silent
) -> Choice:
    """Compare numbers of phases on the codes that a model gives the samples of a trace set.

    Raises
    ------
    InputError, MismatchError
        As `choose_k` and `core.phases.predict`.
    """
    return choose_k(model.encoder.codes(model_windows(model, traces)), seed=seed, progress=progress)


def _candidate(codes: Codes, k: int, total: float, seed: int, refits: int) -> Candidate:
    # see core.phases.clustering on late imports
    from sklearn.metrics import silhouette_score

    centres = fit_centres(codes, k, seed)
    labels = nearest_of(codes, centres)
    few = subsample(len(codes), SILHOUETTE_SAMPLE, seed)
    several = 2 <= len(np.unique(labels[few])) < len(few)
    return Candidate(
        k=k,
        within=within_squares(codes, centres, labels) / total,
        silhouette=float(silhouette_score(codes[few], labels[few])) if several else 0.0,
        stability=_stability(codes, labels, k, seed, refits),
    )


def _stability(codes: Codes, labels: Labels, k: int, seed: int, refits: int) -> float:
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    rng = np.random.default_rng([seed, k])
    agreements = []
    for _ in range(refits):
        drawn = codes[rng.integers(0, len(codes), len(codes))]
        if distinct(drawn, k) < k:
            continue
        again = KMeans(k, n_init=1, random_state=int(rng.integers(2**31))).fit(drawn)
        found = nearest_of(codes, np.asarray(again.cluster_centers_, np.float32))
        agreements.append(adjusted_rand_score(labels, found))
    return float(np.mean(agreements)) if agreements else 0.0


def elbow_of(ks: Sequence[int], within: Sequence[float]) -> int:
    """The k whose point lies farthest below the chord between the first and the last."""
    x, y = _unit(np.array(ks, np.float64)), _unit(np.array(within, np.float64))
    below = y[0] + (y[-1] - y[0]) * x - y
    return int(ks[int(np.argmax(below))])


def _unit(values: FloatArray) -> FloatArray:
    span = float(values.max() - values.min())
    return np.asarray((values - values.min()) / (span or 1.0))


def recommend(candidates: Sequence[Candidate]) -> Choice:
    """Choose among candidates, and say why."""
    elbow = elbow_of([each.k for each in candidates], [each.within for each in candidates])
    enough = min(ALWAYS_STABLE, max(each.stability for each in candidates) - STABLE)
    stable = [each for each in candidates if each.stability >= enough]
    best = max(stable, key=lambda each: each.silhouette)
    bent = next((each for each in stable if each.k == elbow), None)
    if bent is not None and bent.silhouette >= KEPT_SILHOUETTE * best.silhouette:
        return Choice(tuple(candidates), elbow, elbow, _reason(bent, "are at the elbow and stable"))
    why = f"separate best among the stable choices; the elbow at {elbow} does not qualify"
    return Choice(tuple(candidates), elbow, best.k, _reason(best, why))


def _reason(chosen: Candidate, why: str) -> str:
    return (
        f"{chosen.k} phases {why} (silhouette {format_number(chosen.silhouette)}, "
        f"stability {format_number(chosen.stability)} over refits)."
    )
