"""Samples as JSON lines."""

import json
from dataclasses import replace

import pytest

from core.errors import InputError
from core.reading import inspect_file, read_with_report
from core.reading.formats import json_lines
from core.reading.mapping import MappedColumn
from core.traces.model import Role
from tests.reading.layouts.files import of, write


def test_json_lines_name_columns_by_their_path(tmp_path):
    samples = [
        {
            "ts": 1.7e9 + 5 * i,
            "pod": {"name": name},
            "cpu": {"cores": 0.25 * i},
            "gpus": [{"util_percent": 5}, {"util_percent": 9}],
        }
        for i in range(4)
        for name in "ab"
    ]
    path = write(tmp_path, "own.jsonl", "".join(json.dumps(one) + "\n" for one in samples) + "no object\n")
    found = inspect_file(path)
    assert [column.name for column in found.columns] == [
        "ts",
        "pod.name",
        "cpu.cores",
        "gpus.0.util_percent",
        "gpus.1.util_percent",
    ]
    traces, report = read_with_report(path)
    assert traces.ids == ("a", "b")
    assert of(traces, Role.CPU, "b") == [0.0, 0.25, 0.5, 0.75]
    assert traces.time[0] == 1.7e9
    assert [(one.kind, one.row) for one in report.harmful] == [("ragged", 9)]


def test_objects_in_lists_are_called_by_their_names_in_any_order(tmp_path):
    lines = []
    for i in range(6):
        both = [{"name": name, "cpu_cores": cores} for name, cores in (("a", 1.1), ("b", 2.1))]
        lines.append(json.dumps({"ts": 1.7e9 + i, "containers": both[:: (-1) ** i]}))
    path = write(tmp_path, "own.jsonl", "\n".join(lines))
    found = inspect_file(path)
    assert [one.candidates for one in found.questions] == [
        ("containers.a.cpu_cores", "containers.b.cpu_cores")
    ]
    both = tuple(MappedColumn(name) for name in found.questions[0].candidates)
    traces, _ = read_with_report(path, replace(found.mapping, features=both))
    assert traces.column("containers.a.cpu_cores").tolist() == [1.1] * 6
    assert traces.column("containers.b.cpu_cores").tolist() == [2.1] * 6


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "success", "data": {"resultType": "matrix", "result": [], "stats": {"samples": 5}}},
        {"metric": {"pod": "a"}, "values": [1, 2, 3], "timestamps": [1, 2]},
        {"cpu": {str(i): i for i in range(300)}},
        {"container": "a", "state": "running"},
    ],
)
def test_json_that_is_no_sample_is_refused_and_not_read_as_one(tmp_path, answer):
    with pytest.raises(InputError):
        inspect_file(write(tmp_path, "other.json", json.dumps(answer) + "\n"))


SAMPLES = [
    {"time": 1.7e9 + 5 * i, "name": name, "cpu_cores": 0.25 * i, "memory": {"bytes": 2e9 + i}}
    for i in range(6)
    for name in "ab"
]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(SAMPLES),
        json.dumps(SAMPLES, indent=2),
        json.dumps({"data": SAMPLES, "total": len(SAMPLES)}),
        "\n".join(json.dumps(one, indent=1) for one in SAMPLES),
        "[" + ",\n".join(map(json.dumps, SAMPLES)),
        "\n".join(json.dumps({"stats": SAMPLES[2 * i : 2 * i + 2]}, indent=1) for i in range(6)),
        "".join(json.dumps(SAMPLES[i : i + 1]) for i in range(12)),
    ],
    ids=["list", "indented", "inside", "one after the other", "cut", "several inside", "several lists"],
)
def test_lists_of_objects_are_read_as_lines_are(tmp_path, monkeypatch, text):
    monkeypatch.setattr(json_lines, "MAX_LINE", 200)
    traces, report = read_with_report(write(tmp_path, "own.json", text))
    assert traces.ids == ("a", "b")
    assert of(traces, Role.CPU, "b") == [0.25 * i for i in range(6)]
    assert of(traces, Role.MEMORY, "a") == [2e9 + i for i in range(6)]
    assert traces.period == 5
    assert report.faultless


def test_a_second_list_of_one_object_is_told(tmp_path):
    path = write(tmp_path, "own.json", json.dumps({"a": SAMPLES, "b": SAMPLES}))
    _, report = read_with_report(path)
    assert [(one.kind, one.row) for one in report.harmful] == [("ragged", 13)]


def test_what_breaks_off_in_a_list_is_told(tmp_path):
    path = write(tmp_path, "own.json", json.dumps(SAMPLES)[:-40])
    traces, report = read_with_report(path)
    assert traces.n_samples == 11
    assert [(one.kind, one.row) for one in report.harmful] == [("ragged", 12)]


def test_a_document_is_no_sample_of_a_list(tmp_path, monkeypatch, refuses):
    monkeypatch.setattr(json_lines, "MAX_LINE", 300)
    text = json.dumps([*SAMPLES, {**SAMPLES[0], "log": "x" * 1_000}])
    with refuses(InputError):
        read_with_report(write(tmp_path, "own.json", text))


@pytest.mark.parametrize("lines", [False, True])
def test_numbers_that_are_written_as_texts_are_numbers(tmp_path, lines):
    samples = [
        {"pod": "a", "time": f"2026-01-31T12:00:{10 * i:02}Z", "cpu_cores": f"0.{i}"} for i in range(4)
    ]
    text = "\n".join(map(json.dumps, samples)) if lines else json.dumps(samples)
    traces, report = read_with_report(write(tmp_path, "texts.json", text))
    assert of(traces, Role.CPU) == [0.0, 0.1, 0.2, 0.3]
    assert report.faultless
