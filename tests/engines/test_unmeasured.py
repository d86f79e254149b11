"""What an engine did not measure stays unknown, from its answer to history, recording, policy and page."""

import math
from dataclasses import replace
from itertools import chain, combinations
from types import SimpleNamespace

import numpy as np
import pytest

from core.engines.docker_host import Container, Limits, cgroups
from core.engines.docker_host.cgroups import CgroupReader, ControlGroup
from core.engines.run.engine import _worker
from core.engines.run.job import LiveJob, Node
from core.engines.run.shared_state import SharedState
from core.engines.values import Counters, FollowOptions, HostInfo
from core.experiments.learning import Learning
from core.experiments.outcome import Outcome
from core.experiments.series import Series
from core.experiments.step_times import stages
from core.files.ledger import pack, unpack
from core.live.history.chunks import RecordedContainer
from core.live.history.reader import traces_of
from core.live.history.writer import HistoryWriter
from core.sampling.sampler import UsageReader, field_values, row_of
from core.sampling.usage_wrapper import _use
from core.sampling.values import FIELDS
from core.scheduling.loop import Entry
from core.scheduling.model import Job, JobState, Observation, Terms, Trigger, Worker
from core.scheduling.policies import POLICIES
from tests.scheduling.making import Table

MEASURED = ("cpu", "memory", "io", "network")
SUBSETS = list(chain.from_iterable(combinations(MEASURED, n) for n in range(len(MEASURED) + 1)))
ID = "0fb0e773bec1dad91cb217f63a06f5a3db5fe35912fc8d9b8be7bc74c57bf78b"
CONTAINER = Container(ID, "c", "i", {"phasedock": ""}, "running", 1.0, 1.0, 4_194_999, Limits(), "")
COLUMNS = {
    "cpu": "cpu_cores",
    "memory": "memory_bytes",
    "io": "io_bytes_per_second",
    "network": "network_bytes_per_second",
}


def api(second, missing, _folder):
    """Docker's answer after some seconds, without some of its parts."""
    answer = {
        "cpu_stats": {"cpu_usage": {"total_usage": second * 10**9}},
        "memory_stats": {"usage": 1000, "stats": {"inactive_file": 400}},
        "blkio_stats": {"io_service_bytes_recursive": [{"op": "read", "value": 10 * second}]},
        "networks": {"eth0": {"rx_bytes": 5 * second, "tx_bytes": 0}},
    }
    parts = {"cpu": "cpu_stats", "memory": "memory_stats", "io": "blkio_stats", "network": "networks"}
    for each in missing:
        del answer[parts[each]]
    try:
        return cgroups.parse_stats(answer, float(second))
    except KeyError:
        return None


V1 = {
    "cpu": {"cpuacct.usage": lambda s: f"{s * 10**9}\n"},
    "memory": {
        "memory.usage_in_bytes": lambda _: "1000\n",
        "memory.stat": lambda _: "total_inactive_file 400\n",
    },
    "io": {"io": lambda s: f"8:0 Read {10 * s}\n"},
    "network": {"net": lambda s: f"a\nb\n  eth0: {5 * s} 1 0 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n"},
}
V2 = {
    "cpu": {"cpu.stat": lambda s: f"usage_usec {s * 10**6}\n"},
    "memory": {"memory.current": lambda _: "1000\n", "memory.stat": lambda _: "inactive_file 400\n"},
    "io": {"io": lambda s: f"8:0 rbytes={10 * s} wbytes=0\n"},
    "network": V1["network"],
}


def of_group(version, texts):
    """Read a control group after some seconds, without some of its files."""

    def read(second, missing, tmp_path):
        for name, files in texts.items():
            for file, text in files.items() if name not in missing else ():
                (tmp_path / file).write_text(text(second))
        folder, reader = str(tmp_path), CgroupReader()
        group = ControlGroup(version, folder, folder, folder, f"{folder}/io", f"{folder}/net")
        reader._groups[ID, CONTAINER.pid] = group
        counters = reader.counters(CONTAINER)
        return None if counters is None else replace(counters, time=float(second))

    return read


SOURCES = {"api": api, "cgroup 1": of_group(1, V1), "cgroup 2": of_group(2, V2)}


@pytest.fixture(params=SOURCES)
def source(request):
    return SOURCES[request.param]


@pytest.fixture(params=SUBSETS, ids=lambda missing: " ".join(missing) or "nothing")
def missing(request):
    return request.param


def read_twice(source, missing, tmp_path):
    """Two readings one second apart, and the usage between them; None without any measurement."""
    reader, readings = UsageReader(), []
    for second in (1, 2):
        counters = source(second, missing, tmp_path)
        readings.append({} if counters is None else {ID: counters})
        usage = reader.take(readings[-1]).get(ID)
    return readings, usage


def test_what_was_not_measured_is_unknown_in_rows_history_and_recordings(source, missing, tmp_path):
    _, usage = read_twice(source, missing, tmp_path)
    row = row_of(CONTAINER, usage, picked=False, held=False, at=1e9)
    expected = {"cpu": 1.0, "memory": 600.0, "io": 10.0, "network": 5.0}
    no_rate = "cpu" in missing  # without the counter of CPU nobody knows since when the others rose
    for name, value in expected.items():
        found = getattr(row, name)
        if name in missing:
            assert found is None, name
        elif not no_rate or name == "memory":
            assert found == pytest.approx(value), name
    values = field_values(row)
    assert [name for name in missing if not math.isnan(values[FIELDS.index(name)])] == []
    if row.cpu is None:
        return
    writer = HistoryWriter(tmp_path / "history")
    for second in range(30):
        writer.add(1_700_000_000.0 + second, {ID: values}, {ID: RecordedContainer(ID, "c")})
    traces = traces_of(tmp_path / "history", None, 1_700_000_000.0, 1_700_000_030.0, 1_700_000_030.0)
    names = [feature.name for feature in traces.features]
    for name, column in COLUMNS.items():
        if name in missing:
            assert column not in names or np.isnan(traces.columns[names.index(column)]).all()
        else:
            assert np.isfinite(traces.columns[names.index(column)]).all()
    used = _use(1.0, np.array(values))
    assert (used.memory is None) == ("memory" in missing)


def test_what_was_not_measured_is_unknown_to_policies(source, missing, tmp_path, monkeypatch):
    readings, _ = read_twice(source, missing, tmp_path)
    info = HostInfo("h", 2.0, 10_000, "", 2, local=True)
    host = SimpleNamespace(name="h", info=lambda: info)
    worker = Node("w", host)
    shared = SharedState([worker], [], tmp_path, lambda: None, None, False, FollowOptions())
    monkeypatch.setattr("core.engines.run.shared_state._MIN_INTERVAL", 0.0)
    for counters in readings:
        shared.record_usage(host, {ID: CONTAINER}, counters)
    observed = _worker(shared, worker)
    assert observed.used == (None if "cpu" in missing else pytest.approx(1.0))
    assert observed.memory_used == (None if "memory" in missing else 600.0)
    job = LiveJob("a", 0.0)
    for counters in readings:
        if ID in counters:
            job.count(counters[ID])
    assert job.cpu_seconds == (0.0 if not readings[0] else None if "cpu" in missing else pytest.approx(2.0))
    assert job.memory == (None if "memory" in missing else 600.0)
    job.count(Counters(3.0, None, 700))
    assert (job.cpu_seconds, job.snapshot().cpu_seconds) == (None, None), (
        "its last total is not the present one"
    )


def test_usage_of_a_worker_is_unknown_before_two_readings(tmp_path):
    info = HostInfo("h", 2.0, 10_000, "", 2, local=True)
    host = SimpleNamespace(name="h", info=lambda: info)
    worker = Node("w", host)
    shared = SharedState([worker], [], tmp_path, lambda: None, None, False, FollowOptions())
    assert (_worker(shared, worker).used, _worker(shared, worker).memory_used) == (None, None)
    shared.record_usage(host, {ID: CONTAINER}, {ID: api(1, (), tmp_path)})
    assert (_worker(shared, worker).used, _worker(shared, worker).memory_used) == (None, 600.0)


@pytest.mark.parametrize("policy", ["kube.default", "elastic", "deadline", "autopilot"])
@pytest.mark.parametrize("used", [None, 0.0])
def test_a_policy_starts_no_job_that_needs_memory_where_the_memory_in_use_is_unknown(policy, used):
    made = Table(policy, {}, (Worker("w", 8.0, 0.0, 10e9, used),))
    made.put("large", request=1.0, terms=Terms(memory=1e9))
    made.put("small", request=1.0)
    made.step(0.0)
    made.step(1.0)
    assert (made.jobs["large"].state is JobState.RUNNING) == (used is not None)
    assert made.jobs["small"].state is JobState.RUNNING or policy == "elastic"  # which keeps the order


@pytest.mark.parametrize("policy", [name for name in POLICIES if not POLICIES[name].oracle])
def test_policies_go_on_where_the_cores_in_use_are_not_measured(policy):
    """A job without a counter is judged by nothing that would be made up, and the others as ever."""
    entry = POLICIES[policy]
    settings = entry.build_settings()
    state, series, outcome, learning = entry.begin(settings, 1), Series(), Outcome(), Learning()
    for number in range(6):
        now = 30.0 * number
        jobs = tuple(
            Job(
                name,
                JobState.RUNNING,
                "w",
                started=0.0,
                cpu_seconds=None if name == "blind" and number % 2 else 10.0 * number,
                readings=((now, 1.0 / (number + 1)),),
                steps=10 * number,
                total_steps=100,
            )
            for name in ("blind", "seen")
        )
        trigger = Trigger.ARRIVAL if number == 0 else Trigger.TICK
        observation = Observation(number, now, trigger, (Worker("w", 4.0),), jobs)
        decision = entry.decide(state, observation)
        state = decision.state
        ledger_entry = Entry(observation, decision.actions, decision.reasons, decision.marks, decision.wake)
        for each in (series, outcome, learning):
            each.add(ledger_entry)
        assert unpack(pack([ledger_entry]))[0].observation == observation
    lines = series.to_dict()["jobs"]
    assert lines["blind"]["cpu"][1:] == [None] * 5
    assert {stage.job for stage in stages(series.to_dict())} == {"seen"}
    assert set(learning.lines(30.0, 150.0).growth) == {"blind", "seen"}
    assert lines["seen"]["cpu"][1:] == [pytest.approx(10.0 / 30.0, abs=0.01)] * 5
