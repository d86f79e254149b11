"""Files as tools write them, from known traces; each says how exactly its numbers can be read back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from core.traces.model import Role
from core.units import GIB, MIB
from tests.reading.written.truth import CPU_UNITS, MEMORY_UNITS, number, stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from tests.reading.written.truth import Truth


@dataclass(frozen=True)
class Lane:
    """What one column of an execution has to hold: its role, values in canonical units, and rounding.

    `part` is in the column's name where there are several of a role, such as the number of a GPU.
    """

    role: Role
    values: np.ndarray
    error: float
    part: str = ""


@dataclass(frozen=True)
class Written:
    """A file: its name and text, the error of rounding in cores and bytes, and how it names executions.

    `first` is the first sample that can be read: a counter's first value gives no usage. Times are those of
    `Truth`, unless `clock` says that they count from midnight (``day``) or from anywhere (``any``). `lanes`
    are what executions hold where that is not CPU and memory. `others` are further files, by name.
    With `gaps` some rows are missing: those that are there have to be right.
    """

    name: str
    text: str
    cpu: float = 0.0
    memory: float = 0.0
    rename: Callable[[str], str] = str
    first: int = 0
    clock: str = "epoch"
    lanes: Mapping[str, Sequence[Lane]] | None = None
    others: Mapping[str, str] = field(default_factory=dict)
    gaps: bool = False

    def held(self, known: Truth) -> Mapping[str, Sequence[Lane]]:
        """What every execution has to hold."""
        if self.lanes is not None:
            return self.lanes
        return {
            self.rename(name): (
                Lane(Role.CPU, known.cpu[p], self.cpu),
                Lane(Role.MEMORY, known.memory[p], self.memory),
            )
            for p, name in enumerate(known.names)
        }


def plain(known: Truth, chance: Random) -> Written:
    """A table of samples with any names, units, order, separator and writing of numbers and times."""
    cpu, memory = chance.choice(list(CPU_UNITS.values())), chance.choice(list(MEMORY_UNITS.values()))
    separator = chance.choice((",", ";", "\t", "|"))
    styles = ("point", "point", "comma", "grouped", *(("german",) if separator != "," else ()))
    style = chance.choice(styles)
    when = stamp(chance)
    header = [
        chance.choice(("time", "timestamp", "Date", "ts")),
        chance.choice(("pod", "container", "job_id", "run")),
    ]
    columns = [*header, cpu[0], memory[0]]
    order = chance.sample(range(4), 4)
    rows = [(p, i) for p in range(len(known.names)) for i in range(known.samples)]
    if chance.random() < 0.5:
        rows.sort(key=lambda pair: pair[1])
    gaps = chance.random() < 0.2
    if gaps:
        rows = [row for row in rows if not 1 < row[1] < known.samples - 2 or chance.random() > 0.15]
    if chance.random() < 0.1:
        chance.shuffle(rows)

    def cell(text: str) -> str:
        return f'"{text}"' if separator in text or chance.random() < 0.02 else text

    lines = [separator.join(cell(columns[k]) for k in order)]
    for p, i in rows:
        cells = (
            when(known.time(i)),
            known.names[p],
            number(known.cpu[p, i] * cpu[1], cpu[2], style) + cpu[3],
            number(known.memory[p, i] * memory[1], memory[2], style) + memory[3],
        )
        lines.append(separator.join(cell(cells[k]) for k in order))
    text = chance.choice(("\n", "\n", "\r\n")).join(lines) + "\n"
    return Written(
        "plain.csv",
        text,
        0.6 * 10.0 ** -cpu[2] / cpu[1] + 6e-4,
        0.6 * 10.0 ** -memory[2] / memory[1] + 1,
        gaps=gaps,
    )


def kubectl(known: Truth, chance: Random) -> Written:
    """A loop of ``date; kubectl top pod``, printed or as CSV."""
    when = stamp(chance)
    csv = chance.random() < 0.4
    lines = ["time,NAME,CPU(cores),MEMORY(bytes)"] if csv else []
    for i in range(known.samples):
        if not csv:
            lines += [when(known.time(i)), "NAME      CPU(cores)   MEMORY(bytes)"]
        for p, name in enumerate(known.names):
            cells = [name, f"{known.cpu[p, i] * 1000:.0f}m", f"{known.memory[p, i] / MIB:.0f}Mi"]
            lines.append(",".join([when(known.time(i)), *cells]) if csv else "   ".join(cells))
    return Written("top.csv" if csv else "top.txt", "\n".join(lines) + "\n", 6e-4, 0.51 * MIB)


def docker_stats(known: Truth, chance: Random) -> Written:
    """``docker stats`` as JSON lines, or as cells in any order, with and without a header."""
    as_json, when, digits = chance.random() < 0.3, stamp(chance), chance.choice((1, 2, 2))
    names = ["time", "name", "cpu", "mem", *(name for name in _ASIDE if chance.random() < 0.5)]
    order, header = chance.sample(names, len(names)), chance.random() < 0.5
    titles = [chance.choice(_TITLES[name]) for name in order]
    lines = [",".join(titles)] if header and not as_json else []
    for i in range(known.samples):
        for p, name in enumerate(known.names):
            used = known.memory[p, i] / GIB
            cells = {
                "time": when(known.time(i)),
                "name": name,
                "cpu": f"{known.cpu[p, i] * 100:.{digits}f}%",
                "mem": f"{used:.4f}GiB / 62.7GiB",
                "mem%": f"{used / 62.7 * 100:.2f}%",
                "net": f"{i}kB / 0B",
                "block": f"{7 * i}kB / 12MB",
                "pids": "12",
            }
            if as_json:
                fields = {"Name": "name", "CPUPerc": "cpu", "MemUsage": "mem", "NetIO": "net", "time": "time"}
                lines.append(json.dumps({key: cells[field] for key, field in fields.items()}))
            else:
                lines.append(",".join(cells[field] for field in order))
    text = "\n".join(lines) + "\n"
    return Written("stats.json" if as_json else "stats.csv", text, 6 * 10.0 ** -(digits + 3), 0.6e-4 * GIB)


_ASIDE = ("mem%", "net", "block", "pids")
_TITLES = {
    "time": ("time", "Timestamp", "date"),
    "name": ("name", "NAME", "container"),
    "cpu": ("cpu", "CPU %", "CPUPerc"),
    "mem": ("mem", "MEM USAGE / LIMIT", "MemUsage"),
    "mem%": ("mem%", "MEM %", "MemPerc"),
    "net": ("net", "NET I/O", "NetIO"),
    "block": ("block", "BLOCK I/O", "disk"),
    "pids": ("pids", "PIDS"),
}


def json_lines(known: Truth, chance: Random) -> Written:
    """An object per sample, flat or with objects inside, as programs log them."""
    when, nested = stamp(chance), chance.random() < 0.5
    lines = []
    for i in range(known.samples):
        for p, name in enumerate(known.names):
            cpu, memory = round(known.cpu[p, i], 4), int(known.memory[p, i])
            usage = (
                {"cpu": {"cores": cpu}, "memory": {"bytes": memory}}
                if nested
                else {"cpu_cores": cpu, "memory_bytes": memory}
            )
            lines.append(json.dumps({"time": when(known.time(i)), "container": name, **usage}))
    return Written("samples.jsonl", "\n".join(lines) + "\n", 6e-5, 1)


def prometheus(known: Truth, chance: Random) -> Written:
    """The answer to a range query of counters and gauges, or a client's table of it.

    cAdvisor's may have the pods' sums, their pause containers and their networks as well.
    """
    cpu, memory = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
    total = (known.cpu * known.period).cumsum(axis=1)
    as_json, sums, pause, network = chance.random() < 0.5, *(chance.random() < 0.4 for _ in range(3))
    paused = chance.random() < 0.5
    series = []
    for p, name in enumerate(known.names):
        measured = [("main", cpu, total[p]), ("main", memory, known.memory[p])]
        measured += [("", metric, values + 7) for _, metric, values in measured if sums]
        measured += [("POD", metric, 0 * values) for _, metric, values in measured[:2] if pause]
        if network and chance.random() < 0.8:
            received = np.arange(known.samples) * 1500.0
            measured.append(("POD" if paused else "", "container_network_receive_bytes_total", received))
        for container, metric, values in measured:
            labels = {"__name__": metric, "namespace": "ml", "pod": name, "container": container}
            pairs = [[known.time(i), repr(float(values[i]))] for i in range(known.samples)]
            series.append({"metric": {key: text for key, text in labels.items() if text}, "values": pairs})
    chance.shuffle(series)
    columns = ("__name__", "namespace", "pod", "container")
    lines = [f"timestamp,{','.join(columns)},value"]
    for one in series:
        cells = ",".join(one["metric"].get(column, "") for column in columns)
        lines += [f"{time:.0f},{cells},{value}" for time, value in one["values"]]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    text = json.dumps(answer) if as_json else "\n".join(lines) + "\n"
    return Written(
        "answer.json" if as_json else "answer.csv", text, 1e-6, 0.5, lambda name: f"{name}/main", 1
    )


def grafana(known: Truth, chance: Random) -> Written:
    """A panel's CSV with a column per series, CPU and memory in one, the values formatted or raw."""
    when = stamp(chance)
    formatted = chance.random() < 0.5
    names = [f"{what} {name}" for name in known.names for what in ("CPU cores", "Memory bytes")]
    lines = [",".join(f'"{name}"' for name in ("Time", *names))]
    for i in range(known.samples):
        cells = [when(known.time(i))]
        for p in range(len(known.names)):
            size = known.memory[p, i]
            cells += [f"{known.cpu[p, i]:.3f}", f"{size / MIB:.2f} MiB" if formatted else f"{size:.0f}"]
        lines.append(",".join(cells))
    return Written("panel.csv", "\n".join(lines) + "\n", 6e-4, 0.006 * MIB if formatted else 1)


def tracker(known: Truth, chance: Random) -> Written:
    """System metrics of MLflow (a row per value) or W&B (a row per time), of a machine of 16 cores.

    MLflow's are shuffled with a loss that is logged a little later than they are.
    """
    mlflow, late = chance.random() < 0.5, chance.choice((None, 0, 37, 400))
    lines = (
        ["run_id,key,value,timestamp,step"]
        if mlflow
        else ["run_id,_timestamp,system.cpu,system.proc.memory.rssMB"]
    )
    for p, name in enumerate(known.names):
        for i in range(known.samples):
            share, when = known.cpu[p, i] / 16 * 100, known.time(i)
            if mlflow:
                lines.append(f"{name},system/cpu_utilization_percentage,{share:.4f},{when * 1000:.0f},{i}")
                lines.append(
                    f"{name},system/system_memory_usage_megabytes,{known.memory[p, i] / 1e6:.3f},"
                    f"{when * 1000:.0f},{i}"
                )
                if late is not None:
                    lines.append(f"{name},train/loss,{1 / (i + 1):.5f},{when * 1000 + late:.0f},{i}")
            else:
                lines.append(f"{name},{when},{share:.4f},{known.memory[p, i] / MIB:.3f}")
    return Written("tracker.csv", "\n".join(lines) + "\n", 1e-4, 1100)


def chart(known: Truth, chance: Random) -> Written:
    """A chart of W&B as it exports it: one metric, and per run its value, its lowest and its highest."""
    axis = chance.choice(
        ("Relative Time (Process)", "Relative Time (Wall)", "_runtime", "_timestamp", "Step")
    )
    cpu, ends = chance.random() < 0.5, ("", "__MIN", "__MAX")
    metric = "system.cpu" if cpu else "system.proc.memory.rssMB"
    titles = [axis, *(f"{name} - {metric}{end}" for name in known.names for end in ends)]
    lines = [",".join(f'"{title}"' for title in titles)]
    for i in range(known.samples):
        whens = {"Step": i, "_timestamp": known.time(i)}
        cells = [whens.get(axis, known.period * i)]
        for p in range(len(known.names)):
            value = known.cpu[p, i] / 16 * 100 if cpu else known.memory[p, i] / MIB
            cells += [round(value, 4), round(value * 0.9, 4), round(value * 1.1, 4)]
        lines.append(",".join(map(str, cells)))
    lanes = {
        name: [Lane(Role.CPU, known.cpu[p], 1e-4) if cpu else Lane(Role.MEMORY, known.memory[p], 1100)]
        for p, name in enumerate(known.names)
    }
    clock = "epoch" if axis == "_timestamp" else "any"
    return Written("wandb_export.csv", "\n".join(lines) + "\n", lanes=lanes, clock=clock)


def psrecord(known: Truth, _chance: Random) -> Written:
    """A log of one process."""
    lines = ["# Elapsed time   CPU (%)     Real (MB)   Virtual (MB)"]
    for i in range(known.samples):
        share, size = known.cpu[0, i] * 100, known.memory[0, i] / MIB
        lines.append(f"{i * known.period:12.3f} {share:12.3f} {size:12.3f} {2 * size:12.3f}")
    lanes = (Lane(Role.CPU, known.cpu[0], 1e-5), Lane(Role.MEMORY, known.memory[0], 600))
    return Written("psrecord.txt", "\n".join(lines) + "\n", clock="any", lanes={"psrecord": lanes})


WRITERS: dict[str, Callable[[Truth, Random], Written]] = {
    "plain": plain,
    "kubectl top": kubectl,
    "docker stats": docker_stats,
    "JSON lines": json_lines,
    "Prometheus": prometheus,
    "Grafana": grafana,
    "MLflow and W&B": tracker,
    "a chart of W&B": chart,
    "psrecord": psrecord,
}
