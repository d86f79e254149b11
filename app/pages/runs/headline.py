"""The result of an experiment in one sentence: our policy, or the best one, against the baseline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dash import html

from app.pages.runs.board_cells import KNOWS_FUTURE
from app.pages.runs.measures import describe_difference, format_measure, kind_of
from core.experiments.leaderboard import extra_columns
from core.experiments.measures import RISING
from core.units import format_share, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.pages.runs.query import View
    from app.pages.runs.selection import Selection
    from core.experiments.leaderboard import Difference, Standing

OURS = ("phasedock", "deadline", "autopilot")
"""Our policies in the register; the sentence is about the last of them that an experiment has."""
_SAME = 0.005
"""The largest relative difference that is called none."""


def own_measure(standings: Sequence[Standing]) -> str:
    """The measure that an experiment is about: deadlines met, core time reserved, or mean completion."""
    subjects = extra_columns(standings)
    return "met" if "deadlines" in subjects else "reserved" if "steering" in subjects else "mean"


def with_own_columns(view: View, standings: Sequence[Standing]) -> View:
    """A view with the columns of the experiment's own measure where its address names none."""
    if view.query.get("columns") or own_measure(standings) != "met":
        return view
    return replace(view, columns="deadlines")


def subject_of(selection: Selection, standings: Sequence[Standing], measure: str) -> Standing | None:
    """The policy that the headline is about: ours, else the best of the others; None with one policy."""
    policies = {side.key: side.policy for side in selection.sides}
    others = [row for row in standings if row.label != selection.base.key and row.measures.get(measure)]
    mine = [row for row in others if policies.get(row.label) in OURS]
    if mine:
        order = [side.key for side in selection.sides]
        return max(mine, key=lambda row: order.index(row.label))
    usable = [row for row in others if policies.get(row.label) != KNOWS_FUTURE]
    sign = -1.0 if measure in RISING else 1.0
    return min(usable, key=lambda row: sign * (row.measures.get(measure) or 0.0), default=None)


def headline(selection: Selection, standings: Sequence[Standing]) -> tuple[str, str] | None:
    """The sentence, and the interval and the other policies below it; None with one policy."""
    measure = own_measure(standings)
    subject = subject_of(selection, standings, measure)
    if subject is None:
        return None
    titles = {side.key: side.title for side in selection.sides}
    title, base = titles[subject.label], selection.base.title
    base = "no policy" if base == "No policy" else base
    change = subject.differences.get(measure)
    if measure == "met":
        mine, theirs = (
            next((row.measures.get("met") for row in standings if row.label == key), None)
            for key in (subject.label, selection.base.key)
        )
        words = f"{title} met {_share(mine)} of deadlines, {base} {_share(theirs)}."
    elif measure == "reserved":
        words = f"{title} reserved {_relative(measure, change, 'less', 'more')} core time than {base}."
    else:
        sooner = _relative(measure, change, "sooner", "later")
        words = f"{title} finished jobs {sooner} than {base}; {_last_job(subject)}."
    return words, _detail(selection, standings, subject, measure)


def _share(value: float | None) -> str:
    return "–" if value is None else format_share(value, 0)


def _relative(measure: str, change: Difference | None, less: str, more: str) -> str:
    if change is None or change.value is None:
        return "as much" if less == "less" else "no sooner"
    if kind_of(measure, change.value, change.low, change.high) == "open" and change.low is not None:
        return "about as much" if less == "less" else "no sooner"
    if abs(change.value) < _SAME:
        return "about as much" if less == "less" else "no sooner"
    return f"{format_share(abs(change.value), 0)} {less if change.value < 0 else more}"


def _last_job(row: Standing) -> str:
    change = row.differences.get("makespan")
    if change is None or change.value is None or abs(change.value) < _SAME:
        return "the last job no later"
    return f"the last job {format_share(abs(change.value), 0)} {'sooner' if change.value < 0 else 'later'}"


def _detail(selection: Selection, standings: Sequence[Standing], subject: Standing, measure: str) -> str:
    """The interval of the difference, what knowing the future reaches, and the best other policy."""
    titles = {side.key: side.title for side in selection.sides}
    policies = {side.key: side.policy for side in selection.sides}
    seeds = len(selection.seeds)
    said = describe_difference(measure, subject.differences.get(measure))
    parts = []
    if said is not None and seeds > 1:
        parts.append(f"95% interval {said[1]} over {plural(seeds, 'seed')}.")
    elif seeds == 1:
        parts.append("One seed: no interval.")
    others = [
        row
        for row in standings
        if row.label not in (subject.label, selection.base.key) and row.measures.get(measure) is not None
    ]
    oracle = next((row for row in others if policies.get(row.label) == KNOWS_FUTURE), None)
    rivals = [row for row in others if row is not oracle and policies.get(row.label) not in OURS]
    sign = -1.0 if measure in RISING else 1.0
    best = min(rivals, key=lambda row: sign * (row.measures.get(measure) or 0.0), default=None)
    if oracle is not None:
        parts.append(f"A scheduler that knows the future: {_figure(oracle, measure)}.")
    if best is not None:
        parts.append(f"Best of the others, {titles[best.label]}: {_figure(best, measure)}.")
    return " ".join(parts)


def _figure(row: Standing, measure: str) -> str:
    said = describe_difference(measure, row.differences.get(measure))
    if measure == "met" or said is None:
        return format_measure(measure, row.measures.get(measure))
    return said[0]


def headline_card(selection: Selection, standings: Sequence[Standing]) -> html.Section | None:
    """The card above the leaderboard; None with one policy."""
    said = headline(selection, standings)
    if said is None:
        return None
    parts = [html.P(said[0], className="runheadline"), html.P(said[1], className="ink2")]
    return html.Section(html.Div(parts, className="body"), className="card headlinecard")
