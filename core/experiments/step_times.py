"""Step times of a job at each number of cores of a run.

A stage is the time between two changes of a job's limit; its time per step is its seconds divided by the
steps done in them, and its cores are those that it used. So it shows what threads that do not fit the cores
cost, and what following saves (docs/scheduling/resizes.md).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_RUNNING = JobState.RUNNING.value


@dataclass(frozen=True, slots=True)
class Stage:
    """A job between two changes of its limit."""

    #: Its name.
    job: str
    #: When, seconds of the run's clock.
    start: float
    #: Cores that it might use, or None without a limit.
    limit: float | None
    #: Threads that it had for most of its observations; None where unknown.
    threads: int | None
    #: How long it ran.
    seconds: float
    #: Training steps that it did.
    steps: int
    #: Cores that it used on average.
    used: float

    @property
    def step_seconds(self) -> float | None:
        """Seconds per step, or None where it did none."""
        return self.seconds / self.steps if self.steps else None


@dataclass(frozen=True, slots=True)
class _Interval:
    """A job over the interval that ends with an observation."""

    start: float
    seconds: float
    limit: float | None
    threads: int | None
    steps: int
    used: float


def stages(series: Mapping[str, Any]) -> tuple[Stage, ...]:
    """The stages of all jobs of a run with known steps, job by job, from the first step on."""
    stages_of_run = []
    for name, lines in series["jobs"].items():
        for _, looks in groupby(_intervals(series["time"], lines), key=lambda interval: interval.limit):
            stages_of_run.append(_stage(name, list(looks)))
    return tuple(stages_of_run)


def _intervals(times: list[float], lines: Mapping[str, Any]) -> Iterator[_Interval]:
    """The intervals in which a job ran and had done a step before, and its usage was measured."""
    first, steps = lines["first"], lines.get("steps") or []
    for at in range(1, len(steps)):
        before, now = steps[at - 1], steps[at]
        is_measured = lines["cpu"][at] is not None
        if lines["state"][at - 1] == _RUNNING and before and now is not None and is_measured:
            start = times[first + at - 1]
            yield _Interval(
                start,
                times[first + at] - start,
                lines["limit"][at],
                lines["threads"][at],
                now - before,
                lines["cpu"][at],
            )


def _stage(name: str, looks: list[_Interval]) -> Stage:
    seconds = sum(interval.seconds for interval in looks)
    used = sum(interval.used * interval.seconds for interval in looks)
    threads = Counter(interval.threads for interval in looks).most_common(1)[0][0]
    return Stage(
        name,
        looks[0].start,
        looks[0].limit,
        threads,
        seconds,
        sum(interval.steps for interval in looks),
        used / seconds if seconds else 0.0,
    )


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage of one job, as it was under several policies."""

    #: The job, and which of its stages, from 1.
    job: str
    number: int
    #: Cores that it might use.
    limit: float | None
    #: By policy: its stages, one for each seed.
    of: Mapping[str, tuple[Stage, ...]]


def stage_rows(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[StageRow, ...]:
    """The stages that all runs of all policies have, with the same cores; others cannot be compared."""
    stages_by_arm = {label: [_by_place(each) for each in series] for label, series in runs.items()}
    all_runs = [run for arm_runs in stages_by_arm.values() for run in arm_runs]
    if not all_runs:
        return ()
    shared = [key for key in all_runs[0] if all(key in run for run in all_runs)]
    return tuple(
        StageRow(*key, {arm: tuple(run[key] for run in arm_runs) for arm, arm_runs in stages_by_arm.items()})
        for key in shared
    )


def _by_place(series: Mapping[str, Any]) -> dict[tuple[str, int, float | None], Stage]:
    """Stages by job, place among its stages, and cores."""
    places: Counter[str] = Counter()
    by_place = {}
    for stage in stages(series):
        places[stage.job] += 1
        by_place[stage.job, places[stage.job], stage.limit] = stage
    return by_place
