"""The containers that fall short most under the policy that is looked at, and the way to their timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from app.context import address
from app.ui.basics import Node, card, empty, plain_table
from core.units import format_share

if TYPE_CHECKING:
    from app.context import Choice
    from app.pages.provisioning.address import View
    from app.pages.provisioning.values import Values

SHOWN = 12
_HEAD = (
    ("Container", False),
    ("Group", False),
    ("Under time", True),
    ("Over", True),
    ("Times short", True),
)


def worst_card(
    values: Values, view: View, choice: Choice, evaluation: str, tools: list[Node]
) -> html.Section:
    """The card; every row opens the container on Phases with the policy's allocation over it."""
    policy = view.policy if view.policy in values.names() else values.ours()
    found = values.part["worst"].get(policy, []) if policy else []
    if not found:
        body: Node = empty("list-check", "No containers to list", "Choose a policy in the table above.")
    else:
        grouped = any(each["group"] != each["execution"] for each in found)
        head = [title for title in _HEAD if title[0] != ("Times short" if grouped else "Group")]
        rows = []
        for each in found[:SHOWN]:
            href = address(
                "/phases", choice, execution=each["execution"], overlay=policy, evaluation=evaluation
            )
            row: list[Node] = [
                dcc.Link(
                    each["execution"],
                    href=href,
                    className="link",
                    title=f"{each['execution']} over time, with what {policy} gives it",
                )
            ]
            row += [each["group"]] if grouped else []
            row += [
                html.Span(
                    _share(each["under_time_0"]), className="bad" if (each["under_time_0"] or 0) > 0.1 else ""
                ),
                _share(each["over"]),
            ]
            row += [] if grouped else [f"{each['oom_events'] or 0:,.0f}"]
            rows.append(row)
        body = plain_table(head, rows, f"Containers that fall short most under {policy}")
    return card(
        "Worst containers first",
        body,
        note=f"under {policy} as published" if policy else None,
        tools=tools,
        flush=True,
    )


def _share(value: float | None) -> str:
    return "–" if value is None else format_share(value)
