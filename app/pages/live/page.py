"""Live: the containers of an engine, what they use of what they may, and what steers them.

The page asks one small question per tick (``/api/live/<engine>``) and draws the answer in the browser
(``assets/js/pages/live*.js``); panels of text are drawn by the server, when their content has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import orjson
from flask import Blueprint, Response, request

from app.api import file_answer
from app.context import workspace
from app.pages.live import callbacks
from app.pages.live.layout import body, plumbing
from app.pages.live.state import PATH, Queue
from app.pages.live.tick import ALL, Asked, panels_of, tick
from app.ui.basics import Node, empty, link_button, page_head
from app.ui.engines import anything_attached, beside_demo, engine_named
from app.ui.errors import safe_page
from app.ui.links import Query
from app.ui.page import Page, Room
from core.csv_export import csv_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dash import Dash


blueprint = Blueprint("live", __name__)
_HISTORY = ("time", "cpu", "cpu_limit", "memory", "memory_limit", "loss", "throttled")
_HEAD = (
    *("container", "time_unix_s", "cpu_cores", "cpu_limit_cores"),
    *("memory_bytes", "memory_limit_bytes", "loss", "throttled_share"),
)


@blueprint.get("/api/live/<engine>")
def live_tick(engine: str) -> Response:
    """What is new on an engine since the page asked last."""
    space = workspace()
    view = space.live.view.look(engine, request.args.get("model") or None)
    queue = Queue.of(engine)
    panels = panels_of(
        view,
        control=space.live.engines.may_change(engine),
        working=space.tasks.worker().alive,
        beside=beside_demo(view.engine),
        queue=queue,
    )
    answer = tick(space.live, view, Asked.read(request.args), panels, queue)
    body = orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, mimetype="application/json", headers={"Cache-Control": "no-store"})


@blueprint.get("/api/live/<engine>/history.csv")
def live_history(engine: str) -> Response:
    """The last ten minutes of some containers, or of all (``ids=all``), one row per sample."""
    live = workspace().live
    names = {row.id: row.name for row in live.view.glance(engine).rows}
    asked = request.args.get("ids", ALL)
    ids = list(names) if asked == ALL else [each for each in asked.split(",") if each in names]
    found = live.view.history(engine, ids)

    def rows() -> Iterator[tuple[object, ...]]:
        for each, history in found.items():
            lines = [getattr(history, name) for name in _HISTORY]
            for i in range(len(history.time)):
                yield names[each], *("" if np.isnan(line[i]) else float(line[i]) for line in lines)

    return file_answer(csv_lines(_HEAD, rows()), f"{engine}-last-minutes.csv")


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
    routes=(blueprint,),
    alert=_attached,
    keys=(("P", "On Live: pause or resume; Enter on a row: inspect or change the container"),),
    outline=(Room((92,) * 4, "grid cols-4"), Room((480,))),
)
