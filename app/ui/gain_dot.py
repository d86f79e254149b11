"""A dot with its whisker on the track that all rows of a table share (`app.figures.provisioning.gains`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.ui.basics import Node, aria

if TYPE_CHECKING:
    from app.figures.provisioning.gains import Mark, Track


def gain_dot(mark: Mark, on: Track, kind: str, label: str) -> html.Div:
    """Draw a mark; `kind` is its look (``better``, ``worse`` or ``open``), `label` says it in words."""
    parts: list[Node] = [html.Span(className="zero", style={"left": f"{on.place(0.0)}%"})]
    if mark.dot is None:
        arrow = "◂ off scale" if mark.off == "left" else "off scale ▸"
        parts.append(html.Span(arrow, className=f"off {kind} {mark.off}"))
    else:
        whisker = {"left": f"{mark.start}%", "width": f"{max(mark.end - mark.start, 0.0):.1f}%"}
        parts += [
            html.Span(className=f"whisker {kind}", style=whisker),
            html.Span(className=f"dot {kind}", style={"left": f"{mark.dot}%"}),
        ]
    return html.Div(parts, className="gain", role="img", title=label, **aria(label=label))
