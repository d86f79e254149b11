"""The callbacks of the page: the timeline follows what is chosen; all else happens in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
from dash import ClientsideFunction, Input, Output, State

from app.pages.phases.cards import details
from app.pages.phases.execution import execution_heading, execution_timeline
from app.pages.phases.overlay import sentence
from app.pages.phases.view import View
from app.ui.graph import figure_id
from app.ui.phases.views import execution_rows

if TYPE_CHECKING:
    from dash import Dash


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
