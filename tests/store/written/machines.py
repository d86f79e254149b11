"""What is recorded of whole machines: sar and sadf, Bitbrains' virtual machines, Alibaba's containers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.traces.model import Role
from core.units import KIB
from tests.store.written.writers import Lane, Written

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.store.written.truth import Truth

_CORES = 16


def sar(known: Truth, chance: Random) -> Written:
    """``sar -u -r``, printed in a country's way, or ``sadf -d``; of one machine of 16 processors."""
    lanes = {
        "node1": (Lane(Role.CPU, known.cpu[0], 1e-3), Lane(Role.MEMORY, known.memory[0], 0.51 * KIB)),
    }
    text = _sadf(known, chance) if chance.random() < 0.4 else _sar(known, chance)
    return Written("sar.txt", text, lanes=lanes)


def _sadf(known: Truth, chance: Random) -> str:
    epoch, items = chance.random() < 0.5, chance.random() < 0.5
    lines = ["# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle"]
    blocks = [[], []]
    for i in range(known.samples):
        time = known.time(i)
        stamp = (
            f"{time:.0f}" if epoch else datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        )
        start = f"node1;{known.period:.0f};{stamp}"
        busy = known.cpu[0, i] / _CORES * 100
        blocks[0].append(f"{start};-1;{busy:.4f};0.00;0.00;0.00;0.00;{100 - busy:.4f}")
        if items:
            blocks[0].append(f"{start};0;99.00;0.00;0.00;0.00;0.00;1.00")
        blocks[1].append(f"{start};1000;2000;{known.memory[0, i] / KIB:.0f};40.00")
    head = "# hostname;interval;timestamp;kbmemfree;kbavail;kbmemused;%memused"
    if chance.random() < 0.2:
        blocks[0].insert(0, f"node1;-1;{stamp};LINUX-RESTART\t(16 CPU)")
    return "\n".join([*lines, *blocks[0], head, *blocks[1]]) + "\n"


def _sar(known: Truth, chance: Random) -> str:
    date = chance.choice(("%m/%d/%Y", "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%y"))
    half, comma, items = chance.random() < 0.4, chance.random() < 0.3, chance.random() < 0.5
    start = datetime.fromtimestamp(known.start, UTC)
    lines = [f"Linux 6.1.0-18-amd64 (node1) \t{start.strftime(date)} \t_x86_64_\t(16 CPU)", ""]

    def number(value: float, digits: int) -> str:
        return f"{value:.{digits}f}".replace(".", "," if comma else ".")

    def when(i: float) -> str:
        return datetime.fromtimestamp(known.time(i), UTC).strftime("%I:%M:%S %p" if half else "%H:%M:%S")

    lines.append(f"{when(-1)}     CPU     %user     %nice   %system   %iowait    %steal     %idle")
    for i in range(known.samples):
        busy = known.cpu[0, i] / _CORES * 100
        zeros = "      ".join([number(0, 2)] * 4)
        lines.append(f"{when(i)}     all     {number(busy, 4)}      {zeros}     {number(100 - busy, 4)}")
        if items:
            lines.append(f"{when(i)}       0     {number(99, 2)}      {zeros}     {number(1, 2)}")
    lines += [f"Average:        all     {number(busy, 2)}      {zeros}     {number(100 - busy, 2)}", ""]
    lines.append(f"{when(-1)} kbmemfree   kbavail kbmemused  %memused")
    lines += [
        f"{when(i)}      1000      2000      {known.memory[0, i] / KIB:.0f}     {number(40, 2)}"
        for i in range(known.samples)
    ]
    return "\n".join(lines) + "\n"


def bitbrains(known: Truth, chance: Random) -> Written:
    """A virtual machine of GWA-T-12: tabs behind semicolons, seconds or milliseconds under ``[ms]``."""
    factor, separator = chance.choice((1, 1000)), chance.choice((";\t", ";"))
    names = (
        "Timestamp [ms]", "CPU cores", "CPU capacity provisioned [MHZ]", "CPU usage [MHZ]", "CPU usage [%]",
        "Memory capacity provisioned [KB]", "Memory usage [KB]", "Disk read throughput [KB/s]",
        "Disk write throughput [KB/s]", "Network received throughput [KB/s]",
        "Network transmitted throughput [KB/s]",
    )  # fmt: skip
    lines = [separator.join(names)]
    for i in range(known.samples):
        share = known.cpu[0, i] / _CORES * 100
        cells = (
            f"{known.time(i) * factor:.0f}", "16", "46799.9", f"{share * 467.999:.4f}", f"{share:.5f}",
            f"{64 * 2**20}.0", f"{known.memory[0, i] / KIB:.4f}", "0.0", f"{i / 7:.4f}", "1.0", "2.0",
        )  # fmt: skip
        lines.append(separator.join(cells))
    lanes = (Lane(Role.CPU, known.cpu[0], 1e-4), Lane(Role.MEMORY, known.memory[0], 2.0))
    return Written("17.csv", "\n".join(lines) + "\n", lanes={"17": lanes})


def alibaba(known: Truth, chance: Random) -> Written:
    """Rows of ``container_usage`` without a header: container, machine, seconds, percents of the machine."""
    rows = [(p, i) for p in range(len(known.names)) for i in range(known.samples)]
    if chance.random() < 0.5:
        chance.shuffle(rows)
    elif chance.random() < 0.5:
        rows.sort(key=lambda pair: pair[1])
    start = chance.choice((0.0, 600.0, 86_400.0))
    lines = [
        f"c_{p + 1},m_{p + 100},{start + known.period * i:.0f},{known.cpu[p, i] / _CORES * 100:.4f},"
        f"{known.memory[p, i] / 2**40 * 100:.6f},1.2,0.5,,0.1,0.2,3"
        for p, i in rows
    ]
    lanes = {
        f"c_{p + 1}": (Lane(Role.CPU, known.cpu[p], 1e-4), Lane(Role.MEMORY, known.memory[p] / 2**40, 1e-7))
        for p in range(len(known.names))
    }
    return Written("container_usage.csv", "\n".join(lines) + "\n", lanes=lanes, clock="any")


WRITERS: dict[str, Callable[[Truth, Random], Written]] = {
    "sar": sar,
    "Bitbrains": bitbrains,
    "Alibaba": alibaba,
}
