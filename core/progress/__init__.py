"""E(t), the loss of a training program, read from the lines that it prints."""

from core.progress.labels import LABEL, Evaluation, Goal, labelled_value, read_goal
from core.progress.patterns import Counted, Found, count, find_loss, last_written
from core.progress.reader import Position, ProgressReader, Reading, Reported, StepClock, read_reported

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
