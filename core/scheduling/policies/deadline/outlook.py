"""Previews of ``deadline``'s decision about a job before its submission, and of its cost for other jobs.

The policy decides twice, with the job and without it, so the answer is its decision and not a separate
estimate. The state of the other jobs is rebuilt from the observation and their guarantees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Final

from core.scheduling.model import JobState
from core.scheduling.policies.deadline.context import DeadlineContext, DeadlineState
from core.scheduling.policies.deadline.deadline_admission import DeadlineAdmission
from core.scheduling.policies.deadline.job_estimate import first_estimate
from core.scheduling.policies.deadline.sharing import Sharing

if TYPE_CHECKING:
    from core.scheduling.model import Job, Observation
    from core.scheduling.policies.deadline.settings import DeadlineSettings

_MAX_TRIES: Final = 16
"""The most deadlines tried to find the earliest one that can be guaranteed."""
_PRECISION: Final = 0.01
_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Outlook:
    """The expected treatment of a job."""

    #: Whether its end can be predicted: speed and number of steps are known.
    known: bool
    #: Whether its deadline would be guaranteed; None without a deadline.
    promised: bool | None
    #: The policy's reason; empty without one.
    why: str
    #: The fewest cores with which it would end in time, alone; None if impossible or unknown.
    cores: float | None = None
    #: Cores that it would get at once; 0: it would wait.
    has: float = 0.0
    #: When it would end with those cores, or else with the fewest that suffice, and the interval that
    #: contains that in eight of ten cases; None if unknown. Seconds of the run's clock.
    ends: float | None = None
    between: tuple[float, float] | None = None
    #: Seconds from its submission to the earliest deadline that would be guaranteed, or None.
    soonest: float | None = None
    #: Running jobs that would lose cores at once: name, cores without the job, and with it.
    gives_way: tuple[tuple[str, float, float], ...] = ()


def predict_outlook(settings: DeadlineSettings, observation: Observation, job: Job) -> Outlook:
    """Predict the treatment of a job that is submitted now."""
    without, _ = _decide_cores(settings, observation, None)
    with_it, context = _decide_cores(settings, observation, job)
    estimate = context.estimates[job.id]
    admission = DeadlineAdmission(context, ())
    has = with_it.get(job.id, 0.0)
    cores = admission.cores_alone(estimate) if estimate.is_predictable and estimate.deadline < inf else None
    ending = estimate.estimate_finish(
        round((has or cores or 0.0) / context.core_unit), context.now, context.spread
    )
    texts = [reason.text for reason in context.reasons if reason.job == job.id]
    placed = [each.id for each in observation.jobs if each.state.placed]
    lost = [(name, without.get(name, 0.0), with_it.get(name, 0.0)) for name in placed]
    return Outlook(
        estimate.is_predictable,
        estimate.is_promised if estimate.deadline < inf else None,
        texts[0] if texts else "",
        cores,
        has,
        None if ending is None else ending.finish,
        None if ending is None else ending.interval,
        _earliest_deadline(settings, observation, job) if estimate.is_predictable else None,
        tuple(each for each in lost if each[1] > each[2] + _TOLERANCE),
    )


def _decide_cores(
    settings: DeadlineSettings, observation: Observation, job: Job | None
) -> tuple[dict[str, float], DeadlineContext]:
    """Return the cores of every job, and the context of the decision."""
    context = _build_context(settings, observation, job)
    admission = DeadlineAdmission(context, ())
    admission.admit_jobs()
    sharing = Sharing(context, admission)
    sharing.share_workers()
    return {each.id: cores for each, _, cores in sharing.targets}, context


def _build_context(settings: DeadlineSettings, observation: Observation, job: Job | None) -> DeadlineContext:
    """Rebuild the context; waiting jobs without a guarantee count as declined."""
    largest = max((worker.capacity for worker in observation.workers), default=1.0)
    estimates = {
        each.id: first_estimate(each, settings, largest)
        for each in observation.jobs
        if each.state is not JobState.WAITING or not each.terms_or_default.promised
    }
    after = observation if job is None else replace(observation, jobs=(*observation.jobs, job))
    return DeadlineContext(DeadlineState(settings, estimates=estimates), after)


def _earliest_deadline(settings: DeadlineSettings, observation: Observation, job: Job) -> float | None:
    """Return the seconds to the earliest deadline that would be guaranteed, within one percent."""

    def fits(seconds: float) -> bool:
        with_deadline = replace(job, terms=replace(job.terms_or_default, deadline=seconds))
        context = _build_context(settings, observation, with_deadline)
        DeadlineAdmission(context, ()).admit_jobs()
        return context.estimates[job.id].is_promised

    high = 1.0
    for _ in range(2 * _MAX_TRIES):
        if fits(high):
            break
        high *= 2
    else:
        return None
    low = high / 2
    for _ in range(_MAX_TRIES):
        if high - low <= _PRECISION * high:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
