"""Teaching a model what it has seen nothing like: new phases beside the old ones, which keep their numbers.

Training the CRBM further was tried: it then called 12 to 57% of the samples that it knew by another phase's
number, whether centres followed or not (docs/autopilot.md). So the encoder and the old centres stay.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.phases.clustering import distinct, fit_centres
from core.phases.describing.describe import phase_statistics
from core.phases.drift.familiarity import training_ranges
from core.phases.drift.strangeness import MOST_STRANGE, is_strange, training_limits
from core.phases.matching import match
from core.phases.model import TrainingRecord
from core.phases.prediction import model_windows, predict
from core.progress_reporting import silent
from core.traces.fingerprint import fingerprint
from core.traces.model import TraceSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from core.phases.model import PhaseModel
    from core.phases.rows import Windows
    from core.progress_reporting import Progress

_APART = 1.25
"""Sampling periods that are this far apart do not go together."""


def continue_training(
    model: PhaseModel, traces: TraceSet, more: int = 1, progress: Progress = silent
) -> PhaseModel:
    """A model that also knows these traces.

    New phases get the next numbers. Their centres are those of the samples that the old model had seen
    nothing like, in executions of which more than a fifth is so. What is strange to the new model is measured
    anew.

    Parameters
    ----------
    model
        The old one; it stays as it is.
    traces
        The old training's samples and the new ones (`together`).
    more
        How many phases to add at most; fewer where fewer are needed.
    progress
        Called as the work goes on; it may raise `Cancelled`.

    Raises
    ------
    InputError
        If phases of the model were divided, or the traces have values that are not numbers.
    MismatchError
        If the traces do not fit the model.
    """
    if model.expansions:
        raise InputError(
            "A model whose phases were divided cannot be trained further.", "Train a new one on these traces."
        )
    progress(0.0, "Looking for what is new")
    windows = model_windows(model, traces)
    if not len(windows.starts):
        raise InputError("No execution of these traces is long enough.", "Choose longer ones.")
    unknown = model.encoder.codes(windows)[_unfamiliar(model, traces, windows)]
    there = distinct(unknown, more) if more and len(unknown) else 0
    new = [fit_centres(unknown, there, model.settings.seed)] if there else []
    centres = np.concatenate([model.centres, *new])
    made = replace(
        model, centres=centres, settings=replace(model.settings, phases=len(centres)), origin="phasedock"
    )
    progress(0.5, "Describing phases")
    record = TrainingRecord(
        model.training.errors,
        traces.n_samples,
        traces.n_executions,
        len(windows.starts),
        fingerprint(traces),
        traces.period,
        training_ranges([traces.column(name) for name in match(model.features, traces, model.scaler)]),
        training_limits(made, windows),
    )
    statistics = phase_statistics(traces, predict(made, traces), made.phases)
    progress(1.0, "Done")
    return replace(made, training=record, statistics=statistics)


def _unfamiliar(model: PhaseModel, traces: TraceSet, windows: Windows) -> npt.NDArray[np.bool_]:
    """The strange windows of executions of which more than a fifth is strange."""
    strange = is_strange(model, windows)
    owner = np.searchsorted(traces.offsets, windows.samples, side="right") - 1
    n = traces.n_executions
    shares = np.bincount(owner, strange, n) / np.maximum(np.diff(traces.offsets), 1)
    return np.asarray(strange & (shares > MOST_STRANGE)[owner])


def together(model: PhaseModel, parts: Sequence[TraceSet]) -> TraceSet:
    """Several trace sets as one, with what a model reads of them; equal names get a number.

    Raises
    ------
    MismatchError
        If one of them does not fit the model.
    InputError
        If they are sampled at different periods.
    """
    periods = [part.period for part in parts]
    if max(periods) > _APART * min(periods):
        said = ", ".join(f"{period:g} s" for period in periods)
        raise InputError(f"These traces are sampled at different periods: {said}.", "Resample one of them.")
    names = [match(model.features, part, model.scaler) for part in parts]
    columns = [
        np.concatenate([part.column(own[at]) for part, own in zip(parts, names, strict=True)])
        for at in range(len(model.features))
    ]
    before = np.concatenate([[0], np.cumsum([part.n_samples for part in parts])]).astype(np.int64)
    return TraceSet(
        features=model.features,
        columns=tuple(columns),
        time=np.concatenate([part.time for part in parts]),
        ids=_distinct([name for part in parts for name in part.ids]),
        offsets=np.concatenate(
            [[0], *(part.offsets[1:] + begin for part, begin in zip(parts, before[:-1], strict=True))]
        ).astype(np.int64),
        period=parts[0].period,
        breaks=np.concatenate(
            [part.breaks + begin for part, begin in zip(parts, before[:-1], strict=True)]
        ).astype(np.int64),
    )


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names of which none comes twice: later ones get a number."""
    taken: set[str] = set()
    found = []
    for name in names:
        numbered = (f"{name} ({number})" for number in count(2))
        chosen = next(each for each in chain([name], numbered) if each not in taken)
        taken.add(chosen)
        found.append(chosen)
    return tuple(found)
