"""What can be chosen of PhaseDock's own policy."""

from __future__ import annotations

from dataclasses import dataclass

from core.settings_fields import setting


@dataclass(frozen=True)
class PhaseDockSettings:
    """Bounds, units and meanings are those that forms show."""

    delta: float = setting(
        0.3,
        label="Patience",
        low=0.0,
        high=10.0,
        help="How much longer than under fair sharing a job may take.",
    )
    goal: float = setting(
        1.0, label="Weight of 90%", low=0.0, high=100.0,
        help="Worth of reaching 90% of the loss reduction, against 1 for ending.",
    )  # fmt: skip
    goal95: float = setting(
        0.4, label="Weight of 95%", low=0.0, high=100.0,
        help="Worth of reaching 95% of the loss reduction, against 1 for ending.",
    )  # fmt: skip
    goal99: float = setting(
        0.2, label="Weight of 99%", low=0.0, high=100.0,
        help="Worth of reaching 99% of the loss reduction, against 1 for ending.",
    )  # fmt: skip
    stretch: float = setting(
        0.02,
        label="Stretch",
        low=0.0,
        high=10.0,
        help="How much later than the earliest possible end everything may finish.",
    )
    interval: float = setting(
        5.0, label="Interval", low=0.1, high=3600.0, unit="s", help="How often the order is looked at again."
    )
    pause: bool = setting(True, label="Pause", help="Pause jobs that are not needed to fill their worker.")
    migrate: bool = setting(True, label="Migrate", help="Move jobs between workers where that pays.")
    cost: float = setting(
        6.0, label="Cost of moving", low=0.0, high=3600.0, unit="s", help="What one migration takes."
    )

    @property
    def weights(self) -> tuple[float, float, float]:
        """What reaching each of `core.scheduling.forecasting.GOALS` is worth; ending is worth 1."""
        return (self.goal, self.goal95, self.goal99)
