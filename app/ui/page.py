"""What a page declares: its position in the rail, its layout, its callbacks and its routes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from dash import Dash
    from flask import Blueprint


@dataclass(frozen=True, slots=True)
class Room:
    """The room that a row of cards takes, to show before the cards are there.

    Parameters
    ----------
    heights
        Of each card in pixels, as it mostly is.
    look
        The classes that place the cards, as the page's own row has them.
    """

    heights: tuple[int, ...]
    look: str = "stack"


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the application.

    Parameters
    ----------
    path, name, icon
        Its address, its name in the rail, and its icon (``assets/css/icons.css``).
    group
        Pages of one group stand together in the rail, a line between groups.
    layout
        Lays the page out, given the parameters of its address.
    register
        Connects its callbacks.
    routes
        Its further routes: files to download, ticks of live views.
    count
        The number shown beside its name in the rail, None or 0 for none.
    alert
        What a dot beside its name says, or None for no dot.
    keys
        Its keys on the keyboard, as (key, what it does).
    outline
        The room of its cards, row by row, from the top.
    """

    path: str
    name: str
    icon: str
    group: int
    layout: Callable[..., Any]
    register: Callable[[Dash], None]
    routes: tuple[Blueprint, ...] = ()
    count: Callable[[], int] | None = None
    alert: Callable[[], str | None] | None = None
    keys: tuple[tuple[str, str], ...] = ()
    outline: tuple[Room, ...] = ()
