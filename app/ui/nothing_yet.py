"""What a page shows while there are no traces yet, or no model that fits them, and the ways to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.context import Choice, address
from app.ui.basics import Node, card, empty, link_button

if TYPE_CHECKING:
    from core.runtime.infos import TraceSetInfo


def no_traces(icon_name: str, text: str) -> Node:
    """Say what the page needs traces for."""
    ways = [
        link_button("Add traces", address("/traces"), "upload", "primary"),
        link_button("Load the samples", address("/"), "player-play"),
    ]
    return card(None, empty(icon_name, "No traces yet", text, ways))


def no_model(choice: Choice, traces: TraceSetInfo, icon_name: str, title: str) -> Node:
    """Say that a model is needed to label the chosen traces."""
    text = (
        f"A model is needed to label the {traces.n_executions:,} executions of "
        f"{traces.name}. Training takes well under a minute for most sets."
    )
    return card(None, empty(icon_name, title, text, [train_a_model(choice)]))


def train_a_model(choice: Choice) -> Node:
    """The way to the training form."""
    return link_button("Train a model", address("/models", choice, view="train"), "player-play", "primary")
