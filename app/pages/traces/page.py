"""Traces: upload, check, view, rename, delete.

The address says what is on the screen: ``upload`` the form for a file that has arrived, ``task`` an
import under way, ``show=trash`` the trash, and ``traces`` the set whose executions are listed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import Input, Output, State, dcc, html, set_props

from app.context import LOCATION, workspace
from app.pages.traces import actions, executions, listing, mapping
from app.pages.traces.import_card import (
    import_card,
    inside,
    next_of,
    trace_set_of,
    unfinished_import,
    upload_of,
)
from app.pages.traces.listing import View, does, nothing_yet, set_list, trash_list
from app.ui import task_card
from app.ui.basics import Node, aria, button, card, data, icon, link_button, page_head
from app.ui.links import Query
from app.ui.page import Page, Room, notify, safe_page
from app.ui.task_card import when
from core.units import format_bytes
from core.workspace.records import TaskState
from core.workspace.trace_uploads import readable, readable_suffixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash import Dash

    from core.workspace.records import TaskInfo, UploadInfo


_MAX_TASKS = 200
PICKED = "picked-upload"
"""The type in the ids of the boxes that pick waiting files."""


# Uploads: the drop zone, uploads in progress, and files that are not imported yet.
#
# The sending itself is in ``assets/js/pages/upload.js``; here is only what the server draws.


def drop_zone(limit: int) -> html.Div:
    """The drop zone for files; the button at the page's top opens the file dialog."""
    return html.Div(
        [
            icon("upload", "lg"),
            html.Div(
                [
                    html.Div("Drop trace files here", className="strong"),
                    html.Div(
                        [
                            html.Span("CSV, Parquet, JSON and the output of usual tools", title=readable()),
                            f", up to {format_bytes(limit)} each; several that belong together are joined",
                        ],
                        className="small ink3",
                    ),
                ],
                className="grow",
            ),
        ],
        id="drop",
        className="drop dropline",
        **data(max=limit, accept=",".join(readable_suffixes())),
    )


def upload_list() -> list[Node]:
    """The list of uploads in progress, and the store that reports finished ones to the server."""
    return [html.Div(id="upload-list", **aria(live="polite")), dcc.Store(id="upload-done")]


def waiting_uploads(but: str | None = None) -> list[UploadInfo]:
    """The uploaded files that no task reads."""
    space = workspace()
    unfinished = space.tasks.list(_MAX_TASKS, [TaskState.QUEUED, TaskState.RUNNING])
    excluded = {task.params.get("upload") for task in unfinished} | {but}
    return [info for info in space.uploads.list() if info.id not in excluded]


def pending(but: str | None = None) -> list[Node]:
    """The cards of files without chosen columns, and of imports with doubts."""
    uploads = waiting_uploads(but)
    sets = _sets_of_uploads() if uploads else {}
    new = [info for info in uploads if info.id not in sets]
    imported = [info for info in uploads if info.id in sets]
    cards: list[Node] = []
    if new:
        several = len(new) > 1
        rows = [_row(info, "Continue", ticked=several) for info in new]
        tools = [button("Join the ticked files", "link", "small", id="join-uploads")] if several else ()
        cards.append(
            card("Not imported yet", *rows, note="uploaded, waiting for you", tools=tools, flush=True)
        )
    if imported:
        rows = [_row(info, "Choose other columns", f"imported as “{sets[info.id]}” · ") for info in imported]
        cards.append(
            card("Imported, with doubts", *rows, note="stored so that you can import again", flush=True)
        )
    return cards


def _sets_of_uploads() -> dict[str, str]:
    """The name of the newest trace set of each upload."""
    imports = workspace().tasks.list(_MAX_TASKS, [TaskState.DONE], task_card.importing())
    sets = {task.params.get("upload"): trace_set_of(task) for task in reversed(imports)}
    return {str(upload): info.name for upload, info in sets.items() if info is not None}


def join_files(uploads: Sequence[str]) -> list[str]:
    """Join related files into one upload, and report those that do not fit; returns the new ids."""
    joined_ids, reasons = workspace().uploads.join(uploads)
    if reasons:
        notify(
            html.Ul([html.Li(reason) for reason in reasons[:4]]), "warn", title="Not all files were joined"
        )
    return joined_ids


def _row(info: UploadInfo, link_text: str, became: str = "", ticked: bool = False) -> html.Div:
    """A waiting file with its next step and history; a `ticked` one can be joined."""
    box = dmc.Checkbox(
        id={"type": PICKED, "upload": info.id}, checked=False, size="xs", **aria(label=f"Pick {info.name}")
    )
    return html.Div(
        [
            box if ticked else None,
            icon("file-text"),
            html.Div(
                [
                    html.Div(info.name, className="strong truncate"),
                    html.Div(
                        [format_bytes(info.size), f" · {became}uploaded ", when(info.created)],
                        className="small ink3",
                    ),
                ],
                className="grow",
            ),
            link_button(
                link_text,
                f"/traces?upload={info.id}",
                "arrow-right",
                "small",
                title=f"{link_text}: {info.name}",
            ),
            button(
                "Discard",
                None,
                "small quiet",
                **aria(label=f"Discard {info.name}"),
                **does("discard", info.id),
            ),
        ],
        className="item row pending",
    )


@safe_page("Traces")
def layout(**values: str) -> Node:
    """Lay the page out."""
    view = View.read(Query("", values))
    sets = html.Div(_sets(view), id="traces-sets", className="stack")
    listed = html.Div(_executions(view), id="traces-main", className="stack")
    return [
        html.Div(_head(view), id="traces-head"),
        html.Div([*_arriving(view), sets, *_adding(view), listed], className="stack"),
        *actions.plumbing(),
    ]


def _head(view: View) -> Node:
    space = workspace()
    if view.is_trash or view.upload:
        lead = "deleted trace sets" if view.is_trash else "choose the columns"
        return page_head("Traces", lead, [link_button("All trace sets", "/traces", "arrow-back-up", "small")])
    thrown = len(space.traces.list(trashed=True))
    trash = link_button(f"Trash, {thrown}", "/traces?show=trash", "trash", "small") if thrown else None
    choose = button("Choose files", "file-import", "choose-file", id="choose-file")
    acts = [choose, trash] if trash else [choose]
    return page_head("Traces", "samples of CPU and memory, execution by execution", acts)


def _arriving(view: View) -> list[Node]:
    """The form of an uploaded file, or the import under way."""
    upload, task = view.upload, view.task or unfinished_import()
    if upload:
        return [*upload_list(), mapping.mapping_view(upload, view.as_written)]
    if task:
        return [*upload_list(), import_card(task, is_known=view.traces is not None)]
    return upload_list()


def _adding(view: View) -> list[Node]:
    """The place to drop files, and the uploaded files that wait."""
    zone = [] if view.upload or view.is_trash else [drop_zone(workspace().settings.max_upload)]
    return [*zone, html.Div(_pending(view), id="traces-pending", className="stack")]


def _sets(view: View) -> list[Node]:
    """The list of stored sets, or the trash."""
    if view.upload:
        return []
    if view.is_trash:
        return [trash_list()]
    chosen = view.choice().traces
    return [] if chosen is None else [set_list(chosen.id)]


def _executions(view: View) -> list[Node]:
    """The executions of the chosen set; the first steps without any set."""
    if view.upload or view.is_trash:
        return []
    choice = view.choice()
    if choice.traces is None:
        return [] if view.task else [nothing_yet()]
    return [html.Div(executions.executions_card(choice), id="trace-executions")]


def refresh(view: View) -> None:
    """Redraw the lists; must be called in a callback."""
    set_props("traces-sets", {"children": _sets(view)})
    set_props("traces-main", {"children": _executions(view)})
    set_props("traces-pending", {"children": _pending(view)})
    set_props("traces-head", {"children": _head(view)})


def _pending(view: View) -> list[Node]:
    """The waiting files, except the visible one; folded below the sets, if there are any."""
    cards = [] if view.is_trash else pending(view.upload or upload_of(view.task))
    if not cards or view.upload or view.choice().traces is None:
        return cards
    count = len(waiting_uploads(upload_of(view.task)))
    head = html.Summary([html.B("Uploaded files"), html.Span(f" · {count:,}", className="ink3")])
    return [html.Details([head, html.Div(cards, className="stack")], className="foldcard")]


def register(app: Dash) -> None:
    """Connect the callbacks."""
    mapping.register(app)
    executions.register(app)
    actions.register(app, refresh)
    for callback, stores in ((act, "traces-act"), (show_arrival, "upload-done")):
        app.callback(
            Output(LOCATION, "search", allow_duplicate=True),
            Input(stores, "data"),
            State(LOCATION, "search"),
            prevent_initial_call=True,
        )(callback)
    app.callback(
        Output(listing.FOUND, "children"),
        Output(listing.COUNT, "children"),
        Output(listing.MORE, "hidden"),
        Output(listing.MORE, "n_clicks"),
        Input(listing.FIND, "value"),
        Input(listing.MORE, "n_clicks"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )(find)
    app.callback(
        Output(LOCATION, "search", allow_duplicate=True),
        Input("join-uploads", "n_clicks"),
        State({"type": PICKED, "upload": dash.ALL}, "checked"),
        State({"type": PICKED, "upload": dash.ALL}, "id"),
        prevent_initial_call=True,
    )(join_picked)
    app.callback(
        Output("import-card", "children"),
        Output("import-tick", "disabled"),
        Output("import-made", "data"),
        Input("import-tick", "n_intervals"),
        State("import-task", "data"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )(follow)
    app.callback(
        Output(LOCATION, "search", allow_duplicate=True),
        Input("import-made", "data"),
        prevent_initial_call=True,
    )(choose)


def act(action: dict[str, Any] | None, search: str | None) -> Any:
    """Carry out a button's action on the lists; returns the address to go to."""
    view = View.read(Query.parse("", search))
    return actions.act(action, view, refresh) if action else dash.no_update


def find(words: str | None, clicks: int, search: str | None) -> tuple[Node, str, bool, int]:
    """The sets that have the words; a new search begins with the first of them."""
    chosen = View.read(Query.parse("", search)).choice().traces
    clicks = clicks if dash.ctx.triggered_id == listing.MORE else 0
    return *listing.found_sets(words or "", clicks, chosen.id if chosen else None), clicks


def show_arrival(arrival: dict[str, Any] | None, search: str | None) -> Any:
    """Show the form of an uploaded file, with related files joined; list it if another form is open."""
    if not arrival:
        return dash.no_update
    view, upload_ids = View.read(Query.parse("", search)), list(arrival["ids"])
    if len(upload_ids) > 1:
        upload_ids = join_files(upload_ids)
    if not view.upload:
        return f"?upload={upload_ids[0]}"
    set_props("traces-pending", {"children": _pending(view)})
    return dash.no_update


def join_picked(clicks: int | None, checked: list[bool], ids: list[dict[str, str]]) -> Any:
    """Join the selected waiting files."""
    uploads = [one["upload"] for one, yes in zip(ids, checked, strict=True) if yes]
    if not clicks:
        return dash.no_update
    if len(uploads) < 2:
        notify("Tick two or more of them.", "info", title="Nothing to join yet")
        return dash.no_update
    return f"?upload={join_files(uploads)[0]}"


def follow(_ticks: int, task_id: str, search: str | None) -> tuple[Any, bool, Any]:
    """Follow an import; when it is done, its set becomes the chosen one."""
    task = workspace().tasks.get(task_id)
    if not task.state.ended:
        return inside(task), False, dash.no_update
    set_props("changed", {"data": task.id})
    next_task = next_of(task)
    if next_task is not None and not next_task.state.ended:
        return inside(task), False, dash.no_update
    if next_task is not None and next_task.state is TaskState.DONE and _goes_on(task):
        path, _, query = (task_card.result_link(next_task) or "/traces").partition("?")
        set_props(LOCATION, {"pathname": path, "search": f"?{query}"})
        return inside(task), True, dash.no_update
    return inside(task), True, _address_after_import(task, View.read(Query.parse("", search)))


def _goes_on(task: TaskInfo) -> bool:
    """Whether the timeline may open by itself: not if the import has problems."""
    info = trace_set_of(task)
    return info is not None and workspace().traces.report(info.id).faultless


def choose(trace_set_id: str | None) -> Any:
    """Choose the set through a store of the page: an answer that comes after leaving it changes nothing."""
    return trace_set_id or dash.no_update


def _address_after_import(task: TaskInfo, view: View) -> Any:
    """The address of the imported set, unless the user has moved on."""
    info = trace_set_of(task)
    if info is not None and view.task == task.id:
        return f"?task={task.id}&traces={info.id}"
    refresh(replace(view, task=task.id))
    return dash.no_update


PAGE = Page(
    "/traces",
    "Traces",
    "database",
    1,
    layout,
    register,
    routes=(executions.blueprint,),
    count=lambda: len(workspace().traces.list()),
    findable=lambda: [("Import traces", "action", {}), ("Trash of trace sets", "action", {"show": "trash"})],
    outline=(Room((86,)), Room((110,)), Room((480,))),
)
