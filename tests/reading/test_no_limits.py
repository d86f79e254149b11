"""Limits that are none, as kernels and tools write them: their cells are empty, and their rows are read."""

import json

import numpy as np
import pytest

from core.reading import inspect_file, read_with_report
from core.traces.model import Role

NONE = [0, -1, 2**63 - 4096, 2**63 - 1, 2**64 - 1]


def read(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = inspect_file(path)
    assert not found.questions
    traces, report = read_with_report(path, found.mapping)
    assert report.faultless
    assert report.rows_kept == report.rows_read
    return traces, report


def table(header, row, rows=40):
    return "\n".join([header, *(",".join(map(str, row(i))) for i in range(rows))]) + "\n"


@pytest.mark.parametrize("none", NONE)
def test_a_limit_that_is_none_costs_no_row(tmp_path, none):
    header = "time_s,container,cpu_cores,memory_mib,memory_limit_bytes"
    traces, report = read(
        tmp_path,
        table(header, lambda i: (i // 2, "ab"[i % 2], 0.5 + i % 7, 500 + i, none if i % 2 else 2**31)),
    )
    limits = traces.column("memory_limit_bytes")
    assert limits[traces.slice_of("a")].tolist() == [2**31] * 20
    assert np.isnan(limits[traces.slice_of("b")]).all()
    (said,) = [one for one in report.problems if one.kind == "no_limit"]
    assert said.message == "Column “memory_limit_bytes”: 20 values that mean no limit, first in row 3."


@pytest.mark.parametrize("none", NONE)
@pytest.mark.parametrize("limit", ["cpu_limit_cores", "memory_limit_bytes"])
def test_a_column_without_a_limit_is_left_out(tmp_path, limit, none):
    text = table(f"time_s,cpu_cores,memory_mib,{limit}", lambda i: (i, 0.5 + i % 7, 500 + i, none))
    traces, _ = read(tmp_path, text)
    assert [feature.role for feature in traces.features] == [Role.CPU, Role.MEMORY]


@pytest.mark.parametrize("none", NONE)
def test_a_limit_of_cadvisor_that_is_none(tmp_path, none):
    def series(metric, value):
        labels = {"__name__": metric, "pod": "a", "container": "m"}
        return {"metric": labels, "values": [[1_767_225_600 + 10 * i, str(value(i))] for i in range(40)]}

    result = [
        series("container_memory_working_set_bytes", lambda i: 5e8 + 1e6 * i),
        series("container_spec_memory_limit_bytes", lambda _: none),
    ]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    traces, _ = read(tmp_path, json.dumps(answer), "t.json")
    assert [feature.role for feature in traces.features] == [Role.MEMORY]


def test_limits_in_kib_are_none_as_well(tmp_path):
    none = (2**63 - 4096) // 1024
    text = table("time_s,memory_kib,memory_limit_kib", lambda i: (i, 50_000 + i, none if i % 2 else 90_000))
    limits = read(tmp_path, text)[0].values(Role.MEMORY_LIMIT)
    assert np.isnan(limits[1::2]).all()
    assert limits[::2].tolist() == [90_000 * 1024] * 20
