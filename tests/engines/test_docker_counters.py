"""Counters from the kernel's texts, version 1 and 2, and from the answer of Docker's API."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from core.engines.docker_host import cgroups
from core.engines.docker_host.cgroups import CgroupReader, ControlGroup, find_group, parse_mounts
from core.engines.docker_host.containers import Container
from core.engines.docker_host.limits import Limits

ID = "0fb0e773bec1dad91cb217f63a06f5a3db5fe35912fc8d9b8be7bc74c57bf78b"
MOUNTS_1 = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
MOUNTS_2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
MEMBER_1 = f"""\
7:blkio:/docker/{ID}
4:memory:/docker/{ID}
1:cpu,cpuacct:/docker/{ID}
0::/docker/{ID}
"""
MEMBER_2 = f"0::/system.slice/docker-{ID}.scope\n"


def test_where_groups_are_in_version_1():
    group = find_group(MEMBER_1, parse_mounts(MOUNTS_1), ID, "/proc/7/net/dev")
    folder = f"/sys/fs/cgroup/cpu,cpuacct/docker/{ID}"
    assert (group.version, group.cpu, group.usage) == (1, folder, folder)
    assert group.memory == f"/sys/fs/cgroup/memory/docker/{ID}"
    assert group.io == f"/sys/fs/cgroup/blkio/docker/{ID}/blkio.throttle.io_service_bytes_recursive"
    assert group.net == "/proc/7/net/dev"


def test_where_groups_are_in_version_2():
    group = find_group(MEMBER_2, parse_mounts(MOUNTS_2), ID, "")
    folder = f"/sys/fs/cgroup/system.slice/docker-{ID}.scope"
    assert group == ControlGroup(2, folder, folder, folder, folder + "/io.stat", "")


def test_a_group_that_does_not_name_the_container_is_not_believed():
    assert find_group("0::/user.slice/session-1.scope\n", parse_mounts(MOUNTS_2), ID, "") is None
    assert find_group(MEMBER_1.replace(ID, "f" * 64), parse_mounts(MOUNTS_1), ID, "") is None
    assert find_group(MEMBER_2, {}, ID, "") is None


def write(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text)
    return str(folder)


def reading(tmp_path, group):
    """What the reader makes of a group, found under another name."""
    reader = CgroupReader()
    container = Container(ID, "c", "i", {}, "running", 1.0, 1.0, 4_194_999, Limits(), "")
    reader._groups[ID, container.pid] = group
    return reader.counters(container), reader.cpu_limits(container)


def test_a_reading_in_version_1(tmp_path):
    folder = write(
        tmp_path,
        {
            "cpuacct.usage": "2500000000\n",
            "memory.usage_in_bytes": "1000000\n",
            "memory.stat": "inactive_file 7\ntotal_cache 5\ntotal_inactive_file 4000\n",
            "io": "8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 1\n8:16 Read 1\n8:16 Write 2\nTotal 12291\n",
            "cpu.stat": "nr_periods 40\nnr_throttled 10\nthrottled_time 1500000000\nnr_bursts 0\n",
            "net": "Inter-| Receive\n face |bytes\n    lo: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n"
            "  eth0: 1500 10 0 0 0 0 0 0 700 9 0 0 0 0 0 0\n",
            "cpu.cfs_quota_us": "50000\n",
            "cpu.cfs_period_us": "100000\n",
            "cpu.shares": "512\n",
        },
    )
    found, cpu = reading(tmp_path, ControlGroup(1, folder, folder, folder, f"{folder}/io", f"{folder}/net"))
    assert (found.cpu_seconds, found.memory) == (2.5, 996_000)
    assert (found.io_read, found.io_written, found.net_received, found.net_sent) == (4097, 8194, 1500, 700)
    assert (found.periods, found.throttled_periods, found.throttled_seconds) == (40, 10, 1.5)
    assert (cpu.quota, cpu.period, cpu.weight) == (50_000, 100_000, 512)


def test_a_reading_in_version_2(tmp_path):
    folder = write(
        tmp_path,
        {
            "cpu.stat": "usage_usec 2500000\nuser_usec 1\nsystem_usec 2\nnr_periods 40\nnr_throttled 10\n"
            "throttled_usec 1500000\n",
            "memory.current": "1000000\n",
            "memory.stat": "anon 1\nfile 5000\ninactive_anon 3\nactive_anon 4\ninactive_file 4000\n",
            "io.stat": "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2\n8:16 rbytes=1 wbytes=2\n253:0 \n",
            "cpu.max": "max 100000\n",
            "cpu.weight": "100\n",
        },
    )
    found, cpu = reading(tmp_path, ControlGroup(2, folder, folder, folder, f"{folder}/io.stat", ""))
    assert (found.cpu_seconds, found.memory) == (2.5, 996_000)
    assert (found.io_read, found.io_written, found.net_received, found.net_sent) == (4097, 8194, None, None)
    assert (found.periods, found.throttled_periods, found.throttled_seconds) == (40, 10, 1.5)
    assert (cpu.quota, cpu.period, cpu.weight) == (None, 100_000, 100)


def test_a_group_that_is_gone_reads_nothing(tmp_path):
    missing = str(tmp_path / "gone")
    assert reading(tmp_path, ControlGroup(2, missing, missing, missing, missing, "")) == (None, None)


def test_a_reading_from_the_api_in_version_1():
    found = cgroups.parse_stats(
        {
            "cpu_stats": {
                "cpu_usage": {"total_usage": 2_500_000_000},
                "throttling_data": {"periods": 40, "throttled_periods": 10, "throttled_time": 1_500_000_000},
            },
            "memory_stats": {"usage": 1_000_000, "stats": {"inactive_file": 7, "total_inactive_file": 4000}},
            "blkio_stats": {
                "io_service_bytes_recursive": [{"op": "Read", "value": 3}, {"op": "Write", "value": 4}]
            },
            "networks": {"eth0": {"rx_bytes": 5, "tx_bytes": 6}},
        },
        17.0,
    )
    assert found == cgroups.Counters(17.0, 2.5, 996_000, 3, 4, 5, 6, 40, 10, 1.5)


def test_a_reading_from_the_api_in_version_2():
    found = cgroups.parse_stats(
        {
            "cpu_stats": {"cpu_usage": {"total_usage": 10**9}},
            "memory_stats": {"usage": 1000, "stats": {"inactive_file": 400}},
            "blkio_stats": {"io_service_bytes_recursive": None},
        },
        0.0,
    )
    assert found == cgroups.Counters(0.0, 1.0, 600)


@pytest.mark.parametrize("memory", [{}, None])
def test_memory_without_accounting_is_unknown(memory):
    answer = {"cpu_stats": {"cpu_usage": {"total_usage": 10**9}}, "memory_stats": memory}
    assert cgroups.parse_stats(answer, 0.0).memory is None


def test_an_odd_answer_concerns_one_container():
    answers = {
        "a": {"name": "/a", "id": "0" * 64},
        "b": {"cpu_stats": {"cpu_usage": {"total_usage": 10**9}}, "memory_stats": {"usage": 5}},
        "c": {"cpu_stats": None},
        "d": None,
        "e": [],
        "f": "busy",
    }

    class Connection:
        remote = True

        def get(self, path, **_options):
            return answers[path.split("/")[2]]

    running = [SimpleNamespace(id=name, running=True) for name in answers]
    usage = cgroups.ContainerUsage(Connection(), CgroupReader())
    found = usage.counters(running)
    assert {name: each.memory for name, each in found.items() if each.memory is not None} == {"b": 5}
    assert [name for name, each in found.items() if not each.unreadable] == ["b"]
    usage.close()


def test_numbers_in_flat_files():
    text = "a 1\nab 2\nb 3"
    assert [cgroups.parse_field(text, key) for key in ("a", "ab", "b", "c")] == [1, 2, 3, 0]


PROCESS_IO = """rchar: 77204
wchar: 20979274
syscr: 63
syscw: 8
read_bytes: 176128
write_bytes: 20983808
cancelled_write_bytes: 0
"""


def test_where_the_kernel_counts_no_blocks_for_groups_those_of_the_process_count(tmp_path):
    (tmp_path / "blkio").write_text("Total 0\n")
    (tmp_path / "io").write_text(PROCESS_IO)
    group = ControlGroup(1, "", "", "", str(tmp_path / "blkio"), "", str(tmp_path / "io"))
    assert cgroups.parse_process_io(PROCESS_IO) == (176128, 20983808)
    assert cgroups._read_io(group, (0, 0)) == (176128, 20983808)
    assert cgroups._read_io(group, (10**9, 0)) == (10**9, 20983808)
    assert cgroups._read_io(replace(group, process=str(tmp_path / "none")), (7, 8)) == (7, 8)
