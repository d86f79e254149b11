"""What a person sees when something goes wrong: one sentence that says what, one that says what next.

An error that PhaseDock raised on purpose carries both. Anything else is a fault of ours: the log gets
all of it under a short reference, the person gets the reference.
"""

from __future__ import annotations

import functools
import logging
import secrets
from typing import TYPE_CHECKING, Any

import dash
from dash import html, set_props

from app.ui.basics import Node, link_button, notice, page_head
from core.errors import PhaseDockError
from core.plugins import refusals

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger(__name__)


def sentences(error: BaseException) -> tuple[str, str]:
    """What is wrong and what to do, for any error."""
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
    """An error in its place on the page: what is wrong, and what to do."""
    return notice("bad", error.hint, strong=error.message)


def on_callback_error(error: Exception) -> Any:
    """Show an error of a callback in the corner and leave the page as it is."""
    message, hint = sentences(error)
    notify(hint, "bad", title=message)
    return dash.no_update


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
    """A notice that names every refused policy and says why, or None."""
    found = refusals()
    if not found:
        return None
    words = html.Ul([html.Li(str(each)) for each in found], className="notes")
    n = len(found)
    return notice("warn", words, strong=f"{n} polic{'y' if n == 1 else 'ies'} from outside cannot be used.")
