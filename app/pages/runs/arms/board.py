"""The table of the leaderboard: a row for each policy, with its swatch, its difference, and its jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dash import html

from app.figures.provisioning import frontier
from app.figures.runs.board_picture import PictureRow, board_picture
from app.pages.runs.arms.choice import MOST_DRAWN, toggled
from app.pages.runs.arms.standings import (
    SINGLE,
    columns,
    describe_arm,
    drawn_measure,
    first_sort,
    rows,
    sorting,
    title_of,
)
from app.pages.runs.compare.differences import EXCEPT, in_words, kind_of, quantity
from app.pages.runs.query import COLUMNS, LEDGER
from app.pages.runs.stored import change
from app.ui.basics import Node, aria, card, gain_dot, icon, notice, scrolling
from app.ui.graph import graph
from app.ui.links import link, segments
from core.experiments.compare import EVERY_MEASURE
from core.experiments.measures.further import COUNTS, RISING
from core.experiments.published import about, found, reproduced
from core.units import format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from app.figures.runs.arm_lines import ArmStyle
    from app.pages.runs.arms.choice import Chosen
    from app.pages.runs.arms.standings import Columns
    from app.pages.runs.query import View
    from app.pages.runs.stored import Side
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
    made, measure, told = rows(info, asked, view), drawn_measure(view), describe_arm(info, asked)
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


def board_card(info: ExperimentInfo, asked: Chosen, view: View, tools: Sequence[Node]) -> html.Section:
    """The card with the table."""
    made = rows(info, asked, view)
    names = {side.key: side for side in asked.sides}
    styles = {side.key: style for side, style in zip(asked.drawn, asked.styles, strict=True)}
    measure = drawn_measure(view)
    on = frontier.track(
        (each.value, each.low, each.high)
        for row in made
        if (each := row.differences.get(measure)) is not None and each.value is not None
    )
    shown = columns(made, view)
    told = describe_arm(info, asked) if shown.single else ()
    body = [
        _row(at, row, _Shown(names[row.label], styles.get(row.label), asked, view, shown), on, told)
        for at, row in enumerate(made, 1)
    ]
    table = html.Table(
        [
            html.Caption("Every policy against the baseline", className="sr"),
            html.Thead(_head(asked, view, shown, bool(told))),
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
        note=_note(n, shown),
        tools=[*(_ways(view, shown) if shown.ways else []), *tools],
        flush=True,
        class_name="boardcard",
    )


def _note(seeds: int, shown: Columns) -> str:
    if seeds < 2:
        return "one seed: no intervals"
    return f"{seeds:,} paired seeds, lower is better{EXCEPT if RISING & set(shown.titles) else ''}"


def _ways(view: View, shown: Columns) -> list[Node]:
    """The way between the columns of completion and further ones."""
    ways = {key: title for key, title in COLUMNS.items() if key in ("completion", *shown.ways)}
    chosen = view.columns if view.columns in ways else "completion"
    return [segments(view, "columns", ways, chosen, "Columns of the leaderboard")]


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


def _head(asked: Chosen, view: View, shown: Columns, published: bool) -> html.Tr:
    measure = drawn_measure(view)
    against = f"{title_of(measure)} against {asked.base.title}"
    cells: list[Node] = [
        html.Th(html.Span("Drawn", className="sr"), scope="col"),
        _sort_head(view, "label", "Policy", ""),
        _sort_head(view, f"difference.{measure}", against, "", colSpan=3),
        *(_sort_head(view, name, title, "num") for name, title in _titles(shown).items()),
    ]
    if published:
        cells.append(html.Th("Published", scope="col"))
    return html.Tr(cells)


def _titles(shown: Columns) -> dict[str, str]:
    return {**shown.titles, **(SINGLE if shown.single else {})}


def _sort_head(view: View, name: str, title: str, kind: str, **more: Any) -> html.Th:
    by, falling = sorting(view)
    on = by == name
    arrow = html.Span("↓" if falling else "↑", **aria(hidden="true")) if on else None
    # the first click puts the best on top
    first = f"-{name}" if name.removeprefix("difference.") in RISING else name
    target = name if on and falling else f"-{name}" if on else first
    marked = aria(sort="descending" if falling else "ascending") if on else {}
    label = link(
        [title, arrow],
        view.query(sort=None if target == first_sort(view) else target),
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
    columns: Columns


def _row(place: int, row: Standing, of: _Shown, on: frontier.Track, told: Sequence[Published]) -> html.Tr:
    cells: list[Node] = [
        html.Td(_switch(of.side, of.style, of.asked, of.view)),
        html.Th(_name(place, row, of.side, of.asked, of.view), scope="row"),
        *_difference(row, drawn_measure(of.view), on),
        *(html.Td(_measure(row, name), className="num") for name in of.columns.titles),
        *(_single(row) if of.columns.single else []),
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


def _difference(row: Standing, measure: str, on: frontier.Track) -> list[Node]:
    made, words = row.differences.get(measure), in_words(measure, row.differences.get(measure))
    if made is None or words is None:
        return [html.Td("", colSpan=3)]
    text, interval = words
    if made.value is None:
        dot: Node = html.Span("baseline has none", className="ink3 small")
        kind = ""
    else:
        mark = frontier.mark(made.value, made.low, made.high, on)
        kind = kind_of(measure, made.value, made.low, made.high)
        dot = gain_dot(mark, on, kind, f"{row.label}, {EVERY_MEASURE[measure]}: {text}, {interval}")
    return [
        html.Td(dot),
        html.Td(text, className=f"num strong {_colour(kind)}"),
        html.Td(interval, className="num ink3 span"),
    ]


def _colour(kind: str) -> str:
    return {"better": "ok", "worse": "bad"}.get(kind, "")


def _measure(row: Standing, name: str) -> list[Node]:
    """A mean with its unit, and below it the change; a count has none."""
    parts: list[Node] = [quantity(name, row.measures.get(name))]
    made, words = row.differences.get(name), in_words(name, row.differences.get(name))
    if made is not None and words is not None and name not in COUNTS:
        kind = "" if made.value is None else _colour(kind_of(name, made.value, made.low, made.high))
        title = words[1] if words[1] == "one seed" else f"95% interval {words[1]}"
        parts.append(html.Div(words[0], className=f"small {kind or 'ink3'}", title=title))
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


def _published(each: Published, row: Standing) -> html.Div:
    """One published figure: what it was, and whether the runs say the same."""
    verdict = reproduced(each, row)
    here = found(each, row)
    _, kind, words = VERDICTS[verdict]
    mine = ""
    if here is not None:
        mine = f"; here {format_share(here, 0) if each.measure == 'sooner' else change(here)}"
    text = published_text(each, verdict)
    return html.Div(text, className=f"small {kind}", title=f"{each.source}: {text}{mine}; {words}")
