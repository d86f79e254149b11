"""Several series in one execution, sums beside their parts: told apart, or marked, not read in silence."""

import pytest

from core.reading import inspect_file, read_with_report

START = 1.7e9


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder, header, rows, name="mixed.csv"):
    return read_with_report(write(folder, name, "\n".join([header, *rows]) + "\n"))


def marked(report, kind):
    return [one.message for one in report.harmful if one.kind == kind]


@pytest.mark.parametrize(
    ("columns", "names", "ids"),
    [
        ("service", ("a", "b", "redis"), ("a", "b", "redis")),
        ("kubernetes.pod.name", ("p-0", "p-1"), ("p-0", "p-1")),
        ("podName,containerName", ("p,web", "p,db"), ("p/web", "p/db")),
        ("instance,app", ("h:1,web", "h:1,db"), ("h:1/web", "h:1/db")),
        ("cluster_name,pod", ("c1,p", "c2,p"), ("p/c1", "p/c2")),
        ("deployment,replica_name", ("web,web-0", "web,web-1"), ("web-0", "web-1")),
    ],
)
def test_names_that_take_turns_are_executions_whatever_they_are_called(tmp_path, columns, names, ids):
    rows = [f"{START + 2 * i},{names[i % len(names)]},{1 + i % len(names)},{5e8 + i}" for i in range(60)]
    traces, report = read(tmp_path, f"timestamp,{columns},cpu_cores,memory_bytes", rows)
    assert traces.ids == ids
    assert report.faultless


@pytest.mark.parametrize("header", ["timestamp,colour,cpu_cores", "execution,timestamp,colour,cpu_cores"])
def test_a_text_that_goes_to_and_fro_is_marked(tmp_path, header, sentence):
    first = "run," if header.startswith("execution") else ""
    rows = [f"{first}{START + 2 * i},{('red', 'blue')[i % 2]},{1 + 2 * (i % 2)}" for i in range(60)]
    _, report = read(tmp_path, header, rows)
    sentence(marked(report, "mixed_identity")[0])


@pytest.mark.parametrize("extra", ["host", "pod", "worker"])
def test_no_layout_hides_names_that_take_turns(tmp_path, extra):
    rows = [f"train,{START + 5 * i},{'ab'[i % 2]},{1 + 2 * (i % 2)},{5e8 + i}" for i in range(60)]
    traces, report = read(tmp_path, f"execution,timestamp,{extra},cpu_cores,memory_bytes", rows)
    assert traces.ids == ("train/a", "train/b")
    assert report.faultless


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("experiment", ("bert", "gpt")),
        ("trial_id", ("exp-a", "exp-b")),
        ("pid", ("1211", "1388")),
        ("repetition", ("1", "2")),
        ("worker", ("0", "1")),
        ("scenario", ("base", "peak")),
    ],
)
def test_names_one_after_another_are_marked(tmp_path, column, values):
    rows = [f"{START + 10 * i},h1,{values[i // 50]},{1 + i % 7},{5e8 + i}" for i in range(100)]
    _, report = read(tmp_path, f"timestamp,hostname,{column},cpu_cores,memory_bytes", rows)
    assert marked(report, "mixed_identity")


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("status", lambda i: ("running", "sleeping")[i % 3 == 0]),
        ("phase", lambda i: ("warm-up", "train")[i > 20]),
        ("message", lambda i: f"line {i}"),
        ("epoch", lambda i: i // 10),
        ("threads", lambda i: 12 + i % 3),
        ("node", lambda i: "ab"[i // 30]),
    ],
)
def test_what_changes_while_an_execution_runs_is_no_name(tmp_path, column, cell):
    rows = [f"{START + 10 * i},train,{cell(i)},{1 + i % 7},{5e8 + i}" for i in range(60)]
    traces, report = read(tmp_path, f"timestamp,container,{column},cpu_cores,memory_bytes", rows)
    assert traces.ids == ("train",)
    assert report.faultless


@pytest.mark.parametrize(
    ("columns", "ids", "metrics"),
    [
        (
            "cpu_cores_train-1,cpu_cores_request_train-1,cpu_cores_limit_train-1",
            ("train-1",),
            ("cpu_cores", "cpu_cores request", "cpu_cores limit"),
        ),
        (
            "memory_bytes_train-1,memory_bytes_cache-train-1,memory_bytes_limit-train-1",
            ("train-1",),
            ("memory_bytes", "memory_bytes cache", "memory_bytes limit"),
        ),
        ("cpu_cores_limit_a-1,cpu_cores_limit_b-1", ("a-1", "b-1"), ("cpu_cores limit",)),
        ("cpu_cores_cache-1,cpu_cores_cache-2", ("cache-1", "cache-2"), ("cpu_cores",)),
        ("cpu_cores_user-db-1,cpu_cores_web-2", ("user-db-1", "web-2"), ("cpu_cores",)),
    ],
)
def test_a_limit_beside_its_container_is_a_column_of_it(tmp_path, columns, ids, metrics):
    n = len(columns.split(","))
    rows = [f"{START + 10 * i}," + ",".join(str((k + 1) * 2e8 + i) for k in range(n)) for i in range(30)]
    inspection = inspect_file(write(tmp_path, "wide.csv", f"time,{columns}\n" + "\n".join(rows)))
    assert inspection.columns[0].examples == ids
    assert tuple(column.name for column in inspection.columns[2:]) == metrics
