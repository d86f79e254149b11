"""What is recorded of whole machines: sar and sadf, Bitbrains' virtual machines, Alibaba's containers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.traces.model import Role
from core.units import KIB
from tests.reading.written.writers import Lane, Written

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.reading.written.truth import Truth

_CORES = 16


def sar(known: Truth, chance: Random) -> Written:
    """``sar -u -r``, printed in a country's way, or ``sadf -d`` of a machine of 16 processors.

    What is printed is of several machines, each of its own size, behind each other or in a file each.
    """
    if chance.random() < 0.3:
        return Written("sar.txt", _sadf(known, chance), lanes={"node1": _lanes(known, 0)})
    machines = range(len(known.names) if chance.random() < 0.6 else 1)
    form = _form(chance)
    texts = [_sar(known, p, chance.choice((16, 32, 64)), form) for p in machines]
    lanes = {f"node{p + 1}": _lanes(known, p) for p in machines}
    if chance.random() < 0.5:
        return Written("sar.txt", "\n".join(texts), lanes=lanes)
    others = {f"sar{p + 1}.txt": texts[p] for p in machines if p}
    return Written("sar.txt", texts[0], lanes=lanes, others=others)


def _lanes(known: Truth, p: int) -> tuple[Lane, ...]:
    return (Lane(Role.CPU, known.cpu[p], 1e-3), Lane(Role.MEMORY, known.memory[p], 0.51 * KIB))


@dataclass(frozen=True)
class _Form:
    """How sar prints: its date, hours of a half day, a decimal comma, a line per processor."""

    date: str
    half: bool
    comma: bool
    items: bool
    turns: bool

    def number(self, value: float, digits: int) -> str:
        return f"{value:.{digits}f}".replace(".", "," if self.comma else ".")

    def clock(self, time: float) -> str:
        return datetime.fromtimestamp(time, UTC).strftime("%I:%M:%S %p" if self.half else "%H:%M:%S")


def _form(chance: Random) -> _Form:
    date = chance.choice(("%m/%d/%Y", "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%y"))
    return _Form(date, *(chance.random() < share for share in (0.4, 0.3, 0.5, 0.3)))


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


def _sar(known: Truth, p: int, cores: int, form: _Form) -> str:
    """What sar prints of a machine: a block per activity, or both in turns as on a screen."""
    start = datetime.fromtimestamp(known.time(-1), UTC).strftime(form.date)
    lines = [f"Linux 6.1.0-18-amd64 (node{p + 1}) \t{start} \t_x86_64_\t({cores} CPU)"]
    spans = [range(i, i + 1) for i in range(known.samples)] if form.turns else [range(known.samples)]
    for span in spans:
        lines += ["", *_processors(known, p, cores, form, span), "", *_memory(known, p, form, span)]
    return "\n".join(lines) + "\n"


def _processors(known: Truth, p: int, cores: int, form: _Form, span: range) -> list[str]:
    begins = form.clock(known.time(span.start - 1))
    lines = [f"{begins}     CPU     %user     %nice   %system   %iowait    %steal     %idle"]
    zeros = "      ".join([form.number(0, 2)] * 4)
    for i in span:
        busy, when = known.cpu[p, i] / cores * 100, form.clock(known.time(i))
        lines.append(
            f"{when}     all     {form.number(busy, 4)}      {zeros}     {form.number(100 - busy, 4)}"
        )
        if form.items:
            lines.append(f"{when}       0     {form.number(99, 2)}      {zeros}     {form.number(1, 2)}")
    if len(span) == known.samples:
        lines.append(f"Average:        all     {form.number(busy, 2)}      {zeros}     {form.number(9, 2)}")
    return lines


def _memory(known: Truth, p: int, form: _Form, span: range) -> list[str]:
    lines = [f"{form.clock(known.time(span.start - 1))} kbmemfree   kbavail kbmemused  %memused"]
    return lines + [
        f"{form.clock(known.time(i))}      1000      2000      {known.memory[p, i] / KIB:.0f}     "
        f"{form.number(40, 2)}"
        for i in span
    ]


def bitbrains(known: Truth, chance: Random) -> Written:
    """Virtual machines of GWA-T-12, a file each: tabs behind semicolons, seconds or ms under ``[ms]``.

    Each has its own number of cores, and some get more of them while they are recorded.
    """
    factor, separator = chance.choice((1, 1000)), chance.choice((";\t", ";"))
    machines = range(len(known.names) if chance.random() < 0.5 else 1)
    texts = [_virtual_machine(known, p, factor, separator, chance) for p in machines]
    lanes = {
        str(17 + p): (Lane(Role.CPU, known.cpu[p], 1e-4), Lane(Role.MEMORY, known.memory[p], 2.0))
        for p in machines
    }
    others = {f"{17 + p}.csv": texts[p] for p in machines if p}
    return Written("17.csv", texts[0], lanes=lanes, others=others)


def _virtual_machine(known: Truth, p: int, factor: int, separator: str, chance: Random) -> str:
    names = (
        "Timestamp [ms]", "CPU cores", "CPU capacity provisioned [MHZ]", "CPU usage [MHZ]", "CPU usage [%]",
        "Memory capacity provisioned [KB]", "Memory usage [KB]", "Disk read throughput [KB/s]",
        "Disk write throughput [KB/s]", "Network received throughput [KB/s]",
        "Network transmitted throughput [KB/s]",
    )  # fmt: skip
    lines = [separator.join(names)]
    cores, grows = chance.choice((16, 20, 32)), chance.choice((0, 0, known.samples // 2))
    for i in range(known.samples):
        many = cores * (2 if grows and i >= grows else 1)
        share = known.cpu[p, i] / many * 100
        cells = (
            f"{known.time(i) * factor:.0f}", f"{many}", f"{many * 2925}", f"{share * many * 29.25:.4f}",
            f"{share:.6f}", f"{64 * 2**20}.0", f"{known.memory[p, i] / KIB:.4f}", "0.0", f"{i / 7:.4f}",
            "1.0", "2.0",
        )  # fmt: skip
        lines.append(separator.join(cells))
    return "\n".join(lines) + "\n"


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
