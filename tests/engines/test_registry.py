"""The register is the only list of engines: one more is one value and one line, and then it is everywhere."""

from dataclasses import replace

import pytest

from core.bootstrap import open_workspace
from core.config import Settings
from core.engines import registry
from core.engines.simulated import ENGINE as SIMULATOR
from core.errors import InputError, NotFoundError, SettingsError
from core.experiments import spec
from core.experiments.spec_reader import read_experiment
from core.runs.runner import Stages
from core.sampling.engines import Engines
from core.sampling.sampler import LossReader, Sampler
from core.sampling.values import EngineState
from tests.docs.examples import example

JOB = "a" * 64
PRACTICE = example("core/engines/practice.py").ENGINE
EXPERIMENT = """
version: 1
name: x
engine: practice
workers: {count: 1, cores: 1}
kinds: {MLP: {work: 20}}
drawn: {count: 1}
policies: [free]
"""


@pytest.fixture
def add(monkeypatch):
    """Adds one engine more, for the length of a test."""
    monkeypatch.setattr(registry.ENGINES, "_entries", dict(registry.ENGINES.items()))
    yield registry.add
    spec.ENGINES.pop("practice", None)


@pytest.fixture
def settings(tmp_path):
    """Settings with control, of a machine whose Docker is somewhere that does not exist."""
    return Settings(home=tmp_path / "home", docker=f"here=unix://{tmp_path}/none.sock", control=True)


def test_experiments_and_the_register_say_the_same_of_engines(refuses):
    able = {name: kind for name, kind in registry.ENGINES.items() if kind.open is not None}
    assert {name: (kind.title, kind.real) for name, kind in able.items()} == spec.ENGINES
    with refuses(ValueError):
        registry.add(SIMULATOR)


def test_another_engine_is_watched_steered_and_put_back_like_every_other(settings, add):
    add(PRACTICE)
    space = open_workspace(settings)
    try:
        engines = space.live.engines
        info = engines.get("practice")
        assert (info.state, info.cores, info.id) == (EngineState.READY, 4.0, "PRACTICE")
        host = engines.host("practice")
        view, _ = Sampler(host, space.live.saved_limits, LossReader(host)).sample()
        assert [(row.name, row.cpu_limit, row.loss) for row in view.rows] == [("job", 3.0, 0.5)]
        assert space.live.limits.set_limit("practice", JOB, 0.5).after.cores == 0.5
        assert space.live.limits.release().restored == ("job",)
        assert (host.inspect(JOB).limits.cores, space.live.saved_limits.all()) == (3.0, ())
    finally:
        space.close()


def test_two_engines_of_one_name_stop_the_start_whatever_their_kinds(tmp_path, add, refuses):
    add(PRACTICE)
    with refuses(SettingsError):
        Engines(Settings(home=tmp_path, docker="practice=unix:///nowhere.sock"))


def test_another_engine_runs_experiments_that_name_it(settings, add):
    add(replace(PRACTICE, open=SIMULATOR.open))
    space = open_workspace(settings)
    try:
        experiment = read_experiment(EXPERIMENT)
        assert not experiment.real
        worlds = Stages(
            space.settings, space.live.engines, space.live.queue.earlier, space.fitted, space.models
        )
        worlds.check(experiment)
        with worlds.open(experiment, experiment.policies[0], 1, "r", lambda: None) as stage:
            assert stage.engine.observe().workers
    finally:
        space.close()


def test_an_engine_that_runs_nothing_is_in_no_experiment(add, refuses):
    add(PRACTICE)
    with refuses(InputError):
        read_experiment(EXPERIMENT)
    with refuses(InputError):
        registry.begin("practice", None)
    with pytest.raises(NotFoundError):
        registry.begin("elsewhere", None)
