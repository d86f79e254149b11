"""How carefully containers are steered, whatever the policy."""

from __future__ import annotations

from dataclasses import dataclass

from core.settings_fields import setting


@dataclass(frozen=True)
class SteeringSettings:
    """What keeps containers from harm (design: live phase autoscaling)."""

    floor: float = setting(
        0.05, label="Floor", low=0.01, high=1024.0, unit="cores", help="No container gets fewer cores."
    )
    throttled: float = setting(
        0.25, label="Throttled", low=0.01, high=1.0,
        help="Above this share of throttled periods a container is held back too much.",
    )  # fmt: skip
    patience: float = setting(
        3.0, label="Patience", low=1.0, high=600.0, unit="s", help="How long it may be held back too much."
    )
    step: float = setting(
        1.5, label="Step back", low=1.01, high=10.0,
        help="By how much a limit grows at once where it was too low.",
    )  # fmt: skip
    memory: bool = setting(
        False, label="Memory, too", help="Whether memory limits are set; a limit that is too low kills."
    )
    margin: float = setting(
        0.15, label="Memory margin", low=0.0, high=5.0,
        help="What a memory limit has above the most that was used in the last ten minutes, beside 32 MiB.",
    )  # fmt: skip
    full: float = setting(
        0.9, label="Nearly full", low=0.5, high=1.0, help="Above this share of its limit it grows at once."
    )
