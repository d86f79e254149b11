"""Finding a loss and a position in one printed line.

Programs print their loss in a handful of ways: ``loss=0.12``, ``loss: 0.12``, ``"loss": 0.12``, the progress
lines of Keras (rewritten in place with carriage returns or backspaces, coloured) and of Lightning
(``… 45/100 [00:12<00:15, train_loss=0.12]``), ``Loss 0.12 (0.14)``. A name with something added
(``val_loss``, ``loss_scale``) is another value. NaN and infinity differ from no value.
Lines longer than `LONGEST` are not searched, so that no pattern takes long.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

LONGEST = 2000
"""The length of a line, without its colours, above which it is not searched."""
KEYS = ("loss", "train_loss", "training_loss", "train/loss", "training loss", "train_loss_step", "loss_step")
"""What a loss is called by default, the first one that a program prints being its own."""
_OTHERS = ("validation", "val", "valid", "eval", "evaluation", "test", "best", "min", "minimum", "lowest")
"""Words before “loss” that make it another value."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)|[@-Z\\^_])")
_REWRITTEN = re.compile(r"[\r\x08]+")
_NUMBER = r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_WRAPPED = r"(?:tensor\(|array\(|np\.float\d+\(|[\[(]){0,2}"
_AFTER = r"(?![\w.]*\w)"
_VALUE = rf"{_WRAPPED}(?P<value>{_NUMBER}{_AFTER}|[+-]?(?:nan|inf(?:inity)?)\b)"
_BARE = rf"(?P<bare>[+-]?\d*\.\d+(?:[eE][+-]?\d+)?{_AFTER})"

_EPOCH = re.compile(
    r"\bepochs?\b[\s:=#\[\"']{0,4}(\d{1,9})(?:\s?(?:/|of)\s?(\d{1,9}))?(?![\d.]*\d)", re.IGNORECASE
)
_NAMED_STEP = re.compile(
    r"\b(?:global_step|global step|steps?|iterations?|iter|batch)\b[\s:=#\[\"']{0,4}(\d{1,12})"
    r"(?:\s?(?:/|of)\s?(\d{1,12}))?(?![\d.]*\d)",
    re.IGNORECASE,
)
_BAR = re.compile(r"(?<![\w/.:-])(\d{1,12})/(\d{1,12})(?![\w/.:-])")
_BAR_MARKS = re.compile(r"%\||\[|it/s|s/it|/step|\bETA\b|loss|^\d+/\d+\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value that a line names."""

    #: What the line calls it.
    key: str
    #: The number, or None where the line names a loss that is NaN or infinite.
    value: float | None


@dataclass(frozen=True, slots=True)
class FoundSteps:
    """The position of a program according to one of its lines."""

    #: Steps done and in all; None where the line does not say.
    step: int | None = None
    steps: int | None = None
    #: The same for epochs.
    epoch: int | None = None
    epochs: int | None = None
    #: Whether the steps are those of a progress bar, which restarts with each epoch.
    bar: bool = False


def visible_text(line: str) -> str:
    """Return what a terminal would show of a line: without colours, and only the last version."""
    plain = _ESCAPES.sub("", line) if "\x1b" in line else line
    if "\r" not in plain and "\x08" not in plain:
        return plain.strip()
    return next((part.strip() for part in reversed(_REWRITTEN.split(plain)) if part.strip()), "")


def key_pattern(key: str) -> re.Pattern[str]:
    """Return the pattern of a value that is printed under `key`, ignoring case."""
    quoted = re.escape(key)
    before = r"(?<![\w./-])" + ("".join(f"(?<!{word} )" for word in _OTHERS) if key == "loss" else "")
    return re.compile(
        rf"{before}[\"']?{quoted}[\"']?(?:\s?[:=]\s{{0,8}}[\"']?{_VALUE}|\s{{1,4}}{_BARE})", re.IGNORECASE
    )


def find_value(pattern: re.Pattern[str], text: str) -> float | None:
    """Return the last value that a pattern of `key_pattern` finds, NaN for nan or inf; else None."""
    last = None
    for match in pattern.finditer(text):
        last = match
    if last is None:
        return None
    number = read_number(last["value"] or last["bare"])
    return math.nan if number is None else number


def read_number(text: str) -> float | None:
    """Return a printed number, or None if it is not a finite number."""
    try:
        number = float(text.replace(",", "").strip())
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def find_loss(text: str, keys: tuple[str, ...] = KEYS) -> FoundValue | None:
    """Return the first of `keys` that a line names, with its value."""
    if len(text) > LONGEST or "loss" not in text.lower():
        return None
    for key in keys:
        value = find_value(_default_pattern(key), text)
        if value is not None:
            return FoundValue(key, None if math.isnan(value) else value)
    return None


def find_steps(text: str) -> FoundSteps:
    """Return the steps and epochs that a line names; dates, times and versions do not count."""
    if len(text) > LONGEST or not any(letter.isdigit() for letter in text):
        return FoundSteps()
    epoch, epochs = _number_pair(_EPOCH.search(text))
    step, steps = _number_pair(_NAMED_STEP.search(text))
    if step is not None:
        return FoundSteps(step, steps, epoch, epochs)
    without_epoch = _EPOCH.sub(" ", text)
    if not _BAR_MARKS.search(text):
        return FoundSteps(epoch=epoch, epochs=epochs)
    step, steps = next(
        (pair for pair in map(_number_pair, _BAR.finditer(without_epoch)) if pair[1] is not None),
        (None, None),
    )
    return FoundSteps(step, steps, epoch, epochs, bar=step is not None)


def _number_pair(match: re.Match[str] | None) -> tuple[int | None, int | None]:
    """Return n and m of “n/m”; neither where n is above m."""
    if match is None:
        return None, None
    number, total = int(match[1]), None if match[2] is None else int(match[2])
    if total is not None and (total == 0 or number > total):
        return None, None
    return number, total


_PATTERNS: dict[str, re.Pattern[str]] = {key: key_pattern(key) for key in KEYS}


def _default_pattern(key: str) -> re.Pattern[str]:
    return _PATTERNS.get(key) or key_pattern(key)
