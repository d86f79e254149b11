"""Files as tools write them: kubectl top, psrecord, docker stats, Grafana, long tables of metrics."""

import numpy as np
import pytest

from core.errors import InputError
from core.reading import inspect_file, read_with_report
from core.reading.formats import long_table, spaced
from core.reading.mapping import INTERVAL, ColumnMapping, MappedColumn
from core.reading.questions import list_questions, set_column
from core.traces.model import Feature, Role
from core.units import GIB, MIB, Unit
from tests.reading.layouts.files import answer, of, series, write

TOP = """NAMESPACE   POD       NAME   CPU(cores)   MEMORY(bytes)
ml          train-1   main   544m         512Mi
ml          train-1   side   2m           20Mi
ml          train-2   main   1200m        2048Mi
"""


def test_kubectl_top_in_a_loop(tmp_path):
    text = "".join(f"Sat Jan 31 12:00:{10 * i:02d} UTC 2026\n{TOP}" for i in range(4))
    path = write(tmp_path, "top.txt", text)
    assert inspect_file(path).label == "kubectl top"
    traces, report = read_with_report(path)
    assert traces.ids == ("ml/train-1/main", "ml/train-1/side", "ml/train-2/main")
    assert of(traces, Role.CPU, "ml/train-1/main") == pytest.approx([0.544] * 4)
    assert of(traces, Role.MEMORY, "ml/train-2/main") == [2048 * MIB] * 4
    assert traces.period == 10
    assert report.faultless


def test_how_far_apart_rows_without_times_are_is_asked(tmp_path, refuses):
    path = write(tmp_path, "top.txt", TOP * 3)
    found = inspect_file(path)
    assert [one.column for one in found.questions] == [INTERVAL]
    with refuses(InputError):
        read_with_report(path)
    rows, header = found.rows_preview, [one.name for one in found.columns]
    for seconds in ("15", "15s"):
        mapping = set_column(found.mapping, INTERVAL, seconds, header, rows)
        assert not list_questions(mapping, header, rows)
        traces, report = read_with_report(path, mapping)
        assert (traces.period, report.faultless) == (15.0, True)
    with refuses(InputError):
        set_column(found.mapping, INTERVAL, "often", header, rows)


def test_kubectl_top_as_csv_is_told_by_its_cells(tmp_path):
    text = "time,NAME,CPU(cores),MEMORY(bytes)\n" + "".join(
        f"{1.7e9 + 15 * i:.0f},{name},{100 + i}m,{200 + i}Mi\n" for i in range(4) for name in "ab"
    )
    traces, report = read_with_report(write(tmp_path, "top.csv", text))
    assert of(traces, Role.CPU, "b") == pytest.approx([0.1, 0.101, 0.102, 0.103])
    assert of(traces, Role.MEMORY, "a") == [(200 + i) * MIB for i in range(4)]
    assert report.faultless


def test_psrecord_counts_in_percent_of_one_core_and_in_mebibytes(tmp_path):
    text = "# Elapsed time   CPU (%)     Real (MB)   Virtual (MB)\n" + "".join(
        f"{i:12.3f} {150 + i:12.3f} {100.5:12.3f} {200.0:12.3f}\n" for i in range(4)
    )
    traces, report = read_with_report(write(tmp_path, "log.txt", text))
    assert of(traces, Role.CPU) == pytest.approx([1.5, 1.51, 1.52, 1.53])
    assert of(traces, Role.MEMORY) == pytest.approx([100.5 * MIB] * 4)
    assert report.faultless


def test_docker_stats_between_commas_with_and_without_a_header(tmp_path):
    rows = [f"2026-01-31T12:00:{10 * i:02d}Z,train,54.49%,0.62GiB / 64GiB,1.2kB / 0B" for i in range(4)]
    for head in ([], ["time,name,cpu,mem,net"]):
        traces, report = read_with_report(write(tmp_path, "stats.csv", "\n".join([*head, *rows])))
        assert traces.ids == ("train",)
        assert of(traces, Role.CPU) == pytest.approx([0.5449] * 4)
        assert of(traces, Role.MEMORY) == pytest.approx([0.62 * GIB] * 4)
        assert of(traces, Role.MEMORY_LIMIT) == pytest.approx([64 * GIB] * 4)
        assert [one.kind for one in report.harmful] == ([] if head else ["unnamed_io"])


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;"])
def test_a_line_that_tells_excel_the_separator_is_no_header(tmp_path, first):
    rows = "".join(f"2026-01-31 12:00:{10 * i:02d};{i},5;1,5\n" for i in range(4))
    text = f'{first}\n"Time";"CPU cores train-1";"CPU cores train-2"\n{rows}'
    traces, report = read_with_report(write(tmp_path, "grafana.csv", text))
    assert traces.ids == ("train-1", "train-2")
    assert of(traces, Role.CPU, "train-1") == [0.5, 1.5, 2.5, 3.5]
    assert report.faultless


@pytest.mark.parametrize("time", ["{:d}", "2026-01-31 12:00:{:02d}", "2026-01-31T12:00:{:02d}Z"])
@pytest.mark.parametrize("mark", ["", "# "])
def test_cells_may_stand_apart_by_spaces(tmp_path, time, mark):
    rows = "".join(f"{time.format(10 * i):<22} a    0.{i}   {500 + i}Mi\n" for i in range(6))
    text = f"{mark}time  container  cpu_cores  memory\n{rows}out of memory\n\n{rows.splitlines()[-1]}\n"
    traces, report = read_with_report(write(tmp_path, "own.txt", text))
    assert traces.ids == ("a",)
    assert of(traces, Role.CPU) == [i / 10 for i in range(6)]
    assert of(traces, Role.MEMORY) == [(500 + i) * MIB for i in range(6)]
    assert traces.period == 10
    assert {one.kind for one in report.harmful} >= {"ragged", "duplicate_time"}


@pytest.mark.parametrize("text", ["a b\n1 2\n3 4 5\n6 7\n", "1 2\n3 4\n5 6\n7 8\n", "a b\nc d\ne f\ng h\n"])
def test_other_texts_with_spaces_are_no_tables(tmp_path, text):
    assert not spaced.is_spaced(text)


def test_commas_within_numbers_separate_no_cells(tmp_path):
    rows = "".join(
        f'"train-{p}";2026-01-31T12:00:{10 * i:02d}Z;{p},{i}00,000,000.25\n' for p in (1, 2) for i in range(6)
    )
    text = f'"pod";"time";"memory_bytes"\n{rows}'
    traces, report = read_with_report(write(tmp_path, "grafana.csv", text))
    assert traces.ids == ("train-1", "train-2")
    assert of(traces, Role.MEMORY, "train-2") == [2e9 + i * 1e8 + 0.25 for i in range(6)]
    assert report.faultless


def test_grafana_long_and_wide_are_the_same_set(tmp_path):
    wide = '"Time","CPU cores train-1","CPU cores train-2"\n' + "".join(
        f"2026-01-31 12:00:{10 * i:02d},{0.5 + i},{1.5 + i}\n" for i in range(4)
    )
    long = "Series;Time;Value\n" + "".join(
        f'"cpu_cores{{pod=""train-{p}""}}";2026-01-31T12:00:{10 * i:02d}Z;{p - 0.5 + i}\n'
        for p in (1, 2)
        for i in range(4)
    )
    for name, text in (("wide.csv", wide), ("long.csv", long)):
        traces, _ = read_with_report(write(tmp_path, name, text))
        assert traces.ids == ("train-1", "train-2")
        assert of(traces, Role.CPU, "train-2") == [1.5, 2.5, 3.5, 4.5]


def test_a_container_that_begins_late_has_no_rows_before(tmp_path):
    text = "Time,cpu_cores train-1,cpu_cores train-2\n" + "".join(
        f"{1.7e9 + 10 * i:.0f},{i},{i if i > 2 else ''}\n" for i in range(6)
    )
    traces, report = read_with_report(write(tmp_path, "late.csv", text))
    assert [len(one.time) for one in traces.executions()] == [6, 3]
    assert report.faultless


def test_columns_that_are_statistics_are_no_containers(tmp_path):
    text = "Time,cpu_p50,cpu_p95\n" + "".join(f"{i},0.5,0.9\n" for i in range(4))
    assert [one.name for one in inspect_file(write(tmp_path, "p.csv", text)).columns] == [
        "Time",
        "cpu_p50",
        "cpu_p95",
    ]


def test_cells_of_an_unknown_column_say_its_unit(tmp_path):
    rows = "".join(f"{i},{i}.5,3 MiB\n" for i in range(3))
    traces, _ = read_with_report(write(tmp_path, "t.csv", "timestamp,cpu_cores,buffer\n" + rows))
    assert traces.features[1] == Feature("buffer", Role.OTHER, Unit.BYTES)
    assert traces.columns[1].tolist() == [3 * 2**20] * 3


def test_a_long_table_without_a_whole_row_is_refused(tmp_path, refuses):
    text = "\ftimestamp,__name__,container,value\n0,container_memory_usage_bytes,a,0\n1"
    with refuses(InputError):
        read_with_report(write(tmp_path, "cut.csv", text))


def test_formatted_values_of_a_long_table_have_their_own_units(tmp_path, refuses):
    text = "metric,pod,time,value\n" + "".join(
        f"cpu_percent,a,{10 * i},{50 + i}%\nmemory,a,{10 * i},{1 + i}.5 GiB\n" for i in range(4)
    )
    path = write(tmp_path, "formatted.csv", text)
    found = inspect_file(path)
    assert [one.column for one in found.questions] == ["cpu_percent"]
    features = (
        MappedColumn("cpu_percent", Role.CPU, "percent_of_core"),
        MappedColumn("memory", Role.MEMORY, "bytes"),
    )
    mapping = ColumnMapping(features, execution="execution", time="timestamp")
    traces, _ = read_with_report(path, mapping)
    assert of(traces, Role.CPU) == pytest.approx([0.5, 0.51, 0.52, 0.53])
    assert of(traces, Role.MEMORY) == [(1.5 + i) * GIB for i in range(4)]
    with refuses(InputError):
        read_with_report(
            path,
            ColumnMapping(
                (MappedColumn("memory", Role.MEMORY, "mib"),), execution="execution", time="timestamp"
            ),
        )


def test_a_container_that_begins_long_after_the_first_rows_is_read(tmp_path):
    text = "Time,cpu_cores train-1,cpu_cores train-2\n" + "".join(
        f"{1.7e9 + 10 * i:.0f},{i / 1e3},{i / 1e3 if i >= 2500 else ''}\n" for i in range(3000)
    )
    traces, _ = read_with_report(write(tmp_path, "late.csv", text))
    assert [len(one.time) for one in traces.executions()] == [3000, 500]


def by_metric(n):
    """A table of two metrics, one behind the other, as a database gives them out."""
    return "timestamp,__name__,pod,value\n" + "".join(
        f"{1.7e9 + 10 * i:.0f},{metric},{pod},{value + i / 1e4}\n"
        for metric, value in (("cpu_cores", 1), ("memory_bytes", 1e9))
        for pod in "ab"
        for i in range(n)
    )


def test_metrics_behind_the_first_rows_are_seen(tmp_path):
    path = write(tmp_path, "sorted.csv", by_metric(2500))
    assert [one.role for one in inspect_file(path).mapping.features] == [Role.CPU, Role.MEMORY]
    traces, report = read_with_report(path)
    assert of(traces, Role.MEMORY, "b")[:2] == [1e9, 1e9 + 1e-4]
    assert report.faultless


def test_a_metric_that_comes_too_late_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(long_table, "MAX_SEARCHED_CHARS", 1000)
    _, report = read_with_report(write(tmp_path, "sorted.csv", by_metric(2500)))
    assert [(one.kind, one.column) for one in report.harmful] == [("late_column", "memory_bytes")]


def test_two_expressions_of_one_pod_are_joined_by_pod_and_time(tmp_path):
    one = answer(*(series({"pod": pod}, np.arange(4) * 0.5) for pod in "ab"))
    two = answer(*(series({"pod": pod, "container": "main"}, [5e8 + i for i in range(4)]) for pod in "ab"))
    path = write(tmp_path, "two.json", f"[{one},{two}]")
    found = inspect_file(path)
    assert [column.name for column in found.columns] == ["execution", "timestamp", "value"]
    path = write(
        tmp_path,
        "two.json",
        f"[{one},{answer(*(series({'pod': pod}, [5e8 + i for i in range(4)]) for pod in 'ab'))}]",
    )
    features = (MappedColumn("value 1", Role.CPU, "cores"), MappedColumn("value 2", Role.MEMORY, "bytes"))
    traces, _ = read_with_report(path, ColumnMapping(features, execution="execution", time="timestamp"))
    assert traces.ids == ("a", "b")
    assert of(traces, Role.CPU, "b") == [0, 0.5, 1, 1.5]


def test_values_that_replace_others_are_counted(tmp_path):
    text = "timestamp,__name__,pod,value\n" + "".join(
        f"{10 * (i // 2)},memory_bytes,a,{1e9 + i}\n" for i in range(8)
    )
    traces, report = read_with_report(write(tmp_path, "twice.csv", text))
    assert traces.n_samples == 4
    assert report.count("duplicate_time") == 4
    assert not report.faultless


def test_pods_and_containers_name_an_execution_together(tmp_path):
    text = "time_s,pod,container,cpu_cores\n" + "".join(
        f"{10 * i},p,{name},{value + i}\n" for i in range(4) for name, value in (("x", 0), ("y", 5))
    )
    traces, report = read_with_report(write(tmp_path, "pods.csv", text))
    assert traces.ids == ("p/x", "p/y")
    assert of(traces, Role.CPU, "p/y") == [5, 6, 7, 8]
    assert report.faultless


def test_times_of_day_go_on_after_midnight(tmp_path):
    clock = ["23:59:40", "23:59:50", "00:00:00", "00:00:10"]
    text = "time,cpu_cores\n" + "".join(f"{at},{i}\n" for i, at in enumerate(clock))
    traces, report = read_with_report(write(tmp_path, "night.csv", text))
    assert traces.period == 10
    assert of(traces, Role.CPU) == [0, 1, 2, 3]
    assert report.count("past_midnight") == 1
    assert report.faultless


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("t,cpu_cores,memory\n" + "".join(f"{i},1,2M\n" for i in range(4)), "assumed_suffix"),
        ("t;cpu_cores\n" + "".join(f"{i};{1 + i}.234\n" for i in range(4)), "assumed_point"),
        ("t;cpu_cores;b\n" + "".join(f"{i};{1 + i},234;1\n" for i in range(4)), "ambiguous_number"),
        ("t,cpu_cores\n" + "".join(f"{i},{'x' if i == 3 else 1}\n" for i in range(8)), "unparsable"),
        ("t,cpu_cores\n1,1\n1,2\n2,3\n3,1\n", "duplicate_time"),
        ("t,cpu\n1,1\n2,2\n3,1\n", "assumed_unit"),
    ],
)
def test_what_is_not_sure_is_no_faultless_import(text, kind, tmp_path):
    _, report = read_with_report(write(tmp_path, "odd.csv", text))
    assert kind in [one.kind for one in report.harmful]
    assert not report.faultless
    assert all(one.rows or one.row is None for one in report.harmful)


def test_units_that_a_layout_knows_are_not_assumed_and_guessed_ones_are(tmp_path):
    header, labels = "timestamp,__name__,pod,value\n", "DCGM_FI_DEV_GPU_UTIL,a"
    known = write(
        tmp_path, "dcgm.csv", header + "".join(f"{1_700_000_000 + i},{labels},{40 + i}\n" for i in range(6))
    )
    assert inspect_file(known).mapping.assumed == ()
    rows = "".join(f"a,{1_700_000_000 + i},1.5,2000000,{40 + i}\n" for i in range(6))
    table = "execution,timestamp,cpu_cores,memory_bytes,gpu_util\n" + rows
    assert inspect_file(write(tmp_path, "recorded.csv", table)).mapping.assumed == ("gpu_util",)


def test_an_expression_as_legend_names_its_container(tmp_path):
    legends = [f'"rate(container_cpu_usage_seconds_total{{pod=""{pod}""}}[5m])"' for pod in "ab"]
    rows = [f"2026-01-31 12:00:{15 * i:02d},0.{i},1.{i}" for i in range(4)]
    path = write(tmp_path, "panel.csv", "\n".join([",".join(['"Time"', *legends]), *rows]) + "\n")
    traces, report = read_with_report(path)
    assert traces.ids == ("a", "b")
    assert of(traces, Role.CPU, "b") == [1.0, 1.1, 1.2, 1.3]
    assert report.faultless


def test_a_column_that_is_only_taken_for_usage_marks_the_import_and_names_the_word(tmp_path):
    rows = "".join(f"2026-01-31T12:00:0{i},1.{i},{500 + i}\n" for i in range(9))
    path = write(tmp_path, "slurm.csv", "timestamp,cpu_cores,mem_alloc_mib\n" + rows)
    said = "Column “mem_alloc_mib” was taken for memory usage in MiB; “alloc” may say that it is not."
    assert said in inspect_file(path).reasons
    _, report = read_with_report(path)
    assert [(one.kind, one.message) for one in report.harmful] == [("assumed_role", said)]


@pytest.mark.parametrize(
    ("name", "marked"),
    [
        ("cpu_cores_sum", True),
        ("CPU cores (Sum)", True),
        ("sum(rate(container_cpu_usage_seconds_total[5m]))", False),
        ("node_namespace_pod_container:container_cpu_usage_seconds_total:sum_irate", False),
    ],
)
def test_a_sum_behind_a_name_may_be_one_over_time(tmp_path, name, marked):
    rows = "".join(f"2026-01-31T12:00:0{i},1.{i}\n" for i in range(9))
    _, report = read_with_report(write(tmp_path, "sums.csv", f'timestamp,"{name}"\n{rows}'))
    assert [one.kind for one in report.harmful] == ["assumed_role"] * marked
