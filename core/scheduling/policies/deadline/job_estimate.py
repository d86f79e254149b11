"""What ``deadline`` remembers of a job."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, floor, inf
from typing import TYPE_CHECKING, Final, NamedTuple

from core.scheduling.deadline_planning.foresight import SpeedPrediction, predict_speed
from core.scheduling.deadline_planning.plan import AllocationRequest
from core.scheduling.deadline_planning.rates import Rates, build_rates, deadline_of
from core.scheduling.forecasting import SETTLE_SECONDS
from core.scheduling.model import JobState
from core.scheduling.refusals import START_TIMEOUT, retry_delay

if TYPE_CHECKING:
    from core.scheduling.model import Job
    from core.scheduling.policies.deadline.settings import DeadlineSettings

_ROUNDING: Final = 1e-9
_AMPLE_LUCK: Final = 2.0
"""By how much more luck (as a power) is hoped for while nobody is turned away: cores would lie idle."""
_MARGIN_SHARE, _MIN_MARGIN, _MAX_MARGIN = 0.001, 0.05, 1.0
"""A little time: this share of what is left until the deadline, and its bounds in seconds."""


class FinishEstimate(NamedTuple):
    """When a job is expected to end, and between which moments eight times out of ten."""

    finish: float
    interval: tuple[float, float] | None


class SpareAllocation(NamedTuple):
    """Grains with which a job may end in time at best, and those that it is given where they are there."""

    min_grains: int
    enough_grains: int


@dataclass(frozen=True, slots=True)
class JobEstimate:
    """One job."""

    #: Its name.
    job: str
    #: Its deadline on the run's clock, seconds; infinite without one.
    deadline: float
    #: How fast it is by its foresight, or as fast as its cores up to its request while that is not known.
    rates: Rates = field(compare=False)  # follows from the foresight
    #: Grains with which it begins where it was promised nothing.
    initial_grains: int
    #: What is expected of its time per step; None while nothing is known.
    prediction: SpeedPrediction | None = None
    #: Bytes.
    memory: float = 0.0
    #: Steps left; None if it does not say.
    steps_left: float | None = None
    #: Grain-seconds to its end with as few cores as it runs with; infinite where that is not known.
    min_work: float = inf
    #: Grain-seconds from its last step to its end.
    teardown: float = 0.0
    #: Whether it has done all its steps.
    is_ending: bool = False
    #: Steps that it had done when it was looked at last, without and with a part of the one in progress.
    steps_done: int = 0
    progress: float = 0.0
    #: When that was.
    updated_at: float = 0.0
    #: Cores that it has, or was given by the last decision, and since when.
    cores: float = 0.0
    cores_since: float = 0.0
    #: Whether it has not run yet.
    is_waiting: bool = True
    #: When it first ran; None while it waits.
    started: float | None = None
    #: Where it is, or where it was promised to begin.
    worker: str | None = None
    #: Whether it is to end in time.
    is_promised: bool = False
    #: Whether it was promised to and will not end in time.
    is_late: bool = False
    #: Whether it was tried to promise it its deadline since its end can be predicted.
    was_considered: bool = False
    #: Whether others are judged by its prediction already.
    was_judged: bool = False
    #: Grains with which its start was asked for; 0 once it runs, or where that failed.
    requested_grains: int = 0
    #: When it may be started again after a start that failed or was not confirmed, and how many failed.
    retry_at: float = 0.0
    refusals: int = 0
    #: The worker on which it could not be started last.
    avoided_worker: str | None = None
    #: What was last said of it.
    last_text: str = ""

    @property
    def is_predictable(self) -> bool:
        """Whether its end can be predicted."""
        return self.prediction is not None and self.steps_left is not None

    def allocation_request(
        self, general: float, now: float, early: float = 0.0, *, grace: bool = False
    ) -> AllocationRequest:
        """To end in time, with the reserve that is kept for wrong predictions; only of one that is known.

        If possible a little before its deadline, at least `early` seconds, so that it is not stopped in the
        moment of its end; with `grace`, at the worst a little after, so that what is nearly done is not left
        lying.
        """
        need = self._steps_needed(self.reserve(general))
        until = self.deadline - self.startup(now)
        little = max(min(max(_MARGIN_SHARE * (until - now), _MIN_MARGIN), _MAX_MARGIN), early)
        latest = until + _MAX_MARGIN if grace else until
        return AllocationRequest(self.job, max(need, 1e-9), self.rates, until - little, latest)

    def spare_allocation(
        self, now: float, general: tuple[float, float] | None, *, ample: bool
    ) -> SpareAllocation | None:
        """With how many grains it may end in time though it was promised nothing; None if with none.

        It may where it is as much faster than predicted as the luckiest tenth of others was (`general`).
        While nobody is turned away (`ample`) twice that luck is hoped for, and it has what would do as
        predicted.
        """
        left = self.deadline - self.startup(now) - now
        if self.prediction is None or self.steps_left is None or self.is_promised or not 0.0 < left < inf:
            return None
        lucky = (
            min(1.0, (self.prediction.spread or general or (1.0, 1.0))[0])
            ** self.prediction.remaining_doubt()
        )
        pace = self._steps_needed() / left
        speed, most = self.rates.speed, self.rates.max_grains
        least = int(speed.searchsorted(pace * (lucky**_AMPLE_LUCK if ample else lucky)))
        if least > most:
            return None
        return SpareAllocation(least, min(int(speed.searchsorted(pace)), most) if ample else least)

    def _steps_needed(self, reserve: float = 1.0) -> float:
        return _predicted_steps(
            self.steps_left, self.prediction, self.teardown, self.rates, self.initial_grains, reserve
        )

    def reserve(self, general: float) -> float:
        """By how much it is taken to be slower than predicted; `general`: by how much others were."""
        prediction = self.prediction or SpeedPrediction(())
        most = general if prediction.spread is None else max(1.0, prediction.spread[1])
        return float(most ** prediction.remaining_doubt())

    def startup(self, now: float) -> float:
        """Seconds until its first step, as far as earlier runs say; 0 once it has come.

        One that could not be started also has to wait until it may be started again.
        """
        if self.prediction is None or self.progress > 0:
            return 0.0
        if self.is_waiting:
            return self.prediction.startup + (0.0 if self.requested_grains else max(self.retry_at - now, 0.0))
        begun = now if self.started is None else self.started
        return max(self.prediction.startup - (now - begun), 0.0)

    def estimate_finish(
        self, grains: int, now: float, general: tuple[float, float] | None
    ) -> FinishEstimate | None:
        """When it would end with so many grains; None where that is not known, or never.

        Parameters
        ----------
        grains
            The cores that it has.
        now
            Seconds of the run's clock.
        general
            Between which factors predictions of others were wrong; None while too few are known.
        """
        speed = float(self.rates.speed[min(grains, self.rates.max_grains)])
        if self.prediction is None or self.steps_left is None or speed <= 0:
            return None
        seconds, begins = self._steps_needed() / speed, now + self.startup(now)
        spread, doubt = self.prediction.spread or general, self.prediction.remaining_doubt()
        between = spread and (begins + seconds * spread[0] ** doubt, begins + seconds * spread[1] ** doubt)
        return FinishEstimate(begins + seconds, between)

    def after_failed_start(self, now: float) -> JobEstimate:
        """After a start that failed: it is tried again after a pause that doubles, elsewhere if possible."""
        again = now + retry_delay(self.refusals)
        after = replace(
            self, retry_at=again, refusals=self.refusals + 1, requested_grains=0, is_promised=False
        )
        return replace(after, worker=None, avoided_worker=self.worker) if self.is_waiting else after

    def after_start_request(self, worker: str, grains: int, now: float) -> JobEstimate:
        """After a start was asked for: it is not asked for again at once."""
        return replace(self, worker=worker, requested_grains=grains, retry_at=now + START_TIMEOUT)

    def with_cores(self, cores: float, now: float) -> JobEstimate:
        """After other cores were asked for."""
        return self if cores == self.cores else replace(self, cores=cores, cores_since=now)


def first_estimate(job: Job, settings: DeadlineSettings, largest: float) -> JobEstimate:
    """A job that is seen for the first time; `largest`: cores of the largest worker."""
    terms = job.terms_or_default
    prediction = predict_speed(terms.profile)
    if prediction is not None and not settings.learn:
        prediction = replace(prediction, spread=None)
    table = _speed_table(job, prediction, settings, largest)
    grain = min(settings.grain, largest)
    wanted = min(job.request or settings.unasked, 1.0)
    return JobEstimate(
        job.id,
        deadline_of(job),
        table,
        min(max(round(wanted / grain), table.min_grains), table.max_grains),
        prediction,
        terms.memory or 0.0,
        teardown=0.0 if prediction is None else prediction.teardown / grain,
        worker=job.worker,
        is_promised=terms.promised and job.state is not JobState.WAITING,
    )


def update_estimate(
    estimate: JobEstimate, job: Job, now: float, settings: DeadlineSettings, largest: float
) -> JobEstimate:
    """With what a job shows now."""
    waits = job.state is JobState.WAITING
    cores, given = estimate.cores, estimate.cores_since
    if not waits and (now_has := _cores_of(job)) != cores:
        cores, given = now_has, now
    prediction, table = estimate.prediction, estimate.rates
    steps = float((job.steps or 0) - estimate.steps_done)
    learns = settings.learn or prediction is None or not prediction.profiled
    if learns and job.step_seconds is not None and cores > 0 < steps and now - given >= SETTLE_SECONDS:
        before = prediction or SpeedPrediction((), profiled=False)
        after = before.with_steps(cores, job.step_seconds, steps)
        if after.points != before.points:
            table = _speed_table(job, after, settings, largest)
        prediction = after
    progress = _estimate_progress(estimate, job, now - max(estimate.updated_at, given))
    left = _steps_left(job, progress)
    teardown, ending = estimate.teardown, job.total_steps is not None and (job.steps or 0) >= job.total_steps
    if estimate.is_ending:
        grain = min(settings.grain, largest)
        teardown = max(teardown - min(estimate.cores, 1.0) / grain * (now - estimate.updated_at), 0.0)
    least = table.min_grains
    need = _predicted_steps(left, prediction, teardown, table, estimate.initial_grains)
    return replace(
        estimate,
        rates=table,
        prediction=prediction,
        steps_left=left,
        min_work=inf if left is None else float(need * least / table.speed[least]),
        teardown=teardown,
        is_ending=ending,
        steps_done=job.steps or 0,
        progress=progress,
        updated_at=now,
        cores=cores,
        cores_since=given,
        is_waiting=waits,
        started=job.started,
        requested_grains=estimate.requested_grains if waits else 0,
        worker=estimate.worker if waits else job.worker,
    )


def _predicted_steps(
    left: float | None,
    prediction: SpeedPrediction | None,
    teardown: float,
    table: Rates,
    first: int,
    reserve: float = 1.0,
) -> float:
    """Steps as predicted that are left, with as many as its teardown would have time for."""
    steps = max(left or 0.0, 0.0) * (1.0 if prediction is None else prediction.factor) * reserve
    if not teardown:
        return steps
    one = min(first, table.max_grains)
    return steps + teardown * float(table.speed[one]) / one


def _steps_left(job: Job, progress: float) -> float | None:
    """Steps left; of one that has not said so yet as many as earlier runs had."""
    profile = job.terms_or_default.profile
    if job.total_steps is not None and job.steps is not None:
        return job.total_steps - progress
    return None if profile is None or profile.steps is None else max(profile.steps - progress, 0.0)


def _estimate_progress(estimate: JobEstimate, job: Job, passed: float) -> float:
    """Steps that a job has done, of the one in progress as much as fits the time that has passed."""
    steps = float(job.steps or 0)
    running = job.state is JobState.RUNNING and job.step_seconds is not None
    more = max(passed, 0.0) / job.step_seconds if running and job.step_seconds else 0.0
    return max(steps, min(estimate.progress + more, steps + 1.0))


def _cores_of(job: Job) -> float:
    return (job.limit or 0.0) if job.state is JobState.RUNNING else 0.0


def _speed_table(
    job: Job, prediction: SpeedPrediction | None, settings: DeadlineSettings, largest: float
) -> Rates:
    """How fast a job is with which cores; one that cannot change its threads has those of its request."""
    terms, grain = job.terms_or_default, min(settings.grain, largest)
    # the cores that can be given, which may be a little less than there are
    largest = floor(largest / grain + _ROUNDING) * grain
    request = min(job.request or settings.unasked, largest)
    most, least = min(terms.max or largest, largest), min(terms.min or grain, largest)
    if not job.can_resize:
        most = min(most, job.request or float(job.threads or most))
        least = most if job.request is not None else least
    most = min(most, request if prediction is None else prediction.max_cores)
    # a request between two multiples of the grain is given as the one above
    most = max(most, ceil(least / grain - _ROUNDING) * grain)
    seconds = (lambda cores: 1.0 / cores) if prediction is None else prediction.seconds
    return build_rates(seconds, least, most, grain, powers=settings.sizes == "powers", whole=job.can_resize)
