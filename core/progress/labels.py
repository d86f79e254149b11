"""What a person's label asks to be read: a name, or a regular expression with one group."""

from __future__ import annotations

import re

from core.errors import InputError
from core.progress.patterns import key_pattern, read_number

LABEL = "phasedock.loss"
"""The container label that names what is read."""
LONGEST_OWN = 500
"""Characters of a line above which a person's own expression is not tried on it."""
_LONGEST_PATTERN = 300
_MOST_REPEATS = 8
_NAME = re.compile(r"[\w./ -]+")
_REPEAT = re.compile(r"[*+?]|\{\d*,?\d*\}")


def label_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of a label: of the name, or of the expression that it is.

    Parameters
    ----------
    text
        Letters, digits, ``_ . / -`` and spaces are a name, such as ``reward``; all else is an expression
        whose one group is the number, such as ``ELBO (-?[0-9.]+)``.

    Returns
    -------
    re.Pattern
        Its last group is the number.

    Raises
    ------
    InputError
        If it is no regular expression, has not exactly one group, or could take for ever on some lines.
    """
    name = text.strip()
    if _NAME.fullmatch(name):
        return key_pattern(name)
    if len(name) > _LONGEST_PATTERN:
        raise _refused(name[:40] + "…", f"is longer than {_LONGEST_PATTERN} characters")
    try:
        pattern = re.compile(name)
    except (re.error, OverflowError, RecursionError) as error:
        raise _refused(name, f"is no regular expression: {error}") from None
    if pattern.groups != 1:
        raise _refused(name, f"has {pattern.groups} groups, but the number must be its only one")
    if _may_take_for_ever(name):
        raise _refused(name, "repeats what can itself repeat, which can take for ever")
    return pattern


def find_own(pattern: re.Pattern[str], text: str) -> float | None:
    """Return the number in a person's pattern: NaN where it is none, None where the pattern is not there.

    Parameters
    ----------
    pattern
        Of `label_pattern`, an expression.
    text
        A line as `last_written` returns it.
    """
    match = pattern.search(text) if len(text) <= LONGEST_OWN else None
    if match is None or match[1] is None:
        return None
    number = read_number(match[1])
    return float("nan") if number is None else number


def _refused(pattern: str, why: str) -> InputError:
    return InputError(
        f"“{pattern}”, which the label {LABEL} gives, {why}.",
        f"Give {LABEL} a name such as “reward”, or an expression with one group: “reward=([-0-9.e]+)”.",
    )


def _may_take_for_ever(pattern: str) -> bool:
    """Whether a group that holds a repetition or a choice is itself repeated, or repetitions are many."""
    plain = re.sub(r"\\.", "x", pattern)
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "x", plain)
    plain = re.sub(r"\(\?(?:P<\w+>|[a-zA-Z-]*:|[=!]|<[=!])", "(", plain)
    repeats, inside, stack = 0, False, []
    position = 0
    while position < len(plain):
        letter, repeat = plain[position], _REPEAT.match(plain, position)
        position += 1 if repeat is None else len(repeat[0])
        if letter == "(":
            stack.append(inside)
            inside = False
        elif letter == ")" and stack:
            following = _REPEAT.match(plain, position)
            if inside and following is not None and following[0] != "?":
                return True
            inside = stack.pop() or inside
        elif letter == "|" or repeat is not None:
            inside = True
            repeats += repeat is not None and repeat[0] != "?"
    return repeats > _MOST_REPEATS
