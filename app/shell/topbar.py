"""The bar on top of every page: what is chosen, the search, the colour scheme, the help."""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import html

from app.ui.basics import Node, aria, icon, icon_button


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
                    icon_button(
                        "help-circle", "Keyboard shortcuts", id="open-help", class_name="only-desktop"
                    ),
                    _sign_out() if may_sign_out else None,
                ],
                className="right",
            ),
        ],
        className="topbar",
    )
