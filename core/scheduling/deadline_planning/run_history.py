"""The measured speed of earlier runs of a kind of job, for the next run of that kind.

A kind is an image, a command and the training data. During a run its time per step is measured at every
number of cores (`RunMeasurement`); at its end the measurements are blended into the history of its kind
(`KindHistory`), where a long run counts as much as all earlier ones. The first seconds after a change of
cores are left out, because what is measured then still belongs to the cores before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp, log
from typing import TYPE_CHECKING, Any, Final, Self

from core.scheduling.actions import SetLimit, Start
from core.scheduling.deadline_planning.speed import (
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
"""Numbers of cores remembered per kind, the latest."""
_MIN_HALF_LIVES: Final = 0.2
"""Half-lives of steps with the same cores below which their time per step is dropped."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The time per step with one number of cores."""

    #: Seconds per step; the latest steps count most.
    seconds: float
    #: Half-lives of steps behind it: 50 steps, or 30 s of long steps.
    half_lives: float = 0.0

    def blend(self, seconds: float, lives: float) -> Pace:
        """Return the pace with further steps; means are of logarithms."""
        weight = 0.5**lives
        mean = exp(weight * log(self.seconds) + (1.0 - weight) * log(seconds))
        return Pace(mean, self.half_lives + lives)


@dataclass(frozen=True, slots=True)
class KindHistory:
    """The history of one kind of job."""

    #: (cores, seconds per step), the latest last.
    points: tuple[tuple[float, float], ...] = ()
    #: Seconds from a start to the first step; None while unknown.
    startup: float | None = None
    #: Training steps of the last run, or None.
    steps: int | None = None
    #: Observed over predicted time per step of the latest runs.
    ratios: tuple[float, ...] = ()
    #: The number of runs.
    runs: int = 0
    #: Core-seconds from the last step to the end, on one core at most; None while unknown.
    teardown: float | None = None

    @property
    def has_curve(self) -> bool:
        """Whether several numbers of cores were tried, so that a curve can be fitted."""
        return len(self.points) > 1

    def profile(self, steps: int | None = None) -> Profile | None:
        """Return the profile for the next job of this kind, with its `steps` if known; None without runs."""
        if not self.points:
            return None
        points = tuple(sorted(self.points))
        startup, teardown = self.startup or 0.0, self.teardown or 0.0
        return Profile(points, startup, True, steps or self.steps, ratio_spread(self.ratios), teardown)

    def with_run(self, run: RunMeasurement) -> KindHistory:
        """Return the history with one more run."""
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
        """Return plain values, for JSON."""
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
        """Read the values of `to_dict`."""
        points = tuple((float(cores), float(seconds)) for cores, seconds in plain["points"])
        ratios, teardown = tuple(plain["ratios"]), plain.get("teardown")  # was not kept at first
        return cls(points, plain["startup"], plain["steps"], ratios, plain["runs"], teardown)


def _mean_of_known(before: float | None, last: float | None) -> float | None:
    """Return the mean of both, or the one that is known."""
    return (before if last is None else last) if before is None or last is None else (before + last) / 2


@dataclass(frozen=True, slots=True)
class RunMeasurement:
    """The measurements of a run so far."""

    #: Its profile before the run, or None.
    profile: Profile | None = None
    #: Whether it was followed from its start.
    from_start: bool = True
    #: The pace by number of cores.
    paces: Mapping[float, Pace] = field(default_factory=dict)
    #: Seconds from its start to its first step, or None.
    startup: float | None = None
    #: Its training steps in total, or None.
    steps: int | None = None
    #: Steps done at the last sample; None before the first.
    steps_done: int | None = None
    #: Its cores then, and since when it has had them.
    cores: float = 0.0
    cores_since: float = 0.0
    #: Predicted and observed seconds of the predicted steps.
    predicted: float = 0.0
    observed: float = 0.0
    #: When it was last sampled; None before.
    last_seen: float | None = None
    #: Core-seconds since its last step, on one core at most; None before.
    teardown: float | None = None

    def with_cores(self, cores: float | None, now: float, capacity: float) -> RunMeasurement:
        """Return the measurement after a change of cores; None means all of them."""
        cores = capacity if cores is None else cores
        return self if cores == self.cores else replace(self, cores=cores, cores_since=now)

    @property
    def ratio(self) -> float | None:
        """Observed over predicted time per step; None without a prediction."""
        return self.observed / self.predicted if self.predicted > 0 else None

    def with_sample(self, job: Job, now: float, capacity: float) -> RunMeasurement:
        """Return the measurement with a sample of the job, on a worker with this capacity."""
        updated = replace(
            self.with_cores(job.limit, now, capacity),
            last_seen=now,
            teardown=self._measure_teardown(job, now),
        )
        if job.state is not JobState.RUNNING or updated.cores <= 0:
            return replace(updated, cores=0.0)
        cores = updated.cores
        if job.steps is None or job.step_seconds is None:
            return updated
        updated = replace(updated, steps_done=job.steps, steps=job.total_steps or updated.steps)
        if self.steps_done is None and not self.from_start:
            return updated
        if self.steps_done is None and job.started is not None:
            updated = replace(updated, startup=max(now - job.started - job.steps * job.step_seconds, 0.0))
        steps = job.steps - (self.steps_done or 0)
        if steps <= 0 or now - updated.cores_since < SETTLE_SECONDS:
            return updated
        lives = max(steps / HALF_LIFE_STEPS, steps * job.step_seconds / HALF_LIFE_SECONDS)
        pace = self.paces.get(cores)
        blended = Pace(job.step_seconds, lives) if pace is None else pace.blend(job.step_seconds, lives)
        updated = replace(updated, paces={**self.paces, cores: blended})
        expected = predict_speed(self.profile)
        if expected is None:
            return updated
        predicted = self.predicted + steps * expected.seconds(cores)
        return replace(updated, predicted=predicted, observed=self.observed + steps * job.step_seconds)

    def _measure_teardown(self, job: Job, now: float) -> float | None:
        """Return the core-seconds since the last step, which ended between two samples."""
        if job.steps is None or job.total_steps is None or job.steps < job.total_steps:
            return None
        if self.last_seen is None or self.steps_done is None:
            return 0.0
        passed = now - self.last_seen
        if self.teardown is None:
            passed -= min((job.total_steps - self.steps_done) * (job.step_seconds or 0.0), passed)
        return (self.teardown or 0.0) + passed * min(self.cores, 1.0)


class RunMeasurements:
    """The measurements of an engine's running jobs, by job name."""

    def __init__(self) -> None:
        self._measurements: dict[str, RunMeasurement] = {}
        self._time = self._cores = 0.0

    def follow(self, job: str, profile: Profile | None, *, whole: bool = True) -> None:
        """Follow a job with this profile, from its start or from now on."""
        self._measurements[job] = RunMeasurement(profile, whole)

    def add_observation(self, observation: Observation) -> None:
        """Add the present state of all jobs, and the final state of ended ones."""
        self._time, self._cores = (
            observation.time,
            max((each.capacity for each in observation.workers), default=0.0),
        )
        for job in (*observation.jobs, *observation.ended):
            if job.id in self._measurements:
                last = replace(job, state=JobState.RUNNING) if job.state.ended else job
                self._measurements[job.id] = self._measurements[job.id].with_sample(
                    last, self._time, self._cores
                )

    def add_actions(self, actions: Sequence[Action], failures: Sequence[Failure]) -> dict[str, float | None]:
        """Add the core changes that did not fail; returns them by job, None for all cores."""
        wrong, limits = {failure.action for failure in failures}, {}
        for action in actions:
            if (
                isinstance(action, Start | SetLimit)
                and action not in wrong
                and action.job in self._measurements
            ):
                limits[action.job] = action.limit
        for job, cores in limits.items():
            self._measurements[job] = self._measurements[job].with_cores(cores, self._time, self._cores)
        return limits

    def profile(self, job: str) -> Profile | None:
        """Return a job's profile."""
        return self._measurements[job].profile

    def stop_following(self, job: str) -> RunMeasurement:
        """Stop following a job; returns its measurement."""
        return self._measurements.pop(job)
