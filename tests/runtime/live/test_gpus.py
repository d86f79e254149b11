"""GPUs by container, with a library in NVML's place that says what a driver would."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from core.sampling.gpus import GpuReader, GpuUse, container_of, gpu_reader
from core.sampling.phases import LIVE_FEATURES
from core.sampling.values import FIELDS
from core.traces.model import ROLE_UNITS, Role
from tests.builders import remembered

GIB = 2**30


class NvmlError(Exception):
    pass


class FakeNvml:
    """Two GPUs as a driver describes them: processes with their memory, their use, and the device's power."""

    NVMLError = NvmlError

    def __init__(self, devices, *, tells_processes_apart=True, starts=True):
        self.devices = devices
        self.tells_processes_apart = tells_processes_apart
        self.starts = starts
        self.asked = []

    def nvmlInit(self):
        if not self.starts:
            raise NvmlError("driver not loaded")

    def nvmlDeviceGetCount(self):
        return len(self.devices)

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        return [
            SimpleNamespace(pid=pid, usedGpuMemory=held)
            for pid, (held, _) in self.devices[handle]["processes"].items()
        ]

    def nvmlDeviceGetProcessUtilization(self, handle, since):
        self.asked.append((handle, since))
        if not self.tells_processes_apart:
            raise NvmlError("not supported")
        return [
            SimpleNamespace(pid=pid, smUtil=used, timeStamp=1_000 + handle)
            for pid, (_, used) in self.devices[handle]["processes"].items()
        ]

    def nvmlDeviceGetUtilizationRates(self, handle):
        return SimpleNamespace(gpu=self.devices[handle]["rate"])

    def nvmlDeviceGetPowerUsage(self, handle):
        return self.devices[handle]["milliwatts"]


OWNERS = {11: "a", 12: "a", 21: "b", 99: None}
DEVICES = (
    {"processes": {11: (4 * GIB, 60), 21: (2 * GIB, 30)}, "rate": 90, "milliwatts": 250_000},
    {"processes": {12: (6 * GIB, 80)}, "rate": 80, "milliwatts": 200_000},
)


def reader(devices=DEVICES, **more):
    return GpuReader(FakeNvml(devices, **more), OWNERS.get)


def test_use_is_counted_by_the_containers_of_the_processes():
    found = reader().read(["a", "b", "c"])
    assert found["a"].share == pytest.approx(0.7)  # the mean of the two GPUs that it is on
    assert found["a"].memory == 10 * GIB
    assert math.isnan(found["a"].power)  # one of its GPUs is shared
    assert (found["b"].share, found["b"].memory) == (pytest.approx(0.3), 2 * GIB)
    assert found["c"] == GpuUse(0.0, 0.0, 0.0)


def test_power_is_that_of_the_gpus_that_a_container_has_to_itself():
    assert reader(DEVICES[1:]).read(["a"])["a"] == GpuUse(0.8, 6 * GIB, 200.0)
    beside = {"processes": {12: (GIB, 80), 99: (GIB, 10)}, "rate": 90, "milliwatts": 200_000}
    assert math.isnan(reader((beside,)).read(["a"])["a"].power)


def test_a_driver_that_does_not_tell_processes_apart_is_believed_for_lone_containers_only():
    found = reader(tells_processes_apart=False).read(["a", "b"])
    assert math.isnan(found["b"].share)
    alone = reader(DEVICES[1:], tells_processes_apart=False).read(["a"])
    assert alone["a"].share == 0.8


def test_each_sample_is_asked_for_once():
    gpus = reader()
    gpus.read(["a"])
    gpus.read(["a"])
    assert gpus.nvml.asked == [(0, 0), (1, 0), (0, 1_000), (1, 1_001)]


def test_memory_that_the_driver_hides_is_not_known():
    hidden = {"processes": {11: (None, 50)}, "rate": 50, "milliwatts": 1}
    assert math.isnan(reader((hidden,)).read(["a"])["a"].memory)


def test_without_a_gpu_nothing_is_said(monkeypatch):
    assert reader(()).read(["a"]) == {}
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert gpu_reader() is None
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(DEVICES, starts=False))
    assert gpu_reader() is None
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(DEVICES))
    assert gpu_reader() is not None


def test_a_process_names_its_container_by_its_control_group(tmp_path):
    name = "0123456789abcdef" * 4
    texts = {
        1: f"0::/system.slice/docker-{name}.scope\n",
        2: f"12:memory:/kubepods/pod1/{name}\n0::/\n",
        3: "0::/user.slice\n",
    }
    for pid, text in texts.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cgroup").write_text(text)
    assert [container_of(pid, tmp_path) for pid in (1, 2, 3, 4)] == [name, name, None, None]


def test_a_recording_has_columns_of_gpus_where_there_is_one_and_none_elsewhere(tmp_path):
    features = dict(zip(FIELDS, LIVE_FEATURES, strict=False))
    for field, role in (("gpu", Role.GPU), ("gpu_memory", Role.GPU_MEMORY), ("gpu_power", Role.GPU_POWER)):
        assert features[field].role is role
        assert features[field].unit in ROLE_UNITS[role]
    for name, values in (("with", (0.5, 2.0 * GIB, 100.0)), ("without", (math.nan,) * 3)):
        row = dict.fromkeys(FIELDS, 1.0) | dict(zip(("gpu", "gpu_memory", "gpu_power"), values, strict=True))
        moments = [(at, {"a": tuple(row.values())}) for at in (1.0, 2.0)]
        traces = remembered(tmp_path / name, moments)
        assert (traces.feature(Role.GPU) is not None) == (name == "with")
        if name == "with":
            assert np.asarray(traces.values(Role.GPU_MEMORY)).tolist() == [2.0 * GIB] * 2
            assert traces.values(Role.GPU_POWER).tolist() == [100.0] * 2
