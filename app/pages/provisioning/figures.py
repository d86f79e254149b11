"""The card of the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.figures.provisioning.frontier import frontier
from app.pages.provisioning.query import RESOURCES
from app.ui.basics import card
from app.ui.export import export_menu
from app.ui.graph import graph
from core.provisioning.evaluation.intervals import LEAST_UNITS

if TYPE_CHECKING:
    from dash import html

    from app.pages.provisioning.query import View
    from app.pages.provisioning.values import Values


def frontier_card(values: Values, view: View, tolerance: float, held_out: int, csv: str) -> html.Section:
    """Over-allocation against time short, for every policy."""
    resource = RESOURCES[view.resource]
    figure = frontier(values.curves(view.policy), tolerance, resource)
    return card(
        "Frontier",
        graph("frontier", figure, f"Over-allocation of {resource} against time short, for each policy"),
        note=f"lower left is better; {_whiskers(held_out)}",
        tools=[export_menu("frontier", f"frontier {resource}", [("Every point, CSV", csv)])],
    )


def _whiskers(held_out: int) -> str:
    """What the bars are, or why there are none."""
    if held_out >= LEAST_UNITS:
        return "bars are 95% intervals"
    if not held_out:
        return "a replay of one container, without intervals"
    return f"{held_out} held-out container{'s' if held_out != 1 else ''}: too few for intervals"
