"""Odd traces and models on the command line: each gets a clear sentence, and none a traceback."""

import json

import pytest

from core.cli import main
from core.files.phase_models.archive import save_model
from core.reading import read_traces
from tests.builders import small_model, small_traces, write_csv
from tests.cli.test_cli import RUNNER

POLICIES = "prev.step.max,phase.rule,vpa"
COMMANDS = {
    "sequences": ("sequences",),
    "evaluate": ("evaluate", "--cycle", "100", "--policies", POLICIES),
    "verdict": ("verdict", "--cycle", "100", "--policies", POLICIES, "--format", "json"),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    path = write_csv(folder / "jobs.csv", small_traces(6, samples=80))
    save_model(small_model(read_traces(path)), folder / "model")
    return folder / "model"


def run(command, model, path):
    name, *options = COMMANDS[command]
    result = RUNNER.invoke(main.app, [name, str(model), str(path), *options, *MORE.get(command, ())])
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


MORE = {"sequences": ("--json",), "evaluate": ("--json",)}


def error_text(result):
    """The two sentences of an error, as JSON or for people."""
    assert result.exit_code == 1
    if result.stdout.startswith("{"):
        error = json.loads(result.stdout)["error"]
        return f"{error['message']} {error['hint']}"
    return " ".join(result.stderr.split())


def table(path, executions, samples, level=0.5):
    """A file in which nothing changes, so that all of it is one phase."""
    lines = ["execution,time,cpu_cores,memory_bytes"]
    lines += [f"job-{e},{10 * i},{level},1e9" for e in range(executions) for i in range(samples)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_without_rows(model, tmp_path, command, sentence):
    text = error_text(run(command, model, table(tmp_path / "empty.csv", 0, 0)))
    sentence(text)


@pytest.mark.parametrize("command", COMMANDS)
def test_executions_of_one_sample(model, tmp_path, command, sentence):
    text = error_text(run(command, model, table(tmp_path / "one.csv", 5, 1)))
    sentence(text)


@pytest.mark.parametrize("command", COMMANDS)
def test_executions_shorter_than_the_warm_up(model, tmp_path, command):
    result = run(command, model, table(tmp_path / "short.csv", 5, 2))
    if command == "sequences":
        assert result.exit_code == 0
        found = json.loads(result.stdout)
        assert [path["count"] for path in found["paths"]] == [5]
        assert found["transitions"] == []
    else:
        assert "No execution is longer than one cycle of 1 min 40 s" in error_text(result)


@pytest.mark.parametrize("command", COMMANDS)
def test_executions_of_one_phase(model, tmp_path, command):
    result = run(command, model, table(tmp_path / "calm.csv", 6, 60))
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    if command == "sequences":
        assert [(path["count"], len(path["elements"])) for path in found["paths"]] == [(6, 1)]
    elif command == "evaluate":
        assert {row["policy"] for row in found["results"]} == set(POLICIES.split(","))
    else:
        phases = {each["phase"] for row in found["workloads"] for each in row["by_phase"]}
        assert phases - {"warm-up"} == {"φ1"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_that_does_not_fit(model, tmp_path, command, sentence):
    path = table(tmp_path / "jobs.csv", 5, 60)
    path.write_text(path.read_text().replace("memory_bytes", "queue"))
    text = error_text(run(command, model, path))
    assert "The model needs “memory_bytes”, which these traces do not have." in text
    sentence(text)


def test_a_cycle_longer_than_every_execution(model, tmp_path, sentence):
    path = table(tmp_path / "jobs.csv", 5, 60)
    options = ["--cycle", "3600", "--policies", POLICIES, "--json"]
    text = error_text(RUNNER.invoke(main.app, ["evaluate", str(model), str(path), *options]))
    sentence(text)
