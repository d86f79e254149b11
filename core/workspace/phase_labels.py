"""The phases of stored trace sets under stored models, computed when needed and then kept.

A labelling depends on nothing but the samples, the model and the code, so it is kept under the digests of
these: in memory for this process, and on disk for all of them.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import zipfile
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from core.phases import (
    PhaseStatistics,
    Runs,
    phase_runs,
    phase_statistics,
    predict,
    suggested_minimum_dwell,
    with_minimum_dwell,
)
from core.phases.drift import find_strange_samples
from core.workspace.cache import ByteCache, share_of_memory
from core.workspace.code_version import code_digest
from core.workspace.files import sweep_older, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from core.phases import PhaseModel
    from core.traces.model import FloatArray, IntArray, TraceSet
    from core.workspace.models import ModelLibrary
    from core.workspace.trace_sets import TraceLibrary

_LOG = logging.getLogger(__name__)
Labels = npt.NDArray[np.int16]
_SHARE = 0.1
_MAX_AGE = 30 * 86400.0
_FORMAT = 3
_CODE = ("core.phases", "core.traces")


@dataclass(frozen=True)
class Labelling:
    """The phases of a trace set under a model."""

    #: The executions' names.
    ids: tuple[str, ...]
    #: Where each begins, shape (n_executions + 1,).
    offsets: IntArray
    #: The phase of each sample, shape (n_samples,); −1 is warm-up.
    labels: Labels
    #: The model's current phases.
    phases: tuple[int, ...]
    #: Each phase over this trace set, warm-up last if there is any.
    statistics: tuple[PhaseStatistics, ...]
    #: Maximal stretches of one phase, in the order of samples.
    runs: Runs
    #: The phase of each sample as the model gives it, shape (n_samples,): the same as `labels` without a
    #: minimum dwell time.
    as_labelled: Labels
    #: The minimum dwell time in seconds that `labels`, `statistics` and `runs` have; 0 for none.
    minimum_dwell: float = 0.0
    #: The minimum dwell time that the segments as labelled suggest; 0 where they do not flicker.
    suggested_dwell: float = 0.0

    @cached_property
    def run_offsets(self) -> IntArray:
        """The index of each execution's first run, shape (n_executions + 1,)."""
        return np.searchsorted(self.runs.start, self.offsets)

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each execution's samples per entry of `statistics`, shape (n_executions, n)."""
        n, entries = len(self.ids), [each.phase for each in self.statistics]
        owner = np.repeat(np.arange(n), np.diff(self.run_offsets))
        column = np.searchsorted(np.sort(entries), self.runs.phase)
        table = np.zeros((n, len(entries)))
        np.add.at(table, (owner, column), self.runs.length)
        order = np.argsort(np.argsort(entries))
        return table[:, order] / np.maximum(np.diff(self.offsets), 1)[:, None]

    def strip(self, position: int) -> list[tuple[float, int]]:
        """One execution's runs as (share of its length, phase)."""
        part = slice(int(self.run_offsets[position]), int(self.run_offsets[position + 1]))
        total = max(int(self.offsets[position + 1] - self.offsets[position]), 1)
        return list(
            zip((self.runs.length[part] / total).tolist(), self.runs.phase[part].tolist(), strict=True)
        )

    def table(self) -> pd.DataFrame:
        """All runs: ``execution``, ``start`` and ``length`` in its samples, ``seconds``, ``phase``."""
        owner = np.repeat(np.arange(len(self.ids)), np.diff(self.run_offsets))
        return pd.DataFrame(
            {
                "execution": np.array(self.ids, dtype=object)[owner],
                "start": self.runs.start - self.offsets[owner],
                "length": self.runs.length,
                "seconds": self.runs.seconds,
                "phase": self.runs.phase,
            }
        )


def phases_by_execution(
    traces: TraceSet, *columns: Labels
) -> Iterator[tuple[str, list[float], tuple[list[int], ...]]]:
    """The phases of one execution after the other, as every export has them: by the numbers on the screen."""
    for position, name in enumerate(traces.ids):
        part = slice(int(traces.offsets[position]), int(traces.offsets[position + 1]))
        numbers = tuple(np.maximum(labels[part] + 1, 0).tolist() for labels in columns)
        yield name, traces.time[part].tolist(), numbers


class PhaseLabels:
    """The labellings of a workspace."""

    def __init__(self, traces: TraceLibrary, models: ModelLibrary, folder: Path) -> None:
        self._traces = traces
        self._models = models
        self._folder = folder
        self._kept: ByteCache[Labelling] = ByteCache(share_of_memory(_SHARE), _weight)

    def get(self, trace_set: str, model: str, minimum_dwell: float = 0.0) -> Labelling:
        """The phases of a trace set under a model. Shared: do not modify it.

        Raises NotFoundError if one of them is not there; MismatchError if the model does not fit the set.
        """
        key = (self._traces.fingerprint(trace_set), self._models.fingerprint(model))
        dwell = max(float(minimum_dwell), 0.0)
        full_key = (*key, f"{dwell:g}") if dwell else key
        return self._kept.get(full_key, lambda: self._make(key, trace_set, model, dwell))

    def default_dwell(self, trace_set: str, model: str) -> float:
        """The default minimum dwell time of a labelling, in seconds.

        It is what the segments suggest (`core.phases.dwell.suggested_minimum_dwell`); none for a published
        AI4DL model, whose phases are shown as its authors' code gives them.
        """
        if self._models.get(model).origin == "ai4dl":
            return 0.0
        return self.get(trace_set, model).suggested_dwell

    def strange_shares(self, trace_set: str, model: str) -> FloatArray:
        """The share of each execution's samples that a model has seen nothing like, shape (n_executions,).

        Raises
        ------
        NotFoundError, MismatchError
            As `get`.
        """
        prints = (self._traces.fingerprint(trace_set), self._models.fingerprint(model))
        phases = self._models.load_with_limits(model)
        depends = ":".join([*prints, "strange", str(phases.training.limits), code_digest(_CODE)])
        path = self._folder / f"{hashlib.sha256(depends.encode()).hexdigest()[:32]}.npy"
        try:
            shares: FloatArray = np.load(path, allow_pickle=False)
        except (OSError, ValueError):
            traces = self._traces.load(trace_set)
            strange = np.concatenate([[0], np.cumsum(find_strange_samples(phases, traces))])
            counts = np.maximum(np.diff(traces.offsets), 1)
            shares = np.diff(strange[traces.offsets]) / counts
            buffer = io.BytesIO()
            np.save(buffer, shares, allow_pickle=False)
            try:
                write_atomically(path, buffer.getvalue())
            except OSError:
                _LOG.warning("what is strange could not be kept on the disk", exc_info=True)
        return shares

    def sweep(self) -> int:
        """Remove labels that were made long ago; they are made again when needed."""
        return sweep_older(self._folder, _MAX_AGE)

    def _make(self, key: tuple[str, str], trace_set: str, model: str, dwell: float) -> Labelling:
        phases = self._models.load(model)
        ids = tuple(self._traces.summary(trace_set)["execution"].tolist())
        depends = ":".join([*key, *([f"{dwell:g}"] if dwell else []), code_digest(_CODE)])
        path = self._folder / f"{hashlib.sha256(depends.encode()).hexdigest()[:32]}.npz"
        labelling = _read(path, ids, phases.phases)
        if labelling is None:
            traces = self._traces.load(trace_set)
            if dwell:
                labelling = _smoothed(traces, self.get(trace_set, model), dwell)
            else:
                labelling = _compute(traces, phases, key[0])
            try:
                write_atomically(path, _pack(labelling))
            except OSError:
                _LOG.warning("labels could not be kept on the disk", exc_info=True)
        for values in (labelling.labels, labelling.as_labelled):
            values.flags.writeable = False
        return labelling


def _compute(traces: TraceSet, model: PhaseModel, fingerprint: str) -> Labelling:
    labels = predict(model, traces)
    statistics = _stored_statistics(model, labels, fingerprint) or phase_statistics(
        traces, labels, model.phases
    )
    runs = phase_runs(traces, labels)
    suggested = suggested_minimum_dwell(runs, traces.period)
    offsets, phases = traces.offsets, model.phases
    return Labelling(traces.ids, offsets, labels, phases, statistics, runs, labels, suggested_dwell=suggested)


def _smoothed(traces: TraceSet, labelling: Labelling, dwell: float) -> Labelling:
    """A labelling after short segments have joined their neighbours."""
    labels = with_minimum_dwell(traces, labelling.as_labelled, dwell)
    return replace(
        labelling,
        labels=labels,
        statistics=phase_statistics(traces, labels, labelling.phases),
        runs=phase_runs(traces, labels),
        minimum_dwell=dwell,
    )


def _stored_statistics(model: PhaseModel, labels: Labels, fingerprint: str) -> tuple[PhaseStatistics, ...]:
    """The model's own statistics where they are of these very samples; empty where they are not.

    A model that was expanded on other traces keeps the record of its training, so the counts are compared.
    """
    if model.training is None or model.training.fingerprint != fingerprint:
        return ()
    phases, counts = np.unique(labels, return_counts=True)
    samples = {each.phase: each.samples for each in model.statistics if each.samples}
    return model.statistics if samples == dict(zip(phases.tolist(), counts.tolist(), strict=True)) else ()


def _pack(labelling: Labelling) -> bytes:
    about = {
        "format": _FORMAT,
        "minimum_dwell": labelling.minimum_dwell,
        "suggested_dwell": labelling.suggested_dwell,
        "statistics": [each.to_dict() for each in labelling.statistics],
    }
    text = json.dumps(about)
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {"as_labelled": labelling.as_labelled} if labelling.minimum_dwell else {}
    np.savez(
        buffer,
        **arrays,
        labels=labelling.labels,
        offsets=labelling.offsets,
        start=labelling.runs.start,
        length=labelling.runs.length,
        seconds=labelling.runs.seconds,
        about=np.frombuffer(text.encode(), np.uint8),
    )
    return buffer.getvalue()


def _read(path: Path, ids: tuple[str, ...], phases: tuple[int, ...]) -> Labelling | None:
    """The stored labels, or None where there are none; no sample is read."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
            about = json.loads(data["about"].tobytes())
            if about.get("format") != _FORMAT:
                return None
            labels, offsets, start = data["labels"], data["offsets"], data["start"]
            runs = Runs(start, data["length"], labels[start], data["seconds"])
            dwell, suggested = float(about["minimum_dwell"]), float(about["suggested_dwell"])
            as_labelled = data["as_labelled"] if dwell else labels
    except (OSError, EOFError, ValueError, KeyError, IndexError, zipfile.BadZipFile):
        return None
    if len(offsets) != len(ids) + 1 or int(offsets[-1]) != len(labels):
        return None
    statistics = tuple(PhaseStatistics.from_dict(each) for each in about["statistics"])
    return Labelling(ids, offsets, labels, phases, statistics, runs, as_labelled, dwell, suggested)


def _weight(labelling: Labelling) -> float:
    runs = labelling.runs
    unsmoothed = (labelling.as_labelled,) if labelling.minimum_dwell else ()
    arrays = (labelling.labels, *unsmoothed, runs.start, runs.length, runs.phase, runs.seconds)
    return float(sum(values.nbytes for values in arrays))
