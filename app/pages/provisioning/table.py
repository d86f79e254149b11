"""The table of policies: over-allocation, time short, and saving of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dash import dcc, html

from app.context import address
from app.figures.provisioning import frontier
from app.pages.provisioning.results import WITHOUT_SAVING, Row, Values, often_resized, sorted_rows
from app.ui.basics import Node, aria, card, empty, gain_dot, icon, state_badge
from app.ui.evaluations import policy_name
from app.ui.links import link
from app.ui.tables import html_table
from core.provisioning.fleet import Resource
from core.provisioning.policies import policy_title
from core.provisioning.policy import PolicyKind
from core.tables import Column, Table
from core.units import format_change, format_count, format_number, format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.context import Choice
    from app.pages.provisioning.results import Values, View


MAX_WORST = 12


def worst_table(values: Values, policies: Sequence[str], resource: str) -> Table:
    """The containers that fall short most under some policies.

    Screens show their groups where there are any, else how often each fell short; files have both.
    """
    rows = [
        {"policy": policy, **each} for policy in policies for each in values.part["worst"].get(policy, ())
    ]
    grouped = any(row["group"] != row["execution"] for row in rows)
    times = "Times killed" if resource == Resource.MEMORY else "Times short"
    columns = (
        Column("policy"),
        Column("policy_title", value=lambda row: policy_title(row["policy"])),
        Column("execution", "Container"),
        Column("group", "Group" if grouped else ""),
        Column("under_time_0", "Time short", format_share),
        Column("over", "Over", format_share),
        Column("oom_events", "" if grouped else times, format_count, missing="0"),
    )
    return Table(f"worst-{resource}", columns, rows)


def worst_card(
    values: Values, view: View, choice: Choice, evaluation: str, tools: list[Node]
) -> html.Section:
    """The card; every row opens the container on Phases with the policy's allocation over it."""
    policy = view.policy if view.policy in values.names() else values.ours()
    worst = worst_table(values, [policy] if policy else [], view.resource)
    if worst.rows:
        visible_rows = replace(worst, rows=list(worst.rows)[:MAX_WORST])
        cells = {
            "execution": lambda row: _link(row["execution"], choice, row["policy"], evaluation),
            "under_time_0": lambda row: _under(row["under_time_0"]),
        }
        body: Node = html_table(
            visible_rows, f"Containers that fall short most under {policy_title(policy or '')}", cells=cells
        )
    else:
        body = empty("list-check", "No containers to list", "Choose a policy in the table above.")
    note = ["under ", policy_name(policy), " as published"] if policy else None
    return card("Worst containers first", body, note=note, tools=tools, flush=True)


def _link(execution: str, choice: Choice, policy: str, evaluation: str) -> dcc.Link:
    return dcc.Link(
        execution,
        href=address("/phases", choice, execution=execution, overlay=policy, evaluation=evaluation),
        className="link",
        title=f"{execution} over time, with the allocation of {policy_title(policy)}",
    )


def _under(share: float | None) -> html.Span:
    text = "–" if share is None else format_share(share)
    return html.Span(text, className="bad" if (share or 0) > 0.1 else "")


_SORTED_BY = {"over": "over-allocation", "under": "time short", "saving": "saving"}


def _head(title: str, by: str, view: View, *, number: bool) -> html.Th:
    chosen = view.sort == by
    sorter = link(
        [title, icon("chevron-down", "sm")] if chosen else title,
        view.query(sort=None if by == "over" else by),
        className="sorter",
        title=f"Sort by {title}",
    )
    state = aria(sort="descending" if by == "saving" else "ascending") if chosen else {}
    return html.Th(sorter, className="num" if number else "", scope="col", **state)


def policies_table(values: Values, view: View) -> Table:
    """Over-allocation, time short and saving of each policy."""
    rival = values.reference
    columns = (
        Column("policy", "Policy"),
        Column("policy_title", value=lambda row: policy_title(row.policy)),
        Column("kind", "Kind"),
        Column("scale", value=lambda _row: view.scale),
        Column("over", "Over-allocation", format_share, right=False),
        Column("interval", "95% interval", _interval, parts=("over_low", "over_high")),
        Column("under_time_0", "Time short", format_share, lambda row: row.under),
        Column("under_time_05", value=lambda row: row.under_05),
        Column("resizes_per_cycle", "Resizes", format_number, lambda row: row.resizes),
        Column("saved_against", value=lambda _row: rival),
        Column(
            "saved", f"Saved against {policy_title(rival)}" if rival else "Saved", _whole_change,
            lambda row: row.saving, right=False, missing="",
        ),
        Column("saved_interval", value=lambda row: row.saving_interval, parts=("saved_low", "saved_high")),
        Column("group_interval", parts=("saved_group_low", "saved_group_high")),
        Column("worst_under_time", value=lambda row: row.worst),
        Column("share_of_containers_above_10", value=lambda row: row.above),
        Column("cold_over"),
        Column("cold_under_time_0", value=lambda row: row.cold_under),
        Column("gap_closed"),
    )  # fmt: skip
    return Table(f"policies-{view.resource}-{view.scale}", columns, sorted_rows(values.rows(), view.sort))


def _interval(ends: tuple[float, float]) -> str:
    return f"{ends[0] * 100:.1f}–{ends[1] * 100:.1f}%"


def _whole_change(saving: float) -> str:
    return format_change(saving, 0)


_SORTERS = {
    "policy": "policy", "kind": "kind", "over": "over", "under_time_0": "under",
    "resizes_per_cycle": "resizes", "saved": "saving",
}  # fmt: skip
"""The sorting value of each column of the table."""


def policies_card(values: Values, view: View, tools: list[Node]) -> html.Section:
    """The card with the table."""
    table = policies_table(values, view)
    rows: list[Row] = list(table.rows)
    on = frontier.track(
        (row.saving, *(row.saving_interval or (None, None))) for row in rows if row.saving is not None
    )
    longest, ours = _longest(rows), view.policy or values.ours()
    heads = {
        column.key: _head(column.title, _SORTERS[column.key], view, number=column.is_right)
        for column in table.titled
        if column.key in _SORTERS
    }
    rendered = html_table(
        table,
        "Over-allocation and time short of each policy",
        cells={
            "policy": lambda row: _policy(row, view),
            "kind": _kind,
            "over": lambda row: _over(row, longest),
            "resizes_per_cycle": _resizes,
            "saved": lambda row: _saved(row, on, values.reference),
        },
        heads=heads,
        css={"interval": "ink3 wide"},
        attributes=lambda row: {"className": "ours" if row.policy == ours else ""},
        row_heads=True,
        table_class="plain policies",
    )
    note = f"sorted by {_SORTED_BY.get(view.sort, view.sort)}"
    return card("Policies", rendered, note=note, tools=tools, flush=True)


def _resizes(row: Row) -> Node:
    """Resizes per cycle, in amber with their number a minute where that is more than one."""
    text, often = (
        "–" if row.resizes is None else format_number(row.resizes),
        often_resized(row.resizes_per_hour),
    )
    if not often:
        return text
    return html.Span([text, html.Span(f" · {often.removeprefix('resizes ')}")], className="warn")


def _longest(rows: list[Row]) -> float:
    """The value of a full bar; the bars of the worst policies are cut, so that the others stay readable."""
    overs = sorted(row.over for row in rows if row.over is not None and row.kind not in WITHOUT_SAVING)
    return max(overs[len(overs) * 3 // 4] * 1.2, 1e-9) if overs else 1.0


def _policy(row: Row, view: View) -> html.Div:
    """The name, which chooses the policy or drops the choice; a phone shows the kind below it."""
    choice = None if row.policy == view.policy else row.policy
    name = link(
        policy_name(row.policy), view.query(**{view.takes: choice}), className="policy", title=row.about
    )
    return html.Div([name, html.Span(_kind_word(row), className="under", **aria(hidden="true"))])


def _kind(row: Row) -> html.Span:
    return state_badge(_kind_word(row), "accent" if row.kind == PolicyKind.OURS and not row.best else "")


def _kind_word(row: Row) -> str:
    return "best reactive" if row.best else row.kind


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


def _saved(row: Row, on: frontier.Track, reference: str | None) -> html.Div:
    text = html.Span("" if row.saving is None else _whole_change(row.saving), className="num strong")
    return html.Div([html.Div(_gain(row, on, reference)), text], className="gaincell")


def _gain(row: Row, on: frontier.Track, reference: str | None) -> Node:
    """The dot and whisker of one row on the common track."""
    if row.kind == "bound":
        return html.Span("lower bound", className="ink3")
    if row.kind == "oracle":
        return html.Span("knows the future", className="ink3")
    if row.saving is None:
        return html.Span("reference" if row.policy == reference else "–", className="ink3")
    low, high = row.saving_interval or (None, None)
    dot = frontier.mark(row.saving, low, high, on)
    return gain_dot(dot, on, dot.verdict, describe_saving(row))


def describe_saving(row: Row) -> str:
    """A saving with its intervals in words."""
    words = [f"{format_change(row.saving or 0.0)} over-allocation saved"]
    if row.saving_interval is not None:
        words.append(f"95% interval {_span(row.saving_interval)} over containers")
    if row.group_interval is not None:
        words.append(f"{_span(row.group_interval)} over groups")
    return ", ".join(words)


def _span(pair: tuple[float, float]) -> str:
    return f"{format_change(pair[0])} to {format_change(pair[1])}"
