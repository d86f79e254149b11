"""The controls of the page: memory, steps, the threshold of the graph, and the export of all tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import html

from app.pages.sequences import exports
from app.pages.sequences.files import menu_item
from app.pages.sequences.query import HIDE, STEPS
from app.ui.basics import Node, aria, icon, opener

if TYPE_CHECKING:
    from app.pages.sequences.query import View

_FILES = (
    ("Paths and prototypes", "paths"),
    ("Packed sequence of every execution", "executions"),
    ("Transitions", "transitions"),
    ("Tree", "tree"),
    ("What comes next", "next"),
)


def controls(view: View) -> list[Node]:
    """Memory, steps, threshold and the export of all tables."""
    steps = [(step.value, name) for step, name in STEPS.items()]
    return [
        _memory(view.memory),
        _select("seq-step", "Steps", steps, view.step.value, 112),
        _select("seq-hide", "Hide below", [(value, value) for value in HIDE], _hide_of(view), 78),
        _export_all(view),
    ]


def _memory(memory: int) -> html.Div:
    choice = dmc.SegmentedControl(
        id="seq-memory",
        data=["1", "2", "3"],
        value=str(memory),
        size="xs",
        **aria(labelledby="memory-label"),
    )
    label = html.Span("Markov order", className="ink3", id="memory-label")
    return html.Div([label, choice], className="control")


def _hide_of(view: View) -> str:
    return next((value for value in HIDE if float(value) == view.hide), HIDE[3])


def _select(name: str, label: str, options: list[tuple[str, str]], value: str, width: int) -> Node:
    return html.Div(
        [
            html.Label(label, htmlFor=name, className="ink3"),
            dmc.Select(
                id=name,
                data=[{"value": key, "label": text} for key, text in options],
                value=value,
                allowDeselect=False,
                size="xs",
                w=width,
                **aria(label=label),
            ),
        ],
        className="control",
    )


def _export_all(view: View) -> Node:
    base = exports.addresses(view)
    files = [menu_item(f"{label}, CSV", f"{base}/{name}.csv") for label, name in _FILES]
    target = dmc.PopoverTarget(
        html.Span([icon("download"), " Export"]),
        boxWrapperProps=opener("Export tables") | {"className": "btn"},
    )
    return dmc.Popover([target, dmc.PopoverDropdown(files, p=4)], position="bottom-end")
