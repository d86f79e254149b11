"""The placeholder of a page until it has loaded: frame, title, and the outline of its cards.

It is part of the document itself, so it shows before any script runs. It has no text in the
document (the style sheet writes it), is hidden from assistive technology, and goes once the page has loaded.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import dash
from flask import request

from app.ui.basics import Node, button, card, empty, link_button, page_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flask import Flask
    from werkzeug.wrappers import Response

    from app.ui.page import Page, Room


TITLE = "Page not found (404)"
_ANY = "/<path:path>"
"""Dash's rule for paths without a route of their own."""
_MODULE = "not_found_404"
"""The name of this page in Dash's registry."""


def layout(**_query: str) -> list[Node]:
    """Lay the page out, whatever the address names."""
    ways = [
        link_button("Back to the overview", "/", "layout-dashboard", "primary"),
        button("Search", "search", "open-search"),
    ]
    text = "It may be mistyped or outdated. Nothing was changed."
    return [page_head(TITLE), card(None, empty("link", "There is no page at this address", text, ways))]


def register(server: Flask, pages: Sequence[Page]) -> None:
    """Register the page, and answer with its status wherever no page is."""
    dash.register_page(
        _MODULE, path="/not-found", name=TITLE, title="Page not found · PhaseDock", layout=layout
    )
    paths = {page.path.strip("/") for page in pages}

    @server.after_request
    def mark(response: Response) -> Response:
        of_any = request.url_rule is not None and request.url_rule.rule == _ANY
        if of_any and request.path.strip("/") not in paths:
            response.status_code = 404
        return response


def page_at(pages: Sequence[Page], path: str) -> Page | None:
    """The page at a path, or None."""
    return next((page for page in pages if page.path.strip("/") == path.strip("/")), None)


def title_at(pages: Sequence[Page], path: str) -> str:
    """The title of the page at a path in the browser's tab."""
    page = page_at(pages, path)
    return f"{page.name if page else 'Page not found'} · PhaseDock"


def first_look(pages: Sequence[Page], path: str) -> str:
    """The placeholder of the page at a path, as HTML."""
    page = page_at(pages, path)
    name = page.name if page else TITLE
    rooms = "".join(map(_row, page.outline if page else ()))
    mark = f'<img src="/assets/logo.svg" alt="">{_text("PhaseDock")}'
    return (
        '<div id="first-look" aria-hidden="true">'
        f'<div class="rail"><div class="brand">{mark}</div><div class="nav">{_rail(pages, page)}</div></div>'
        f'<div class="topbar"><div class="brand only-phone">{mark}</div></div>'
        f'<div class="main"><div class="pagehead">{_text(name, "h1")}</div>'
        f'<div class="stack">{rooms}</div></div></div>'
    )


def _text(words: str, kind: str = "") -> str:
    return f'<span class="{kind}" data-text="{escape(words)}"></span>'


def _rail(pages: Sequence[Page], current: Page | None) -> str:
    parts = []
    group = pages[0].group
    for page in pages:
        parts.append("<hr>" if page.group != group else "")
        group = page.group
        state = "active" if page is current else ""
        icon = f'<span class="icon i-{page.icon}"></span>'
        parts.append(f'<a class="{state}">{icon}{_text(page.name, "label")}</a>')
    return "".join(parts)


def _row(row: Room) -> str:
    cells = "".join(f'<div class="card skel" style="height:{height}px"></div>' for height in row.heights)
    return f'<div class="{row.class_name}">{cells}</div>'
