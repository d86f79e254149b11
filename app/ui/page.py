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
    """The room that a row of cards takes, to show before the cards are there."""

    #: Of each card in pixels, as it mostly is.
    heights: tuple[int, ...]
    #: The classes that place the cards, as the page's own row has them.
    look: str = "stack"


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the application."""

    #: Its address, its name in the rail, and its icon (``assets/css/icons.css``).
    path: str
    name: str
    icon: str
    #: Pages of one group stand together in the rail, a line between groups.
    group: int
    #: Lays the page out, given the parameters of its address.
    layout: Callable[..., Any]
    #: Connects its callbacks.
    register: Callable[[Dash], None]
    #: Its further routes: files to download, ticks of live views.
    routes: tuple[Blueprint, ...] = ()
    #: The number shown beside its name in the rail, None or 0 for none.
    count: Callable[[], int] | None = None
    #: What a dot beside its name says, or None for no dot.
    alert: Callable[[], str | None] | None = None
    #: Its keys on the keyboard, as (key, what it does).
    keys: tuple[tuple[str, str], ...] = ()
    #: The room of its cards, row by row, from the top.
    outline: tuple[Room, ...] = ()
