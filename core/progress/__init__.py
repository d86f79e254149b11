"""E(t), the loss of a training program, read from the lines that it prints."""

from core.progress.labels import LABEL, Goal, GoalReader, labelled_value, read_goal
from core.progress.patterns import FoundSteps, FoundValue, find_loss, find_steps, visible_text
from core.progress.reader import Position, ProgressReader, Reading, ReportedProgress, StepClock, read_reported

__all__ = [
    "LABEL",
    "FoundSteps",
    "FoundValue",
    "Goal",
    "GoalReader",
    "Position",
    "ProgressReader",
    "Reading",
    "ReportedProgress",
    "StepClock",
    "find_loss",
    "find_steps",
    "labelled_value",
    "read_goal",
    "read_reported",
    "visible_text",
]
