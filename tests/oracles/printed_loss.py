"""Slow twins of core.progress.patterns: one character after the other, no regular expression."""

from __future__ import annotations

import math

_DIGITS = "0123456789"


def slow_last_written(line: str) -> str:
    """The text that a terminal shows of a line: no escapes, the last rewriting that is not blank."""
    rewritings, place = [""], 0
    while place < len(line):
        length = _escape(line, place)
        if length:
            place += length
            continue
        if line[place] in "\r\x08":
            rewritings.append("")
        else:
            rewritings[-1] += line[place]
        place += 1
    texts = [part.strip() for part in rewritings if part.strip()]
    return texts[-1] if texts else ""


def _escape(line: str, place: int) -> int:
    """Length of the escape sequence that begins there, 0 for none."""
    if line[place] != "\x1b" or place + 1 >= len(line):
        return 0
    second = line[place + 1]
    if second == "[":
        end = place + 2
        while end < len(line) and line[end] in "0123456789;:?<=>":
            end += 1
        while end < len(line) and " " <= line[end] <= "/":
            end += 1
        return end + 1 - place if end < len(line) and "@" <= line[end] <= "~" else 0
    return 2 if "@" <= second <= "Z" or second in "\\^_" else 0


def slow_loss(text: str) -> float | None:
    """The number after the last “loss” of a line that stands for itself and names one."""
    loss = None
    place = 0
    while place < len(text):
        value, end = _named(text, place)
        if value is not None:
            loss, place = value, end
        else:
            place += 1
    return loss if loss is not None and math.isfinite(loss) else None


def _named(text: str, place: int) -> tuple[float | None, int]:
    start = place
    if text[place] in "\"'":
        place += 1
    before = text[start - 1] if start else " "
    if before.isalnum() or before in "_./-" or text[place : place + 4].lower() != "loss":
        return None, start
    place += 4
    quoted = place + (place < len(text) and text[place] in "\"'")
    for after in dict.fromkeys((quoted, place)):
        for value in (_assigned(text, after), _bare(text, after)):
            if value is not None:
                return value
    return None, start


def _assigned(text: str, place: int) -> tuple[float, int] | None:
    place += place < len(text) and text[place].isspace()
    if place >= len(text) or text[place] not in ":=":
        return None
    place += 1
    spaces = 0
    while place < len(text) and text[place].isspace() and spaces < 8:
        place, spaces = place + 1, spaces + 1
    starts = [place + (place < len(text) and text[place] in "\"'"), place]
    for start in dict.fromkeys(starts):
        for wrapped in (2, 1, 0):
            if all(one in "[(" for one in text[start : start + wrapped]) and start + wrapped <= len(text):
                number = _number(text, start + wrapped, bare=False)
                if number is not None:
                    return number
    return None


def _bare(text: str, place: int) -> tuple[float, int] | None:
    spaces = 0
    while place < len(text) and text[place].isspace():
        place, spaces = place + 1, spaces + 1
    return _number(text, place, bare=True) if 1 <= spaces <= 4 else None


def _number(text: str, place: int, *, bare: bool) -> tuple[float, int] | None:
    """The longest number that begins there and that no letter, digit or further point follows."""
    for end in range(len(text), place, -1):
        piece = text[place:end]
        if not _is_number(piece, bare=bare):
            continue
        following = text[end:]
        tail = following[
            : next((n for n, c in enumerate(following) if not (c.isalnum() or c in "_.")), len(following))
        ]
        if not tail.strip("."):
            return float(piece.replace(",", "")), end
    return None


def _is_number(piece: str, *, bare: bool) -> bool:
    body = piece[1:] if piece[:1] in ("+", "-") else piece
    mantissa, letter, power = body.replace("E", "e").partition("e")
    if letter and not (power[1:] if power[:1] in ("+", "-") else power).isdecimal():
        return False
    whole, point, part = mantissa.partition(".")
    if bare:
        return bool(point and _digits(part)) and (not whole or _digits(whole))
    if not whole:
        return bool(point and _digits(part))
    groups = whole.split(",")
    thousands = (
        all(_digits(one) for one in groups) and len(groups[0]) <= 3 and all(len(g) == 3 for g in groups[1:])
    )
    return (_digits(whole) or (len(groups) > 1 and thousands)) and (not part or _digits(part))


def _digits(text: str) -> bool:
    return bool(text) and all(one in _DIGITS for one in text)
