"""What containers use, shown to a policy that steers by it: samples, averaged over its periods."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from core.phases.model import WARM_UP
from core.provisioning.policies import POLICIES
from core.provisioning.policy import Need
from core.runtime.live.sampling.phases import PeriodMeans, PhaseLabeller
from core.runtime.live.sampling.ring_buffer import FIELDS
from core.scheduling.model import Use
from core.scheduling.over import OverEngine
from core.scheduling.policies.autopilot import ReadySettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.phases import PhaseModel
    from core.runtime.live.sampling.sources import Samples
    from core.runtime.storage.models import ModelLibrary
    from core.scheduling.model import Job, Observation
    from core.scheduling.ports import Engine
    from core.traces.model import FloatArray

_CPU, _MEMORY, _THROTTLED = (FIELDS.index(name) for name in ("cpu", "memory", "throttled"))


def showing_use(
    engine: Engine,
    containers: Callable[[], Mapping[str, str]],
    samples: Samples,
    settings: Any,
    models: ModelLibrary,
) -> Engine:
    """An engine as a policy with these settings is to see it, if it goes by what containers use.

    Parameters
    ----------
    engine, containers, samples
        As for `ShowsUse`.
    settings
        The policy's, with what was fitted.
    models
        Where its phase model is.
    """
    if not isinstance(settings, ReadySettings) or settings.fitted is None:
        return engine
    model = models.load_with_limits(settings.model) if settings.model else None
    codes = Need.CODES in POLICIES[settings.fitted.name].needs
    return ShowsUse(engine, containers, samples, settings.fitted.period, model, codes=codes)


class ShowsUse(OverEngine):
    """An engine whose jobs are shown with what they used lately, and the phase that they are in.

    Parameters
    ----------
    engine
        The engine.
    containers
        The id of the container that each of its jobs is in.
    samples
        What they use, about once a second.
    period
        Seconds that the policy takes for a sample; those are averaged over them.
    model
        Gives the phases, or None.
    codes
        Whether codes are wanted beside phases.

    Raises
    ------
    MismatchError
        If the model reads something that is not sampled of running containers.
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
        self._begun: float | None = None  # the run's clock, seconds since 1970

    def observe(self) -> Observation:
        """Show what the engine shows, with what its jobs used."""
        seen = self._engine.observe()
        self._begun = begun = time.time() - seen.time if self._begun is None else self._begun
        for at, rows in self._samples():
            means = self._means.push(at, rows)
            if means is not None:
                self._uses.update(self._taken(at, at - begun, means))
        containers = self._containers()
        alive = set(containers.values())
        self._uses = {name: use for name, use in self._uses.items() if name in alive}
        return replace(seen, jobs=tuple(self._shown(job, containers) for job in seen.jobs))

    def _taken(self, at: float, moment: float, means: Mapping[str, FloatArray]) -> dict[str, Use]:
        """What was used in a period that ended `at`, which is `moment` of the run's clock."""
        if self._labeller is None:
            return {name: _use(moment, values) for name, values in means.items()}
        found = self._labeller.label(at, means, self._means.period)
        return {
            name: _use(
                moment,
                values,
                found.phases.get(name, WARM_UP),
                found.codes.get(name) if self._codes else None,
                strange=name in found.strange,
            )
            for name, values in means.items()
        }

    def _shown(self, job: Job, containers: Mapping[str, str]) -> Job:
        use = self._uses.get(containers.get(job.id, ""))
        return job if use is None else replace(job, use=use)


def _use(
    moment: float,
    values: FloatArray,
    phase: int = WARM_UP,
    code: tuple[float, ...] | None = None,
    *,
    strange: bool = False,
) -> Use:
    used, held = float(values[_CPU]), float(values[_THROTTLED])
    return Use(moment, used, float(values[_MEMORY]), held, int(phase), code, strange)
