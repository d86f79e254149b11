"""The keys of figures with several policies: a swatch and a name, which brings that one into the accent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.ui.basics import Node, aria
from app.ui.links import link

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.figures.runs.arm_styles import ArmStyle
    from app.pages.runs.compare.shown import Shown
    from app.pages.runs.query import View


def arm_keys(
    pairs: Iterable[tuple[Shown, ArmStyle]], view: View, kind: str = "swatch"
) -> list[html.Span | html.A]:
    """A key for each policy."""
    return [_key(each, style, view, kind) for each, style in pairs]


def _key(each: Shown, style: ArmStyle, view: View, kind: str) -> html.Span | html.A:
    label: list[Node] = [html.Span(className=f"{kind} {style.swatch}"), style.title]
    if style.swatch in ("lit", "base"):
        return html.Span(label, className="armkey")
    text = f"Highlight {style.title}"
    return link(label, view.query(lit=each.side.key), className="armkey", title=text, **aria(label=text))
