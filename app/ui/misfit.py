"""What is said where the model of an address does not fit its traces, and the ways out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.context import address, workspace
from app.ui.basics import Node, link_button, notice

if TYPE_CHECKING:
    from app.context import Choice


def misfit(choice: Choice, path: str) -> Node:
    """Why the model is of no use here; None where it fits, or where there is none.

    Parameters
    ----------
    choice
        What the address is about.
    path
        The page, to go on with a model that fits, or with none.
    """
    pair = choice.pair()
    error = workspace().models.misfit(pair[1].id, pair[0].id) if pair else None
    if pair is None or error is None:
        return None
    return notice(
        "bad",
        error.hint,
        strong=f"{pair[1].name} does not fit {pair[0].name}. {error.message}",
        actions=[
            link_button("Go on without it", address(path, traces=pair[0].id), "arrow-right", "small"),
            link_button(
                "Train a model", address("/models", traces=pair[0].id, view="train"), "player-play", "small"
            ),
        ],
    )
