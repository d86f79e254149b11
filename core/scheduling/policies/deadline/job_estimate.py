"""What ``deadline`` remembers of a job."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, floor, inf
from typing import TYPE_CHECKING, Final, NamedTuple

from core.scheduling.deadline_planning.foresight import Foresight, foreseen
from core.scheduling.deadline_planning.plan import AllocationRequest
from core.scheduling.deadline_planning.rates import Rates, deadline_of, rates
from core.scheduling.forecasting import SETTLED
from core.scheduling.model import JobState
from core.scheduling.refusals import PATIENCE, pause_after

if TYPE_CHECKING:
    from core.scheduling.model import Job
    from core.scheduling.policies.deadline.settings import DeadlineSettings

_ROUNDING: Final = 1e-9
_AMPLE: Final = 2.0
"""By how much more luck (as a power) is hoped for while nobody is turned away: cores would lie idle."""
_LITTLE, _LEAST, _MOST = 0.001, 0.05, 1.0
"""A little time: this share of what is left until the deadline, and its bounds in seconds."""


class FinishEstimate(NamedTuple):
    """When a job is expected to end, and between which moments eight times out of ten."""

    at: float
    between: tuple[float, float] | None


class SpareAllocation(NamedTuple):
    """Grains with which a job may end in time at best, and those that it is given where they are there."""

    least: int
    enough: int


@dataclass(frozen=True, slots=True)
class JobEstimate:
    """One job."""

    #: Its name.
    job: str
    #: Its deadline on the run's clock, seconds; infinite without one.
    until: float
    #: How fast it is by its foresight, or as fast as its cores up to its request while that is not known.
    rates: Rates = field(compare=False)  # follows from the foresight
    #: Grains with which it begins where it was promised nothing.
    first: int
    #: What is expected of its time per step; None while nothing is known.
    foresight: Foresight | None = None
    #: Bytes.
    memory: float = 0.0
    #: Steps left; None if it does not say.
    left: float | None = None
    #: Grain-seconds to its end with as few cores as it runs with; infinite where that is not known.
    work: float = inf
    #: Grain-seconds from its last step to its end.
    teardown: float = 0.0
    #: Whether it has done all its steps.
    ending: bool = False
    #: Steps that it had done when it was looked at last, without and with a part of the one in progress.
    done: int = 0
    progress: float = 0.0
    #: When that was.
    seen: float = 0.0
    #: Cores that it has, or was given by the last decision, and since when.
    cores: float = 0.0
    given: float = 0.0
    #: Whether it has not run yet.
    waits: bool = True
    #: When it first ran; None while it waits.
    started: float | None = None
    #: Where it is, or where it was promised to begin.
    worker: str | None = None
    #: Whether it is to end in time.
    promised: bool = False
    #: Whether it was promised to and will not end in time.
    late: bool = False
    #: Whether it was tried to promise it its deadline since its end can be predicted.
    considered: bool = False
    #: Whether others are judged by its prediction already.
    judged: bool = False
    #: Grains with which its start was asked for; 0 once it runs, or where that failed.
    asked: int = 0
    #: When it may be started again after a start that failed or was not confirmed, and how many failed.
    again: float = 0.0
    refusals: int = 0
    #: The worker on which it could not be started last.
    avoids: str | None = None
    #: What was last said of it.
    told: str = ""

    @property
    def known(self) -> bool:
        """Whether its end can be predicted."""
        return self.foresight is not None and self.left is not None

    def wish(
        self, general: float, now: float, early: float = 0.0, *, grace: bool = False
    ) -> AllocationRequest:
        """To end in time, with the reserve that is kept for wrong predictions; only of one that is known.

        If possible a little before its deadline, at least `early` seconds, so that it is not stopped in the
        moment of its end; with `grace`, at the worst a little after, so that what is nearly done is not left
        lying.
        """
        need = self._need(self.reserve(general))
        until = self.until - self.startup(now)
        little = max(min(max(_LITTLE * (until - now), _LEAST), _MOST), early)
        latest = until + _MOST if grace else until
        return AllocationRequest(self.job, max(need, 1e-9), self.rates, until - little, latest)

    def hope(self, now: float, general: tuple[float, float] | None, *, ample: bool) -> SpareAllocation | None:
        """With how many grains it may end in time though it was promised nothing; None if with none.

        It may where it is as much faster than predicted as the luckiest tenth of others was (`general`).
        While nobody is turned away (`ample`) twice that luck is hoped for, and it has what would do as
        predicted.
        """
        left = self.until - self.startup(now) - now
        if self.foresight is None or self.left is None or self.promised or not 0.0 < left < inf:
            return None
        lucky = min(1.0, (self.foresight.spread or general or (1.0, 1.0))[0]) ** self.foresight.doubt()
        pace = self._need() / left
        speed, most = self.rates.speed, self.rates.most
        least = int(speed.searchsorted(pace * (lucky**_AMPLE if ample else lucky)))
        if least > most:
            return None
        return SpareAllocation(least, min(int(speed.searchsorted(pace)), most) if ample else least)

    def _need(self, reserve: float = 1.0) -> float:
        return _steps(self.left, self.foresight, self.teardown, self.rates, self.first, reserve)

    def reserve(self, general: float) -> float:
        """By how much it is taken to be slower than predicted; `general`: by how much others were."""
        foresight = self.foresight or Foresight(())
        most = general if foresight.spread is None else max(1.0, foresight.spread[1])
        return float(most ** foresight.doubt())

    def startup(self, now: float) -> float:
        """Seconds until its first step, as far as earlier runs say; 0 once it has come.

        One that could not be started also has to wait until it may be started again.
        """
        if self.foresight is None or self.progress > 0:
            return 0.0
        if self.waits:
            return self.foresight.startup + (0.0 if self.asked else max(self.again - now, 0.0))
        begun = now if self.started is None else self.started
        return max(self.foresight.startup - (now - begun), 0.0)

    def ends(self, grains: int, now: float, general: tuple[float, float] | None) -> FinishEstimate | None:
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
        speed = float(self.rates.speed[min(grains, self.rates.most)])
        if self.foresight is None or self.left is None or speed <= 0:
            return None
        seconds, begins = self._need() / speed, now + self.startup(now)
        spread, doubt = self.foresight.spread or general, self.foresight.doubt()
        between = spread and (begins + seconds * spread[0] ** doubt, begins + seconds * spread[1] ** doubt)
        return FinishEstimate(begins + seconds, between)

    def failed(self, now: float) -> JobEstimate:
        """After a start that failed: it is tried again after a pause that doubles, elsewhere if possible."""
        again = now + pause_after(self.refusals)
        after = replace(self, again=again, refusals=self.refusals + 1, asked=0, promised=False)
        return replace(after, worker=None, avoids=self.worker) if self.waits else after

    def tried(self, worker: str, grains: int, now: float) -> JobEstimate:
        """After a start was asked for: it is not asked for again at once."""
        return replace(self, worker=worker, asked=grains, again=now + PATIENCE)

    def with_cores(self, cores: float, now: float) -> JobEstimate:
        """After other cores were asked for."""
        return self if cores == self.cores else replace(self, cores=cores, given=now)


def first_estimate(job: Job, settings: DeadlineSettings, largest: float) -> JobEstimate:
    """A job that is seen for the first time; `largest`: cores of the largest worker."""
    said = job.said
    foresight = foreseen(said.profile)
    if foresight is not None and not settings.learn:
        foresight = replace(foresight, spread=None)
    table = _table(job, foresight, settings, largest)
    grain = min(settings.grain, largest)
    wanted = min(job.request or settings.unasked, 1.0)
    return JobEstimate(
        job.id,
        deadline_of(job),
        table,
        min(max(round(wanted / grain), table.least), table.most),
        foresight,
        said.memory or 0.0,
        teardown=0.0 if foresight is None else foresight.teardown / grain,
        worker=job.worker,
        promised=said.promised and job.state is not JobState.WAITING,
    )


def updated_estimate(
    known: JobEstimate, job: Job, now: float, settings: DeadlineSettings, largest: float
) -> JobEstimate:
    """With what a job shows now."""
    waits = job.state is JobState.WAITING
    cores, given = known.cores, known.given
    if not waits and (now_has := _cores_of(job)) != cores:
        cores, given = now_has, now
    foresight, table = known.foresight, known.rates
    steps = float((job.steps or 0) - known.done)
    learns = settings.learn or foresight is None or not foresight.profiled
    if learns and job.step_seconds is not None and cores > 0 < steps and now - given >= SETTLED:
        before = foresight or Foresight((), profiled=False)
        after = before.after(cores, job.step_seconds, steps)
        if after.points != before.points:
            table = _table(job, after, settings, largest)
        foresight = after
    progress = _progress(known, job, now - max(known.seen, given))
    left = _left(job, progress)
    teardown, ending = known.teardown, job.total_steps is not None and (job.steps or 0) >= job.total_steps
    if known.ending:
        grain = min(settings.grain, largest)
        teardown = max(teardown - min(known.cores, 1.0) / grain * (now - known.seen), 0.0)
    least = table.least
    need = _steps(left, foresight, teardown, table, known.first)
    return replace(
        known,
        rates=table,
        foresight=foresight,
        left=left,
        work=inf if left is None else float(need * least / table.speed[least]),
        teardown=teardown,
        ending=ending,
        done=job.steps or 0,
        progress=progress,
        seen=now,
        cores=cores,
        given=given,
        waits=waits,
        started=job.started,
        asked=known.asked if waits else 0,
        worker=known.worker if waits else job.worker,
    )


def _steps(
    left: float | None,
    foresight: Foresight | None,
    teardown: float,
    table: Rates,
    first: int,
    reserve: float = 1.0,
) -> float:
    """Steps as predicted that are left, with as many as its teardown would have time for."""
    steps = max(left or 0.0, 0.0) * (1.0 if foresight is None else foresight.factor) * reserve
    if not teardown:
        return steps
    one = min(first, table.most)
    return steps + teardown * float(table.speed[one]) / one


def _left(job: Job, progress: float) -> float | None:
    """Steps left; of one that has not said so yet as many as earlier runs had."""
    profile = job.said.profile
    if job.total_steps is not None and job.steps is not None:
        return job.total_steps - progress
    return None if profile is None or profile.steps is None else max(profile.steps - progress, 0.0)


def _progress(known: JobEstimate, job: Job, passed: float) -> float:
    """Steps that a job has done, of the one in progress as much as fits the time that has passed."""
    steps = float(job.steps or 0)
    running = job.state is JobState.RUNNING and job.step_seconds is not None
    more = max(passed, 0.0) / job.step_seconds if running and job.step_seconds else 0.0
    return max(steps, min(known.progress + more, steps + 1.0))


def _cores_of(job: Job) -> float:
    return (job.limit or 0.0) if job.state is JobState.RUNNING else 0.0


def _table(job: Job, foresight: Foresight | None, settings: DeadlineSettings, largest: float) -> Rates:
    """How fast a job is with which cores; one that cannot change its threads has those of its request."""
    said, grain = job.said, min(settings.grain, largest)
    # the cores that can be given, which may be a little less than there are
    largest = floor(largest / grain + _ROUNDING) * grain
    request = min(job.request or settings.unasked, largest)
    most, least = min(said.max or largest, largest), min(said.min or grain, largest)
    if not job.can_resize:
        most = min(most, job.request or float(job.threads or most))
        least = most if job.request is not None else least
    most = min(most, request if foresight is None else foresight.most)
    # a request between two multiples of the grain is given as the one above
    most = max(most, ceil(least / grain - _ROUNDING) * grain)
    seconds = (lambda cores: 1.0 / cores) if foresight is None else foresight.seconds
    return rates(seconds, least, most, grain, powers=settings.sizes == "powers", whole=job.can_resize)
