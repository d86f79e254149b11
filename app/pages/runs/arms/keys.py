"""The keys of figures with several policies: a swatch and a name for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.figures.runs.arm_styles import ArmStyle


def arm_keys(styles: Iterable[ArmStyle]) -> list[html.Span]:
    """A key for each policy, as its bars look."""
    return [
        html.Span([html.Span(className=f"swatch {style.swatch}"), style.title], className="armkey")
        for style in styles
    ]
