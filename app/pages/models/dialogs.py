"""Actions on a model: rename, trash, undo, restore, delete for good."""

from __future__ import annotations

from typing import Any

import dash
import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, dcc, html, set_props

from app.context import LOCATION, workspace
from app.pages.models.listing import ACTIONS
from app.ui.basics import Node, button, data
from app.ui.links import Query
from app.ui.page import notify
from core.errors import InputError, PhaseDockError

LONGEST_NAME = 120


def dialogs() -> list[Node]:
    """The stores and dialogs that a page with models needs once."""
    name = dmc.TextInput(id="model-rename-name", label="Name", size="xs", className="field", debounce=True)
    rename_ = button("Rename", "check", "primary", id="model-rename-save")
    delete_ = button("Delete for good", "trash", "danger", id="model-delete-yes")
    return [
        dcc.Store(id=ACTIONS),
        dcc.Store(id="model-about"),
        dcc.Store(id="models-stale"),
        _dialog("model-rename", "Rename the model", name, rename_, "Cancel"),
        _dialog("model-delete", "Delete for good", html.P(id="model-delete-text"), delete_, "Keep it"),
    ]


def _dialog(dialog: str, title: str, body: Node, yes: Node, no: str) -> dmc.Modal:
    """A window with one thing in it, the button that does it, and the one that does not."""
    close = button(no, None, **data(act="close", store=ACTIONS))
    children = html.Div([body, html.Div([yes, close], className="row")], className="stack")
    return dmc.Modal(id=dialog, title=title, children=children, closeButtonProps={"aria-label": "Close"})


def _close() -> None:
    for dialog in ("model-rename", "model-delete"):
        set_props(dialog, {"opened": False})


def perform(act: str, model_id: str, query: Query) -> str | None:
    """Carry out a button's action; returns the search part to go to, or None to stay."""
    models = workspace().models
    match act:
        case "trash":
            models.trash(model_id)
            set_props("changed", {"data": f"trash {model_id}"})
            return query.only("traces", trashed=model_id)
        case "restore":
            info = models.restore(model_id)
            set_props("changed", {"data": f"restore {model_id}"})
            notify(f"Restored “{info.name}”")
            return query.only("traces", model=model_id)
        case "ask-rename":
            info = models.get(model_id)
            set_props("model-about", {"data": model_id})
            set_props("model-rename-name", {"value": info.name, "error": None})
            set_props("model-rename", {"opened": True})
        case "ask-delete":
            info = models.get(model_id)
            set_props("model-about", {"data": model_id})
            text = f"“{info.name}” with its {len(info.phases)} phases will be deleted. This cannot be undone."
            set_props("model-delete-text", {"children": text})
            set_props("model-delete", {"opened": True})
        case _:
            _close()
    return None


def rename(model_id: str, name: str) -> None:
    """Give a model another name.

    Raises
    ------
    InputError
        If the name is empty or too long.
    """
    new_name = name.strip()
    if not 1 <= len(new_name) <= LONGEST_NAME:
        raise InputError("The model needs a name.", f"Use 1 to {LONGEST_NAME} characters.")
    workspace().models.rename(model_id, new_name)


def register(app: Dash) -> None:
    """Connect buttons and dialogs."""
    app.callback(
        Output(LOCATION, "search", allow_duplicate=True),
        Input(ACTIONS, "data"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )(act)
    app.callback(
        Output("model-rename-name", "error"),
        Input("model-rename-save", "n_clicks"),
        Input("model-rename-name", "n_submit"),
        State("model-rename-name", "value"),
        State("model-about", "data"),
        prevent_initial_call=True,
    )(save_name)
    app.callback(
        Output(LOCATION, "search", allow_duplicate=True),
        Input("model-delete-yes", "n_clicks"),
        State("model-about", "data"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )(delete)


def act(action: dict[str, Any] | None, search: str | None) -> Any:
    """Carry out a button's action; returns the address to go to."""
    target = perform(action["act"], action["id"], Query.parse("", search)) if action else None
    return dash.no_update if target is None else target


def save_name(clicks: int | None, submits: int | None, name: str | None, model_id: str | None) -> Any:
    """Rename the model of the dialog; returns an error about the name."""
    if not (clicks or submits) or not model_id:
        return dash.no_update
    try:
        rename(model_id, name or "")
    except PhaseDockError as error:
        return str(error)
    _close()
    set_props("changed", {"data": f"rename {model_id} {name}"})
    set_props("models-stale", {"data": f"rename {model_id} {name}"})
    return None


def delete(clicks: int | None, model_id: str | None, search: str | None) -> Any:
    """Delete the model that the dialog is about; returns the address of the trash."""
    if not clicks or not model_id:
        return dash.no_update
    name = workspace().models.get(model_id).name
    workspace().models.delete(model_id)
    _close()
    set_props("changed", {"data": f"delete {model_id}"})
    set_props("models-stale", {"data": f"delete {model_id}"})
    notify(f"Deleted “{name}”")
    return Query.parse("", search).only("traces", view="trash")
