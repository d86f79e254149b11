"""E(t), the loss of a training program, read from the lines that it prints."""

from core.progress.goals import Evaluation, Goal, read_goal
from core.progress.labels import LABEL, labelled_value
from core.progress.patterns import Counted, Found, count, find_loss, last_written
from core.progress.reader import Position, ProgressReader, Reading
from core.progress.reported import Reported, read_reported
from core.progress.step_clock import StepClock

__all__ = [
    "LABEL",
    "Counted",
    "Evaluation",
    "Found",
    "Goal",
    "Position",
    "ProgressReader",
    "Reading",
    "Reported",
    "StepClock",
    "count",
    "find_loss",
    "labelled_value",
    "last_written",
    "read_goal",
    "read_reported",
]
