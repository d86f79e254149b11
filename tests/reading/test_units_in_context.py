"""Units that one column does not tell: what the rest of a table says of them, and what nothing says."""

import json

import numpy as np
import pytest

from core.reading import inspect_file, read_with_report
from core.traces.model import Role
from core.units import GIB, MIB

ROWS = 40


def cpu(i):
    return round(1.2 + 0.9 * np.sin(i / 7) + i % 5 / 10, 3)


def table(header, row, separator=","):
    return "\n".join([header, *(separator.join(map(str, row(i))) for i in range(ROWS))]) + "\n"


def inspect(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return inspect_file(path), path


def read(tmp_path, text, name="t.csv"):
    found, path = inspect(tmp_path, text, name)
    assert not found.questions
    traces, report = read_with_report(path, found.mapping)
    return traces, {one.kind: one.message for one in report.harmful}


def questions(tmp_path, text, name="t.csv"):
    return {one.column: one for one in inspect(tmp_path, text, name)[0].questions}


UPTIME = 20 * 86_400 * 1000


@pytest.mark.parametrize("behind", [0, 120, 600, 2500])
@pytest.mark.parametrize("step", [1000, 5000, 30_000, 60_000])
def test_milliseconds_of_an_uptime_are_no_seconds_of_a_date(tmp_path, behind, step):
    rows = [f"{UPTIME + step * i + behind * k},{'ab'[k]},{cpu(i)}" for i in range(ROWS) for k in range(2)]
    found = questions(tmp_path, "timestamp,container,cpu_cores\n" + "\n".join(rows) + "\n")
    assert found["timestamp"].choices == ("ms", "s")


@pytest.mark.parametrize("executions", [1, 3, 5])
@pytest.mark.parametrize("step", [2000, 20_000, 60_000, 300_000])
def test_so_they_are_where_stamps_jitter(tmp_path, step, executions):
    late = np.random.default_rng(executions).integers(0, 40, (ROWS, executions))
    rows = [
        f"{UPTIME + step * i + 120 * k + late[i, k]},run-{k},{cpu(i)}"
        for i in range(ROWS)
        for k in range(executions)
    ]
    found = questions(tmp_path, "timestamp,container,cpu_cores\n" + "\n".join(rows) + "\n")
    assert found["timestamp"].choices == ("ms", "s")


@pytest.mark.parametrize("step", [60, 300, 900, 3600, 86_400])
def test_seconds_as_people_set_them_are_read(tmp_path, step):
    traces, said = read(tmp_path, table("time,cpu_cores", lambda i: (1_728_000_000 + step * i, cpu(i))))
    assert (traces.period, said) == (step, {})


def test_microseconds_since_a_boot_are_asked(tmp_path):
    text = table("timestamp,cpu_cores", lambda i: (UPTIME * 1000 + 60_000_000 * i, cpu(i)))
    assert questions(tmp_path, text)["timestamp"].choices == ("us", "ms")


def test_seconds_by_name_that_are_thousands_apart_are_asked(tmp_path):
    assert questions(tmp_path, table("seconds,cpu_cores", lambda i: (5000 * i, cpu(i))))["seconds"].time


@pytest.mark.parametrize(("separator", "name"), [(";", "t.csv"), ("\t", "t.tsv")])
def test_points_with_three_digits_beside_decimal_commas_are_marked(tmp_path, separator, name, sentence):
    def row(i):
        return i, f"{cpu(i):.2f}".replace(".", ","), f"{412 + i}.125"

    text = table(separator.join(("time_s", "cpu_cores", "memory_mib")), row, separator)
    sentence(read(tmp_path, text, name)[1]["assumed_thousands"])


def test_thousands_that_another_cell_shows_are_not_marked(tmp_path):
    def row(i):
        return i, f"{cpu(i):.2f}".replace(".", ","), f"{980 + i}.125" if i < 20 else f"1.{i:03}.125"

    traces, said = read(tmp_path, table("time_s;cpu_cores;memory_kib", row, ";"))
    assert said == {}
    assert traces.values(Role.MEMORY)[0] == 980_125 * 1024


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("containers.app.cpu_cores", "containers.job.cpu_cores"),
        ("prometheus_cpu_cores", "docker_cpu_cores"),
        ("metricbeat.cpu.cores", "telegraf.cpu.cores"),
        ("process_cpu_cores", "container_cpu_cores"),
    ],
)
def test_columns_of_two_things_are_asked(tmp_path, one, other):
    found = questions(tmp_path, table(f"time_s,{one},{other}", lambda i: (i, cpu(i), 2 + cpu(i))))
    assert found[one].candidates == (one, other)


def test_containers_by_name_inside_an_object_are_asked(tmp_path):
    lines = (
        {"time_s": i, "containers": {"app": {"cpu_cores": cpu(i)}, "job": {"cpu_cores": 2 + cpu(i)}}}
        for i in range(ROWS)
    )
    assert questions(tmp_path, "\n".join(map(json.dumps, lines)) + "\n", "t.jsonl")


def test_two_columns_of_names_tell_executions_apart(tmp_path):
    rows = [f"{5 * i},{['web', 'db'][k % 2]},j{k // 2},{cpu(i + k)}" for i in range(ROWS) for k in range(4)]
    text = "time_s,containers.app,containers.job,cpu_cores\n" + "\n".join(rows) + "\n"
    assert len(read(tmp_path, text)[0].ids) == 4


@pytest.mark.parametrize(
    ("name", "size"), [("gpu_memory_gb", 24), ("gpu_memory_mib", 81559), ("vram_gib", 16)]
)
def test_the_size_of_a_card_is_doubted_as_usage(tmp_path, name, size, sentence):
    said = read(tmp_path, table(f"time_s,gpu_util_percent,{name}", lambda i: (i, 20 + i, size)))[1]
    sentence(said["doubtful"])


@pytest.mark.parametrize("name", ["gpu_memory_used_mib", "gpu_memory_allocated_mib"])
def test_memory_that_a_program_took_at_its_start_is_usage(tmp_path, name):
    traces, said = read(tmp_path, table(f"time_s,gpu_util_percent,{name}", lambda i: (i, 20 + i, 9000)))
    assert (traces.feature(Role.GPU_MEMORY).name, said) == (name, {})


BATCH = "execution,timestamp,cpu,mem,cpu_iowait"


@pytest.mark.parametrize(("factor", "open_"), [(1.0, True), (5.0, True), (40.0, False)])
def test_cpu_of_batch_jobs_that_may_be_in_cores_is_asked(tmp_path, factor, open_):
    text = table(BATCH, lambda i: ("a", 1_700_000_000 + i, round(cpu(i) * factor, 2), 3000 + i, 0.2))
    assert ("cpu" in questions(tmp_path, text)) is open_


def test_cpu_of_batch_jobs_that_is_never_near_100_is_marked(tmp_path, sentence):
    _, said = read(tmp_path, table(BATCH, lambda i: ("a", 1_700_000_000 + i, 20 + i, 3000 + i, 0.2)))
    sentence(said["assumed_unit"])


def test_cpu_of_batch_jobs_that_is_busy_is_a_percentage(tmp_path):
    traces, said = read(tmp_path, table(BATCH, lambda i: ("a", 1_700_000_000 + i, 60 + i, 3000 + i, 0.2)))
    assert said == {}
    assert traces.values(Role.CPU)[0] == 0.6


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("time_s,pod,cpu_percent", ("web",)),
        ("time_s,namespace,workload,cpu_percent", ("ml", "web")),
        ("time_s,service_name,cluster_name,cpu_utilization_percent", ("web", "prod")),
        ("time_s,name,cpu_percent", ("web-7d9f8b6c5d-x7k2z",)),
        ("time_s,container,cpu_request_cores,cpu_percent", ("a", "2")),
    ],
)
def test_percentages_that_may_be_of_a_request_are_asked(tmp_path, header, names):
    text = table(header, lambda i: (i, *names, round(150 + 60 * np.sin(i / 5), 1)))
    (column,) = questions(tmp_path, text)
    assert column == header.rpartition(",")[2]


def test_percentages_of_a_containers_core_are_read(tmp_path):
    text = table("time_s,container,cpu_percent", lambda i: (i, "web-1", round(cpu(i) * 100, 1)))
    traces, said = read(tmp_path, text)
    assert said == {}
    assert traces.values(Role.CPU)[0] == pytest.approx(cpu(0), abs=1e-3)


def test_what_begins_with_node_may_be_a_program(tmp_path):
    text = table("time_s,node_cpu_percent,node_rss_mib", lambda i: (i, 20 + i / 3, 300 + i))
    assert questions(tmp_path, text)["node_cpu_percent"].choices == ("percent_of_core", "percent_of_machine")


def test_what_begins_with_node_is_a_machine_where_nodes_have_names(tmp_path):
    text = table("time_s,node,node_cpu_percent", lambda i: (i, "ip-10-0-0-1", 20 + i / 3))
    assert read(tmp_path, text)[0].values(Role.CPU)[0] == 0.2


@pytest.mark.parametrize("names", ["container", "name"])
def test_memory_of_the_host_beside_containers_is_marked(tmp_path, names, sentence):
    text = table(f"time_s,{names},cpu_cores,host_memory_mib", lambda i: (i, "a", cpu(i), 3000 + i))
    sentence(read(tmp_path, text)[1]["assumed_role"])


@pytest.mark.parametrize("names", ["host,cpu_cores", "name,host_cpu_cores"])
def test_memory_of_hosts_is_theirs(tmp_path, names):
    text = table(f"time_s,{names},host_memory_mib", lambda i: (i, "a", cpu(i), 3000 + i))
    assert read(tmp_path, text)[1] == {}


@pytest.mark.parametrize("name", ["net_rx_mb/s", "Network received (kb/s)", "network_in_mb_per_s"])
def test_bits_or_bytes_stay_plain_numbers(tmp_path, name):
    traces, said = read(tmp_path, table(f"time_s,cpu_cores,{name}", lambda i: (i, cpu(i), 2 + i / 9)))
    assert said == {}
    assert traces.feature(Role.NETWORK_IN) is None


@pytest.mark.parametrize("name", ["net_rx_bits", "network_in_bits_total", "rx_mbit"])
def test_bits_without_a_time_stay_plain_numbers(tmp_path, name):
    traces, _ = read(tmp_path, table(f"time_s,cpu_cores,{name}", lambda i: (i, cpu(i), 2000 + 9 * i)))
    assert traces.feature(Role.NETWORK_IN) is None


@pytest.mark.parametrize(
    ("name", "role", "factor", "marked"),
    [
        ("net_rx_mbps", Role.NETWORK_IN, 125e3, True),
        ("net_rx_Mbps", Role.NETWORK_IN, 125e3, False),
        ("net_rx_MB/s", Role.NETWORK_IN, 1e6, False),
        ("net_rx_mbit/s", Role.NETWORK_IN, 125e3, False),
        ("disk_read_mb/s", Role.BLOCK_IN, 1e6, False),
    ],
)
def test_rates_are_read_as_their_letters_say(tmp_path, name, role, factor, marked):
    traces, said = read(tmp_path, table(f"time_s,cpu_cores,{name}", lambda i: (i, cpu(i), 2 + i / 9)))
    assert traces.values(role)[0] == 2 * factor
    assert ("assumed_unit" in said) is marked


@pytest.mark.parametrize("zone", ["IST", "CST"])
@pytest.mark.parametrize("form", ["2026-01-15 10:00:{:02} {}", "Thu Jan 15 10:00:{:02} {} 2026"])
def test_a_zone_that_is_several_is_marked(tmp_path, zone, form, sentence):
    traces, said = read(tmp_path, table("time,cpu_cores", lambda i: (form.format(i, zone), cpu(i))))
    sentence(said["assumed_zone"])
    assert traces.time[0] == 1_768_471_200


def test_a_zone_that_is_one_is_not_marked(tmp_path):
    text = table("time,cpu_cores", lambda i: (f"2026-01-15 11:00:{i:02} CET", cpu(i)))
    traces, said = read(tmp_path, text)
    assert (traces.time[0], said) == (1_768_471_200, {})


@pytest.mark.parametrize(
    ("total", "unit"), [("31.2", GIB), ("15.6", GIB), ("33.5", 1e9), ("67.3", 1e9), ("251.5", GIB)]
)
def test_the_memory_of_a_machine_tells_what_gb_are(tmp_path, total, unit):
    text = table("time_s,cpu_cores,mem_used_gb,mem_total_gb", lambda i: (i, cpu(i), 2 + i / 8, total))
    traces, said = read(tmp_path, text)
    assert said == {}
    assert traces.values(Role.MEMORY)[0] == 2 * unit


@pytest.mark.parametrize("name", ["mem_used_gb", "Memory (MB)", "rss_kb"])
def test_what_is_called_gb_alone_is_marked(tmp_path, name, sentence):
    text = table(f"time_s,cpu_cores,{name}", lambda i: (i, cpu(i), 5000 + i))
    sentence(read(tmp_path, text)[1]["assumed_unit"])
    assert any("many programs mean" in one for one in inspect(tmp_path, text)[0].reasons)


@pytest.mark.parametrize("name", ["memory_bytes_k", "memory_usage_bytes_mib", "memory_million_bytes"])
def test_two_units_of_memory_in_a_name_are_asked(tmp_path, name):
    text = table(f"time_s,cpu_cores,{name}", lambda i: (i, cpu(i), 1_900_000 + i))
    assert name in questions(tmp_path, text)


@pytest.mark.parametrize(
    "name", ["cpu_cores_seconds", "CPU (cores) [m]", "cpu_cores_ratio", "cpu_cores_cumulative"]
)
def test_two_units_of_cpu_in_a_name_are_asked(tmp_path, name):
    assert name in questions(tmp_path, table(f"time_s,{name}", lambda i: (i, cpu(i))))


@pytest.mark.parametrize("name", ["memory_size_mib", "physical_memory_mib", "memory_rate_mib"])
def test_memory_that_may_be_a_size_or_a_change_is_marked(tmp_path, name, sentence):
    text = table(f"time_s,cpu_cores,{name}", lambda i: (i, cpu(i), 500 + i))
    sentence(read(tmp_path, text)[1]["assumed_role"])


@pytest.mark.parametrize("name", ["resident_set_size_mib", "physical_memory_used_mib", "rss_size_mib"])
def test_memory_that_is_said_to_be_in_use_is_read(tmp_path, name):
    traces, said = read(tmp_path, table(f"time_s,cpu_cores,{name}", lambda i: (i, cpu(i), 500 + i)))
    assert (traces.feature(Role.MEMORY).name, said) == (name, {})


def test_mebibytes_are_what_they_say(tmp_path):
    traces, said = read(tmp_path, table("time_s,cpu_cores,memory_mib", lambda i: (i, cpu(i), 512 + i)))
    assert said == {}
    assert traces.values(Role.MEMORY)[0] == 512 * MIB


@pytest.mark.parametrize("name", ["gpu_util_percent", "memory_percent", "cpu_percent_of_machine"])
def test_percentages_that_are_shares_behind_an_idle_start_are_doubted(tmp_path, name, sentence):
    rows = (f"{i},{cpu(i)},{0 if i < 2100 else round(0.3 + i % 7 / 20, 2)}" for i in range(2400))
    traces, said = read(tmp_path, f"time_s,other,{name}\n" + "\n".join(rows) + "\n")
    sentence(said["doubtful"])
    assert traces.n_samples == 2400


def test_sockets_are_no_containers(tmp_path):
    text = table("time_s,socket0_cpu_cores,socket1_cpu_cores", lambda i: (i, cpu(i), 2 + cpu(i)))
    assert "socket0_cpu_cores" in questions(tmp_path, text)


def test_a_core_in_a_name_may_be_any_core(tmp_path):
    text = table("time_s,cpu_core_percent", lambda i: (i, 20 + i / 3))
    assert questions(tmp_path, text)["cpu_core_percent"].choices == ("percent_of_core", "percent_of_machine")


@pytest.mark.parametrize("beside", ["RSS", "%MEM"])
def test_the_cpu_of_ps_is_a_mean_since_the_start(tmp_path, beside):
    rows = "".join(f"{1_768_471_200 + 5 * i} 77 {150 + i}.0 {20 + i}.5\n" for i in range(ROWS))
    found, _ = inspect(tmp_path, f"TIME PID %CPU {beside}\n{rows}", "ps.txt")
    assert "%CPU" in found.mapping.assumed
    assert any("mean since a process was started" in one for one in found.reasons)


@pytest.mark.parametrize(
    "memory", ["{:.2f} GB", "{:.2f}GB", "{:.0f} MB", "{:.0f}mb", "{:.0f} kB", "{:.1f} gb"]
)
@pytest.mark.parametrize("name", ["memory", "memory_gb", "memory_mib", "memory_usage"])
def test_cells_in_units_that_may_be_of_1024_are_marked(tmp_path, name, memory):
    text = table(f"time_s,cpu_cores,{name}", lambda i: (i, cpu(i), memory.format(5000 + i)))
    traces, said = read(tmp_path, text)
    assert traces.feature(Role.MEMORY).name == name
    assert list(said) == ["assumed_suffix"]
    assert "(1000" in said["assumed_suffix"]


def test_cells_in_gb_are_marked_though_the_memory_of_the_machine_is_known(tmp_path, sentence):
    header = "time_s,cpu_cores,mem_used_gb,mem_total_gb"
    text = table(header, lambda i: (i, cpu(i), f"{2 + i / 8:.2f} GB", "31.2"))
    sentence(read(tmp_path, text)[1]["assumed_suffix"])


@pytest.mark.parametrize("memory", ["{} MiB", "{}Mi", "{}000000 B"])
def test_cells_in_units_of_one_meaning_are_not_marked(tmp_path, memory):
    assert (
        read(tmp_path, table("time_s,cpu_cores,memory", lambda i: (i, cpu(i), memory.format(500 + i))))[1]
        == {}
    )


def test_memory_of_another_container_than_cpu_is_marked(tmp_path):
    header = "time_s,containers.app.memory_mib,containers.job.cpu_cores"
    said = read(tmp_path, table(header, lambda i: (i, 500 + i, cpu(i))))[1]
    assert "“containers.job.cpu_cores” is of something else" in said["assumed_role"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("container_cpu_cores", "containers_memory_mib"),
        ("app_cpu_cores", "memory_mib"),
        ("pod_cpu_cores", "pod_rss_mib"),
    ],
)
def test_memory_of_the_same_is_not(tmp_path, one, other):
    assert read(tmp_path, table(f"time_s,{one},{other}", lambda i: (i, cpu(i), 500 + i)))[1] == {}


@pytest.mark.parametrize(
    "name", ["process node cpu percent", "node_process_cpu_percent", "app_node_cpu_percent"]
)
def test_a_node_beside_words_of_programs_may_be_one(tmp_path, name):
    assert name in questions(tmp_path, table(f"time_s,{name}", lambda i: (i, 20 + i / 3)))


@pytest.mark.parametrize(
    "name", ["memory_limit_used_mib", "memory_limit_reached_bytes", "cpu_limit_utilization_cores"]
)
def test_how_much_of_a_limit_is_used_is_none(tmp_path, name):
    traces, _ = read(tmp_path, table(f"time_s,cpu_cores,{name}", lambda i: (i, cpu(i), 20_000_000 + i)))
    assert [feature.role for feature in traces.features] == [Role.CPU, Role.OTHER]


def _wide(i):
    return f"2026-01-15 11:00:{i:02}", f"{1 + i / 50:.2f} GB", f"{3 + i / 50:.2f} GB"


def _long(i):
    container, metric = ("train-0", "train-1")[i % 2], "memory"
    return f"2026-01-15 11:00:{i // 2:02}", container, metric, f"{1 + i % 2 * 2 + i / 50:.2f} GB"


@pytest.mark.parametrize(
    ("header", "row"), [("Time,mem train-0,mem train-1", _wide), ("time,container,metric,value", _long)]
)
def test_sizes_that_series_write_are_in_bytes(tmp_path, header, row):
    traces, said = read(tmp_path, table(header, row))
    assert said == {}
    starts = traces.offsets[:-1]
    assert traces.values(Role.MEMORY)[starts].tolist() == pytest.approx([1e9, 3e9], rel=0.01)
