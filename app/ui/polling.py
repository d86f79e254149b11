"""Live pieces of pages: asked for again and again, drawn again only when they changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import dash
from plotly.utils import PlotlyJSONEncoder

if TYPE_CHECKING:
    from app.ui.basics import Node


def when_changed(now: Node, shown: Any) -> Any:
    """The new piece, or `no_update` when the browser already shows the same."""
    return dash.no_update if _written(now) == _written(shown) else now


def _written(piece: Any) -> Any:
    """A piece as JSON has it, without the properties that are None (the browser leaves them out)."""
    return _without_none(json.loads(json.dumps(piece, cls=PlotlyJSONEncoder)))


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list):
        return [_without_none(entry) for entry in value]
    return value
