"""Files as rows of cells before they are text, so that a defect is put where a tool would have it.

A tool is its columns and how it writes rows. `TOOLS` has every format that the register reads, each without
a defect; what its rows have to be read as is known.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from core.traces.model import Role
from core.units import GIB, KIB, MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from tests.reading.written.truth import Truth

LIMIT, REQUEST, CORES_LIMIT, CORES_REQUEST = 16 * GIB, 2 * GIB, 16.0, 2.0
CORES = 16
"""The machine of percentages."""


def values_of(known: Truth, role: Role) -> np.ndarray:
    """What is true of a role, shape (executions, samples)."""
    return {
        Role.CPU: known.cpu,
        Role.MEMORY: known.memory,
        Role.MEMORY_LIMIT: np.full(known.cpu.shape, LIMIT),
        Role.CPU_LIMIT: np.full(known.cpu.shape, CORES_LIMIT),
        Role.MEMORY_REQUEST: np.full(known.cpu.shape, REQUEST),
        Role.CPU_REQUEST: np.full(known.cpu.shape, CORES_REQUEST),
        Role.NETWORK_IN: np.full(known.cpu.shape, 1500 / known.period),
        Role.GPU: (known.cpu / 14).clip(0, 1),
        Role.GPU_MEMORY: known.memory,
        Role.GPU_POWER: 50 + 10 * known.cpu,
    }[role]


@dataclass(frozen=True)
class Column:
    """A column: its name, how a cell is written, and what it has to be read as, with its rounding."""

    name: str
    cell: Callable[[Truth, int, int], str]
    role: Role | None = None
    error: float = 0.0


@dataclass(frozen=True)
class Row:
    """A row of container `p` at sample `i`."""

    p: int
    i: int
    cells: dict[str, str]


@dataclass(frozen=True)
class Sheet:
    """What a tool writes: its rows, and how they become lines.

    `first` is the first sample that can be read: a counter's first value gives no usage.
    """

    name: str
    known: Truth
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    #: The lines above all rows, and the lines of the rows.
    write: Callable[[Sheet], tuple[list[str], list[str]]]
    #: Columns of time and of the container's name; "" where a tool has none.
    time: str = "time"
    title: str = "name"
    executions: Callable[[str], str] = str
    first: int = 0
    clock: str = "epoch"
    #: Whether rows are split at a separator, and which.
    separator: str = ""
    is_json: bool = False

    def lines(self) -> list[str]:
        head, body = self.write(self)
        return [*head, *body]

    def lane_columns(self) -> list[Column]:
        return [one for one in self.columns if one.role is not None]

    def with_cells(self, change: Callable[[Row], dict[str, str]]) -> Sheet:
        return replace(self, rows=tuple(replace(row, cells=change(row)) for row in self.rows))


def iso(known: Truth, _p: int, i: int) -> str:
    return datetime.fromtimestamp(known.time(i), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def epoch(known: Truth, _p: int, i: int) -> str:
    return f"{known.time(i):.0f}"


def title(known: Truth, p: int, _i: int) -> str:
    return known.names[p]


def blanked(known: Truth, p: int, i: int) -> str:
    return datetime.fromtimestamp(known.time(i), UTC).strftime("%Y-%m-%d %H:%M:%S")


def number(role: Role, factor: float, digits: int, end: str = "") -> Callable[[Truth, int, int], str]:
    """Write a role's value."""
    return lambda known, p, i: f"{values_of(known, role)[p, i] * factor:.{digits}f}{end}"


def counter(role: Role, factor: float, digits: int, end: str = "") -> Callable[[Truth, int, int], str]:
    """Write a role's value as a sum that grows."""
    return lambda known, p, i: (
        f"{float((values_of(known, role)[p, : i + 1] * known.period).sum()) * factor:.{digits}f}{end}"
    )


def constant(text: str) -> Callable[[Truth, int, int], str]:
    return lambda _known, _p, _i: text


CPU = Column("cpu_cores", number(Role.CPU, 1, 3), Role.CPU, 6e-4)
MEMORY = Column("memory_mib", number(Role.MEMORY, 1 / MIB, 3), Role.MEMORY, 600)
DOCKER = (
    Column("CPUPerc", number(Role.CPU, 100, 2, "%"), Role.CPU, 6e-5),
    Column("MemUsage", lambda k, p, i: f"{k.memory[p, i] / GIB:.4f}GiB / 16GiB", Role.MEMORY, 6e-5 * GIB),
    Column("MemPerc", lambda k, p, i: f"{k.memory[p, i] / LIMIT * 100:.2f}%"),
    Column("NetIO", lambda _k, _p, i: f"{1.5 * i:.1f}kB / 0B"),
    Column("BlockIO", lambda _k, _p, i: f"{7 * i}kB / 12MB"),
    Column("PIDs", constant("12")),
)


def delimited(separator: str) -> Callable[[Sheet], tuple[list[str], list[str]]]:
    """One header and a row per sample, cells with a separator in quotes."""

    def cell(text: str) -> str:
        return f'"{text}"' if separator in text else text

    def write(sheet: Sheet) -> tuple[list[str], list[str]]:
        head = separator.join(cell(one.name) for one in sheet.columns)
        return [head], [
            separator.join(cell(row.cells[one.name]) for one in sheet.columns) for row in sheet.rows
        ]

    return write


def framed(header: str, form: str, banner: str = "") -> Callable[[Sheet], tuple[list[str], list[str]]]:
    """A table for each time, with its header and what stands above it; rows as `form` has them."""

    def write(sheet: Sheet) -> tuple[list[str], list[str]]:
        body, last = [], -1
        for row in sheet.rows:
            if row.i != last:
                last = row.i
                above = banner.format(**row.cells, clock=row.cells.get("time", "")[11:19])
                body += [*above.splitlines(), *([header] if header else [])]
            body.append(form.format(**row.cells))
        return [], body

    return write


def once(*head: str, form: str) -> Callable[[Sheet], tuple[list[str], list[str]]]:
    """Rows as `form` has them under lines that stand there once."""
    return lambda sheet: (list(head), [form.format(**row.cells) for row in sheet.rows])


def _value(text: str) -> object:
    """A cell as JSON has it: numbers bare, all else in quotes."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def objects(
    make: Callable[[dict[str, str]], object] = lambda cells: {k: _value(v) for k, v in cells.items()},
) -> Callable[[Sheet], tuple[list[str], list[str]]]:
    """A JSON object on each line."""
    return lambda sheet: ([], [json.dumps(make(row.cells)) for row in sheet.rows])


def texts(cells: dict[str, str]) -> object:
    return dict(cells)


def records(sheet: Sheet) -> tuple[list[str], list[str]]:
    """One list of objects over several lines."""
    made = [json.dumps({key: _value(text) for key, text in row.cells.items()}) for row in sheet.rows]
    return [], ["[" + made[0], *(f" ,{one}" for one in made[1:]), "]"]


def docker_answer(cells: dict[str, str]) -> object:
    return {
        "name": "/" + cells["name"],
        "read": cells["time"],
        "cpu_stats": {"cpu_usage": {"total_usage": _value(cells["cpu"])}, "online_cpus": 16},
        "memory_stats": {"usage": _value(cells["memory"]), "stats": {"inactive_file": 0}, "limit": LIMIT},
    }


def pod_metrics(sheet: Sheet) -> tuple[list[str], list[str]]:
    """A list of the metrics server on each line, with the pods of one time."""
    body = []
    for i in dict.fromkeys(row.i for row in sheet.rows):
        items = [
            {
                "metadata": {"name": row.cells["name"], "namespace": "ml"},
                "timestamp": row.cells["time"],
                "window": "10s",
                "containers": [
                    {"name": "main", "usage": {"cpu": row.cells["cpu"], "memory": row.cells["memory"]}}
                ],
            }
            for row in sheet.rows
            if row.i == i
        ]
        body.append(
            json.dumps({"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": items})
        )
    return [], body


def crictl(sheet: Sheet) -> tuple[list[str], list[str]]:
    body = []
    for i in dict.fromkeys(row.i for row in sheet.rows):
        stats = [
            {
                "attributes": {
                    "id": f"{row.p:02d}abc",
                    "metadata": {"name": "main"},
                    "labels": {
                        "io.kubernetes.pod.name": row.cells["name"],
                        "io.kubernetes.pod.namespace": "ml",
                        "io.kubernetes.container.name": "main",
                    },
                },
                "cpu": {
                    "timestamp": row.cells["time"] + "000000000",
                    "usageCoreNanoSeconds": {"value": row.cells["cpu"]},
                },
                "memory": {
                    "timestamp": row.cells["time"] + "000000000",
                    "workingSetBytes": {"value": row.cells["memory"]},
                },
            }
            for row in sheet.rows
            if row.i == i
        ]
        body.append(json.dumps({"stats": stats}))
    return [], body


_METRICS = {"cpu": "container_cpu_usage_seconds_total", "memory": "container_memory_working_set_bytes"}


def prometheus_json(sheet: Sheet) -> tuple[list[str], list[str]]:
    series = [
        {
            "metric": {"__name__": metric, "pod": sheet.known.names[p], "container": "main"},
            "values": [[_value(row.cells["time"]), row.cells[key]] for row in sheet.rows if row.p == p],
        }
        for p in dict.fromkeys(row.p for row in sheet.rows)
        for key, metric in _METRICS.items()
    ]
    return [], [json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}})]


def long_table(sheet: Sheet) -> tuple[list[str], list[str]]:
    body = [
        f"{row.cells['time']},{metric},{row.cells['name']},main,{row.cells[key]}"
        for key, metric in _METRICS.items()
        for row in sheet.rows
    ]
    return ["timestamp,__name__,pod,container,value"], body


def wide_table(sheet: Sheet) -> tuple[list[str], list[str]]:
    """A column for each container's CPU and memory; a row for each time."""
    names = dict.fromkeys(row.p for row in sheet.rows)
    head = [
        "Time",
        *(f"{what} {sheet.known.names[p]}" for p in names for what in ("CPU cores", "Memory bytes")),
    ]
    body = []
    for i in dict.fromkeys(row.i for row in sheet.rows):
        by_container = {row.p: row.cells for row in sheet.rows if row.i == i}
        stamp = next(iter(by_container.values()))["time"]
        cells = [
            by_container[p][key] if p in by_container else "" for p in names for key in ("cpu", "memory")
        ]
        body.append(",".join([stamp, *(f'"{one}"' if "," in one else one for one in cells)]))
    return [",".join(f'"{one}"' for one in head)], body


def _sheet(name: str, known: Truth, columns: Sequence[Column], write, **more) -> Sheet:
    rows = tuple(
        Row(p, i, {one.name: one.cell(known, p, i) for one in columns})
        for i in range(known.samples)
        for p in range(len(known.names))
    )
    return Sheet(name, known, tuple(columns), rows, write, **more)


def _alone(known: Truth) -> Truth:
    return replace(known, names=known.names[:1], cpu=known.cpu[:1], memory=known.memory[:1])


TIME, NAME = Column("time", iso), Column("name", title)
_COUNTED = (
    Column("cpu", counter(Role.CPU, 1, 6), Role.CPU, 1e-4),
    Column("memory", number(Role.MEMORY, 1, 0), Role.MEMORY, 1),
)
_SPECS = (
    Column("cpu_request", number(Role.CPU_REQUEST, 1000, 0, "m"), Role.CPU_REQUEST, 1e-6),
    Column("cpu_limit", number(Role.CPU_LIMIT, 1, 0), Role.CPU_LIMIT, 1e-6),
    Column("memory_request", number(Role.MEMORY_REQUEST, 1 / GIB, 0, "Gi"), Role.MEMORY_REQUEST, 1),
    Column("memory_limit", number(Role.MEMORY_LIMIT, 1 / GIB, 0, "Gi"), Role.MEMORY_LIMIT, 1),
)


def table(known: Truth, chance: Random) -> Sheet:
    """A table of samples, with requests and limits or a network's counter beside them."""
    more = chance.choice(
        ((), _SPECS, (Column("net_rx_bytes_total", lambda _k, _p, i: str(1500 * i), Role.NETWORK_IN, 1e-6),))
    )
    separator = chance.choice((",", ",", ";", "\t"))
    name = "samples.csv"
    return _sheet(name, known, (TIME, NAME, CPU, MEMORY, *more), delimited(separator), separator=separator)


def docker_csv(known: Truth, chance: Random) -> Sheet:
    kept = [one for one in DOCKER[2:] if chance.random() < 0.6]
    columns = chance.sample([TIME, NAME, *DOCKER[:2], *kept], 4 + len(kept))
    return _sheet("stats.csv", known, columns, delimited(","), separator=",")


_DOCKER_FORM = "{ID}   {name}   {CPUPerc}   {MemUsage}   {MemPerc}   {NetIO}   {BlockIO}   {PIDs}"
_DOCKER_HEAD = "CONTAINER ID   NAME   CPU %   MEM USAGE / LIMIT   MEM %   NET I/O   BLOCK I/O   PIDS"
_ID = Column("ID", lambda _k, p, _i: f"0123456789a{p}")


def docker_table(known: Truth, _chance: Random) -> Sheet:
    columns = (TIME, _ID, NAME, *DOCKER)
    return _sheet("stats.txt", known, columns, framed(_DOCKER_HEAD, _DOCKER_FORM, "{time}"))


def docker_json(known: Truth, _chance: Random) -> Sheet:
    columns = (replace(TIME, name="timestamp"), replace(NAME, name="Name"), _ID, *DOCKER)
    return _sheet("stats.json", known, columns, objects(texts), time="timestamp", title="Name", is_json=True)


def docker_api(known: Truth, _chance: Random) -> Sheet:
    columns = (
        TIME, NAME, Column("cpu", counter(Role.CPU, 1e9, 0), Role.CPU, 1e-6), _COUNTED[1],
    )  # fmt: skip
    return _sheet("answers.jsonl", known, columns, objects(docker_answer), first=1, is_json=True)


def kubectl(known: Truth, _chance: Random) -> Sheet:
    columns = (
        TIME, NAME, Column("cpu", number(Role.CPU, 1000, 0, "m"), Role.CPU, 6e-4),
        Column("memory", number(Role.MEMORY, 1 / MIB, 0, "Mi"), Role.MEMORY, 0.51 * MIB),
    )  # fmt: skip
    write = framed("NAME      CPU(cores)   MEMORY(bytes)", "{name}   {cpu}   {memory}", "{time}")
    return _sheet("top.txt", known, columns, write)


def metrics_server(known: Truth, _chance: Random) -> Sheet:
    columns = (
        TIME, NAME, Column("cpu", number(Role.CPU, 1e9, 0, "n"), Role.CPU, 1e-6),
        Column("memory", number(Role.MEMORY, 1 / KIB, 0, "Ki"), Role.MEMORY, KIB),
    )  # fmt: skip
    return _sheet("metrics.jsonl", known, columns, pod_metrics, executions=lambda name: f"{name}/main")


def crictl_stats(known: Truth, _chance: Random) -> Sheet:
    columns = (
        Column("time", epoch), NAME, Column("cpu", counter(Role.CPU, 1e9, 0), Role.CPU, 1e-6), _COUNTED[1],
    )  # fmt: skip
    return _sheet("crictl.jsonl", known, columns, crictl, first=1, executions=lambda name: f"{name}/main")


def cgtop(known: Truth, _chance: Random) -> Sheet:
    columns = (
        NAME, Column("cpu", number(Role.CPU, 100, 1), Role.CPU, 6e-4),
        Column("memory", number(Role.MEMORY, 1, 0), Role.MEMORY, 1),
    )  # fmt: skip
    write = framed("", "system.slice/{name}.service 24 {cpu} {memory} - -", "\n/ 212 90.0 3652190208 - -")
    named = {"executions": lambda name: f"system.slice/{name}.service", "clock": "rows", "time": ""}
    return _sheet("cgtop.txt", known, columns, write, **named)


def psrecord(known: Truth, _chance: Random) -> Sheet:
    columns = (
        Column("time", lambda k, _p, i: f"{i * k.period:.3f}"),
        Column("CPU (%)", number(Role.CPU, 100, 3), Role.CPU, 1e-5),
        Column("Real (MB)", number(Role.MEMORY, 1 / MIB, 3), Role.MEMORY, 600),
        Column("Virtual (MB)", number(Role.MEMORY, 2 / MIB, 3)),
    )  # fmt: skip
    form = "{time:>12} {CPU (%):>12} {Real (MB):>12} {Virtual (MB):>12}"
    write = once("# Elapsed time   CPU (%)     Real (MB)   Virtual (MB)", form=form)
    return _sheet(
        "psrecord.txt", _alone(known), columns, write, clock="any", title="", executions=lambda _: "psrecord"
    )


def mprof(known: Truth, _chance: Random) -> Sheet:
    columns = (
        Column("time", lambda k, _p, i: f"{k.time(i):.4f}"),
        Column("MEM", number(Role.MEMORY, 1 / MIB, 6), Role.MEMORY, 600),
    )  # fmt: skip
    write = once("CMDLINE python train.py", form="MEM {MEM} {time}")
    named = {"executions": lambda _: "python train.py", "title": ""}
    return _sheet("mprofile.dat", _alone(known), columns, write, **named)


_GPUS = (
    Column("utilization.gpu [%]", number(Role.GPU, 100, 0, " %"), Role.GPU, 0.0051),
    Column("memory.used [MiB]", number(Role.GPU_MEMORY, 1 / MIB, 0, " MiB"), Role.GPU_MEMORY, 0.51 * MIB),
    Column("power.draw [W]", number(Role.GPU_POWER, 1, 2, " W"), Role.GPU_POWER, 0.0051),
)


def nvidia_smi(known: Truth, _chance: Random) -> Sheet:
    columns = (
        Column("timestamp", lambda k, p, i: blanked(k, p, i).replace("-", "/") + ".000"),
        Column("index", constant("0")), *_GPUS,
    )  # fmt: skip
    named = {"time": "timestamp", "title": "", "executions": lambda _: "gpus", "separator": ", "}
    return _sheet("gpus.csv", _alone(known), columns, delimited(", "), **named)


def dmon(known: Truth, _chance: Random) -> Sheet:
    columns = (
        Column("date", lambda k, p, i: blanked(k, p, i)[:10].replace("-", "")),
        Column("time", lambda k, p, i: blanked(k, p, i)[11:]),
        Column("sm", number(Role.GPU, 100, 0), Role.GPU, 0.0051),
        Column("fb", number(Role.GPU_MEMORY, 1 / MIB, 0), Role.GPU_MEMORY, 0.51 * MIB),
        Column("pwr", number(Role.GPU_POWER, 1, 0), Role.GPU_POWER, 0.51),
    )  # fmt: skip
    head = ("#Date Time gpu sm fb pwr", "#YYYYMMDD HH:MM:SS Idx % MB W")
    write = once(*head, form="{date}   {time}   0   {sm}   {fb}   {pwr}")
    return _sheet("dmon.txt", _alone(known), columns, write, title="", executions=lambda _: "dmon")


def dcgmi(known: Truth, _chance: Random) -> Sheet:
    columns = (
        Column("GPUTL", number(Role.GPU, 100, 0), Role.GPU, 0.0051),
        Column("POWER", number(Role.GPU_POWER, 1, 3), Role.GPU_POWER, 6e-4),
    )  # fmt: skip
    write = once("#Entity   GPUTL   MCUTL   POWER", "ID   W", form="GPU 0   {GPUTL}   40   {POWER}")
    named = {"title": "", "executions": lambda _: "dcgmi", "clock": "rows", "time": ""}
    return _sheet("dcgmi.txt", _alone(known), columns, write, **named)


def json_lines(known: Truth, _chance: Random) -> Sheet:
    columns = (TIME, replace(NAME, name="container"), CPU, replace(MEMORY, name="memory_mib"))
    return _sheet("samples.jsonl", known, columns, objects(), title="container", is_json=True)


def json_records(known: Truth, _chance: Random) -> Sheet:
    columns = (TIME, replace(NAME, name="container"), CPU, MEMORY)
    return _sheet("samples.json", known, columns, records, title="container")


def spaced(known: Truth, _chance: Random) -> Sheet:
    columns = (TIME, NAME, CPU, MEMORY)
    write = once("time   name   cpu_cores   memory_mib", form="{time}   {name}   {cpu_cores}   {memory_mib}")
    return _sheet("samples.txt", known, columns, write, separator="   ")


def prometheus(known: Truth, _chance: Random) -> Sheet:
    columns = (Column("time", epoch), NAME, *_COUNTED)
    return _sheet(
        "answer.json", known, columns, prometheus_json, first=1, executions=lambda name: f"{name}/main"
    )


def long(known: Truth, _chance: Random) -> Sheet:
    columns = (Column("time", epoch), NAME, *_COUNTED)
    return _sheet("answer.csv", known, columns, long_table, first=1, executions=lambda name: f"{name}/main")


def wide(known: Truth, _chance: Random) -> Sheet:
    columns = (
        Column("time", blanked), NAME,
        Column("cpu", number(Role.CPU, 1, 3), Role.CPU, 6e-4),
        Column("memory", number(Role.MEMORY, 1, 0), Role.MEMORY, 1),
    )  # fmt: skip
    return _sheet("panel.csv", known, columns, wide_table)


def dstat(known: Truth, _chance: Random) -> Sheet:
    columns = (
        Column("time", lambda k, _p, i: datetime.fromtimestamp(k.time(i), UTC).strftime("%d-%m %H:%M:%S")),
        Column("idl", lambda k, p, i: f"{100 - k.cpu[p, i] / CORES * 100:.4f}", Role.CPU, 1e-3),
        Column("used", number(Role.MEMORY, 1, 0), Role.MEMORY, 1),
    )  # fmt: skip
    year = datetime.fromtimestamp(known.start, UTC).strftime("%d %b %Y %H:%M:%S UTC")
    head = (
        '"Dstat 0.7.4 CSV output"', '"Host:","h"', f'"Cmdline:","dstat",,,,"Date:","{year}"', "",
        '"system","total cpu usage",,,,,"memory usage",,,',
        '"time","usr","sys","idl","wai","stl","used","free","buff","cach"',
    )  # fmt: skip
    write = once(*head, form="{time},1.0,0,{idl},0,0,{used},1000,1000,1000")
    named = {"title": "", "executions": lambda _: "h", "separator": ",", "first": 1}
    return _sheet("dstat.csv", _alone(known), columns, write, **named)


def bitbrains(known: Truth, _chance: Random) -> Sheet:
    columns = (
        Column("Timestamp [ms]", epoch), Column("CPU cores", constant(str(CORES))),
        Column("CPU capacity provisioned [MHZ]", constant("46800")),
        Column("CPU usage [MHZ]", number(Role.CPU, 2925, 4)),
        Column("CPU usage [%]", number(Role.CPU, 100 / CORES, 6), Role.CPU, 1e-4),
        Column("Memory capacity provisioned [KB]", constant("67108864.0")),
        Column("Memory usage [KB]", number(Role.MEMORY, 1 / KIB, 4), Role.MEMORY, 2),
    )  # fmt: skip
    named = {"time": "Timestamp [ms]", "title": "", "executions": lambda _: "17", "separator": ";\t"}
    return _sheet("17.csv", _alone(known), columns, delimited(";\t"), **named)


def ai4dl(known: Truth, _chance: Random) -> Sheet:
    columns = (
        Column("timestamp", epoch), Column("service", constant("s1")), Column("pod.id", title),
        Column("cpu.num.cores", constant("16")),
        Column("cpu.usage", counter(Role.CPU, 1e9, 0)),
        Column("cpu.usage.cores", number(Role.CPU, 1, 5), Role.CPU, 1e-4),
        Column("cpu.usage.pct", number(Role.CPU, 100, 3)),
        Column("cpu.usage.pct.container.requested", constant("1")),
        Column("mem.current", number(Role.MEMORY, 1, 0), Role.MEMORY, 1),
        Column("mem.limit", constant(str(LIMIT))),
        Column("mem.usage.pct", number(Role.MEMORY, 100 / LIMIT, 4)),
        Column("mem.working.set", number(Role.MEMORY, 1, 0)),
    )  # fmt: skip
    named = {"time": "timestamp", "title": "pod.id", "separator": ","}
    return _sheet("ai4dl.csv", known, columns, delimited(","), **named)


def recorder(known: Truth, _chance: Random) -> Sheet:
    columns = (
        Column("execution", title), Column("timestamp", lambda k, _p, i: f"{k.time(i):.1f}"),
        CPU, Column("memory_bytes", number(Role.MEMORY, 1, 0), Role.MEMORY, 1),
        Column("cpu_limit_cores", number(Role.CPU_LIMIT, 1, 0), Role.CPU_LIMIT, 1e-6),
        Column("memory_limit_bytes", number(Role.MEMORY_LIMIT, 1, 0), Role.MEMORY_LIMIT, 1),
    )  # fmt: skip
    named = {"time": "timestamp", "title": "execution", "separator": ","}
    return _sheet("recorded.csv", known, columns, delimited(","), **named)


def sar(known: Truth, _chance: Random) -> Sheet:
    columns = (
        TIME, Column("user", number(Role.CPU, 100 / CORES, 4)),
        Column("idle", lambda k, p, i: f"{100 - k.cpu[p, i] / CORES * 100:.4f}", Role.CPU, 1e-3),
        Column("kbmemused", number(Role.MEMORY, 1 / KIB, 0), Role.MEMORY, 0.51 * KIB),
    )  # fmt: skip

    def write(sheet: Sheet) -> tuple[list[str], list[str]]:
        date = datetime.fromtimestamp(sheet.known.time(-1), UTC).strftime("%Y-%m-%d")
        start = datetime.fromtimestamp(sheet.known.time(-1), UTC).strftime("%H:%M:%S")
        head = [f"Linux 6.1.0-18-amd64 (node1) \t{date} \t_x86_64_\t({CORES} CPU)", ""]
        cpu = [f"{start}     CPU     %user     %nice   %system   %iowait    %steal     %idle"]
        cpu += [
            f"{row.cells['time'][11:19]}     all     {row.cells['user']}      0.00      0.00      0.00"
            f"      0.00     {row.cells['idle']}" for row in sheet.rows
        ]  # fmt: skip
        memory = ["", f"{start} kbmemfree   kbavail kbmemused  %memused"]
        memory += [f"{row.cells['time'][11:19]}      1000      2000      {row.cells['kbmemused']}     40.00"
                   for row in sheet.rows]  # fmt: skip
        return head, cpu + memory

    return _sheet("sar.txt", _alone(known), columns, write, title="", executions=lambda _: "node1")


def sadf(known: Truth, _chance: Random) -> Sheet:
    columns = (
        Column("time", lambda k, p, i: f"{blanked(k, p, i)} UTC"),
        Column("%user", number(Role.CPU, 100 / CORES, 4)),
        Column("%idle", lambda k, p, i: f"{100 - k.cpu[p, i] / CORES * 100:.4f}", Role.CPU, 1e-3),
        Column("kbmemused", number(Role.MEMORY, 1 / KIB, 0), Role.MEMORY, 0.51 * KIB),
    )  # fmt: skip

    def write(sheet: Sheet) -> tuple[list[str], list[str]]:
        head = [f"node1;-1;{sheet.rows[0].cells['time']};LINUX-RESTART\t({CORES} CPU)",
                "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle"]  # fmt: skip
        head.reverse()
        start = f"node1;{sheet.known.period:.0f};"
        body = [f"{start}{row.cells['time']};-1;{row.cells['%user']};0.00;0.00;0.00;0.00;{row.cells['%idle']}"
                for row in sheet.rows]  # fmt: skip
        body.append("# hostname;interval;timestamp;kbmemfree;kbavail;kbmemused;%memused")
        body += [f"{start}{row.cells['time']};1000;2000;{row.cells['kbmemused']};40.00" for row in sheet.rows]
        return head, body

    return _sheet("sadf.txt", _alone(known), columns, write, title="", executions=lambda _: "node1")


def _with_pid(known: Truth, name: str) -> str:
    return f"{name}/{700 + known.names.index(name)}"


def pidstat(known: Truth, _chance: Random) -> Sheet:
    columns = (
        TIME, NAME, Column("pid", lambda _k, p, _i: str(700 + p)),
        Column("%CPU", number(Role.CPU, 100, 2), Role.CPU, 6e-5),
        Column("RSS", number(Role.MEMORY, 1 / KIB, 0), Role.MEMORY, 0.51 * KIB),
    )  # fmt: skip

    def write(sheet: Sheet) -> tuple[list[str], list[str]]:
        date = datetime.fromtimestamp(sheet.known.start, UTC).strftime("%Y-%m-%d")
        head = [f"Linux 6.1.0-18-amd64 (node1) \t{date} \t_x86_64_\t({CORES} CPU)", ""]
        body, last = [], -1
        for row in sheet.rows:
            clock = row.cells["time"][11:19]
            if row.i != last:
                last = row.i
                body.append(f"{clock}   UID   PID   %usr %system   %CPU   CPU   RSS   %MEM   Command")
            body.append(f"{clock}   0   {row.cells['pid']}   0.00 0.00   {row.cells['%CPU']}   1   "
                        f"{row.cells['RSS']}   1.00   {row.cells['name']}")  # fmt: skip
        return head, body

    return _sheet("pidstat.txt", known, columns, write, executions=lambda name: _with_pid(known, name))


def top(known: Truth, _chance: Random) -> Sheet:
    columns = (
        TIME, NAME, Column("pid", lambda _k, p, _i: str(700 + p)),
        Column("CPU", number(Role.CPU, 100, 1), Role.CPU, 6e-4),
        Column("RES", number(Role.MEMORY, 1 / KIB, 0), Role.MEMORY, 0.51 * KIB),
    )  # fmt: skip
    banner = "top - {clock} up 1 day,  2:03,  1 user,  load average: 1.00, 1.00, 1.00\n"
    head = "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND"
    form = "{pid} root  20 0 900000 {RES} 1000 R {CPU} 1.0 0:00.10 {name}"
    named = {"executions": lambda name: _with_pid(known, name), "clock": "day"}
    return _sheet("top.log", known, columns, framed(head, form, banner), **named)


TOOLS: dict[str, Callable[[Truth, Random], Sheet]] = {
    "CSV": table,
    "docker stats CSV": docker_csv,
    "docker stats table": docker_table,
    "docker stats JSON": docker_json,
    "Docker's API": docker_api,
    "kubectl top": kubectl,
    "metrics.k8s.io": metrics_server,
    "crictl stats": crictl_stats,
    "systemd-cgtop": cgtop,
    "psrecord": psrecord,
    "memory_profiler": mprof,
    "nvidia-smi": nvidia_smi,
    "nvidia-smi dmon": dmon,
    "dcgmi dmon": dcgmi,
    "JSON lines": json_lines,
    "JSON records": json_records,
    "table with spaces": spaced,
    "Prometheus JSON": prometheus,
    "long CSV": long,
    "wide CSV": wide,
    "dstat": dstat,
    "Bitbrains": bitbrains,
    "AI4DL": ai4dl,
    "recorder": recorder,
    "sar": sar,
    "sadf": sadf,
    "pidstat": pidstat,
    "top": top,
}
