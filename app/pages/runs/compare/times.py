"""Where jobs' time goes under each policy: the card with the bars of waiting, running and paused time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.figures.runs.time_bars import TimeRow, time_bars
from app.ui.basics import Node, card
from app.ui.export import export_menu
from app.ui.graph import graph
from core.experiments.measures.queue_measures import queues

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STATE_KEYS = {"waiting": "outline", "running": "w1", "paused": "lines"}
"""The states of jobs with the classes of their keys in style sheets (``runs.css``)."""


def state_keys(*states: str) -> list[Node]:
    """The keys of some states."""
    return [html.Span(state, className=f"key box {STATE_KEYS[state]}") for state in states]


def times_card(
    rows: Sequence[tuple[str, Mapping[str, float | None]]], files: Sequence[tuple[str, str]]
) -> Node:
    """The card; None where nobody waits under any of the policies, or nothing is known of that."""
    known = [(title, means) for title, means in rows if means.get("service") is not None]
    if not any(queues(means) for _, means in known):
        return None
    bars = [
        TimeRow(title, *(means.get(name) or 0.0 for name in ("waiting", "service", "paused")))
        for title, means in known
    ]
    states = [name for name in STATE_KEYS if name != "paused" or any(bar.paused for bar in bars)]
    titles = " and ".join(title for title, _ in known)
    return card(
        "Where jobs’ time goes",
        graph("times", time_bars(bars), f"Mean waiting, running and total time of a job under {titles}"),
        note="means of a job, all seeds",
        tools=[*state_keys(*states), export_menu("times", "waiting, service and total time", files)],
    )
