"""Help: keys, the server's settings with their present values, and the documents beside the program."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import dash_mantine_components as dmc
from dash import html
from flask import Blueprint, Response

from app.context import workspace
from app.ui.basics import Node, aria
from app.ui.tables import html_table
from core.config import SETTINGS, shown_value
from core.errors import NotFoundError
from core.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.ui.page import Page
    from core.config import Settings

PATH, OPENS = "/docs/", "#help"
"""Where documents are served, and the address of a hit that opens the window."""
DOCUMENTS = Path(__file__).resolve().parents[2] / "docs"
_SHORTCUTS = (
    ("Ctrl K", "Search, or jump to a page, a trace set, a model, an experiment or an execution"),
    ("?", "Show keys, server settings and documents"),
    ("Esc", "Close the open window"),
)
WHERE = "Set in the environment of phasedock serve, then restart it."
blueprint = Blueprint("help", __name__)


class SearchHit(NamedTuple):
    """One hit of a search: icon, name, kind, and address."""

    icon: str
    name: str
    kind: str
    href: str


def hits() -> list[SearchHit]:
    """What a search finds of help: the window, each server setting with its value, and each document."""
    settings = workspace().settings
    return [
        SearchHit("help-circle", "Help: keys, server settings and documents", "help", OPENS),
        *(
            SearchHit("settings", f"{row.name}: {shown_value(row, settings)}", "server setting", OPENS)
            for row in SETTINGS
        ),
        *(SearchHit("file-text", title, "document", f"{PATH}{name}") for name, title in documents().items()),
    ]


@cache
def documents() -> dict[str, str]:
    """The title of each document by its path in ``docs/``; empty where they are not beside the program."""
    files = sorted(DOCUMENTS.rglob("*.md"))
    return {
        each.relative_to(DOCUMENTS).as_posix(): each.read_text("utf-8").partition("\n")[0].lstrip("# ")
        for each in files
    }


@blueprint.get(f"{PATH}<path:name>")
def document(name: str) -> Response:
    """A document as plain text.

    Raises NotFoundError if there is none of this path.
    """
    if name not in documents():
        raise NotFoundError("There is no such document.", "Look for one in the window of help.")
    return Response((DOCUMENTS / name).read_text("utf-8"), mimetype="text/plain")


def window(pages: Sequence[Page], settings: Settings) -> dmc.Modal:
    """The window, closed."""
    keys = [*_SHORTCUTS, *(key for page in pages for key in page.keys)]
    links = [
        html.Li(html.A(title, href=f"{PATH}{name}", className="link", target="_blank"))
        for name, title in documents().items()
    ]
    return dmc.Modal(
        id="help",
        title="Help",
        size="lg",
        closeButtonProps=aria(label="Close help"),
        children=[
            html.H3("Keys"),
            html.Div(
                [part for key, text in keys for part in (html.Kbd(key), html.Span(text))], className="kbdlist"
            ),
            *_settings(settings),
            *([html.H3("Documents"), html.Ul(links, className="doclist")] if links else []),
        ],
    )


def _settings(settings: Settings) -> list[Node]:
    columns = (
        Column("name", "Variable"),
        Column("now", "Now", value=lambda row: shown_value(row, settings)),
        Column("meaning", "Meaning"),
    )
    table = html_table(
        Table("settings", columns, SETTINGS),
        "Server settings",
        cells={
            "name": lambda row: html.Code(row.name),
            "now": lambda row: html.B(shown_value(row, settings)),
        },
    )
    return [html.H3("Server settings"), html.P(WHERE, className="small ink2"), table]
