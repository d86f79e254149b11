"""The command line: tidy for people, exact for programs, and never a traceback."""

import json
import os
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from core.bootstrap import open_workspace
from core.cli import main
from core.config import load_settings
from core.files.phase_models.archive import load_model, save_model
from core.phases import predict
from core.reading import read_traces
from core.workspace.samples import DATA, RECORDED
from tests.builders import small_traces, write_csv

RUNNER = CliRunner()
REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "ai4dl"
PHASEDOCK = Path(sys.executable).with_name("phasedock")


def run(*arguments, code=0, answer=None):
    result = RUNNER.invoke(main.app, [str(argument) for argument in arguments], input=answer)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def run_json(*arguments, code=0):
    """The one document on standard output; anything else there would not parse."""
    return json.loads(run(*arguments, "--json", code=code).stdout)


@pytest.fixture
def csv(tmp_path):
    return write_csv(tmp_path / "jobs.csv", small_traces(4, samples=80))


@pytest.fixture
def model(tmp_path, csv):
    out = tmp_path / "model"
    run("model", "train", csv, "--epochs", 2, "--hidden", 4, "--phases", 3, "--seed", 7, "--out", out)
    return out


def test_help_lists_the_commands():
    shown = run("--help").stdout
    for name in ("serve", "worker", "traces", "model", "tasks", "predict"):
        assert name in shown
    for group in ("traces", "model"):
        assert "--json" in run(group, {"traces": "check", "model": "train"}[group], "--help").stdout


def test_help_is_there_at_once():
    """Measured in processor time, which other programs on the machine do not lengthen."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([PHASEDOCK, "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < 0.7


def test_nothing_heavy_is_imported_before_it_is_needed():
    heavy = "{'numpy', 'pandas', 'pyarrow', 'sklearn', 'numba', 'sqlalchemy', 'dash', 'plotly'}"
    script = f"import sys, core.cli.main; print({heavy} & set(sys.modules) or 'none')"
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "none"


def test_checking_a_file(csv):
    shown = run("traces", "check", csv).stdout
    assert "4 executions" in shown
    assert "cores" in shown
    assert "bytes" in shown
    assert "one every 10 s" in shown
    found = run_json("traces", "check", csv)
    assert found["executions"] == 4
    assert found["samples"] == len(csv.read_text().splitlines()) - 1
    assert [feature["role"] for feature in found["features"]] == ["cpu", "memory"]
    assert found["period_s"] == 10.0


def test_what_was_wrong_is_listed(csv):
    csv.write_text(csv.read_text().replace("\n", "\nbroken,row,x,y\n", 1))
    assert "! Row 2" in run("traces", "check", csv, code=3).stdout
    assert run_json("traces", "check", csv, code=3)["report"]["problems"]


def test_a_mapping_may_be_given_back(csv, tmp_path):
    mapping = tmp_path / "mapping.json"
    checked = run_json("traces", "check", csv)
    mapping.write_text(json.dumps({**checked["mapping"], "period": 5.0}))
    assert run_json("traces", "check", csv, "--mapping", mapping, code=3)["period_s"] == 5.0
    mapping.write_text(json.dumps(checked))
    assert run_json("traces", "check", csv, "--mapping", mapping)["period_s"] == 10.0
    for content in ("{", "[]", '{"colour": 1}'):
        mapping.write_text(content)
        assert "mapping" in run_json("traces", "check", csv, "--mapping", mapping, code=1)["error"]["message"]


def test_training_saves_the_librarys_model(csv, tmp_path):
    out = tmp_path / "model.zip"
    common = ("model", "train", csv, "--phases", 3, "--epochs", 2, "--hidden", 4, "--seed", 7)
    said = run_json(*common, "--out", out)
    assert said["phase_numbers"] == [1, 2, 3]
    assert said["epochs"] == 2
    assert said["final_error"] > 0
    again = run_json(*common, "--out", out, "--force")
    assert again["final_error"] == said["final_error"]
    loaded = load_model(out)
    assert loaded.settings.seed == 7
    assert [each["phase_number"] for each in said["statistics"]] == [
        each.phase + 1 for each in loaded.statistics
    ]


def test_training_shows_a_table_with_units(csv, tmp_path):
    shown = run("model", "train", csv, "--epochs", 2, "--out", tmp_path / "m").stdout
    for word in ("2 epochs in", "φ1", "cores", "%", "Saved to"):
        assert word in shown


def test_features_may_be_chosen(csv, tmp_path):
    run("model", "train", csv, "--epochs", 1, "--feature", "cpu_cores", "--out", tmp_path / "m")
    assert [feature.name for feature in load_model(tmp_path / "m").features] == ["cpu_cores"]


def test_predicting_prints_labels_by_execution_and_nothing_else(csv, model):
    traces = read_traces(csv)
    labels = predict(load_model(model), traces)
    said = run_json("predict", model, csv)
    assert list(said) == ["executions", "phase_names"]
    assert list(said["executions"]) == list(traces.ids)
    for name, values in said["executions"].items():  # as on the screen: 1 is φ1, and 0 is warm-up
        np.testing.assert_array_equal(values, labels[traces.slice_of(name)] + 1)
    shown = run("predict", model, csv).stdout
    assert "warm-up×3" in shown


def test_names_that_people_gave_to_phases_are_printed(csv, model, tmp_path):
    named = replace(load_model(model), names={0: "validation"})
    save_model(named, tmp_path / "named")
    assert run_json("predict", tmp_path / "named", csv)["phase_names"] == {"1": "validation"}
    assert "φ1 validation×" in run("predict", tmp_path / "named", csv).stdout
    assert "φ1 validation" in run("sequences", tmp_path / "named", csv).stdout
    assert run_json("sequences", tmp_path / "named", csv)["phase_names"] == {"φ1": "validation"}


def test_expanding_divides_one_phase(csv, model, tmp_path):
    out = tmp_path / "expanded"
    said = run_json("model", "expand", model, csv, "--phase", 2, "--into", 2, "--out", out)
    assert said["phase_numbers"] == [1, 3, 4, 5]
    before, after = (run_json("predict", each, csv)["executions"] for each in (model, out))
    for name in before:
        pairs = set(zip(before[name], after[name], strict=True))
        assert pairs <= {(0, 0), (1, 1), (3, 3), (2, 4), (2, 5)}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("predict", "nowhere", "{csv}"), "nowhere"),
        (("predict", "{model}", "nothing.csv"), "nothing.csv"),
        (("traces", "check", "nothing.csv"), "nothing.csv"),
        (("model", "expand", "{model}", "{csv}", "--phase", "10", "--into", "2", "--out", "{tmp}/x"), "φ10"),
        (("model", "train", "{csv}", "--epochs", "0", "--out", "{tmp}/x"), "pochs"),
        (("model", "train", "{csv}", "--solver", "magic", "--out", "{tmp}/x"), "olver"),
        (("model", "train", "{csv}", "--out", "{model}"), "already"),
        (("model", "train", "{csv}", "--out", "{tmp}", "--force"), "not a model"),
        (("model", "import-ai4dl", "{tmp}", "--out", "{tmp}/x"), "CRBM"),
    ],
)
def test_errors_are_two_sentences(csv, model, tmp_path, arguments, said):
    filled = [part.format(csv=csv, model=model, tmp=tmp_path) for part in arguments]
    error = run_json(*filled, code=1)["error"]
    assert said in error["message"]
    assert error["hint"]
    shown = run(*filled, code=1)
    assert error["message"].split()[0] in shown.output
    assert shown.stdout == ""


def test_what_nobody_thought_of_is_a_sentence_too(csv, model, monkeypatch):
    def broken(*_args):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("core.cli.offline_files.label", broken)
    error = run_json("predict", model, csv, code=1)["error"]
    assert "went wrong" in error["message"]
    log = Path(error["hint"].split("in ")[1].rstrip("."))
    assert "ZeroDivisionError" in log.read_text()
    log.unlink()


def test_wrong_usage_has_code_two(csv):
    run("predict", code=2)
    run("model", "train", csv, "--epochs", "many", "--out", "x", code=2)


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_wrong_settings_stop_the_start(command, monkeypatch):
    monkeypatch.setenv("PORT", "eighty")
    error = run_json(command, code=2)["error"]
    assert "PORT" in error["message"]
    assert "65535" in error["hint"]
    assert "PORT" in run(command, code=2).stderr


def test_the_bundled_model_fits_the_bundled_traces():
    said = run_json("predict", DATA / RECORDED.model, DATA / RECORDED.traces)
    assert len(said["executions"]) >= 24


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="AI4DL's published files are not here")
def test_the_published_model_predicts_what_its_authors_saw(tmp_path):
    run("model", "import-ai4dl", REFERENCE, "--out", tmp_path / "m")
    said = run_json("predict", tmp_path / "m", REFERENCE / "sample.csv")
    expected = json.loads((REFERENCE / "expected_phases.json").read_text())["executions"]
    assert said["executions"] == {
        name: [phase + 1 for phase in each["phases"]] for name, each in expected.items()
    }


def test_ctrl_c_has_its_own_code():
    script = "import core.cli.main as c\n@c.app.command()\ndef halt():\n    raise KeyboardInterrupt\nc.main()"
    result = subprocess.run(
        [sys.executable, "-c", script, "halt"], capture_output=True, text=True, check=False, env=os.environ
    )
    assert result.returncode == 130
    assert "Traceback" not in result.stderr


def test_serving_loads_nothing_unasked_and_says_where(monkeypatch, tmp_path):
    monkeypatch.setenv("PHASEDOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("core.cli.supervisor.check_port", lambda _: None)
    outcomes = iter([True, False, True])
    monkeypatch.setattr("core.cli.supervisor.serve", lambda _, announce: announce(next(outcomes)) or 0)
    assert "http://127.0.0.1:8050" in run("serve").stdout
    assert "is not responding yet" in run("serve").stdout
    assert run_json("serve") == {"address": "http://127.0.0.1:8050", "ready": True}
    workspace = open_workspace(load_settings())
    assert workspace.traces.list() == workspace.models.list() == []
    workspace.close()


def test_the_worker_command_runs_a_worker(monkeypatch, tmp_path):
    monkeypatch.setenv("PHASEDOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("core.tasks.worker.Worker.run", lambda _: None)
    monkeypatch.setattr("core.cli.supervisor.log_to", lambda *_: None)
    assert run_json("worker") == {"stopped": True}
