"""Questions about columns, answered in the shell."""

import json

import pytest
from typer.testing import CliRunner

from core.cli.main import app
from core.errors import InputError
from core.reading.mapping import ColumnMapping, MappedColumn
from core.reading.questions import PLACES, set_column
from core.traces.model import Role

HEADER, ROWS = ("when", "run", "load"), tuple((str(10 * i), "a", f"{i}00") for i in range(9))
START = ColumnMapping((MappedColumn("load"),), time="when")


def run(*words):
    return CliRunner().invoke(app, ["traces", "check", *map(str, words)])


@pytest.fixture
def unnamed(tmp_path):
    path = tmp_path / "grafana.csv"
    path.write_text("Time,pod-1,pod-2\n" + "".join(f"{15 * i},3{i}0000000,2{i}0000000\n" for i in range(9)))
    return path


def test_an_open_question_prints_the_mapping_so_far_and_the_answers(unnamed):
    answer = run(unnamed)
    assert answer.exit_code == 4
    assert "What does “value” measure?" in answer.stdout
    assert "--set value=" in answer.stdout
    assert "memory" in answer.stdout
    found = json.loads(run(unnamed, "--json").stdout)
    assert found["mapping"]["execution"] == "execution"
    assert "memory" in found["questions"][0]["answers"]


def test_an_answer_reads_the_file_and_its_mapping_can_be_saved(unnamed, tmp_path):
    answer = run(unnamed, "--set", "value=memory:bytes", "--json")
    found = json.loads(answer.stdout)
    assert found["features"] == [{"name": "value", "role": "memory", "unit": "bytes"}]
    assert found["executions"] == 2
    saved = tmp_path / "mapping.json"
    saved.write_text(answer.stdout)
    assert json.loads(run(unnamed, "--mapping", saved, "--json").stdout)["features"] == found["features"]


def test_doubts_and_facts_look_different_and_exit_differently(tmp_path):
    doubtful, clean = tmp_path / "d.csv", tmp_path / "c.csv"
    doubtful.write_text("time,cpu_cores\n" + "".join(f"{i},0.{i}\n" for i in range(9)))
    clean.write_text(
        "time_s,pod,cpu_cores\n" + "".join(f"{i},{pod},0.{i}\n" for i in range(9) for pod in "ab")
    )
    first, second = run(doubtful), run(clean)
    assert (first.exit_code, second.exit_code) == (3, 0)
    assert "\n! " in first.stdout
    assert "\n· " in second.stdout
    assert "!" not in second.stdout


@pytest.mark.parametrize(
    ("answer", "column", "role", "unit"),
    [
        ("cpu:millicores", "load", Role.CPU, "millicores"),
        ("gpu", "load", Role.GPU, "unknown"),
        ("other", "load", Role.OTHER, "plain"),
    ],
)
def test_a_role_and_its_unit_are_set(answer, column, role, unit):
    found = set_column(START, column, answer, HEADER, ROWS)
    assert found.features == (MappedColumn(column, role, unit),)


def test_a_column_can_be_the_time_the_execution_or_an_attribute():
    assert set_column(START, "when", "time:ms", HEADER, ROWS).time_unit == "ms"
    assert set_column(START, "run", "execution", HEADER, ROWS).execution == "run"
    assert set_column(START, "run", "attribute", HEADER, ROWS).attributes == ("run",)
    ignored = set_column(START, "when", "ignore", HEADER, ROWS)
    assert (ignored.time, ignored.period) == (None, None), "how far apart rows are is asked"


def test_there_is_one_cpu(refuses):
    both = ColumnMapping((MappedColumn("a", Role.CPU, "cores"), MappedColumn("load")))
    found = set_column(both, "load", "cpu:cores", ("a", "load"), (("1", "2"),))
    assert {one.column: one.role for one in found.features} == {"a": Role.OTHER, "load": Role.CPU}


@pytest.mark.parametrize("answer", ["speed", "memory:cores", ""])
def test_an_answer_that_is_none_lists_those_there_are(refuses, answer):
    with refuses(InputError):
        set_column(START, "load", answer, HEADER, ROWS)


def test_a_column_that_is_not_there_is_said(refuses):
    with refuses(InputError):
        set_column(START, "speed", PLACES[0], HEADER, ROWS)
