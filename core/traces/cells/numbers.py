"""Numbers as people and programs write them: ``1234.5``, ``1.234,5``, ``1 234,5``, with or without a unit.

Which mark separates decimals cannot be told from one cell (``1,234``), so a table's cells are looked at
together: `style_of` takes the evidence of all, and a cell that stays ambiguous is not read.
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
    from collections.abc import Callable, Iterable, Sequence


# What empty cells look like; the same list serves every reader.
EMPTY = frozenset(
    ("", "-", "--", "NA", "N/A", "n/a", "na", "[N/A]", "[Not Supported]", "NaN", "nan", "-nan", "NULL",
     "Null", "null", "None", "none")
)  # fmt: skip
MOST_CELL = 80
"""No number is longer than this many characters."""
# each digit can match in one way only, so a cell of thousands of them is checked in one pass
_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*%?|[+-]?(inf|infinity)", re.IGNORECASE)
_PARTS = re.compile(
    r"([+\-−]?)((?:\d[\d.,' \u00a0\u202f]*)?\d|\.\d+|\d+\.)(?:[eE]([+-]?\d+))?\s*([^\s\d.,'][^\d\s]{0,19})?"
)
_BARE = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_POINTED = re.compile(r"\d+\.\d+")
_SURELY_POINTED = re.compile(r"\d{1,30}\.(?:\d{1,2}|\d{4,40})")
"""Other than three digits behind a point: nearly every decimal of nearly every file."""
_WEAK = re.compile(r"\d{1,3}\.\d{3}")
_THOUSANDS = re.compile(r"\d{1,3}(?:([.,' \u00a0\u202f])\d{3})(?:\1\d{3})*")
_LAKHS = re.compile(r"\d{1,2}(,)(?:\d{2},)+\d{3}")
"""Groups of two above the thousands, as in India: ``1,06,390``."""


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """How a table writes numbers: its decimal mark, and what separates thousands ("" where nothing does)."""

    decimal: str = "."
    group: str = ""


POINT = NumberStyle()


class Number(NamedTuple):
    """A cell's number and the unit written behind it, "" where there is none."""

    value: float
    suffix: str


def is_number(text: str) -> bool:
    """Tell whether a cell is a plain number (a percent sign may follow)."""
    return bool(_PLAIN.fullmatch(text.strip()))


def read(text: str, style: NumberStyle = POINT) -> Number | None:
    """The number and the unit of a cell; None where it is something else, or could be two numbers."""
    bare = text.strip()
    if style.decimal == "." and len(bare) <= MOST_CELL and _BARE.fullmatch(bare):
        return Number(float(bare), "")  # nearly every cell of nearly every file
    found = _PARTS.fullmatch(bare) if len(bare) <= MOST_CELL else None
    if found is None:
        return Number(float(bare), "") if is_number(bare) and "%" not in bare else None
    sign, digits, power, suffix = found.groups()
    plain = _without_groups(digits, style)
    if plain is None:
        return None
    value = float(f"{'-' if sign in ('-', '−') else ''}{plain}e{power or 0}")
    return Number(value, suffix or "")


def _without_groups(digits: str, style: NumberStyle) -> str | None:
    """Digits with a decimal point and nothing else; None where they cannot be of this style."""
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
    """All kinds of blanks count as one."""
    return " " if mark.isspace() else mark


def style_of(cells: Iterable[str]) -> NumberStyle:
    """How the cells of a table write numbers.

    A mark with other than three digits behind it is a decimal mark, one that occurs twice separates
    thousands, and of two different marks the last one is the decimal mark. A lone point with three digits
    behind it counts where nothing else does; a lone comma counts never: ``1,234`` alone is not read.
    """
    return style_and_evidence(cells)[0]


def style_of_rows(rows: Iterable[Iterable[str]]) -> NumberStyle:
    """How a table writes numbers, from its first rows."""
    return style_and_evidence_of_rows(rows)[0]


def style_and_evidence_of_rows(rows: Iterable[Iterable[str]]) -> tuple[NumberStyle, bool]:
    """As `style_and_evidence`, from a table's first rows; found once, however many ask for it."""
    return _of_rows(tuple(map(tuple, rows)))


@lru_cache(maxsize=2)
def _of_rows(rows: tuple[tuple[str, ...], ...]) -> tuple[NumberStyle, bool]:
    return style_and_evidence(cell for row in rows for cell in row)


def style_and_evidence(cells: Iterable[str]) -> tuple[NumberStyle, bool]:
    """The style as `style_of` finds it, and whether any number shows what its points are.

    ``1.234`` alone shows nothing, and beside ``1,5`` neither: who writes decimals with a comma may have
    copied a column of another program.
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


def ambiguous(text: str, style: NumberStyle) -> bool:
    """Whether a cell is a number in another country's writing, and none in this one: ``1,234``."""
    if read(text, style) is not None:
        return False
    return any(read(text, other) is not None for other in (NumberStyle(".", ","), NumberStyle(",", ".")))


def _marked_digits(bare: str) -> str | None:
    """A number's digits with the marks between them; None where it is no number, or has digits alone."""
    if len(bare) > MOST_CELL or bare.isdecimal():
        return None
    if _POINTED.fullmatch(bare):
        return bare
    found = _PARTS.fullmatch(bare)
    return None if found is None else found[2]


def _vote(digits: str) -> tuple[str, str] | None:
    """The decimal mark and the separator of thousands that a number speaks for, "" where it is silent."""
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


def columns_of_rows(rows: Sequence[Sequence[str]], width: int) -> list[tuple[str, ...]]:
    """The stripped cells of each column; the last cells of a short row are missing."""
    if rows and min(map(len, rows)) >= width:
        return [tuple(map(str.strip, cells)) for cells in islice(zip(*rows, strict=False), width)]
    return [tuple([row[i].strip() for row in rows if i < len(row)]) for i in range(width)]


PERCENT = "%"
WRITTEN = "written"
"""The unit of a column whose cells measure several things: canonical values, percentages as they are."""


class Suffix(NamedTuple):
    """What stands behind a number: the quantity, its factor to the canonical unit, whether that is sure."""

    unit: Unit
    factor: float
    sure: bool = True


BINARY = {"kb": "kib", "mb": "mib", "gb": "gib", "tb": "tib"}
"""Units of 1000 by their names, and those of 1024 that programs often mean by them."""
_OF_SIZES = frozenset((*BINARY, *BINARY.values()))
_PER_SECOND = re.compile(r"(.+?)(?:/s(?:ec(?:ond)?)?|ps|/sec)")
_BITS = re.compile(r"([kKMGT]?)(?:bit|bits|b)")


def suffix_as(text: str, unit: Unit) -> Suffix | None:
    """What a suffix means behind a quantity of this kind; None where it means something else."""
    read = _READERS.get(unit)
    return None if read is None else read(text)


def _of_bytes(text: str) -> Suffix | None:
    lower = text.lower()
    factor = SUFFIX_FACTORS[Unit.BYTES].get(lower)
    if factor is not None:
        return Suffix(Unit.BYTES, factor, text != "b")
    # Kubernetes writes M for 1000², free and ps for 1024²
    letter = text in ("k", "K", "M", "G", "T")
    return Suffix(Unit.BYTES, DECIMAL_FACTORS[lower], sure=False) if letter else None


def _of_cores(text: str) -> Suffix | None:
    factor = SUFFIX_FACTORS[Unit.CORES].get(text if len(text) == 1 else text.lower())
    return None if factor is None else Suffix(Unit.CORES, factor)


def _of_watts(text: str) -> Suffix | None:
    factors = SUFFIX_FACTORS[Unit.WATTS]
    factor = factors.get(text, factors.get(text.lower()) if len(text) > 2 else None)
    return None if factor is None else Suffix(Unit.WATTS, factor)


def _of_seconds(text: str) -> Suffix | None:
    factor = SUFFIX_FACTORS[Unit.SECONDS].get(text.lower())
    return None if factor is None else Suffix(Unit.SECONDS, factor)


def _rate(text: str) -> Suffix | None:
    """Bytes or bits per second; ``Mbps`` is bits and ``MBps`` bytes, ``mbps`` says neither."""
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
