"""The ways to the page's tables; its script adds what is chosen to their addresses (class ``seqfile``)."""

from __future__ import annotations

from dash import html

from app.ui.basics import aria, icon


def file_button(label: str, href: str) -> html.A:
    """A table as an icon at the right of a card's title."""
    return html.A(
        icon("download"),
        href=href,
        className="iconbtn seqfile",
        download="",
        title=label,
        **aria(label=label),
    )


def menu_item(label: str, href: str) -> html.A:
    """A table as an entry of a menu."""
    return html.A(
        [icon("table", "sm"), label], href=href, className="btn quiet small menu seqfile", download=""
    )
