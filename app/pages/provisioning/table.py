"""The table of policies: what each over-allocates, how often it falls short, and what it would save."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dash import dcc, html

from app.context import address
from app.figures.provisioning import frontier
from app.pages.provisioning.results import WITHOUT_SAVING, Row, Values, sorted_rows
from app.ui.basics import Node, aria, card, empty, gain_dot, icon, plain_table, scrolling, state_badge
from app.ui.links import link
from core.provisioning.fleet import Resource
from core.provisioning.policy import PolicyKind
from core.units import format_change, format_number, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.context import Choice
    from app.pages.provisioning.results import Values, View


SHOWN = 12
_HEAD = (
    ("Container", False),
    ("Group", False),
    ("Time short", True),
    ("Over", True),
    ("Times", True),
)


def worst_card(
    values: Values, view: View, choice: Choice, evaluation: str, tools: list[Node]
) -> html.Section:
    """The card; every row opens the container on Phases with the policy's allocation over it."""
    policy = view.policy if view.policy in values.names() else values.ours()
    found = values.part["worst"].get(policy, []) if policy else []
    if found:
        body: Node = _table(found, choice, policy or "", evaluation, view.resource)
    else:
        body = empty("list-check", "No containers to list", "Choose a policy in the table above.")
    note = f"under {policy} as published" if policy else None
    return card("Worst containers first", body, note=note, tools=tools, flush=True)


def _table(
    found: Sequence[Mapping[str, Any]], choice: Choice, policy: str, evaluation: str, resource: str
) -> Node:
    """The first few, with the group of each where there are groups, else with how often it fell short."""
    grouped = any(each["group"] != each["execution"] for each in found)
    times = "Times killed" if resource == Resource.MEMORY else "Times short"
    head = [(times, number) if title == "Times" else (title, number) for title, number in _HEAD]
    head = [each for each in head if each[0] != (times if grouped else "Group")]
    rows = [
        [
            _link(each["execution"], choice, policy, evaluation),
            *([each["group"]] if grouped else []),
            _under(each["under_time_0"]),
            _worst_share(each["over"]),
            *([] if grouped else [f"{each['oom_events'] or 0:,.0f}"]),
        ]
        for each in found[:SHOWN]
    ]
    return plain_table(head, rows, f"Containers that fall short most under {policy}")


def _link(execution: str, choice: Choice, policy: str, evaluation: str) -> dcc.Link:
    return dcc.Link(
        execution,
        href=address("/phases", choice, execution=execution, overlay=policy, evaluation=evaluation),
        className="link",
        title=f"{execution} over time, with what {policy} gives it",
    )


def _under(share: float | None) -> html.Span:
    return html.Span(_worst_share(share), className="bad" if (share or 0) > 0.1 else "")


def _worst_share(value: float | None) -> str:
    return "–" if value is None else format_share(value)


_SORTED_BY = {"over": "over-allocation", "under": "time short", "saving": "saving"}


def _head(title: str, by: str, view: View, *, number: bool = False, over: int = 1) -> html.Th:
    chosen = view.sort == by
    made = link(
        [title, icon("chevron-down", "sm")] if chosen else title,
        view.query(sort=None if by == "over" else by),
        className="sorter",
        title=f"Sort by {title}",
    )
    state = aria(sort="descending" if by == "saving" else "ascending") if chosen else {}
    return html.Th(made, className="num" if number else "", scope="col", colSpan=over, **state)


def table(values: Values, view: View, tools: list[Node]) -> html.Section:
    """The card with the table."""
    rows = sorted_rows(values.rows(), view.sort)
    on = frontier.track(
        (row.saving, *(row.saving_interval or (None, None))) for row in rows if row.saving is not None
    )
    longest = _longest(rows)
    made = html.Table(
        [
            html.Caption("What each policy over-allocates and how often it falls short", className="sr"),
            html.Thead(_heads(view, values.reference)),
            html.Tbody([_row(row, values, view, on, longest) for row in rows]),
        ],
        className="plain policies",
    )
    note = f"sorted by {_SORTED_BY.get(view.sort, view.sort)}"
    return card("Policies", scrolling(made, "Policies"), note=note, tools=tools, flush=True)


def _heads(view: View, rival: str | None) -> html.Tr:
    return html.Tr(
        [
            _head("Policy", "policy", view),
            _head("Kind", "kind", view),
            _head("Over-allocation", "over", view),
            html.Th(html.Span("95% interval"), className="num wide", scope="col"),
            _head("Time short", "under", view, number=True),
            _head("Resizes", "resizes", view, number=True),
            _head(f"Saved against {rival}" if rival else "Saved", "saving", view, over=2),
        ]
    )


def _longest(rows: list[Row]) -> float:
    """What a full bar stands for; the worst policies’ bars are cut, so that the others can be told apart."""
    usual = sorted(row.over for row in rows if row.over is not None and row.kind not in WITHOUT_SAVING)
    return max(usual[len(usual) * 3 // 4] * 1.2, 1e-9) if usual else 1.0


def _row(row: Row, values: Values, view: View, on: frontier.Track, longest: float) -> html.Tr:
    classes = ["ours"] if row.policy == (view.policy or values.ours()) else []
    chosen = row.policy == view.policy
    parts = re.split(r"(?<=[.+])", row.policy)
    broken = [each for part in parts for each in (part, html.Wbr())][:-1]
    name = link(
        broken,
        view.query(**{view.takes: None if chosen else row.policy}),
        className="policy",
        title=row.about,
    )
    return html.Tr(
        [
            html.Th(
                [name, html.Span(_kind_word(row), className="under", **aria(hidden="true"))], scope="row"
            ),
            html.Td(_kind(row)),
            html.Td(_over(row, longest)),
            html.Td(_interval(row), className="num ink3 wide"),
            html.Td(_share(row.under), className="num"),
            html.Td("–" if row.resizes is None else format_number(row.resizes), className="num"),
            html.Td(_gain(row, on, values.reference)),
            html.Td(_saved(row), className="num strong"),
        ],
        className=" ".join(classes),
    )


def _kind(row: Row) -> html.Span:
    return state_badge(_kind_word(row), "accent" if row.kind == PolicyKind.OURS and not row.best else "")


def _kind_word(row: Row) -> str:
    return "best reactive" if row.best else row.kind


def _share(value: float | None) -> str:
    return "–" if value is None else format_share(value)


def _over(row: Row, longest: float) -> Node:
    if row.over is None:
        return "–"
    width = min(row.over / longest, 1.0) * 100
    kind = "ours" if row.kind == PolicyKind.OURS else row.kind if row.kind == "bound" else ""
    cut = " cut" if row.over > longest else ""
    return html.Div(
        [
            html.Div(html.I(style={"width": f"{width:.1f}%"}), className=f"overbar {kind}{cut}"),
            html.Span(format_share(row.over), className="num strong"),
        ],
        className="overcell",
    )


def _interval(row: Row) -> str:
    return "–" if row.interval is None else f"{row.interval[0] * 100:.1f}–{row.interval[1] * 100:.1f}%"


def _saved(row: Row) -> str:
    return "" if row.saving is None else format_change(row.saving, 0)


def _gain(row: Row, on: frontier.Track, reference: str | None) -> Node:
    """The dot and whisker of one row on the common track."""
    if row.kind == "bound":
        return html.Span("lower bound", className="ink3")
    if row.kind == "oracle":
        return html.Span("knows the future", className="ink3")
    if row.saving is None:
        return html.Span("reference" if row.policy == reference else "–", className="ink3")
    low, high = row.saving_interval or (None, None)
    found = frontier.mark(row.saving, low, high, on)
    return gain_dot(found, on, found.verdict, said(row))


def said(row: Row) -> str:
    """A saving with its intervals in words."""
    words = [f"{format_change(row.saving or 0.0)} over-allocation saved"]
    if row.saving_interval is not None:
        words.append(f"95% interval {_span(row.saving_interval)} over containers")
    if row.group_interval is not None:
        words.append(f"{_span(row.group_interval)} over groups")
    return ", ".join(words)


def _span(pair: tuple[float, float]) -> str:
    return f"{format_change(pair[0])} to {format_change(pair[1])}"
