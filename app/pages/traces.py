"""Trace sets: upload, check, look at, rename, throw away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash

from app.components.basics import Node, page_head
from app.errors import safe_page

if TYPE_CHECKING:
    from dash import Dash


@safe_page("Traces")
def layout(**_query: str) -> Node:
    """Lay the page out."""
    return [page_head("Traces")]


def register(app: Dash) -> None:
    """Put the page into the application."""
    dash.register_page(__name__, path="/traces", name="Traces", title="Traces · PhaseDock", layout=layout)
