"""A model with the number of phases that suits its traces, from one training of the encoder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.phases.choosing.phase_count import choose_k
from core.phases.describing.describe import phase_statistics
from core.phases.fitting import clustered, fit
from core.phases.prediction import model_windows, predict
from core.progress_reporting import Progress, part_of, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.phases.choosing.phase_count import Choice
    from core.phases.model import PhaseModel
    from core.phases.settings import PhaseSettings
    from core.traces.model import TraceSet

COUNTS = range(2, 9)
_TRAINED, _CHOSEN = 0.7, 0.95


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
    least = replace(settings, phases=min(counts))
    trained = fit(traces, least, features, part_of(progress, 0.0, _TRAINED))
    windows = model_windows(trained, traces)
    choice = choose_k(
        trained.encoder.codes(windows),
        counts,
        seed=settings.seed,
        progress=part_of(progress, _TRAINED, _CHOSEN),
    )
    progress(_CHOSEN, f"{choice.recommended} phases")
    chosen = replace(settings, phases=choice.recommended)
    model = clustered(traces, trained.features, trained.scaler, windows, trained.encoder, chosen)
    statistics = phase_statistics(traces, predict(model, traces), model.phases)
    progress(1.0, "Done")
    return replace(model, training=trained.training, statistics=statistics), choice
