"""Traces that are known to the last digit, and how cells of them may be written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from core.units import GIB, KIB, MIB

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


@dataclass(frozen=True)
class Truth:
    """Executions with their CPU in cores and memory in bytes, all sampled at the same times.

    `start` and `period` are in seconds; `cpu` and `memory` have shape (executions, samples).
    """

    names: tuple[str, ...]
    start: float
    period: float
    cpu: np.ndarray
    memory: np.ndarray

    @property
    def samples(self) -> int:
        return self.cpu.shape[1]

    def time(self, i: int) -> float:
        return self.start + self.period * i


def truth(chance: Random) -> Truth:
    """A random set: a few containers, whole-second periods, CPU and memory in steps and waves."""
    n, samples = chance.randint(1, 4), chance.randint(8, 30)
    rng = np.random.default_rng(chance.randrange(2**32))
    names = tuple(
        f"{chance.choice(('train', 'job', 'web', 'gpu-worker'))}-{chance.randint(0, 9)}{i}" for i in range(n)
    )
    most = chance.choice((0.8, 2.0, 6.0, 14.0))
    cpu = most * (0.2 + 0.8 * rng.random((n, samples)))
    memory = (rng.uniform(60, 9000) * MIB * (0.5 + 0.5 * rng.random((n, samples)))).round()
    start = float(chance.randint(1_500_000_000, 1_790_000_000))
    return Truth(names, start, float(chance.choice((1, 5, 10, 15, 30, 60))), cpu.round(3), memory)


def stamp(chance: Random) -> Callable[[float], str]:
    """A way to write times, one for a whole file."""
    forms = (
        "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y %H:%M:%S",
        "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%d %b %Y %H:%M:%S", "%b %d %Y %H:%M:%S",
        "%Y%m%dT%H%M%S",
        "%a %b %d %H:%M:%S UTC %Y",
    )  # fmt: skip
    kind = chance.randint(0, len(forms) + 3)
    if kind < len(forms):
        return lambda seconds: datetime.fromtimestamp(seconds, UTC).strftime(forms[kind])
    factor = (1, 1_000, 1_000_000, 1_000_000_000)[kind - len(forms)]
    return lambda seconds: str(int(seconds) * factor)


def number(value: float, digits: int, style: str) -> str:
    """A number in a country's writing: point, comma, grouped (1,234.5) or german (1.234,5)."""
    text = f"{value:,.{digits}f}" if style in ("grouped", "german") else f"{value:.{digits}f}"
    if style == "comma":
        return text.replace(".", ",")
    return text.translate(str.maketrans(",.", ".,")) if style == "german" else text


CPU_UNITS = {
    # what is written in the header or the cell, factor, digits, what the cell ends with
    "cores": ("cpu_cores", 1.0, 3, ""),
    "millicores": ("cpu_millicores", 1e3, 0, ""),
    "suffix": ("cpu", 1e3, 0, "m"),
    "percent": ("cpu_percent", 100.0, 1, ""),
    "percent cells": ("cpu", 100.0, 1, "%"),
    "bare": ("cpu", 1.0, 3, ""),
    "bare percent": ("cpu_usage", 100.0, 1, ""),
    "nanocores": ("cpu_nanocores", 1e9, 0, ""),
}
MEMORY_UNITS = {
    "bytes": ("memory_bytes", 1.0, 0, ""),
    "MiB": ("memory_mib", 1 / MIB, 3, ""),
    "header": ("Memory [MiB]", 1 / MIB, 3, ""),
    "KiB": ("mem_used_kib", 1 / KIB, 0, ""),
    "MB": ("Memory (MB)", 1e-6, 3, ""),
    "GiB": ("memory_gib", 1 / GIB, 6, ""),
    "Mi": ("memory", 1 / MIB, 0, "Mi"),
    "GiB cells": ("mem", 1 / GIB, 3, "GiB"),
    "MB cells": ("mem", 1e-6, 1, " MB"),
    "letters": ("mem", 1e-6, 1, "M"),
    "bare": ("memory", 1.0, 0, ""),
    "bare MiB": ("memory", 1 / MIB, 1, ""),
    "bare GB": ("mem_usage", 1e-9, 4, ""),
}
