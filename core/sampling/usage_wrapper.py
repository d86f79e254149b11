"""Usage of containers for a policy that steers by it: samples averaged over its periods.

The samples are the watcher's, or the policy's own if no watcher runs.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any, TypeAlias

from core.phases.model import WARM_UP
from core.provisioning.policies import POLICIES
from core.provisioning.policy import Need
from core.sampling.phases import PeriodMeans, PhaseLabeller
from core.sampling.sampler import UsageReader, field_values, row_of
from core.sampling.values import FIELDS
from core.scheduling.actions import SetLimit
from core.scheduling.engine_wrapper import EngineWrapper
from core.scheduling.model import Use
from core.scheduling.policies.autopilot import ReadySettings
from core.scheduling.policies.autopilot.cpu import estimate_unlimited_use
from core.scheduling.policies.autopilot.policy import is_same_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from core.engines.ports import WatchedHost
    from core.phases import PhaseModel
    from core.sampling.sampler import Rows
    from core.scheduling.actions import Action
    from core.scheduling.model import Failure, Job, Observation
    from core.scheduling.ports import Engine
    from core.traces.model import FloatArray
    from core.workspace.models import ModelLibrary


Samples: TypeAlias = "Callable[[], list[tuple[float, Rows]]]"
"""Returns the samples since the last call, each with its time in seconds since 1970, oldest first."""

_EVERY = 1.0
_EARLY = 0.05


class HostSamples:
    """Samples containers itself, at most once a second."""

    def __init__(self, hosts: Iterable[WatchedHost], container_ids: Callable[[], Collection[str]]) -> None:
        self._readers = [(host, UsageReader()) for host in hosts]
        self._container_ids = container_ids
        self._due = 0.0

    def __call__(self) -> list[tuple[float, Rows]]:
        """One sample, or none where the last one was less than a second ago."""
        now = time.monotonic()
        if now < self._due - _EARLY:
            return []
        self._due = max(self._due + _EVERY, now)
        ids, rows = set(self._container_ids()), {}
        for host, reader in self._readers:
            containers = [each for each in host.containers() if each.id in ids]
            usage, at, pressure = reader.take(host.counters(containers)), time.time(), host.pressure()
            sampled = [row_of(each, usage.get(each.id), False, False, at, pressure) for each in containers]
            rows.update({row.id: field_values(row) for row in sampled if row.cpu is not None})
        return [(time.time(), rows)] if rows else []


_CPU, _WITHHELD = map(FIELDS.index, ("cpu", "withheld"))
_OF_USE = [FIELDS.index(name) for name in ("cpu", "memory", "throttled", "withheld", "pressure")]


def with_usage(
    engine: Engine,
    containers: Callable[[], Mapping[str, str]],
    samples: Samples,
    settings: Any,
    models: ModelLibrary,
) -> Engine:
    """Return the engine, wrapped if a policy with these settings steers by usage."""
    if not isinstance(settings, ReadySettings) or settings.fitted is None:
        return engine
    model = models.load_with_limits(settings.model) if settings.model else None
    codes = Need.CODES in POLICIES[settings.fitted.name].needs
    return UsageWrapper(engine, containers, samples, settings.fitted.period, model, codes=codes)


class UsageWrapper(EngineWrapper):
    """Adds to each job its recent use and its phase.

    The phase is computed from the unlimited usage: a phase with more demand than a limit of this run would
    otherwise look like the phase before. Limits of owners are part of the model's training data.
    Raises MismatchError if the model needs a feature that is not sampled from running containers.
    """

    def __init__(
        self,
        engine: Engine,
        containers: Callable[[], Mapping[str, str]],
        samples: Samples,
        period: float,
        model: PhaseModel | None,
        *,
        codes: bool,
    ) -> None:
        super().__init__(engine)
        self._containers, self._samples = containers, samples
        self._means = PeriodMeans(period)
        self._labeller = None if model is None else PhaseLabeller(model, whole=True)
        self._codes = codes
        self._uses: dict[str, Use] = {}
        self._requested: dict[str, float | None] = {}  # the last requested limits, by job
        self._started: float | None = None  # the run's clock, seconds since 1970

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Perform actions and remember the limits."""
        self._requested.update((each.job, each.limit) for each in actions if isinstance(each, SetLimit))
        return super().apply(actions)

    def observe(self) -> Observation:
        """Return the engine's observation with the usage of its jobs."""
        observation = self._engine.observe()
        self._started = started = time.time() - observation.time if self._started is None else self._started
        containers = self._containers()
        alive = set(containers.values())
        capacity = {each.id: each.capacity for each in observation.workers}
        capped = {
            containers[job.id]: capacity[job.worker]
            for job in observation.jobs
            if job.id in containers
            and job.worker in capacity
            and is_same_limit(job.limit, self._requested.get(job.id))
        }
        for at, rows in self._samples():
            means = self._means.push(at, rows)
            if means is not None:
                self._uses.update(self._period_uses(at, at - started, means, capped))
        self._uses = {name: use for name, use in self._uses.items() if name in alive}
        return replace(observation, jobs=tuple(self._with_use(job, containers) for job in observation.jobs))

    def _period_uses(
        self, at: float, time: float, means: Mapping[str, FloatArray], capped: Mapping[str, float]
    ) -> dict[str, Use]:
        """Return the use in a period that ended `at`, which is `time` on the run's clock.

        `capped`: the cores of the worker of each container that has a limit of this run.
        """
        if self._labeller is None:
            return {name: _use(time, values) for name, values in means.items()}
        unlimited = {name: _unlimited_values(values, capped.get(name)) for name, values in means.items()}
        period_labels = self._labeller.label(at, unlimited, self._means.period)
        return {
            name: _use(
                time,
                values,
                period_labels.phases.get(name, WARM_UP),
                period_labels.codes.get(name) if self._codes else None,
                strange=name in period_labels.strange,
            )
            for name, values in means.items()
        }

    def _with_use(self, job: Job, containers: Mapping[str, str]) -> Job:
        use = self._uses.get(containers.get(job.id, ""))
        return job if use is None else replace(job, use=use)


def _unlimited_values(values: FloatArray, capacity: float | None) -> FloatArray:
    """Return a sample corrected for a limit of this run on a worker of `capacity` cores, if there is one."""
    if capacity is None:
        return values
    unlimited = values.copy()
    unlimited[_CPU] = estimate_unlimited_use(float(values[_CPU]), float(values[_WITHHELD]), capacity)
    return unlimited


def _use(
    time: float,
    values: FloatArray,
    phase: int = WARM_UP,
    code: tuple[float, ...] | None = None,
    *,
    strange: bool = False,
) -> Use:
    used, memory, throttled, withheld, pressure = (float(values[at]) for at in _OF_USE)
    known = None if isnan(memory) else memory
    return Use(time, used, known, throttled, int(phase), code, strange, withheld, pressure)
