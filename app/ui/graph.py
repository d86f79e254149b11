"""A figure on a page that follows the colour scheme.

The server fills the store with the figure in its light colours; one clientside callback for all
graphs draws it, and draws it again when the scheme changes. None of that costs a round trip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash import MATCH, ClientsideFunction, Input, Output, State, dcc, html

from app.ui.basics import aria

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from dash import Dash

_CONFIG: Any = {
    "displayModeBar": False,
    "responsive": True,
    "doubleClick": "reset",
    "showTips": False,
    "scrollZoom": False,
}


def figure_id(name: str) -> dict[str, str]:
    """The id of the store that a callback fills with a figure."""
    return {"type": "figure", "name": name}


def graph_id(name: str) -> dict[str, str]:
    """The id of the graph itself, for zoom and clicks."""
    return {"type": "graph", "name": name}


def graph(name: str, figure: go.Figure | dict[str, Any] | None, label: str, **more: Any) -> html.Div:
    """A figure in place."""
    height = _height(figure) or more.pop("height", 200)
    return html.Div(
        [
            dcc.Store(id=figure_id(name), data=figure),
            dcc.Graph(
                id=graph_id(name),
                config=_CONFIG,
                figure={
                    "data": [],
                    "layout": {
                        "height": height,
                        "paper_bgcolor": "rgba(0,0,0,0)",
                        "plot_bgcolor": "rgba(0,0,0,0)",
                        "xaxis": {"visible": False},
                        "yaxis": {"visible": False},
                    },
                },
                style={"height": f"{height}px"},
                **more,
            ),
        ],
        className="chart",
        style={"--room": f"{height}px"},
        role="img",
        **aria(label=label),
    )


def _height(figure: go.Figure | dict[str, Any] | None) -> Any:
    if figure is None:
        return None
    return figure["layout"].get("height") if isinstance(figure, dict) else figure.layout.height


def register(app: Dash) -> None:
    """Let every graph follow its store and the scheme."""
    app.clientside_callback(
        ClientsideFunction("figures", "draw"),
        Output({"type": "graph", "name": MATCH}, "figure"),
        Input({"type": "figure", "name": MATCH}, "data"),
        Input("scheme", "data"),
        State("partners", "data"),
    )
