"""The decisions of an attached policy, the newest first, in words."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from dash import html

from app.components.basics import aria
from app.components.live_state import list_badge
from core.units import format_cores, format_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.runtime.live.values import Said

_ID = re.compile(r"\b[0-9a-f]{64}\b")


def decisions(said: tuple[Said, ...], names: Mapping[str, str]) -> html.Ol:
    """All of them.

    Parameters
    ----------
    said
        What the policy said, newest first.
    names
        Containers' names by id, for sentences that have ids.
    """
    if not said:
        waiting = html.Li("Nothing was decided yet.", className="ink3 small")
        return html.Ol([waiting], className="decisions")
    return html.Ol(
        [_decision(each, names) for each in said],
        className="decisions",
        tabIndex="0",
        **aria(label="Decisions, the newest first"),
    )


def _decision(said: Said, names: Mapping[str, str]) -> html.Li:
    line = [
        html.Span(said.container or "All containers", className="strong truncate"),
        html.Span(_what(said), className="what"),
        list_badge(said.label) if said.label else None,
        html.Time(clock(said.at), className="num"),
    ]
    return html.Li([html.Div(line, className="line"), html.P(_named(said.text, names))])


def _named(text: str, names: Mapping[str, str]) -> str:
    """A sentence with containers by their names: policies know them by their ids."""
    return _ID.sub(lambda found: names.get(found[0], found[0][:12]), text)


def _what(said: Said) -> str:
    if said.before is None and said.after is None:
        return ""
    if said.before == said.after and said.after is not None:
        return f"kept at {format_cores(said.after)}"
    before = "no limit" if said.before is None else format_number(said.before)
    return f"{before} → {'no limit' if said.after is None else format_cores(said.after)}"


def clock(moment: float) -> str:
    """A moment as the clock of this machine shows it."""
    return time.strftime("%H:%M:%S", time.localtime(moment))
