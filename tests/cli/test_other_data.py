"""That a model was trained on other data is said by every command that applies it, on standard error."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from core.cli import main
from core.cli.offline_files import read
from core.files import load_model, save_model
from core.traces.model import fingerprint
from tests.builders import small_model, small_traces, write_csv

RUNNER = CliRunner()
COMPARED = ("--cycle", "100", "--policies", "prev.step.max,phase.rule")
COMMANDS = {
    "predict": ("--json",),
    "sequences": ("--json",),
    "evaluate": (*COMPARED, "--json"),
    "verdict": (*COMPARED, "--json"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model, the file that it was trained on, and one with fifty times as much of everything."""
    folder, made = tmp_path_factory.mktemp("files"), small_traces(8, samples=80)
    near = write_csv(folder / "near.csv", made)
    far = write_csv(folder / "far.csv", replace(made, columns=tuple(50 * column for column in made.columns)))
    return save_model(small_model(made), folder / "model"), near, far


def run(*arguments):
    result = RUNNER.invoke(main.app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_warns_in_one_line(files, command, sentence):
    model, near, far = files
    warned = run(command, model, far, *COMMANDS[command])
    json.loads(warned.stdout)
    (line,) = [line for line in warned.stderr.splitlines() if "Warning" in line]
    assert line.startswith("Warning: model was trained on other data. ")
    sentence(line)
    assert "Warning" not in run(command, model, near, *COMMANDS[command]).stderr


def test_the_traces_of_the_training_need_no_warning_of_an_older_model(files, tmp_path):
    model, near, far = files
    loaded = load_model(model)
    older = replace(loaded, training=replace(loaded.training, ranges=(), fingerprint=fingerprint(read(near))))
    saved = save_model(older, tmp_path / "older")
    assert run("predict", saved, near, "--json").stderr == ""
    assert "what older was trained on is not known" in run("predict", saved, far, "--json").stderr


def test_a_model_that_is_refitted_is_not_doubted(files):
    model, _, far = files
    assert "Warning" not in run("evaluate", model, far, *COMPARED, "--refit", "--json").stderr
