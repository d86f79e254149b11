"""`phasedock sequences`, and the sequences of a workspace."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from core.cli import main
from core.errors import NotFoundError
from core.files.phase_models.archive import load_model, save_model
from core.phases import phase_runs, predict, suggested_minimum_dwell, with_minimum_dwell
from core.reading import read_traces
from core.sequences import Step, Warmup, phase_sequences
from core.workspace.sequences import SequenceAnalysis
from tests.builders import small_model, small_traces, write_csv


@pytest.fixture
def files(tmp_path):
    traces = small_traces(6, samples=80)
    save_model(small_model(read_traces(write_csv(tmp_path / "jobs.csv", traces))), tmp_path / "model")
    return tmp_path / "model", tmp_path / "jobs.csv"


def run(*arguments, code=0):
    result = CliRunner().invoke(main.app, ["sequences", *(str(argument) for argument in arguments)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def expected(model, csv, warmup=Warmup.SKIP, dwell=0.0):
    loaded, traces = load_model(model), read_traces(csv)
    runs = phase_runs(traces, with_minimum_dwell(traces, predict(loaded, traces), dwell))
    bounds = np.searchsorted(runs.start, traces.offsets)
    return SequenceAnalysis(phase_sequences(runs, bounds, traces.ids, loaded.phases, warmup=warmup))


def test_the_json_has_what_the_library_says(files):
    said = json.loads(run(*files, "--memory", 2, "--minimum-dwell", 0, "--json").stdout)
    analysis = expected(*files)
    graph = analysis.graph(2)
    assert said["executions"] == 6
    assert [path["count"] for path in said["paths"]] == [path.count for path in analysis.paths]
    assert said["prototypes"] == len(analysis.prototypes)
    assert sum(edge["count"] for edge in said["transitions"]) == analysis.sequences.n_runs
    for row in said["matrix"]["rows"]:
        assert sum(row["p"]) == pytest.approx(1.0)
        state = tuple(int(name.removeprefix("φ")) - 1 for name in row["after"])
        assert row["seen"] == graph.visits[graph.numbers[state]]
    assert set(said["packed"]) == set(analysis.sequences.ids)
    assert sum(stay["runs"] for stay in said["stays"]) == analysis.sequences.n_runs


def test_short_segments_join_a_neighbour_as_on_the_page(files):
    traces, model = read_traces(files[1]), load_model(files[0])
    suggested = suggested_minimum_dwell(phase_runs(traces, predict(model, traces)), traces.period)
    for options, minimum in (((), suggested), (("--minimum-dwell", 0), 0), (("--minimum-dwell", 60), 60)):
        said = json.loads(run(*files, *options, "--json").stdout)
        assert said["minimum_dwell"] == minimum
        assert sum(stay["runs"] for stay in said["stays"]) == expected(*files, dwell=minimum).sequences.n_runs
    assert "segments shorter than 1 min 00 s merged" in run(*files, *options).stdout


def test_warm_up_may_count_like_a_phase(files):
    said = json.loads(run(*files, "--warmup", "own", "--step", "sample", "--json").stdout)
    assert said["matrix"]["columns"][0] == "warm-up"
    assert all(path["elements"][0]["phases"][0] == "warm-up" for path in said["paths"])
    graph = expected(*files, Warmup.OWN).graph(1, Step.SAMPLE)
    assert sum(edge["count"] for edge in said["transitions"]) == graph.visits.sum()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--memory", 4), "The memory of the graph cannot be 4."),
        (("--step", "day"), "--step cannot be “day”."),
        (("--warmup", "no"), "--warmup cannot be “no”."),
    ],
)
def test_what_cannot_be_chosen_is_said(files, options, sentence):
    assert json.loads(run(*files, *options, "--json", code=1).stdout)["error"]["message"] == sentence


def test_a_workspace_keeps_its_sequences(workspace):
    traces = small_traces(5, samples=80)
    info = workspace.traces.add(traces, None, name="set")
    model = workspace.models.add(small_model(traces), name="model")
    found = workspace.sequences.get(info.id, model.id)
    assert workspace.sequences.get(info.id, model.id) is found
    assert workspace.sequences.get(info.id, model.id, Warmup.OWN) is not found
    assert found.graph(2) is found.graph(2)
    assert found.sequences.durations.tolist() == workspace.traces.summary(info.id)["duration_s"].tolist()
    assert sum(path.count for path in found.paths) == 5
    outlook = found.forecaster.forecast(found.sequences.phase[:1].tolist())
    assert sum(each.count for each in outlook.phases) == outlook.count
    with pytest.raises(NotFoundError):
        workspace.sequences.get("0" * 16, model.id)
