"""All of Live on the demo, without Docker and with control off."""

import time
from dataclasses import replace

import pytest

from core.bootstrap import open_workspace
from core.engines.docker_host.connection import Address
from core.engines.values import has_label
from core.errors import Cancelled, ConflictError
from core.live.history.chunks import RecordedContainer
from core.live.history.writer import HistoryWriter
from core.live.recordings import record
from core.live.view import LiveFiles, write
from core.sampling.sampler import LossReader, Sampler
from core.sampling.values import EngineState, Mode
from core.workspace.records import NO_EXPERIMENT
from tests.builders import demo_rows


@pytest.fixture
def space(settings, tmp_path):
    """A workspace on a machine without Docker, where nothing real may be changed."""
    opened = open_workspace(replace(settings, docker=f"here=unix://{tmp_path}/none.sock"))
    yield opened
    opened.close()


def container(space, limit=None):
    """One container that has this limit of its own."""
    return next(row for row in demo_rows(space).values() if row.cpu_limit == limit)


def test_the_demo_is_ready_and_comes_last(space):
    here, demo = space.live.engines.all()
    assert (here.state, demo.state, demo.name) == (EngineState.MISSING, EngineState.READY, "demo")
    assert not space.live.engines.may_change("here")
    assert space.live.engines.may_change("demo")


def test_a_real_engine_of_that_name_takes_its_place(settings, tmp_path):
    opened = open_workspace(replace(settings, docker=f"demo=unix://{tmp_path}/none.sock"))
    engines = opened.live.engines
    assert engines.names == ("demo",)
    assert isinstance(engines.address("demo"), Address)
    assert not opened.live.engines.may_change("demo")
    opened.close()


def test_the_demo_can_be_switched_off(settings, tmp_path):
    opened = open_workspace(replace(settings, docker=f"here=unix://{tmp_path}/none.sock", demo=False))
    assert opened.live.engines.names == ("here",)
    opened.close()


def test_limits_by_hand_are_set_undone_and_released_with_control_off(space):
    free, own = container(space), container(space, 1.0)
    assert space.live.limits.set_limit("demo", free.id, 0.25).after.cores == 0.25
    assert demo_rows(space)[free.name].held
    assert space.live.limits.set_limit("demo", free.id, 0.5).after.cores == 0.5
    assert space.live.limits.set_limit("demo", free.id, 0.5).before.cores == 0.5
    assert space.live.limits.last_undo("demo", free.id).allowance.cores == 0.25
    assert space.live.limits.undo("demo", free.id).after.cores == 0.25
    assert space.live.limits.undo("demo", free.id).after.cores is None
    assert space.live.limits.last_undo("demo", free.id) is None
    assert space.live.limits.set_limit("demo", free.id, 0.3).after.cores == 0.3
    assert space.live.limits.set_limit("demo", own.id, 1.5).after.cores == 1.5
    assert set(space.live.limits.release("demo").restored) == {free.name, own.name}
    now = demo_rows(space)
    assert (now[free.name].cpu_limit, now[own.name].cpu_limit) == (None, 1.0)
    assert space.live.saved_limits.all() == ()


def test_what_was_saved_of_a_container_that_has_ended_is_forgotten(space):
    one, other = [row for row in demo_rows(space).values() if row.cpu_limit is None][:2]
    for each in (one, other):
        space.live.limits.set_limit("demo", each.id, 1.5)
    with space.live.engines.host("demo") as host:
        number = host.inspect(one.id).number
        host.world.change(lambda now: now.replay.stopped(host.world.plan, number))
    space.live.limits.put_back_orphans()
    assert [saved.container for saved in space.live.saved_limits.all()] == [other.id]


def test_a_container_without_the_label_is_left_alone_until_it_is_picked(space, refuses):
    with space.live.engines.host("demo") as host:
        other = next((each for each in host.containers() if not has_label(each)), None)
        while other is None:  # its place is empty for a few seconds after each job
            host.world.change(
                lambda now: replace(now.replay, due=tuple(min(due, now.replay.at) for due in now.replay.due))
            )
            other = next((each for each in host.containers() if not has_label(each)), None)
    with refuses(ConflictError):
        space.live.limits.set_limit("demo", other.id, 0.5)
    space.live.limits.pick("demo", other.id)
    assert space.live.limits.set_limit("demo", other.id, 0.5).after.cores == 0.5
    space.live.limits.unpick("demo", other.id)
    with space.live.engines.host("demo") as host:
        assert host.inspect(other.id).limits.cores is None


def test_what_a_killed_process_changed_is_restored_by_the_next(space):
    one = container(space)
    live = space.live
    with live.engines.host("demo", live.saved_limits.keeper("dead"), has_label) as host:
        host.set_limits(one.id, host.inspect(one.id).limits.with_cores(0.1))
    assert demo_rows(space)[one.name].cpu_limit == 0.1
    assert live.limits.put_back_orphans().restored == (one.name,)
    assert demo_rows(space)[one.name].cpu_limit is None


@pytest.mark.parametrize("mode", list(Mode))
def test_a_policy_is_attached_and_everything_is_as_it_was_after_it(space, mode):
    before = {name: row.cpu_limit for name, row in demo_rows(space).items()}
    during, begun = [], time.monotonic()

    def say(_words):
        """End it once it has decided a few times."""
        now = demo_rows(space)
        during.append({name: row.cpu_limit for name, row in now.items()})
        if time.monotonic() - begun > 4.0:
            raise Cancelled

    params = {"engine": "demo", "policy": "flowcon", "settings": {"itval": 1.0}, "mode": str(mode), "seed": 1}
    found = space.live.policy_loop.run(params, "0123456789abcdef", say, lambda _: None)
    assert found["decisions"] >= 2
    changed = [name for name, limit in during[-1].items() if name in before and limit != before[name]]
    assert bool(changed) == (mode is Mode.CONTROL)
    after = demo_rows(space)
    assert {name: after[name].cpu_limit for name in before if name in after} == {
        name: limit for name, limit in before.items() if name in after
    }
    assert space.live.saved_limits.all() == ()
    (run,) = space.runs.list(5, experiment=NO_EXPERIMENT)
    assert "demo" in run.name


def test_what_is_recorded_says_where_it_comes_from(space, sentence):
    files = LiveFiles(space.settings.home, "demo")
    with space.live.engines.host("demo") as host:
        sampler = Sampler(host, space.live.saved_limits, LossReader(host))
        history = HistoryWriter(files.history, remembers=False)

        def say(_words):
            view, values = sampler.sample()
            known = {row.id: RecordedContainer(row.id, row.name) for row in view.rows}
            history.add(view.at, values, known)
            write(files.snapshot, view)
            said.append(view)
            if len(said) > 4:
                raise Cancelled

        said = []
        params = {"engine": "demo", "name": "night", "recording": "0123456789abcdef"}
        home, engines = space.settings.home, space.live.engines
        made = record(home, engines, space.traces, space.models, params, None, say)
        stored = space.traces.get(made)
    sentence(stored.source)
    assert stored.n_executions == len(said[-1].rows)
