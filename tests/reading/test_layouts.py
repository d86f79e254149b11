"""Guessing mappings from names and values."""

import pytest

from core.errors import InputError
from core.reading.dates import is_date
from core.reading.guessing.times import guess_time_unit
from core.reading.known_tables import find_header
from core.reading.layouts import LAYOUTS, recognise_layout
from core.reading.mapping import UNKNOWN
from core.reading.numbers import is_number
from core.traces.model import Role


def table(header, *rows):
    return recognise_layout(tuple(header.split(",")), tuple(tuple(row.split(",")) for row in rows))


def roles(found):
    return {one.column: (one.role, one.unit_key) for one in found.mapping.features}


def test_a_plain_table_is_guessed_by_its_names():
    found = table("Job Name,Time (ms),CPU Usage (%),Memory Used [MiB],disk,Team", "x,1700000000000,5,6,7,red")
    assert found.layout == "generic"
    assert found.mapping.execution == "Job Name"
    assert found.mapping.time == "Time (ms)"
    assert found.mapping.time_unit == "ms"
    assert roles(found) == {
        "CPU Usage (%)": (Role.CPU, UNKNOWN),
        "Memory Used [MiB]": (Role.MEMORY, "mib"),
        "disk": (Role.OTHER, "plain"),
    }
    assert found.mapping.attributes == ("Team",)


@pytest.mark.parametrize(
    ("name", "role", "unit"),
    [
        ("cpu_percent", Role.CPU, UNKNOWN),
        ("cpu_percent_of_core", Role.CPU, "percent_of_core"),
        ("cpu_pct_host", Role.CPU, "percent_of_machine"),
        ("cpu_usage_m", Role.CPU, "millicores"),
        ("cpu_cores", Role.CPU, "cores"),
        ("cpu_millicores", Role.CPU, "millicores"),
        ("cpu_usage_seconds_total", Role.CPU, "cpu_seconds_total"),
        ("cpu_usage_nanoseconds", Role.CPU, "cpu_nanoseconds_total"),
        ("cpu_util", Role.CPU, UNKNOWN),
        ("mem_used_gb", Role.MEMORY, "gb"),
        ("memory_mib", Role.MEMORY, "mib"),
        ("rss", Role.MEMORY, UNKNOWN),
        ("memory_kib", Role.MEMORY, UNKNOWN),
        ("gpu_util_percent", Role.GPU, "percent"),
        ("gpu_memory_used_mib", Role.GPU_MEMORY, "mib"),
        ("gpu_power_watts", Role.GPU_POWER, "watts"),
        ("gpu0_util_percent", Role.GPU, "percent"),
        ("gpu0_mem_used_mib", Role.GPU_MEMORY, "mib"),
        ("gpus.1.util_percent", Role.GPU, "percent"),
        ("cuda_mem_used_mib", Role.GPU_MEMORY, "mib"),
        ("gpu_memory_mib", Role.GPU_MEMORY, "mib"),
        ("gpu_memory_total_mib", Role.OTHER, "plain"),
        ("net_rx_bytes_per_sec", Role.NETWORK_IN, "bytes_per_s"),
        ("network_transmit_bytes_total", Role.NETWORK_OUT, "bytes_total"),
        ("disk_read_mb/s", Role.BLOCK_IN, "mb_per_s"),
        ("net_rx_packets", Role.OTHER, "plain"),
        ("usage_usec", Role.CPU, "cpu_us_total"),
        ("bytes_in_per_sec", Role.NETWORK_IN, "bytes_per_s"),
        ("bytes_sent_per_sec", Role.NETWORK_OUT, "bytes_per_s"),
        ("bytes_read_per_sec", Role.BLOCK_IN, "bytes_per_s"),
        ("disk_bytes_out_per_sec", Role.BLOCK_OUT, "bytes_per_s"),
        ("kmem_usage_in_bytes", Role.OTHER, "plain"),
        ("nvlink_tx_mb_per_s", Role.OTHER, "plain"),
        ("pcie_rx_mb_per_s", Role.OTHER, "plain"),
        ("net_rx_mbps", Role.NETWORK_IN, "mbit_per_s"),
        ("net_rx_MBps", Role.NETWORK_IN, "mb_per_s"),
        ("net_rx_MiBps", Role.NETWORK_IN, "mib_per_s"),
        ("netTxGBps", Role.NETWORK_OUT, "gb_per_s"),
        ("net_rx_Bps", Role.NETWORK_IN, "bytes_per_s"),
        ("net_rx_Mbps", Role.NETWORK_IN, "mbit_per_s"),
        ("net_rx (Mb/s)", Role.NETWORK_IN, "mbit_per_s"),
        ("net_tx [Kb/s]", Role.NETWORK_OUT, "kbit_per_s"),
        ("net_rx [Mbit/s]", Role.NETWORK_IN, "mbit_per_s"),
        ("Network Rx (MBytes/s)", Role.NETWORK_IN, "mb_per_s"),
        ("Disk Read (KBytes/sec)", Role.BLOCK_IN, "kb_per_s"),
        ("disk read MB per second", Role.BLOCK_IN, "mb_per_s"),
        ("network_receive_megabytes_total", Role.NETWORK_IN, "mb_total"),
        ("cpuUsageMilliCores", Role.CPU, "millicores"),
        ("cpu_mCores", Role.CPU, "millicores"),
        ("cpu (m cores)", Role.CPU, "millicores"),
        ("5m cpu cores", Role.CPU, "cores"),
        ("cpuNanoCores", Role.CPU, "nanocores"),
        ("cpu_microcores", Role.CPU, UNKNOWN),
        ("cpuUsageMilliSeconds_total", Role.CPU, "cpu_ms_total"),
        ("vmCores cpu", Role.CPU, "cores"),
        ("memoryMegaBytes", Role.MEMORY, "mb"),
        ("memory_MBytes", Role.MEMORY, "mb"),
        ("memory (Mebibytes)", Role.MEMORY, "mib"),
        ("CPU % (avg of 16 cores)", Role.CPU, UNKNOWN),
        ("cpu_cores_used_percent", Role.CPU, UNKNOWN),
        ("cpu.core.3.pct", Role.CPU, UNKNOWN),
        ("cpu % (100 is one core)", Role.CPU, "percent_of_core"),
        ('sum(rate(container_cpu_usage_seconds_total{pod="a-1"}[5m]))', Role.CPU, "cores"),
        ('sum(rate(container_cpu_usage_seconds_total{pod="a"}[5m])) * 1000', Role.CPU, UNKNOWN),
        (
            "sum (rate (container_cpu_usage_seconds_total[1m])) / sum (machine_cpu_cores)*100",
            Role.CPU,
            UNKNOWN,
        ),
        ("process_memory_usage_bytes / 1024", Role.MEMORY, UNKNOWN),
        ("rate(container_network_receive_bytes_total[5m]) * 8", Role.OTHER, "plain"),
        ("DCGM_FI_DEV_FB_USED / 1024", Role.OTHER, "plain"),
        ("mem_percent", Role.MEMORY, "percent_of_machine"),
        ("cpu_limit", Role.CPU_LIMIT, "cores"),
        ("memory_limit_bytes", Role.MEMORY_LIMIT, "bytes"),
        ("loss", Role.LOSS, "plain"),
        ("working_set_mib", Role.MEMORY, "mib"),
        ("mem_gi", Role.MEMORY, "gib"),
        ("CPU-Auslastung [%]", Role.CPU, UNKNOWN),
        ("Speicher [GB]", Role.MEMORY, "gb"),
        ("Mémoire (GiB)", Role.MEMORY, "gib"),
        ("Mémoire (Mio)", Role.MEMORY, "mib"),
        ("Mémoire [Go]", Role.MEMORY, "gb"),
        ("CPU (Kerne)", Role.CPU, "cores"),
        ("temperature", Role.OTHER, "plain"),
        ("cpu_iowait", Role.OTHER, "plain"),
        ("mem_free", Role.OTHER, "plain"),
    ],
)
def test_roles_and_units_by_name(name, role, unit):
    assert roles(table(f"t,{name}", "1,2", "2,3"))[name] == (role, unit)


def test_a_unit_of_time_makes_no_execution():
    found = table("time,task_ms,cpu_cores", "1,200,0.5", "2,200,0.5").mapping
    assert found.execution is None


def test_cpu_usage_is_preferred_to_its_relatives():
    found = table("cpu_system,cpu_request,cpu_usage,cpu_limit,memory_cap,memory", "1,2,3,4,5,6")
    assert roles(found)["cpu_usage"] == (Role.CPU, "cores")
    assert roles(found)["memory"][0] is Role.MEMORY
    assert len([one for one in found.mapping.features if one.role is Role.CPU]) == 1


def test_a_role_without_a_unit_is_a_plain_number_and_said():
    found = table("time_s,cpu_cores,gpu_power,net_in,pids", "1,2,250,3,4", "2,2,251,3,4")
    assert roles(found)["gpu_power"] == (Role.OTHER, "plain")
    (said,) = (one for one in found.reasons if "plain numbers" in one)
    assert said.endswith("nothing tells their unit: “gpu_power” (GPU power), “net_in” (Network in).")


def test_what_is_assumed_is_said_before_the_import(sentence):
    said = table("t,cpu", "1,0.5", "2,0.6").reasons
    sentence(said)


@pytest.mark.parametrize(
    ("header", "cpu", "memory"),
    [
        ("cpu_reserved_cores,cpu_allocated_cores,cpu_used,mem_reserved_gb,mem_gb", "cpu_used", "mem_gb"),
        ("cpu_allocatable_cores,cpu_consumption,memory_active_mb,memory_mb", "cpu_consumption", "memory_mb"),
        (
            "min cpu cores,max cpu cores,avg cpu cores,memory_min_mb,memory_avg_mb",
            "avg cpu cores",
            "memory_avg_mb",
        ),
        ("cpu_user_percent,cpu_sys_percent,memory_delta_mb", None, None),
    ],
)
def test_usage_is_neither_what_is_promised_nor_an_extreme_nor_a_part(header, cpu, memory):
    names = header.split(",")
    found = roles(table(header, ",".join("12" for _ in names), ",".join("13" for _ in names)))
    assert [name for name, (role, _) in found.items() if role is Role.CPU] == ([cpu] if cpu else [])
    assert [name for name, (role, _) in found.items() if role is Role.MEMORY] == ([memory] if memory else [])


def test_a_name_that_says_microseconds_is_believed():
    found = table("timestamp_us,cpu_cores", "600000000,1", "900000000,2").mapping
    assert found.time_unit == "us"


def test_memory_of_a_gpu_is_not_taken_for_that_of_the_container():
    found = table("gpu0_mem_used_mib,memory_mib,device_memory_mb,cuda_mem_mib", "1,2,3,4")
    assert [name for name, (role, _) in roles(found).items() if role is Role.MEMORY] == ["memory_mib"]


def test_an_infinite_cell_does_not_take_the_unit_away():
    found = table("time_s,memory", "1,100000000", "2,inf")
    assert roles(found)["memory"] == (Role.MEMORY, "bytes")


def test_reasons_say_what_was_not_found():
    text = " ".join(table("a,b", "1,2").reasons)
    for part in ("CPU or memory usage: choose one", "rows are counted", "whole file is taken as one"):
        assert part in text


@pytest.mark.parametrize(
    ("ids", "found"), [("1,1,2", "run"), ("1,2,3", None), ("a,b,c", "run"), (",,", None)]
)
def test_numbers_name_executions_only_where_they_repeat(ids, found):
    rows = [f"{name},{i},5" for i, name in enumerate(ids.split(","))]
    assert table("run,time,cpu", *rows).mapping.execution == found


@pytest.mark.parametrize(
    ("texts", "unit"),
    [
        (["1700000000"], "s"), (["1700000000000"], "ms"), (["1700000000000000"], "us"), (["1.7e18"], "ns"),
        (["0", "5"], "s"), (["2024-01-01T00:00:00"], "iso"), (["", "NA"], "s"), (["words"], "s")
    ]
)  # fmt: skip
def test_the_unit_of_time_follows_from_its_size(texts, unit):
    assert guess_time_unit("timestamp", texts).unit == unit


def test_numbers_and_dates_are_told_apart():
    assert all(map(is_number, ("1", "-1.5e3", ".5", "12%", "inf")))
    assert not any(map(is_number, ("", "1,5", "0x1", "1_0", "%")))
    assert is_date("2024-01-31 10:00")
    assert not is_date("20240131")


def test_known_columns_are_among_the_64_wherever_they_are():
    names = ("timestamp", "job", *(f"metric_{place}" for place in range(80)), "cpu_cores", "memory_bytes")
    rows = [(str(1_700_000_000 + at), "a", *["0.5"] * 80, "1.5", "1000000000") for at in range(5)]
    mapping = recognise_layout(names, rows).mapping
    assert [one.role for one in mapping.features[-2:]] == [Role.CPU, Role.MEMORY]
    assert (len(mapping.features), mapping.features[0].column) == (64, "metric_0")


def test_at_most_64_features_are_suggested_and_none_is_an_error(refuses, sentence):
    header = ",".join(f"c{i}" for i in range(5000))
    found = table(header, header.replace("c", "1"))
    assert len(found.mapping.features) == 64
    sentence(found.reasons)
    with refuses(InputError):
        table("a,b", "x,y")


def test_prometheus_metrics_have_roles():
    names = "container_cpu_usage_seconds_total,container_cpu_cfs_throttled_seconds_total"
    more = (
        "container_memory_usage_bytes,container_memory_working_set_bytes,container_spec_memory_limit_bytes,up"
    )
    found = table(f"pod,timestamp,{names},{more}", "a,1,2,3,4,5,6,7", "a,2,2,3,4,5,6,7")
    assert found.layout == "prometheus"
    kinds = roles(found)
    assert kinds["container_cpu_usage_seconds_total"] == (Role.CPU, "cpu_seconds_total")
    assert kinds["container_memory_working_set_bytes"] == (Role.MEMORY, "bytes")
    assert kinds["container_spec_memory_limit_bytes"] == (Role.MEMORY_LIMIT, "bytes")
    assert [one.role for one in found.mapping.features].count(Role.MEMORY) == 1


def test_only_alibaba_comes_without_header():
    assert find_header(("c_1", "m_1", "5", *"123456")) is not None
    assert find_header(("c_1", "x", "5", *"123456")) is None
    assert find_header(("c_1", "m_1", "5")) is None


def test_every_layout_has_a_label():
    assert all(layout.label for _, layout in LAYOUTS.items())
    assert list(LAYOUTS)[-1] == "generic"
