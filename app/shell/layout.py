"""The shell around every page: rail, top bar, search, help, notifications.

Choices live only in the address; the shell reads it and writes it. Its own
state (counts, pickers, links) is filled by one callback after each change of the address.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, page_container

from app.context import LOCATION, Choice, address, chosen_or_newest, own_path, workspace
from app.figures.theme import dark_partners
from app.shell import help_window, search
from app.ui.basics import Node, aria, icon, icon_button, when_changed
from app.ui.engines import dot, engine_named, engine_options
from app.ui.links import Query
from core.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.ui.page import Page
    from core.config import Settings
    from core.sampling.values import EngineInfo


def _picker(component_id: str, label: str, state: Node = None) -> html.Div:
    return html.Div(
        [
            html.Label(label, htmlFor=component_id),
            state,
            dmc.Select(
                id=component_id,
                data=[],
                placeholder="None yet",
                allowDeselect=False,
                searchable=True,
                rightSection=icon("selector", "sm"),
                className=f"picker {component_id}",
                comboboxProps={"width": 300, "position": "bottom-start"},
                nothingFoundMessage="No match",
                **aria(label=label),
            ),
        ],
        className="pick",
    )


def brand() -> html.Div:
    """The name and its mark."""
    return html.Div([html.Img(src="/assets/logo.svg", alt=""), html.Span("PhaseDock")], className="brand")


def _sign_out() -> html.Form:
    """A form without script, because its target is not a page of Dash."""
    label = "Sign out"
    button = html.Button(icon("logout"), className="iconbtn", type="submit", title=label, **aria(label=label))
    return html.Form(button, method="post", action="/logout")


def topbar(*, may_sign_out: bool = False) -> html.Header:
    """The whole bar."""
    return html.Header(
        [
            icon_button("menu-2", "Menu", id="open-menu", class_name="only-phone"),
            html.Div(brand(), className="only-phone"),
            _picker("pick-traces", "Traces"),
            _picker("pick-model", "Model"),
            _picker("pick-engine", "Engine", html.Span(id="engine-state", className="enginedot")),
            html.Div(
                [
                    html.Button(
                        [icon("search"), "Search or jump to", html.Kbd("Ctrl K")],
                        id="open-search",
                        type="button",
                        className="searchbox only-desktop",
                    ),
                    icon_button(
                        "stack-2",
                        "Choose traces, model and engine",
                        id="open-choice",
                        class_name="only-phone",
                    ),
                    icon_button("search", "Search", id="open-search-phone", class_name="only-phone"),
                    dmc.ColorSchemeToggle(
                        lightIcon=icon("moon"),
                        darkIcon=icon("sun"),
                        variant="transparent",
                        size=30,
                        c="var(--ink2)",
                        **aria(label="Switch between light and dark"),
                    ),
                    icon_button("help-circle", "Help", id="open-help", class_name="only-desktop"),
                    _sign_out() if may_sign_out else None,
                ],
                className="right",
            ),
        ],
        className="topbar",
    )


_PULSE_MS = 4_000


def _dot(says: str) -> html.Span:
    """A dot next to a page's name while the page has something to report."""
    return html.Span(html.Span(says, className="sr"), className="dot", title=says)


def _links(pages: Sequence[Page], pathname: str, choice: Choice) -> list[Node]:
    links: list[Node] = []
    group = pages[0].group
    for page in pages:
        if page.group != group:
            links.append(html.Hr())
            group = page.group
        links.append(_link(page, choice, active=own_path(pathname) == page.path))
    return links


def _link(page: Page, choice: Choice, *, active: bool) -> dcc.Link:
    count = page.count() if page.count else 0
    alert = page.alert() if page.alert else None
    return dcc.Link(
        [
            icon(page.icon),
            html.Span(page.name, className="label", **(aria(current="page") if active else {})),
            html.Span(str(count), className="count") if count else None,
            _dot(alert) if alert else None,
        ],
        href=address(page.path, choice),
        className="active" if active else "",
        title=page.name,
    )


def _overlays(pages: Sequence[Page], settings: Settings) -> list[Node]:
    return [
        search.window(),
        help_window.window(pages, settings),
        dmc.Drawer(
            id="menu",
            size=280,
            title=brand(),
            closeButtonProps=aria(label="Close the menu"),
            children=[
                html.Nav(id="menu-links", className="nav", **aria(label="Pages")),
                html.Div(
                    [
                        dmc.Select(id="phone-traces", label="Traces", data=[], allowDeselect=False, mt=16),
                        dmc.Select(id="phone-model", label="Model", data=[], allowDeselect=False, mt=8),
                        dmc.Select(id="phone-engine", label="Engine", data=[], allowDeselect=False, mt=8),
                    ]
                ),
            ],
        ),
    ]


def _page() -> list[Node]:
    """Where Dash puts the page: the parts of its own container, but with a title from the start.

    Dash's container has no title until the first page has come, and its title callback fails without one
    when the components of the shell load later than that callback.
    """
    parts: list[Node] = deepcopy(page_container.children)
    for store in (part for part in parts if isinstance(part, dcc.Store)):
        store.data = {"title": "PhaseDock"}  # type: ignore[attr-defined]  # made without any
    return parts


_COMPONENTS = {
    # what opens belongs to the page as its button does
    "Popover": {"defaultProps": {"portalProps": {"target": "#page"}}},
    # an empty place for the focus is no item
    "Menu": {"defaultProps": {"withInitialFocusPlaceholder": False}},
    # the head of a window would count as one more banner of the document
    "Modal": {"defaultProps": {"attributes": {"header": {"role": "presentation"}}}},
    "Drawer": {"defaultProps": {"attributes": {"header": {"role": "presentation"}}}},
}


def layout(pages: Sequence[Page], settings: Settings) -> dmc.MantineProvider:
    """The whole page around the container of pages."""
    return dmc.MantineProvider(
        defaultColorScheme="auto",
        theme={
            "fontFamily": "var(--sans)",
            "primaryColor": "indigo",
            "defaultRadius": 6,
            "components": _COMPONENTS,
        },
        children=[
            html.A("Skip to content", href="#page", className="skip"),
            dcc.Store(id="scheme"),
            dcc.Store(id="partners", data=dark_partners()),
            dcc.Store(id="changed"),
            dcc.Store(id="resolved", data={}),
            dcc.Interval(id="pulse", interval=_PULSE_MS),
            html.Span(id="scheme-anchor", hidden=True),
            dmc.NotificationContainer(id="notices", position="bottom-right"),
            html.Div(
                [
                    html.Aside(
                        [
                            brand(),
                            html.Nav(id="rail-links", className="nav", **aria(label="Pages")),
                            html.Div(id="rail-foot", className="foot"),
                        ],
                        className="rail",
                    ),
                    topbar(may_sign_out=settings.password is not None),
                    html.Main(_page(), id="page", tabIndex="-1"),
                ],
                className="shell",
            ),
            *_overlays(pages, settings),
        ],
    )


def _options(infos: Sequence[Any]) -> list[dict[str, str]]:
    return [{"value": info.id, "label": info.name} for info in infos]


def choice_of(search: str | None) -> Choice:
    """The choice that an address makes; one that names something gone falls back to what is here."""
    query = Query.parse("", search)
    choice = chosen_or_newest(query.get("traces"), query.get("model"))
    return replace(choice, engine=query.get("engine"))


def _foot(settings: Settings) -> list[Node]:
    size = sum(info.n_bytes for info in workspace().traces.list())
    stored = f"Store {format_bytes(size)}" if size else "Store empty"
    listens = "Open to this machine only" if settings.loopback else f"Signed in on {settings.host}"
    return [html.Div(listens), html.Div(stored)]


def register(app: Dash, settings: Settings, pages: Sequence[Page]) -> None:
    """Connect the shell to the address, the keyboard and the library."""

    @app.callback(
        *_OUTPUTS,
        Input(LOCATION, "pathname"),
        Input(LOCATION, "search"),
        Input("changed", "data"),
    )
    def fill(pathname: str, search: str | None, _changed: Any) -> tuple[Any, ...]:
        choice = choice_of(search)
        engine = engine_named(choice.engine)
        links = _links(pages, pathname, choice)
        resolved = {**choice.query(), "engine": engine.name if engine else None}
        return links, links, _foot(settings), *_pickers(choice, engine), *dot(engine), resolved

    @app.callback(
        Output("rail-links", "children", allow_duplicate=True),
        Input("pulse", "n_intervals"),
        State(LOCATION, "pathname"),
        State(LOCATION, "search"),
        State("rail-links", "children"),
        prevent_initial_call=True,
    )
    def refresh_counts(_ticks: int, pathname: str, search: str | None, before: Any) -> Any:
        links = _links(pages, pathname, choice_of(search))
        return when_changed(links, before)

    search.register(app, pages, choice_of)
    _register_browser_side(app)


_OUTPUTS = (
    Output("rail-links", "children"),
    Output("menu-links", "children"),
    Output("rail-foot", "children"),
    *(
        Output(f"{where}-{what}", part)
        for where, what in (
            *(("pick", "traces"), ("pick", "model"), ("phone", "traces"), ("phone", "model")),
            *(("pick", "engine"), ("phone", "engine")),
        )
        for part in ("data", "value")
    ),
    Output("engine-state", "className"),
    Output("engine-state", "title"),
    Output("resolved", "data"),
)
"""Outputs that are filled after each change of the address."""


def _pickers(choice: Choice, engine: EngineInfo | None) -> list[Any]:
    """Options and value of the pickers of the bar on top and of the menu of a phone."""
    space = workspace()
    traces = _options(space.traces.list())
    models = _options(space.models.compatible(choice.traces.id) if choice.traces else space.models.list())
    of_traces = [traces, choice.traces.id if choice.traces else None]
    of_model = [models, choice.model.id if choice.model else None]
    of_engine = [engine_options(), engine.name if engine else None]
    return [*of_traces, *of_model, *of_traces, *of_model, *of_engine, *of_engine]


def _register_browser_side(app: Dash) -> None:
    app.clientside_callback(
        ClientsideFunction("shell", "choose"),
        Output(LOCATION, "search"),
        Input("pick-traces", "value"),
        Input("pick-model", "value"),
        Input("pick-engine", "value"),
        State(LOCATION, "search"),
        State("resolved", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("shell", "choose"),
        Output(LOCATION, "search", allow_duplicate=True),
        Input("phone-traces", "value"),
        Input("phone-model", "value"),
        Input("phone-engine", "value"),
        State(LOCATION, "search"),
        State("resolved", "data"),
        prevent_initial_call=True,
    )
    for button, overlay in (("open-help", "help"), ("open-menu", "menu")):
        app.clientside_callback(
            ClientsideFunction("shell", "openOverlay"),
            Output(overlay, "opened"),
            Input(button, "n_clicks"),
            Input(LOCATION, "href"),
            prevent_initial_call=True,
        )
