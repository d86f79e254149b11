"""Quantities with their units, as ``544m``, ``0.62GiB``, ``54.49%`` or ``12 Mbit/s``.

What is written in a cell counts more than what a mapping says of its column: ``512Mi`` in a column of bytes
is 536,870,912 bytes. A unit of another kind (``5%`` among bytes) is no value of that column.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from core.traces.cells.numbers import EMPTY, POINT, Number, read
from core.units import GIB, KIB, MIB, FileUnit, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from core.traces.cells.numbers import NumberStyle

PERCENT = "%"
WRITTEN = "written"
"""The unit of a column whose cells measure several things: canonical values, percentages as they are."""
TIB = 1024 * GIB


class Suffix(NamedTuple):
    """What stands behind a number: the quantity, its factor to the canonical unit, whether that is sure."""

    unit: Unit
    factor: float
    sure: bool = True


_BYTES = {
    "b": 1.0,
    "byte": 1.0,
    "bytes": 1.0,
    "kb": 1e3,
    "mb": 1e6,
    "gb": 1e9,
    "tb": 1e12,
    "pb": 1e15,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": TIB,
    "pib": 1024 * TIB,
    "ki": KIB,
    "mi": MIB,
    "gi": GIB,
    "ti": TIB,
    "pi": 1024 * TIB,
}
BINARY = {"kb": "kib", "mb": "mib", "gb": "gib", "tb": "tib"}
"""Units of 1000 by their names, and those of 1024 that programs often mean by them."""
_OF_SIZES = frozenset((*BINARY, *BINARY.values()))
# Kubernetes writes M for 1000², free and ps for 1024²
_LETTERS = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_CORES = {
    "m": 1e-3,
    "u": 1e-6,
    "µ": 1e-6,
    "μ": 1e-6,
    "n": 1e-9,
    "core": 1.0,
    "cores": 1.0,
    "cpu": 1.0,
    "cpus": 1.0,
    "vcpu": 1.0,
    "vcpus": 1.0,
    "millicores": 1e-3,
    "mcores": 1e-3,
    "mcpu": 1e-3,
}
_WATTS = {"mW": 1e-3, "W": 1.0, "kW": 1e3, "watt": 1.0, "watts": 1.0}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0,
            "min": 60.0, "mins": 60.0, "minutes": 60.0, "h": 3600.0, "hours": 3600.0}  # fmt: skip
_PER_SECOND = re.compile(r"(.+?)(?:/s(?:ec(?:ond)?)?|ps|/sec)")
_BITS = re.compile(r"([kKMGT]?)(?:bit|bits|b)")
_THOUSAND = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def suffix_as(text: str, unit: Unit) -> Suffix | None:
    """What a suffix means behind a quantity of this kind; None where it means something else."""
    read = _READERS.get(unit)
    return None if read is None else read(text)


def _of_bytes(text: str) -> Suffix | None:
    lower = text.lower()
    if lower in _BYTES:
        return Suffix(Unit.BYTES, _BYTES[lower], text != "b")
    letter = text in ("k", "K", "M", "G", "T")
    return Suffix(Unit.BYTES, _LETTERS[lower], sure=False) if letter else None


def _of_cores(text: str) -> Suffix | None:
    factor = _CORES.get(text if len(text) == 1 else text.lower())
    return None if factor is None else Suffix(Unit.CORES, factor)


def _of_watts(text: str) -> Suffix | None:
    factor = _WATTS.get(text, _WATTS.get(text.lower()) if len(text) > 2 else None)
    return None if factor is None else Suffix(Unit.WATTS, factor)


def _of_seconds(text: str) -> Suffix | None:
    factor = _SECONDS.get(text.lower())
    return None if factor is None else Suffix(Unit.SECONDS, factor)


def _rate(text: str) -> Suffix | None:
    """Bytes or bits per second; ``Mbps`` is bits and ``MBps`` bytes, ``mbps`` says neither."""
    found = _PER_SECOND.fullmatch(text)
    if found is None:
        return None
    size = found[1]
    bits = _BITS.fullmatch(size)
    if bits is not None:
        return Suffix(Unit.BYTES_PER_SECOND, _THOUSAND[bits[1]] / 8)
    if size in ("mb", "gb", "tb") or size.lower() not in _BYTES:
        return None
    return Suffix(Unit.BYTES_PER_SECOND, _BYTES[size.lower()])


_READERS: dict[Unit, Callable[[str], Suffix | None]] = {
    Unit.BYTES: _of_bytes,
    Unit.CORES: _of_cores,
    Unit.WATTS: _of_watts,
    Unit.SECONDS: _of_seconds,
    Unit.BYTES_PER_SECOND: _rate,
}
_KINDS = (Unit.BYTES, Unit.BYTES_PER_SECOND, Unit.WATTS, Unit.CORES)


def measured(unit: FileUnit) -> Unit:
    """What a cell of a column in this unit measures: a counter of bytes holds bytes, not bytes per second."""
    if unit.cumulative:
        return Unit.BYTES if unit.unit is Unit.BYTES_PER_SECOND else Unit.SECONDS
    return unit.unit


def in_unit(suffix: str, unit: FileUnit) -> Suffix | None:
    """The factor from a number with this suffix to a column's unit; None where it does not belong there.

    Of GB in a column of GB or GiB nobody can be sure; what is known to mean 1000³ by them is in bytes.
    """
    if unit.key == WRITTEN:
        return _canonical(suffix)
    if suffix == PERCENT:
        percent = unit.factor == 0.01 or unit.key == "plain"
        shares = unit.unit is Unit.SHARE and unit.factor == 1.0
        return Suffix(unit.unit, 1.0 if percent else 0.01) if percent or shares else None
    found = suffix_as(suffix, measured(unit))
    if found is None:
        return None
    sure = found.sure and not (unit.key in _OF_SIZES and suffix.lower() in BINARY)
    return Suffix(found.unit, found.factor / unit.factor, sure)


def _canonical(suffix: str) -> Suffix | None:
    """The factor from a number with this suffix to the canonical unit of what it measures."""
    kind = _kind(suffix)
    if kind is Unit.SHARE:
        return Suffix(kind, 1.0)
    return None if kind is None else suffix_as(suffix, kind)


def quantity(text: str, unit: FileUnit, style: NumberStyle = POINT) -> tuple[float, bool] | None:
    """A cell's value in its column's unit, and whether its suffix is sure; None where it is no such value."""
    found = read(text, style)
    return None if found is None else value_in(found, unit)


def value_in(number: Number, unit: FileUnit) -> tuple[float, bool] | None:
    """A number's value in its column's unit, as `quantity` gives it."""
    if not number.suffix:
        return number.value, True
    factor = in_unit(number.suffix, unit)
    return None if factor is None else (number.value * factor.factor, factor.sure)


_OF_BARE = re.compile(r"[0-9.eE+-]*")
"""The characters of numbers without units: what `float` makes of such a text, `read` makes of it."""


def bare_numbers(filled: Sequence[str], style: NumberStyle = POINT) -> list[float] | None:
    """What `read` makes of cells that all are numbers without units; None where one may be something else."""
    if style.decimal != "." or not _OF_BARE.fullmatch("".join(filled)):
        return None
    try:
        return list(map(float, filled))
    except ValueError:
        return None  # a date, or a word of these letters


def numbers_of(cells: Iterable[str], style: NumberStyle = POINT) -> list[Number]:
    """The numbers among cells; what is empty is none."""
    filled = [text for cell in cells if (text := cell.strip()) not in EMPTY]
    bare = bare_numbers(filled, style)
    if bare is not None:
        return list(map(Number, bare, repeat("")))
    known = {text: read(text, style) for text in set(filled)}
    return [found for text in filled if (found := known[text]) is not None]


def written_unit(numbers: Iterable[Number]) -> Unit | None:
    """The quantity that a column's cells write with their numbers: bytes, cores, …; None where most do not.

    `Unit.SHARE` stands for percent signs.
    """
    suffixes = Counter(found.suffix for found in numbers if found.suffix or found.value != 0)
    counts: Counter[Unit | None] = Counter()
    for suffix, count in suffixes.items():
        counts[_kind(suffix)] += count
    return max(counts, key=lambda key: counts[key], default=None)


def _kind(suffix: str) -> Unit | None:
    if suffix == PERCENT:
        return Unit.SHARE
    if not suffix:
        return None
    return next((unit for unit in _KINDS if suffix_as(suffix, unit) is not None), None)
