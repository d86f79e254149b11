"""Settings of ``deadline``."""

from __future__ import annotations

from dataclasses import dataclass

from core.scheduling.queueing import core_unit_setting, default_request_setting, memory_setting
from core.settings_fields import setting


@dataclass(frozen=True)
class DeadlineSettings:
    """The settings of guarantees, and of jobs without a guarantee."""

    interval: float = setting(
        30.0,
        label="Interval",
        low=1.0,
        high=3600,
        unit="s",
        help="Length of a plan’s first slots, and time after which running jobs are planned again.",
    )
    grain: float = core_unit_setting(0.25)
    choosy: bool = setting(
        True,
        label="Limit guarantees",
        help="While requests exceed the cores, jobs with the most core-time get no guarantee.",
    )
    rest: str = setting(
        "left-over",
        label="Without a guarantee",
        choices={
            "left-over": "Run on spare cores",
            "refuse-hopeless": "Refuse if no number of cores suffices",
            "refuse": "Refuse",
        },
        help="What happens to jobs whose deadline cannot be guaranteed.",
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
        help="Share of its first core’s speed that a further core must add to a job without a guarantee.",
    )
    learn: bool = setting(
        True,
        label="Learn from own steps",
        help="A job’s own steps correct its profile; a reserve covers the errors of earlier predictions.",
    )
    early: float = setting(
        1.0,
        label="Margin",
        low=0.0,
        high=3600.0,
        unit="s",
        help="Time before its deadline at which a job is planned to end if cores suffice.",
    )
    sizes: str = setting(
        "any",
        label="Numbers of cores",
        choices={"any": "Any multiple of the step", "powers": "The step times 1, 2, 4, 8 …"},
        help="Numbers of cores that a job may have.",
    )
    unasked: float = default_request_setting()
    memory: float = memory_setting()
