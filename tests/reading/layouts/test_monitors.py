"""dstat and systemd-cgtop, InfluxDB's annotated CSV, and what is known but not read."""

import pytest

from core.errors import InputError
from core.reading import inspect_file, read_with_report
from core.reading.mapping import INTERVAL
from core.traces.model import Role
from core.units import MIB, Unit
from tests.reading.layouts.files import of, read_rows, write

ABOUT = (
    '"Dstat 0.7.4 CSV output"\n'
    '"Author:","Dag Wieers <dag@wieers.com>",,,,"URL:","http://dag.wieers.com/home-made/dstat/"\n'
    '"Host:","node1",,,,"User:","root"\n'
    '"Cmdline:","dstat -tcmnd --output d.csv 5",,,,"Date:","31 Dec 2026 23:59:40 UTC"\n\n'
)
NAMES = (
    '"system","total cpu usage",,,,,,"memory usage",,,,"net/total",,"dsk/total",\n'
    '"time","usr","sys","idl","wai","hiq","siq","used","buff","cach","free","recv","send","read","writ"\n'
)


def sample(time, i):
    return f"{time},{i}.0,2.0,{90 - i}.5,0.0,0.0,0.0,{500 + i}e6,1.0,2.0,3.0,{i}e3,2e3,3e3,4e3\n"


def dstat(*starts):
    return "".join(ABOUT + NAMES + "".join(sample(time, i) for i, time in enumerate(one)) for one in starts)


def test_dstat_is_read_without_its_first_row(tmp_path):
    times = [f"31-12 23:59:{40 + 5 * i}" for i in range(4)] + [f"01-01 00:00:{5 * i:02}" for i in range(6)]
    path = write(tmp_path, "d.csv", dstat(times))
    traces, report = read_with_report(path)
    assert traces.ids == ("node1",)
    assert traces.period == 5
    assert traces.time[[0, -1]].tolist() == [1798761585, 1798761625]
    assert traces.feature(Role.CPU).unit is Unit.SHARE
    assert of(traces, Role.CPU)[:2] == pytest.approx([0.105, 0.115])
    assert of(traces, Role.MEMORY)[0] == 501e6
    assert [of(traces, role)[0] for role in (Role.NETWORK_IN, Role.NETWORK_OUT, Role.BLOCK_IN)] == [
        1e3,
        2e3,
        3e3,
    ]
    assert report.faultless
    assert [(one.kind, one.row) for one in report.problems if one.kind == "since_boot"] == [("since_boot", 8)]


def test_dool_names_its_months(tmp_path):
    times = [f"Dec-31 23:59:{40 + 5 * i}" for i in range(4)] + [f"Jan-01 00:00:{5 * i:02}" for i in range(6)]
    traces, report = read_with_report(
        write(tmp_path, "d.csv", dstat(times).replace("Dstat 0.7.4", "Dool 1.3"))
    )
    assert traces.time[[0, -1]].tolist() == [1798761585, 1798761625]
    assert report.faultless


def test_each_start_of_dstat_has_a_first_row(tmp_path):
    starts = [[f"15-01 10:{m}:{5 * i:02}" for i in range(11)] for m in (10, 11)]
    traces, report = read_with_report(write(tmp_path, "d.csv", dstat(*starts)))
    assert report.count("since_boot") == 2
    assert traces.n_samples >= 20


def test_dstat_without_times_is_asked(tmp_path):
    names = '"total cpu usage",,"memory usage",\n"usr","idl","used","free"\n'
    text = ABOUT + names + "".join(f"5.0,{90 - i}.0,5{i}e7,1e9\n" for i in range(8))
    assert inspect_file(write(tmp_path, "d.csv", text)).mapping.unknown == (INTERVAL,)


def cgtop(i, memory="512.5M"):
    return (
        f"/                        212   {150 + i}.0     3.4G        -        -\n"
        "system.slice              86   99.0   812.1M        -        -\n"
        f"system.slice/app.service  24   {50 + i}.5   {memory}        -        -\n"
        "user.slice                12    1.0   100.0M        -        -\n"
    )


@pytest.mark.parametrize("header", ["", "Control Group    Tasks   %CPU   Memory  Input/s Output/s\n"])
@pytest.mark.parametrize("stamp", ["2026-01-15 10:00:{:02}\n", ""])
def test_cgtop_is_read_by_group_without_sums(tmp_path, header, stamp, sentence):
    text = "".join(f"{stamp.format(i)}{header}{cgtop(i)}\n" for i in range(12))
    path = write(tmp_path, "cgtop.txt", text)
    traces, report = read_rows(path)
    sentence(inspect_file(path).label)
    assert traces.ids == ("system.slice/app.service", "user.slice")
    assert of(traces, Role.CPU, "system.slice/app.service")[:2] == [0.505, 0.515]
    assert of(traces, Role.MEMORY, "system.slice/app.service")[0] == 512.5 * MIB
    assert report.count("group_sums") == 2
    assert report.faultless


def test_cgtop_may_print_bytes(tmp_path):
    text = "".join(f"2026-01-15 10:00:{i:02}\n{cgtop(i, '7340032')}\n" for i in range(12))
    traces, _ = read_with_report(write(tmp_path, "cgtop.txt", text))
    assert of(traces, Role.MEMORY, "system.slice/app.service")[0] == 7 * MIB


VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    + " 1  0      0 123456 12345 6789012    0    0     5    10  100  200 30  2 68  0  0\n"
    * 9
)
XENTOP = (
    "      NAME  STATE   CPU(sec) CPU(%)     MEM(k) MEM(%)  MAXMEM(k) MAXMEM(%) VCPUS\n"
    "  Domain-0 -----r       2912   13.5    4192256   25.0   no limit       n/a     4\n"
) * 5
BUSYBOX = (
    "Mem: 1234567K used, 654321K free, 123K shrd, 4567K buff, 89012K cached\n"
    "CPU:  5% usr   2% sys   0% nic  90% idle   0% io   0% irq   0% sirq\n"
    "  PID  PPID USER     STAT   VSZ %VSZ CPU %CPU COMMAND\n"
    "  123     1 root     S     123m   7%   0   3% python train.py\n"
) * 5
DSTAT = (
    "--total-cpu-usage-- -dsk/total- -net/total-\n"
    "usr sys idl wai stl| read  writ| recv  send\n"
    "  5   2  93   0   0|  10k   12k| 123B  456B\n"
)
IOSTAT = (
    "Linux 6.1.0 (node1) \t01/15/2026 \t_x86_64_\t(8 CPU)\n\n"
    "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
    "           5.00    0.00    1.00    0.10    0.00   93.9\n"
)
NMON = "AAA,progname,nmon\nAAA,interval,10\nCPU_ALL,CPU Total h,User%,Sys%\nZZZZ,T0001,10:00:00,15-JAN-2026\n"
ATOP = "CPU node1 1768471200 2026/01/15 10:00:00 10 100 8 10 2800 0 5200 0 0 0 0 0 2400 100\n" * 5
PMON = (
    "# gpu         pid   type     sm    mem    enc    dec    command\n"
    "# Idx           #    C/G      %      %      %      %    name\n"
    + "    0         100     C     35     10      -      -    python\n"
    * 5
)
PS = (
    "2026-01-15 10:00:00\nUSER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
    "root          77 35.0  5.0 9000000 123456 ?        Sl   10:00   0:10 python train.py\n"
)
LINES = "docker_container_cpu,container_name=web usage_percent=130.0 1768471200000000000\n" * 5
CLOUDWATCH = (
    '{\n  "Label": "CPUUtilization",\n'
    '  "Datapoints": [{"Timestamp": "2026-01-15T10:00:00Z", "Average": 3.5}]\n}\n'
)
NETDATA = '{"labels": ["time", "user", "system"], "data": [[1768471200, 5.5, 2.0], [1768471201, 6.5, 2.0]]}'


@pytest.mark.parametrize(
    "text", [VMSTAT, XENTOP, BUSYBOX, DSTAT, IOSTAT, NMON, ATOP, PMON, PS, LINES, CLOUDWATCH, NETDATA]
)
def test_what_is_known_and_not_read_is_named(tmp_path, text, refuses):
    path = write(tmp_path, "unknown.txt", text)
    for ask in (inspect_file, read_with_report):
        with refuses(InputError):
            ask(path)


ANNOTATIONS = (
    "#group,false,false,true,true,false,false,true,true,true\n"
    "#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,double,string,string,string\n"
    "#default,_result,,,,,,,,\n"
)
COLUMNS = ",result,table,_start,_stop,_time,_value,_field,_measurement,container_name\n"
SPAN = "2026-01-15T09:00:00Z,2026-01-15T11:00:00Z"


def influx(number, field, measurement, value, columns=COLUMNS):
    begins, ends = f",,{number},{SPAN},2026-01-15T10:00:", f"{field},{measurement},web\n"
    rows = "".join(f"{begins}{5 * i:02}Z,{value(i)},{ends}" for i in range(12))
    return ANNOTATIONS + columns + rows


def test_tables_of_influxdb_are_one(tmp_path):
    usage = influx(0, "usage_percent_of_core", "docker_container_cpu", lambda i: 150.5 + i)
    memory = influx(1, "usage", "docker_container_mem", lambda i: 500_000_000 + i)
    traces, report = read_with_report(write(tmp_path, "q.csv", f"{usage}\n{memory}"))
    assert traces.ids == ("web",)
    assert of(traces, Role.CPU)[:2] == pytest.approx([1.505, 1.515])
    assert of(traces, Role.MEMORY)[0] == 500_000_000
    assert [one.kind for one in report.harmful] == ["assumed_unit"]  # bytes of memory
    assert report.count("ragged") == 0


def test_tables_of_influxdb_with_other_columns_are_refused(tmp_path, refuses):
    other = COLUMNS.replace("_time,_value", "_value,_time")
    tables = (influx(n, "usage_cores", "cpu", float, names) for n, names in enumerate((COLUMNS, other)))
    text = "\n".join(tables)
    path = write(tmp_path, "q.csv", text)
    with refuses(InputError):
        read_with_report(path)


def test_a_column_of_units_is_the_metrics(tmp_path):
    rows = [
        f"2026-01-15T10:00:{5 * i:02}Z,web,{cells}"
        for i in range(12)
        for cells in (f"cpu,{1500 + i},millicores", f"memory,{500 + i},MiB", f"net_rx,{i},Bytes/Second")
    ]
    traces, report = read_with_report(
        write(tmp_path, "t.csv", "time,container,metric,value,unit\n" + "\n".join(rows) + "\n")
    )
    assert of(traces, Role.CPU)[0] == 1.5
    assert of(traces, Role.MEMORY)[0] == 500 * MIB
    assert of(traces, Role.NETWORK_IN)[1] == 1
    assert report.faultless


def test_units_that_change_within_a_metric_do_not_pass(tmp_path):
    rows = [f"{5 * i},web,memory,{500 + i},{['MiB', 'KiB'][i % 2]}" for i in range(24)]
    _, report = read_with_report(
        write(tmp_path, "t.csv", "time,container,metric,value,unit\n" + "\n".join(rows) + "\n")
    )
    assert not report.faultless
