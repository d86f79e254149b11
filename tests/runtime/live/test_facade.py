"""Without Docker everything still answers, and says what to do."""

import time
from dataclasses import replace
from threading import Event

import pytest

from core.bootstrap import open_workspace
from core.config import load_settings
from core.engines.values import EngineKey
from core.errors import ConflictError, InputError, NotFoundError, SettingsError
from core.live.control.saved_limits import SavedLimitsStore
from core.live.view import LiveFiles, write, write_attached
from core.live.watcher import _Watch
from core.sampling.values import AttachedPolicy, ContainerRow, EngineInfo, EngineState, LiveView, Mode


@pytest.fixture
def space(settings, tmp_path):
    opened = open_workspace(replace(settings, docker=f"here=unix://{tmp_path}/none.sock", control=True))
    yield opened
    opened.close()


def test_an_engine_that_is_not_there_is_missing_and_says_what_to_do(space):
    info, demo = space.live.engines.all()
    assert (demo.name, demo.state) == ("demo", EngineState.READY)
    assert (info.name, info.state) == ("here", EngineState.MISSING)
    assert info.message
    assert info.hint
    view = space.live.view.request_view("here")
    assert (view.engine.state, view.at, view.rows) == (EngineState.MISSING, None, ())
    assert space.live.view.history("here", ["a"]) == {}
    assert len(space.live.view.totals_history("here").time) == 0


def test_a_glance_requests_nothing_and_leaves_the_model_that_a_page_chose(space):
    files = LiveFiles(space.settings.home, "here")
    assert space.live.view.peek("here").at is None
    assert not files.is_wanted()
    assert space.live.view.request_view("here", "m").model == "m"
    space.live.view.peek("here")
    assert (files.is_wanted(), files.model()) == (True, "m")


def test_a_model_that_cannot_be_used_is_tried_only_once(space, monkeypatch):
    asked = []

    def load(model):
        asked.append(model)
        raise NotFoundError("There is no such model.", "Choose another.")

    monkeypatch.setattr(space.models, "load", load)
    files, live = LiveFiles(space.settings.home, "here"), space.live
    watch = _Watch(files, live.engines, live.saved_limits, space.models, Event(), remembers=False)
    for model in ("gone", "gone", None, "gone"):
        files.want(model)
        assert watch._chosen_model() == (None, None)
    assert asked == ["gone", "gone"]


def test_what_needs_the_engine_says_that_it_is_missing(space, refuses):
    for act in (
        lambda: space.live.limits.set_limit("here", "a", 0.5),
        lambda: space.live.limits.pick("here", "a"),
        lambda: space.live.policies.attach("here", "flowcon", {}, Mode.WATCH),
        lambda: space.live.recordings.record("here", "name"),
    ):
        with refuses(ConflictError):
            act()
    assert space.live.limits.release().failed == ()


def test_an_unknown_engine_is_said_with_those_there_are(space, refuses):
    for act in (
        lambda: space.live.view.request_view("other"),
        lambda: space.live.view.history("other", []),
        lambda: space.live.view.totals_history("other"),
        lambda: space.live.policies.attach("other", "flowcon", {}, Mode.WATCH),
        lambda: space.live.policies.detach("other"),
        lambda: space.live.recordings.stop("other"),
        lambda: space.live.limits.release("other"),
        lambda: space.live.limits.undo("other", "a"),
    ):
        with refuses(NotFoundError):
            act()


def test_nothing_to_end_is_said(space, refuses):
    with refuses(ConflictError):
        space.live.policies.detach("here")
    with refuses(ConflictError):
        space.live.recordings.stop("here")
    with pytest.raises(NotFoundError):
        space.live.recordings.finish("0123456789abcdef")
    with refuses(ConflictError):
        space.live.limits.undo("here", "a")


def test_a_hold_that_cannot_be_put_back_stays_and_is_said(space):
    SavedLimitsStore(space.database).keeper("dead").keep(EngineKey("here"), "a" * 64, {"nano_cpus": 10**9})
    done = space.live.limits.put_back_orphans()
    assert done.restored == ()
    ((name, why),) = done.failed
    assert name == "a" * 12
    assert "Nothing answers" in why
    assert len(space.live.saved_limits.all()) == 1


def test_a_sample_is_shown_with_what_the_policy_thinks_of_it(space, monkeypatch):
    ready = EngineInfo("here", "", EngineState.READY, cores=2.0)
    files = LiveFiles(space.settings.home, "here")
    write(files.snapshot, LiveView(ready, time.time(), (ContainerRow("a", "job"), ContainerRow("b", "two"))))
    task = space.tasks.submit("attach", "x", {"engine": "here", "policy": "flowcon", "mode": "watch"})
    begun = space.live.view.request_view("here").attached
    assert (begun.task, begun.policy, begun.entries) == (task, "flowcon", ())
    write_attached(files.attached, AttachedPolicy(task, "flowcon", Mode.WATCH, resizes=3), {"a": ("CL", 0.1)})
    view = space.live.view.request_view("here")
    assert (view.attached.resizes, view.totals.labels) == (3, (("CL", 1),))
    assert [(row.label, row.growth) for row in view.rows] == [("CL", 0.1), (None, None)]
    space.tasks.cancel(task)
    assert space.live.view.request_view("here").attached is None


def test_an_old_sample_is_not_shown_as_if_it_were_new(space):
    import os

    ready = EngineInfo("here", "", EngineState.READY)
    files = LiveFiles(space.settings.home, "here")
    write(files.snapshot, LiveView(ready, 5.0, (ContainerRow("a", "job"),)))
    for old, rows in ((10, 1), (100, 0)):
        os.utime(files.snapshot, (time.time() - old,) * 2)
        view = space.live.view.request_view("here")
        assert view.engine.state is EngineState.MISSING
        assert len(view.rows) == rows


@pytest.mark.parametrize("text", ["=unix:///x", "a=ftp://x", "a=unix:///x;a=unix:///y"])
def test_a_wrong_list_of_engines_stops_the_start(tmp_path, text, refuses):
    settings = load_settings({"PHASEDOCK_HOME": str(tmp_path / "home"), "PHASEDOCK_DOCKER": text})
    with refuses(SettingsError):
        open_workspace(settings)


def test_a_policy_that_only_a_simulator_can_serve_is_refused(space, monkeypatch, refuses):
    monkeypatch.setattr(space.live.engines, "get", lambda name: EngineInfo(name, "", EngineState.READY))
    with refuses(InputError):
        space.live.policies.attach("here", "srpt", {}, Mode.WATCH)
    with pytest.raises(InputError):
        space.live.policies.attach("here", "flowcon", {"alpha": -1}, Mode.WATCH)
    with pytest.raises(NotFoundError):
        space.live.policies.attach("here", "nobody", {}, Mode.WATCH)
    with refuses(InputError):
        space.live.policies.attach("here", "flowcon", {}, "steer")
    task = space.live.policies.attach("here", "flowcon", {}, Mode.WATCH)
    with refuses(ConflictError):
        space.live.policies.attach("here", "flowcon", {}, Mode.WATCH)
    assert space.live.policies.detach("here") == task
    with refuses(InputError):
        space.live.recordings.record("here", "x", [])
    with refuses(InputError):
        space.live.recordings.record("here", "  ")
    with pytest.raises(NotFoundError):
        space.live.recordings.record("here", "x", model="0123456789abcdef")
