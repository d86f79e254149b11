"""The estimate that ``deadline`` keeps of each job."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, floor, inf
from typing import TYPE_CHECKING, Final, NamedTuple

from core.scheduling.deadline_planning.plan import AllocationRequest
from core.scheduling.deadline_planning.speed import (
    Rates,
    SpeedPrediction,
    build_rates,
    deadline_of,
    predict_speed,
)
from core.scheduling.forecasting import SETTLE_SECONDS
from core.scheduling.model import JobState
from core.scheduling.refusals import START_TIMEOUT, retry_delay

if TYPE_CHECKING:
    from core.scheduling.model import Job
    from core.scheduling.policies.deadline.settings import DeadlineSettings

_ROUNDING: Final = 1e-9
_AMPLE_LUCK: Final = 2.0
"""The power of the luck that is assumed while no job waits: cores would idle otherwise."""
_MARGIN_SHARE, _MIN_MARGIN, _MAX_MARGIN = 0.001, 0.05, 1.0
"""The margin before a deadline: this share of the time left, and its bounds in seconds."""


class FinishEstimate(NamedTuple):
    """The expected finish time of a job, and the interval that contains it in eight of ten cases."""

    finish: float
    interval: tuple[float, float] | None


class SpareAllocation(NamedTuple):
    """The fewest units with which a job may end in time, and the units that it gets if they are free."""

    min_units: int
    enough_units: int


@dataclass(frozen=True, slots=True)
class JobEstimate:
    """The measured and predicted state of one job."""

    #: Its name.
    job: str
    #: Its deadline on the run's clock, seconds; infinite without one.
    deadline: float
    #: Its speed by the prediction; without one, proportional to its cores up to its request.
    rates: Rates = field(compare=False)  # follows from the prediction
    #: Core units that it starts with without a guarantee.
    initial_units: int
    #: Its predicted time per step; None while unknown.
    prediction: SpeedPrediction | None = None
    #: Its memory request, bytes.
    memory: float = 0.0
    #: Steps left; None if unknown.
    steps_left: float | None = None
    #: Unit-seconds to its end with the fewest cores; infinite if unknown.
    min_work: float = inf
    #: Unit-seconds from its last step to its end.
    teardown: float = 0.0
    #: Whether it has done all its steps.
    is_ending: bool = False
    #: Steps done at the last update, without and with a part of the step in progress.
    steps_done: int = 0
    progress: float = 0.0
    #: When it was last updated.
    updated_at: float = 0.0
    #: Its cores by observation or by the last decision, and since when.
    cores: float = 0.0
    cores_since: float = 0.0
    #: Whether it still waits for its first start.
    is_waiting: bool = True
    #: When it first ran; None while it waits.
    started: float | None = None
    #: The worker it is on, or is admitted to.
    worker: str | None = None
    #: Whether its deadline is guaranteed.
    is_promised: bool = False
    #: Whether it is guaranteed and will end too late.
    is_late: bool = False
    #: Whether its admission was tried since its end became predictable.
    was_considered: bool = False
    #: Whether its prediction ratio already counts for others.
    was_judged: bool = False
    #: Core units of its unconfirmed start; 0 once it runs or the start failed.
    requested_units: int = 0
    #: When a failed or unconfirmed start may be retried, and the number of failures.
    retry_at: float = 0.0
    refusals: int = 0
    #: The worker on which its last start failed.
    avoided_worker: str | None = None
    #: The text of its last reason.
    last_text: str = ""

    @property
    def is_predictable(self) -> bool:
        """Whether its end can be predicted."""
        return self.prediction is not None and self.steps_left is not None

    def allocation_request(
        self, general: float, now: float, early: float = 0.0, *, grace: bool = False
    ) -> AllocationRequest:
        """Return its request to end in time, with a reserve for prediction errors; only if predictable.

        It ends at least `early` seconds before its deadline where that is possible, so that it is not stopped
        at its end; with `grace`, it may end slightly later, so that nearly finished work is not abandoned.
        """
        need = self._steps_needed(self.reserve(general))
        until = self.deadline - self.startup(now)
        little = max(min(max(_MARGIN_SHARE * (until - now), _MIN_MARGIN), _MAX_MARGIN), early)
        latest = until + _MAX_MARGIN if grace else until
        return AllocationRequest(self.job, max(need, 1e-9), self.rates, until - little, latest)

    def spare_allocation(
        self, now: float, general: tuple[float, float] | None, *, ample: bool
    ) -> SpareAllocation | None:
        """Return the units with which it may end in time without a guarantee; None if none may do.

        It may end in time if it is as much faster than predicted as the luckiest tenth of other jobs
        (`general`). While no job waits (`ample`) twice that luck is assumed, and it gets the units that
        suffice as predicted.
        """
        remaining = self.deadline - self.startup(now) - now
        if (
            self.prediction is None
            or self.steps_left is None
            or self.is_promised
            or not 0.0 < remaining < inf
        ):
            return None
        lucky = (
            min(1.0, (self.prediction.spread or general or (1.0, 1.0))[0])
            ** self.prediction.remaining_doubt()
        )
        pace = self._steps_needed() / remaining
        speed, max_units = self.rates.speed, self.rates.max_units
        min_units = int(speed.searchsorted(pace * (lucky**_AMPLE_LUCK if ample else lucky)))
        if min_units > max_units:
            return None
        return SpareAllocation(
            min_units, min(int(speed.searchsorted(pace)), max_units) if ample else min_units
        )

    def _steps_needed(self, reserve: float = 1.0) -> float:
        return _predicted_steps(
            self.steps_left, self.prediction, self.teardown, self.rates, self.initial_units, reserve
        )

    def reserve(self, general: float) -> float:
        """Return the factor by which it may be slower than predicted; `general` is that of other jobs."""
        prediction = self.prediction or SpeedPrediction(())
        factor = general if prediction.spread is None else max(1.0, prediction.spread[1])
        return float(factor ** prediction.remaining_doubt())

    def startup(self, now: float) -> float:
        """Return the seconds until its first step, by earlier runs; 0 after it.

        A failed start adds the time until its retry.
        """
        if self.prediction is None or self.progress > 0:
            return 0.0
        if self.is_waiting:
            return self.prediction.startup + (0.0 if self.requested_units else max(self.retry_at - now, 0.0))
        started = now if self.started is None else self.started
        return max(self.prediction.startup - (now - started), 0.0)

    def estimate_finish(
        self, units: int, now: float, general: tuple[float, float] | None
    ) -> FinishEstimate | None:
        """Return when it would end with these units; None if unknown or never."""
        speed = float(self.rates.speed[min(units, self.rates.max_units)])
        if self.prediction is None or self.steps_left is None or speed <= 0:
            return None
        seconds, begins = self._steps_needed() / speed, now + self.startup(now)
        spread, doubt = self.prediction.spread or general, self.prediction.remaining_doubt()
        between = spread and (begins + seconds * spread[0] ** doubt, begins + seconds * spread[1] ** doubt)
        return FinishEstimate(begins + seconds, between)

    def after_failed_start(self, now: float) -> JobEstimate:
        """Return the estimate after a failed start: it is retried after a growing delay."""
        again = now + retry_delay(self.refusals)
        after = replace(
            self, retry_at=again, refusals=self.refusals + 1, requested_units=0, is_promised=False
        )
        return replace(after, worker=None, avoided_worker=self.worker) if self.is_waiting else after

    def after_start_request(self, worker: str, units: int, now: float) -> JobEstimate:
        """Return the estimate after a start was requested."""
        return replace(self, worker=worker, requested_units=units, retry_at=now + START_TIMEOUT)

    def with_cores(self, cores: float, now: float) -> JobEstimate:
        """Return the estimate after other cores were requested."""
        return self if cores == self.cores else replace(self, cores=cores, cores_since=now)


def first_estimate(job: Job, settings: DeadlineSettings, largest: float) -> JobEstimate:
    """Return the estimate of a new job; `largest` is the cores of the largest worker."""
    terms = job.terms_or_default
    prediction = predict_speed(terms.profile)
    if prediction is not None and not settings.learn:
        prediction = replace(prediction, spread=None)
    table = _speed_table(job, prediction, settings, largest)
    core_unit = min(settings.grain, largest)
    initial_cores = min(job.request or settings.unasked, 1.0)
    return JobEstimate(
        job.id,
        deadline_of(job),
        table,
        min(max(round(initial_cores / core_unit), table.min_units), table.max_units),
        prediction,
        terms.memory or 0.0,
        teardown=0.0 if prediction is None else prediction.teardown / core_unit,
        worker=job.worker,
        is_promised=terms.promised and job.state is not JobState.WAITING,
    )


def update_estimate(
    estimate: JobEstimate, job: Job, now: float, settings: DeadlineSettings, largest: float
) -> JobEstimate:
    """Return the estimate updated by an observation of the job."""
    waits = job.state is JobState.WAITING
    cores, cores_since = estimate.cores, estimate.cores_since
    if not waits and (now_has := _cores_of(job)) != cores:
        cores, cores_since = now_has, now
    prediction, table = estimate.prediction, estimate.rates
    steps = float((job.steps or 0) - estimate.steps_done)
    learns = settings.learn or prediction is None or not prediction.profiled
    if learns and job.step_seconds is not None and cores > 0 < steps and now - cores_since >= SETTLE_SECONDS:
        before = prediction or SpeedPrediction((), profiled=False)
        after = before.with_steps(cores, job.step_seconds, steps)
        if after.points != before.points:
            table = _speed_table(job, after, settings, largest)
        prediction = after
    progress = _estimate_progress(estimate, job, now - max(estimate.updated_at, cores_since))
    steps_left = _steps_left(job, progress)
    teardown, ending = estimate.teardown, job.total_steps is not None and (job.steps or 0) >= job.total_steps
    if estimate.is_ending:
        core_unit = min(settings.grain, largest)
        teardown = max(teardown - min(estimate.cores, 1.0) / core_unit * (now - estimate.updated_at), 0.0)
    min_units = table.min_units
    need = _predicted_steps(steps_left, prediction, teardown, table, estimate.initial_units)
    return replace(
        estimate,
        rates=table,
        prediction=prediction,
        steps_left=steps_left,
        min_work=inf if steps_left is None else float(need * min_units / table.speed[min_units]),
        teardown=teardown,
        is_ending=ending,
        steps_done=job.steps or 0,
        progress=progress,
        updated_at=now,
        cores=cores,
        cores_since=cores_since,
        is_waiting=waits,
        started=job.started,
        requested_units=estimate.requested_units if waits else 0,
        worker=estimate.worker if waits else job.worker,
    )


def _predicted_steps(
    steps_left: float | None,
    prediction: SpeedPrediction | None,
    teardown: float,
    table: Rates,
    first: int,
    reserve: float = 1.0,
) -> float:
    """Return the predicted steps left, plus as many as its teardown has time for."""
    steps = max(steps_left or 0.0, 0.0) * (1.0 if prediction is None else prediction.factor) * reserve
    if not teardown:
        return steps
    one = min(first, table.max_units)
    return steps + teardown * float(table.speed[one]) / one


def _steps_left(job: Job, progress: float) -> float | None:
    """Return the steps left; without printed steps, the number from earlier runs."""
    profile = job.terms_or_default.profile
    if job.total_steps is not None and job.steps is not None:
        return job.total_steps - progress
    return None if profile is None or profile.steps is None else max(profile.steps - progress, 0.0)


def _estimate_progress(estimate: JobEstimate, job: Job, passed: float) -> float:
    """Return the steps done, including the part of the step in progress that fits the elapsed time."""
    steps = float(job.steps or 0)
    running = job.state is JobState.RUNNING and job.step_seconds is not None
    more = max(passed, 0.0) / job.step_seconds if running and job.step_seconds else 0.0
    return max(steps, min(estimate.progress + more, steps + 1.0))


def _cores_of(job: Job) -> float:
    return (job.limit or 0.0) if job.state is JobState.RUNNING else 0.0


def _speed_table(
    job: Job, prediction: SpeedPrediction | None, settings: DeadlineSettings, largest: float
) -> Rates:
    """Return its speed by cores; a job that cannot change its threads keeps the cores of its request."""
    terms, core_unit = job.terms_or_default, min(settings.grain, largest)
    # the allocatable cores, which may be slightly fewer than the worker has
    largest = floor(largest / core_unit + _ROUNDING) * core_unit
    request = min(job.request or settings.unasked, largest)
    max_cores, min_cores = min(terms.max or largest, largest), min(terms.min or core_unit, largest)
    if not job.can_resize:
        max_cores = min(max_cores, job.request or float(job.threads or max_cores))
        min_cores = max_cores if job.request is not None else min_cores
    max_cores = min(max_cores, request if prediction is None else prediction.max_cores)
    # a request between two multiples of the core unit is rounded up
    max_cores = max(max_cores, ceil(min_cores / core_unit - _ROUNDING) * core_unit)
    seconds = (lambda cores: 1.0 / cores) if prediction is None else prediction.seconds
    return build_rates(
        seconds, min_cores, max_cores, core_unit, powers=settings.sizes == "powers", whole=job.can_resize
    )
