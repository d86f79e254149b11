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
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from core.phases import PhaseStatistics, Runs, phase_runs, phase_statistics, predict
from core.runtime.storage.cache import ByteCache, share_of_memory
from core.runtime.storage.files import sweep_older, write_atomically
from core.runtime.storage.sources import code_digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from core.phases import PhaseModel
    from core.runtime.storage.models import ModelLibrary
    from core.runtime.storage.trace_sets import TraceLibrary
    from core.traces.model import FloatArray, IntArray, TraceSet

_LOG = logging.getLogger(__name__)
Labels = npt.NDArray[np.int16]
_SHARE = 0.1
_KEPT_SECONDS = 30 * 86400.0
_FORMAT = 2
_CODE = ("core.phases", "core.traces")


@dataclass(frozen=True)
class Labelling:
    """The phases of a trace set under a model.

    Parameters
    ----------
    ids
        The executions' names.
    offsets
        Where each begins, shape (n_executions + 1,).
    labels
        The phase of each sample, shape (n_samples,); −1 is warm-up.
    phases
        The model's current phases.
    statistics
        Each phase over this trace set, warm-up last if there is any.
    runs
        Maximal stretches of one phase, in the order of samples.
    """

    ids: tuple[str, ...]
    offsets: IntArray
    labels: Labels
    phases: tuple[int, ...]
    statistics: tuple[PhaseStatistics, ...]
    runs: Runs

    @cached_property
    def run_offsets(self) -> IntArray:
        """Where each execution's runs begin, shape (n_executions + 1,)."""
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


def phases_by_execution(traces: TraceSet, labels: Labels) -> Iterator[tuple[str, list[float], list[int]]]:
    """The phases of one execution after the other, as every export has them.

    Parameters
    ----------
    traces
        The executions.
    labels
        The phase of each sample, shape (n_samples,).

    Yields
    ------
    tuple
        An execution's name, the times of its samples in seconds, and their phases; −1 is warm-up.
    """
    for position, name in enumerate(traces.ids):
        part = slice(int(traces.offsets[position]), int(traces.offsets[position + 1]))
        yield name, traces.time[part].tolist(), labels[part].tolist()


class PhaseLabels:
    """The labellings of a workspace.

    Parameters
    ----------
    traces, models
        What is labelled, and by what.
    folder
        Where labels are kept.
    """

    def __init__(self, traces: TraceLibrary, models: ModelLibrary, folder: Path) -> None:
        self._traces = traces
        self._models = models
        self._folder = folder
        self._kept: ByteCache[Labelling] = ByteCache(share_of_memory(_SHARE), _weight)

    def get(self, trace_set: str, model: str) -> Labelling:
        """The phases of a trace set under a model. Shared: do not modify it.

        Raises
        ------
        NotFoundError
            If one of them is not there.
        MismatchError
            If the model does not fit the set.
        """
        key = (self._traces.fingerprint(trace_set), self._models.fingerprint(model))
        return self._kept.get(key, lambda: self._make(key, trace_set, model))

    def sweep(self) -> int:
        """Remove labels that were made long ago; they are made again when needed."""
        return sweep_older(self._folder, _KEPT_SECONDS)

    def _make(self, key: tuple[str, str], trace_set: str, model: str) -> Labelling:
        phases = self._models.load(model)
        ids = tuple(self._traces.summary(trace_set)["execution"].tolist())
        depends = ":".join([*key, code_digest(_CODE)])
        path = self._folder / f"{hashlib.sha256(depends.encode()).hexdigest()[:32]}.npz"
        found = _read(path, ids, phases.phases)
        if found is None:
            found = _compute(self._traces.load(trace_set), phases, key[0])
            try:
                write_atomically(path, _pack(found))
            except OSError:
                _LOG.warning("labels could not be kept on the disk", exc_info=True)
        found.labels.flags.writeable = False
        return found


def _compute(traces: TraceSet, model: PhaseModel, fingerprint: str) -> Labelling:
    labels = predict(model, traces)
    statistics = _known(model, labels, fingerprint) or phase_statistics(traces, labels, model.phases)
    return Labelling(traces.ids, traces.offsets, labels, model.phases, statistics, phase_runs(traces, labels))


def _known(model: PhaseModel, labels: Labels, fingerprint: str) -> tuple[PhaseStatistics, ...]:
    """The model's own statistics where they are of these very samples; empty where they are not.

    A model that was expanded on other traces keeps the record of its training, so the counts are compared.
    """
    if model.training is None or model.training.fingerprint != fingerprint:
        return ()
    phases, counts = np.unique(labels, return_counts=True)
    said = {each.phase: each.samples for each in model.statistics if each.samples}
    return model.statistics if said == dict(zip(phases.tolist(), counts.tolist(), strict=True)) else ()


def _pack(found: Labelling) -> bytes:
    text = json.dumps({"format": _FORMAT, "statistics": [each.to_dict() for each in found.statistics]})
    buffer = io.BytesIO()
    np.savez(
        buffer,
        labels=found.labels,
        offsets=found.offsets,
        start=found.runs.start,
        length=found.runs.length,
        seconds=found.runs.seconds,
        about=np.frombuffer(text.encode(), np.uint8),
    )
    return buffer.getvalue()


def _read(path: Path, ids: tuple[str, ...], phases: tuple[int, ...]) -> Labelling | None:
    """What was kept, or None where nothing usable was; no sample is read."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
            about = json.loads(data["about"].tobytes())
            if about.get("format") != _FORMAT:
                return None
            labels, offsets, start = data["labels"], data["offsets"], data["start"]
            runs = Runs(start, data["length"], labels[start], data["seconds"])
    except (OSError, EOFError, ValueError, KeyError, IndexError, zipfile.BadZipFile):
        return None
    if len(offsets) != len(ids) + 1 or int(offsets[-1]) != len(labels):
        return None
    statistics = tuple(PhaseStatistics.from_dict(each) for each in about["statistics"])
    return Labelling(ids, offsets, labels, phases, statistics, runs)


def _weight(labelling: Labelling) -> float:
    runs = labelling.runs
    arrays = (labelling.labels, runs.start, runs.length, runs.phase, runs.seconds)
    return float(sum(values.nbytes for values in arrays))
