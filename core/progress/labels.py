"""The container label that says which value to read: a name, or a regular expression with one group."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import InputError
from core.progress.expressions import (
    LONGEST_EXPRESSION,
    LONGEST_LINE,
    Expression,
    UnusableExpression,
    shortened,
)
from core.progress.patterns import LONGEST, find_value, key_pattern, read_number

if TYPE_CHECKING:
    from collections.abc import Callable

LABEL = "phasedock.loss"
"""The container label that names what is read."""
_NAME = re.compile(r"[\w./ -]+")


@dataclass(frozen=True, slots=True)
class LabelledValue:
    """How the value that a label asks for is found."""

    #: The number in a line as `last_written` returns it: NaN if it is not one, None if it is missing.
    find: Callable[[str], float | None]
    #: Characters of a line above which it is not searched.
    longest: int


def labelled_value(text: str) -> LabelledValue:
    """Return how to find what a label names, or what its expression matches.

    Raises
    ------
    InputError
        If it is too long, is not a regular expression, has not exactly one group, or needs what cannot be
        searched for in bounded time; see `core.progress.expressions`.
    """
    label = text.strip()
    if len(label) > LONGEST_EXPRESSION:
        raise _refused(label, f"is longer than {LONGEST_EXPRESSION} characters")
    if _NAME.fullmatch(label):
        pattern = key_pattern(label)
        return LabelledValue(
            lambda line: find_value(pattern, line) if len(line) <= LONGEST else None, LONGEST
        )
    try:
        expression = Expression(label)
    except UnusableExpression as error:
        raise _refused(label, str(error)) from None
    if expression.groups != 1:
        raise _refused(label, f"has {expression.groups} groups, but the number must be its only one")
    return LabelledValue(lambda line: _number_of(expression.first_group(line)), LONGEST_LINE)


def _number_of(group: str | None) -> float | None:
    number = None if group is None else read_number(group)
    return math.nan if group is not None and number is None else number


def _refused(label: str, why: str) -> InputError:
    return InputError(
        f"“{shortened(label)}”, which the label {LABEL} gives, {why}.",
        f"Give {LABEL} a name such as “reward”, or an expression with one group: “reward=([-0-9.e]+)”.",
    )
