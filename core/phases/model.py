"""The phase model: features, scaler, encoder, centres, expansions, and its training record."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from core.errors import MismatchError
from core.phases.describe import WARM_UP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.phases.describe import PhaseStatistics
    from core.phases.encoders import Codes, Encoder
    from core.phases.rows import Scaler
    from core.phases.settings import PhaseSettings
    from core.traces.model import Feature

__all__ = ["WARM_UP", "Expansion", "PhaseModel", "TrainingRecord"]


@dataclass(frozen=True, eq=False)
class Expansion:
    """One phase divided into new ones."""

    #: The phase that was divided.
    phase: int
    #: The new phases, in the order of their centres.
    ids: tuple[int, ...]
    #: Shape (len(ids), size).
    centres: Codes


@dataclass(frozen=True)
class TrainingRecord:
    """The record of a model's training."""

    #: The reconstruction error of every epoch; empty where nothing was trained.
    errors: tuple[float, ...] = ()
    #: The size of the trace set, and how many of its samples had a full window.
    n_samples: int = 0
    n_executions: int = 0
    n_codes: int = 0
    #: The trace set's fingerprint (`core.traces.model`), empty if unknown.
    fingerprint: str = ""
    #: Its sampling period in seconds, 0 if unknown.
    period: float = 0.0
    #: The 1st and 99th percentile of each feature; empty if unknown, as in older models.
    ranges: tuple[tuple[float, float], ...] = ()
    #: The 99th percentiles of the distance to the nearest centre and of the reconstruction error of a sample
    #: (`core.phases.drift`); empty if unknown, as in older models.
    limits: tuple[float, ...] = ()

    @property
    def final_error(self) -> float | None:
        """The last reconstruction error, or None."""
        return self.errors[-1] if self.errors else None


@dataclass(frozen=True, eq=False)
class PhaseModel:
    """A fitted phase model. It is a value: expanding it makes another one."""

    #: The columns it reads, in order.
    features: tuple[Feature, ...]
    #: Their mean and scale, in canonical units.
    scaler: Scaler
    #: Window → code.
    encoder: Encoder
    #: The centres of the k original phases, shape (k, size), in the order of their ids.
    centres: Codes
    #: How it was fitted; ``settings.warmup`` says what samples without a window get.
    settings: PhaseSettings
    #: Phases that were divided afterwards, oldest first.
    expansions: tuple[Expansion, ...] = ()
    #: The record of its training.
    training: TrainingRecord = field(default_factory=TrainingRecord)
    #: Each current phase over the training traces, warm-up last if there is any.
    statistics: tuple[PhaseStatistics, ...] = ()
    #: ``"phasedock"`` or ``"ai4dl"``.
    origin: str = "phasedock"
    #: The names that people gave to phases, by id; labels do not depend on them.
    names: Mapping[int, str] = field(default_factory=dict)

    @property
    def warmup(self) -> str:
        """The treatment of samples without a full window: ``"label"`` or ``"zeros"``."""
        return self.settings.warmup

    @property
    def history(self) -> int:
        """The number of earlier samples in a window."""
        return self.encoder.history

    @cached_property
    def phases(self) -> tuple[int, ...]:
        """The ids that labels can have, in order, warm-up not among them."""
        live = list(range(len(self.centres)))
        for expansion in self.expansions:
            live.remove(expansion.phase)
            live += expansion.ids
        return tuple(live)

    @property
    def next_id(self) -> int:
        """The id that the next new phase gets; ids of divided phases are not used again."""
        return len(self.centres) + sum(len(expansion.ids) for expansion in self.expansions)

    def description(self, phase: int) -> str:
        """The description of a phase on the training traces, or empty."""
        return next((each.description for each in self.statistics if each.phase == phase), "")

    def check(self) -> None:
        """Make sure that the parts fit together.

        Raises
        ------
        MismatchError
            If scaler, encoder, centres or expansions are of different sizes.
        """
        n, size = len(self.features), self.encoder.size
        sizes = (self.encoder.features, len(self.scaler.mean), len(self.scaler.scale))
        if sizes != (n, n, n):
            raise MismatchError(
                f"The model's parts do not fit together: {n} features are named, its encoder takes "
                f"{sizes[0]} and its scaler {sizes[1]}.",
                "Take the encoder and the scaler from the same training run.",
            )
        widths = [self.centres.shape[1], *(each.centres.shape[1] for each in self.expansions)]
        if any(width != size for width in widths):
            raise MismatchError(
                f"The model's parts do not fit together: its codes have {size} numbers, "
                f"its phases’ centres {widths[0]}.",
                "Take the phases from the same training run as the encoder.",
            )
