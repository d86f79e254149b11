"""Names that people give to phases, such as “validation”: the window that asks for one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import ALL, Input, Output, State, dcc, html, set_props

from app.context import workspace
from app.ui.basics import Node, button, data
from app.ui.page import notify, sentences
from app.ui.phases import NAME_BUTTON
from core.errors import PhaseDockError
from core.units import phase_name

if TYPE_CHECKING:
    from dash import Dash

_WINDOW, _FIELD = "phase-name-window", "phase-name"


def window() -> list[Node]:
    """The window that asks for a name, and the store that says when one was given."""
    field = dmc.TextInput(
        id=_FIELD,
        label="Name",
        description="Kept with the model; empty shows the description again.",
        placeholder="validation",
        debounce=True,  # the value comes with Enter, however fast that follows
        **data(autofocus=True),
    )
    save = html.Div(button("Save", None, "primary", id="phase-name-ok"), className="row ends")
    return [
        dcc.Store(id="phases-named"),
        dcc.Store(id="phase-name-of"),
        dmc.Modal(
            id=_WINDOW,
            closeButtonProps={"aria-label": "Close"},
            title="Name a phase",
            children=html.Div([field, save], className="stack"),
        ),
    ]


def register(app: Dash) -> None:
    """Connect the buttons of the cards and the window."""
    app.callback(
        Output("phase-name-of", "data"),
        Input({"type": NAME_BUTTON, "phase": ALL}, "n_clicks"),
        State("choice", "data"),
        prevent_initial_call=True,
    )(ask)
    app.callback(
        Output("phases-named", "data"),
        Input("phase-name-ok", "n_clicks"),
        Input(_FIELD, "n_submit"),
        State(_FIELD, "value"),
        State("phase-name-of", "data"),
        State("choice", "data"),
        prevent_initial_call=True,
    )(save)


def ask(clicks: list[int | None], choice: dict[str, str]) -> Any:
    """Open the window for the phase whose button was pressed; returns its id."""
    pressed = dash.ctx.triggered_id
    if not pressed or not any(clicks):
        return dash.no_update
    phase = int(pressed["phase"])
    name = workspace().models.get(choice["model"]).phase_names.get(phase, "")
    set_props(_FIELD, {"value": name, "error": None})
    set_props(_WINDOW, {"opened": True, "title": f"Name {phase_name(phase)}"})
    return phase


def save(
    clicks: int | None, submits: int | None, name: str | None, phase: int | None, choice: dict[str, str]
) -> Any:
    """Keep the name with the model; what is wrong with it is said below the field."""
    if phase is None or not (clicks or submits):
        return dash.no_update
    try:
        workspace().models.name_phase(choice["model"], phase, name or "")
    except PhaseDockError as error:
        set_props(_FIELD, {"error": " ".join(sentences(error))})
        return dash.no_update
    set_props(_WINDOW, {"opened": False})
    given = " ".join((name or "").split())
    notify(
        f"{phase_name(phase)} is called “{given}”." if given else f"{phase_name(phase)} has no name.", "ok"
    )
    return time.time()
