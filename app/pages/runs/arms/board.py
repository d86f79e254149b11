"""The table of the leaderboard: a row for each policy, with its swatch, its difference, and its jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dash import html

from app.figures.provisioning import gains
from app.figures.runs.board_picture import PictureRow, board_picture
from app.pages.runs.arms.choice import MOST_DRAWN, toggled
from app.pages.runs.arms.standings import COLUMNS, SINGLE, drawn_measure, rows, sorting, told_of
from app.pages.runs.compare.differences import kind_of, quantity, span
from app.pages.runs.query import LEDGER
from app.pages.runs.words import change
from app.ui.basics import Node, aria, card, gain_dot, icon, notice, scrolling
from app.ui.graph import graph
from app.ui.links import link
from core.experiments.compare import MEASURES
from core.experiments.published import about, found, reproduced
from core.units import format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from app.figures.runs.arm_styles import ArmStyle
    from app.pages.runs.arms.choice import Chosen
    from app.pages.runs.query import View
    from app.pages.runs.stored import Side
    from core.experiments.leaderboard import Standing
    from core.experiments.published import Published
    from core.runtime.experiments.infos import ExperimentInfo

_VERDICTS = {
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


def board_card(info: ExperimentInfo, asked: Chosen, view: View, tools: Sequence[Node]) -> html.Section:
    """The card with the table."""
    made = rows(info, asked, view)
    names = {side.key: side for side in asked.sides}
    styles = {side.key: style for side, style in zip(asked.drawn, asked.styles, strict=True)}
    measure = drawn_measure(view)
    on = gains.track(
        (each.value, each.low, each.high)
        for row in made
        if (each := row.differences.get(measure)) is not None and each.value is not None
    )
    told = told_of(info, asked)
    body = [
        _row(at, row, _Shown(names[row.label], styles.get(row.label), asked, view), on, told)
        for at, row in enumerate(made, 1)
    ]
    table = html.Table(
        [
            html.Caption("Every policy against the baseline", className="sr"),
            html.Thead(_head(asked, view, bool(told))),
            html.Tbody(body),
        ],
        className="plain differences board",
    )
    n = len(asked.seeds)
    return card(
        "Leaderboard",
        scrolling(table, "Leaderboard"),
        html.Div(
            graph("board", picture(info, asked, view), "The leaderboard as a picture"),
            className="offpage",
            **aria(hidden="true"),
        ),
        *_foot(info, made, n),
        note=f"{n:,} paired seeds, lower is better" if n > 1 else "one seed: no intervals",
        tools=tools,
        flush=True,
        class_name="boardcard",
    )


def _foot(info: ExperimentInfo, made: Sequence[Standing], seeds: int) -> list[Node]:
    failed = sum(row.failed_jobs for row in made)
    words = []
    if len(made) > 2 and seeds > 1:
        words.append(
            "Each interval is for one policy: of many equal ones, one in twenty excludes zero by chance."
        )
    if seeds < len(info.experiment.seeds):
        words.append(
            f"{seeds:,} of {len(info.experiment.seeds):,} seeds, those that every policy has been run on."
        )
    if info.experiment.published:
        words.append(
            "Published figures are single runs; ✓ within and ✗ outside the middle 90% of 30 seeds or more."
        )
    parts: list[Node] = [html.P(" ".join(words), className="small ink3 boardfoot")] if words else []
    if failed:
        text = "A failed job is in no mean, so a policy whose jobs fail may look better than it is."
        parts.append(html.Div(notice("warn", text, strong=f"{failed:,} jobs failed."), className="boardfoot"))
    return parts


def _head(asked: Chosen, view: View, published: bool) -> html.Tr:
    measure = drawn_measure(view)
    against = f"{COLUMNS[measure]} against {asked.base.title}"
    cells: list[Node] = [
        html.Th(html.Span("Drawn", className="sr"), scope="col"),
        _sort_head(view, "label", "Policy", ""),
        _sort_head(view, f"difference.{measure}", against, "", colSpan=3),
        *(_sort_head(view, name, title, "num") for name, title in (COLUMNS | SINGLE).items()),
    ]
    if published:
        cells.append(html.Th("Published", scope="col"))
    return html.Tr(cells)


def _sort_head(view: View, name: str, title: str, kind: str, **more: Any) -> html.Th:
    by, falling = sorting(view)
    on = by == name
    arrow = html.Span("↓" if falling else "↑", **aria(hidden="true")) if on else None
    target = f"-{name}" if on and not falling else name
    marked = aria(sort="descending" if falling else "ascending") if on else {}
    label = link(
        [title, arrow],
        view.query(sort=None if target == "mean" else target),
        className="sorted" if on else "sort",
    )
    return html.Th(label, className=kind, scope="col", **marked, **more)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A policy on the page: its runs, its look in the figures or None, all others, and the address."""

    side: Side
    style: ArmStyle | None
    asked: Chosen
    view: View


def _row(place: int, row: Standing, of: _Shown, on: gains.Track, told: Sequence[Published]) -> html.Tr:
    cells: list[Node] = [
        html.Td(_switch(of.side, of.style, of.asked, of.view)),
        html.Th(_name(place, row, of.side, of.asked, of.view), scope="row"),
        *_difference(row, drawn_measure(of.view), on),
        *(html.Td(_measure(row, name), className="num") for name in COLUMNS),
        *_single(row),
    ]
    if told:
        own = [_published(each, row) for each in about(told, row.label)]
        cells.append(html.Td(own, className="published"))
    lit = " lit" if of.style is not None and of.style.swatch == "lit" else ""
    base = "base" if of.side.key == of.asked.base.key else ""
    return html.Tr(cells, className=f"{base}{lit}".strip())


def _switch(side: Side, style: ArmStyle | None, asked: Chosen, view: View) -> Node:
    """The swatch that a policy has in the figures, which takes it out of them or puts it in."""
    arms = toggled(asked, side)
    swatch = html.Span(className=f"swatch {style.swatch if style is not None else 'off'}")
    if arms is None:
        why = f"At most {MOST_DRAWN} policies are drawn" if style is None else "The only one that is drawn"
        return html.Span([swatch, html.Span(why, className="sr")], title=why, className="switch")
    text = f"{'Hide' if style is not None else 'Draw'} {side.title} in the figures"
    return link(swatch, view.query(arms=arms), className="switch", title=text, **aria(label=text))


def _name(place: int, row: Standing, side: Side, asked: Chosen, view: View) -> html.Div:
    parts: list[Node] = [html.Span(f"{place}", className="rank num")]
    if side.key == asked.base.key:
        parts += [html.Span(side.title), html.Span("baseline", className="ink3 small")]
    else:
        pair = view.query.only("experiment", "seed", show="two", a=asked.base.key, b=side.key)
        parts.append(
            link(side.title, pair, className="policy", title=f"{side.title} beside {asked.base.title}")
        )
    if asked.seeds:
        text = f"Step through {side.title}"
        ledger = view.query.only("experiment", look=LEDGER, of=side.key, seed=view.seed)
        parts.append(
            link(icon("player-track-next", "sm"), ledger, className="step", title=text, **aria(label=text))
        )
    if row.failed_jobs:
        parts.append(html.Span(f"{row.failed_jobs:,} failed", className="state warn"))
    return html.Div(parts, className="row")


def _difference(row: Standing, measure: str, on: gains.Track) -> list[Node]:
    made = row.differences.get(measure)
    if made is None or made.value is None:
        return [html.Td("", colSpan=3)]
    mark = gains.mark(made.value, made.low, made.high, on)
    kind = kind_of(made.value, made.low, made.high)
    words = f"{row.label}, {MEASURES[measure]}: {change(made.value)}"
    interval = "one seed" if made.low is None or made.high is None else span(made.low, made.high)
    return [
        html.Td(gain_dot(mark, on, kind, f"{words}, {interval}")),
        html.Td(change(made.value), className=f"num strong {_colour(kind)}"),
        html.Td(interval, className="num ink3 span"),
    ]


def _colour(kind: str) -> str:
    return {"better": "ok", "worse": "bad"}.get(kind, "")


def _measure(row: Standing, name: str) -> list[Node]:
    """A mean with its unit, and below it the change."""
    parts: list[Node] = [quantity(name, row.measures.get(name))]
    made = row.differences.get(name)
    if made is not None and made.value is not None:
        kind = _colour(kind_of(made.value, made.low, made.high))
        text = (
            "one seed"
            if made.low is None or made.high is None
            else f"95% interval {span(made.low, made.high)}"
        )
        parts.append(html.Div(change(made.value), className=f"small {kind or 'ink3'}", title=text))
    return parts


def _single(row: Standing) -> list[html.Td]:
    if row.jobs is None:
        return [html.Td("", colSpan=3)]
    jobs, several = row.jobs, row.seeds > 1
    cells = [html.Td([format_share(jobs.sooner, 0)], className="num")]
    for (name, mean), each, what in (
        (jobs.best_job, jobs.best, "best"),
        (jobs.worst_job, jobs.worst, "worst"),
    ):
        title = f"{name}: mean over seeds; the {what} job of a run, whichever it is: {change(each)}"
        below = f"of a run {change(each)}" if several else None
        cells.append(
            html.Td(
                [
                    html.Span([name, " ", html.B(change(mean))]),
                    html.Div(below, className="small ink3"),
                ],
                className="num jobcell",
                title=title,
            )
        )
    return cells


def _published_text(each: Published, verdict: bool | None) -> str:
    what = each.job if each.measure == "completion" else _OF_JOBS[each.measure]
    value = format_share(each.change, 0) if each.measure == "sooner" else change(each.change)
    return f"{what} {value}{_VERDICTS[verdict][0]}"


def _published(each: Published, row: Standing) -> html.Div:
    """One published figure: what it was, and whether the runs say the same."""
    verdict = reproduced(each, row)
    here = found(each, row)
    _, kind, words = _VERDICTS[verdict]
    mine = ""
    if here is not None:
        mine = f"; here {format_share(here, 0) if each.measure == 'sooner' else change(here)}"
    text = _published_text(each, verdict)
    return html.Div(text, className=f"small {kind}", title=f"{each.source}: {text}{mine}; {words}")


def picture(info: ExperimentInfo, asked: Chosen, view: View) -> go.Figure:
    """The table as a picture: what is shown, in the same order."""
    made, measure, told = rows(info, asked, view), drawn_measure(view), told_of(info, asked)
    titles = {side.key: side.title for side in asked.sides}
    heads = [
        "Policy",
        "Change",
        "95% interval",
        *COLUMNS.values(),
        *SINGLE.values(),
        *(["Published"] if told else []),
    ]
    lines = []
    for at, row in enumerate(made, 1):
        found_ = row.differences.get(measure)
        known = found_ if found_ is not None and found_.value is not None else None
        cells = [f"{at}  {titles[row.label]}", *_texts(row, measure, told, published=bool(told))]
        lines.append(
            PictureRow(
                cells, known.value, known.low, known.high, kind_of(known.value or 0.0, known.low, known.high)
            )
            if known is not None
            else PictureRow(cells, None, None, None, "open")
        )
    n = len(asked.seeds)
    title = f"{info.name}, against {asked.base.title}, {f'{n} paired seeds' if n != 1 else 'one seed'}"
    return board_picture(title, heads, lines, COLUMNS[measure])


def _texts(row: Standing, measure: str, told: Sequence[Published], *, published: bool) -> list[str]:
    made = row.differences.get(measure)
    cells = ["", ""]
    if made is not None and made.value is not None:
        interval = "one seed" if made.low is None or made.high is None else span(made.low, made.high)
        cells = [change(made.value), interval]
    for name in COLUMNS:
        each = row.differences.get(name)
        below = f"<br>{change(each.value)}" if each is not None and each.value is not None else ""
        cells.append(quantity(name, row.measures.get(name)) + below)
    jobs = row.jobs
    if jobs is None:
        cells += ["", "", ""]
    else:
        ends = ((jobs.best_job, jobs.best), (jobs.worst_job, jobs.worst))
        cells.append(format_share(jobs.sooner, 0))
        cells += [f"{name} {change(mean)}<br>of a run {change(each)}" for (name, mean), each in ends]
    if published:
        own = [_published_text(each, reproduced(each, row)) for each in about(told, row.label)]
        cells.append("<br>".join(own))
    return cells
