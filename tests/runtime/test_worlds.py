"""Where runs take place: what cannot be run is refused before anything starts, and real runs take turns."""

import threading
import time

import pytest

from core.bootstrap import open_workspace
from core.config import Settings
from core.errors import ConflictError, NotFoundError
from core.experiments.spec_reader import read_experiment
from core.runs.runner import Stages, exclusive
from core.sampling.engines import Engines
from core.workspace.database import Database
from core.workspace.earlier_runs import EarlierRuns

REAL = """
version: 1
name: Real
engine: docker
workers: {count: 1, cores: 1}
kinds:
  MLP: {work: 20, program: mlp --size 2}
drawn: {count: 2}
policies: [free, flowcon]
"""


def worlds(home, **more):
    settings = Settings(home=home, docker=f"here=unix://{home}/none.sock", **more)
    return Stages(
        settings, Engines(settings), EarlierRuns(Database(f"sqlite:///{home}/worlds.db")), None, None
    )


def test_containers_are_not_started_while_control_is_off(tmp_path, refuses):
    with refuses(ConflictError):
        worlds(tmp_path).check(read_experiment(REAL))


def test_an_engine_that_does_not_answer_is_said(tmp_path, refuses):
    with refuses(ConflictError):
        worlds(tmp_path, control=True).check(read_experiment(REAL))


def test_an_engine_that_is_not_named_is_said(tmp_path, refuses):
    other = REAL.replace("cores: 1}", "cores: 1, host: there}")
    with refuses(NotFoundError):
        worlds(tmp_path, control=True).check(read_experiment(other))


def test_nothing_is_kept_of_an_experiment_that_cannot_start(tmp_path):
    space = open_workspace(Settings(home=tmp_path, docker=f"here=unix://{tmp_path}/none.sock"))
    try:
        with pytest.raises(ConflictError):
            space.runs.submit(read_experiment(REAL))
        assert space.runs.count() == 0
        assert space.runs.remove_left() == 0
    finally:
        space.close()


def test_real_runs_take_turns(tmp_path):
    order, inside = [], threading.Event()

    def first():
        with exclusive(tmp_path / "lock", lambda: None):
            inside.set()
            time.sleep(0.2)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait(5)
    waited = []
    with exclusive(tmp_path / "lock", lambda: waited.append(1), every=0.02):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]
    assert waited


def test_waiting_for_a_turn_can_be_given_up(tmp_path):
    def stop():
        raise KeyboardInterrupt

    lock = tmp_path / "lock"
    with exclusive(lock, lambda: None), pytest.raises(KeyboardInterrupt), exclusive(lock, stop):
        pytest.fail("nobody else may have the turn")
