"""What ``pidstat`` prints: the usage of processes, time after time.

Its blocks about CPU, memory and disk are joined by time and process; of threads (``-t``) the line of their
process counts. 100% are one core; where ``-I`` divided them by the processors, usage is the sum of
its parts, which it does not divide. Sizes are KiB. Sources: pidstat(1), pidstat.c.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.errors import InputError
from core.store.formats.base import Format
from core.store.formats.logs.sysstat import BANNER, Clock
from core.store.formats.logs.text_table import Line, Row, TextTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from core.traces.validation import ProblemLog

_HEADER = re.compile(r"\s(?:PID|TGID)\s.*\sCommand\s*$")
_EPOCH = re.compile(r"\d{9,10}")
_COMMA = re.compile(r"(-?\d+),(\d+)")
_NAMES = {"%CPU": "cpu_percent", "RSS": "memory_kib", "VSZ": "virtual_kib", "kB_rd/s": "read_kib_per_s",
          "kB_wr/s": "write_kib_per_s"}  # fmt: skip
_PARTS = ("%usr", "%system", "%guest")
_DIVIDED, _ROUNDED = 1.5, 0.5
"""The parts of CPU usage exceed their sum by this factor and more where it was divided by the processors."""
_NO_USAGE = ("PID", "TGID", "TID", "UID", "USER", "CPU", "Command")


def is_pidstat(start: str) -> bool:
    """Tell whether a text begins like the output of ``pidstat``."""
    return BANNER.match(start) is not None and any(map(_HEADER.search, start.splitlines()))


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """A row for every process and time."""
    clock, found = Clock(), _Samples()
    header: list[str] = []
    for number, text in lines:
        words = text.lstrip("# ").split()
        before = clock.host
        if not words or clock.begins(text):
            if before not in ("", clock.host):
                raise InputError(
                    f"Row {number} begins what another machine, “{clock.host}”, measured.",
                    "Split the file there and import its parts.",
                )
            continue
        split = clock.split(Line(number, " ".join(words)), log)
        names = words[1:] if split is None else split[1]
        if names[-1:] == ["Command"] and {"PID", "TGID"} & set(names):
            header = names
            if split is not None:
                clock.at(header, split[0])  # the header has the time at which its first interval begins
            continue
        if split is not None:
            cells = split[1]
        elif _EPOCH.fullmatch(words[0]):
            cells = words[1:]
        else:
            continue  # the averages at the end
        if len(cells) < len(header) or not header:
            message = f"Row {number} has {len(cells)} cells instead of the {len(header)} of its header."
            log.add("ragged", message, row=number)
            continue
        stamp = words[0] if split is None else str(int(clock.at(header, split[0]).timestamp()))
        last = len(header) - 1
        found.add(number, stamp, dict(zip(header, [*cells[:last], " ".join(cells[last:])], strict=True)))
    yield from found.rows.values()


class _Samples:
    """The lines of all blocks, joined by time and process."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, ...], Row] = {}

    def add(self, number: int, stamp: str, cells: dict[str, str]) -> None:
        """Add a line; one that measures again what is known stays a row of its own."""
        if cells.get("TID", "-") != "-":
            return
        process = {"timestamp": stamp, "command": cells["Command"], "pid": cells.get("PID") or cells["TGID"]}
        usage = {
            _NAMES.get(name, name): _COMMA.sub(r"\1.\2", cell)
            for name, cell in cells.items()
            if name not in _NO_USAGE
        }
        if "cpu_percent" in usage:
            usage["cpu_percent"] = _of_one_core(usage)
        key: tuple[str, ...] = tuple(process.values())
        if key in self.rows and self.rows[key].cells.keys() & usage.keys():
            key = (*key, str(number))
        self.rows.setdefault(key, Row(number, process)).cells.update(usage)


def _of_one_core(usage: Mapping[str, str]) -> str:
    """The usage of a process in percent of one core: ``pidstat -I`` divides it, and not its parts."""
    said = usage["cpu_percent"]
    try:
        whole, parts = float(said), sum(float(usage[name]) for name in _PARTS if name in usage)
    except ValueError:
        return said
    return f"{parts:.2f}" if parts > _DIVIDED * whole + _ROUNDED else said


FORMATS = (
    Format(
        "pidstat",
        "pidstat",
        (".txt", ".log"),
        lambda start: is_pidstat(start.text),
        lambda start: TextTable.open(start.path, parse, "output of pidstat", "processes"),
        "Linux 6.1 (h) \t01/13/2024 \t_x86_64_\t(4 CPU)\n\n00:00:00  UID  PID  %CPU  CPU  Command\n"
        + "".join(f"00:0{i}:00  0  7  5{i}.00  1  python\n" for i in range(5)),
    ),
)
