"""The search window (Ctrl+K): jump to a page, a trace set, a model, an experiment or an execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash
import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html

from app.context import LOCATION, Choice, address, workspace
from app.ui.basics import Node, aria, data, icon

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.ui.page import Page


_RECENT = 50


def window() -> dmc.Modal:
    """The window, closed."""
    return dmc.Modal(
        id="search",
        withCloseButton=False,
        size="lg",
        padding="sm",
        children=[
            dmc.TextInput(
                id="search-text",
                placeholder="Page, trace set, model, experiment or execution",
                leftSection=icon("search"),
                debounce=150,
                **aria(label="Search"),
                **data(autofocus="true"),
            ),
            html.Div(id="search-results", className="palette-list stack tight", style={"marginTop": 8}),
        ],
    )


def _found(text: str, pages: Sequence[Page], choice: Choice) -> list[tuple[str, str, str, str]]:
    """What a search finds: (icon, name, kind, address)."""
    space, wanted = workspace(), text.strip().lower()
    entries = [(p.icon, p.name, "page", address(p.path, choice)) for p in pages]
    entries += [
        ("database", info.name, "traces", address("/phases", Choice(info, None)))
        for info in space.traces.list()
    ]
    entries += [
        ("stack-2", info.name, "model", address("/phases", Choice(choice.traces, info)))
        for info in space.models.list()
    ]
    entries += [
        ("player-play", info.name, "run", address("/runs", choice, experiment=info.id))
        for info in space.runs.experiments(_RECENT)
    ]
    if wanted and choice.traces is not None:
        names = space.traces.summary(choice.traces.id)["execution"]
        entries += [
            ("timeline", name, "execution", address("/phases", choice, execution=name))
            for name in names[names.str.contains(wanted, case=False, regex=False)].head(20)
        ]
    return [entry for entry in entries if wanted in entry[1].lower()][:12]


def register(app: Dash, pages: Sequence[Page], choice_of: Callable[[str | None], Choice]) -> None:
    """Connect the window.

    Parameters
    ----------
    app
        The application.
    pages
        The pages to jump to.
    choice_of
        What an address is about.
    """

    @app.callback(
        Output("search-results", "children"),
        Input("search-text", "value"),
        Input("search", "opened"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )
    def find(text: str | None, opened: bool, search: str | None) -> Node:
        return _results(_found(text or "", pages, choice_of(search))) if opened else dash.no_update

    app.clientside_callback(
        ClientsideFunction("shell", "openSearch"),
        Output("search", "opened"),
        Input("open-search", "n_clicks"),
        Input("open-search-phone", "n_clicks"),
        Input(LOCATION, "href"),
        prevent_initial_call=True,
    )


def _results(found: Sequence[tuple[str, str, str, str]]) -> Node:
    """What was found as links; Enter goes to the first."""
    if not found:
        return html.Div(
            "No match. Executions are searched in the chosen trace set.",
            className="ink3",
            style={"padding": "8px 10px"},
        )
    return [
        dcc.Link(
            [icon(picture), html.Span(name, className="truncate"), html.Span(kind, className="kind")],
            href=href,
            className="on" if position == 0 else "",
        )
        for position, (picture, name, kind, href) in enumerate(found)
    ]
