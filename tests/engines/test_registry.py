"""The register is the only list of engines: one more is one value and one line, and then it is everywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Self

import pytest

from core.config import Settings
from core.engines import registry
from core.engines.errors import ContainerGone
from core.engines.ports import EngineKind
from core.engines.simulated import SIMULATOR
from core.engines.values import Counters, EngineKey, HostInfo
from core.errors import SettingsError
from core.experiments import spec
from core.experiments.reading.experiment import read_experiment
from core.runtime.bootstrap import open_workspace
from core.runtime.experiments.stages import Stages
from core.runtime.live.engines import Engines
from core.runtime.live.sampling.losses import LossReader
from core.runtime.live.sampling.sampler import Sampler
from core.runtime.live.view.values import EngineState

JOB = "a" * 64


@dataclass(frozen=True)
class Boxes:
    """Limits of an engine that has cores and nothing else."""

    cores: float | None = None
    memory_bytes: None = None

    def with_cores(self, cores: float | None) -> Boxes:
        return Boxes(cores)

    def with_memory(self, _: int | None) -> Boxes:
        return self

    def to_dict(self) -> dict[str, Any]:
        return {"boxes": self.cores}


@dataclass
class BoxHost:
    """A host with one job, in the memory of the test."""

    address: SimpleNamespace
    keeper: Any = None
    guard: Any = None
    request_timeout: float | None = None
    there: dict[str, Boxes] = field(default_factory=lambda: THERE)

    @property
    def name(self) -> str:
        return self.address.name

    def info(self, again: bool = False) -> HostInfo:  # noqa: ARG002 - it never changes
        return HostInfo(self.name, 4.0, 2**30, "1", 1, False, "BOXES")

    def key(self) -> EngineKey:
        return self.info().key

    def ping(self) -> None:
        """It is always there."""

    def inspect(self, container: str) -> SimpleNamespace:
        if container not in self.there:
            raise ContainerGone("It is gone.")
        labels, limits = {"phasedock": ""}, self.there[container]
        return SimpleNamespace(
            id=container, name="job", image="", labels=labels, state="running", limits=limits
        )

    def containers(self, running_only: bool = True) -> list[SimpleNamespace]:  # noqa: ARG002 - all run
        return [self.inspect(container) for container in self.there]

    def counters(self, containers: Any) -> dict[str, Counters]:
        return {each.id: Counters(1.0, 2.0, 3) for each in containers}

    def logs_since(self, *_: Any) -> list[tuple[float, str]]:
        return [(1.0, "loss=0.5")]

    def readings(self, _: Any) -> None:
        return None

    def free_threads(self, _: Any) -> None:
        """Nobody follows."""

    def read_limits(self, plain: dict[str, Any]) -> Boxes:
        return Boxes(plain["boxes"])

    def set_limits(self, container: str, limits: Boxes) -> Boxes:
        assert self.guard(self.inspect(container))
        self.keeper.keep(self.key(), container, self.there[container].to_dict())
        self.there[container] = limits
        return limits

    def restore(self, container: str) -> bool:
        self.there[container] = self.read_limits(self.keeper.kept(self.key(), container))
        self.keeper.forget(self.key(), container)
        return True

    def close(self) -> None:
        """Nothing is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


THERE = {JOB: Boxes(3.0)}
BOXES = EngineKind(
    "boxes",
    "Boxes",
    SIMULATOR.open,
    hosts=lambda _: (SimpleNamespace(name="shelf", url="", shown="a shelf"),),
    connect=BoxHost,
)


@pytest.fixture
def boxes(monkeypatch):
    """One engine more, for the length of a test."""
    monkeypatch.setattr(registry.ENGINES, "_entries", dict(registry.ENGINES.items()))
    registry.add(BOXES)
    yield
    spec.ENGINES.pop("boxes")


def test_experiments_and_the_register_say_the_same_of_engines():
    assert {name: (kind.title, kind.real) for name, kind in registry.ENGINES.items()} == spec.ENGINES
    with pytest.raises(ValueError, match="twice"):
        registry.add(SIMULATOR)


@pytest.mark.usefixtures("boxes")
def test_another_engine_is_watched_steered_and_put_back_like_every_other(tmp_path, docker_less):
    space = open_workspace(docker_less(tmp_path))
    try:
        engines = space.live.engine_registry
        info = engines.get("shelf")
        assert (info.state, info.cores, info.id) == (EngineState.READY, 4.0, "BOXES")
        host = engines.host("shelf")
        view, _ = Sampler(host, space.live.holds, LossReader(host)).sample()
        assert [(row.name, row.cpu_limit, row.loss) for row in view.rows] == [("job", 3.0, 0.5)]
        assert space.live.set_limit("shelf", JOB, 0.5).after.cores == 0.5
        assert space.live.release().restored == ("job",)
        assert (THERE[JOB].cores, space.live.holds.all()) == (3.0, ())
    finally:
        space.close()


@pytest.mark.usefixtures("boxes")
def test_two_engines_of_one_name_stop_the_start_whatever_their_kinds(tmp_path):
    with pytest.raises(SettingsError, match="Two engines are called “shelf”"):
        Engines(Settings(home=tmp_path, docker="shelf=unix:///nowhere.sock"))


@pytest.mark.usefixtures("boxes")
def test_another_engine_runs_experiments_that_name_it(tmp_path, docker_less):
    space = open_workspace(docker_less(tmp_path))
    try:
        experiment = read_experiment(
            "version: 1\nname: x\nengine: boxes\nworkers: {count: 1, cores: 1}\n"
            "kinds: {MLP: {work: 20}}\ndrawn: {count: 1}\npolicies: [free]\n"
        )
        assert not experiment.real
        worlds = Stages(space.settings, space.live.engine_registry)
        worlds.check(experiment)
        with worlds.open(experiment, experiment.policies[0], 1, "r", lambda: None) as stage:
            assert stage.engine.observe().workers
    finally:
        space.close()


@pytest.fixture
def docker_less():
    """Settings with control, of a machine whose Docker is somewhere that does not exist."""
    return lambda home: Settings(home=home / "home", docker=f"here=unix://{home}/none.sock", control=True)
