"""Answers and tables of Prometheus, read as trace sets."""

import json
from dataclasses import replace

import numpy as np
import pytest

from core.errors import InputError
from core.reading import inspect_file, read_traces, read_with_report
from core.reading.formats import prometheus, series_table
from core.reading.formats.prometheus import PrometheusSource
from core.reading.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role, fingerprint
from tests.reading.layouts.files import of, write


def series(metric, pod, values, **labels):
    return {"metric": {"__name__": metric, "pod": pod, **labels}, "values": values}


def answer(series):
    return {"status": "success", "data": {"resultType": "matrix", "result": series}}


def test_a_prometheus_answer_joins_metrics_and_makes_rates(tmp_path):
    cpu, memory = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
    found = [
        series(name, pod, [[1.7e9 + 15 * i, str(value(i))] for i in range(6)], container="main")
        for pod in ("a", "b")
        for name, value in ((cpu, lambda i: 100 + 30 * i), (memory, lambda i: 1000 + i))
    ]
    path = write(tmp_path, "answer.json", json.dumps(answer(found)))
    inspection = inspect_file(path)
    assert inspection.layout == "prometheus"
    assert inspection.columns[2].name == cpu
    traces, report = read_with_report(path)
    assert traces.ids == ("a/main", "b/main")
    assert of(traces, Role.CPU, "a/main") == pytest.approx([2.0] * 5)
    assert of(traces, Role.MEMORY, "b/main") == [1001, 1002, 1003, 1004, 1005]
    assert report.count("counter_start") == 2


CPU, MEMORY = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
RECEIVED = "container_network_receive_bytes_total"


def pods(containers, network, pause=True):
    """What cAdvisor says of pods: their containers, the pause container, their sums, and the pod's network.

    `network` are the labels of a pod's network beside its interface, per pod; None where it has none.
    """
    found = []
    for pod, names in containers.items():
        for n, container in enumerate((*names, *(["POD"] if pause else []), "")):
            label = {"container": container} if container else {}
            rate = sum(range(1, len(names) + 1)) if not container else 0 if container == "POD" else n + 1
            found.append(series(CPU, pod, [[1.7e9 + 15 * i, str(15 * rate * i)] for i in range(6)], **label))
            found.append(series(MEMORY, pod, [[1.7e9 + 15 * i, str(1e8 * rate)] for i in range(6)], **label))
        if network.get(pod) is not None:
            values = [[1.7e9 + 15 * i, str(1500 * i)] for i in range(6)]
            found.append(series(RECEIVED, pod, values, interface="eth0", **network[pod]))
    return found


@pytest.mark.parametrize("labels", [{}, {"container": "POD"}])
def test_containers_are_kept_and_the_sums_of_their_pods_are_not(tmp_path, labels):
    found = pods({"p1": ["main"], "p2": ["main"]}, {"p1": labels, "p2": labels})
    traces, report = read_with_report(write(tmp_path, "answer.json", json.dumps(answer(found))))
    assert traces.ids == ("p1/main", "p2/main")
    assert of(traces, Role.CPU, "p1/main") == pytest.approx([1.0] * 5)
    assert of(traces, Role.MEMORY, "p2/main") == [1e8] * 5
    assert of(traces, Role.NETWORK_IN, "p2/main") == pytest.approx([100.0] * 5)
    assert report.faultless
    (left,) = [one for one in report.problems if one.kind == "pod_sums"]
    assert left.count == 8
    assert "“p1”" in left.message


def test_the_network_of_several_containers_is_that_of_none(tmp_path):
    found = pods({"p1": ["main", "side"], "p2": ["main"], "host": ["main"]}, {"p1": {}, "p2": {}})
    traces, report = read_with_report(write(tmp_path, "answer.json", json.dumps(answer(found))))
    assert traces.ids == ("p1/main", "p1/side", "p2/main", "host/main")
    assert of(traces, Role.CPU, "p1/side") == pytest.approx([2.0] * 5)
    assert of(traces, Role.NETWORK_IN, "p2/main") == pytest.approx([100.0] * 5)
    assert all(np.isnan(of(traces, Role.NETWORK_IN, name)).all() for name in ("p1/side", "host/main"))
    assert report.rows_kept == 20
    (left,) = report.harmful
    assert left.kind == "pod_network"
    assert "“p1”" in left.message


def test_metrics_of_the_machine_cost_containers_no_sample(tmp_path):
    def samples(step):
        return [[1.7e9 + 15 * i, str(step * i)] for i in range(6)]

    pod = {"namespace": "ml", "pod": "bert-0"}
    metrics = (
        {"__name__": "container_cpu_usage_seconds_total", **pod, "container": "trainer"},
        {"__name__": "container_network_receive_bytes_total", **pod},
        {"__name__": "machine_cpu_cores", "node": "gpu-7"},
    )
    found = answer([{"metric": metric, "values": samples(30)} for metric in metrics])
    traces, report = read_with_report(write(tmp_path, "both.json", json.dumps(found)))
    assert traces.ids == ("bert-0/trainer",)
    assert of(traces, Role.CPU) == [2.0] * 5
    assert not report.faultless


def test_sums_of_pods_alone_are_executions(tmp_path):
    found = pods({"p1": [], "p2": []}, {"p1": {}, "p2": {}}, pause=False)
    traces, report = read_with_report(write(tmp_path, "answer.json", json.dumps(answer(found))))
    assert traces.ids == ("p1", "p2")
    assert of(traces, Role.NETWORK_IN, "p1") == pytest.approx([100.0] * 5)
    assert report.count("pod_sums") == report.count("pod_network") == 0
    only = [one for one in pods({"p": ["a", "b"]}, {"p": {}}) if one["metric"]["__name__"] == RECEIVED]
    traces, _ = read_with_report(write(tmp_path, "net.json", json.dumps(answer(only))))
    assert traces.ids == ("p",)


def test_a_table_of_containers_leaves_out_the_sums_of_their_pods(tmp_path):
    found = pods({"p1": ["main"], "p2": ["a", "b"]}, {"p1": {"container": "POD"}, "p2": {}})
    lines = ["timestamp,__name__,pod,container,value"]
    for one in found:
        labels = one["metric"]
        start = f"{labels['__name__']},{labels['pod']},{labels.get('container', '')}"
        lines += [f"{time:.0f},{start},{value}" for time, value in one["values"]]
    traces, report = read_with_report(write(tmp_path, "long.csv", "\n".join(lines) + "\n"))
    assert traces.ids == ("p1/main", "p2/a", "p2/b")
    assert of(traces, Role.CPU, "p2/b") == pytest.approx([2.0] * 5)
    assert of(traces, Role.NETWORK_IN, "p1/main") == pytest.approx([100.0] * 5)
    assert (report.count("pod_sums"), report.count("pod_network")) == (8, 1)
    assert [one.kind for one in report.harmful] == ["pod_network"]


def test_several_prometheus_answers_one_per_line(tmp_path, refuses):
    one = answer([{"metric": {"name": "x"}, "values": [[10 * i, str(i)] for i in range(4)]}])
    two = answer([{"metric": {"name": "y"}, "values": [[10 * i, "2"] for i in range(4)]}])
    path = write(tmp_path, "answers.json", json.dumps(one) + "\n" + json.dumps(two))
    mapping = inspect_file(path).mapping
    with refuses(InputError):
        read_traces(path)
    traces = read_traces(path, replace(mapping, features=(MappedColumn("value"),)))
    assert traces.ids == ("x", "y")
    assert traces.column("value").tolist() == [0, 1, 2, 3, 2, 2, 2, 2]


BARE = [
    {"metric": {"__name__": "container_memory_working_set_bytes", "pod": "a"}, "values": list(range(6))},
    {"metric": {"__name__": "container_cpu_usage_seconds_total", "pod": "a"}, "values": [0, 30, 60]},
    {"metric": {"__name__": "container_cpu_usage_seconds_total", "pod": "a"}, "values": [90, 120, None]},
]
TIMES = [[1_700_000_000 + 15 * i for i in range(6)], [1_700_000_000, 1_700_000_015, 1_700_000_030],
         [1_700_000_045, 1_700_000_060, 1_700_000_075]]  # fmt: skip


def test_rows_are_the_same_whether_containers_are_gathered_together_or_one_by_one(tmp_path, monkeypatch):
    cpu = "container_cpu_usage_seconds_total"
    memory = "container_memory_usage_bytes"
    seconds = {"b": [3, 6, 9, 12, 12], "a": [1, 2, 3, 4], "c": [5, 5, 6]}
    found = [
        series(metric, pod, [[min(15 * i, 45), str(value)] for i, value in enumerate(values)])
        for metric, pods in ((cpu, "bac"), (memory, "cba"))
        for pod, values in ((pod, seconds[pod]) for pod in pods)
    ]
    path = write(tmp_path, "a.json", json.dumps(answer(found)))
    together, report = read_with_report(path)
    monkeypatch.setattr(series_table, "BLOCK_SAMPLES", 1)
    one_by_one, same_report = read_with_report(path)
    assert together.ids == ("b", "a", "c")
    assert "duplicate_time" in {one.kind for one in report.problems}  # the last of container b
    assert fingerprint(one_by_one) == fingerprint(together)
    assert same_report == report


def exported():
    lines = [{**one, "timestamps": [1000 * t for t in times]} for one, times in zip(BARE, TIMES, strict=True)]
    return "\n".join(map(json.dumps, lines)) + "\n"


def result_alone():
    pairs = [
        [*zip(times, map(str, one["values"]), strict=True)] for one, times in zip(BARE, TIMES, strict=True)
    ]
    pairs[2].pop()
    return json.dumps([{**one, "values": two} for one, two in zip(BARE, pairs, strict=True)], indent=1)


def test_a_large_answer_that_is_too_deep_is_refused(tmp_path, monkeypatch, refuses):
    monkeypatch.setattr(prometheus, "HEAD_BYTES", 16)
    text = '{"data": {"result": [' + '{"a":' * 100_000
    with refuses(InputError):
        PrometheusSource.open(write(tmp_path, "deep.json", text))


@pytest.mark.parametrize("write_out", [exported, result_alone])
@pytest.mark.parametrize("large", [False, True])
def test_series_are_read_without_their_answer_and_in_blocks(tmp_path, monkeypatch, write_out, large):
    """As VictoriaMetrics exports them, and as jq .data.result leaves them."""
    if large:
        monkeypatch.setattr(prometheus, "HEAD_BYTES", 16)
    path = write(tmp_path, "series.json", write_out())
    assert inspect_file(path).layout == "prometheus"
    traces, _ = read_with_report(path)
    assert traces.ids == ("a",)
    assert traces.time.tolist() == TIMES[0][1:]
    assert of(traces, Role.CPU)[:4] == [2.0] * 4
    assert of(traces, Role.MEMORY) == [1, 2, 3, 4, 5]


def test_series_of_one_name_are_told_apart_by_their_labels(tmp_path):
    found = [
        series("m", "a", [[i, "1"] for i in range(3)], cpu="0"),
        series("m", "a", [[i, "2"] for i in range(3)], cpu="1"),
    ]
    traces = read_traces(write(tmp_path, "a.json", json.dumps(answer(found))))
    assert traces.ids == ("cpu=0", "cpu=1")


def test_a_large_prometheus_answer_is_inspected_by_its_head(tmp_path):
    found = [series("m", f"pod{p}", [[i, str(i)] for i in range(9000)]) for p in range(5)]
    path = write(tmp_path, "large.json", json.dumps(answer(found)))
    assert path.stat().st_size > 600_000
    inspection = inspect_file(path)
    assert [one.name for one in inspection.columns] == ["execution", "timestamp", "m"]
    assert read_traces(path).n_samples == 45_000


@pytest.mark.parametrize("lines", [False, True])
def test_metrics_behind_the_first_part_of_a_large_answer_are_seen(tmp_path, lines):
    """A range query's series are in the order of their metrics."""
    of_metrics = [
        [
            series(metric, f"pod-{p}", [[1.7e9 + 15 * i, str(rate * i + 1e8)] for i in range(3000)])
            for p in range(4)
        ]
        for metric, rate in ((CPU, 15), (MEMORY, 1))
    ]
    answers = [answer(one) for one in of_metrics] if lines else [answer([*of_metrics[0], *of_metrics[1]])]
    text = "\n".join(map(json.dumps, answers))
    path = write(tmp_path, "large.json", text)
    assert [one.role for one in inspect_file(path).mapping.features] == [Role.CPU, Role.MEMORY]
    traces, report = read_with_report(path)
    assert of(traces, Role.MEMORY, "pod-3")[0] == 1e8 + 1
    assert report.faultless


def test_a_metric_that_the_first_containers_lack_is_seen(tmp_path):
    found = [series(CPU, pod, [[1.7e9 + 15 * i, str(15 * i)] for i in range(60)]) for pod in "ab"]
    found.append(series(RECEIVED, "b", [[1.7e9 + 15 * i, str(1500 * i)] for i in range(60)]))
    traces, _ = read_with_report(write(tmp_path, "answer.json", json.dumps(answer(found))))
    assert of(traces, Role.NETWORK_IN, "b") == pytest.approx([100.0] * 59)


def test_a_prometheus_table_with_one_value_per_row(tmp_path):
    lines = ["timestamp,__name__,pod,value"]
    for i in range(4):
        for pod in ("a", "b"):
            lines.append(f"{1.7e9 + 10 * i:.0f},container_cpu_usage_seconds_total,{pod},{5 * i}")
            lines.append(f"{1.7e9 + 10 * i:.0f},container_memory_working_set_bytes,{pod},{100 + i}")
    traces = read_traces(write(tmp_path, "long.csv", "\n".join(lines)))
    assert traces.ids == ("a", "b")
    assert of(traces, Role.CPU, "b") == pytest.approx([0.5] * 3)
    assert of(traces, Role.MEMORY, "a") == [101, 102, 103]


@pytest.mark.parametrize(
    "text",
    [
        '{"status": "error", "error": "bad query"}',
        '{"status": "success", "data": {"result": []}}',
        '{"some": "thing"}',
        "[1, 2]",
        '{"data": ',
        '{"data": {"result": [{"metric": {}, "values": [[1, "x"]]}]}}',
        '{"data": {"result": [3]}}',
        '{"data": {"result": [{"metric": {}, "values": [[' + "9" * 400 + ', "1"]]}]}}',
        "[" * 100_000,
    ],
)
def test_json_that_is_no_answer_is_refused(tmp_path, text, refuses):
    with refuses(InputError):
        read_traces(write(tmp_path, "a.json", text))


@pytest.mark.parametrize(
    "changes",
    [
        {"features": ("timestamp",), "time_unit": "none"},
        {"execution": "m"},
        {"time": "m"},
        {"attributes": ("n",)},
    ],
)
def test_metrics_are_features_and_nothing_else(tmp_path, changes, refuses):
    names = changes.pop("features", ("l",))
    found = [series(name, "a", [[i, "1"] for i in range(3)]) for name in "lmn"]
    path = write(tmp_path, "a.json", json.dumps(answer(found)))
    mapping = ColumnMapping(tuple(MappedColumn(name) for name in names), period=1.0, **changes)
    with refuses(InputError):
        read_traces(path, mapping)


@pytest.mark.parametrize(
    ("metric", "label", "values"),
    [
        ("node_cpu_seconds_total", "mode", ("idle", "user")),
        ("container_cpu_usage_seconds_bucket", "le", ("0.1", "+Inf")),
        ("container_cpu_usage_cores", "quantile", ("0.5", "0.99")),
    ],
)
def test_labels_that_say_what_is_measured_name_no_execution(tmp_path, metric, label, values):
    series = [
        {
            "metric": {"__name__": metric, "pod": "p", label: value},
            "values": [[1.7e9 + 10 * i, str(5 * i)] for i in range(6)],
        }
        for value in values
    ]
    traces, report = read_with_report(write(tmp_path, "answer.json", json.dumps(answer(series))))
    assert traces.ids == ("p",)
    assert {feature.role for feature in traces.features} == {Role.OTHER}
    assert [one.kind for one in report.harmful] == ["doubtful"]


def counted(value, **labels):
    """CPU and memory of one thing."""
    return [
        {
            "metric": {"__name__": metric, **labels},
            "values": [[1.7e9 + 15 * i, str(start + step * i)] for i in range(20)],
        }
        for metric, start, step in (
            ("container_cpu_usage_seconds_total", 100, 15 * value),
            ("container_memory_working_set_bytes", value * 2**28, value * 1000),
        )
    ]


@pytest.mark.parametrize(
    ("own", "ids"), [({"pod": "p", "container": "c"}, ("p/c",)), ({"name": "web"}, ("web",)), ({}, ("/d/1",))]
)
def test_groups_of_containers_are_left_out_beside_these(tmp_path, own, ids):
    found = [*counted(3, id="/"), *counted(2, id="/d"), *counted(1, id="/d/1", **own)]
    traces, report = read_with_report(write(tmp_path, "answer.json", json.dumps(answer(found))))
    assert traces.ids == ids
    assert report.count("group_sums") == 4
    assert report.faultless


def test_groups_without_containers_are_executions(tmp_path):
    found = [*counted(3, id="/a.service"), *counted(2, id="/b.service")]
    traces, report = read_with_report(write(tmp_path, "answer.json", json.dumps(answer(found))))
    assert traces.ids == ("/a.service", "/b.service")
    assert report.faultless


def test_a_container_that_restarts_has_both_metrics_of_each_run(tmp_path):
    found = [one for run in "ab" for one in counted(1, pod="p", container="c", id=f"/p/{run}", name=run)]
    found[0]["metric"]["cpu"] = found[2]["metric"]["cpu"] = "total"
    traces, _ = read_with_report(write(tmp_path, "answer.json", json.dumps(answer(found))))
    assert traces.n_executions == 2
    assert np.isfinite(traces.columns).all()


@pytest.mark.parametrize(
    ("label", "clear"),
    [
        ("prometheus_replica", False),
        ("metrics_path", False),
        ("type", False),
        ("job", False),
        ("namespace", True),
        ("cluster_name", True),
        ("node", True),
    ],
)
def test_labels_that_tell_apart_are_known_ones_or_marked(tmp_path, label, clear):
    found = [*counted(1, pod="p", **{label: "x"}), *counted(2, pod="p", **{label: "y"})]
    traces, report = read_with_report(write(tmp_path, "answer.json", json.dumps(answer(found))))
    assert traces.n_executions == 2
    assert report.faultless is clear
    assert clear or f"“{label}”, such as “x”, “y”" in report.harmful[0].message


def test_a_long_table_of_statistics_is_marked(tmp_path):
    rows = [
        f"{1.7e9 + 60 * i},i-1,{metric},{stat},{value + i % 5}"
        for i in range(20)
        for metric, value in (("cpu_usage_cores", 1), ("memory_used_bytes", 2**30))
        for stat in ("Average", "Maximum")
    ]
    header = "timestamp,InstanceId,metric_name,stat,value\n"
    _, report = read_with_report(write(tmp_path, "long.csv", header + "\n".join(rows)))
    assert [one.column for one in report.harmful] == ["stat"]


def test_a_loopback_is_no_network(tmp_path):
    received = "container_network_receive_bytes_total"
    cards = [
        series(received, "a", [[1.7e9 + 15 * i, str(1500 * n * i)] for i in range(9)], interface=name)
        for n, name in enumerate(("eth0", "lo"), 1)
    ]
    traces = read_traces(write(tmp_path, "net.json", json.dumps(answer(cards))))
    roles = {feature.name: feature.role for feature in traces.features}
    assert roles == {f"{received} interface eth0": Role.NETWORK_IN, f"{received} interface lo": Role.OTHER}


def test_a_container_that_was_started_again_is_doubted(tmp_path):
    used = "container_memory_working_set_bytes"
    parts = [
        series(
            used, "a", [[1.7e9 + 15 * (i + 9 * n), "500000000"] for i in range(9)], container="m", id=f"/{n}"
        )
        for n in range(2)
    ]
    _, report = read_with_report(write(tmp_path, "again.json", json.dumps(answer(parts))))
    assert "unclear_label" in {one.kind for one in report.harmful}


def test_a_row_of_a_long_table_is_named_by_its_number_in_the_file(tmp_path):
    path = tmp_path / "long.csv"
    lines = [
        f"container_memory_working_set_bytes,a,{1_700_000_000 + 15 * i},{-5 if i == 3 else 1e8}"
        for i in range(8)
    ]
    path.write_text("\n".join(["metric,container,timestamp,value", *lines]) + "\n")
    _, report = read_with_report(path)
    assert [one.row for one in report.problems if one.kind == "negative"] == [5]
