"""Percentages: whether a column's numbers are some, and not shares of one; and of what those of CPU are."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from core.traces.cells.numbers import (
    BINARY,
    EMPTY,
    bare_numbers,
    numbers_of,
    style_of_rows,
    value_in,
    written_unit,
)
from core.traces.evidence import LEAST_MEMORY, MOST_CORES, MOST_MEMORY
from core.traces.guessing.column_names import words
from core.traces.mapping import UNKNOWN
from core.traces.model import ROLE_UNITS, Role
from core.units import FILE_UNITS, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.traces.cells.numbers import Number, NumberStyle
    from core.traces.mapping import ColumnMapping


PERCENT = frozenset(("percent", "pct", "perc", "percentage"))
KEYS = ("percent", "percent_of_core", "percent_of_machine")
CLEARLY = 110.0
"""Above this a percentage is of one core: rounding and turbo make a little more than 100 of a machine."""
REPEATEDLY = 0.01
"""And it is so in more than this share of samples: one of them alone is a glitch."""
_FEW = 20
_OF_MACHINE = frozenset(("machine", "host", "node", "limit", "request", "requested"))


def are_shares(values: Sequence[float]) -> bool:
    """Whether the numbers under the name of a percentage may be shares of one: 0.31 for 31%."""
    return bool(values) and max(values) <= 1 and not all(value.is_integer() for value in values)


def without_shares(
    mapping: ColumnMapping, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> ColumnMapping:
    """The mapping in which a percentage that may be a share of one has an unknown unit."""
    style = style_of_rows(rows)

    def doubtful(name: str) -> bool:
        place = header.index(name)
        numbers = numbers_of((row[place] for row in rows if place < len(row)), style)
        return written_unit(numbers) is not Unit.SHARE and are_shares([number.value for number in numbers])

    features = tuple(
        replace(one, unit_key=UNKNOWN)
        if one.unit_key in KEYS and one.role is not Role.OTHER and doubtful(one.column)
        else one
        for one in mapping.features
    )
    return replace(mapping, features=features)


def of_cpu(values: Sequence[float], said: Sequence[str]) -> str:
    """The unit of a percentage of CPU; `UNKNOWN` where nobody can know of what it is."""
    if of_one_core(said):
        return "percent_of_core"
    if _OF_MACHINE & set(said):
        return "percent_of_machine"
    above = sum(value > CLEARLY for value in values)
    sure = above > REPEATEDLY * len(values) and (above > 1 or len(values) < _FEW)
    # Windows' utility exceeds 100 while the clock does
    return "percent_of_core" if sure and "utility" not in said else UNKNOWN


def of_one_core(said: Sequence[str]) -> bool:
    """Whether a name says that 100 is one core, and not the usage of core 3, or the mean of all cores."""
    if {"avg", "average", "mean"} & set(said):
        return False
    of = ("of", "per", "one", "single", "1")
    return any(second == "core" and first in of for first, second in pairwise(said))


FEW_CORES = 16.0
MANY_BYTES = 2.0**24
NO_LIMIT = 2.0**60
"""Kernels write a number beyond this where there is no limit."""
_CUMULATIVE = frozenset(("total", "cumulative", "counter"))
_RATES = frozenset(("rate", "irate", "deriv"))
"""Words of functions and recording rules that make usage of a counter, and keep its name."""
_CHANGES = frozenset(("increase", "delta", "idelta"))
_CORES = {**dict.fromkeys(("cores", "vcpus", "kerne", "kernen", "coeurs"), "cores"),
          "nanocores": "nanocores", "microcores": UNKNOWN,
          **dict.fromkeys(("millicores", "millicore", "millicpus", "millicpu", "mcores", "mcore", "mcpus",
                           "mcpu"), "millicores")}  # fmt: skip
_BYTES = {"bytes": "bytes", "byte": "bytes", "ki": "kib", "mi": "mib", "gi": "gib",
          "kio": "kib", "mio": "mib", "gio": "gib", "ko": "kb", "mo": "mb", "go": "gb", "octets": "bytes",
          **{key: key for key in ("kib", "mib", "gib", "tib", "kb", "mb", "gb", "tb")}}  # fmt: skip
_NO_CORES = frozenset(
    ("seconds", "second", "sec", "secs", "ms", "msec", "milliseconds", "us", "usec", "usecs", "microseconds",
     "ns", "nanos", "nanosec", "nanoseconds", "m", "n", "u", "milli", "nano", "ratio", "share", "counter",
     "cumulative", "hours", "hour", "minutes")
)  # fmt: skip
"""Words that make another unit of cores."""
_NO_BYTES = frozenset(
    ("k", "m", "g", "thousand", "thousands", "million", "millions", "billion", "billions", "ratio", "share")
)
"""And of bytes."""
_BITS = {"bps": "bit_per_s", "bits": "bit_per_s",
         **{f"{size}{end}": f"{size}bit_per_s" for size in "kmg" for end in ("bps", "bit")}}  # fmt: skip
MOST_EXPRESSION = 2_000
"""A longer name is not looked into."""
# what PromQL calls, what it selects, and what it calculates with
_FUNCTION = re.compile(
    r"\b(?:sum|avg|min|max|count|group|stddev|quantile|topk|bottomk|i?rate|increase|i?delta|deriv|round|ceil|"
    r"floor|abs|scalar|clamp\w*|\w+_over_time|histogram_quantile|label_replace)\s*"
    r"(?:(?:by|without)\s*\([^)]*\)\s*)?\("
)
_QUOTED = re.compile(r"\"[^\"]*\"")
_SELECTED = re.compile(r"\{[^}]*\}|\[\d+[smhdwy][^\]]*\]")
_OPERATOR = re.compile(r"[*/+-]")
_TIMES = re.compile(r"\s[*/]\s*\d")


@dataclass(frozen=True)
class Column:
    """A column of the rows that are looked at: its name and its cells in the order of the file."""

    name: str
    cells: tuple[str, ...]
    style: NumberStyle

    @cached_property
    def filled(self) -> list[str]:
        """Its cells that are not empty."""
        return [cell for cell in self.cells if cell not in EMPTY]

    @cached_property
    def bare(self) -> list[float] | None:
        """Its numbers where all of its cells are numbers without units, as those of most columns are."""
        return bare_numbers(self.filled, self.style)

    @cached_property
    def numbers(self) -> list[Number]:
        """Its numbers as they are written; cells that are none are left out."""
        return numbers_of(self.filled, self.style)

    @property
    def numeric(self) -> bool:
        """Whether most of its cells are numbers."""
        found: Sequence[object] = self.numbers if self.bare is None else self.bare
        return len(found) * 2 > len(self.filled)

    def values(self, unit_key: str = "plain") -> list[float]:
        """Its numbers in a unit; those of another quantity are left out."""
        if self.bare is not None:
            return self.bare
        unit = FILE_UNITS[unit_key]
        found = (value_in(number, unit) for number in self.numbers)
        return [one[0] for one in found if one is not None]

    @cached_property
    def written(self) -> Unit | None:
        """The quantity that its cells write behind their numbers; `Unit.SHARE` is a percent sign."""
        return None if self.bare is not None else written_unit(self.numbers)


@dataclass(frozen=True, slots=True)
class UnitGuess:
    """A unit, and whether it is only assumed."""

    key: str
    assumed: bool = False


def unit_of(column: Column, role: Role) -> UnitGuess:
    """The unit of a column with this role; one that its values contradict is not guessed."""
    guess = _GUESSES.get(role)
    if guess is None:
        return UnitGuess("plain")
    if column.written is None and is_computed(column.name):
        return UnitGuess(UNKNOWN)
    found = guess(column, words(column.name))
    return UnitGuess(UNKNOWN) if found.key != UNKNOWN and _contradicted(column, role, found.key) else found


def is_computed(name: str) -> bool:
    """Whether a name is an expression of PromQL that calculates: ``rate(…) * 8`` has the unit of nothing."""
    if len(name) > MOST_EXPRESSION:
        return True
    bare = _QUOTED.sub("", name)
    parts = _SELECTED.sub("", bare)
    expression = parts != bare or _FUNCTION.search(bare) is not None
    return bool(_TIMES.search(parts) or (expression and _OPERATOR.search(parts)))


def _contradicted(column: Column, role: Role, unit_key: str) -> bool:
    """Whether no container has as much, or as little, as the column would have in a unit."""
    unit = FILE_UNITS[unit_key]
    if unit_key in KEYS and column.written is None and are_shares(column.values()):
        return True
    values = [] if unit.cumulative or column.written is not None else column.values(unit_key)
    if role in (Role.CPU_LIMIT, Role.MEMORY_LIMIT):
        values = [value for value in values if value * unit.factor < NO_LIMIT]
    most = max(values, default=0.0) * unit.factor
    if not values or unit.unit not in (Unit.CORES, Unit.BYTES):
        return False
    if unit.unit is Unit.CORES:
        return most > MOST_CORES
    return most > MOST_MEMORY or (role is Role.MEMORY and 0 < most < LEAST_MEMORY)


def choices(role: Role) -> tuple[str, ...]:
    """The units that a column of a role can have, for the person who is asked."""
    allowed = ROLE_UNITS.get(role, (Unit.PLAIN,))
    return tuple(key for key, unit in FILE_UNITS.items() if unit.unit in allowed and _suits(key, role))


def _suits(unit_key: str, role: Role) -> bool:
    """Percentages of a machine are for what a machine has; a GPU's are of the GPU."""
    if role in (Role.GPU, Role.GPU_MEMORY):
        return not FILE_UNITS[unit_key].of_machine
    return unit_key not in ("percent", "share")


def _cpu(column: Column, said: Sequence[str]) -> UnitGuess:
    written = column.written
    if written is Unit.CORES:
        return UnitGuess("cores")
    if written is Unit.SHARE or PERCENT & set(said):
        return UnitGuess(of_cpu(column.values("percent"), said))
    counted = _counter_of_cpu(said)
    if counted:
        return UnitGuess(counted)
    return _of_cores(column, said)


def _of_cores(column: Column, said: Sequence[str]) -> UnitGuess:
    """Cores, or parts of one, by the name; else assumed where there are few."""
    named = {_CORES[word] for word in said if word in _CORES}
    if len(named) > 1 or (named and _NO_CORES & set(said)):
        return UnitGuess(UNKNOWN)  # cores times seconds, parts of a core, or how often some were used
    if named:
        return UnitGuess(named.pop())
    if said[-1:] == ("m",):
        return UnitGuess("millicores")
    values = column.values()
    small = bool(values) and max(values) <= FEW_CORES
    sure = column.written is None and small and not {"util", "utilization", "utilisation", "load"} & set(said)
    return UnitGuess("cores", assumed=True) if sure else UnitGuess(UNKNOWN)


_RATE_OF = {"cpu_seconds_total": "cores", "cpu_ms_total": "millicores", "cpu_nanoseconds_total": "nanocores"}


def _counter_of_cpu(said: Sequence[str]) -> str:
    """The unit of CPU time that has been used so far, or of its rate, where the name says that it is one."""
    parts = set(said)
    for names, unit in (
        ({"nanoseconds", "nanos", "ns", "nanosec"}, "cpu_nanoseconds_total"),
        ({"usec", "us", "microseconds", "usecs"}, "cpu_us_total"),
        ({"ms", "milliseconds", "msec"}, "cpu_ms_total"),
        ({"seconds", "secs", "sec", "s"}, "cpu_seconds_total"),
    ):
        if names & parts and (_CUMULATIVE & parts or "usage" in parts) and "per_s" not in parts:
            if _CHANGES & parts:
                return UNKNOWN
            return _RATE_OF.get(unit, UNKNOWN) if _RATES & parts else unit
    return "cpu_nanoseconds_total" if {"cpuacct"} & parts and "usage" in parts else ""


def _memory(column: Column, said: Sequence[str]) -> UnitGuess:
    written = column.written
    if written is Unit.BYTES:
        return UnitGuess(_written_size(column))
    if written is Unit.SHARE or PERCENT & set(said):
        return UnitGuess("percent" if "gpu" in said else "percent_of_machine")
    named = {_BYTES[word] for word in said if word in _BYTES}
    if len(named) > 1 or (named and _NO_BYTES & set(said)):
        return UnitGuess(UNKNOWN)  # two units, of which nobody knows which one is that of the cells
    if named:
        return UnitGuess(named.pop())
    values = column.values()
    whole = bool(values) and all(value.is_integer() for value in values)
    if written is None and whole and max(values) >= MANY_BYTES:
        return UnitGuess("bytes", assumed=True)
    return UnitGuess(UNKNOWN)


def _written_size(column: Column) -> str:
    """Bytes, or the unit of 1000 that most cells write and that may be one of 1024."""
    suffixes = [number.suffix.lower() for number in column.numbers if number.suffix]
    most = max(set(suffixes), key=suffixes.count)
    return most if most in BINARY else "bytes"


def _gpu(column: Column, said: Sequence[str]) -> UnitGuess:
    if column.written is Unit.SHARE:
        return UnitGuess("percent")
    values = column.values()
    if PERCENT & set(said):
        return UnitGuess("percent")
    if not values or max(values) > 100 or column.written is not None:
        return UnitGuess(UNKNOWN)
    return UnitGuess("percent", assumed=True) if max(values) > 1 else UnitGuess(UNKNOWN)


def _power(column: Column, said: Sequence[str]) -> UnitGuess:
    if column.written is Unit.WATTS or {"w", "watt", "watts"} & set(said):
        return UnitGuess("watts")
    return UnitGuess("milliwatts" if {"mw", "milliwatts"} & set(said) else UNKNOWN)


_SMALL_BPS = re.compile(r"(?<![A-Za-z])[kmg]bps(?![A-Za-z])")
_SMALL_B = re.compile(r"(?<![A-Za-z])[kmg]b(?![A-Za-z])")
"""Bits or bytes, where neither the letter nor the one before it is a capital: nobody can say."""
_DISKS = frozenset(("disk", "block", "blk", "blkio", "fs", "io", "read", "write", "reads", "writes"))
"""Words of what is never counted in bits."""


def _rate(column: Column, said: Sequence[str]) -> UnitGuess:
    """Bytes or bits per second, or bytes so far where the name says that they were counted."""
    written, parts = column.written, set(said)
    if written is Unit.BYTES_PER_SECOND:
        return UnitGuess("bytes_per_s")
    is_rate = bool({"per_s", "throughput", "sec", "persec", "second", *_RATES} & parts)
    bits = next((word for word in said if word in _BITS), None)
    if written is None and bits is not None:
        return _of_bits(column.name, bits, is_rate)
    size = next((_BYTES[word] for word in reversed(said) if word in _BYTES), None)
    size = "bytes" if size is None and written is Unit.BYTES else size
    either = written is None and _SMALL_B.search(column.name) is not None and not _DISKS & parts
    counted = not is_rate and bool(_CUMULATIVE & parts)
    if _CHANGES & parts or size is None or (is_rate and either):
        return UnitGuess(UNKNOWN)
    unit = f"{size}_per_s" if is_rate else f"{size}_total"
    return UnitGuess(unit if unit in FILE_UNITS and (is_rate or counted) else UNKNOWN)


def _of_bits(name: str, word: str, is_rate: bool) -> UnitGuess:
    """Bits per second; of bits without a time nobody knows whether they are so far, or of an interval.

    In a name without capitals the ``b`` of ``mbps`` says nothing, but few mean bytes by it.
    """
    if not is_rate and not word.endswith("ps"):
        return UnitGuess(UNKNOWN)
    return UnitGuess(_BITS[word], assumed=_SMALL_BPS.search(name) is not None)


_GUESSES: dict[Role, Callable[[Column, Sequence[str]], UnitGuess]] = {
    **dict.fromkeys((Role.CPU, Role.CPU_LIMIT), _cpu),
    **dict.fromkeys((Role.MEMORY, Role.MEMORY_LIMIT, Role.GPU_MEMORY), _memory),
    Role.GPU: _gpu,
    Role.GPU_POWER: _power,
    **dict.fromkeys((Role.NETWORK_IN, Role.NETWORK_OUT, Role.BLOCK_IN, Role.BLOCK_OUT), _rate),
}
