"""Live: the containers of an engine, their usage and limits, and the policy that sets them.

The page asks one small question per tick (``/api/live/<engine>``) and draws the answer in the browser
(``assets/js/pages/live*.js``); panels of text are drawn by the server, when their content has changed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from hashlib import blake2s
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from flask import Blueprint, Response, request

from app.context import workspace
from app.pages.live import callbacks
from app.pages.live.layout import body, plumbing
from app.pages.live.state import (
    NO_QUEUE,
    PATH,
    LiveAddress,
    Queue,
    capabilities,
    is_control,
    phase_names,
    signatures,
)
from app.ui.basics import Node, empty, link_button, list_weight, page_head
from app.ui.engines import anything_attached, real_engines_beside_demo
from app.ui.links import Query
from app.ui.page import Page, Room, safe_page
from app.ui.tables import table_route
from core.errors import PhaseDockError
from core.scheduling.actions import list_word
from core.tables import Table
from core.traces.censoring import PRESSURE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt
    from dash import Dash

    from app.pages.live.state import Beside
    from core.application import Live
    from core.sampling.values import ContainerRow, History, LiveView


SPAN = 600.0
"""Seconds that the page shows at most."""
SPARK, CHART = 5, 2
"""Widths of a bucket in sparklines and in charts, seconds."""
_STEPS = frozenset(("cpu_limit", "memory_limit"))


# Histories in buckets of a few seconds, on a clock that all containers and all pages share.
#
# A bucket's number is its time divided by its width, so the page can ask again from any moment, write over
# the bucket that was not full then, and append the rest: nothing is lost and nothing repeated.


def number_of(seconds: float, width: int) -> int:
    """The number of the bucket that contains a time."""
    return int(seconds // width)


def first_bucket(since: float | None, at: float, width: int) -> int:
    """The first bucket to send: that of `since`, which may have been partial, at most `SPAN` before `at`."""
    oldest = number_of(at - SPAN, width) + 1
    return oldest if since is None else min(max(number_of(since, width), oldest), number_of(at, width))


def bucketed(history: History, name: str, first: int, count: int, width: int) -> npt.NDArray[np.float32]:
    """One line of a history in buckets."""
    buckets = np.full(count, np.nan, np.float32)
    values = getattr(history, name)
    at = np.floor_divide(history.time, width).astype(np.int64) - first
    use = (at >= 0) & (at < count) & np.isfinite(values)
    if not use.any():
        return buckets
    at, values = at[use], values[use]
    if name in _STEPS:
        buckets[at] = values  # in order of time, so the last one wins
        return buckets
    sizes = np.bincount(at, minlength=count)
    sums = np.bincount(at, weights=values, minlength=count)
    buckets[sizes > 0] = sums[sizes > 0] / sizes[sizes > 0]
    return buckets


def table(
    histories: Iterable[History | None], names: Sequence[str], first: int, count: int, width: int
) -> dict[str, Any]:
    """Several lines of several histories, in the form that the page's script reads."""
    all_histories = list(histories)
    empty_line = np.full(count, np.nan, np.float32)
    lines = {
        name: [
            empty_line if each is None else bucketed(each, name, first, count, width)
            for each in all_histories
        ]
        for name in names
    }
    return {"first": first, "width": width, **lines}


ALL = "all"
_COLUMNS = (
    *("cpu", "cpu_limit", "memory", "memory_limit", "throttled", "loss", "growth", "phase"),
    *("io", "network"),
)
_LINES = ("cpu", "cpu_limit", "memory", "memory_limit", "loss")
_MARGIN = 5.0


# What the page of running containers is sent at each tick: little, and only what it does not have yet.
#
# Names, images and lists are sent once, and again when they change (`shape`); usage and limits as columns in
# the order of those rows; lines of sparklines and charts from the last bucket that the page has.
# Panels drawn by the server have a signature; when it changes, the page requests them.


@dataclass(frozen=True, slots=True)
class TickRequest:
    """A tick's request: which values the page has already."""

    #: The moment of the sample that it got last, or None for nothing.
    since: float | None = None
    #: The signature of the rows that it has.
    shape: str = ""
    #: The ids that it draws charts of.
    charts: tuple[str, ...] = ()
    #: Whether it needs these charts from their beginning.
    fresh: bool = False

    @classmethod
    def read(cls, values: Mapping[str, str]) -> TickRequest:
        """Read the parameters of an address; an invalid one counts as missing."""
        try:
            since = float(values.get("since", ""))
        except ValueError:
            since = float("nan")
        charts = tuple(each for each in values.get("charts", "").split(",") if each)
        valid_since = since if since == since and abs(since) < 1e12 else None  # noqa: PLR0124 - not a number
        return cls(valid_since, values.get("shape", ""), charts, values.get("fresh") == "1")


def digest(value: object) -> str:
    """A short digest of a value: equal values have equal digests."""
    return blake2s(repr(value).encode(), digest_size=6).hexdigest()


def static_columns(row: ContainerRow) -> dict[str, Any]:
    """A container's values that rarely change."""
    return {
        "id": row.id,
        "name": row.name,
        "image": row.image,
        "picked": row.picked and not row.labelled,
        "state": row.state,
        "list": list_word(row.label) if row.label else None,
        "letters": row.label,
        "weight": list_weight(row.label or ""),
        "held": row.held,
        "malleable": row.malleable,
        "why": row.loss_why,
        "wrong": row.wrong,
        "unreadable": row.unreadable,
        "running": row.is_running,
        "trouble": row.trouble,
        "ended": row.ended,
        "started": row.started,
    }


def tick(
    live: Live, view: LiveView, tick_request: TickRequest, panels: Mapping[str, str], queue: Queue = NO_QUEUE
) -> dict[str, Any]:
    """The answer to one tick."""
    shown = (*view.rows, *view.stopped)
    rows = [static_columns(row) for row in shown]
    shape = digest(rows)
    resumes = shape == tick_request.shape
    attached, recording = view.attached, view.recording
    return {
        "now": time.time(),
        "at": view.at,
        "state": str(view.engine.state),
        "panels": dict(panels),
        "able": capabilities(view, queue),
        "shape": shape,
        "rows": None if resumes else rows,
        "columns": {name: [getattr(row, name) for row in shown] for name in _COLUMNS},
        "totals": _totals(view),
        "phase_names": {str(phase): name for phase, name in phase_names(view).items()},
        "steered": is_control(attached) or not live.engines.may_change(view.engine.name),
        "wake": attached.next_wake if attached else None,
        "recording": [recording.samples, recording.containers, recording.bytes] if recording else None,
        **(_lines(live, view, tick_request, resumes) if view.at is not None else {}),
    }


def _totals(view: LiveView) -> dict[str, Any]:
    totals = view.totals
    names = ("cpu", "cores", "memory", "memory_total", "throttled", "containers")
    return {name: getattr(totals, name) for name in names} | {
        "pressure": totals.pressure if (totals.pressure or 0.0) > PRESSURE else None,
        "labels": [(list_word(label), n) for label, n in sorted(totals.labels, key=_from_heavy_to_light)],
        "others": view.others,
    }


def _from_heavy_to_light(count: tuple[str, int]) -> int:
    return ("heavy", "middle", "light").index(list_weight(count[0]))


def _lines(live: Live, view: LiveView, tick_request: TickRequest, resumes: bool) -> dict[str, Any]:
    """The lines missing on the page: sparklines of all rows, and the open charts."""
    at = float(view.at or 0.0)
    since = tick_request.since if resumes else None
    ids = [row.id for row in (*view.rows, *view.stopped)]
    engine = view.engine.name
    sparks = _since(
        live.view.history(engine, ids, _seconds(since, at)), ids, ("cpu", "loss"), since, at, SPARK
    )
    together = {"": live.view.totals_history(engine, _seconds(since, at))}
    values = {
        "sparks": sparks,
        "together": _since(together, [""], ("cpu", "memory", "throttled"), since, at, SPARK),
    }
    charted = ids if tick_request.charts == (ALL,) else [each for each in ids if each in tick_request.charts]
    if charted:
        start = None if tick_request.fresh else since
        histories = live.view.history(engine, charted, _seconds(start, at))
        values["charts"] = {"ids": charted, **_since(histories, charted, _LINES, start, at, CHART)}
    return values


def _seconds(since: float | None, at: float) -> float:
    """The seconds to read back: to `since`, and to the start of its bucket."""
    return SPAN + _MARGIN if since is None else min(max(at - since, 0.0) + 2 * _MARGIN, SPAN + _MARGIN)


def _since(
    histories: Mapping[str, History],
    ids: Sequence[str],
    names: Sequence[str],
    since: float | None,
    at: float,
    width: int,
) -> dict[str, Any]:
    first, last = first_bucket(since, at, width), number_of(at, width)
    # the history may be newer than the view, and its times fall where a clock was set back
    starts = [float(history.time.min()) for history in histories.values() if len(history.time)]
    if starts:
        first = max(first, min(number_of(min(starts), width), last + 1))
    count = last - first + 1
    return table([histories.get(each) for each in ids], names, first, count, width)


def panels_of(
    view: LiveView, *, control: bool, working: bool, beside: Beside = None, queue: Queue = NO_QUEUE
) -> dict[str, str]:
    """The signatures of the panels that the server draws; arguments as for `notices`."""
    values = signatures(view, control=control, working=working, beside=beside, queue=queue)
    return {name: digest(content) for name, content in values.items()}


blueprint = Blueprint("live", __name__)
_LINES_IN_FILES = {
    "time": "time_unix_s", "cpu": "cpu_cores", "cpu_limit": "cpu_limit_cores", "memory": "memory_bytes",
    "memory_limit": "memory_limit_bytes", "loss": "loss", "throttled": "throttled_share",
}  # fmt: skip


@blueprint.get("/api/live/<engine>")
def live_tick(engine: str) -> Response:
    """The changes on an engine since the page's last tick."""
    space = workspace()
    view = space.live.view.request_view(engine, request.args.get("model") or None)
    queue = Queue.of(engine)
    panels = panels_of(
        view,
        control=space.live.engines.may_change(engine),
        working=space.tasks.worker().alive,
        beside=real_engines_beside_demo(view.engine),
        queue=queue,
    )
    answer = tick(space.live, view, TickRequest.read(request.args), panels, queue)
    body = orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, mimetype="application/json", headers={"Cache-Control": "no-store"})


@table_route(blueprint, "/api/live/<engine>/history.csv")
def live_history(engine: str) -> Table:
    """The last ten minutes of some containers, or of all (``ids=all``), one row per sample."""
    live = workspace().live
    view = live.view.peek(engine)
    names = {row.id: row.name for row in (*view.rows, *view.stopped)}
    chosen_ids = request.args.get("ids", ALL)
    ids = list(names) if chosen_ids == ALL else [each for each in chosen_ids.split(",") if each in names]
    histories = live.view.history(engine, ids)

    def rows() -> Iterator[tuple[object, ...]]:
        for each, history in histories.items():
            lines = [getattr(history, name) for name in _LINES_IN_FILES]
            for i in range(len(history.time)):
                yield names[each], *(None if np.isnan(line[i]) else float(line[i]) for line in lines)

    return Table.file_only(f"{engine}-last-minutes", ("container", *_LINES_IN_FILES.values()), rows())


@blueprint.get("/api/live/<engine>/log")
def live_log(engine: str) -> Response:
    """The last lines of the log of a container (``id``), oldest first, or a sentence that says why not."""
    try:
        lines = [text for _, text in workspace().live.view.logs(engine, request.args.get("id", ""))]
        answer: dict[str, Any] = {"lines": lines}
    except PhaseDockError as error:
        answer = {"lines": [], "why": f"{error.message} {error.hint}".strip()}
    return Response(orjson.dumps(answer), mimetype="application/json", headers={"Cache-Control": "no-store"})


@safe_page("Live")
def layout(**values: str) -> Node:
    """Lay the page out."""
    address = LiveAddress.read(Query(PATH, values))
    if address.engine is None:
        text = "Add one to PHASEDOCK_DOCKER and restart PhaseDock, or use the simulator."
        ways = [link_button("Use the simulator", "/runs", "player-play")]
        return [page_head("Live"), empty("activity", "No engine is configured", text, ways), *plumbing()]
    return body(address.engine, address)


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
