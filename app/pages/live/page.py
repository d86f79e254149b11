"""Live: the containers of an engine, what they use of what they may, and what steers them.

The page asks one small question per tick (``/api/live/<engine>``) and draws the answer in the browser
(``assets/js/pages/live*.js``); panels of text are drawn by the server, when their content has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.pages.live import callbacks, exports
from app.pages.live.layout import body, plumbing
from app.pages.live.state import PATH
from app.ui.basics import Node, empty, link_button, page_head
from app.ui.engines import anything_attached, engine_named
from app.ui.errors import safe_page
from app.ui.links import Query
from app.ui.page import Page, Room

if TYPE_CHECKING:
    from dash import Dash


@safe_page("Live")
def layout(**values: str) -> Node:
    """Lay the page out."""
    query = Query(PATH, values)
    engine = engine_named(query.get("engine"))
    if engine is None:
        text = "Add one to PHASEDOCK_DOCKER and restart PhaseDock, or use the simulator."
        ways = [link_button("Use the simulator", "/runs", "player-play")]
        return [page_head("Live"), empty("activity", "No engine is configured", text, ways), *plumbing()]
    return body(engine, query)


def register(app: Dash) -> None:
    """Connect the callbacks."""
    callbacks.register(app)


def _attached() -> str | None:
    return "A policy is attached" if anything_attached() else None


PAGE = Page(
    PATH,
    "Live",
    "activity",
    2,
    layout,
    register,
    routes=(exports.blueprint,),
    alert=_attached,
    keys=(("P", "On Live: pause or resume; Enter on a row: inspect or change the container"),),
    outline=(Room((92,) * 4, "grid cols-4"), Room((480,))),
)
