"""The leaderboard, drawn: every policy against the baseline, as a table and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dash import html

from app.figures.provisioning import frontier
from app.figures.runs.board_picture import PictureRow, board_picture
from app.pages.runs.board_cells import (
    KNOWS_FUTURE,
    Columns,
    Line,
    board_table,
    cells_of,
    colour_of,
    columns,
    dot_measure,
    first_sort,
    published_for,
    rows,
    sort_order,
    title_of,
)
from app.pages.runs.measures import EXCEPT, describe_difference, kind_of
from app.pages.runs.query import COLUMNS, LEDGER, join_keys
from app.pages.runs.selection import MAX_DRAWN, toggle_policy
from app.ui.basics import Node, aria, card, data, gain_dot, icon, notice, scrolling
from app.ui.graph import graph
from app.ui.links import link, segments
from app.ui.tables import export_menu
from core.experiments.leaderboard import (
    ALL_MEASURES,
)
from core.experiments.measures import RISING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from app.figures.runs.comparison import ArmStyle
    from app.pages.runs.query import View
    from app.pages.runs.selection import Selection
    from app.pages.runs.stored import Side
    from core.experiments.leaderboard import Standing
    from core.experiments.parts import PublishedFigure
    from core.runs.values import ExperimentInfo
    from core.tables import Table


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
        html.Td(text, className=f"num strong {colour_of(kind)}"),
        html.Td(interval, className="num ink3 span"),
    ]
