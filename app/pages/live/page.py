"""Live: the containers of an engine, what they use of what they may, and what steers them.

The page asks one small question per tick (``/api/live/<engine>``) and draws the answer in the browser
(``assets/live*.js``); panels of words are drawn by the server when what they are about has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash

from app.errors import safe_page
from app.pages.live import callbacks as live_callbacks
from app.pages.live.layout import body, plumbing
from app.pages.live.state import PATH, engine_named
from app.ui.basics import Node, empty, link_button, page_head
from app.ui.links import Query

if TYPE_CHECKING:
    from dash import Dash

__all__ = ["layout", "live_exports", "register"]


@safe_page("Live")
def layout(**values: str) -> Node:
    """Lay the page out."""
    query = Query(PATH, values)
    engine = engine_named(query.get("engine"))
    if engine is None:
        text = "Name one in PHASEDOCK_DOCKER and start PhaseDock again, or use the simulator."
        ways = [link_button("Use the simulator", "/runs", "player-play")]
        return [page_head("Live"), empty("activity", "No engine is named", text, ways), *plumbing()]
    return body(engine, query)


def register(app: Dash) -> None:
    """Put the page into the application."""
    dash.register_page(__name__, path=PATH, name="Live", title="Live · PhaseDock", layout=layout)
    live_callbacks.register(app)
