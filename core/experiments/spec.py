"""An experiment as data: machines, jobs and how they come, the world's rules, and the policies compared.

It is made from YAML or JSON by `core.experiments.spec_reader`, from a form through the same
`from_dict`, and goes back to the same plain values. Every field says its unit, bounds and meaning, so that
forms draw themselves.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from core.experiments.parts import (
    OMITTED_IF_DEFAULT,
    SPANS,
    Arrivals,
    Containers,
    DrawnJobs,
    JobKind,
    ListedJob,
    WorkerGroup,
    World,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.experiments.parts import PublishedFigure

VERSION = 1
SIMULATED = "simulated"


class EngineFacts(NamedTuple):
    """An engine as experiments see it: its display name, and whether it starts real containers."""

    title: str
    real: bool = False


ENGINES = {SIMULATED: EngineFacts("Simulator"), "docker": EngineFacts("Docker", real=True)}
"""The engines that experiments may name; `core.engines.registry` adds those that it has beside these."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A policy with settings, under a label."""

    #: Its name in this experiment.
    label: str
    #: Its name in the register.
    policy: str
    #: Values of its settings; those left out have their defaults.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Where the engine is Docker: ``follow``, ``static`` or ``one``; empty: as in the experiment.
    threads: str = ""
    #: Whether it only starts jobs, and other limits are written down and not set.
    watch: bool = False


@dataclass(frozen=True, slots=True)
class Experiment:
    """Machines, jobs and rules of an experiment, and the policies compared on them."""

    #: For people: its name, and what it shows or where it is from.
    name: str
    #: The scenario; `kinds` by their names.
    workers: tuple[WorkerGroup, ...]
    #: What is compared, and the label that the others are compared with.
    policies: tuple[Arm, ...]
    baseline: str
    kinds: Mapping[str, JobKind] = field(default_factory=dict)
    jobs: tuple[ListedJob, ...] = ()
    drawn: DrawnJobs = field(default_factory=DrawnJobs)
    arrivals: Arrivals = field(default_factory=Arrivals)
    world: World = field(default_factory=World)
    #: One run of every policy for each.
    seeds: tuple[int, ...] = (1,)
    about: str = ""
    #: Where it runs, one of `ENGINES`.
    engine: str = SIMULATED
    #: How jobs are started where the engine is Docker.
    docker: Containers = field(default_factory=Containers)
    #: What was published of it, to stand beside its results; no run depends on it.
    published: tuple[PublishedFigure, ...] = ()

    @property
    def real(self) -> bool:
        """Whether its jobs are real containers."""
        return ENGINES[self.engine].real

    @property
    def n_jobs(self) -> int:
        """The number of jobs in each run."""
        return self.drawn.count + (0 if self.resampled else len(self.jobs))

    @property
    def resampled(self) -> bool:
        """Whether each run draws its jobs from the listed ones."""
        return self.drawn.draw == "jobs" and self.drawn.count > 0

    def arm(self, label: str) -> Arm:
        """The policy of a label; the label is one of the experiment's."""
        return next(arm for arm in self.policies if arm.label == label)

    def with_seeds(self, count: int) -> Experiment:
        """The experiment with another number of seeds, from its first one on."""
        return replace(self, seeds=tuple(range(self.seeds[0], self.seeds[0] + count)))

    def scenario_dict(self) -> dict[str, Any]:
        """Everything besides policy and seed that a run depends on."""
        named = ("engine", "workers", "world", "kinds", "jobs", "drawn", "arrivals", "docker")
        plain = self.to_dict()
        return {name: plain[name] for name in named}

    def to_dict(self) -> dict[str, Any]:
        """Plain values from which `reading.experiment.from_dict` makes an equal experiment."""
        return {
            "version": VERSION,
            "name": self.name,
            "about": self.about,
            "engine": self.engine,
            "workers": [_worker(group) for group in self.workers],
            "world": _world(self.world),
            "kinds": {name: _kind(kind) for name, kind in self.kinds.items()},
            "jobs": [_without_none(asdict(job)) for job in self.jobs],
            "drawn": asdict(self.drawn),
            "arrivals": _arrivals(self.arrivals),
            "docker": asdict(self.docker),
            "policies": [
                {"label": arm.label, "policy": arm.policy, "settings": dict(arm.settings)}
                | ({"threads": arm.threads} if arm.threads else {})
                | ({"watch": True} if arm.watch else {})
                for arm in self.policies
            ],
            "baseline": self.baseline,
            "seeds": _seeds(self.seeds),
        } | ({"published": [_published(each) for each in self.published]} if self.published else {})


def _published(published: PublishedFigure) -> dict[str, Any]:
    return {name: value for name, value in asdict(published).items() if value not in ("", 0.0)}


def _arrivals(arrivals: Arrivals) -> dict[str, Any]:
    values = {**asdict(arrivals), "times": list(arrivals.times)}
    for name in ("spread", "load"):
        if values[name] == getattr(Arrivals(), name):
            values.pop(name)
    return values


def _world(world: World) -> dict[str, Any]:
    values = asdict(world)
    if not world.prediction_error:
        values.pop("prediction_error")
    return values


def _worker(group: WorkerGroup) -> dict[str, Any]:
    values = asdict(group)
    if not group.memory:
        values.pop("memory")
    return values


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _kind(kind: JobKind) -> dict[str, Any]:
    values = asdict(kind)
    values["losses"] = list(kind.losses)
    if not kind.losses:
        values.pop("losses")
    values["throughput"] = [list(point) for point in kind.throughput]
    unsaid = asdict(JobKind()) | {"throughput": []}
    for name in OMITTED_IF_DEFAULT:
        if values[name] == unsaid[name]:
            values.pop(name)
    for name in SPANS:
        if values.get(name) is not None:
            low, high = values[name]
            values[name] = low if low == high else [low, high]
    return values


def _seeds(seeds: Sequence[int]) -> Any:
    count, first = len(seeds), seeds[0]
    return (
        {"count": count, "first": first} if list(seeds) == list(range(first, first + count)) else list(seeds)
    )
