"""The panel that records running containers into a trace set."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import dcc, html

from app.context import workspace
from app.figures.live import history_figure
from app.pages.live.state import does
from app.ui.basics import Node, aria, button, card, data, icon, state_badge
from app.ui.engines import is_demo
from app.ui.forms import ORDER
from core.sampling.values import FIELDS, History
from core.units import format_bytes

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.sampling.values import LiveView, Recording


MINUTES = 600
"""Seconds that every chart reaches back, remembered or not."""
RANGES = {
    "10 min": MINUTES, "1 h": 3600, "6 h": 21_600, "24 h": 86_400, "7 days": 604_800, "30 days": 2_592_000
}  # fmt: skip
"""Lengths of the history that can be shown, in seconds."""
_LINES = ("cpu", "cpu_limit", "memory", "memory_limit", "loss", "throttled")


def ranges(engine: str) -> list[dict[str, str]]:
    """Options for the length of the history; the last one is all of it."""
    since = workspace().live.view.remembered(engine).since
    reach = 0.0 if since is None else time.time() - since
    shorter = [0, *RANGES.values()]
    reachable = [name for name, below in zip(RANGES, shorter, strict=False) if below < max(reach, 1.0)]
    return [{"value": str(RANGES[name]), "label": name} for name in reachable]


def choice(engine: str) -> Node:
    """The control for the length of the history; empty if it is ten minutes or less."""
    reachable = ranges(engine)
    if len(reachable) < 2:
        return None
    return dmc.SegmentedControl(
        id="live-past-range",
        value=str(MINUTES),
        data=reachable,
        size="xs",
        **aria(label="Length of the chart"),
    )


def history_text(engine: str) -> str:
    """The start and disk usage of an engine's history; empty without one."""
    remembered = workspace().live.view.remembered(engine)
    if remembered.since is None:
        return ""
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(remembered.since))
    return f"History since {since}, {format_bytes(float(remembered.bytes))} on disk."


def save_button(engine: str) -> Node:
    """The button that makes a trace set of the shown history."""
    if workspace().live.view.remembered(engine).since is None:
        return None
    return button("Make a trace set", "database", "small", id="live-past-keep")


def figure(engine: str, container: str, name: str, seconds: int) -> go.Figure | None:
    """A container's chart over the last `seconds`; None without samples."""
    history = history_of(engine, container, seconds)
    return None if history is None or not len(history.time) else history_figure(history, name)


def history_of(engine: str, container: str, seconds: int) -> History | None:
    """A container's use over the last seconds."""
    live = workspace().live
    if seconds <= MINUTES:
        return live.view.history(engine, [container]).get(container)
    now = time.time()
    past = live.view.past(engine, [container], now - seconds, now).get(container)
    if past is None:
        return None
    lines: dict[str, Any] = {line: past.values[:, FIELDS.index(line)] for line in _LINES}
    return History(past.time, **lines)


def keep(engine: str, name: str, seconds: int, container: str | None = None) -> str:
    """Make a trace set of the last so many seconds of a container, or of all; returns the task's id."""
    now = time.time()
    ids = None if container is None else [container]
    return workspace().live.recordings.keep_past(engine, name, now - seconds, now, ids)


def called(name: str, seconds: int) -> str:
    """The name of such a trace set."""
    return f"{name}, last {next(each for each, value in RANGES.items() if value == seconds)}"


NOW = "now"


def panel(view: LiveView) -> Node:
    """The card of the recording."""
    return _recording(view.recording) if view.recording else _form(view)


def _called(view: LiveView) -> str:
    return "Demo replay" if is_demo(view.engine) else view.engine.name


def default_name(engine: str, start: float | None = None) -> str:
    """The suggested name of a recording."""
    return f"{engine} {time.strftime('%Y-%m-%d %H:%M', time.localtime(start))}"


def _form(view: LiveView) -> html.Section:
    models = [{"value": each.id, "label": each.name} for each in workspace().models.list()]
    parts: list[Node] = [
        dmc.TextInput(id="live-record-name", label="Name", value=default_name(_called(view)), size="xs"),
    ]
    parts.append(_from(view))
    if models:
        parts.append(
            dmc.Select(
                id="live-record-model",
                label="Phases by model",
                description="Phase labels are recorded as well.",
                placeholder="No model",
                data=models,
                value=None,
                clearable=True,
                size="xs",
                inputWrapperOrder=ORDER,
                rightSection=icon("selector", "sm"),
            )
        )
    else:
        parts.append(dmc.Select(id="live-record-model", data=[], display="none"))
    parts.append(
        button("Record", "player-record", "", id="live-record-start", disabled=not view.rows),
    )
    note = "CPU, memory, I/O, loss"
    return card("Record", html.Div(parts, className="recordform"), note=note)


def _from(view: LiveView) -> Node:
    """Whether to record from now on, or to cut a stretch of the history."""
    reachable = ranges(view.engine.name)
    now = {"value": NOW, "label": "From now on"}
    last = [{"value": each["value"], "label": f"The last {each['label']}"} for each in reachable]
    return dmc.Select(
        id="live-record-from",
        label="What",
        description=history_text(view.engine.name),
        data=[now, *last],
        value=NOW,
        allowDeselect=False,
        size="xs",
        inputWrapperOrder=ORDER,
        rightSection=icon("selector", "sm"),
        display=None if history_text(view.engine.name) else "none",
    )


def _recording(recording: Recording) -> html.Section:
    facts = (
        ("Samples", f"{recording.samples:,}", "samples"),
        ("Containers", f"{recording.containers:,}", "recorded"),
        ("On disk", format_bytes(float(recording.bytes)), "bytes"),
    )
    pairs = [
        html.Div([html.Dt(label), html.Dd(value, className="num", **data(moving=moving))])
        for label, value, moving in facts
    ]
    pairs.append(html.Div([html.Dt("Duration"), html.Dd(className="num", **data(since=recording.since))]))
    tools = [
        state_badge("recording", "bad", "player-record"),
        button("Stop", "player-stop", "small", **does("record-stop")),
    ]
    return card(
        "Record",
        html.Div(recording.name, className="strong truncate"),
        html.Dl(pairs, className="policyfacts"),
        tools=tools,
    )


def stopped(task: str) -> Node:
    """The message after a recording was stopped: where its trace set will be."""
    return html.Span(
        [
            "The trace set is being written. ",
            dcc.Link("See the task", href=f"/tasks?task={task}", className="link"),
        ]
    )
