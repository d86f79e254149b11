"""The decisions of an attached policy, the newest first, in words."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dash import html

from app.pages.live.state import list_badge
from app.ui.basics import aria
from core.units import format_cores, format_number

if TYPE_CHECKING:
    from core.sampling.values import ActivityEntry


def decisions(said: tuple[ActivityEntry, ...]) -> html.Ol:
    """A list of all decisions."""
    if not said:
        waiting = html.Li("No decisions yet.", className="ink3 small")
        return html.Ol([waiting], className="decisions")
    return html.Ol(
        [_decision(each) for each in said],
        className="decisions",
        tabIndex="0",
        **aria(label="Decisions, newest first"),
    )


def _decision(said: ActivityEntry) -> html.Li:
    done = [
        html.Span(_what(said), className="what"),
        list_badge(said.label) if said.label else None,
        html.Time(clock(said.at), className="num"),
    ]
    name = html.Span(said.container or "All containers", className="strong truncate")
    line = html.Div([name, html.Span(done, className="done")], className="line")
    return html.Li([line, html.P(said.text)])


def _what(said: ActivityEntry) -> str:
    if said.before is None and said.after is None:
        return ""
    if said.before == said.after and said.after is not None:
        return f"kept at {format_cores(said.after)}"
    before = "no limit" if said.before is None else format_number(said.before)
    return f"{before} → {'no limit' if said.after is None else format_cores(said.after)}"


def clock(moment: float) -> str:
    """A moment as the clock of this machine shows it."""
    return time.strftime("%H:%M:%S", time.localtime(moment))
