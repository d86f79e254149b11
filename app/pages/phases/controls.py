"""What can be chosen on the page: the lanes that are shown, and the minimum dwell time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import html

from app.context import workspace
from app.pages.phases.view import offered_lanes
from app.ui.basics import Node, aria, icon, opener
from core.units import format_duration

if TYPE_CHECKING:
    from app.pages.phases.view import View

_PERIODS = (2, 3, 5, 10, 30)


def lanes_menu(view: View) -> Node:
    """Which lanes are shown, of all that the traces have."""
    boxes = [dmc.Checkbox(label=lane.title, value=lane.key, size="xs") for lane in offered_lanes(view.traces)]
    group = dmc.CheckboxGroup(
        html.Div(boxes, className="stack close"),
        id="lanes",
        label="Shown of these traces",
        value=[lane.key for lane in view.lanes],
        size="xs",
    )
    target = opener("Lanes: what is shown of these traces") | {"className": "btn small"}
    return dmc.Popover(
        [
            dmc.PopoverTarget([icon("stack-2", "sm"), "Lanes"], boxWrapperProps=target),
            dmc.PopoverDropdown(html.Div(group, className="lanemenu"), p=12),
        ],
        position="bottom-end",
        keepMounted=True,
    )


def dwell_picker(view: View) -> Node:
    """The minimum dwell time of a phase; shorter segments are shown as part of a neighbour."""
    labels = workspace().labels
    plain, usual = labels.get(view.traces, view.model), labels.default_dwell(view.traces, view.model)
    period = workspace().traces.get(view.traces).period
    offered = {round(period * count, 3) for count in _PERIODS} | {view.dwell, usual, plain.suggested_dwell}
    options = [{"value": "0", "label": "Segments as labelled"}]
    # stamps that are some microseconds late make times that are written the same
    written = {f"{seconds:g}": seconds for seconds in sorted(offered) if seconds > 0}
    options += [
        {"value": value, "label": _label(value, f"{plain.suggested_dwell:g}", seconds)}
        for value, seconds in written.items()
    ]
    return dmc.Select(
        id="dwell",
        data=options,
        value=f"{view.dwell:g}",
        allowDeselect=False,
        size="xs",
        w=216,
        rightSection=icon("selector", "sm"),
        comboboxProps={"width": "max-content", "position": "bottom-end"},
        **aria(label="Minimum dwell time: shorter segments join a neighbour"),
    )


def _label(value: str, suggested: str, seconds: float) -> str:
    text = f"Segments ≥ {format_duration(seconds)}"
    return f"{text}, suggested" if value == suggested else text
