"""Actions on trace sets and uploads: rename, report, trash, restore, delete, discard.

All buttons of the page's lists fill one store (``assets/js/actions.js``); one callback acts on it.
Whatever throws something away can be undone, or asks first and names what it is about to delete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import Input, Output, State, dcc, html, set_props

from app.context import LOCATION, workspace
from app.pages.traces.import_card import report_view, upload_of
from app.pages.traces.listing import ACTIONS, View, does
from app.ui.basics import Node, button, contents, data
from app.ui.links import Query
from app.ui.page import notify, sentences
from core.errors import PhaseDockError
from core.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dash import Dash


_CLOSE = {"aria-label": "Close"}


def plumbing() -> list[Node]:
    """The store of the buttons, and the windows that some of them open."""
    return [
        dcc.Store(id=ACTIONS),
        dcc.Store(id="rename-of"),
        dmc.Modal(
            id="rename",
            closeButtonProps=_CLOSE,
            title="Rename the trace set",
            children=html.Div(
                [
                    dmc.TextInput(id="rename-name", label="Name", debounce=True, **data(autofocus=True)),
                    html.Div(
                        [
                            button("Cancel", None, "", **does("close")),
                            button("Rename", None, "primary", id="rename-ok"),
                        ],
                        className="row ends",
                    ),
                ],
                className="stack",
            ),
        ),
        dmc.Modal(
            id="delete",
            closeButtonProps=_CLOSE,
            title="Delete for good?",
            children=html.Div(id="delete-what", className="stack"),
        ),
        dmc.Modal(id="report", closeButtonProps=_CLOSE, size=900, children=html.Div(id="report-what")),
    ]


def _close() -> None:
    for window in ("rename", "delete", "report"):
        set_props(window, {"opened": False})


def ask_name(trace_set: str) -> None:
    """Open the window for a new name."""
    set_props("rename-of", {"data": trace_set})
    set_props("rename-name", {"value": workspace().traces.get(trace_set).name, "error": None})
    set_props("rename", {"opened": True})


def show_report(trace_set: str) -> None:
    """Open the import report of a set."""
    set_props("report-what", {"children": report_view(workspace().traces.report(trace_set))})
    set_props(
        "report", {"opened": True, "title": f"Import report of “{workspace().traces.get(trace_set).name}”"}
    )


def ask_delete(trace_set: str) -> None:
    """Ask for confirmation before a set is deleted for good."""
    info = workspace().traces.get(trace_set)
    facts = f"{contents(info)}, {format_bytes(info.n_bytes)}"
    buttons = [
        button("Keep it", None, "", **does("close")),
        button("Delete for good", "trash", "danger", **does("delete-now", info.id)),
    ]
    question = html.P([html.B(f"“{info.name}”"), f" ({facts}) will be deleted. This cannot be undone."])
    set_props("delete-what", {"children": [question, html.Div(buttons, className="row ends")]})
    set_props("delete", {"opened": True})


def trash(trace_set: str) -> None:
    """Put a set into the trash and offer to undo."""
    info = workspace().traces.trash(trace_set)
    undo = button("Undo", "arrow-back-up", "small", **does("restore", trace_set))
    notify(html.Div([html.Span("It stays there until you delete it."), undo], className="row between"),
           "info", title=f"Moved “{info.name}” to the trash")  # fmt: skip


def restore(trace_set: str) -> None:
    """Take a set out of the trash."""
    info = workspace().traces.restore(trace_set)
    notify("It is in the list again.", "ok", title=f"Restored “{info.name}”")


def delete_now(trace_set: str) -> None:
    """Delete a set for good, after the confirmation."""
    name = workspace().traces.get(trace_set).name
    workspace().traces.delete(trace_set)
    notify("Its samples were removed from the disk.", "ok", title=f"Deleted “{name}”")


def discard(upload: str) -> None:
    """Remove a file that was uploaded but not imported."""
    name = workspace().uploads.get(upload).name
    workspace().uploads.discard(upload)
    notify("Nothing was stored.", "info", title=f"Discarded “{name}”")


def separate(upload: str) -> None:
    """Split a joined upload into its files again."""
    uploads = workspace().uploads.separate(upload)
    notify("Continue with each of them in the list.", "info", title=f"{len(uploads)} files, one by one")


def retry(task: str) -> str:
    """Retry an import; returns the new task's id."""
    return workspace().tasks.retry(task)


_OPENS: dict[str, Callable[[str], None]] = {
    "rename": ask_name,
    "report": show_report,
    "delete": ask_delete,
}
_TASKS: dict[str, Callable[[str], str]] = {
    "samples": lambda _: workspace().tasks.submit("samples", "Load the sample", {}),
    "cancel": lambda task: workspace().tasks.cancel(task).id,
    "retry": retry,
}
_CHANGES: dict[str, Callable[[str], None]] = {
    "trash": trash,
    "restore": restore,
    "delete-now": delete_now,
    "discard": discard,
    "separate": separate,
}
_LEAVES = {"trash": "traces", "discard": "upload", "separate": "upload", "delete-now": "traces"}


def act(action: dict[str, Any], view: View, refresh: Callable[[View], None]) -> Any:
    """Carry out a button's action; returns the search part to go to afterwards."""
    act_name, target = action["act"], action["id"]
    if act_name in _OPENS:
        _OPENS[act_name](target)
        return dash.no_update
    _close()
    if act_name in _TASKS:
        return f"?task={_TASKS[act_name](target)}"
    if act_name not in _CHANGES:
        return dash.no_update
    _CHANGES[act_name](target)
    set_props("changed", {"data": f"{act_name} {target}"})
    dropped = _stale_parameters(act_name, target, view)
    if dropped:
        return view.query(**dict.fromkeys(dropped))
    refresh(view)
    return dash.no_update


def _stale_parameters(act_name: str, target: str, view: View) -> set[str]:
    """The parameters of the address that name something deleted."""
    if act_name == "discard" and upload_of(view.task) == target:
        return {"task"}
    key = _LEAVES.get(act_name)
    return {key, "model"} if key and view.query.get(key) == target else set()


def register(app: Dash, refresh: Callable[[View], None]) -> None:
    """Connect the window for a new name."""

    @app.callback(
        Output("rename-name", "error"),
        Input("rename-ok", "n_clicks"),
        Input("rename-name", "n_submit"),
        State("rename-name", "value"),
        State("rename-of", "data"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )
    def rename(
        clicks: int | None, submits: int | None, name: str, trace_set_id: str, search: str | None
    ) -> Any:
        if not clicks and not submits:
            return dash.no_update
        try:
            info = workspace().traces.rename(trace_set_id, (name or "").strip())
        except PhaseDockError as error:
            return " ".join(sentences(error))
        _close()
        notify("Its models and links still work.", "ok", title=f"Renamed to “{info.name}”")
        set_props("changed", {"data": f"rename {trace_set_id} {info.name}"})
        refresh(View.read(Query.parse("", search)))
        return None
