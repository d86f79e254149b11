"""What a page declares: its position in the rail, its layout, its callbacks and its routes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from dash import Dash
    from flask import Blueprint


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
