"""The cards with figures: the frontier, and totals over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html

from app.figures.provisioning.frontier import frontier
from app.figures.provisioning.totals import OURS, RIVAL, STATIC, Given, totals
from app.pages.provisioning.query import RESOURCES
from app.ui.basics import card
from app.ui.export import export_menu
from app.ui.graph import graph
from core.provisioning.evaluation.comparison import PAPERS_BASE
from core.provisioning.policies import POLICIES
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.pages.provisioning.query import View
    from app.pages.provisioning.values import Values


def frontier_card(values: Values, view: View, tolerance: float, csv: str) -> html.Section:
    """Over-allocation against time short, for every policy."""
    resource = RESOURCES[view.resource]
    figure = frontier(values.curves(view.policy), tolerance, resource)
    return card(
        "Frontier",
        graph("frontier", figure, f"Over-allocation of {resource} against time short, for each policy"),
        note="lower left is better; bars are 95% intervals",
        tools=[export_menu("frontier", f"frontier {resource}", [("Every point, CSV", csv)])],
    )


def given_of(values: Values, chosen: str | None) -> list[Given]:
    """The policies of the totals: ours or the chosen one, the best rivals, and a static one."""
    there: Mapping[str, Any] = values.part["totals"]["policies"]
    factor = {
        each["policy"]: (each["matched"]["factor"] if values.matched else 1.0)
        for each in values.part["policies"]
    }
    ours = chosen or values.ours()
    rivals = [values.best, PAPERS_BASE]
    static = next((name for name, each in POLICIES.items() if each.constant and name in there), None)
    parts = [(ours, OURS), *((name, RIVAL) for name in dict.fromkeys(rivals)), (static, STATIC)]
    shown: dict[str, str] = {}
    for name, part in parts:
        if name is not None and name in there:
            shown.setdefault(name, part)
    return [
        Given(
            name,
            part,
            np.asarray(there[name], dtype=float) * (1.0 if part == STATIC else factor[name] or 1.0),
        )
        for name, part in shown.items()
    ]


def totals_card(values: Values, view: View, containers: int, csv: str) -> html.Section:
    """What all held-out containers used together, and what policies gave them."""
    given = given_of(values, view.policy)
    resource = RESOURCES[view.resource]
    part = values.part["totals"]
    figure = totals(
        np.asarray(part["age_s"], dtype=float),
        np.asarray(part["demand"], dtype=float),
        given,
        Unit(values.part["unit"]),
        f"{resource} of {containers:,} held-out containers by age",
    )
    keys = [html.Span("Demand", className="key")]
    keys += [html.Span(each.name, className=f"key {each.part}") for each in given]
    return card(
        "Total over time",
        html.Div(keys, className="keys"),
        graph("totals", figure, f"Total {resource} over time: demand and allocations"),
        tools=[export_menu("totals", f"totals {resource}", [("Every policy, CSV", csv)])],
    )
