"""Guessing a mapping from columns' names and a few rows, for tables of no known layout."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# What empty cells look like; the same list serves every reader.
EMPTY = frozenset(
    ("", "-", "NA", "N/A", "n/a", "na", "NaN", "nan", "-nan", "NULL", "Null", "null", "None", "none")
)
# each digit can match in one way only, so a cell of thousands of them is checked in one pass
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*%?|[+-]?(inf|infinity)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
MOST_FEATURES = 64
MOST_NAME = 200
INDEX = "index"  # the name of a first column that the header leaves out

_TIME = (
    "timestamp", "time_stamp", "time", "datetime", "date", "ts", "epoch", "unix", "seconds", "elapsed",
)  # fmt: skip
_EXECUTION = (
    "execution", "execution_id", "exec_id", "exec", "run", "run_id", "pod", "pod_id", "pod_name",
    "container_name", "container_id", "container", "instance_id", "job_name", "job_id", "job", "task_id",
    "task", "vm_id", "vm", "instance", "hostname", "host", "machine_id", "machine", "name", "id",
)  # fmt: skip


def is_number(text: str) -> bool:
    """Tell whether a cell is a plain number (a percent sign may follow)."""
    return bool(_NUMBER.fullmatch(text.strip()))


def has_decimal_comma(text: str) -> bool:
    """Tell whether a cell is a number written with a decimal comma."""
    return bool(_DECIMAL_COMMA.fullmatch(text.strip()))


def is_date(text: str) -> bool:
    """Tell whether a cell is a date with or without a time (ISO 8601)."""
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return not text.strip().isdigit()


def time_unit_of(texts: Sequence[str]) -> str:
    """The unit of a time column, from the size of its values.

    Epoch seconds of 1973 to 5138 lie between 1e8 and 1e11; milliseconds, microseconds and
    nanoseconds of the same years are a thousand, a million and a billion times larger.
    """
    filled = [text.strip() for text in texts if text.strip() not in EMPTY]
    numbers = [abs(float(text.rstrip("%").strip())) for text in filled if is_number(text)]
    if not numbers:
        return "iso" if any(is_date(text) for text in filled) else "s"
    size = sorted(numbers)[len(numbers) // 2]
    for unit, low in (("ns", 1e17), ("us", 1e14), ("ms", 1e11)):
        if size >= low:
            return unit
    return "s"


def guess(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> ColumnMapping | None:
    """A mapping from names and values; None where no column has numbers."""
    columns = {name: [row[i].strip() for row in rows if i < len(row)] for i, name in enumerate(header)}
    if header[:1] == (INDEX,) and not _mostly_dates(columns[INDEX]):
        header = header[1:]  # it numbers or names the rows
    numeric = [name for name in header if _mostly_numbers(columns[name])]
    time = _first(header, (*_TIME, INDEX), lambda name: name in numeric or _mostly_dates(columns[name]))
    execution = _first([n for n in header if n != time], _EXECUTION, lambda name: _names(columns[name]))
    features = _features([name for name in numeric if name not in (time, execution)])
    if not features:
        return None
    known = set(numeric)
    texts = [n for n in header if n not in known and n not in (time, execution) and any(columns[n])]
    return ColumnMapping(
        features=features,
        execution=execution,
        time=time,
        time_unit="none" if time is None else time_unit_of(columns[time]),
        period=1.0 if time is None else None,
        attributes=tuple(name for name in texts if not _mostly_dates(columns[name]))[:8],
    )


def _key(name: str) -> str:
    """A column's name without its case, its unit in brackets and its punctuation."""
    bare = re.sub(r"[\[(].*?[\])]", "", name[:MOST_NAME])
    return re.sub(r"[^a-z0-9]+", "_", bare.lower()).strip("_")


def _first(names: Sequence[str], wanted: Sequence[str], fits: Callable[[str], bool]) -> str | None:
    keys: dict[str, str] = {}
    for name in names:
        keys.setdefault(_key(name), name)
    return next((keys[key] for key in wanted if key in keys and fits(keys[key])), None)


def _mostly_numbers(texts: Sequence[str]) -> bool:
    filled = [text for text in texts if text not in EMPTY]
    good = sum(is_number(text) or has_decimal_comma(text) for text in filled)
    return bool(filled) and good * 2 > len(filled)


def _mostly_dates(texts: Sequence[str]) -> bool:
    filled = [text for text in texts if text not in EMPTY]
    return bool(filled) and sum(is_date(text) for text in filled) * 2 > len(filled)


def _names(texts: Sequence[str]) -> bool:
    """Tell whether a column can hold names: strings, or whole numbers that repeat."""
    filled = [text for text in texts if text not in EMPTY]
    if not filled:
        return False
    if all(text.lstrip("-").isdigit() for text in filled):
        return len(filled) == 1 or len(set(filled)) < len(filled)
    return not _mostly_numbers(filled)


def _features(names: Sequence[str]) -> tuple[MappedColumn, ...]:
    """All numeric columns with roles and units by name; each role once, the likeliest column first."""
    cpu = _likeliest(names, _cpu_score)
    memory = _likeliest([n for n in names if n != cpu], _memory_score)
    found = []
    for name in names[:MOST_FEATURES] if len(names) > MOST_FEATURES else names:
        if name == cpu:
            found.append(MappedColumn(name, Role.CPU, _cpu_unit(name)))
        elif name == memory:
            found.append(MappedColumn(name, Role.MEMORY, _memory_unit(name)))
        elif _key(name) in ("loss", "train_loss", "training_loss"):
            found.append(MappedColumn(name, Role.LOSS))
        else:
            found.append(_limit(name))
    return tuple(found)


def _likeliest(names: Sequence[str], score: Callable[[str], int]) -> str | None:
    best = max(names, key=score, default=None)
    return best if best is not None and score(best) > 0 else None


def _cpu_score(name: str) -> int:
    key = _key(name)
    if "cpu" not in key or any(
        word in key for word in ("limit", "request", "iowait", "system", "steal", "idle")
    ):
        return 0
    score = 1 + 4 * any(word in key for word in ("usage", "util", "used", "cores", "percent"))
    return score + 8 * (key in ("cpu", "cpu_usage", "cpu_cores", "cpu_usage_cores"))


def _memory_score(name: str) -> int:
    key = _key(name)
    if not re.search(r"(^|_)(mem|memory|rss)", key) or any(
        w in key for w in ("limit", "request", "free", "cap")
    ):
        return 0
    score = 1 + 4 * any(word in key for word in ("usage", "used", "util", "bytes", "current", "working"))
    return score + 8 * (key in ("mem", "memory", "memory_usage", "memory_bytes"))


def _cpu_unit(name: str) -> str:
    text = name.lower()
    if "nanosec" in text or "ns_total" in text:
        return "cpu_nanoseconds_total"
    if "seconds_total" in text:
        return "cpu_seconds_total"
    if "milli" in text or text.endswith("_m"):
        return "millicores"
    if "%" in text or "percent" in text or "pct" in text or "util" in text:
        return "percent_of_machine"
    return "cores"


def _memory_unit(name: str) -> str:
    text = name.lower()
    for word, unit in (
        ("gib", "gib"),
        ("mib", "mib"),
        ("kib", "kib"),
        ("gb", "gb"),
        ("mb", "mb"),
        ("kb", "kb"),
    ):
        if re.search(rf"(^|[^a-z]){word}", text):
            return unit
    if "%" in text or "percent" in text or "pct" in text or "util" in text:
        return "percent_of_machine"
    return "bytes"


def _limit(name: str) -> MappedColumn:
    key = _key(name)
    if "limit" in key and "cpu" in key and "pct" not in key:
        return MappedColumn(name, Role.CPU_LIMIT, _cpu_unit(name))
    if "limit" in key and "mem" in key and "pct" not in key:
        return MappedColumn(name, Role.MEMORY_LIMIT, _memory_unit(name))
    return MappedColumn(name)
