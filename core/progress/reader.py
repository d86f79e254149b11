"""Incremental reader of a program's output: E(t), steps, and, if there is no E, the reason."""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from core.progress.labels import LABEL, Goal, GoalReader, labelled_value, read_goal
from core.progress.patterns import KEYS, LONGEST, FoundSteps, FoundValue, find_loss, find_steps, visible_text

if TYPE_CHECKING:
    from collections.abc import Iterable


_WINDOW: Final = 5.0
"""Seconds of the averaging window; longer if the step before is older."""


class StepClock:
    """Measures seconds per step from the times at which steps were completed."""

    def __init__(self) -> None:
        self._steps_by_time: deque[tuple[float, int]] = deque(maxlen=1000)

    def note(self, time: float, steps: int | None) -> None:
        """Add the number of steps at a time; start anew if it falls."""
        if steps is None or (self._steps_by_time and steps == self._steps_by_time[-1][1]):
            return
        if self._steps_by_time and (steps < self._steps_by_time[-1][1] or time <= self._steps_by_time[-1][0]):
            self._steps_by_time.clear()
        self._steps_by_time.append((time, steps))
        while len(self._steps_by_time) > 2 and self._steps_by_time[1][0] <= time - _WINDOW:
            self._steps_by_time.popleft()

    @property
    def seconds(self) -> float | None:
        """Seconds per step lately; None until two moments are known."""
        if len(self._steps_by_time) < 2:
            return None
        (begin, first), (end, last) = self._steps_by_time[0], self._steps_by_time[-1]
        return (end - begin) / (last - first)


class ReportedProgress(NamedTuple):
    """One loss that a job printed."""

    #: Unix time, seconds.
    time: float
    #: The step it belongs to.
    step: int
    #: The value.
    loss: float


def read_reported(text: str) -> tuple[ReportedProgress, ...]:
    """Return the complete, finite lines of a part of ``readings.csv``; drop an unfinished last one."""
    whole = text[: text.rfind("\n") + 1].splitlines()
    return tuple(reported for reported in map(_parse_line, whole) if reported is not None)


def _parse_line(line: str) -> ReportedProgress | None:
    try:
        time, step, loss = line.split(",")
        reported = ReportedProgress(float(time), int(step), float(loss))
    except ValueError:
        return None
    return reported if math.isfinite(reported.time) and math.isfinite(reported.loss) else None


Reading: TypeAlias = tuple[float, float]
"""When a value was printed, and E of it: (seconds, E, lower is better)."""

_NAMED = re.compile(r"(?<![\w./-])([\w./-]{4,84})[\"']?\s?[:=]")


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a program."""

    #: Steps done and in all; epochs where it prints only those; None where it does not say.
    steps: int | None = None
    total_steps: int | None = None


class ProgressReader:
    """Turns (time, line) pairs into readings of E.

    Once a line has named a loss, its name is the one that is read: a program that prints ``loss`` at each
    step and ``train_loss`` as a mean at the end is not read twice. Raises InputError if the label or the goal
    cannot be used.
    """

    def __init__(self, label: str = "", goal: str | Goal = Goal.MIN) -> None:
        self._label = label.strip()
        self._keys: tuple[str, ...] = KEYS
        self._label_pattern = labelled_value(self._label) if self._label else None
        self._longest = LONGEST if self._label_pattern is None else self._label_pattern.longest
        self._evaluate = GoalReader(read_goal(goal))
        self._lines = self._long = self._readings = 0
        self._no_number = False
        self._other = ""
        self._counted = _StepCounter()
        self._clock = StepClock()

    def feed(self, lines: Iterable[tuple[float, str]]) -> tuple[Reading, ...]:
        """Return the readings of lines, in their order."""
        readings = (self.read(time, line) for time, line in lines)
        return tuple(reading for reading in readings if reading is not None)

    def read(self, time: float, line: str) -> Reading | None:
        """Return the value of E in a line, or None.

        Parameters
        ----------
        time
            When it was printed, seconds.
        line
            The line, with colours and carriage returns as they are.
        """
        text = visible_text(line)
        if not text:
            return None
        self._lines += 1
        self._long += len(text) > self._longest
        self._counted.take(find_steps(text))
        self._clock.note(time, self._counted.position().steps)
        match = self._find(text)
        if match is None:
            self._remember_other(text)
            return None
        self._no_number = match.value is None
        evaluation = None if match.value is None else self._evaluate(match.value)
        if evaluation is None:
            return None
        self._readings += 1
        return time, evaluation

    @property
    def position(self) -> Position:
        """The progress of a program by its own output."""
        return self._counted.position()

    @property
    def step_seconds(self) -> float | None:
        """Seconds per step lately; None where that is not known."""
        return self._clock.seconds

    @property
    def why(self) -> str | None:
        """Explain in one sentence why there is no E and what to do; None if there is E."""
        if self._no_number:
            return "Its last value is not a number (nan or inf): look at its learning rate and its data."
        if self._readings:
            return None
        if not self._lines:
            return "It has printed nothing yet: wait, or start it unbuffered (PYTHONUNBUFFERED=1)."
        return self._missing_loss_reason()

    def _missing_loss_reason(self) -> str:
        lines = "its only line" if self._lines == 1 else f"its {self._lines} lines"
        if self._long == self._lines:
            return f"Every line is too long (over {self._longest} characters): print losses on their own."
        if self._label_pattern is not None:
            return f"“{self._label}” gave no value in {lines}: print it, or correct the label {LABEL}."
        if self._other:
            return f"It prints {self._other} but no loss: label it {LABEL}={self._other} if that is meant."
        hint = f"print “loss=0.12”, or name the value to read with the label {LABEL}"
        return f"No loss was found in {lines}: {hint}."

    def _find(self, text: str) -> FoundValue | None:
        if self._label_pattern is None:
            match = find_loss(text, self._keys)
            if match is not None:
                self._keys = (match.key,)
            return match
        value = self._label_pattern.find(text)
        return None if value is None else FoundValue(self._label, None if math.isnan(value) else value)

    def _remember_other(self, text: str) -> None:
        if not self._other and self._label_pattern is None and len(text) <= LONGEST:
            names = (match[1] for match in _NAMED.finditer(text))
            self._other = next((name for name in names if "loss" in name.lower()), "")


class _StepCounter:
    """Combines steps and epochs that are printed on different lines."""

    def __init__(self) -> None:
        self._last = FoundSteps()
        self._within_epoch = False

    def take(self, now: FoundSteps) -> None:
        last = self._last
        if now.step is not None:
            begun_anew = last.step is not None and now.step < last.step and self._is_new_epoch(now)
            self._within_epoch |= now.bar or begun_anew
        self._last = FoundSteps(
            last.step if now.step is None else now.step,
            last.steps if now.step is None else now.steps or last.steps,
            last.epoch if now.epoch is None else now.epoch,
            last.epochs if now.epoch is None else now.epochs or last.epochs,
        )

    def _is_new_epoch(self, now: FoundSteps) -> bool:
        return now.epoch is not None and now.epoch != self._last.epoch

    def position(self) -> Position:
        last = self._last
        if last.step is None:
            return Position(last.epoch, last.epochs)
        if not self._within_epoch or last.epoch is None or last.steps is None:
            return Position(last.step, last.steps)
        before = last.epoch if last.epochs is None else max(0, last.epoch - 1)
        total = None if last.epochs is None else last.epochs * last.steps
        return Position(before * last.steps + last.step, total)
