"""What runs of one kind have shown, for the next job of that kind.

A kind is an image, a command and the data that it trains on. While a run goes on its time per step is taken
at every number of cores that it has (`Course`); at its end that is blended into what is known of its kind
(`Earlier`), where a run that was long enough counts as much as all before it. The first seconds after its
cores changed are left out, since what is measured then still belongs to those before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp, log
from typing import TYPE_CHECKING, Any, Final, Self

from core.scheduling.actions import SetLimit, Start
from core.scheduling.deadline_planning.foresight import (
    HALF_LIFE_SECONDS,
    HALF_LIFE_STEPS,
    MAX_RATIOS,
    predict_speed,
    ratio_spread,
)
from core.scheduling.forecasting import SETTLE_SECONDS
from core.scheduling.model import JobState, Profile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.actions import Action
    from core.scheduling.model import Failure, Job, Observation

_MAX_POINTS: Final = 32
"""Numbers of cores that are remembered of a kind, the latest."""
_MIN_HALF_LIVES: Final = 0.2
"""Half-lives of steps with the same cores below which their time per step is not remembered."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Time per step with one number of cores."""

    #: Seconds per step, the latest steps counting most.
    seconds: float
    #: Half-lives of steps that it rests on: 50 steps, or 30 s of them where they are long.
    half_lives: float = 0.0

    def blend(self, seconds: float, lives: float) -> Pace:
        """Also knowing steps of so many seconds each; both are means of logarithms."""
        kept = 0.5**lives
        mean = exp(kept * log(self.seconds) + (1.0 - kept) * log(seconds))
        return Pace(mean, self.half_lives + lives)


@dataclass(frozen=True, slots=True)
class KindHistory:
    """What is known of a kind."""

    #: (cores, seconds per step), the latest last.
    points: tuple[tuple[float, float], ...] = ()
    #: Seconds from a start to the first step; None while no run said.
    startup: float | None = None
    #: Training steps of the last run in all, or None.
    steps: int | None = None
    #: Time per step over what was predicted of it, of the latest runs.
    ratios: tuple[float, ...] = ()
    #: How many runs this rests on.
    runs: int = 0
    #: Core-seconds from the last step to the end, on one core at most; None while no run said.
    teardown: float | None = None

    @property
    def has_curve(self) -> bool:
        """Whether more than one number of cores was tried, so that the curve is known."""
        return len(self.points) > 1

    def profile(self, steps: int | None = None) -> Profile | None:
        """For the next job of this kind, which has `steps` in all if that is known; None without any run."""
        if not self.points:
            return None
        points = tuple(sorted(self.points))
        startup, teardown = self.startup or 0.0, self.teardown or 0.0
        return Profile(points, startup, True, steps or self.steps, ratio_spread(self.ratios), teardown)

    def with_run(self, run: RunMeasurement) -> KindHistory:
        """Also knowing a run."""
        paces = [(cores, pace) for cores, pace in run.paces.items() if pace.half_lives >= _MIN_HALF_LIVES]
        if not paces:
            return self
        points = dict(self.points)
        for cores, pace in paces:
            before = points.pop(cores, pace.seconds)
            points[cores] = Pace(before).blend(pace.seconds, min(pace.half_lives, 1.0)).seconds
        startup, teardown = (
            _mean_of_known(self.startup, run.startup),
            _mean_of_known(self.teardown, run.teardown),
        )
        ratios = self.ratios if run.ratio is None else (*self.ratios, run.ratio)[-MAX_RATIOS:]
        latest = tuple(points.items())[-_MAX_POINTS:]
        return KindHistory(latest, startup, run.steps or self.steps, ratios, self.runs + 1, teardown)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "points": [list(point) for point in self.points],
            "startup": self.startup,
            "steps": self.steps,
            "ratios": list(self.ratios),
            "runs": self.runs,
            "teardown": self.teardown,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote."""
        points = tuple((float(cores), float(seconds)) for cores, seconds in plain["points"])
        ratios, teardown = tuple(plain["ratios"]), plain.get("teardown")  # was not kept at first
        return cls(points, plain["startup"], plain["steps"], ratios, plain["runs"], teardown)


def _mean_of_known(before: float | None, last: float | None) -> float | None:
    """Of what was known and the last run; either of them where the other says nothing."""
    return (before if last is None else last) if before is None or last is None else (before + last) / 2


@dataclass(frozen=True, slots=True)
class RunMeasurement:
    """A run as far as it was seen."""

    #: What was predicted of it, or None.
    profile: Profile | None = None
    #: Whether it was followed from its start.
    from_start: bool = True
    #: By numbers of cores.
    paces: Mapping[float, Pace] = field(default_factory=dict)
    #: Seconds from its start to its first step, or None.
    startup: float | None = None
    #: Training steps that it has in all, or None.
    steps: int | None = None
    #: Steps that it had done when it was looked at last; None before it said.
    steps_done: int | None = None
    #: Cores that it had then, and since when.
    cores: float = 0.0
    cores_since: float = 0.0
    #: Seconds of the steps that were predicted: by the prediction, and as they were.
    predicted: float = 0.0
    observed: float = 0.0
    #: When it was looked at last; None before.
    last_seen: float | None = None
    #: Core-seconds since its last step, on one core at most; None before.
    teardown: float | None = None

    def with_cores(self, cores: float | None, now: float, capacity: float) -> RunMeasurement:
        """After it was given so many cores, None: all of them."""
        cores = capacity if cores is None else cores
        return self if cores == self.cores else replace(self, cores=cores, cores_since=now)

    @property
    def ratio(self) -> float | None:
        """Time per step over what was predicted; None where nothing was."""
        return self.observed / self.predicted if self.predicted > 0 else None

    def with_sample(self, job: Job, now: float, capacity: float) -> RunMeasurement:
        """Also knowing what a job shows now, on a worker with so many cores."""
        seen = replace(
            self.with_cores(job.limit, now, capacity),
            last_seen=now,
            teardown=self._measure_teardown(job, now),
        )
        if job.state is not JobState.RUNNING or seen.cores <= 0:
            return replace(seen, cores=0.0)
        cores = seen.cores
        if job.steps is None or job.step_seconds is None:
            return seen
        seen = replace(seen, steps_done=job.steps, steps=job.total_steps or seen.steps)
        if self.steps_done is None and not self.from_start:
            return seen
        if self.steps_done is None and job.started is not None:
            seen = replace(seen, startup=max(now - job.started - job.steps * job.step_seconds, 0.0))
        steps = job.steps - (self.steps_done or 0)
        if steps <= 0 or now - seen.cores_since < SETTLE_SECONDS:
            return seen
        lives = max(steps / HALF_LIFE_STEPS, steps * job.step_seconds / HALF_LIFE_SECONDS)
        pace = self.paces.get(cores)
        paced = Pace(job.step_seconds, lives) if pace is None else pace.blend(job.step_seconds, lives)
        seen = replace(seen, paces={**self.paces, cores: paced})
        expected = predict_speed(self.profile)
        if expected is None:
            return seen
        predicted = self.predicted + steps * expected.seconds(cores)
        return replace(seen, predicted=predicted, observed=self.observed + steps * job.step_seconds)

    def _measure_teardown(self, job: Job, now: float) -> float | None:
        """Core-seconds since the last step, which came between two looks when its time was over."""
        if job.steps is None or job.total_steps is None or job.steps < job.total_steps:
            return None
        if self.last_seen is None or self.steps_done is None:
            return 0.0
        passed = now - self.last_seen
        if self.teardown is None:
            passed -= min((job.total_steps - self.steps_done) * (job.step_seconds or 0.0), passed)
        return (self.teardown or 0.0) + passed * min(self.cores, 1.0)


class RunMeasurements:
    """The runs of an engine's jobs while they go on, by the names of the jobs."""

    def __init__(self) -> None:
        self._measurements: dict[str, RunMeasurement] = {}
        self._time = self._cores = 0.0

    def follow(self, job: str, profile: Profile | None, *, whole: bool = True) -> None:
        """Follow a job, of which this is expected, from its start or from now on."""
        self._measurements[job] = RunMeasurement(profile, whole)

    def add_observation(self, seen: Observation) -> None:
        """Take in how jobs are now, and how they were at their end."""
        self._time, self._cores = seen.time, max((each.capacity for each in seen.workers), default=0.0)
        for job in (*seen.jobs, *seen.ended):
            if job.id in self._measurements:
                last = replace(job, state=JobState.RUNNING) if job.state.ended else job
                self._measurements[job.id] = self._measurements[job.id].with_sample(
                    last, self._time, self._cores
                )

    def add_actions(self, actions: Sequence[Action], failures: Sequence[Failure]) -> dict[str, float | None]:
        """Take in which cores jobs were given, unless that failed; those that were, None: all of them."""
        wrong, given = {failure.action for failure in failures}, {}
        for action in actions:
            if (
                isinstance(action, Start | SetLimit)
                and action not in wrong
                and action.job in self._measurements
            ):
                given[action.job] = action.limit
        for job, cores in given.items():
            self._measurements[job] = self._measurements[job].with_cores(cores, self._time, self._cores)
        return given

    def profile(self, job: str) -> Profile | None:
        """What was expected of a job."""
        return self._measurements[job].profile

    def stop_following(self, job: str) -> RunMeasurement:
        """No longer follow a job; its course."""
        return self._measurements.pop(job)
