"""Docker's texts read: addresses, containers, times, logs, events; and the files of an agent."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines.docker_host.connection import Address, parse_addresses
from core.engines.docker_host.containers import parse_container, parse_cpus, parse_host, parse_time
from core.engines.docker_host.events import parse_event
from core.engines.docker_host.host import creation_body
from core.engines.docker_host.limits import Limits
from core.engines.docker_host.reading import parse_logs
from core.engines.run import ContainerCreation
from core.engines.run.agent import (
    AgentFolder,
    AgentReadings,
    AgentReport,
    parse_report,
    parse_request,
)
from core.engines.run.job import LiveJob
from core.engines.values import EngineKey, has_label
from core.errors import SettingsError

# ---- addresses ----


def test_addresses():
    found = parse_addresses(
        "local=unix:///var/run/docker.sock; far=ssh://me@there:22 ;tls=tcp://h:2376?ca=/a.pem&cert=/b&key=/c"
    )
    assert found == (
        Address("local", "unix:///var/run/docker.sock"),
        Address("far", "ssh://me@there:22"),
        Address("tls", "tcp://h:2376", "/a.pem", "/b", "/c"),
    )
    assert parse_addresses(" ") == (Address("local"),)
    assert parse_addresses("unix:///x") == (Address("local", "unix:///x"),)
    assert parse_addresses("usual=") == (Address("usual"),)


@pytest.mark.parametrize(
    "text",
    [
        "a=unix:///x;a=unix:///y",
        "a=ftp://x",
        "a=unix://",
        "a=tcp://",
        "=unix:///x",
        "just-a-word",
        "a=tcp://h?password=x",
    ],
)
def test_addresses_that_cannot_be_used(text, refuses):
    with refuses(SettingsError):
        parse_addresses(text)


# ---- containers ----


def test_times():
    assert parse_time("2026-11-21T01:25:46.799662367Z") == pytest.approx(1795224346.799662367)
    assert parse_time("2026-11-21T02:25:46+01:00") == 1795224346.0
    assert parse_time("0001-01-01T00:00:00Z") == 0.0
    assert parse_time("") == 0.0


def test_sets_of_processors():
    assert parse_cpus("", 4) == {0, 1, 2, 3}
    assert parse_cpus("0-2,5", 8) == {0, 1, 2, 5}
    assert parse_cpus("3\n", 8) == {3}


def test_a_container_as_docker_describes_it():
    found = parse_container(
        {
            "Id": "abc",
            "Name": "/trainer",
            "Created": "2026-11-21T01:25:46Z",
            "State": {"Status": "running", "Pid": 7, "StartedAt": "2026-11-21T01:25:47Z", "ExitCode": 0},
            "Config": {"Image": "torch", "Labels": {"phasedock": ""}},
            "HostConfig": {
                "NanoCpus": 0,
                "CpuQuota": 50_000,
                "CpuPeriod": 100_000,
                "Memory": 5,
                "NetworkMode": "none",
            },
        }
    )
    assert (found.name, found.image, found.state, found.pid) == ("trainer", "torch", "running", 7)
    assert (found.created, found.started, found.ended) == (1795224346.0, 1795224347.0, 0.0)
    assert found.limits == Limits(cpu_quota=50_000, cpu_period=100_000, memory=5)
    assert (found.running, found.cpuset, found.network, has_label(found)) == (True, "", "none", True)


def test_an_engine_is_told_from_every_other_by_its_id_and_its_folder():
    """In Docker 20.10 all engines of one machine say the same id."""
    said = {"NCPU": 2, "MemTotal": 1, "ServerVersion": "20.10.24", "ID": "6D77:ZEEK", "DockerRootDir": "/a"}
    ids = [
        parse_host(name, said | more, True).id
        for name, more in (("x", {}), ("y", {}), ("x", {"DockerRootDir": "/b"}), ("x", {"ID": "7D77:ZEEK"}))
    ]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
    assert all(0 < len(each) <= 64 for each in ids)
    assert parse_host("x", {**said, "ID": ""}, True).key == EngineKey("x")


def test_a_new_container_always_carries_the_label_and_never_nano_cpus():
    limits = Limits().with_cores(0.5).with_memory(1 << 20)
    creation = ContainerCreation(
        "n", "i", ("run",), {"x": "y"}, {"A": "1"}, cpus=(0, 1), volumes={"/a": "/b"}
    )
    body = creation_body(creation, limits)
    host = body["HostConfig"]
    assert body["Labels"] == {"phasedock": "", "x": "y"}
    assert (body["Cmd"], body["Env"], host["Binds"], host["CpusetCpus"]) == (
        ["run"],
        ["A=1"],
        ["/a:/b"],
        "0,1",
    )
    assert (host["CpuQuota"], host["CpuPeriod"], host["Memory"], host["MemorySwap"]) == (
        50_000,
        0,
        1 << 20,
        2 << 20,
    )
    assert "NanoCpus" not in host
    assert "Cmd" not in creation_body(ContainerCreation("n", "i"), Limits())


def test_events():
    actor = {"ID": "abc", "Attributes": {"name": "n"}}
    found = parse_event({"Action": "exec_create: sh -c x", "Actor": actor, "timeNano": 15 * 10**8}, "local")
    assert (found.kind, found.container, found.time) == ("exec_create", "abc", 1.5)
    assert found.labels == {"name": "n"}


# ---- logs ----


def frame(stream, text):
    return struct.pack(">BxxxL", stream, len(text)) + text


FIRST, SECOND, THIRD = (f"2026-11-21T01:25:4{n}.5Z" for n in (6, 7, 8))


def test_lines_of_two_streams_come_in_the_order_of_time():
    content = frame(1, f"{FIRST} loss=1\n".encode()) + frame(2, f"{SECOND} warn".encode())
    content += frame(1, f"{THIRD} loss=2\n".encode()) + frame(2, b"ing\n")
    assert parse_logs(content) == [
        (1795224346.5, "loss=1"),
        (1795224347.5, "warning"),
        (1795224348.5, "loss=2"),
    ]


def test_lines_of_a_terminal():
    assert parse_logs(f"{FIRST} a b\r\n{SECOND} \r\n".encode()) == [(1795224346.5, "a b"), (1795224347.5, "")]
    assert parse_logs(b"") == []


@given(st.binary(max_size=200))
def test_no_bytes_make_reading_a_log_fail(content):
    parse_logs(content)
    parse_logs(frame(1, content))


# ---- the agent's files ----


def test_wishes_are_numbered_and_come_back(tmp_path):
    folder = AgentFolder(tmp_path)
    assert (folder.send_request(threads=2), folder.send_request(checkpoint=1, hold=True)) == (1, 2)
    text = (tmp_path / "wants.json").read_text()
    assert json.loads(text) == {"version": 2, "threads": 2, "checkpoint": 1, "hold": True}
    assert AgentFolder(tmp_path).send_request(hold=False) == 3
    assert parse_request("{broken") == parse_request("[]") == parse_request("")


def test_a_wish_that_cannot_be_written_is_not_wanted(tmp_path):
    folder = AgentFolder(tmp_path / "gone")
    with pytest.raises(FileNotFoundError):
        folder.send_request(threads=2)
    assert folder.request.version == 0


def test_what_a_job_says_is_believed_as_far_as_it_makes_sense(tmp_path):
    folder = AgentFolder(tmp_path)
    assert folder.read_report() == AgentReport()
    said = {"version": 3, "threads": 2, "step": 5, "steps": 9, "state": "running", "started": 1.5}
    (tmp_path / "says.json").write_text(json.dumps(said))
    assert folder.read_report() == AgentReport(3, 2, 5, 9, 0, 0, "running", 1.5)
    odd = parse_report(
        '{"version": "x", "threads": true, "step": -4, "steps": 1.5, "state": 3, "started": null}'
    )
    assert odd == AgentReport(0, None, 0, None, 0, 0, "3", 0.0)
    assert parse_report("") is None


def test_half_a_said_file_leaves_what_was_said_before(tmp_path):
    folder = AgentFolder(tmp_path)
    (tmp_path / "says.json").write_text('{"step": 5, "state": "running"}')
    assert folder.read_report().step == 5
    (tmp_path / "new").write_text('{"step": 6, "sta')
    (tmp_path / "new").replace(tmp_path / "says.json")
    assert folder.read_report().step == 5


def test_readings_are_given_once_and_whole(tmp_path):
    readings = AgentReadings(tmp_path / "readings.csv")
    assert readings.news() == []
    (tmp_path / "readings.csv").write_text("10.5,1,0.9\nnonsense\n11.5,2,nan\n12.5,3,0.")
    assert readings.news() == [(10.5, 0.9)]
    (tmp_path / "readings.csv").write_text("10.5,1,0.9\nnonsense\n11.5,2,nan\n12.5,3,0.7\n")
    assert readings.news() == [(12.5, 0.7)]
    assert readings.news() == []


def test_a_score_is_turned_round(tmp_path):
    (tmp_path / "readings.csv").write_text("1.0,1,0.25\n")
    assert AgentReadings(tmp_path / "readings.csv", "max").news() == [(1.0, 0.75)]
    assert AgentReadings(tmp_path / "readings.csv", "no goal").news() == [(1.0, 0.25)]


# ---- a job's own figures ----


def test_usage_is_summed_over_containers_and_starts():
    from core.engines.values import Counters

    job = LiveJob("a", 0.0)
    for used in (1.0, 3.0, 0.5):  # the third is of a container that was started again
        job.count(Counters(0.0, used, 0))
    assert job.cpu_seconds == 3.5
    job.begin_container("other")
    job.count(Counters(0.0, 2.0, 0))
    assert job.cpu_seconds == 5.5


def test_a_clock_that_jumps_does_not_put_readings_out_of_order():
    job = LiveJob("a", 0.0)
    job.add([(1.0, 0.9), (-500.0, 0.8), (2.0, 0.7), (900.0, 0.6)], 3.0)
    assert job.snapshot().readings == ((1.0, 0.9), (1.0, 0.8), (2.0, 0.7), (3.0, 0.6))
    assert job.snapshot().readings == ()
