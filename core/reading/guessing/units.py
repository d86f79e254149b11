"""The unit of a column by its role, its name and its values; an ambiguous one stays unknown.

Percentages may be shares of 1 under the name of a percentage, and percentages of CPU may be of one core or of
the machine. A unit that would make values impossible for a container is discarded.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from core.reading.guessing.column_names import split_words
from core.reading.mapping import UNKNOWN
from core.reading.numbers import (
    BINARY_UNITS,
    EMPTY,
    convert_number,
    find_style_of_rows,
    find_written_unit,
    parse_numbers,
    parse_plain_numbers,
)
from core.traces.evidence import MAX_CORES, MAX_MEMORY, MIN_MEMORY
from core.traces.model import ROLE_UNITS, SET_ROLES, Role
from core.units import FILE_UNITS, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.reading.mapping import ColumnMapping
    from core.reading.numbers import Number, NumberStyle


PERCENT_WORDS = frozenset(("percent", "pct", "perc", "percentage"))
PERCENT_UNITS = ("percent", "percent_of_core", "percent_of_machine")
MIN_CORE_PERCENT = 110.0
"""A larger percentage is of one core; rounding and turbo can exceed 100% of a machine slightly."""
MIN_CORE_SHARE = 0.01
"""The minimum share of such samples; a single one is a glitch."""
_FEW_SAMPLES = 20
_MACHINE_WORDS = frozenset(("machine", "host", "node", "limit", "request", "requested"))


def may_be_shares(values: Sequence[float]) -> bool:
    """Whether percentages may be written as shares of 1: 0.31 for 31%."""
    return bool(values) and max(values) <= 1 and not all(value.is_integer() for value in values)


def clear_doubtful_percentages(
    mapping: ColumnMapping, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> ColumnMapping:
    """Return the mapping with an unknown unit for percentages that may be shares of 1."""
    style = find_style_of_rows(rows)

    def doubtful(name: str) -> bool:
        place = header.index(name)
        numbers = parse_numbers((row[place] for row in rows if place < len(row)), style)
        return find_written_unit(numbers) is not Unit.SHARE and may_be_shares(
            [number.value for number in numbers]
        )

    features = tuple(
        replace(one, unit_key=UNKNOWN)
        if one.unit_key in PERCENT_UNITS and one.role is not Role.OTHER and doubtful(one.column)
        else one
        for one in mapping.features
    )
    return replace(mapping, features=features)


def guess_cpu_percentage(values: Sequence[float], name_words: Sequence[str]) -> str:
    """Guess whether a CPU percentage is of one core or the machine; `UNKNOWN` if ambiguous."""
    if is_of_one_core(name_words):
        return "percent_of_core"
    if _MACHINE_WORDS & set(name_words):
        return "percent_of_machine"
    above = sum(value > MIN_CORE_PERCENT for value in values)
    sure = above > MIN_CORE_SHARE * len(values) and (above > 1 or len(values) < _FEW_SAMPLES)
    # Windows' utility exceeds 100 while the clock does
    return "percent_of_core" if sure and "utility" not in name_words else UNKNOWN


def is_of_one_core(name_words: Sequence[str]) -> bool:
    """Whether a name says that 100 is one core, not core number 3 or the mean of all cores."""
    if {"avg", "average", "mean"} & set(name_words):
        return False
    of = ("of", "per", "one", "single", "1")
    return any(second == "core" and first in of for first, second in pairwise(name_words))


MAX_ASSUMED_CORES = 16.0
MIN_ASSUMED_BYTES = 2.0**24
NO_LIMIT = 2.0**60
"""Kernels write a larger number for no limit."""
_COUNTER_WORDS = frozenset(("total", "cumulative", "counter"))
_RATE_WORDS = frozenset(("rate", "irate", "deriv"))
"""Functions and recording rules that make usage of a counter and keep its name."""
_CHANGE_WORDS = frozenset(("increase", "delta", "idelta"))
_CORE_UNITS = {**dict.fromkeys(("cores", "vcpus", "kerne", "kernen", "coeurs"), "cores"),
          "nanocores": "nanocores", "microcores": UNKNOWN,
          **dict.fromkeys(("millicores", "millicore", "millicpus", "millicpu", "mcores", "mcore", "mcpus",
                           "mcpu"), "millicores")}  # fmt: skip
_BYTE_UNITS = {"bytes": "bytes", "byte": "bytes", "ki": "kib", "mi": "mib", "gi": "gib",
          "kio": "kib", "mio": "mib", "gio": "gib", "ko": "kb", "mo": "mb", "go": "gb", "octets": "bytes",
          **{key: key for key in ("kib", "mib", "gib", "tib", "kb", "mb", "gb", "tb")}}  # fmt: skip
_NOT_CORES = frozenset(
    ("seconds", "second", "sec", "secs", "ms", "msec", "milliseconds", "us", "usec", "usecs", "microseconds",
     "ns", "nanos", "nanosec", "nanoseconds", "m", "n", "u", "milli", "nano", "ratio", "share", "counter",
     "cumulative", "hours", "hour", "minutes")
)  # fmt: skip
"""Words that make cores another unit."""
_NOT_BYTES = frozenset(
    ("k", "m", "g", "thousand", "thousands", "million", "millions", "billion", "billions", "ratio", "share")
)
"""Words that make bytes another unit."""
_BIT_UNITS = {"bps": "bit_per_s", "bits": "bit_per_s",
         **{f"{size}{end}": f"{size}bit_per_s" for size in "kmg" for end in ("bps", "bit")}}  # fmt: skip
MAX_EXPRESSION = 2_000
"""Longer names count as expressions unread."""
# functions, selectors and operators of PromQL
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
    """A column of the inspected rows: its name and its cells in the order of the file."""

    name: str
    cells: tuple[str, ...]
    style: NumberStyle

    @cached_property
    def filled(self) -> list[str]:
        """The cells that are not empty."""
        return [cell for cell in self.cells if cell not in EMPTY]

    @cached_property
    def plain_values(self) -> list[float] | None:
        """The numbers if all cells are numbers without units, as in most columns; else None."""
        return parse_plain_numbers(self.filled, self.style)

    @cached_property
    def numbers(self) -> list[Number]:
        """The numbers of the cells with their suffixes, without cells that are not numbers."""
        return parse_numbers(self.filled, self.style)

    @property
    def numeric(self) -> bool:
        """Whether most cells are numbers."""
        found: Sequence[object] = self.numbers if self.plain_values is None else self.plain_values
        return len(found) * 2 > len(self.filled)

    def values(self, unit_key: str = "plain") -> list[float]:
        """Return the numbers in a unit, without those of another quantity."""
        if self.plain_values is not None:
            return list(filter(math.isfinite, self.plain_values))
        unit = FILE_UNITS[unit_key]
        found = (convert_number(number, unit) for number in self.numbers)
        return [one[0] for one in found if one is not None and math.isfinite(one[0])]

    @cached_property
    def written(self) -> Unit | None:
        """The quantity of the units in the cells; `Unit.SHARE` for a percent sign."""
        return None if self.plain_values is not None else find_written_unit(self.numbers)


@dataclass(frozen=True, slots=True)
class UnitGuess:
    """A unit, and whether it is only assumed."""

    key: str
    assumed: bool = False


def guess_unit(column: Column, role: Role) -> UnitGuess:
    """Guess the unit of a column with a role; `UNKNOWN` if its values contradict the guess."""
    guess = _GUESSES.get(role)
    if guess is None:
        return UnitGuess("plain")
    if column.written is None and is_computed(column.name):
        return UnitGuess(UNKNOWN)
    found = guess(column, split_words(column.name))
    return UnitGuess(UNKNOWN) if found.key != UNKNOWN and _is_contradicted(column, role, found.key) else found


def is_computed(name: str) -> bool:
    """Whether a name is a PromQL expression with arithmetic, such as ``rate(…) * 8``: its unit is unknown."""
    if len(name) > MAX_EXPRESSION:
        return True
    plain_values = _QUOTED.sub("", name)
    parts = _SELECTED.sub("", plain_values)
    expression = parts != plain_values or _FUNCTION.search(plain_values) is not None
    return bool(_TIMES.search(parts) or (expression and _OPERATOR.search(parts)))


def _is_contradicted(column: Column, role: Role, unit_key: str) -> bool:
    """Whether values in a unit would be impossible for a container."""
    unit = FILE_UNITS[unit_key]
    if unit_key in PERCENT_UNITS and column.written is None and may_be_shares(column.values()):
        return True
    values = [] if unit.cumulative or column.written is not None else column.values(unit_key)
    if role in SET_ROLES:
        values = [value for value in values if value * unit.factor < NO_LIMIT]
    most = max(values, default=0.0) * unit.factor
    if not values or unit.unit not in (Unit.CORES, Unit.BYTES):
        return False
    if unit.unit is Unit.CORES:
        return most > MAX_CORES
    return most > MAX_MEMORY or (role is Role.MEMORY and 0 < most < MIN_MEMORY)


def list_unit_choices(role: Role) -> tuple[str, ...]:
    """List the possible units of a role, for a question."""
    allowed = ROLE_UNITS.get(role, (Unit.PLAIN,))
    return tuple(key for key, unit in FILE_UNITS.items() if unit.unit in allowed and _is_offered(key, role))


def _is_offered(unit_key: str, role: Role) -> bool:
    """Whether a question about a role offers a unit: percentages of a machine are not of a GPU."""
    if role in (Role.GPU, Role.GPU_MEMORY):
        return not FILE_UNITS[unit_key].of_machine
    return unit_key not in ("percent", "share")


def _guess_cpu(column: Column, name_words: Sequence[str]) -> UnitGuess:
    written = column.written
    if written is Unit.CORES:
        return UnitGuess("cores")
    if written is Unit.SHARE or PERCENT_WORDS & set(name_words):
        return UnitGuess(guess_cpu_percentage(column.values("percent"), name_words))
    is_counter = _find_cpu_counter(name_words)
    if is_counter:
        return UnitGuess(is_counter)
    return _guess_cores(column, name_words)


def _guess_cores(column: Column, name_words: Sequence[str]) -> UnitGuess:
    """Guess cores or parts of one by the name; else assume cores if values are small."""
    named = {_CORE_UNITS[word] for word in name_words if word in _CORE_UNITS}
    if len(named) > 1 or (named and _NOT_CORES & set(name_words)):
        return UnitGuess(UNKNOWN)  # core-seconds, parts of a core or counts
    if named:
        return UnitGuess(named.pop())
    if name_words[-1:] == ("m",):
        return UnitGuess("millicores")
    values = column.values()
    small = bool(values) and max(values) <= MAX_ASSUMED_CORES
    sure = (
        column.written is None
        and small
        and not {"util", "utilization", "utilisation", "load"} & set(name_words)
    )
    return UnitGuess("cores", assumed=True) if sure else UnitGuess(UNKNOWN)


_RATE_UNITS = {
    "cpu_seconds_total": "cores",
    "cpu_ms_total": "millicores",
    "cpu_nanoseconds_total": "nanocores",
}


def _find_cpu_counter(name_words: Sequence[str]) -> str:
    """Find the unit of a counter of CPU time, or of its rate, in a name; "" without one."""
    parts = set(name_words)
    for names, unit in (
        ({"nanoseconds", "nanos", "ns", "nanosec"}, "cpu_nanoseconds_total"),
        ({"usec", "us", "microseconds", "usecs"}, "cpu_us_total"),
        ({"ms", "milliseconds", "msec"}, "cpu_ms_total"),
        ({"seconds", "secs", "sec", "s"}, "cpu_seconds_total"),
    ):
        if names & parts and (_COUNTER_WORDS & parts or "usage" in parts) and "per_s" not in parts:
            if _CHANGE_WORDS & parts:
                return UNKNOWN
            return _RATE_UNITS.get(unit, UNKNOWN) if _RATE_WORDS & parts else unit
    return "cpu_nanoseconds_total" if {"cpuacct"} & parts and "usage" in parts else ""


def _guess_memory(column: Column, name_words: Sequence[str]) -> UnitGuess:
    written = column.written
    if written is Unit.BYTES:
        return UnitGuess(_find_written_size(column))
    if written is Unit.SHARE or PERCENT_WORDS & set(name_words):
        return UnitGuess("percent" if "gpu" in name_words else "percent_of_machine")
    named = {_BYTE_UNITS[word] for word in name_words if word in _BYTE_UNITS}
    if len(named) > 1 or (named and _NOT_BYTES & set(name_words)):
        return UnitGuess(UNKNOWN)  # two units in one name
    if named:
        return UnitGuess(named.pop())
    values = column.values()
    whole = bool(values) and all(value.is_integer() for value in values)
    if written is None and whole and max(values) >= MIN_ASSUMED_BYTES:
        return UnitGuess("bytes", assumed=True)
    return UnitGuess(UNKNOWN)


def _find_written_size(column: Column) -> str:
    """Return bytes, or the most frequent suffix if it may mean 1000 or 1024."""
    suffixes = [number.suffix.lower() for number in column.numbers if number.suffix]
    most = max(set(suffixes), key=suffixes.count)
    return most if most in BINARY_UNITS else "bytes"


def _guess_gpu(column: Column, name_words: Sequence[str]) -> UnitGuess:
    if column.written is Unit.SHARE:
        return UnitGuess("percent")
    values = column.values()
    if PERCENT_WORDS & set(name_words):
        return UnitGuess("percent")
    if not values or max(values) > 100 or column.written is not None:
        return UnitGuess(UNKNOWN)
    return UnitGuess("percent", assumed=True) if max(values) > 1 else UnitGuess(UNKNOWN)


def _guess_power(column: Column, name_words: Sequence[str]) -> UnitGuess:
    if column.written is Unit.WATTS or {"w", "watt", "watts"} & set(name_words):
        return UnitGuess("watts")
    return UnitGuess("milliwatts" if {"mw", "milliwatts"} & set(name_words) else UNKNOWN)


_SMALL_BPS = re.compile(r"(?<![A-Za-z])[kmg]bps(?![A-Za-z])")
_SMALL_B = re.compile(r"(?<![A-Za-z])[kmg]b(?![A-Za-z])")
"""Lower-case letters leave open whether ``b`` means bits or bytes."""
_DISK_WORDS = frozenset(("disk", "block", "blk", "blkio", "fs", "io", "read", "write", "reads", "writes"))
"""Words for disks, which are never measured in bits."""


def _guess_rate(column: Column, name_words: Sequence[str]) -> UnitGuess:
    """Guess bytes or bits per second, or a counter of bytes if the name says so."""
    written, parts = column.written, set(name_words)
    if written is Unit.BYTES_PER_SECOND:
        return UnitGuess("bytes_per_s")
    is_rate = bool({"per_s", "throughput", "sec", "persec", "second", *_RATE_WORDS} & parts)
    bits = next((word for word in name_words if word in _BIT_UNITS), None)
    if written is None and bits is not None:
        return _guess_bits(column.name, bits, is_rate)
    size = next((_BYTE_UNITS[word] for word in reversed(name_words) if word in _BYTE_UNITS), None)
    size = "bytes" if size is None and written is Unit.BYTES else size
    is_ambiguous = written is None and _SMALL_B.search(column.name) is not None and not _DISK_WORDS & parts
    # a size in a cell is what was moved so far, as docker stats prints it; one that falls is asked for later
    is_counter = not is_rate and (bool(_COUNTER_WORDS & parts) or written is Unit.BYTES)
    if _CHANGE_WORDS & parts or size is None or (is_rate and is_ambiguous):
        return UnitGuess(UNKNOWN)
    unit = f"{size}_per_s" if is_rate else f"{size}_total"
    return UnitGuess(unit if unit in FILE_UNITS and (is_rate or is_counter) else UNKNOWN)


def _guess_bits(name: str, word: str, is_rate: bool) -> UnitGuess:
    """Guess bits per second; bits without a time may be a counter or a difference, so unknown.

    In lower case, ``mbps`` is ambiguous but rarely means bytes, so it is assumed to be bits.
    """
    if not is_rate and not word.endswith("ps"):
        return UnitGuess(UNKNOWN)
    return UnitGuess(_BIT_UNITS[word], assumed=_SMALL_BPS.search(name) is not None)


_GUESSES: dict[Role, Callable[[Column, Sequence[str]], UnitGuess]] = {
    **dict.fromkeys((Role.CPU, Role.CPU_LIMIT, Role.CPU_REQUEST), _guess_cpu),
    **dict.fromkeys((Role.MEMORY, Role.MEMORY_LIMIT, Role.MEMORY_REQUEST, Role.GPU_MEMORY), _guess_memory),
    Role.GPU: _guess_gpu,
    Role.GPU_POWER: _guess_power,
    **dict.fromkeys((Role.NETWORK_IN, Role.NETWORK_OUT, Role.BLOCK_IN, Role.BLOCK_OUT), _guess_rate),
}
