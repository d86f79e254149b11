"""What stands at an address that no page has: that it is wrong, and the ways back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash
from flask import request

from app.ui.basics import Node, button, card, empty, link_button, page_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flask import Flask
    from werkzeug.wrappers import Response

    from app.ui.page import Page

TITLE = "Page not found (404)"
_ANY = "/<path:path>"
"""Dash's rule for whatever no other route answers."""
_MODULE = "not_found_404"
"""The name by which Dash knows this page from others."""


def layout(**_query: str) -> list[Node]:
    """Lay the page out; what the address asks for does not matter."""
    ways = [
        link_button("Back to the overview", "/", "layout-dashboard", "primary"),
        button("Search", "search", "open-search"),
    ]
    text = "It may be mistyped, or lead to something that has moved. Nothing of yours was changed."
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
