"""Sending files: the drop zone, what is on its way, and what has arrived but is not imported yet.

The sending itself is in ``assets/js/pages/upload.js``; here is only what the server draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import dcc, html

from app.context import workspace
from app.pages.traces.import_card import trace_set_of
from app.pages.traces.listing import does
from app.ui import task_card
from app.ui.basics import Node, aria, button, card, data, icon, link_button
from app.ui.errors import notify
from app.ui.task_card import when
from core.units import format_bytes
from core.workspace.records import TaskState
from core.workspace.trace_uploads import readable, readable_suffixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.workspace.records import UploadInfo

_MOST_TASKS = 200
PICKED = "picked-upload"
"""The type in the ids of the boxes that pick waiting files."""


def drop_zone(limit: int) -> html.Div:
    """The place to drop files on, with the button that does the same."""
    return html.Div(
        [
            icon("upload", "lg"),
            html.Div(
                [
                    html.Div("Drop trace files here", className="strong"),
                    html.Div(
                        f"{readable()}, up to {format_bytes(limit)} each; "
                        "several at once are joined where they belong together",
                        className="small ink3",
                    ),
                ],
                className="grow",
            ),
            button("Choose files", "file-import", "choose-file", id="choose-file"),
        ],
        id="drop",
        className="drop dropline",
        **data(max=limit, accept=",".join(readable_suffixes())),
    )


def upload_list() -> list[Node]:
    """Where the browser lists the files that it is sending, and what tells the server of one that arrived."""
    return [html.Div(id="upload-list", **aria(live="polite")), dcc.Store(id="upload-done")]


def waiting_uploads(but: str | None = None) -> list[UploadInfo]:
    """The files that have arrived and that no task is reading."""
    space = workspace()
    unfinished = space.tasks.list(_MOST_TASKS, [TaskState.QUEUED, TaskState.RUNNING])
    taken = {task.params.get("upload") for task in unfinished} | {but}
    return [info for info in space.uploads.list() if info.id not in taken]


def pending(but: str | None = None) -> list[Node]:
    """The files that wait for their columns to be chosen, and those whose import asked to be looked at."""
    found = waiting_uploads(but)
    sets = _sets_of_uploads() if found else {}
    new = [info for info in found if info.id not in sets]
    again = [info for info in found if info.id in sets]
    cards: list[Node] = []
    if new:
        several = len(new) > 1
        rows = [_row(info, "Continue", ticked=several) for info in new]
        tools = [button("Join the ticked files", "link", "small", id="join-uploads")] if several else ()
        cards.append(
            card("Not imported yet", *rows, note="uploaded, waiting for you", tools=tools, flush=True)
        )
    if again:
        rows = [_row(info, "Choose other columns", f"imported as “{sets[info.id]}” · ") for info in again]
        cards.append(
            card("Imported, with doubts", *rows, note="kept so that you can import again", flush=True)
        )
    return cards


def _sets_of_uploads() -> dict[str, str]:
    """The name of the trace set that was last made of each upload."""
    done = workspace().tasks.list(_MOST_TASKS, [TaskState.DONE], task_card.importing())
    found = {task.params.get("upload"): trace_set_of(task) for task in reversed(done)}
    return {str(upload): info.name for upload, info in found.items() if info is not None}


def joined(uploads: Sequence[str]) -> list[str]:
    """Make one upload of files that belong together, and say which do not and why; the new ids."""
    found, reasons = workspace().uploads.join(uploads)
    if reasons:
        notify(
            html.Ul([html.Li(reason) for reason in reasons[:4]]), "warn", title="Not all files were joined"
        )
    return found


def _row(info: UploadInfo, way: str, became: str = "", ticked: bool = False) -> html.Div:
    """A file with the way on, and what became of it before; those that can be `ticked` can be joined."""
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
                way,
                f"/traces?upload={info.id}",
                "arrow-right",
                "small",
                title=f"{way}: {info.name}",
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
