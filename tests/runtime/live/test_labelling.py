"""Whatever is recorded live is labelled by every bundled model, as it comes and afterwards."""

import math
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from core.engines.demo.host import DemoHost
from core.engines.demo.kind import DemoAddress, bundled_plan
from core.engines.demo.world import DemoWorld
from core.errors import MismatchError
from core.files.phase_models.archive import load_model
from core.live.control.saved_limits import SavedLimitsStore
from core.phases import PhaseSettings, fit, predict
from core.phases.model import WARM_UP
from core.reading import read_traces
from core.sampling import sampler
from core.sampling.phases import PhaseTracker
from core.sampling.sampler import LossReader
from core.traces.model import Feature
from core.units import GIB, MIB, Unit
from core.workspace.samples import DATA, RECORDED
from tests.builders import remembered

BUNDLED = sorted(path.parent for path in DATA.glob("*/model.json"))
NAN = math.nan
PAIR = ("cpu_cores", "memory_bytes")


@pytest.fixture(params=BUNDLED, ids=lambda folder: folder.name)
def model(request):
    """Every model that comes with PhaseDock."""
    return load_model(request.param)


@pytest.fixture(scope="module")
def throttled_model():
    """A model that reads a share, too."""
    recorded = read_traces(DATA / RECORDED.traces)
    shares = np.random.default_rng(0).uniform(size=recorded.n_samples)
    throttled = Feature("throttled", unit=Unit.SHARE)
    traces = replace(recorded, features=(*recorded.features, throttled), columns=(*recorded.columns, shares))
    return fit(traces, PhaseSettings(phases=3, hidden=6, history=3, epochs=5), (*PAIR, "throttled"))


def labelled_share(labels):
    return float(np.mean(np.asarray(labels) != WARM_UP))


def test_there_is_a_bundled_model():
    assert RECORDED.folder / RECORDED.model in BUNDLED


def test_a_recording_of_the_demo_is_labelled_live_and_afterwards(model, tmp_path, workspace, monkeypatch):
    clock = SimpleNamespace(now=1e9, time=lambda: clock.now, monotonic=time.monotonic)
    monkeypatch.setattr(sampler, "time", clock)
    host = DemoHost(DemoAddress(tmp_path), DemoWorld(tmp_path, bundled_plan, clock.time))
    looking = sampler.Sampler(host, SavedLimitsStore(workspace.database), LossReader(host))
    phaser, moments, live = PhaseTracker(model), [], []
    for _ in range(40):
        view, rows = looking.sample(phaser)
        moments.append((view.at, {key: values for key, values in rows.items() if key != "*"}))
        live += [(row.id, view.at, row.phase) for row in view.rows if row.cpu is not None]
        clock.now += 1.0
    assert labelled_share([WARM_UP if phase is None else phase for *_, phase in live]) > 0.8
    traces = remembered(tmp_path / "history", [each for each in moments if each[1]])
    labels = predict(model, traces)
    assert labelled_share(labels) > 0.8
    assert len(set(labels.tolist()) - {WARM_UP}) > 1
    seen = {(name, at): phase for name, at, phase in live if phase is not None}
    for execution in traces.ids:
        part = traces.slice_of(execution)
        same = [
            seen[execution, at] == label
            for at, label in zip(traces.time[part].tolist(), labels[part].tolist(), strict=True)
            if (execution, at) in seen
        ]
        assert all(same)


def docker_moments(seconds=40):
    """What a Docker host gives: one container with limits, one without, whose periods never pass."""
    for at in range(seconds):
        gpus = (NAN, NAN, NAN)
        held = (0.5, 0.5, 200 * MIB, GIB, 2.0 - at / 100, 0.9, 1e4, 0.0, *gpus, 0.4, 0.1)
        free = (0.98, NAN, 300 * MIB, NAN, NAN, NAN, 0.0, 0.0, *gpus, 0.0, 0.1)
        yield 1e9 + at, {"held": held, "free": free}


def test_a_recording_of_docker_is_labelled_live_and_afterwards(model, tmp_path):
    moments = list(docker_moments())
    phaser = PhaseTracker(model)
    live = [phaser.push(at, rows) for at, rows in moments]
    assert set(live[-1]) == {"held", "free"}
    traces = remembered(tmp_path / "history", moments)
    labels = predict(model, traces)
    assert labelled_share(labels) > 0.8
    for name in traces.ids:
        assert labels[traces.slice_of(name)][-1] == live[-1][name]


def test_a_recording_that_was_exported_and_read_again_is_labelled_alike(model, tmp_path):
    traces = remembered(tmp_path / "history", list(docker_moments()))
    lines = ["execution,timestamp," + ",".join(feature.name for feature in traces.features)]
    for execution in traces.executions():
        for i, at in enumerate(execution.time.tolist()):
            values = [execution.columns[feature.name][i] for feature in traces.features]
            cells = ["" if math.isnan(value) else repr(float(value)) for value in values]
            lines.append(",".join([execution.name, repr(at), *cells]))
    (tmp_path / "recorded.csv").write_text("\n".join(lines))
    again = read_traces(tmp_path / "recorded.csv")
    units = {feature.name: feature.unit for feature in again.features}
    assert units["throttled"] is Unit.SHARE
    assert predict(model, again.only(traces.ids)).tolist() == predict(model, traces).tolist()


def unknown(model, name="throttled"):
    """A model that does not know the unit of one feature, as of a file that was read without it."""
    features = tuple(
        Feature(each.name, each.role, Unit.PLAIN) if each.name == name else each for each in model.features
    )
    return replace(model, features=features)


def test_a_unit_that_a_model_lacks_is_no_other_unit(throttled_model, tmp_path):
    traces = remembered(tmp_path / "history", list(docker_moments()))
    assert predict(unknown(throttled_model), traces).tolist() == predict(throttled_model, traces).tolist()
    PhaseTracker(unknown(throttled_model))


def test_a_model_of_percentages_without_a_unit_is_not_taken_for_one_of_shares(
    throttled_model, tmp_path, refuses
):
    traces = remembered(tmp_path / "history", list(docker_moments()))
    scaler = replace(
        throttled_model.scaler,
        mean=throttled_model.scaler.mean * 100,
        scale=throttled_model.scaler.scale * 100,
    )
    percent = replace(unknown(throttled_model), scaler=scaler)
    with refuses(MismatchError):
        predict(percent, traces)
    with refuses(MismatchError):
        PhaseTracker(percent)


def test_values_without_a_unit_that_are_no_shares_are_refused(throttled_model, tmp_path, refuses):
    traces = remembered(tmp_path / "history", list(docker_moments()))
    plain = tuple(
        Feature(each.name, each.role, Unit.PLAIN) if each.name == "throttled" else each
        for each in traces.features
    )
    shares = tuple(
        replace(each, unit=Unit.SHARE) if each.name == "throttled" else each
        for each in throttled_model.features
    )
    known = replace(throttled_model, features=shares)
    assert predict(known, replace(traces, features=plain)).tolist() == predict(known, traces).tolist()
    at = [feature.name for feature in traces.features].index("throttled")
    columns = tuple(values * 100 if i == at else values for i, values in enumerate(traces.columns))
    with refuses(MismatchError):
        predict(known, replace(traces, features=plain, columns=columns))


def test_other_units_are_never_guessed(model, tmp_path, refuses):
    traces = remembered(tmp_path / "history", list(docker_moments()))
    with refuses(MismatchError):
        predict(unknown(model, "memory_bytes"), traces)
