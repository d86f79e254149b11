"""The autopilot on the demo: it learns from a trace set, sees what containers use, and adds that up."""

import time
from dataclasses import replace

import pytest

from core.bootstrap import open_workspace
from core.errors import Cancelled, ConflictError, InputError, NotFoundError
from core.live.view import LiveFiles, read_attached
from core.sampling.values import Mode
from core.scheduling.policies.autopilot import AUTOPILOT
from core.workspace.records import NO_EXPERIMENT
from core.workspace.samples import load_samples
from tests.builders import small_model, small_traces


@pytest.fixture
def space(settings, tmp_path):
    """A workspace on a machine without Docker, with the bundled samples and a watcher."""
    opened = open_workspace(replace(settings, docker=f"here=unix://{tmp_path}/none.sock"))
    watcher = opened.watcher()
    watcher.start()
    yield opened
    watcher.stop()
    opened.close()


def attached(space, settings, mode, until, seconds=120.0):
    """Attach the autopilot until `until(attached, rows)` holds; returns both, and what the task returned."""
    files, seen, begun = LiveFiles(space.settings.home, "demo"), [], time.monotonic()

    def say(_words):
        found = read_attached(files.attached)
        if found is not None:
            seen.append((found[0], space.live.view.request_view("demo").rows))
        if (seen and until(*seen[-1])) or time.monotonic() - begun > seconds:
            raise Cancelled

    params = {"engine": "demo", "policy": "autopilot", "settings": settings, "mode": str(mode), "seed": 1}
    found = space.live.policy_loop.run(params, "0123456789abcdef", say, lambda _: None)
    return *seen[-1], found


def measured(shown, _rows=()):
    """Whether it has looked long enough; where the machine is busy, looks are further apart."""
    return shown.evidence is not None and shown.evidence.lasted >= 4 and len(shown.course) >= 3


@pytest.mark.parametrize("policy", ["phase.rule", "prev.step.max"])
def test_it_watches_by_the_phases_of_a_model_and_says_what_that_would_free(space, policy):
    _, model = load_samples(space.traces, space.models)
    settings = {"policy": policy, "model": model.id, "cycle": 5.0}
    shown, rows, found = attached(space, settings, Mode.WATCH, measured)
    evidence = shown.evidence
    assert evidence.lasted >= 4
    assert 0 <= evidence.short_share <= 1
    assert evidence.kept_cores > 0
    ended = space.live.view.request_view("demo").stopped  # a replayed job may have ended meanwhile
    assert {each.name for each in evidence.containers} <= {row.name for row in (*rows, *ended)}
    assert len(shown.course) >= 3
    assert shown.resizes > 0
    assert space.live.saved_limits.all() == ()
    (run,) = space.runs.list(5, experiment=NO_EXPERIMENT)
    assert space.runs.replay(run.id) == [], "it is fitted again from what was kept, and decides the same"
    assert space.runs.result(run.id).evidence.containers
    assert found["decisions"] == run.ticks


def test_in_control_limits_are_set_and_put_back(space):
    _, model = load_samples(space.traces, space.models)
    before = {row.name: row.cpu_limit for row in space.live.view.request_view("demo").rows}
    settings = {"policy": "prev.step.max", "model": model.id, "cycle": 5.0}

    def holds(shown, rows):
        return measured(shown) and any(row.held for row in rows)

    assert holds(*attached(space, settings, Mode.CONTROL, holds)[:2])
    after = {row.name: row.cpu_limit for row in space.live.view.request_view("demo").rows}
    assert {name: after[name] for name in before if name in after} == {
        name: limit for name, limit in before.items() if name in after
    }
    assert space.live.saved_limits.all() == ()


def test_a_fit_is_made_once_and_again_when_what_it_depends_on_changes(space):
    traces, model = load_samples(space.traces, space.models)
    chosen = {"policy": "phase.rule", "model": model.id, "cycle": 5.0}
    said = []

    def ready(**changes):
        return space.fitted.ready(
            AUTOPILOT.build_settings({**chosen, **changes}), lambda _, message, /, **__: said.append(message)
        )

    first = ready()
    files = list((space.settings.home / "fitted").iterdir())
    again = ready(traces=traces.id)
    named = ready(model=model.name, traces=traces.name)
    assert (named.model, named.traces) == (model.id, traces.id)
    assert again.fitted.cpu.factor == first.fitted.cpu.factor
    assert list((space.settings.home / "fitted").iterdir()) == files
    ready(tolerance=0.1)
    assert len(list((space.settings.home / "fitted").iterdir())) == 2
    files[0].write_bytes(b"broken")
    assert ready().fitted.cpu.factor == first.fitted.cpu.factor


def test_what_cannot_steer_is_refused_when_it_is_asked_for(space, refuses):
    traces, model = load_samples(space.traces, space.models)
    alien = space.models.add(small_model(small_traces()), name="other", trace_set=None)

    def refused(error, words, **settings):
        with refuses(error):
            space.live.policies.attach("demo", "autopilot", settings, Mode.WATCH)

    refused(ConflictError, "nothing to learn from")
    refused(NotFoundError, "nobody", policy="nobody", model=model.id)
    refused(NotFoundError, "no phase model “gone”", policy="phase.rule", model="gone")
    refused(InputError, "looks into the future", policy="static.peak", model=model.id)
    refused(InputError, "needs phases", policy="phase.rule", traces=traces.id)
    refused(ConflictError, "is not stored here", policy="phase.rule", model=alien.id)
    refused(NotFoundError, "trace set", policy="prev.step.max", traces="0" * 12)
