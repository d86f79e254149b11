"""What tools say of GPUs: nvidia-smi as CSV and as dmon, and NVIDIA's exporter for Prometheus (DCGM).

The executions of a truth stand for the GPUs of one machine: CPU in cores becomes utilisation and power.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from core.traces.model import Role
from core.units import MIB
from tests.reading.written.writers import Lane, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from tests.reading.written.truth import Truth


def _utilization(known: Truth) -> np.ndarray:
    """Whole percents, shape (gpus, samples)."""
    return np.minimum(known.cpu / 14 * 100, 100).round()


def _power(known: Truth) -> np.ndarray:
    return (40 + known.cpu * 20).round(2)


def _lanes(known: Truth, names: Sequence[str], wanted: Sequence[str]) -> list[Lane]:
    """What the columns of the GPUs with these names hold."""
    held = {
        "utilization": (Role.GPU, _utilization(known) / 100, 1e-9),
        "memory": (Role.GPU_MEMORY, known.memory, 0.51 * MIB),
        "power": (Role.GPU_POWER, _power(known), 0.01),
    }
    return [
        Lane(held[one][0], held[one][1][p], held[one][2], name)
        for one in wanted
        for p, name in enumerate(names)
    ]


def _uuids(known: Truth) -> list[str]:
    return [f"GPU-{p}f3a{p}{p}1c-0a0b-4c4d-8e8f-{p:012d}" for p in range(len(known.names))]


def query(known: Truth, chance: Random) -> Written:
    """``nvidia-smi --query-gpu=… --format=csv`` in a loop, with or without units, GPUs told by anything."""
    told = chance.choice(("index", "index", "uuid", "pci.bus_id", ""))
    units, milliseconds = chance.random() < 0.6, chance.random() < 0.7
    names = {
        "index": [str(p) for p in range(len(known.names))],
        "uuid": _uuids(known),
        "pci.bus_id": [f"00000000:0{p + 1}:00.0" for p in range(len(known.names))],
        # lines of one sample follow each other in the order of the GPUs, so that their turns tell them apart
        "": [str(p) for p in range(len(known.names))],
    }[told]
    fields = chance.sample(("utilization", "memory", "power"), chance.randint(1, 3))
    if "utilization" not in fields and fields != ["memory", "power"]:
        fields.append("utilization")
    written = {"utilization": "utilization.gpu [%]", "memory": "memory.used [MiB]", "power": "power.draw [W]"}
    columns = ["timestamp", *([told] if told else []), "name", *fields]
    chance.shuffle(columns)
    lines = [", ".join(written.get(name, name) for name in columns)]
    for i in range(known.samples):
        for p, name in enumerate(names):
            late = 0.002 * p if milliseconds else 0.0
            stamp = datetime.fromtimestamp(known.time(i) + late, UTC)
            cells = {
                "timestamp": stamp.strftime("%Y/%m/%d %H:%M:%S")
                + (f".{stamp.microsecond // 1000:03d}" if milliseconds else ""),
                told: name,
                "name": "NVIDIA A100-SXM4-40GB",
                "utilization": f"{_utilization(known)[p, i]:.0f}" + (" %" if units else ""),
                "memory": f"{known.memory[p, i] / MIB:.0f}" + (" MiB" if units else ""),
                "power": f"{_power(known)[p, i]:.2f}" + (" W" if units else ""),
            }
            lines.append(", ".join(cells[column] for column in columns))
    several = [f"gpu {name}" if told or len(names) > 1 else "" for name in names]
    return Written("gpus.csv", "\n".join(lines) + "\n", lanes={"gpus": _lanes(known, several, fields)})


def dmon(known: Truth, chance: Random) -> Written:
    """``nvidia-smi dmon``, with date and time, a time, or neither, its header again after some lines."""
    stamps = chance.choice((("Date", "Time"), ("Date", "Time"), ("Time",), ()))
    fields = {"utilization": ("sm", "%"), "memory": ("fb", "MB"), "power": ("pwr", "W"), "": ("gtemp", "C")}
    wanted = [name for name in fields if name in ("", "utilization") or chance.random() < 0.7]
    chance.shuffle(wanted)
    head = "# " + " ".join((*stamps, "gpu", *(fields[name][0] for name in wanted)))
    units = "# " + " ".join(
        (*("YYYYMMDD", "HH:MM:SS")[2 - len(stamps) :], "Idx", *(fields[name][1] for name in wanted))
    )
    lines, every = [], chance.choice((0, 10))
    for i in range(known.samples):
        if not i or (every and i % every == 0):
            lines += [head, units]
        when = datetime.fromtimestamp(known.time(i), UTC)
        for p in range(len(known.names)):
            cells = {
                "utilization": f"{_utilization(known)[p, i]:.0f}",
                "memory": f"{known.memory[p, i] / MIB:.0f}",
                "power": f"{_power(known)[p, i]:.0f}",
                "": "41",
            }
            said = {"Date": when.strftime("%Y%m%d"), "Time": when.strftime("%H:%M:%S")}
            lines.append(
                "   ".join((*(said[name] for name in stamps), str(p), *(cells[name] for name in wanted)))
            )
    names = [f"gpu {p} " for p in range(len(known.names))]
    lanes = [
        Lane(lane.role, lane.values, 0.51 if lane.role is Role.GPU_POWER else lane.error, lane.part)
        for lane in _lanes(known, names, [name for name in wanted if name])
    ]
    clock = {2: "epoch", 1: "day", 0: "any"}[len(stamps)]
    return Written("dmon.txt", "\n".join(lines) + "\n", lanes={"dmon": lanes}, clock=clock)


def dcgm(known: Truth, chance: Random) -> Written:
    """DCGM's exporter as Prometheus answers, or as a client's table: GPUs of one pod, or one of each."""
    per_pod = chance.random() < 0.4
    metrics = {
        "DCGM_FI_DEV_GPU_UTIL": ("utilization", _utilization(known)),
        "DCGM_FI_DEV_FB_USED": ("memory", (known.memory / MIB).round()),
        "DCGM_FI_DEV_POWER_USAGE": ("power", _power(known)),
    }
    names = ["DCGM_FI_DEV_GPU_UTIL", *(name for name in list(metrics)[1:] if chance.random() < 0.7)]
    chance.shuffle(names)
    exported, beside = "exported_" if chance.random() < 0.5 else "", chance.random() < 0.7
    # unless it is told otherwise, Prometheus puts the exporter's own labels beside those that it exports
    scraped = {"namespace": "gpu-operator", "pod": "dcgm-exporter-x7k2p", "container": "exporter"}
    series, rows = [], []
    for metric in names:
        for p, name in enumerate(known.names):
            labels = {
                "__name__": metric,
                "gpu": "0" if per_pod else str(p),
                "UUID": _uuids(known)[p],
                "Hostname": "node-1" if not per_pod else f"node-{p}",
                **(scraped if exported and beside else {}),
                f"{exported}namespace": "ml",
                f"{exported}pod": name if per_pod else known.names[0],
                f"{exported}container": "main",
            }
            pairs = [[known.time(i), f"{metrics[metric][1][p, i]:g}"] for i in range(known.samples)]
            series.append({"metric": labels, "values": pairs})
            rows += [(time, *labels.values(), value) for time, value in pairs]
    chance.shuffle(series)
    as_json = chance.random() < 0.5
    answer = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}})
    header = ",".join(("timestamp", *series[0]["metric"], "value"))
    table = "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"
    wanted = [metrics[name][0] for name in names]
    if per_pod:
        held = _lanes(known, [""] * len(known.names), wanted)
        lanes = {f"{name}/main": held[p :: len(known.names)] for p, name in enumerate(known.names)}
    else:
        several = [f"gpu {p}" if len(known.names) > 1 else "" for p in range(len(known.names))]
        lanes = {f"{known.names[0]}/main": _lanes(known, several, wanted)}
    return Written("dcgm.json" if as_json else "dcgm.csv", answer if as_json else table, lanes=lanes)


WRITERS: dict[str, Callable[[Truth, Random], Written]] = {
    "nvidia-smi query": query,
    "nvidia-smi dmon": dmon,
    "DCGM": dcgm,
}
