"""What can be chosen of ``deadline``."""

from __future__ import annotations

from dataclasses import dataclass

from core.settings_fields import setting


@dataclass(frozen=True)
class DeadlineSettings:
    """How promises are made and kept."""

    interval: float = setting(
        30.0,
        label="Interval",
        low=1.0,
        high=3600,
        unit="s",
        help="Length of the first slots of a plan, and time after which running jobs are looked at again.",
    )
    grain: float = setting(
        0.25, label="Step", low=0.05, high=64, unit="cores", help="Cores are given in multiples of this."
    )
    choosy: bool = setting(
        True,
        label="Choose whom to promise",
        help="While more is asked for than there is, jobs that need most core-time are promised nothing.",
    )
    infeasible: str = setting(
        "best-effort",
        label="Deadline out of reach",
        choices={"best-effort": "Run with what is left over", "refuse": "Refuse"},
        help="What becomes of a job that no number of cores brings to its end in time.",
    )
    unasked: float = setting(
        1.0,
        label="Without a request",
        low=0.01,
        high=4096,
        unit="cores",
        help="Cores with which a job begins whose speed is not known and which asks for none.",
    )
    memory: float = setting(
        0.8,
        label="Memory in use",
        low=0.05,
        high=1.0,
        help="Share of a machine’s memory beyond which nothing starts there.",
    )
