"""What steers containers, and how carefully."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.scheduling.queue_settings import memory_setting, unasked_setting
from core.settings_fields import setting

if TYPE_CHECKING:
    from core.scheduling.policies.autopilot.fitted import FittedPolicy


@dataclass(frozen=True)
class AutopilotSettings:
    """What steers, and what keeps containers from harm (design: live phase autoscaling)."""

    policy: str = setting(
        "phasedock",
        label="Provisioning policy",
        of="provisioning",
        help="Which one says what a container is given.",
    )
    model: str = setting(
        "",
        label="Phase model",
        of="model",
        help="Its phases are what the policy goes by; without phases when empty.",
    )
    traces: str = setting(
        "",
        label="Learned from",
        of="traces",
        help="The trace set that it learns from; the phase model’s own when empty.",
    )
    cycle: float = setting(
        5.0, label="Cycle", low=1.0, high=86_400.0, unit="s", help="Time between two allocations."
    )
    tolerance: float = setting(
        0.05, label="Tolerance", low=0.001, high=0.5,
        help="The share of time that may fall short, on what it learned from.",
    )  # fmt: skip
    memory: bool = setting(
        False, label="Memory, too", help="Whether memory limits are set; a limit that is too low kills."
    )
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
    margin: float = setting(
        0.15, label="Memory margin", low=0.0, high=5.0,
        help="What a memory limit has above the most that was used in the last ten minutes, beside 32 MiB.",
    )  # fmt: skip
    full: float = setting(
        0.9, label="Nearly full", low=0.5, high=1.0, help="Above this share of its limit it grows at once."
    )
    unasked: float = unasked_setting()
    filled: float = memory_setting()


@dataclass(frozen=True)
class ReadySettings(AutopilotSettings):
    """The same with what the policy learned; whoever starts a run fits it."""

    #: What steers. Without it every container keeps what it asked for.
    fitted: FittedPolicy | None = None
