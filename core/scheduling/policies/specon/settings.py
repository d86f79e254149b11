"""What can be chosen of SpeCon; the first of every choice is the default."""

from __future__ import annotations

from dataclasses import dataclass

from core.scheduling.placement import placement_setting
from core.settings_fields import setting

REBALANCES = {
    "resolved": "One move per interval, from the fullest worker to the emptiest",
    "as-printed": "Algorithm 5 word by word",
}
PRESETS = {
    "Thesis 6.2.2": {"alpha": 0.01, "interval": 30.0},
    "Figure 6.17, 20 s": {"alpha": 0.05, "interval": 20.0},
    "Figure 6.17, 25 s": {"alpha": 0.05, "interval": 25.0},
    "Figure 6.18, α = 0.05": {"alpha": 0.05, "interval": 30.0},
    "Figure 6.18, α = 0.1": {"alpha": 0.1, "interval": 30.0},
}
"""The settings of the thesis' experiments, by their names."""


@dataclass(frozen=True)
class SpeConSettings:
    """SpeCon's parameters and variants."""

    alpha: float = setting(
        0.01, label="Threshold α", low=0.0001, high=1.0, help="Growth of E per interval that counts as slow."
    )
    interval: float = setting(
        30.0, label="Interval", low=1.0, high=3600.0, unit="s", help="Time between two looks at every E."
    )
    weight_pc: float = setting(
        2.0, label="Weight of PC", low=0.0, high=100.0, help="What a progressing job counts in a score."
    )
    weight_wc: float = setting(
        1.5, label="Weight of WC", low=0.0, high=100.0, help="What a watched job counts in a score."
    )
    weight_cc: float = setting(
        1.0, label="Weight of CC", low=0.0, high=100.0, help="What a converged job counts in a score."
    )
    rebalance: str = setting(
        "resolved", label="Rebalancing", choices=REBALANCES, help="How Algorithm 5 is read."
    )
    placement: str = placement_setting()

    @property
    def weights(self) -> dict[str, float]:
        """What a job counts in a score, by its category."""
        return {"PC": self.weight_pc, "WC": self.weight_wc, "CC": self.weight_cc}
