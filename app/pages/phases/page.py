"""The phases that executions go through: the timeline of one, and what each phase uses over all.

The list of executions, the timeline and the cards are about the trace set and the model that the
address names. Choosing another execution changes the address without reloading the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
import numpy as np
from dash import ClientsideFunction, Input, Output, State, dcc, html
from flask import Blueprint, Response, request

from app.api import file_answer
from app.context import Choice, address, chosen, workspace
from app.pages.phases.cards import details, dwell_picker, timeline_card
from app.pages.phases.executions import (
    execution_heading,
    execution_timeline,
    executions_card,
    phone_picker,
    series,
)
from app.pages.phases.view import View, overlays, sentence, window_of, written_keys
from app.ui.basics import Node, link_button, page_head
from app.ui.errors import safe_page
from app.ui.graph import figure_id
from app.ui.nothing_yet import far_notice, misfit, no_model, no_traces
from app.ui.page import Page, Room
from app.ui.phases import execution_names, execution_rows, live
from core.csv_export import csv_lines
from core.units import phase_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dash import Dash

    from app.figures.timeline import Series
    from core.traces.model import FloatArray
    from core.workspace.records import ModelInfo


blueprint = Blueprint("phases", __name__)


@blueprint.get("/api/traces/<trace_set_id>/timeline/<model_id>.csv")
def export_timeline(trace_set_id: str, model_id: str) -> Response:
    """The shown samples of the shown execution: its lanes, limits, allocation and phases.

    The address takes what the page's own does: ``execution``, ``x0`` and ``x1``, ``lanes``, ``dwell``,
    ``overlay`` and ``evaluation``.
    """
    asked = request.args
    view = View.read(trace_set_id, model_id, asked.get("lanes"), asked.get("dwell"))
    name = asked.get("execution") or execution_names(trace_set_id)[0]
    traces = workspace().traces.execution(trace_set_id, name)
    over = overlays(chosen(trace_set_id, model_id), asked.get("evaluation"))
    drawn = (over.evaluation, asked.get("overlay", "")) if over else None
    elapsed = traces.time - traces.time[0]
    start, end = window_of(asked.get("x0"), asked.get("x1")) or (0.0, float(elapsed[-1]))
    inside = np.flatnonzero((elapsed >= start) & (elapsed <= end))
    found = view.labelling()
    columns = [column for lane in series(view, found, traces, name, drawn) for column in _columns(lane)]
    own = slice(int(found.offsets[found.ids.index(name)]), None)
    numbers = [np.maximum(labels[own][inside] + 1, 0) for labels in (found.labels, found.as_labelled)]
    head = ["execution", "time_s", *(title for title, _ in columns)]
    head += ["phase_number", "phase_number_as_labelled"]
    values = [elapsed[inside], *(column[inside] for _, column in columns), *numbers]
    rows = zip(*(_cells(column) for column in values), strict=True)
    return file_answer(csv_lines(head, ((name, *row) for row in rows)), f"{name}-timeline.csv")


def _columns(lane: Series) -> Iterator[tuple[str, FloatArray]]:
    """The lines of a lane with their titles and units, in the unit that is shown."""
    scale = lane.shown_in
    unit = f" ({scale.label})" if scale.label else ""
    yield from ((f"{name}{unit}", values / scale.size) for name, values in lane.lines)
    if lane.limit is not None:
        yield f"{lane.title} limit{unit}", lane.limit / scale.size
    if lane.given is not None:
        yield f"{lane.title}, {lane.policy} allocation{unit}", lane.given / scale.size


def _cells(column: FloatArray) -> list[float | None]:
    """Numbers as they are; an empty cell where nothing is known."""
    return [value if value == value else None for value in column.tolist()]  # noqa: PLR0124  # NaN is not itself


def register(app: Dash) -> None:
    """Connect the callbacks."""
    app.callback(
        Output(figure_id("timeline"), "data"),
        Output("execution-title", "children"),
        Output("execution-note", "children"),
        Output("overlay-note", "children"),
        Input("chosen-execution", "data"),
        Input("zoom", "data"),
        Input("overlay-chosen", "data"),
        Input("shown", "data"),
        State("choice", "data"),
        State("overlay-from", "data"),
        prevent_initial_call=True,
    )(show)
    app.callback(
        Output("phase-details", "children"),
        Output("execution-rows", "data"),
        Input("shown", "data"),
        State("choice", "data"),
        prevent_initial_call=True,
    )(show_details)
    _register_timeline(app)
    _register_steps(app)
    _register_list(app)


def show(
    name: str,
    zoom: list[float] | None,
    over: dict[str, Any],
    shown: dict[str, Any],
    choice: dict[str, str],
    evaluation: str,
) -> tuple[Any, ...]:
    """Draw the chosen execution, zoomed and with the chosen policy's allocation."""
    part = {"zoom": zoom, "overlay-chosen": over["window"], "shown": shown.get("window")}
    window = part.get(str(dash.ctx.triggered_id))
    drawn = (evaluation, over["policy"])
    figure = execution_timeline(_view(shown, choice), name, (window[0], window[1]) if window else None, drawn)
    heading = execution_heading(choice["traces"], name)
    return figure, heading.title, heading.note, sentence(*drawn, name)


def show_details(shown: dict[str, Any], choice: dict[str, str]) -> tuple[Any, str]:
    """Show other quantities of the phases, or the phases with another minimum dwell time."""
    view = _view(shown, choice)
    return details(view), execution_rows(view.traces, view.model, view.dwell)


def _view(shown: dict[str, Any], choice: dict[str, str]) -> View:
    return View.read(choice["traces"], choice["model"], shown["lanes"], shown["dwell"])


def _register_timeline(app: Dash) -> None:
    """The overlay, and the button that shows all of the time axis."""
    app.clientside_callback(
        ClientsideFunction("provisioning", "overlay"),
        Output("overlay-chosen", "data"),
        Input("overlay", "value"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "shown"),
        Output("shown", "data"),
        Input("lanes", "value"),
        Input("dwell", "value"),
        State("shown", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "zoomOut"),
        Output("zoom-out", "disabled"),
        Input("zoom-out", "n_clicks"),
        prevent_initial_call=True,
    )


def _register_steps(app: Dash) -> None:
    """The picker of a phone, and its ways to the neighbours."""
    app.clientside_callback(
        ClientsideFunction("phases", "pick"),
        Output("nothing", "data"),
        Input("phone-execution", "value"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "step"),
        Output("nothing", "data", allow_duplicate=True),
        Input("step-back", "n_clicks"),
        Input("step-on", "n_clicks"),
        prevent_initial_call=True,
    )


def _register_list(app: Dash) -> None:
    """Filling, searching and ordering the list of executions."""
    app.clientside_callback(
        ClientsideFunction("phases", "filter"),
        Output("executions", "dashGridOptions"),
        Input("find-execution", "value"),
        State("executions", "dashGridOptions"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "fill"),
        Output("executions", "rowData"),
        Input("execution-rows", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("phases", "order"),
        Output("executions", "rowData", allow_duplicate=True),
        Input({"type": "order", "by": dash.ALL}, "n_clicks"),
        State("executions", "rowData"),
        prevent_initial_call=True,
    )


def _nothing_yet(choice: Choice) -> Node:
    """What to do while there are no traces, or no model that fits them."""
    if choice.traces is None:
        return no_traces("timeline", "Phases are found in traces of containers: CPU and memory over time.")
    return no_model(choice, choice.traces, "stack-2", "No model yet")


@safe_page("Phases")
def layout(
    traces: str | None = None,
    model: str | None = None,
    execution: str | None = None,
    x0: str | None = None,
    x1: str | None = None,
    overlay: str | None = None,
    evaluation: str | None = None,
    **query: str,
) -> Node:
    """Lay the page out for what the address names."""
    choice = chosen(traces, model)
    pair = choice.pair()
    if pair is None:
        return [page_head("Phases"), _nothing_yet(choice)]
    wrong = misfit(choice, "/phases")
    if wrong is not None:
        return [page_head("Phases"), wrong]
    view = View.read(pair[0].id, pair[1].id, query.get("lanes"), query.get("dwell"))
    names = execution_names(view.traces)
    name = execution or names[0]
    over = overlays(choice, evaluation)
    right = [
        timeline_card(view, name, window_of(x0, x1), over, overlay),
        html.Div(details(view), id="phase-details", className="stack"),
    ]
    left = executions_card(execution_rows(view.traces, view.model, view.dwell), len(names), name)
    return [
        *_stores(choice, view, name),
        _head(choice, pair[1], view),
        html.Div(far_notice(*pair), className="far"),
        phone_picker(names, name),
        html.Div([left, html.Div(right, className="stack")], className="phases"),
    ]


def _stores(choice: Choice, view: View, name: str) -> list[Node]:
    """What is chosen, for the callbacks and the page's script."""
    return [
        dcc.Store(id="choice", data=choice.query()),
        dcc.Store(id="zoom"),
        dcc.Store(id="shown", data={"lanes": written_keys(view.lanes), "dwell": f"{view.dwell:g}"}),
        dcc.Store(id="chosen-execution", data=name),
        dcc.Store(id="nothing"),
    ]


def _head(choice: Choice, model: ModelInfo, view: View) -> Node:
    numbered = "numbered as published" if model.origin == "ai4dl" else "ordered by CPU then memory"
    longest = max(live(view.labelling().statistics), key=lambda each: each.share, default=None)
    phase = longest.phase if longest is not None else view.labelling().phases[0]
    href = address("/models", choice, expand=phase_number(phase))
    expand = link_button("Expand a phase", href, "hierarchy-2")
    lead = f"{len(model.phases)} phases, {numbered}"
    return page_head("Phases", lead, [dwell_picker(view), expand])


PAGE = Page(
    "/phases",
    "Phases",
    "timeline",
    1,
    layout,
    register,
    routes=(blueprint,),
    keys=(
        ("↑ ↓", "On Phases: previous or next execution"),
        ("+ −", "On Phases: zoom in or out"),
        ("← →", "On Phases: earlier or later, where zoomed"),
        ("Esc", "On Phases: reset zoom"),
    ),
    outline=(Room((620, 620), "phases"),),
)
