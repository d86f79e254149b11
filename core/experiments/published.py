"""What was published of an experiment, and whether its runs reproduce it.

A published figure is a single run against the experiment's own baseline. It is reproduced where the published
change lies within the middle 90% of single seeds; with fewer than 30 seeds that range says too little, and
nothing is claimed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.settings_fields import setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.experiments.leaderboard import Standing

PUBLISHED_MEASURES = {
    "mean": "Mean completion",
    "makespan": "Makespan",
    "sooner": "Jobs sooner",
    "best": "Best job",
    "worst": "Worst job",
    "completion": "Completion of one job",
}
ENOUGH_SEEDS = 30


@dataclass(frozen=True, slots=True)
class Published:
    """One published figure of one policy."""

    policy: str = setting("", label="Policy", help="The label of the policy that it is about.")
    measure: str = setting("mean", label="Measure", choices=PUBLISHED_MEASURES, help="What was measured.")
    job: str = setting("", label="Job", help="The job, where it is about one.")
    value: float = setting(0.0, label="Value", low=0.0, unit="s", help="With the policy; 0: not given.")
    base: float = setting(0.0, label="Baseline", low=0.0, unit="s", help="Without it; 0: not given.")
    share: float = setting(
        0.0,
        label="Share",
        low=-1.0,
        high=10.0,
        help="The relative change, where no values are given; of “sooner” the share of jobs.",
    )
    source: str = setting("", label="Source", help="Where it was published.")

    @property
    def change(self) -> float:
        """The relative change against the baseline; of ``sooner`` the share of jobs."""
        return self.value / self.base - 1.0 if self.value and self.base else self.share


def about(published: Sequence[Published], label: str) -> list[Published]:
    """What was published of one policy, in order."""
    return [each for each in published if each.policy == label]


def found(published: Published, row: Standing) -> float | None:
    """What the runs say where the published figure stands: the mean over seeds, or None."""
    if published.measure in ("mean", "makespan"):
        difference = row.differences.get(published.measure)
        return None if difference is None else difference.value
    if row.jobs is None:
        return None
    if published.measure == "completion":
        return row.jobs.by_job.get(published.job)
    return {"sooner": row.jobs.sooner, "best": row.jobs.best, "worst": row.jobs.worst}[published.measure]


def reproduced(published: Published, row: Standing) -> bool | None:
    """Whether the published change lies within the middle 90% of single seeds; None: it cannot be said."""
    span = _range(published, row)
    if span is None or row.seeds < ENOUGH_SEEDS:
        return None
    return span[0] <= published.change <= span[1]


def _range(published: Published, row: Standing) -> tuple[float, float] | None:
    if published.measure in ("mean", "makespan"):
        difference = row.differences.get(published.measure)
        if difference is None or difference.p5 is None or difference.p95 is None:
            return None
        return difference.p5, difference.p95
    return row.jobs.ranges.get(published.measure) if row.jobs is not None else None
