"""The cards at the right: the timeline of the chosen execution, and the spread of each phase over all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import dcc, html

from app.context import address, cached, workspace
from app.pages.phases.executions import execution_heading, execution_timeline
from app.pages.phases.view import Overlays, offered_lanes, picker, sentence
from app.ui.basics import Node, aria, card, icon, icon_button, opener
from app.ui.export import export_menu
from app.ui.graph import graph
from app.ui.phases import live, phase_cards, spread_figures, statistics_table
from core.traces.validation import many
from core.units import format_duration, phase_number

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


def timeline_card(
    view: View, name: str, window: tuple[float, float] | None, over: Overlays | None, policy: str | None
) -> Node:
    """The timeline of an execution."""
    evaluation, heading = over.evaluation if over else "", execution_heading(view.traces, name)
    figure = execution_timeline(view, name, window, (evaluation, policy or ""))
    keys = _keys(given=over is not None, limited=any(lane.limit is not None for lane in view.lanes))
    return card(
        html.Span(heading.title, id="execution-title"),
        graph("timeline", figure, f"What {name} used over time, with its phases"),
        html.Div(keys, className="keys only-phone"),
        html.P(sentence(evaluation, policy, name), id="overlay-note", className="small ink3", role="status"),
        dcc.Store(id="overlay-from", data=evaluation),
        dcc.Store(id="overlay-chosen", data={"policy": policy or "", "window": None}),
        note=html.Span(heading.note, id="execution-note", className="small"),
        tools=[
            html.Div(keys, className="keys only-desktop"),
            picker(over, policy) if over else None,
            lanes_menu(view),
            *_tools(view),
        ],
        class_name="timeline",
    )


def _keys(*, given: bool, limited: bool) -> list[Node]:
    """What the lines are."""
    return [
        html.Span("Used", className="key"),
        html.Span("Allocation", className="key alloc") if given else None,
        html.Span("Limit", className="key limit") if limited else None,
    ]


def _tools(view: View) -> list[Node]:
    title, base = "Reset zoom (Esc)", f"/api/traces/{view.traces}"
    files = [
        ("This timeline, CSV", f"{base}/timeline/{view.model}.csv?"),
        ("Phases of every sample, CSV", f"{base}/phases/{view.model}.csv?dwell={view.dwell:g}&"),
    ]
    return [
        icon_button("zoom-reset", title, id="zoom-out"),
        export_menu("timeline", "timeline", files),
    ]


def details(view: View) -> list[Node]:
    """What stands below the timeline: what each phase is and uses, over all executions."""
    found = view.labelling()

    def expand(phase: int) -> str:
        return address("/models", None, traces=view.traces, model=view.model, expand=phase_number(phase))

    note = "over all samples of the trace set"
    if view.dwell:
        note += f"; segments shorter than {format_duration(view.dwell)} merged"
    csv = f"/api/traces/{view.traces}/statistics/{view.model}.csv?dwell={view.dwell:g}"
    return [
        phase_cards(found.statistics, view.lanes, expand),
        _spread_card(view),
        statistics_table(found.statistics, view.lanes, csv, note),
    ]


def _spread_card(view: View) -> Node:
    found = view.labelling()
    figures = cached(lambda: spread_figures(found.statistics, view.lanes), "spread", *view.key())
    samples = sum(each.samples for each in live(found.statistics))
    info = workspace().traces.get(view.traces)
    counts = f"{many(info.n_executions, 'execution')}, {many(samples, 'labelled sample')}"
    names = [f"spread-{place}" for place in range(len(figures))]
    csv = f"/api/traces/{view.traces}/statistics/{view.model}.csv?dwell={view.dwell:g}"
    return card(
        "Spread by phase",
        html.Div(
            [graph(name, figure, label) for name, (_, label, figure) in zip(names, figures, strict=True)],
            className="spread",
        ),
        note=f"whiskers 5th to 95th percentile; {counts}",
        tools=[
            export_menu(
                [(name, title) for name, (title, _, _) in zip(names, figures, strict=True)],
                "spread by phase",
                [("Statistics of every feature, CSV", csv)],
            )
        ],
    )
