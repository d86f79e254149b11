"""The containers that fall short most under the policy that is looked at, and the way to their timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash import dcc, html

from app.context import address
from app.ui.basics import Node, card, empty, plain_table
from core.provisioning.fleet import Resource
from core.units import format_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.context import Choice
    from app.pages.provisioning.query import View
    from app.pages.provisioning.values import Values

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
            _share(each["over"]),
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
    return html.Span(_share(share), className="bad" if (share or 0) > 0.1 else "")


def _share(value: float | None) -> str:
    return "–" if value is None else format_share(value)
