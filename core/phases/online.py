"""Predicting the phases of running containers, one new sample at a time.

The detector keeps the last window of every container in one array, so a round of a thousand containers is
one shift, one standardisation and two kernel calls; it gives the labels that `predict` gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.errors import InputError
from core.phases.drift import find_strange
from core.phases.prediction import labels_of
from core.phases.rows import Windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from core.phases.encoders import Codes, Labels
    from core.phases.model import PhaseModel
    from core.traces.model import FloatArray


class LatestPhases(NamedTuple):
    """The phases of n containers after a round of samples."""

    #: Their phases, int16, shape (n,).
    labels: Labels
    #: float32, shape (n, size); zeros without a full window.
    codes: Codes
    #: Whether the model has seen nothing like it (`core.phases.drift`), shape (n,).
    strange: npt.NDArray[np.bool_]


class OnlineDetector:
    """Labels samples as they come.

    Parameters
    ----------
    model
        The phase model. Samples must have its features, in its order and units, at its sampling period.
    """

    def __init__(self, model: PhaseModel) -> None:
        self._model = model
        self._n = len(model.features)
        self._width = (model.history + 1) * self._n
        self._places: dict[str, int] = {}
        self._free: list[int] = []
        self._windows = np.zeros((0, self._width), np.float32)
        self._seen = np.zeros(0, np.int64)

    def __len__(self) -> int:
        """The number of containers that are known."""
        return len(self._places)

    def push(self, containers: Sequence[str], samples: FloatArray) -> Labels:
        """Take one new sample of each of some containers and return their phases.

        A container seen for the first time begins with warm-up. A sample with a NaN or infinite value is
        a gap: it is warm-up, and so are the samples after it until the window is full again.

        Parameters
        ----------
        containers
            Their ids, each once.
        samples
            Shape (len(containers), n_features).

        Returns
        -------
        labels
            int16, shape (len(containers),).

        Raises
        ------
        InputError
            If the shape is wrong or a container is named twice.
        """
        return labels_of(self._model, self._advance(containers, samples))

    def latest(self, containers: Sequence[str], samples: FloatArray) -> LatestPhases:
        """Return labels with the codes and strange samples.

        Raises
        ------
        InputError
            As `push`.
        """
        windows = self._advance(containers, samples)
        codes = np.zeros((windows.n_samples, self._model.encoder.size), np.float32)
        codes[windows.samples] = self._model.encoder.codes(windows)
        strange = np.zeros(windows.n_samples, bool)
        strange[windows.samples] = find_strange(self._model, windows)
        return LatestPhases(labels_of(self._model, windows), codes, strange)

    def _advance(self, containers: Sequence[str], samples: FloatArray) -> Windows:
        """Take the samples; the windows that are full then."""
        values = np.asarray(samples, np.float64)
        if values.shape != (len(containers), self._n) or len(set(containers)) < len(containers):
            raise InputError(
                f"Samples of shape {values.shape} do not fit {len(containers)} × {self._n} values.",
                "Give each container once, with one row of the model's features.",
            )
        places = self._places_of(containers)
        is_complete = np.asarray(np.isfinite(values).all(axis=1))
        before = self._windows[places]
        scaled = (
            np.where(is_complete[:, None], values, 0.0) - self._model.scaler.mean
        ) * self._model.scaler.factor
        after = np.concatenate([before[:, self._n :], scaled.astype(np.float32)], axis=1)
        counts = np.where(is_complete, self._seen[places], -1)
        self._windows[places], self._seen[places] = after, counts + 1
        # with AI4DL's warm-up the window of a sample ends one sample before it
        late = self._model.warmup == "zeros"
        full = np.flatnonzero(counts + (0 if late else 1) > self._model.history)
        rows = np.ascontiguousarray(before if late else after, np.float32).ravel()
        return Windows(rows, full, full * self._width, len(containers))

    def _places_of(self, containers: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        new_names = [name for name in containers if name not in self._places]
        missing = len(new_names) - len(self._free)
        if missing > 0:
            begin = len(self._seen)
            size = begin + max(missing, begin)
            self._windows = np.concatenate([self._windows, np.zeros((size - begin, self._width), np.float32)])
            self._seen = np.concatenate([self._seen, np.zeros(size - begin, np.int64)])
            self._free += range(size - 1, begin - 1, -1)
        for name in new_names:
            self._places[name] = self._free.pop()
        return np.array([self._places[name] for name in containers], np.int64)

    def gap(self, containers: Iterable[str]) -> None:
        """Begin warm-up again for containers with interrupted samples."""
        for name in containers:
            if name in self._places:
                self._seen[self._places[name]] = 0

    def forget(self, containers: Iterable[str]) -> None:
        """Drop containers that are gone."""
        for name in containers:
            place = self._places.pop(name, None)
            if place is not None:
                self._seen[place] = 0
                self._free.append(place)
