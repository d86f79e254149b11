"""How far back a container's chart reaches, and a trace set of what it shows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc

from app.context import workspace
from app.figures.live_history import history_figure
from app.ui.basics import Node, aria, button
from core.sampling.ring_buffer import FIELDS
from core.sampling.values import History
from core.units import format_bytes

if TYPE_CHECKING:
    import plotly.graph_objects as go

MINUTES = 600
"""Seconds that every chart reaches back, remembered or not."""
RANGES = {
    "10 min": MINUTES, "1 h": 3600, "6 h": 21_600, "24 h": 86_400, "7 days": 604_800, "30 days": 2_592_000
}  # fmt: skip
"""How far back one can look, in seconds."""
_LINES = ("cpu", "cpu_limit", "memory", "memory_limit", "loss", "throttled")


def ranges(engine: str) -> list[dict[str, str]]:
    """How far back one can look, as options; the last one shows all that is remembered."""
    since = workspace().live.view.remembered(engine).since
    reach = 0.0 if since is None else time.time() - since
    shorter = [0, *RANGES.values()]
    able = [name for name, below in zip(RANGES, shorter, strict=False) if below < max(reach, 1.0)]
    return [{"value": str(RANGES[name]), "label": name} for name in able]


def choice(engine: str) -> Node:
    """The control that says how far back; nothing where no more than ten minutes are remembered."""
    able = ranges(engine)
    if len(able) < 2:
        return None
    return dmc.SegmentedControl(
        id="live-past-range",
        value=str(MINUTES),
        data=able,
        size="xs",
        **aria(label="How far back the chart reaches"),
    )


def remembered_words(engine: str) -> str:
    """Since when an engine is remembered, and what that takes; empty where it is not."""
    found = workspace().live.view.remembered(engine)
    if found.since is None:
        return ""
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.since))
    return f"Remembered since {since}, {format_bytes(float(found.bytes))} on disk."


def keeping(engine: str) -> Node:
    """The button that makes a trace set of what is shown."""
    if workspace().live.view.remembered(engine).since is None:
        return None
    return button("Make a trace set", "database", "small", id="live-past-keep")


def figure(engine: str, container: str, name: str, seconds: int) -> go.Figure | None:
    """A container's chart over the last so many seconds; None where nothing is known of them."""
    found = history_of(engine, container, seconds)
    return None if found is None or not len(found.time) else history_figure(found, name)


def history_of(engine: str, container: str, seconds: int) -> History | None:
    """What a container used over the last so many seconds."""
    live = workspace().live
    if seconds <= MINUTES:
        return live.view.history(engine, [container]).get(container)
    now = time.time()
    past = live.view.look_back(engine, [container], now - seconds, now).get(container)
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
    """What such a trace set is called."""
    return f"{name}, last {next(each for each, value in RANGES.items() if value == seconds)}"
