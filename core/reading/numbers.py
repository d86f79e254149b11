"""Numbers in cells, ``1234.5``, ``1.234,5`` or ``1 234,5``, with or without a unit.

One cell such as ``1,234`` does not show which mark separates decimals, so `find_style` considers all cells of
a table; a cell that stays ambiguous is not read.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, repeat
from typing import TYPE_CHECKING, NamedTuple

from core.units import DECIMAL_FACTORS, SUFFIX_FACTORS, FileUnit, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# the texts of empty cells, for every reader
EMPTY = frozenset(
    ("", "-", "--", "NA", "N/A", "n/a", "na", "[N/A]", "[Not Supported]", "NaN", "nan", "-nan", "NULL",
     "Null", "null", "None", "none")
)  # fmt: skip
MAX_CELL = 80
"""The largest number of characters of a number."""
# each digit matches in one way only, so a cell of thousands of digits is checked in one pass
_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*%?|[+-]?(inf|infinity)", re.IGNORECASE)
_PARTS = re.compile(
    r"([+\-−]?)((?:\d[\d.,' \u00a0\u202f]*)?\d|\.\d+|\d+\.)(?:[eE]([+-]?\d+))?\s*([^\s\d.,'][^\d\s]{0,19})?"
)
_BARE = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_POINTED = re.compile(r"\d+\.\d+")
_SURELY_POINTED = re.compile(r"\d{1,30}\.(?:\d{1,2}|\d{4,40})")
"""A point with other than three digits behind it is a decimal point."""
_WEAK = re.compile(r"\d{1,3}\.\d{3}")
_THOUSANDS = re.compile(r"\d{1,3}(?:([.,' \u00a0\u202f])\d{3})(?:\1\d{3})*")
_LAKHS = re.compile(r"\d{1,2}(,)(?:\d{2},)+\d{3}")
"""Groups of two above the thousands, as in India: ``1,06,390``."""


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """The decimal mark of a table's numbers and the separator of thousands, "" without one."""

    decimal: str = "."
    group: str = ""


POINT = NumberStyle()


class Number(NamedTuple):
    """A cell's number and the unit behind it, "" without one."""

    value: float
    suffix: str


def is_number(text: str) -> bool:
    """Whether a cell is a plain number (a percent sign may follow)."""
    return bool(_PLAIN.fullmatch(text.strip()))


def parse_number(text: str, style: NumberStyle = POINT) -> Number | None:
    """Parse the number and the unit of a cell; None if it is not a number or is ambiguous."""
    bare = text.strip()
    if style.decimal == "." and len(bare) <= MAX_CELL and _BARE.fullmatch(bare):
        return Number(float(bare), "")  # the fast path of nearly every cell
    found = _PARTS.fullmatch(bare) if len(bare) <= MAX_CELL else None
    if found is None:
        return Number(float(bare), "") if is_number(bare) and "%" not in bare else None
    sign, digits, power, suffix = found.groups()
    plain = _without_groups(digits, style)
    if plain is None:
        return None
    value = float(f"{'-' if sign in ('-', '−') else ''}{plain}e{power or 0}")
    return Number(value, suffix or "")


def _without_groups(digits: str, style: NumberStyle) -> str | None:
    """Return digits with a decimal point and no separators; None if they do not fit the style."""
    whole, mark, rest = digits.rpartition(style.decimal) if style.decimal in digits else (digits, "", "")
    if whole.count(style.decimal) or (rest and not rest.isdigit()):
        return None
    if not whole.isdigit() and whole:
        grouped = _THOUSANDS.fullmatch(whole) or _LAKHS.fullmatch(whole)
        if grouped is None or _same(grouped[1]) != _same(style.group):
            return None
        whole = re.sub(r"\D", "", whole)
    return f"{whole or 0}{'.' if mark else ''}{rest}"


def _same(mark: str) -> str:
    """Return a blank for every kind of blank."""
    return " " if mark.isspace() else mark


def find_style(cells: Iterable[str]) -> NumberStyle:
    """Find the number style of the cells of a table.

    A mark with other than three digits behind it is a decimal mark, one that occurs twice separates
    thousands, and of two different marks the last one is the decimal mark. A lone point with three digits
    behind it counts where nothing else does; a lone comma counts never: ``1,234`` alone is not read.
    """
    return find_style_and_evidence(cells)[0]


def find_style_of_rows(rows: Iterable[Iterable[str]]) -> NumberStyle:
    """Find the number style of a table from its first rows."""
    return find_style_and_evidence_of_rows(rows)[0]


def find_style_and_evidence_of_rows(rows: Iterable[Iterable[str]]) -> tuple[NumberStyle, bool]:
    """Return `find_style_and_evidence` of a table's first rows, cached."""
    return _of_rows(tuple(map(tuple, rows)))


@lru_cache(maxsize=2)
def _of_rows(rows: tuple[tuple[str, ...], ...]) -> tuple[NumberStyle, bool]:
    return find_style_and_evidence(cell for row in rows for cell in row if cell)


def find_style_and_evidence(cells: Iterable[str]) -> tuple[NumberStyle, bool]:
    """Find the style and whether any number proves the meaning of points.

    ``1.234`` alone proves nothing, nor does it beside ``1,5``: a column may be copied from another program.
    """
    votes: dict[tuple[str, str], int] = {}
    sure = weak = 0
    for cell in cells:
        if _SURELY_POINTED.fullmatch(cell):
            sure += 1
            continue
        digits = _marked_digits(cell.strip())
        if digits is None:
            continue
        vote = _vote(digits)
        if vote is not None:
            votes[vote] = votes.get(vote, 0) + 1
        weak += vote is None and bool(_WEAK.fullmatch(digits))
    if sure:
        votes[".", ""] = votes.get((".", ""), 0) + sure
    points = sum(count for (decimal, _), count in votes.items() if decimal == ".")
    commas = sum(count for (decimal, _), count in votes.items() if decimal == ",")
    decimal = "," if commas > points else "."
    groups = {group: count for (mark, group), count in votes.items() if mark in (decimal, "") and group}
    group = max(groups, key=lambda key: groups[key]) if groups else ""
    shown = (bool(votes) if decimal == "." else group == ".") or not weak
    return NumberStyle(decimal, group or ("." if decimal == "," else "")), shown


def is_ambiguous(text: str, style: NumberStyle) -> bool:
    """Whether a cell is a number in another style, but not in this one: ``1,234``."""
    if parse_number(text, style) is not None:
        return False
    return any(
        parse_number(text, other) is not None for other in (NumberStyle(".", ","), NumberStyle(",", "."))
    )


def _marked_digits(bare: str) -> str | None:
    """Return a number's digits with the marks between them; None for other texts and plain digits."""
    if len(bare) > MAX_CELL or bare.isdecimal():
        return None
    if _POINTED.fullmatch(bare):
        return bare
    found = _PARTS.fullmatch(bare)
    return None if found is None else found[2]


def _vote(digits: str) -> tuple[str, str] | None:
    """Return the decimal mark and the separator of thousands that a number implies, "" for unknown."""
    before, only, after = digits.partition(".")
    if only and before.isdecimal() and after.isdecimal():
        return _vote_of_one(before, only, after)
    marks = [_same(mark) for mark in digits if not mark.isdecimal()]
    if not marks:
        return None
    kinds = list(dict.fromkeys(marks))
    if len(kinds) == 2 and marks.count(kinds[1]) == 1 and kinds[1] in ".,":
        return kinds[1], kinds[0]
    if len(kinds) > 1:
        return None
    only = kinds[0]
    if len(marks) > 1 or only in " '":
        decimal = {".": ",", ",": "."}.get(only, "")  # blanks stand beside points and beside commas
        return (decimal, only) if _THOUSANDS.fullmatch(digits) or _LAKHS.fullmatch(digits) else None
    before, _, after = digits.partition(only)
    return _vote_of_one(before, only, after)


def _vote_of_one(before: str, mark: str, after: str) -> tuple[str, str] | None:
    either = len(after) == 3 and 1 <= len(before) <= 3 and not before.startswith("0")
    return None if either else (mark, "")


def split_columns(rows: Sequence[Sequence[str]], width: int) -> list[tuple[str, ...]]:
    """Split rows into the stripped cells of each column; short rows lack their last cells."""
    if rows and min(map(len, rows)) >= width:
        return [tuple(map(str.strip, cells)) for cells in islice(zip(*rows, strict=False), width)]
    return [tuple([row[i].strip() for row in rows if i < len(row)]) for i in range(width)]


PERCENT = "%"
AS_WRITTEN = "written"
"""The unit of a column whose cells state several units: canonical values, percentages unchanged."""


class Suffix(NamedTuple):
    """A parsed suffix: the quantity, its factor to the canonical unit, whether that is sure."""

    unit: Unit
    factor: float
    sure: bool = True


BINARY_UNITS = {"kb": "kib", "mb": "mib", "gb": "gib", "tb": "tib"}
"""Units of 1000 and the units of 1024 that programs often mean by them."""
_OF_SIZES = frozenset((*BINARY_UNITS, *BINARY_UNITS.values()))
_PER_SECOND = re.compile(r"(.+?)(?:/s(?:ec(?:ond)?)?|ps|/sec)")
_BITS = re.compile(r"([kKMGT]?)(?:bit|bits|b)")


def parse_suffix(text: str, unit: Unit) -> Suffix | None:
    """Parse a suffix as a unit of this quantity; None if it is not one."""
    if unit is Unit.BYTES_PER_SECOND:
        return _rate(text)
    is_exact = unit in (Unit.CORES, Unit.WATTS) and len(text) <= 2  # m and M differ
    factor = SUFFIX_FACTORS.get(unit, {}).get(text if is_exact else text.lower())
    if factor is not None:
        return Suffix(unit, factor, unit is not Unit.BYTES or text != "b")
    # Kubernetes writes M for 1000², free and ps for 1024²
    letter = unit is Unit.BYTES and text in ("k", "K", "M", "G", "T")
    return Suffix(unit, DECIMAL_FACTORS[text.lower()], sure=False) if letter else None


def _rate(text: str) -> Suffix | None:
    """Parse bytes or bits per second; ``Mbps`` is bits and ``MBps`` bytes, ``mbps`` is ambiguous."""
    found = _PER_SECOND.fullmatch(text)
    if found is None:
        return None
    size = found[1]
    bits = _BITS.fullmatch(size)
    if bits is not None:
        return Suffix(Unit.BYTES_PER_SECOND, DECIMAL_FACTORS[bits[1].lower()] / 8)
    if size in ("mb", "gb", "tb") or size.lower() not in SUFFIX_FACTORS[Unit.BYTES]:
        return None
    return Suffix(Unit.BYTES_PER_SECOND, SUFFIX_FACTORS[Unit.BYTES][size.lower()])


_KINDS = (Unit.BYTES, Unit.BYTES_PER_SECOND, Unit.WATTS, Unit.CORES)


def measured_unit(unit: FileUnit) -> Unit:
    """Return the unit of cells of a column: a counter of bytes holds bytes, not bytes per second."""
    if unit.cumulative:
        return Unit.BYTES if unit.unit is Unit.BYTES_PER_SECOND else Unit.SECONDS
    return unit.unit


def find_unit_factor(suffix: str, unit: FileUnit) -> Suffix | None:
    """Return the factor from a suffix to a column's unit; None if the suffix does not fit.

    GB in a column of GB or GiB are not sure; columns whose GB are known to be 1000³ are in bytes.
    """
    if unit.key == AS_WRITTEN:
        return _canonical(suffix)
    if suffix == PERCENT:
        percent = unit.factor == 0.01 or unit.key == "plain"
        shares = unit.unit is Unit.SHARE and unit.factor == 1.0
        return Suffix(unit.unit, 1.0 if percent else 0.01) if percent or shares else None
    found = parse_suffix(suffix, measured_unit(unit))
    if found is None:
        return None
    sure = found.sure and not (unit.key in _OF_SIZES and suffix.lower() in BINARY_UNITS)
    return Suffix(found.unit, found.factor / unit.factor, sure)


def _canonical(suffix: str) -> Suffix | None:
    """Return the factor from a suffix to the canonical unit of its quantity."""
    kind = _kind(suffix)
    if kind is Unit.SHARE:
        return Suffix(kind, 1.0)
    return None if kind is None else parse_suffix(suffix, kind)


def parse_quantity(text: str, unit: FileUnit, style: NumberStyle = POINT) -> tuple[float, bool] | None:
    """Parse a cell to its value in a unit and whether its suffix is sure; None if it does not fit."""
    found = parse_number(text, style)
    return None if found is None else convert_number(found, unit)


def convert_number(number: Number, unit: FileUnit) -> tuple[float, bool] | None:
    """Convert a number to its value in a unit and whether its suffix is sure; None if it does not fit."""
    if not number.suffix:
        return number.value, True
    factor = find_unit_factor(number.suffix, unit)
    return None if factor is None else (number.value * factor.factor, factor.sure)


_OF_BARE = re.compile(r"[0-9.eE+-]*")
"""The characters of numbers without units, for which `float` and `parse_number` agree."""


def parse_plain_numbers(filled: Sequence[str], style: NumberStyle = POINT) -> list[float] | None:
    """Parse cells that all are numbers without units; None if one may be something else."""
    if style.decimal != "." or not _OF_BARE.fullmatch("".join(filled)):
        return None
    try:
        return list(map(float, filled))
    except ValueError:
        return None  # a date, or a word of the letter e


def parse_numbers(cells: Iterable[str], style: NumberStyle = POINT) -> list[Number]:
    """Parse the numbers among cells."""
    filled = [text for cell in cells if (text := cell.strip()) not in EMPTY]
    bare = parse_plain_numbers(filled, style)
    if bare is not None:
        return list(map(Number, bare, repeat("")))
    known = {text: parse_number(text, style) for text in set(filled)}
    return [found for text in filled if (found := known[text]) is not None]


def find_written_unit(numbers: Iterable[Number]) -> Unit | None:
    """Find the quantity of the suffixes in a column: bytes, cores, …; None if most cells have none.

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
    return next((unit for unit in _KINDS if parse_suffix(suffix, unit) is not None), None)
