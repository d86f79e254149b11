"""What nvidia-smi, dcgmi and the exporter of DCGM say of GPUs."""

import pytest

from core.reading import read_with_report
from core.traces.model import Role
from core.units import MIB
from tests.reading.layouts.files import answer, of, read_rows, series, write


def test_nvidia_smi_keeps_every_gpu(tmp_path):
    text = "timestamp, index, name, utilization.gpu [%], memory.used [MiB], power.draw [W]\n" + "".join(
        f"2026/01/31 12:00:{5 * i:02d}.{100 + g}, {g}, A100, {10 * g + i} %, {1000 + g} MiB, {250 - i}.50 W\n"
        for i in range(4)
        for g in range(2)
    )
    path = write(tmp_path, "gpus.csv", text)
    traces, report = read_with_report(path)
    assert traces.ids == ("gpus",)
    roles = [feature.role for feature in traces.features]
    assert (roles.count(Role.GPU), roles.count(Role.GPU_MEMORY), roles.count(Role.GPU_POWER)) == (2, 2, 2)
    assert traces.column("gpu 1 utilization").tolist() == pytest.approx([0.10, 0.11, 0.12, 0.13])
    assert traces.column("gpu 0 memory_mib").tolist() == [1000 * MIB] * 4
    assert traces.column("gpu 0 power_watts")[0] == 250.5
    assert report.faultless


def test_nvidia_smi_dmon(tmp_path):
    head = "#Date   Time   gpu    pwr     sm    mem     fb\n#YYYYMMDD HH:MM:SS   Idx   W   %   %   MB\n"
    text = head + "".join(
        f" 20260131   12:00:{i:02d}      0    {200 + i}     9{i}     40   1024\n" for i in range(5)
    )
    traces, _ = read_with_report(write(tmp_path, "dmon.txt", text))
    assert traces.column("gpu 0 utilization").tolist() == pytest.approx([0.9, 0.91, 0.92, 0.93, 0.94])
    assert traces.column("gpu 0 power_watts")[-1] == 204
    assert traces.period == 1


def test_dcgm_keeps_every_gpu_of_a_pod(tmp_path):
    found = [
        series(
            {"__name__": name, "gpu": str(g), "exported_pod": "train", "exported_container": "main"},
            [value + g] * 4,
        )
        for name, value in (
            ("DCGM_FI_DEV_GPU_UTIL", 80),
            ("DCGM_FI_DEV_FB_USED", 1000),
            ("DCGM_FI_DEV_POWER_USAGE", 300),
        )
        for g in range(2)
    ]
    traces, _ = read_with_report(write(tmp_path, "dcgm.json", answer(*found)))
    assert traces.ids == ("train/main",)
    assert traces.column("DCGM_FI_DEV_GPU_UTIL gpu 1").tolist() == pytest.approx([0.81] * 4)
    assert traces.column("DCGM_FI_DEV_FB_USED gpu 0").tolist() == [1000 * MIB] * 4


def exporter(gpu, pod, **labels):
    own = {
        "Hostname": "n1",
        "namespace": "gpu-operator",
        "pod": "dcgm-exporter-x",
        "container": "dcgm-exporter",
    }
    return {"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": str(gpu), **own, "exported_pod": pod, **labels}


def test_the_pod_that_uses_a_gpu_is_not_the_one_that_measures_it(tmp_path):
    found = [
        series(exporter(g, f"train-{g}", exported_container="main"), [10 + 80 * g] * 4) for g in range(2)
    ]
    traces, report = read_with_report(write(tmp_path, "dcgm.json", answer(*found)))
    assert traces.ids == ("train-0/main", "train-1/main")
    assert of(traces, Role.GPU, "train-1/main") == pytest.approx([0.9] * 4)
    assert report.faultless
    rows = [(one["metric"], time, value) for one in found for time, value in one["values"]]
    table = "timestamp," + ",".join(rows[0][0]) + ",value\n"
    table += "".join(f"{time},{','.join(labels.values())},{value}\n" for labels, time, value in rows)
    traces, _ = read_with_report(write(tmp_path, "dcgm.csv", table))
    assert traces.ids == ("train-0/main", "train-1/main")


def test_a_gpu_joins_the_container_of_the_pod_that_uses_it(tmp_path):
    memory = {"__name__": "container_memory_working_set_bytes", "pod": "train-0", "container": "main"}
    found = [series(memory, [1e9] * 4), series(exporter(0, "train-0"), [50] * 4)]
    traces, _ = read_with_report(write(tmp_path, "both.json", answer(*found)))
    assert traces.ids == ("train-0/main",)
    assert of(traces, Role.GPU) == [0.5] * 4


def test_a_table_of_samples_names_the_pod_that_uses_a_gpu(tmp_path):
    text = "timestamp,gpu,pod,container,exported_pod,exported_container,DCGM_FI_DEV_GPU_UTIL\n" + "".join(
        f"{1.7e9 + 15 * i:.0f},{g},dcgm-exporter-x,exporter,train-{g},main,{10 + 80 * g}\n"
        for i in range(4)
        for g in range(2)
    )
    traces, _ = read_with_report(write(tmp_path, "dcgm.csv", text))
    assert traces.ids == ("train-0", "train-1")
    assert of(traces, Role.GPU, "train-1") == pytest.approx([0.9] * 4)


def test_dcgmi_dmon_names_gpus_as_entities(tmp_path):
    head = "#Entity   GPUTL  MCUTL  FBUSD  POWER\nID                       MB      W\n"
    text = "".join(
        head * (i % 2) + "".join(f"GPU {g}   {10 * g + i}  5  {1000 + g}  2{i}.5\n" for g in (0, 1))
        for i in range(4)
    )
    traces, report = read_rows(write(tmp_path, "dmon.txt", head + text))
    assert traces.column("gpu 1 utilization").tolist() == pytest.approx([0.1, 0.11, 0.12, 0.13])
    assert traces.column("gpu 0 memory_mib").tolist() == [1000 * MIB] * 4
    assert traces.column("gpu 1 power_watts").tolist() == [20.5, 21.5, 22.5, 23.5]
    assert report.faultless
