"""The settings of a phase model, with the published presets."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from core.settings_fields import build, setting

ENCODERS = {
    "crbm": "CRBM code (AI4DL)",
    "window": "The window itself",
    "pca": "Principal components of the window",
}
SOLVERS = {
    "minibatch": "Minibatch, Adam (fastest)",
    "momentum": "Minibatch, momentum",
    "online": "One sample at a time (AI4DL)",
}
WARMUPS = {"label": "A phase of their own, kept apart", "zeros": "All-zero codes, clustered (AI4DL)"}


@dataclass(frozen=True)
class PhaseSettings:
    """Settings of a phase model; each field has bounds, a unit and a help sentence."""

    phases: int = setting(
        5, label="Phases", low=1, high=64, help="How many phases to look for; the paper found 5."
    )
    encoder: str = setting(
        "crbm",
        label="Encoder",
        choices=ENCODERS,
        help="What turns a window of samples into the code that is clustered.",
    )
    hidden: int = setting(
        10,
        label="Hidden units",
        low=1,
        high=512,
        help="The length of the code: CRBM hidden units or principal components.",
    )
    history: int = setting(
        3,
        label="History",
        low=1,
        high=128,
        unit="samples",
        help="How many earlier samples a window holds besides its own.",
    )
    solver: str = setting(
        "minibatch",
        label="Solver",
        choices=SOLVERS,
        help="How the CRBM is trained; minibatch gets to the same error soonest.",
    )
    learning_rate: float = setting(
        1e-3,
        label="Learning rate",
        low=1e-7,
        high=1.0,
        help="The size of a training step; smaller is slower and steadier.",
    )
    epochs: int = setting(
        100,
        label="Epochs",
        low=1,
        high=20_000,
        unit="epochs",
        help="How often training goes through all samples, at most.",
    )
    patience: int = setting(
        3, label="Patience", low=0, high=1_000, unit="epochs",
        help="Epochs without a smaller error until online training stops or minibatch slows down; 0: never.",
    )  # fmt: skip
    batch_size: int = setting(
        8, label="Batch", low=1, high=4_096, unit="samples", help="Samples per step of the minibatch solvers."
    )
    warmup: str = setting(
        "label",
        label="Warm-up",
        choices=WARMUPS,
        help="How samples without a full window before them are labelled.",
    )
    seed: int = setting(
        0,
        label="Seed",
        low=0,
        high=2**31 - 1,
        help="The same seed gives the same model, bit for bit, on one machine.",
    )

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON takes them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, object]) -> PhaseSettings:
        """Read settings back.

        Raises
        ------
        InputError
            If a name is unknown or a value is out of bounds.
        """
        return build(cls, values)


@dataclass(frozen=True)
class ApplicationSettings:
    """Settings for applying a fitted model to traces; they do not change the model."""

    minimum_dwell: float = setting(
        0.0,
        label="Minimum dwell time",
        low=0.0,
        high=1e9,
        unit="s",
        help="Shorter segments join a neighbour; 0 leaves all as the model labels them.",
    )

    @classmethod
    def read(cls, minimum_dwell: str | float) -> ApplicationSettings:
        """Settings from an address or a command.

        Raises
        ------
        InputError
            If a value is no number, or out of bounds.
        """
        return build(cls, {"minimum_dwell": minimum_dwell})


PRESETS: dict[str, PhaseSettings] = {
    "Quick": PhaseSettings(epochs=30),
    "Paper (AI4DL)": PhaseSettings(epochs=2_000, solver="online"),
    "Published model": PhaseSettings(epochs=1_000, solver="online", warmup="zeros", seed=1234),
}
