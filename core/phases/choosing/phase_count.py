"""Recommends the number of phases from three measures of k-means for k = 2 … 12.

Within-cluster sum of squares with its elbow (the k farthest from the chord between both ends; the chord
begins at k = 1 where two phases explain nine tenths), the mean silhouette (Rousseeuw, 1987) on a sample, and
stability: the mean adjusted Rand index (Hubert and Arabie, 1985) between a clustering and those of bootstrap
refits. The recommendation is the elbow if it is stable and keeps two thirds of the best silhouette: the
silhouette alone nearly always prefers two or three, because traces drift between phases and leave no empty
space. Otherwise it is the best silhouette among the stable.

Clusters are found in anything, so a recommendation also says how clear it is. Where no number of phases is
found again in refits, the least number is taken and said to be no evidence of phases. Structure with
silhouettes up to 0.5 is weak, up to 0.25 there is none (Kaufman and Rousseeuw, 1990).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.phases.clustering import count_distinct, fit_centres, single_threaded, subsample, within_squares
from core.phases.describe import phase_statistics
from core.phases.encoders import nearest_of
from core.phases.fitting import cluster_model, fit
from core.phases.prediction import model_windows, predict
from core.progress_reporting import Progress, scale_progress, silent
from core.units import format_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.phases.encoders import Codes, Labels
    from core.phases.model import PhaseModel
    from core.phases.settings import PhaseSettings
    from core.traces.model import FloatArray, TraceSet


SAMPLE, SILHOUETTE_SAMPLE = 5_000, 2_000
MIN_SILHOUETTE_SHARE = 2 / 3
STABILITY_MARGIN, MAX_REQUIRED_STABILITY = 0.05, 0.9
MIN_STABILITY = 0.7
"""Refits that agree less than this on every number of phases find none again."""
WEAK_SILHOUETTE, NO_STRUCTURE_SILHOUETTE = 0.5, 0.25
MAX_UNEXPLAINED = 0.1
"""What is left of the sum of squares where the least number of phases explains nearly everything."""
MIN_SAMPLES = 10
"""The least number of samples per phase."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One number of phases and how well it does."""

    #: The number of phases.
    k: int
    #: The within-cluster sum of squares as a share of the total, 0 to 1.
    within: float
    #: The mean silhouette, −1 to 1.
    silhouette: float
    #: The mean adjusted Rand index over the bootstrap refits, at most 1.
    stability: float


@dataclass(frozen=True, slots=True)
class Choice:
    """All candidates, the elbow, and the recommendation with its reason.

    `doubt` says in a sentence why the phases may be none; it is empty where they are clear.
    """

    candidates: tuple[Candidate, ...]
    elbow: int
    recommended: int
    reason: str
    doubt: str = ""


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
        The numbers to compare; those above the number of different codes, or with fewer than ten samples per
        phase, are left out, but the least.
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
    max_count = min(count_distinct(part, max(ks)), len(part) - 1)
    usable = [k for k in ks if 2 <= k <= max_count and k <= max(min(ks), len(codes) // MIN_SAMPLES)]
    if not usable:
        raise InputError(
            "The codes do not differ enough for two phases.",
            "Choose traces that vary more, or other features.",
        )
    total = float(((part - part.mean(axis=0, dtype=np.float64)) ** 2).sum()) or 1.0
    candidates = []
    with single_threaded():
        for place, k in enumerate(usable):
            candidates.append(_evaluate_count(part, k, total, seed, refits))
            progress(
                (place + 1) / len(usable),
                f"k = {usable[0]} to {k} compared",
                k=k,
                silhouette=candidates[-1].silhouette,
            )
    return recommend_count(candidates, len(codes))


def choose_k_for_model(
    model: PhaseModel, traces: TraceSet, *, seed: int = 0, progress: Progress = silent
) -> Choice:
    """Compare numbers of phases on the codes that a model gives the samples of a trace set.

    Raises
    ------
    InputError, MismatchError
        As `choose_k` and `core.phases.predict`.
    """
    return choose_k(model.encoder.codes(model_windows(model, traces)), seed=seed, progress=progress)


def _evaluate_count(codes: Codes, k: int, total: float, seed: int, refits: int) -> Candidate:
    # see core.phases.clustering on late imports
    from sklearn.metrics import silhouette_score

    centres = fit_centres(codes, k, seed)
    labels = nearest_of(codes, centres)
    sample = subsample(len(codes), SILHOUETTE_SAMPLE, seed)
    several = 2 <= len(np.unique(labels[sample])) < len(sample)
    return Candidate(
        k=k,
        within=within_squares(codes, centres, labels) / total,
        silhouette=float(silhouette_score(codes[sample], labels[sample])) if several else 0.0,
        stability=_bootstrap_stability(codes, labels, k, seed, refits),
    )


def _bootstrap_stability(codes: Codes, labels: Labels, k: int, seed: int, refits: int) -> float:
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    rng = np.random.default_rng([seed, k])
    agreements = []
    for _ in range(refits):
        resample = codes[rng.integers(0, len(codes), len(codes))]
        if count_distinct(resample, k) < k:
            agreements.append(0.0)
            continue
        refit = KMeans(k, n_init=1, random_state=int(rng.integers(2**31))).fit(resample)
        refit_labels = nearest_of(codes, np.asarray(refit.cluster_centers_, np.float32))
        agreements.append(adjusted_rand_score(labels, refit_labels))
    return float(np.mean(agreements)) if agreements else 0.0


def find_elbow(ks: Sequence[int], within: Sequence[float]) -> int:
    """The k whose point lies farthest below the chord between the first and the last.

    The first one lies on its chord and could never be the elbow; where it explains nearly everything, the
    chord begins at one cluster, which explains nothing.
    """
    one = [(1, 1.0)] if len(ks) > 1 and within[0] <= MAX_UNEXPLAINED else []
    points = np.array([*one, *zip(ks, within, strict=True)], np.float64)
    x, y = _scale_to_unit(points[:, 0]), _scale_to_unit(points[:, 1])
    below = y[0] + (y[-1] - y[0]) * x - y
    return int(points[int(np.argmax(below)), 0])


def _scale_to_unit(values: FloatArray) -> FloatArray:
    span = float(values.max() - values.min())
    return np.asarray((values - values.min()) / (span or 1.0))


def recommend_count(candidates: Sequence[Candidate], samples: int) -> Choice:
    """Choose among candidates of some samples, and say why."""
    elbow = find_elbow([each.k for each in candidates], [each.within for each in candidates])
    most_stable = max(each.stability for each in candidates)
    if most_stable < MIN_STABILITY:
        smallest = candidates[0]
        reason = "are the least there can be; no number is found again in refits"
        doubt = _too_few_text(smallest, samples) or _UNCLEAR_TEXT
        return Choice(tuple(candidates), elbow, smallest.k, _reason_text(smallest, reason), doubt)
    enough = min(MAX_REQUIRED_STABILITY, most_stable - STABILITY_MARGIN)
    stable = [each for each in candidates if each.stability >= enough]
    best = max(stable, key=lambda each: each.silhouette)
    bent = next((each for each in stable if each.k == elbow), None)
    if bent is not None and bent.silhouette >= MIN_SILHOUETTE_SHARE * best.silhouette:
        chosen, reason = bent, "are at the elbow and stable"
    else:
        chosen = best
        reason = f"separate best among the stable choices; the elbow at {elbow} does not qualify"
    text = _reason_text(chosen, reason)
    return Choice(tuple(candidates), elbow, chosen.k, text, _doubt_text(chosen, samples))


_UNCLEAR_TEXT = "No clear phases: refits on parts of these samples find other ones each time."


def _too_few_text(chosen: Candidate, samples: int) -> str:
    is_few = samples < MIN_SAMPLES * chosen.k
    return f"{samples:,} samples are too few to tell phases apart." if is_few else ""


def _doubt_text(chosen: Candidate, samples: int) -> str:
    too_few = _too_few_text(chosen, samples)
    if too_few:
        return too_few
    silhouette = format_number(chosen.silhouette)
    if chosen.silhouette <= NO_STRUCTURE_SILHOUETTE:
        return f"No clear phases: samples lie about as near to another phase as to their own ({silhouette})."
    if chosen.silhouette <= WEAK_SILHOUETTE:
        return f"The phases blend into each other (silhouette {silhouette}): where one ends is not sharp."
    return ""


def _reason_text(chosen: Candidate, reason: str) -> str:
    return (
        f"{chosen.k} phases {reason} (silhouette {format_number(chosen.silhouette)}, "
        f"stability {format_number(chosen.stability)} over refits)."
    )


COUNTS = range(2, 9)
_TRAINED_SHARE, _CHOSEN_SHARE = 0.7, 0.95


def fit_best_count(
    traces: TraceSet,
    settings: PhaseSettings,
    features: Sequence[str],
    counts: Sequence[int] = COUNTS,
    progress: Progress = silent,
) -> tuple[PhaseModel, Choice]:
    """Fit a model and choose how many phases it has (see `core.phases.choosing.phase_count`).

    Parameters
    ----------
    traces
        The samples to learn from.
    settings
        What to fit; its number of phases does not count.
    features
        The names of the columns to read.
    counts
        The numbers of phases to choose from.
    progress
        Called as `core.phases.fit` calls it.

    Raises
    ------
    InputError
        As `core.phases.fit` and `choose_k`.
    """
    smallest = replace(settings, phases=min(counts))
    trained = fit(traces, smallest, features, scale_progress(progress, 0.0, _TRAINED_SHARE))
    windows = model_windows(trained, traces)
    choice = choose_k(
        trained.encoder.codes(windows),
        counts,
        seed=settings.seed,
        progress=scale_progress(progress, _TRAINED_SHARE, _CHOSEN_SHARE),
    )
    progress(_CHOSEN_SHARE, f"{choice.recommended} phases")
    chosen = replace(settings, phases=choice.recommended)
    model = cluster_model(traces, trained.features, trained.scaler, windows, trained.encoder, chosen)
    statistics = phase_statistics(traces, predict(model, traces), model.phases)
    progress(1.0, "Done")
    return replace(model, training=trained.training, statistics=statistics), choice
