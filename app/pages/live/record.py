"""The panel that records running containers into a trace set."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import dcc, html

from app.context import workspace
from app.pages.live import past
from app.pages.live.state import does
from app.ui.basics import Node, button, card, data, icon, state_badge
from app.ui.engines import is_demo
from app.ui.forms import ORDER
from core.units import format_bytes

if TYPE_CHECKING:
    from core.sampling.values import LiveView, Recording


NOW = "now"


def panel(view: LiveView) -> Node:
    """The card of the recording."""
    return _recording(view.recording) if view.recording else _form(view)


def _called(view: LiveView) -> str:
    return "Demo replay" if is_demo(view.engine) else view.engine.name


def default_name(engine: str, moment: float | None = None) -> str:
    """What a recording is called unless a person says otherwise."""
    return f"{engine} {time.strftime('%Y-%m-%d %H:%M', time.localtime(moment))}"


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
    """Whether to record from now on, or to take what is remembered already."""
    able = past.ranges(view.engine.name)
    now = {"value": NOW, "label": "From now on"}
    last = [{"value": each["value"], "label": f"The last {each['label']}"} for each in able]
    return dmc.Select(
        id="live-record-from",
        label="What",
        description=past.remembered_words(view.engine.name),
        data=[now, *last],
        value=NOW,
        allowDeselect=False,
        size="xs",
        inputWrapperOrder=ORDER,
        rightSection=icon("selector", "sm"),
        display=None if past.remembered_words(view.engine.name) else "none",
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
