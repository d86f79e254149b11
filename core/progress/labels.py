"""The container label that says which value to read: a name, or a regular expression with one group."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import re2

from core.errors import InputError
from core.progress.patterns import LONGEST, find_value, key_pattern, read_number

if TYPE_CHECKING:
    from collections.abc import Callable


LONGEST_EXPRESSION = 300
"""Characters of an expression."""
MOST_STEPS = 1_500
"""Steps of the program that an expression is compiled to; ``a{100}`` has about a hundred."""
LONGEST_LINE, MOST_BYTES = 500, 1_500
"""Characters of a line, and its bytes in UTF-8, above which no expression is tried on it."""
_MEMORY = 256 * 1024
"""Bytes for a program and its automaton: large ones are given up while they are compiled, in under 5 ms."""
_QUOTED = 60

_SPACES = r"\t-\r "
_OUTSIDE = {r"\s": f"[{_SPACES}]", r"\S": f"[^{_SPACES}]", r"\Z": r"\z"}
_INSIDE = {r"\s": _SPACES, r"\b": r"\x08"}
_ESCAPE = r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)"
_ESCAPES = re.compile(_ESCAPE, re.DOTALL)
_TOKENS = re.compile(rf"{_ESCAPE}|\[\^?\]?(?:\\.|[^\\\]])*\]|\{{,\d+\}}", re.DOTALL)
_ONLY_RE2 = {r"\C", r"\Q", r"\E"}

_REASONS = (
    (r"invalid perl operator: \(\?<?[=!]", "looks ahead or back (“{}”), which the engine RE2 cannot do"),
    (
        r"invalid perl operator: \(\?P$|invalid escape sequence: \\[1-9]",
        "refers back to a group (“{}”), which the engine RE2 cannot do",
    ),
    (
        r"invalid perl operator: \(\?>|bad repetition operator: .*\+$",
        "repeats possessively (“{}”), which the engine RE2 cannot do",
    ),
    (r"invalid perl operator: \(\?\(", "asks whether a group matched (“{}”), which the engine RE2 cannot do"),
    (r"invalid perl operator", "has a flag or a comment that RE2 does not know (“{}”)"),
    (r"invalid escape sequence", "has an escape that RE2 does not know (“{}”)"),
    (r"invalid repetition size", "repeats more than 1,000 times, or from more to fewer (“{}”)"),
)


# Regular expressions that people write, searched in bounded time.
#
# A backtracking engine such as Python's may need longer than the age of the universe for a short expression
# and a short line. RE2 (https://github.com/google/re2/wiki/Syntax) needs at most steps × bytes: an
# expression is compiled to a program of so many steps, and each byte of the text is looked at once per step.
# Both are bounded here, and what RE2 cannot do (lookarounds, backreferences) is refused by name.
#
# What both engines can do gives the same match as Python's ``re`` with ``re.ASCII``, apart from a repeated
# group that may itself be empty. `_convert_to_re2` lists what they spell differently.


class UnusableExpression(ValueError):  # noqa: N818 - a finding about a text, which its reader turns into a sentence
    """An expression cannot be searched for; its text goes on after “The expression …”."""


class Expression:
    """A regular expression that RE2 searches for.

    Raises UnusableExpression if it is not one, is too long or too large, or needs what RE2 cannot do.
    """

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST_EXPRESSION:
            raise UnusableExpression(f"is longer than {LONGEST_EXPRESSION} characters")
        if _ONLY_RE2.intersection(_ESCAPES.findall(text)):
            raise UnusableExpression("has an escape of RE2 that is refused here (“\\C”, “\\Q”, “\\E”)")
        self._compile = _compile(_convert_to_re2(text))

    @property
    def groups(self) -> int:
        """The number of its groups."""
        return int(self._compile.groups)

    def first_group(self, text: str) -> str | None:
        """Return what the first group of the first match holds."""
        if len(text) > LONGEST_LINE:
            return None
        encoded = text.encode("utf-8", "replace")  # half a surrogate pair is not a character
        match = self._compile.search(encoded) if len(encoded) <= MOST_BYTES else None
        group = None if match is None else match[1]
        return None if group is None else group.decode("utf-8", "replace")


def shorten_expression(text: str) -> str:
    """Return a text short enough to be quoted in a sentence."""
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"


def _compile(text: str) -> re2._Regexp:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        compiled = re2.compile(text.encode(), options)
    except UnicodeEncodeError:
        raise UnusableExpression("has half a surrogate pair, which is not a character") from None
    except re2.error as error:
        raise UnusableExpression(_error_reason(error.args[0].decode("utf-8", "replace"))) from None
    if compiled.programsize > MOST_STEPS:
        raise UnusableExpression(_size_reason())
    return compiled


def _size_reason() -> str:
    return f"is too large with its repetitions written out (at most {MOST_STEPS} steps: use * for {{…}})"


def _error_reason(error: str) -> str:
    """Explain RE2's error in words."""
    if "too large" in error:
        return _size_reason()
    what = shorten_expression(error.partition(": ")[2])
    reason = next((words for pattern, words in _REASONS if re.match(pattern, error)), None)
    return (
        f"is not a regular expression: {shorten_expression(error)}" if reason is None else reason.format(what)
    )


def _convert_to_re2(text: str) -> str:
    r"""Return an expression in RE2's syntax.

    RE2's ``\s`` lacks the vertical tab, it knows neither ``\Z`` nor ``\u0041``, and takes ``{,3}`` for
    five characters.
    """
    return _TOKENS.sub(lambda token: _token_in_re2(token[0]), text)


def _token_in_re2(token: str) -> str:
    if token[0] == "[":
        return _ESCAPES.sub(lambda escape: _escape_in_re2(escape[0], _INSIDE), token)
    return "{0" + token[1:] if token[0] == "{" else _escape_in_re2(token, _OUTSIDE)


def _escape_in_re2(escape: str, spelling: dict[str, str]) -> str:
    if escape[1] in "uU" and len(escape) > 2:
        return f"\\x{{{escape[2:]}}}"
    if not escape[1].isascii():
        return escape[1]
    return spelling.get(escape, escape)


class Goal(StrEnum):
    """The transformation from a printed value to E."""

    MIN = "min"
    MAX = "max"
    BEST = "best"


def read_goal(text: str) -> Goal:
    """Return the goal that a container's label names.

    Raises InputError if it is none of them.
    """
    word = text.strip().lower() or Goal.MIN
    try:
        return Goal(word)
    except ValueError:
        raise InputError(
            f"“{text}” is not a goal for a printed value.",
            "Label it phasedock.goal=min for a loss, max for a score up to 1, best for another score.",
        ) from None


class GoalReader:
    """Turns printed values into E, one after the other (docs/docker/progress.md).

    ``min``: E is the value. ``max``: E = 1 − value, which is 0 at a perfect score. ``best``: E is the
    distance between the value and the best one before it, |v_t − max(v_0 … v_{t−1})|; the first value has
    none. A score that nears its unknown end like 1 − e^(−kt) has an E that falls like e^(−kt), as losses do.
    """

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self._best: float | None = None

    def __call__(self, value: float) -> float | None:
        """Return E of the next value, or None where it has none."""
        if self._goal is Goal.MIN:
            return value
        if self._goal is Goal.MAX:
            return 1 - value
        best, self._best = self._best, value if self._best is None else max(value, self._best)
        return None if best is None else abs(value - best)


LABEL = "phasedock.loss"
"""The container label with the name or expression of the value to read."""
_NAME = re.compile(r"[\w./ -]+")


@dataclass(frozen=True, slots=True)
class LabelledValue:
    """The reader of the value that a label names."""

    #: The number in a line as `last_written` returns it: NaN if it is not one, None if it is missing.
    find: Callable[[str], float | None]
    #: Characters of a line above which it is not searched.
    longest: int


def labelled_value(text: str) -> LabelledValue:
    """Return how to find what a label names, or what its expression matches.

    Raises InputError if it is too long, is not a regular expression, has not exactly one group, or needs what
    cannot be searched for in bounded time; see `core.progress.labels`.
    """
    label = text.strip()
    if len(label) > LONGEST_EXPRESSION:
        raise _refuse_label(label, f"is longer than {LONGEST_EXPRESSION} characters")
    if _NAME.fullmatch(label):
        pattern = key_pattern(label)
        return LabelledValue(
            lambda line: find_value(pattern, line) if len(line) <= LONGEST else None, LONGEST
        )
    try:
        expression = Expression(label)
    except UnusableExpression as error:
        raise _refuse_label(label, str(error)) from None
    if expression.groups != 1:
        raise _refuse_label(label, f"has {expression.groups} groups, but the number must be its only one")
    return LabelledValue(lambda line: _group_number(expression.first_group(line)), LONGEST_LINE)


def _group_number(group: str | None) -> float | None:
    number = None if group is None else read_number(group)
    return math.nan if group is not None and number is None else number


def _refuse_label(label: str, why: str) -> InputError:
    return InputError(
        f"“{shorten_expression(label)}”, which the label {LABEL} gives, {why}.",
        f"Give {LABEL} a name such as “reward”, or an expression with one group: “reward=([-0-9.e]+)”.",
    )
