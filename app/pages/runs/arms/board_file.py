"""The leaderboard as a picture, and published figures in the words of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.figures.runs.board_picture import PictureRow, board_picture
from app.pages.runs.arms.standings import SINGLE, columns, drawn_measure, rows, title_of, told_of
from app.pages.runs.compare.differences import in_words, kind_of, quantity
from app.pages.runs.words import change
from core.experiments.published import about, reproduced
from core.units import format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from app.pages.runs.arms.choice import Chosen
    from app.pages.runs.arms.standings import Columns
    from app.pages.runs.query import View
    from core.experiments.leaderboard import Standing
    from core.experiments.published import Published
    from core.runs.values import ExperimentInfo

VERDICTS = {
    True: (" ✓", "ok", "reproduced: within the middle 90% of seeds"),
    False: (" ✗", "", "not within the middle 90% of seeds"),
    None: ("", "", "too few seeds to say whether it is reproduced"),
}
_OF_JOBS = {
    "mean": "mean",
    "makespan": "makespan",
    "sooner": "jobs sooner",
    "best": "best job",
    "worst": "worst job",
}


def published_text(each: Published, verdict: bool | None) -> str:
    """One published figure, with what the runs say of it."""
    what = each.job if each.measure == "completion" else _OF_JOBS[each.measure]
    value = format_share(each.change, 0) if each.measure == "sooner" else change(each.change)
    return f"{what} {value}{VERDICTS[verdict][0]}"


def picture(info: ExperimentInfo, asked: Chosen, view: View) -> go.Figure:
    """The table as a picture: what is shown, in the same order."""
    made, measure, told = rows(info, asked, view), drawn_measure(view), told_of(info, asked)
    titles = {side.key: side.title for side in asked.sides}
    shown = columns(made, view)
    heads = ["Policy", "Change", "95% interval", *shown.titles.values()]
    heads += [*SINGLE.values(), *(["Published"] if told else [])] if shown.single else []
    lines = []
    for at, row in enumerate(made, 1):
        found_ = row.differences.get(measure)
        known = found_ if found_ is not None and found_.value is not None else None
        cells = [f"{at}  {titles[row.label]}", *_texts(row, measure, shown, told)]
        if known is None or known.value is None:
            lines.append(PictureRow(cells, None, None, None, "open"))
        else:
            kind = kind_of(measure, known.value, known.low, known.high)
            lines.append(PictureRow(cells, known.value, known.low, known.high, kind))
    n = len(asked.seeds)
    title = f"{info.name}, against {asked.base.title}, {f'{n} paired seeds' if n != 1 else 'one seed'}"
    return board_picture(title, heads, lines, title_of(measure))


def _texts(row: Standing, measure: str, shown: Columns, told: Sequence[Published]) -> list[str]:
    cells = list(in_words(measure, row.differences.get(measure)) or ("", ""))
    for name in shown.titles:
        each = in_words(name, row.differences.get(name))
        cells.append(quantity(name, row.measures.get(name)) + (f"<br>{each[0]}" if each else ""))
    return [*cells, *(_job_texts(row, told) if shown.single else [])]


def _job_texts(row: Standing, told: Sequence[Published]) -> list[str]:
    cells: list[str] = []
    jobs = row.jobs
    if jobs is None:
        cells += ["", "", ""]
    else:
        ends = ((jobs.best_job, jobs.best), (jobs.worst_job, jobs.worst))
        cells.append(format_share(jobs.sooner, 0))
        cells += [f"{name} {change(mean)}<br>of a run {change(each)}" for (name, mean), each in ends]
    if told:
        own = [published_text(each, reproduced(each, row)) for each in about(told, row.label)]
        cells.append("<br>".join(own))
    return cells
