"""What is wrong with files as they come: each defect changes a sheet as its tool, or a person, would.

A defect returns the damaged file with what of it can no longer be known, or None where a tool cannot have it.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from core.traces.model import Role
from core.units import GIB, MIB
from tests.reading.written.judge import Damaged
from tests.reading.written.sheets import CPU, MEMORY, Column, Row

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.reading.written.sheets import Sheet

TOKENS = (
    "N/A",
    "null",
    "-",
    "ERR",
    "nan%",
    "+Inf",
    "",
    "NaN",
    "unknown",
    "#REF!",
    "--",
    "error",
    "n/a",
    "?",
    "undefined",
)
"""What stands in place of a number."""
USED = frozenset((Role.CPU, Role.MEMORY, Role.GPU, Role.GPU_MEMORY, Role.GPU_POWER))


def _text(sheet: Sheet) -> bytes:
    return ("\n".join(sheet.lines()) + "\n").encode()


def _damaged(sheet: Sheet, changed: Sheet | None = None, **more) -> Damaged:
    """The file of a changed sheet; the first one says what is true."""
    return Damaged(sheet.name, _text(changed or sheet), sheet, **more)


def _lines(sheet: Sheet, change: Callable[[list[str]], list[str]], **more) -> Damaged:
    return Damaged(sheet.name, ("\n".join(change(sheet.lines())) + "\n").encode(), sheet, **more)


def _used(sheet: Sheet) -> list[Column]:
    return [one for one in sheet.lane_columns() if one.role in USED]


def _replace_cells(sheet: Sheet, chance: Random, share: float, column: Column, token: str) -> Damaged:
    """Some cells of a column without a value, at least one."""
    places, known_steps = [(row.p, row.i) for row in sheet.rows], sheet.known.samples
    count = len(places) if share == 1 else max(1, int(share * len(places)))
    chosen = frozenset(chance.sample(places, count))
    at_counter = {(p, i + k) for p, i in chosen for k in range(known_steps)} if sheet.first else set()
    changed = sheet.with_cells(
        lambda row: {**row.cells, column.name: token} if (row.p, row.i) in chosen else row.cells
    )
    cells = frozenset((p, i, column.role) for p, i in chosen | at_counter)
    gone = frozenset({column.role} if share == 1 else ())
    return _damaged(sheet, changed, cells=cells, gone=gone)


def cells(sheet: Sheet, chance: Random) -> Damaged:
    """One cell, some, or most of a column are no number."""
    share = chance.choice((0, 0, 0, 0.1, 0.3, 0.6, 0.9))
    return _replace_cells(sheet, chance, share, chance.choice(_used(sheet)), chance.choice(TOKENS))


def whole_column(sheet: Sheet, chance: Random) -> Damaged:
    """No cell of a column is a number."""
    return _replace_cells(sheet, chance, 1, chance.choice(_used(sheet)), chance.choice(TOKENS))


def cells_of_one(sheet: Sheet, chance: Random) -> Damaged | None:
    """A container whose usage was never measured."""
    if len(sheet.known.names) < 2:
        return None
    column, token, p = chance.choice(_used(sheet)), chance.choice(TOKENS), 0
    changed = sheet.with_cells(lambda row: {**row.cells, column.name: token} if row.p == p else row.cells)
    lost = frozenset((p, i, column.role) for i in range(sheet.known.samples))
    return _damaged(sheet, changed, cells=lost)


def late_cells(sheet: Sheet, chance: Random) -> Damaged:
    """The first samples without a value, as before a tool has measured."""
    column, token = chance.choice(_used(sheet)), chance.choice(TOKENS)
    late = chance.choice((1, 2, sheet.known.samples // 2))
    changed = sheet.with_cells(lambda row: {**row.cells, column.name: token} if row.i < late else row.cells)
    until = late + (1 if sheet.first else 0)
    lost = frozenset((p, i, column.role) for p in range(len(sheet.known.names)) for i in range(until))
    return _damaged(sheet, changed, cells=lost)


def absent_rows(sheet: Sheet, chance: Random) -> Damaged | None:
    """Rows of some samples are not there: of one container, or of all."""
    known = sheet.known
    samples = chance.sample(range(1, known.samples - 1), chance.choice((1, 2, min(5, known.samples - 3))))
    which = range(len(known.names)) if chance.random() < 0.4 else [chance.randrange(len(known.names))]
    gone = frozenset((p, i) for p in which for i in samples)
    after = {(p, j) for p, i in gone for j in range(i, i + 7)} if sheet.first else set()
    kept = tuple(row for row in sheet.rows if (row.p, row.i) not in gone)
    cells_ = frozenset((p, i, one.role) for p, i in after for one in sheet.lane_columns())
    if sheet.clock == "rows" or sheet.name in ("pidstat.txt", "top.log"):
        return None  # nothing tells that a sample is not there, or it means that a process was idle
    return _damaged(sheet, replace(sheet, rows=kept), rows=gone, cells=cells_)


def host_limit(sheet: Sheet, chance: Random) -> Damaged | None:
    """Where there is no limit, the host's memory stands in its place."""
    if not any("16GiB" in text for row in sheet.rows[:1] for text in row.cells.values()):
        return None
    host = chance.choice(("62.69GiB", "15.53GiB", "125.8GiB", "31.27GiB", "7.775GiB"))
    size = float(host.removesuffix("GiB")) * GIB
    if size < 3.2 * sheet.known.memory.max():
        return None
    changed = sheet.with_cells(
        lambda row: {key: text.replace("16GiB", host) for key, text in row.cells.items()}
    )
    columns = tuple(one for one in sheet.columns if one.name != "MemPerc")
    unlimited = replace(sheet, columns=columns)
    return _damaged(unlimited, replace(changed, columns=sheet.columns), gone=frozenset({Role.MEMORY_LIMIT}))


def no_header(sheet: Sheet, _chance: Random) -> Damaged | None:
    head, body = sheet.write(sheet)
    if not head:
        return None
    return _lines(sheet, lambda _lines: body, is_nameless=True)


PROMPTS = (
    "$ docker stats --no-stream", "user@host:~$ ./monitor.sh 5 100",
    "Script started on 2026-01-31 12:00:00+00:00",
    "Monitoring started", "# recorded by ops", "nohup: ignoring input", "WARNING: no swap limit support",
    "Warning: Permanently added 'h' (ED25519) to the list of known hosts.", "", "===== run 1 =====",
)  # fmt: skip


def text_above(sheet: Sheet, chance: Random) -> Damaged:
    above = chance.sample(PROMPTS, chance.choice((1, 1, 2, 3)))
    return _lines(sheet, lambda lines: [*above, *lines])


def text_between(sheet: Sheet, chance: Random) -> Damaged:
    """A tool's message between the rows, or a mark of whoever ran it."""
    said = chance.choice(
        ("Error response from daemon: No such container: abc", "^C", "error: Metrics not available for pod",
         "---", "Killed", "write: broken pipe", "")
    )  # fmt: skip

    def insert(lines: list[str]) -> list[str]:
        place = chance.randint(len(lines) // 3, len(lines))
        return [*lines[:place], said, *lines[place:]]

    return _lines(sheet, insert)


def header_again(sheet: Sheet, chance: Random) -> Damaged | None:
    head, body = sheet.write(sheet)
    if not head or len(body) < 6 or sheet.name == "sar.txt":
        return None
    end = len(sheet.rows) if sheet.name == "sadf.txt" else len(body)
    places = sorted(chance.sample(range(2, end), chance.choice((1, 1, 3))))
    lines = list(body)
    for place in reversed(places):
        lines[place:place] = head
    # The first row of each start of dstat is the mean since the machine was started.
    gone = frozenset((0, place) for place in places if sheet.name == "dstat.csv")
    return _lines(sheet, lambda _lines: [*head, *lines], rows=gone)


def other_header(sheet: Sheet, chance: Random) -> Damaged | None:
    """Two columns change their places in the middle of a file, under a header of their own."""
    if not sheet.separator or len(sheet.columns) < 3:
        return None
    order = list(sheet.columns)
    a, b = (order.index(one) for one in chance.sample(_used(sheet), 2)) if len(_used(sheet)) > 1 else (0, 1)
    order[a], order[b] = order[b], order[a]
    half = len(sheet.rows) // 2
    first, second = (
        replace(sheet, rows=sheet.rows[:half]),
        replace(sheet, rows=sheet.rows[half:], columns=tuple(order)),
    )
    return _lines(sheet, lambda _lines: [*first.lines(), *second.lines()])


def list_a_line(sheet: Sheet, chance: Random) -> Damaged | None:
    """All containers of a time as a list on one line."""
    if not sheet.is_json:
        return None
    _, body = sheet.write(sheet)
    many = len(sheet.known.names)
    lists = ["[" + ", ".join(body[k : k + many]) + "]" for k in range(0, len(body), many)]
    return _lines(sheet, lambda _lines: lists)


def several_hosts(sheet: Sheet, chance: Random) -> Damaged | None:
    """One name on several hosts, which a column names."""
    if not sheet.title or not (sheet.separator or sheet.is_json) or len(sheet.known.names) < 2:
        return None
    if sheet.name in ("answers.jsonl", "ai4dl.csv", "recorded.csv"):
        return None
    host = Column(chance.choice(("host", "hostname", "node")), lambda _k, p, _i: f"node-{p}")
    rows = tuple(
        replace(row, cells={**row.cells, sheet.title: "trainer", host.name: f"node-{row.p}"})
        for row in sheet.rows
    )
    if sheet.name == "samples.txt":
        return None
    changed = replace(sheet, columns=(*sheet.columns, host), rows=rows)
    parts = tuple(("trainer", f"node-{p}") for p in range(len(sheet.known.names)))
    return _damaged(sheet, changed, parts=parts)


def units_in_cells(sheet: Sheet, chance: Random) -> Damaged | None:
    """Cells that name their unit, each the one that fits."""
    if MEMORY not in sheet.columns or CPU not in sheet.columns:
        return None
    sized = chance.choice(
        (lambda size: f"{size / MIB:.3f}MiB" if size < GIB else f"{size / GIB:.6f}GiB",
         lambda size: f"{size / MIB:.3f}Mi" if size < GIB else f"{size / GIB:.6f}Gi",
         lambda size: f"{size / 1e6:.3f} MB" if size < 1e9 else f"{size / 1e9:.6f} GB")
    )  # fmt: skip
    used = chance.choice(
        (lambda cpu: f"{cpu * 1000:.0f}m", lambda cpu: f"{cpu * 1000:.0f}m" if cpu < 1 else f"{cpu:.3f}")
    )
    names = {CPU.name: "cpu", MEMORY.name: "memory"}
    columns = tuple(replace(one, name=names.get(one.name, one.name)) for one in sheet.columns)

    def change(row: Row) -> dict[str, str]:
        known = sheet.known
        return {
            **row.cells,
            "cpu": used(known.cpu[row.p, row.i]),
            "memory": sized(known.memory[row.p, row.i]),
        }

    changed = replace(sheet.with_cells(change), columns=columns)
    if "{" in str(sheet.write(sheet)[0]) or sheet.name == "samples.txt":
        return None
    return _damaged(replace(sheet, columns=columns), changed)


def other_unit_later(sheet: Sheet, chance: Random) -> Damaged | None:
    """A column of bare numbers whose unit changes after some time, as a tool's does from MiB to GiB."""
    if MEMORY not in sheet.columns or sheet.known.samples < 12:
        return None
    half = sheet.known.samples // 2
    factor = chance.choice((1 / 1024, 1024.0))

    def change(row: Row) -> dict[str, str]:
        size = sheet.known.memory[row.p, row.i] / MIB * (factor if row.i >= half else 1)
        return {**row.cells, MEMORY.name: f"{size:.4f}"}

    return _damaged(sheet, sheet.with_cells(change))


def percent_sign(sheet: Sheet, chance: Random) -> Damaged | None:
    """Some percentages without their sign."""
    column = next((one for one in sheet.lane_columns() if sheet.rows[0].cells[one.name].endswith("%")), None)
    if column is None:
        return None
    which = set(chance.sample(range(len(sheet.rows)), max(1, len(sheet.rows) // chance.choice((2, 5, 20)))))
    rows = tuple(
        replace(row, cells={**row.cells, column.name: row.cells[column.name].rstrip("% ")})
        if n in which
        else row
        for n, row in enumerate(sheet.rows)
    )
    return _damaged(sheet, replace(sheet, rows=rows))


def _stamped(sheet: Sheet, write: Callable[[float], str], **more) -> Damaged | None:
    """With times written in another way."""
    if not sheet.time or not re.match(r"\d{4}-\d\d-\d\d", sheet.rows[0].cells[sheet.time]):
        return None
    if sheet.name in ("sar.txt", "pidstat.txt", "top.log"):
        return None
    known = sheet.known
    return _damaged(
        sheet, sheet.with_cells(lambda row: {**row.cells, sheet.time: write(known.time(row.i))}), **more
    )


def small_z(sheet: Sheet, _chance: Random) -> Damaged | None:
    return _stamped(
        sheet,
        lambda seconds: datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%Sz").replace("T", "t"),
    )


def zones(sheet: Sheet, chance: Random) -> Damaged | None:
    """Times with the offset of a zone that changes its clocks."""
    hours = chance.choice((1, 2, -7, 5.5))

    def write(seconds: float) -> str:
        shift = timedelta(hours=hours if seconds < sheet.known.time(sheet.known.samples // 2) else hours - 1)
        sign, total = "+" if shift >= timedelta() else "-", abs(int(shift.total_seconds()))
        local = datetime.fromtimestamp(seconds, UTC) + shift
        return f"{local:%Y-%m-%dT%H:%M:%S}{sign}{total // 3600:02d}:{total % 3600 // 60:02d}"

    return _stamped(sheet, write)


def clocks_change(sheet: Sheet, chance: Random) -> Damaged | None:
    """Local times without a zone while clocks are set back or forward an hour."""
    step = chance.choice((-3600, 3600))
    half = sheet.known.time(sheet.known.samples // 2)

    def write(seconds: float) -> str:
        return datetime.fromtimestamp(seconds + (step if seconds >= half else 0), UTC).strftime(
            "%Y-%m-%d %H:%M:%S"
        )

    return _stamped(sheet, write)


def bad_times(sheet: Sheet, chance: Random) -> Damaged | None:
    """Some rows without a time that can be read."""
    if not sheet.separator or not sheet.time or sheet.first:
        return None
    chosen = frozenset(
        (row.p, row.i)
        for row in chance.sample([one for one in sheet.rows if one.i], max(1, len(sheet.rows) // 20))
    )
    token = chance.choice(TOKENS)
    changed = sheet.with_cells(
        lambda row: {**row.cells, sheet.time: token} if (row.p, row.i) in chosen else row.cells
    )
    return _damaged(sheet, changed, rows=chosen)


def rows_twice(sheet: Sheet, chance: Random) -> Damaged | None:
    """Some rows twice, as where a file was appended to itself."""
    if sheet.clock == "rows":
        return None
    rows = list(sheet.rows)
    if chance.random() < 0.3:
        rows += rows
    else:
        for n in sorted(chance.sample(range(len(rows)), 2), reverse=True):
            rows.insert(n, rows[n])
    return _damaged(sheet, replace(sheet, rows=tuple(rows)))


def same_time(sheet: Sheet, chance: Random) -> Damaged | None:
    """A second row of a container at a time, with other values."""
    if not sheet.separator or sheet.first or sheet.clock == "rows":
        return None
    rows, column = list(sheet.rows), chance.choice(_used(sheet))
    n = chance.randrange(1, len(rows))
    value = re.sub(r"\d", "7", rows[n].cells[column.name])
    rows.insert(n, replace(rows[n], cells={**rows[n].cells, column.name: value}))
    return _damaged(sheet, replace(sheet, rows=tuple(rows)))


def unsorted(sheet: Sheet, chance: Random) -> Damaged | None:
    if not sheet.separator or sheet.clock == "rows":
        return None
    rows = list(sheet.rows)
    if chance.random() < 0.4:
        rows.reverse()
    elif chance.random() < 0.5:
        chance.shuffle(rows)
    else:
        n = chance.randrange(len(rows) - 1)
        rows[n], rows[n + 1] = rows[n + 1], rows[n]
    return _damaged(sheet, replace(sheet, rows=tuple(rows)))


def thousands(sheet: Sheet, chance: Random) -> Damaged | None:
    """Numbers in groups of three."""
    if not sheet.separator or sheet.name == "gpus.csv":
        return None
    mark = chance.choice((",", ",", " ", "'", "\u00a0"))
    columns = [one.name for one in sheet.lane_columns()]

    def group(text: str) -> str:
        return re.sub(r"^\d+", lambda found: f"{int(found[0]):,}".replace(",", mark), text)

    changed = sheet.with_cells(
        lambda row: {key: group(text) if key in columns else text for key, text in row.cells.items()}
    )
    return None if sheet.name == "samples.txt" and mark == " " else _damaged(sheet, changed)


def decimal_commas(sheet: Sheet, chance: Random) -> Damaged | None:
    if sheet.separator not in (";", "\t", ";\t", "   "):
        return None
    keep = (sheet.time, sheet.title)
    changed = sheet.with_cells(
        lambda row: {key: text if key in keep else text.replace(".", ",") for key, text in row.cells.items()}
    )
    return _damaged(sheet, changed)


def encodings(sheet: Sheet, chance: Random) -> Damaged:
    """A byte order mark, line ends of Windows or an old Mac, UTF-16, or both."""
    text = _text(sheet).decode()
    coded = {
        "bom": b"\xef\xbb\xbf" + text.encode(),
        "crlf": text.replace("\n", "\r\n").encode(),
        "cr": text.replace("\n", "\r").encode(),
        "utf-16": text.encode("utf-16"),
        "utf-16-be": b"\xfe\xff" + text.encode("utf-16-be"),
        "utf-16 crlf": text.replace("\n", "\r\n").encode("utf-16"),
        "no end": text.rstrip("\n").encode(),
        "blank lines": text.replace("\n", "\n\n").encode(),
    }
    return Damaged(sheet.name, coded[chance.choice(list(coded))], sheet)


def epoch_beside(sheet: Sheet, chance: Random) -> Damaged | None:
    """The epoch of a training beside the time since its beginning."""
    if not sheet.separator or sheet.name not in ("samples.csv", "samples.txt"):
        return None
    elapsed = Column("elapsed_s", lambda known, _p, i: f"{i * known.period:.1f}")
    epoch = Column("epoch", lambda _known, _p, i: str(i // 5))
    columns = tuple(elapsed if one.name == sheet.time else one for one in sheet.columns)
    columns = (*columns, epoch) if chance.random() < 0.5 else (epoch, *columns)
    rows = tuple(
        replace(row, cells={**row.cells, "epoch": epoch.cell(sheet.known, row.p, row.i),
                            "elapsed_s": elapsed.cell(sheet.known, row.p, row.i)})
        for row in sheet.rows
    )  # fmt: skip
    changed = replace(sheet, columns=columns, rows=rows)
    return None if sheet.name == "samples.txt" else _damaged(replace(sheet, clock="any"), changed)


def counter_reset(sheet: Sheet, chance: Random) -> Damaged | None:
    """Counters that begin at zero again, as after a restart, when they had counted two steps at least.

    One that had counted a single step can have as much again a step later, and nobody can tell.
    """
    counters = [
        one for one in sheet.columns if one.role in (Role.CPU, Role.NETWORK_IN) and _grows(sheet, one)
    ]
    if not counters:
        return None
    at = chance.randint(3, sheet.known.samples - 2)

    def change(row: Row) -> dict[str, str]:
        made = dict(row.cells)
        for column in counters if row.i >= at else ():
            before = float(column.cell(sheet.known, row.p, at - 1))
            value = float(row.cells[column.name]) - before
            made[column.name] = f"{value:.6f}" if "." in row.cells[column.name] else f"{value:.0f}"
        return made

    return _damaged(sheet, sheet.with_cells(change))


def _grows(sheet: Sheet, column: Column) -> bool:
    try:
        found = [float(row.cells[column.name]) for row in sheet.rows if row.p == 0]
    except ValueError:
        return False
    return all(a <= b for a, b in itertools.pairwise(found)) and len(found) > 4


def ragged(sheet: Sheet, chance: Random) -> Damaged | None:
    """A row with a cell too few, or too many."""
    head, body = sheet.write(sheet)
    if not sheet.separator or sheet.first or len(body) != len(sheet.rows):
        return None
    n = chance.randrange(1, len(body))
    row = sheet.rows[n]
    cells_ = body[n].split(sheet.separator)
    body[n] = sheet.separator.join(cells_[:-1] if chance.random() < 0.6 else [*cells_, "7"])
    return _lines(sheet, lambda _lines: [*head, *body], rows=frozenset({(row.p, row.i)}))


def wild_values(sheet: Sheet, chance: Random) -> Damaged:
    """Negative or absurd numbers among the others."""
    token = chance.choice(("-1", "1e30", "-5.5", "99999999999999999999999", "1e400"))
    return _replace_cells(sheet, chance, chance.choice((0, 0.1)), chance.choice(_used(sheet)), token)


def none(sheet: Sheet, _chance: Random) -> Damaged:
    return _damaged(sheet)


DEFECTS: dict[str, Callable[[Sheet, Random], Damaged | None]] = {
    "none": none,
    "cells without a number": cells,
    "a column without a number": whole_column,
    "a container without a number": cells_of_one,
    "first cells without a number": late_cells,
    "absurd values": wild_values,
    "absent rows": absent_rows,
    "the host's limit": host_limit,
    "no header": no_header,
    "text above": text_above,
    "text between": text_between,
    "header again": header_again,
    "another header": other_header,
    "a list a line": list_a_line,
    "several hosts": several_hosts,
    "units in cells": units_in_cells,
    "another unit later": other_unit_later,
    "percent signs missing": percent_sign,
    "lower-case z": small_z,
    "zones": zones,
    "clocks change": clocks_change,
    "times without a time": bad_times,
    "rows twice": rows_twice,
    "two rows at a time": same_time,
    "unsorted": unsorted,
    "thousands": thousands,
    "decimal commas": decimal_commas,
    "encodings": encodings,
    "epoch beside elapsed": epoch_beside,
    "counters reset": counter_reset,
    "ragged rows": ragged,
}
