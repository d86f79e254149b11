"""The search window (Ctrl+K): jump to a page, an action, a policy, or anything that is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash
import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html

from app.context import LOCATION, Choice, address, workspace
from app.shell import help_window
from app.shell.help_window import SearchHit
from app.ui.basics import Node, aria, data, icon

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.ui.page import Page


_RECENT = 50
_OF_A_SET = 8
_MAX_HITS = 14


def window() -> dmc.Modal:
    """The window, closed."""
    return dmc.Modal(
        id="search",
        withCloseButton=False,
        size="lg",
        padding="sm",
        title="Search",
        classNames={"header": "sr"},
        children=[
            dmc.TextInput(
                id="search-text",
                placeholder="Page, action, policy, setting, help, trace set, model, run or execution",
                leftSection=icon("search"),
                debounce=150,
                **aria(label="Search"),
                **data(autofocus="true"),
            ),
            html.Div(id="search-results", className="palette-list stack tight", style={"marginTop": 8}),
        ],
    )


def find_hits(text: str, pages: Sequence[Page], choice: Choice) -> list[SearchHit]:
    """Search all names for a text; executions of the chosen trace set come before others."""
    pattern = text.strip().lower()
    space = workspace()
    things = [
        *(SearchHit(page.icon, page.name, "page", address(page.path, choice)) for page in pages),
        *(_to_phases("database", info.name, "traces", Choice(info, None)) for info in space.traces.list()),
        *(
            _to_phases("stack-2", info.name, "model", Choice(choice.traces, info))
            for info in space.models.list()
        ),
        *(
            SearchHit("player-play", info.name, "run", address("/runs", choice, experiment=info.id))
            for info in space.runs.experiments(_RECENT)
        ),
    ]
    if pattern:
        things += [
            SearchHit(page.icon, title, kind, address(page.path, choice, **parameters))
            for page in pages
            for title, kind, parameters in page.findable()
        ]
        things += help_window.hits()
    matching = [each for each in things if pattern in each.name.lower()]
    return matching + (_executions(pattern, choice) if pattern else [])


def _to_phases(picture: str, name: str, kind: str, choice: Choice) -> SearchHit:
    return SearchHit(picture, name, kind, address("/phases", choice))


def _executions(pattern: str, choice: Choice) -> list[SearchHit]:
    """Executions by name, a few of each trace set, the chosen one first."""
    sets = workspace().traces.list()
    chosen = choice.traces.id if choice.traces is not None else None
    hits: list[SearchHit] = []
    for info in sorted(sets, key=lambda each: each.id != chosen):
        names = workspace().traces.summary(info.id)["execution"]
        hit_choice = choice if info.id == chosen else Choice(info, None)
        kind = "execution" if info.id == chosen else f"in {info.name}"
        hits += [
            SearchHit("timeline", name, kind, address("/phases", hit_choice, execution=name))
            for name in names[names.str.contains(pattern, case=False, regex=False)].head(_OF_A_SET)
        ]
    return hits


def register(app: Dash, pages: Sequence[Page], choice_of: Callable[[str | None], Choice]) -> None:
    """Connect the window."""

    @app.callback(
        Output("search-results", "children"),
        Input("search-text", "value"),
        Input("search", "opened"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )
    def find(text: str | None, is_open: bool, search: str | None) -> Node:
        return results(find_hits(text or "", pages, choice_of(search))) if is_open else dash.no_update

    app.clientside_callback(
        ClientsideFunction("shell", "openSearch"),
        Output("search", "opened"),
        Input("open-search", "n_clicks"),
        Input("open-search-phone", "n_clicks"),
        Input(LOCATION, "href"),
        prevent_initial_call=True,
    )


def _link(hit: SearchHit, *, is_first: bool) -> Node:
    """A hit: a link within the page; the window of help and documents are no pages of it."""
    parts = [
        icon(hit.icon),
        html.Span(hit.name, className="truncate"),
        html.Span(hit.kind, className="kind truncate"),
    ]
    class_name = "on" if is_first else ""
    if hit.href == help_window.OPENS:
        return html.A(parts, href=hit.href, className=class_name, **data(help="open"))
    if hit.href.startswith(help_window.PATH):
        return html.A(parts, href=hit.href, className=class_name, target="_blank")
    return dcc.Link(parts, href=hit.href, className=class_name)


def results(every: Sequence[SearchHit]) -> Node:
    """The hits as links; Enter opens the first."""
    if not every:
        return html.Div("No match in any trace set. Type less of the name.", className="hint")
    links = [_link(each, is_first=position == 0) for position, each in enumerate(every[:_MAX_HITS])]
    more = len(every) - _MAX_HITS
    if more > 0:
        links.append(html.Div(f"and {more:,} more. Type more of the name.", className="hint"))
    return links
