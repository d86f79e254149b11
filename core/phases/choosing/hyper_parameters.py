"""Hyper-parameters of the CRBM by its reconstruction error on executions it has not seen.

The split is by execution, never by row, because neighbouring rows share most of their window. Every trial
is judged on the same held-out samples: those with a full window at the longest history tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.phases.crbm import Layout, reconstruction_error, train
from core.phases.fitting import training_windows
from core.phases.matching import default_features, named_features
from core.phases.rows import Windows, check_finite, windows_of
from core.phases.settings import PhaseSettings
from core.progress_reporting import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.phases.rows import Scaler
    from core.traces.model import Feature, TraceSet


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """The values to try; the grid has a trial for every combination."""

    hidden: tuple[int, ...] = (5, 10, 20)
    history: tuple[int, ...] = (1, 3, 5)
    learning_rate: tuple[float, ...] = (3e-4, 1e-3, 3e-3)
    epochs: tuple[int, ...] = (50,)

    def trials(self, base: PhaseSettings, seed: int, at_most: int | None = None) -> list[PhaseSettings]:
        """Return all combinations, or a seeded choice of them, in the order of the grid.

        Raises
        ------
        InputError
            If there is no combination, or a value is out of its bounds.
        """
        names = ("hidden", "history", "learning_rate", "epochs")
        grid = [
            dict(zip(names, values, strict=True)) for values in product(*(getattr(self, n) for n in names))
        ]
        if not grid or (at_most is not None and at_most < 1):
            raise InputError("There is no combination to try.", "Give at least one value of each.")
        count = min(len(grid), at_most or len(grid))
        chosen = np.sort(np.random.default_rng(seed).choice(len(grid), count, replace=False))
        return [PhaseSettings.from_dict({**base.to_dict(), **grid[place]}) for place in chosen]


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings, and the mean ‖v⁺ − v⁻‖₂ on held-out and on training executions."""

    settings: PhaseSettings
    held_out_error: float
    training_error: float


def split_executions(traces: TraceSet, share: float, seed: int) -> tuple[list[str], list[str]]:
    """Split the executions into training and held-out ones by a seed; at least one of each.

    Raises
    ------
    InputError
        If there are fewer than two executions.
    """
    if traces.n_executions < 2:
        raise InputError(
            "A search needs at least two executions, because one part is held out.",
            "Choose traces with more executions.",
        )
    count = min(max(1, round(share * traces.n_executions)), traces.n_executions - 1)
    held_out = set(np.random.default_rng(seed).permutation(traces.n_executions)[:count].tolist())
    training = [name for place, name in enumerate(traces.ids) if place not in held_out]
    return training, [name for place, name in enumerate(traces.ids) if place in held_out]


def search(
    traces: TraceSet,
    space: SearchSpace | None = None,
    base: PhaseSettings | None = None,
    *,
    features: Sequence[str] | None = None,
    at_most: int | None = None,
    held_out: float = 0.25,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[Trial, ...]:
    """Train a CRBM for each combination; return the trials, the best first.

    Parameters
    ----------
    traces
        The samples.
    space, base
        The values to try, and the settings that all trials share.
    features
        The columns to read, by default as `core.phases.fit` chooses.
    at_most
        If given, a random search of this many trials; otherwise the whole grid.
    held_out
        The share of executions that no trial is trained on.
    seed
        Seeds the split and the choice of trials.
    progress
        Called as in `core.phases.fit`, also with ``trial=…``.

    Raises
    ------
    InputError
        If there are fewer than two executions, or one side has none that is long enough.
    """
    trials = (space or SearchSpace()).trials(base or PhaseSettings(), seed, at_most)
    chosen = default_features(traces) if features is None else named_features(traces, features)
    names, others = split_executions(traces, held_out, seed)
    check_finite(traces, [feature.name for feature in chosen])
    training, unknown = traces.only(names), traces.only(others)
    longest = max(settings.history for settings in trials)
    results = []
    for place, settings in enumerate(trials):
        report = _report_trial(progress, place, len(trials))
        scaler, windows = training_windows(training, chosen, settings.history, "label")
        held_out_windows = _held_out_windows(unknown, chosen, scaler, settings.history, longest)
        crbm, errors = train(
            windows, Layout(len(chosen), settings.history, settings.hidden), settings, report
        )
        results.append(Trial(settings, reconstruction_error(crbm, held_out_windows), errors[-1]))
    return tuple(sorted(results, key=lambda trial: trial.held_out_error))


def _report_trial(progress: Progress, place: int, count: int) -> Progress:
    def told(fraction: float, message: str, /, **metrics: float) -> None:
        progress(
            (place + fraction) / count, f"Trial {place + 1} of {count}: {message}", trial=place + 1, **metrics
        )

    return told


def _held_out_windows(
    traces: TraceSet, features: Sequence[Feature], scaler: Scaler, history: int, longest: int
) -> Windows:
    columns = [traces.column(feature.name) for feature in features]
    windows = windows_of(columns, scaler, traces.segments(), longest)
    if not len(windows.starts):
        raise InputError(
            f"No held-out execution is long enough for a history of {longest}.",
            "Try shorter histories, or hold out more executions.",
        )
    return replace(windows, starts=windows.starts + (longest - history) * len(features))
