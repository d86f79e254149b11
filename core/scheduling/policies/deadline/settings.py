"""Settings of ``deadline``."""

from __future__ import annotations

from dataclasses import dataclass

from core.scheduling.queueing import core_unit_setting, default_request_setting, memory_setting
from core.settings_fields import setting


@dataclass(frozen=True)
class DeadlineSettings:
    """The settings of guarantees, and of jobs without one."""

    interval: float = setting(
        30.0,
        label="Interval",
        low=1.0,
        high=3600,
        unit="s",
        help="Length of the first slots of a plan, and time after which running jobs are looked at again.",
    )
    grain: float = core_unit_setting(0.25)
    choosy: bool = setting(
        True,
        label="Limit guarantees",
        help="While more is asked for than there is, jobs that need most core-time are promised nothing.",
    )
    rest: str = setting(
        "left-over",
        label="Without a promise",
        choices={
            "left-over": "Run with what is left over",
            "refuse-hopeless": "Refuse if no number of cores suffices",
            "refuse": "Refuse",
        },
        help="What becomes of jobs with a deadline that cannot be promised.",
    )
    spare: str = setting(
        "speed",
        label="Spare cores",
        choices={"speed": "Where they speed up most", "core-time": "Where they save most core-time"},
        help="Which jobs get cores that no guarantee needs.",
    )
    worth: float = setting(
        0.5,
        label="Worth of a core",
        low=0.0,
        high=1.0,
        help="What a further core must add, of what the first one does, for jobs that were promised nothing.",
    )
    learn: bool = setting(
        True,
        label="Learn from own steps",
        help="A job’s own steps correct its profile, and a reserve covers how others turned out.",
    )
    early: float = setting(
        1.0,
        label="Margin",
        low=0.0,
        high=3600.0,
        unit="s",
        help="Time before its deadline by which a job is planned to end where there is room for that.",
    )
    sizes: str = setting(
        "any",
        label="Numbers of cores",
        choices={"any": "Any multiple of the step", "powers": "The step times 1, 2, 4, 8 …"},
        help="Numbers of cores that a job may have.",
    )
    unasked: float = default_request_setting()
    memory: float = memory_setting()
