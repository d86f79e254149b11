"""What an import found wrong with a file, and what was done about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.ui.basics import Node, notice, plain_table, state_badge, unseen
from core.traces.problem_kinds import Action
from core.traces.validation import KINDS, Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.validation import Problem, Report

_LOOKS = {
    Severity.ERROR: ("bad", "circle-x"),
    Severity.WARNING: ("warn", "alert-triangle"),
    Severity.INFO: ("", "info-circle"),
}
_WORDS = {
    Action.REJECTED: "dropped",
    Action.DROPPED: "dropped",
    Action.HELD: "filled",
    Action.SORTED: "sorted",
    Action.MERGED: "merged",
    Action.GROUPED: "grouped",
    Action.CONVERTED: "converted",
    Action.RESAMPLED: "resampled",
    Action.SPLIT: "split",
    Action.IGNORED: "not read",
    Action.KEPT: "check",
}
"""What was done, in a word; what was left as it is has to be checked by a person."""
_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def summary(report: Report) -> str:
    """How much of the file was kept, in one sentence."""
    lost = report.rows_read - report.rows_kept
    rows = f"{report.rows_kept:,} of {report.rows_read:,} rows" if lost else f"All {report.rows_read:,} rows"
    word = "execution" if report.executions_kept == 1 else "executions"
    return f"{rows} were kept, in {report.executions_kept:,} {word}."


def problem_table(problems: Sequence[Problem], label: str = "Problems found") -> Node:
    """The problems as a table, the severe ones first; a note where there is none."""
    if not problems:
        return notice("ok", "Every row could be read as it is.", strong="No problems found in this file.")
    ranked = sorted(problems, key=lambda one: _ORDER.index(one.severity))
    head = (
        (unseen("What was done, in a word"), False),
        ("What was found", False),
        ("Rows", True),
        ("Column", False),
        ("Times", True),
    )
    return html.Div(
        plain_table((*head, ("What was done, and what you can do", False)), map(_row, ranked), label),
        className="problems",
    )


def _row(one: Problem) -> list[Node]:
    return [
        _badge(one),
        one.message,
        _rows(one),
        html.Code(one.column) if one.column else "–",
        f"{one.count:,}",
        [html.Span(KINDS[one.kind].done), " ", html.Span(one.hint, className="ink3")],
    ]


def _badge(one: Problem) -> html.Span:
    """What was done, in the colour of how much to care."""
    action = KINDS[one.kind].action
    noted = action is Action.KEPT and one.severity is Severity.INFO
    return state_badge("note" if noted else _WORDS[action], *_LOOKS[one.severity])


def _rows(one: Problem) -> str:
    """The first rows concerned."""
    numbers = one.rows or (() if one.row is None else (one.row,))
    return ", ".join(f"{row:,}" for row in numbers) + (" …" if one.count > len(numbers) > 1 else "") or "–"


def report_view(report: Report) -> html.Div:
    """A whole report: how much was kept, and the problems."""
    return html.Div([html.P(summary(report)), problem_table(report.problems)], className="stack close")
