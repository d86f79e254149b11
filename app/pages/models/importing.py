"""Import a model: PhaseDock's own zip, or AI4DL's published files, whole or in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, dcc, html, set_props

from app.context import LOCATION, workspace
from app.ui.basics import Node, aria, button, card, data, icon, icon_button, notice, state_badge
from app.ui.links import Query
from app.ui.page import notify, problem
from core.errors import InputError, PhaseDockError, RefusedError
from core.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SLOTS = {
    "archive": ("PhaseDock model", "a .zip exported by PhaseDock"),
    "crbm": ("AI4DL: CRBM", "model_dict.pickle"),
    "initializer": ("AI4DL: CRBM settings", "model_initializer.json, optional"),
    "kmeans": ("AI4DL: phases", "the k-means .joblib"),
    "scaler": ("AI4DL: scaler", "the scaler .joblib"),
}


def slot_id(name: Any) -> dict[str, Any]:
    """The store of one part: ``{id, name, size}`` of its upload, or None."""
    return {"type": "slot", "name": name}


def _row(slot: str) -> html.Div:
    label, description = SLOTS[slot]
    return html.Div(
        [
            html.Div(
                [html.Span(label, className="strong"), html.Span(description, className="small ink3")],
                className="stack tight",
            ),
            html.Div(_status(slot, None), id={"type": "slot-status", "name": slot}, className="slot-status"),
            html.I(className="slot-progress"),
            dcc.Store(id=slot_id(slot)),
        ],
        className="slot",
        **data(slot=slot),
    )


def _status(slot: str, uploaded: Mapping[str, Any] | None) -> list[Node]:
    label = SLOTS[slot][0]
    if uploaded is None:
        label = f"Choose a file: {label}"
        return [button("Choose", "upload", "small", **data(choose=slot), **aria(label=label))]
    return [
        state_badge("here", "ok", "check"),
        html.Span(uploaded["name"], className="truncate"),
        html.Span(format_bytes(uploaded["size"]), className="num ink3"),
        icon_button("x", f"Remove {uploaded['name']}", **data(clear=slot, upload=uploaded["id"])),
    ]


def view(models: list[Any]) -> list[Node]:
    """A drop zone, the parts of the model with their files, and the model for missing parts."""
    form = card(
        "Import a model",
        html.Div(
            [
                _drop(),
                html.Div([_row(slot) for slot in SLOTS], className="slots"),
                html.Div([_base(models), _name()], className="formgrid wide"),
                html.Div(id="import-problem"),
                html.Div(button("Import", "file-import", "primary", id="import-start"), className="row"),
                dcc.Store(id="slots-problem"),
            ],
            className="stack",
        ),
    )
    return [html.Div([form, _how_files_are_read()], className="grid cols-main top")]


def _drop() -> html.Div:
    choose = button("choose files", None, "small", **data(choose="any"))
    return html.Div(
        [
            icon("file-import", "lg"),
            html.Div(["Drop a model’s files here, or ", choose]),
            html.Div("Parts are recognised by their file names.", className="small ink3"),
        ],
        className="drop",
        **data(slots="yes"),
    )


def _base(models: list[Any]) -> dmc.Select:
    return dmc.Select(
        id="import-base",
        label="Take missing parts from",
        data=[{"value": info.id, "label": info.name} for info in models],
        placeholder="No model; all three AI4DL parts are needed",
        clearable=True,
        size="xs",
        className="field",
    )


def _name() -> dmc.TextInput:
    return dmc.TextInput(
        id="import-name",
        label="Name",
        placeholder="Leave empty to use the file’s name",
        size="xs",
        className="field",
    )


def _how_files_are_read() -> html.Section:
    return card(
        "How files are read",
        html.Div(
            [
                notice(
                    "info",
                    "Pickle and joblib files can contain code. PhaseDock takes arrays and numbers from "
                    "them and refuses everything else by name; nothing in them is ever run.",
                    strong="Read without executing anything in them.",
                ),
                html.P(
                    "AI4DL saves a CRBM, a k-means and a scaler. Add all of them, or some and "
                    "a model for the others: for example new phases for the same CRBM.",
                    className="ink2",
                ),
                html.P(
                    "An imported AI4DL model keeps its authors’ phase numbers and their warm-up rule.",
                    className="ink2",
                ),
            ],
            className="stack",
        ),
    )


def import_model(files: Mapping[str, Mapping[str, Any]], base: str | None, name: str) -> str:
    """Import a model from uploaded files; returns its id.

    Raises
    ------
    InputError
        If there is no file, or parts are missing, damaged, or contain anything but data.
    """
    space = workspace()
    if not files:
        raise InputError("No file was chosen.", "Drop a PhaseDock zip or AI4DL's files above.")
    paths: dict[str, Path] = {slot: space.uploads.path(entry["id"]) for slot, entry in files.items()}
    if "archive" in paths:
        model_name = name.strip() or files["archive"]["name"].removesuffix(".zip")
        info = space.models.import_archive(paths["archive"], model_name)
    else:
        info = space.models.import_ai4dl(paths, name.strip() or "ai4dl", base)
    for entry in files.values():
        space.uploads.discard(entry["id"])
    return info.id


def _explain(error: PhaseDockError) -> Node:
    if isinstance(error, RefusedError):
        return notice("bad", f"{error.hint} Nothing was run or stored.", strong=f"Refused. {error.message}")
    return problem(error)


def register(app: Dash) -> None:
    """Connect the slots and the button."""
    app.callback(
        Output({"type": "slot-status", "name": ALL}, "children"),
        Input(slot_id(ALL), "data"),
        State(slot_id(ALL), "id"),
        prevent_initial_call=True,
    )(show)
    app.callback(
        Output("import-problem", "children"),
        Input("slots-problem", "data"),
        prevent_initial_call=True,
    )(show_browser_error)
    app.callback(
        Output("import-problem", "children", allow_duplicate=True),
        Output(LOCATION, "search", allow_duplicate=True),
        Input("import-start", "n_clicks"),
        State(slot_id(ALL), "data"),
        State(slot_id(ALL), "id"),
        State("import-base", "value"),
        State("import-name", "value"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
        running=[(Output("import-start", "disabled"), True, False)],
    )(start)


def show(uploads: list[Any], ids: list[dict[str, str]]) -> list[Any]:
    """The file in each slot."""
    return [_status(each["name"], entry) for each, entry in zip(ids, uploads, strict=True)]


def show_browser_error(wrong: dict[str, Any] | None) -> Node:
    """Show the browser's error about a dropped file."""
    return notice("bad", wrong["text"]) if wrong else None


def start(
    clicks: int | None,
    uploads: list[Any],
    ids: list[dict[str, str]],
    base: str | None,
    name: str | None,
    search: str | None,
) -> tuple[Any, Any]:
    """Import the files in the slots; returns an error, or the address of the new model."""
    if not clicks:
        return dash.no_update, dash.no_update
    parts = {each["name"]: entry for each, entry in zip(ids, uploads, strict=True) if entry}
    try:
        model = import_model(parts, base, name or "")
    except PhaseDockError as error:
        return _explain(error), dash.no_update
    set_props("changed", {"data": model})
    notify(f"Imported “{workspace().models.get(model).name}”")
    return None, Query.parse("", search).only("traces", model=model)
