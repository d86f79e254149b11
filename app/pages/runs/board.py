"""The leaderboard: every policy against the baseline, as a table, as a picture and as a file.

A row's cells are made once, as lines of text, for the table and for the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dash import html

from app.context import cached
from app.figures.provisioning import frontier
from app.figures.runs.board_picture import PictureRow, board_picture
from app.pages.runs import stored
from app.pages.runs.measures import EXCEPT, describe_difference, format_measure, kind_of
from app.pages.runs.query import COLUMNS, LEDGER, join_keys
from app.pages.runs.selection import MAX_DRAWN, toggle_policy
from app.pages.runs.stored import format_relative
from app.ui.basics import Node, aria, card, data, gain_dot, icon, notice, scrolling
from app.ui.graph import graph
from app.ui.links import link, segments
from app.ui.tables import export_menu
from core.experiments.leaderboard import (
    ALL_MEASURES,
    JOB_MEASURES,
    extra_columns,
    leaderboard,
    measured_change,
    published_of,
    ranked,
    reproduced,
    standings,
    value_of,
)
from core.experiments.measures import COUNTS, EXTRA_MEASURES, RISING
from core.tables import Column, Table
from core.units import format_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import plotly.graph_objects as go

    from app.figures.runs.comparison import ArmStyle
    from app.pages.runs.query import View
    from app.pages.runs.selection import Selection
    from app.pages.runs.stored import Side
    from core.experiments.leaderboard import Standing
    from core.experiments.parts import PublishedFigure
    from core.runs.values import ExperimentInfo

# The rows, sorted as the address names it, and the columns.

COMPLETION = {
    "mean": "Mean completion",
    "makespan": "Makespan",
    "t90": "To 90% of loss",
    "t95": "To 95%",
    "t99": "To 99%",
}
SPREAD = {
    "median": "Median completion",
    "p95": "95th percentile",
    "worst_slowdown": "Worst slowdown",
    "used": "CPU used",
    "migrations": "Migrations",
    "controller": "PhaseDock’s own CPU",
}
SINGLE = {"sooner": "Jobs sooner", "best": "Best job", "worst": "Worst job"}
KNOWS_FUTURE = "srpt"
"""A policy that is told how long jobs take: no policy that can be used reaches it."""
_PLAIN = ("migrations", "controller")
"""Measures that no difference is computed of."""
SORTS = ("label", *ALL_MEASURES, *_PLAIN, *(f"difference.{name}" for name in ALL_MEASURES), *JOB_MEASURES)


def rows(info: ExperimentInfo, selection: Selection, view: View) -> list[Standing]:
    """The rows in the order of the address."""
    name, falling = sort_order(view)
    return ranked(_standings(info, selection), name, falling=falling)


def first_sort(view: View) -> str:
    """The default order of rows: by the subject of the columns, the best first."""
    return "-met" if view.columns == "deadlines" else "mean"


def sort_order(view: View) -> tuple[str, bool]:
    """The column that sorts the rows, and whether the largest value comes first."""
    name = view.sort or ""
    chosen = name if name.removeprefix("-") in SORTS else first_sort(view)
    return chosen.removeprefix("-"), chosen.startswith("-")


def dot_measure(view: View) -> str:
    """The measure whose differences are drawn as dots: that of the sorting column, else the mean."""
    name = sort_order(view)[0].removeprefix("difference.")
    return name if name in ALL_MEASURES else "mean"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the leaderboard."""

    #: Measures with columns of their own, and their titles.
    titles: Mapping[str, str]
    #: Whether single jobs and published figures have columns.
    single: bool
    #: The available sets of columns besides those of completion.
    ways: tuple[str, ...]


def columns(rows: Sequence[Standing], view: View) -> Columns:
    """The columns of the view; those of deadlines and queues only if some row has them."""
    further_sets = extra_columns(rows)
    ways = ("spread", *further_sets)
    if view.columns == "spread":
        titles = {name: title for name, title in SPREAD.items() if any(value_of(row, name) for row in rows)}
        return Columns(titles, single=False, ways=ways)
    if view.columns not in further_sets:
        return Columns(COMPLETION, single=True, ways=ways)
    titles = {name: EXTRA_MEASURES[name].short for name in further_sets[view.columns]}
    if view.columns != "deadlines":
        titles = {"mean": "Total time", **titles}
    return Columns({**titles, "makespan": "Makespan"}, single=False, ways=ways)


def title_of(name: str) -> str:
    """The title of a measure in a sentence."""
    return COMPLETION.get(name) or SPREAD.get(name) or EXTRA_MEASURES[name].label


def _standings(info: ExperimentInfo, selection: Selection) -> list[Standing]:
    """The standings from the report if it has them, else from the runs."""
    report = info.report or {}
    same = {side.experiment for side in selection.sides} == {info.id}
    if (
        same
        and report.get("baseline") == selection.base.key
        and len(selection.seeds) == len(info.experiment.seeds)
    ):
        saved = standings(report.get("comparison", []))
        if saved is not None:
            return saved
    ids = [(side.key, [side.runs[seed] for seed in selection.seeds]) for side in selection.sides]
    return cached(lambda: _compute(selection), "run-standings", selection.base.key, ids)


def _compute(selection: Selection) -> list[Standing]:
    results = {
        side.key: {seed: stored.result(side.runs[seed]) for seed in selection.seeds}
        for side in selection.sides
    }
    return leaderboard(results, selection.base.key)


def published_for(info: ExperimentInfo, selection: Selection) -> Sequence[PublishedFigure]:
    """The published figures, which apply to the experiment's own baseline only."""
    return info.experiment.published if selection.base.key == info.experiment.baseline else ()


# The table, and the lines of its cells.


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a cell: its text, its class in style sheets, and what a pointer on it shows."""

    text: str
    kind: str = ""
    title: str | None = None


def board_table(info: ExperimentInfo, selection: Selection, view: View) -> Table:
    """The rows in the visible order; a file also has the columns of the other sets."""
    all_rows = rows(info, selection, view)
    visible, published = columns(all_rows, view), published_for(info, selection)
    titles = {**visible.titles, **(SINGLE if visible.single else {})}
    spread = (
        name for name in SPREAD if name in ALL_MEASURES and any(value_of(row, name) for row in all_rows)
    )
    further_names = (name for names in extra_columns(all_rows).values() for name in names)
    visible_names = (name for name in visible.titles if name in ALL_MEASURES)
    names = dict.fromkeys((*visible_names, *COMPLETION, *spread, *further_names))
    places = {row.label: at for at, row in enumerate(all_rows, 1)}
    labels = {side.key: side.label for side in selection.sides}
    return Table(
        f"{info.name}-leaderboard",
        (
            Column("rank", value=lambda row: places[row.label]),
            Column("policy", value=lambda row: labels[row.label]),
            Column("baseline", value=lambda _: selection.base.label),
            Column("seeds"),
            *(_measure_column(name, titles.get(name, "")) for name in names),
            *(_job_column(name, titles.get(name, "")) for name in SINGLE),
            *(Column(name, titles.get(name, ""), right=True) for name in _PLAIN),
            Column("failed_jobs"),
            Column(
                "published",
                "Published" if visible.single and published else "",
                value=lambda row: "; ".join(map(_published_text, published_of(published, row.label))),
            ),
        ),
        all_rows,
    )


def _measure_column(name: str, title: str) -> Column:
    in_seconds = EXTRA_MEASURES[name].unit == "s" if name in EXTRA_MEASURES else name != "worst_slowdown"
    value_key = f"{name}_s" if in_seconds else name
    ends = ("change", "low", "high", "apart", "apart_low", "apart_high")

    def value(row: Standing) -> tuple[float | None, ...]:
        each = row.differences.get(name)
        differences = (None,) * 6 if each is None else (
            each.value, each.low, each.high, each.seconds, each.seconds_low, each.seconds_high
        )  # fmt: skip
        return row.measures.get(name), *differences

    return Column(name, title, value=value, parts=(value_key, *(f"{name}_{end}" for end in ends)), right=True)


def _job_column(name: str, title: str) -> Column:
    if name == "sooner":
        return Column(name, title, value=lambda row: row.jobs and (row.jobs.sooner,), parts=("jobs_sooner",),
                      right=True)  # fmt: skip
    return Column(
        name,
        title,
        value=lambda row: row.jobs and (*getattr(row.jobs, f"{name}_job"), getattr(row.jobs, name)),
        parts=(f"{name}_job", f"{name}_job_change", f"{name}_of_a_run"),
        right=True,
    )


def _published_text(each: PublishedFigure) -> str:
    return f"{each.measure}{f' {each.job}' if each.job else ''} {each.change:+.3f} ({each.source})"


def cells_of(row: Standing, table: Table, published: Sequence[PublishedFigure]) -> list[list[Line]]:
    """The lines of a row in each titled column of the table."""
    cells = []
    for column in table.titled:
        if column.key == "published":
            cells.append([_published_line(each, row) for each in published_of(published, row.label)])
        else:
            lines = _job_lines if column.key in SINGLE else _measure_lines
            cells.append(lines(row, column.key))
    return cells


def _measure_lines(row: Standing, name: str) -> list[Line]:
    """A mean with its unit, and below it the change; a count has none."""
    value = value_of(row, name)
    lines = [Line(format_measure(name, value if isinstance(value, float | int) else None))]
    difference = row.differences.get(name)
    words = describe_difference(name, difference)
    if difference is not None and words is not None and name not in COUNTS:
        kind = (
            ""
            if difference.value is None
            else _colour(kind_of(name, difference.value, difference.low, difference.high))
        )
        title = words[1] if words[1] == "one seed" else f"95% interval {words[1]}"
        lines.append(Line(words[0], f"small {kind or 'ink3'}", title))
    return lines


def _job_lines(row: Standing, name: str) -> list[Line]:
    jobs = row.jobs
    if jobs is None:
        return []
    if name == "sooner":
        return [Line(format_share(jobs.sooner, 0))]
    (job, mean), each = (jobs.best_job, jobs.best) if name == "best" else (jobs.worst_job, jobs.worst)
    title = f"{job}: mean over seeds; the {name} job of a run, whichever it is: {format_relative(each)}"
    below = [Line(f"of a run {format_relative(each)}", "small ink3")] if row.seeds > 1 else []
    return [Line(f"{job} {format_relative(mean)}", "", title), *below]


_VERDICTS = {
    True: (" ✓", "ok", "reproduced: within the middle 90% of seeds"),
    False: (" ✗", "", "not within the middle 90% of seeds"),
    None: ("", "", "too few seeds to test whether it is reproduced"),
}
_OF_JOBS = {
    "mean": "mean",
    "makespan": "makespan",
    "sooner": "jobs sooner",
    "best": "best job",
    "worst": "worst job",
}


def _published_line(each: PublishedFigure, row: Standing) -> Line:
    """One published figure: its value, and whether the runs reproduce it."""
    mark, kind, words = _VERDICTS[reproduced(each, row)]
    format_change = partial(format_share, digits=0) if each.measure == "sooner" else format_relative
    subject = each.job if each.measure == "completion" else _OF_JOBS[each.measure]
    text = f"{subject} {format_change(each.change)}{mark}"
    measured = measured_change(each, row)
    measured_text = "" if measured is None else f"; here {format_change(measured)}"
    return Line(text, f"small {kind}", f"{each.source}: {text}{measured_text}; {words}")


# The picture and the card.


def picture(info: ExperimentInfo, selection: Selection, view: View) -> go.Figure:
    """The leaderboard as a picture with the same rows and order."""
    table, measure, published = (
        board_table(info, selection, view),
        dot_measure(view),
        published_for(info, selection),
    )
    titles = {side.key: side.title for side in selection.sides}
    heads = ["Policy", "Change", "95% interval", *(column.title for column in table.titled)]
    lines = []
    for at, row in enumerate(table.rows, 1):
        texts = ["<br>".join(line.text for line in cell) for cell in cells_of(row, table, published)]
        each = row.differences.get(measure)
        cells = [f"{at}  {titles[row.label]}", *(describe_difference(measure, each) or ("", "")), *texts]
        if each is None or each.value is None:
            lines.append(PictureRow(cells, None, None, None, "open"))
        else:
            kind = kind_of(measure, each.value, each.low, each.high)
            lines.append(PictureRow(cells, each.value, each.low, each.high, kind))
    n = len(selection.seeds)
    title = f"{info.name}, against {selection.base.title}, {f'{n} paired seeds' if n != 1 else 'one seed'}"
    return board_picture(title, heads, lines, title_of(measure))


_MANY = 8
"""The number of policies that are all shown at once."""
_BEST = 4


def first_rows(all_rows: Sequence[Standing], selection: Selection) -> list[Standing]:
    """Of many policies the best, the baseline, the highlighted one, and the one that knows the future."""
    if len(all_rows) <= _MANY:
        return list(all_rows)
    drawn = zip(selection.drawn, selection.styles, strict=True)
    keys = {selection.base.key, *(side.key for side, style in drawn if style.swatch == "lit")}
    keys |= {side.key for side in selection.sides if side.policy == KNOWS_FUTURE}
    keys |= {row.label for row in all_rows[:_BEST]}
    return [row for row in all_rows if row.label in keys]


def _more(all_rows: Sequence[Standing], selection: Selection, view: View) -> list[Node]:
    """A link that shows all policies, or the first ones again."""
    count = len(all_rows)
    if count <= _MANY:
        return []
    if view.all_rows:
        return [link("Show the first ones", view.query(rows=None), className="link")]
    text = f"{count:,} policies, {len(first_rows(all_rows, selection)):,} shown"
    return [link(text, view.query(rows="all"), className="link")]


def board_card(info: ExperimentInfo, selection: Selection, view: View, csv: str) -> html.Section:
    """The card of the leaderboard."""
    all_rows, measure = rows(info, selection, view), dot_measure(view)
    on = frontier.track(
        (each.value, each.low, each.high)
        for row in all_rows
        if (each := row.differences.get(measure)) is not None and each.value is not None
    )
    visible = columns(all_rows, view)
    shown = all_rows if view.all_rows else first_rows(all_rows, selection)
    board = _Board(selection, view, board_table(info, selection, view), published_for(info, selection), on)
    table = html.Table(
        [
            html.Caption("Every policy against the baseline", className="sr"),
            html.Thead(_head(board)),
            html.Tbody([_row(at, row, board) for at, row in enumerate(all_rows, 1) if row in shown]),
        ],
        className="plain differences board",
    )
    n = len(selection.seeds)
    all_drawn = [link("Draw the usual ones", view.query(arms=None, lit=None), className="link")]
    return card(
        "Leaderboard",
        scrolling(table, "Leaderboard"),
        html.Div(
            graph("board", picture(info, selection, view), "The leaderboard as a picture"),
            className="offpage",
            **aria(hidden="true"),
        ),
        *_board_notes(info, all_rows, n),
        note=_note(n, visible),
        tools=[
            *(all_drawn if view.arms else []),
            *_more(all_rows, selection, view),
            _ways(view, visible),
            _copy(csv),
            export_menu("board", f"leaderboard {info.name}", [("Table, CSV", csv)]),
        ],
        flush=True,
        class_name="boardcard",
    )


def _copy(address: str) -> html.Button:
    return html.Button(
        [icon("copy"), html.Span("Copy", className="sr", **data(label="true"))],
        type="button",
        className="iconbtn",
        title="Copy the table",
        **data(fetch=address),
        **aria(label="Copy the table"),
    )


def _note(seeds: int, visible: Columns) -> str:
    if seeds < 2:
        return "one seed: no intervals"
    return f"{seeds:,} paired seeds, lower is better{EXCEPT if RISING & set(visible.titles) else ''}"


def _ways(view: View, visible: Columns) -> Node:
    """The switch between the sets of columns."""
    ways = {key: title for key, title in COLUMNS.items() if key in ("completion", *visible.ways)}
    chosen = view.columns if view.columns in ways else "completion"
    if "deadlines" in ways:  # what the experiment is about needs nothing in the address
        ways = {"deadlines": ways["deadlines"], **ways}
    return segments(view, "columns", ways, chosen, "Columns of the leaderboard")


def _board_notes(info: ExperimentInfo, all_rows: Sequence[Standing], seeds: int) -> list[Node]:
    failed = sum(row.failed_jobs for row in all_rows)
    words = []
    if len(all_rows) > 2 and seeds > 1:
        words.append("Each interval is for one policy: one in twenty excludes zero by chance.")
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
        text = "Means leave failed jobs out, so a policy with failed jobs may look better than it is."
        parts.append(html.Div(notice("warn", text, strong=f"{failed:,} jobs failed."), className="boardfoot"))
    return parts


@dataclass(frozen=True, slots=True)
class _Board:
    """Data that all rows of the leaderboard share."""

    selection: Selection
    view: View
    table: Table
    published: Sequence[PublishedFigure]
    on: frontier.Track


def _head(board: _Board) -> html.Tr:
    view, measure = board.view, dot_measure(board.view)
    against = f"{title_of(measure)} against {board.selection.base.title}"
    cells: list[Node] = [
        html.Th(html.Span("Drawn", className="sr"), scope="col"),
        _sort_head(view, "label", "Policy", ""),
        _sort_head(view, f"difference.{measure}", against, "", colSpan=3),
    ]
    for column in board.table.titled:
        if column.key == "published":
            cells.append(html.Th(column.title, scope="col"))
        else:
            cells.append(_sort_head(view, column.key, column.title, "num"))
    return html.Tr(cells)


def _sort_head(view: View, name: str, title: str, kind: str, **more: Any) -> html.Th:
    by, falling = sort_order(view)
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


def _row(place: int, row: Standing, board: _Board) -> html.Tr:
    selection = board.selection
    side = next(each for each in selection.sides if each.key == row.label)
    style = next(
        (style for each, style in zip(selection.drawn, selection.styles, strict=True) if each is side), None
    )
    cells: list[Node] = [
        html.Td(_switch(side, style, board)),
        html.Th(_name(place, row, side, board), scope="row"),
        *_difference(row, dot_measure(board.view), board.on),
    ]
    for column, lines in zip(board.table.titled, cells_of(row, board.table, board.published), strict=True):
        kind = {"published": "published", "best": "num jobcell", "worst": "num jobcell"}.get(
            column.key, "num"
        )
        cells.append(html.Td([_line(at, line) for at, line in enumerate(lines)], className=kind))
    css = " lit" if style is not None and style.swatch == "lit" else ""
    base = "base" if side.key == selection.base.key else ""
    return html.Tr(cells, className=f"{base}{css}".strip())


def _line(at: int, line: Line) -> Node:
    if at == 0 and not line.kind and line.title is None:
        return line.text
    return html.Div(line.text, className=line.kind, title=line.title)


def _switch(side: Side, style: ArmStyle | None, board: _Board) -> Node:
    """A policy's swatch, which adds it to the figures or removes it."""
    arms = toggle_policy(board.selection, side)
    swatch = html.Span(className=f"swatch {style.swatch if style is not None else 'off'}")
    if arms is None:
        why = f"At most {MAX_DRAWN} policies are drawn" if style is None else "The only one that is drawn"
        return html.Span([swatch, html.Span(why, className="sr")], title=why, className="switch")
    text = f"{'Hide' if style is not None else 'Draw'} {side.title} in the figures"
    return link(swatch, board.view.query(arms=arms), className="switch", title=text, **aria(label=text))


def _name(place: int, row: Standing, side: Side, board: _Board) -> html.Div:
    parts: list[Node] = [html.Span(f"{place}", className="rank num")]
    base, view = board.selection.base, board.view
    if side.key == base.key:
        parts += [html.Span(side.title), html.Span("baseline", className="ink3 small")]
    else:
        pair = view.query(arms=join_keys([base.key, side.key]), lit=side.key)
        text = f"Draw {side.title} beside {base.title} alone"
        parts.append(link(side.title, pair, className="policy", title=text))
    if board.selection.seeds:
        text = f"Step through {side.title}"
        ledger = view.query(look=LEDGER, of=side.key, tick=None, job=None, page=None)
        parts.append(
            link(icon("player-track-next", "sm"), ledger, className="step", title=text, **aria(label=text))
        )
    if row.failed_jobs:
        parts.append(html.Span(f"{row.failed_jobs:,} failed", className="state warn"))
    return html.Div(parts, className="row")


def _difference(row: Standing, measure: str, on: frontier.Track) -> list[Node]:
    each = row.differences.get(measure)
    words = describe_difference(measure, each)
    if each is None or words is None:
        return [html.Td("", colSpan=3)]
    text, interval = words
    if each.value is None:
        dot: Node = html.Span("baseline has none", className="ink3 small")
        kind = ""
    else:
        mark = frontier.mark(each.value, each.low, each.high, on)
        kind = kind_of(measure, each.value, each.low, each.high)
        dot = gain_dot(mark, on, kind, f"{row.label}, {ALL_MEASURES[measure]}: {text}, {interval}")
    return [
        html.Td(dot),
        html.Td(text, className=f"num strong {_colour(kind)}"),
        html.Td(interval, className="num ink3 span"),
    ]


def _colour(kind: str) -> str:
    return {"better": "ok", "worse": "bad"}.get(kind, "")
