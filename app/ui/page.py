"""The declaration of a page: its position in the rail, its layout, its callbacks and its routes."""

from __future__ import annotations

import functools
import logging
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dash
from dash import html, set_props

from app.ui.basics import Node, link_button, notice, page_head
from core.errors import PhaseDockError
from core.plugins import refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dash import Dash
    from flask import Blueprint


@dataclass(frozen=True, slots=True)
class Room:
    """A row of placeholder cards, shown until the page has loaded."""

    #: The usual height of each card in pixels.
    heights: tuple[int, ...]
    #: The classes of the row, the same as on the page itself.
    class_name: str = "stack"


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the application."""

    #: Its address, its name in the rail, and its icon (``assets/css/icons.css``).
    path: str
    name: str
    icon: str
    #: Pages of one group are together in the rail, with a line between groups.
    group: int
    #: Lays the page out for the parameters of its address.
    layout: Callable[..., Any]
    #: Connects its callbacks.
    register: Callable[[Dash], None]
    #: Its further routes: files to download, ticks of live views.
    routes: tuple[Blueprint, ...] = ()
    #: The number next to its name in the rail, None or 0 for none.
    count: Callable[[], int] | None = None
    #: The title of a dot next to its name, or None for no dot.
    alert: Callable[[], str | None] | None = None
    #: Its keyboard shortcuts, as (key, action).
    keys: tuple[tuple[str, str], ...] = ()
    #: What a search finds on it besides its name, as (title, kind, parameters of its address), such as
    #: ``("Train a model", "action", {"view": "train"})``.
    findable: Callable[[], Sequence[tuple[str, str, Mapping[str, str]]]] = tuple
    #: The room of its cards, row by row, from the top.
    outline: tuple[Room, ...] = ()


_log = logging.getLogger(__name__)


def sentences(error: BaseException) -> tuple[str, str]:
    """Message and hint of any error; an unexpected one is logged under a reference."""
    if isinstance(error, PhaseDockError):
        return error.message, error.hint
    reference = secrets.token_hex(3)
    _log.error("unexpected error %s", reference, exc_info=error)
    return (
        "Something went wrong inside PhaseDock.",
        f"Try again; if it happens again, look for {reference} in the log of the web process.",
    )


def notify(text: Node, kind: str = "ok", title: str | None = None) -> None:
    """Show a message in the corner; callable from any callback."""
    colours = {"ok": "var(--ok)", "bad": "var(--bad)", "warn": "var(--warn-fill)", "info": "var(--accent)"}
    message: dict[str, Any] = {
        "action": "show",
        "id": secrets.token_hex(4),
        "message": text,
        "title": title,
        "color": colours[kind],
        "autoClose": 12_000 if kind in ("bad", "warn") else 5_000,
        "closeButtonProps": {"aria-label": "Close this message"},
    }
    set_props("notices", {"sendNotifications": [message]})


def problem(error: PhaseDockError) -> Node:
    """Show an error with its hint in its place on the page."""
    return notice("bad", error.hint, strong=error.message)


def on_callback_error(error: Exception) -> Any:
    """Show an error of a callback in the corner and leave the page as it is."""
    message, hint = sentences(error)
    notify(hint, "bad", title=message)
    outputs = None if dash.ctx.using_outputs_grouping else dash.ctx.outputs_list
    if not isinstance(outputs, list) or not all(isinstance(each, dict) for each in outputs):
        return dash.no_update
    return [dash.no_update] * len(outputs)  # Dash takes nothing else for an output of several components


def safe_page(title: str) -> Callable[[Callable[..., Node]], Callable[..., Node]]:
    """Turn an error in a page's layout into a page that explains it."""

    def wrap(make: Callable[..., Node]) -> Callable[..., Node]:
        @functools.wraps(make)
        def layout(**query: Any) -> Node:
            try:
                return make(**query)
            except Exception as error:  # noqa: BLE001 - the last stop before a person's screen
                message, hint = sentences(error)
                ways_out = [
                    link_button("Back to the overview", "/", "layout-dashboard", "small"),
                    link_button("See the tasks", "/tasks", "list-check", "small"),
                ]
                return [page_head(title), notice("bad", hint, strong=message, actions=ways_out)]

        return layout

    return wrap


def refused_policies() -> Node:
    """A notice with every refused policy and its reason, or None."""
    refused = refusals()
    if not refused:
        return None
    words = html.Ul([html.Li(str(each)) for each in refused], className="notes")
    n = len(refused)
    return notice(
        "warn", words, strong=f"{n} polic{'y' if n == 1 else 'ies'} from outside could not be loaded."
    )
