"""The phases that executions go through: the timeline of one, and what each phase uses over all.

The list of executions, the timeline and the cards are about the trace set and the model that the
address names. Choosing another execution changes the address without loading the page anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import ClientsideFunction, Input, Output, State, dcc, html

from app.context import Choice, address, chosen
from app.pages.phases.execution import execution_heading, execution_timeline
from app.pages.phases.overlay import Overlays, overlays, picker, sentence
from app.ui.basics import (
    Node,
    aria,
    button,
    card,
    empty,
    icon,
    icon_button,
    link_button,
    opener,
    page_head,
)
from app.ui.errors import safe_page
from app.ui.export import export_menu
from app.ui.graph import figure_id, graph
from app.ui.grid import grid
from app.ui.page import Page
from app.ui.phase_views import execution_names, execution_rows, phase_cards, spread_figures, statistics_table
from core.traces.model import Role

if TYPE_CHECKING:
    from dash import Dash

_ORDERS = {"file": "As in the file", "name": "Name", "seconds": "Longest first", "runs": "Most runs first"}


def _nothing_yet(choice: Choice) -> Node:
    """What to do while there are no traces, or no model that fits them."""
    if choice.traces is None:
        return card(
            None,
            empty(
                "timeline",
                "No traces yet",
                "Phases are found in traces of containers: CPU and memory over time.",
                [
                    link_button("Add traces", address("/traces"), "upload", "primary"),
                    link_button("Load the samples", address("/"), "player-play"),
                ],
            ),
        )
    return card(
        None,
        empty(
            "stack-2",
            "No model yet",
            f"A model is needed to label the {choice.traces.n_executions:,} executions of "
            f"{choice.traces.name}. Training takes well under a minute for most sets.",
            [
                link_button(
                    "Train a model", address("/models", choice, view="train"), "player-play", "primary"
                )
            ],
        ),
    )


def _executions(rows: str, count: int, selected: str) -> Node:
    columns = [
        {
            "field": "name",
            "cellRenderer": "ExecutionCell",
            "flex": 1,
            "getQuickFilterText": {"function": "params.data.name + ' ' + params.data.note"},
        },
    ]
    return card(
        "Executions",
        html.Div(
            dmc.TextInput(
                id="find-execution",
                placeholder="Find by name or workload",
                leftSection=html.Span(className="icon i-search"),
                size="xs",
                **aria(label="Find an execution"),
            ),
            className="find",
        ),
        dcc.Store(id="execution-rows", data=rows),
        html.Div(
            grid(
                "executions",
                columns,
                [],
                height="100%",
                options={
                    "rowHeight": 54,
                    "headerHeight": 0,
                    "context": {"chosen": selected},
                    "rowClassRules": {"chosen": "isChosenExecution(params)"},
                },
                columnSize=None,
                getRowId="params.data.name",
                scrollTo={"rowId": selected, "rowPosition": "middle"},
            ),
            className="grow",
        ),
        note=f"{count:,}",
        tools=[
            dmc.Menu(
                [
                    dmc.MenuTarget(
                        icon("sort-descending"), boxWrapperProps=opener("Order of the executions")
                    ),
                    dmc.MenuDropdown(
                        [
                            dmc.MenuItem(label, id={"type": "order", "by": key})
                            for key, label in _ORDERS.items()
                        ]
                    ),
                ]
            )
        ],
        flush=True,
        class_name="executions",
    )


def _phone_picker(names: list[str], selected: str) -> Node:
    return html.Div(
        [
            dmc.Select(
                id="phone-execution",
                label="Execution",
                data=names,
                value=selected,
                searchable=True,
                allowDeselect=False,
                limit=100,
            ),
            icon_button("chevron-left", "Execution before", id="step-back", class_name="boxed"),
            icon_button("chevron-right", "Execution after", id="step-on", class_name="boxed"),
        ],
        className="phone-pick",
    )


def _timeline_card(
    of: tuple[str, str],
    name: str,
    window: tuple[float, float] | None,
    over: Overlays | None,
    policy: str | None,
    *,
    limited: bool,
) -> Node:
    evaluation = over.evaluation if over else ""
    figure = execution_timeline(*of, name, window, (evaluation, policy or ""))
    heading = execution_heading(of[0], name)
    keys = [
        html.Span("Used", className="key"),
        html.Span("Allocation", className="key alloc") if over else None,
        html.Span("Limit", className="key limit") if limited else None,
    ]
    return card(
        html.Span(heading.title, id="execution-title"),
        graph("timeline", figure, f"CPU and memory of {name} over time, with its phases"),
        html.Div(keys, className="keys only-phone"),
        html.P(sentence(evaluation, policy, name), id="overlay-note", className="small ink3", role="status"),
        dcc.Store(id="overlay-from", data=evaluation),
        dcc.Store(id="overlay-chosen", data={"policy": policy or "", "window": None}),
        note=html.Span(heading.note, id="execution-note", className="small"),
        tools=[
            html.Div(keys, className="keys only-desktop"),
            picker(over, policy) if over else None,
            button(
                "All", "zoom-reset", "small quiet", id="zoom-out", title="Show all of the time axis (Esc)"
            ),
            export_menu(
                "timeline",
                "timeline",
                [("Phases of every sample, CSV", f"/api/traces/{of[0]}/phases/{of[1]}.csv")],
            ),
        ],
        class_name="timeline",
    )


def _spread_card(of: tuple[str, str]) -> Node:
    figures, note = spread_figures(*of)
    shorts = [label.removeprefix("Spread of ").partition(" ")[0] for label, _ in figures]
    return card(
        "Spread by phase",
        html.Div(
            [graph(f"spread-{position}", figure, label) for position, (label, figure) in enumerate(figures)],
            className="spread",
        ),
        note=note,
        tools=[
            export_menu(
                [(f"spread-{position}", short) for position, short in enumerate(shorts)],
                "spread by phase",
                [("Statistics of every feature, CSV", f"/api/traces/{of[0]}/statistics/{of[1]}.csv")],
            )
        ],
    )


@safe_page("Phases")
def layout(
    traces: str | None = None,
    model: str | None = None,
    execution: str | None = None,
    x0: str | None = None,
    x1: str | None = None,
    overlay: str | None = None,
    evaluation: str | None = None,
    **_query: str,
) -> Node:
    """Lay the page out for what the address names."""
    choice = chosen(traces, model)
    pair = choice.pair()
    if pair is None:
        return [page_head("Phases"), _nothing_yet(choice)]
    of = (pair[0].id, pair[1].id)
    names = execution_names(of[0])
    name = execution or names[0]
    window = _window(x0, x1)
    limited = any(f.role in (Role.CPU_LIMIT, Role.MEMORY_LIMIT) for f in pair[0].features)
    count = len(pair[1].phases)
    numbered = "numbered by their authors" if pair[1].origin == "ai4dl" else "ordered by CPU then memory"
    return [
        dcc.Store(id="choice", data=choice.query()),
        dcc.Store(id="zoom"),
        dcc.Store(id="chosen-execution", data=name),
        dcc.Store(id="nothing"),
        page_head(
            "Phases",
            f"{count} phases, {numbered}",
            [link_button("Expand a phase", address("/models", choice), "hierarchy-2")],
        ),
        _phone_picker(names, name),
        html.Div(
            [
                _executions(execution_rows(*of), len(names), name),
                html.Div(
                    [
                        _timeline_card(
                            of, name, window, overlays(choice, evaluation), overlay, limited=limited
                        ),
                        phase_cards(*of),
                        _spread_card(of),
                        statistics_table(*of),
                    ],
                    className="stack",
                ),
            ],
            className="phases",
        ),
    ]


def _window(x0: str | None, x1: str | None) -> tuple[float, float] | None:
    """The zoom of an address; anything that is no span of time is no zoom."""
    try:
        start, end = float(x0 or ""), float(x1 or "")
    except ValueError:
        return None
    return (start, end) if end > start >= 0 else None


def register(app: Dash) -> None:
    """Connect the callbacks."""

    @app.callback(
        Output(figure_id("timeline"), "data"),
        Output("execution-title", "children"),
        Output("execution-note", "children"),
        Output("overlay-note", "children"),
        Input("chosen-execution", "data"),
        Input("zoom", "data"),
        Input("overlay-chosen", "data"),
        State("choice", "data"),
        State("overlay-from", "data"),
        prevent_initial_call=True,
    )
    def show(
        name: str, zoom: list[float] | None, over: dict[str, Any], choice: dict[str, str], evaluation: str
    ) -> tuple[Any, ...]:
        shown = {"zoom": zoom, "overlay-chosen": over["window"]}.get(str(dash.ctx.triggered_id))
        window = (shown[0], shown[1]) if shown else None
        drawn = (evaluation, over["policy"])
        figure = execution_timeline(choice["traces"], choice["model"], name, window, drawn)
        heading = execution_heading(choice["traces"], name)
        return figure, heading.title, heading.note, sentence(*drawn, name)

    app.clientside_callback(
        ClientsideFunction("provisioning", "overlay"),
        Output("overlay-chosen", "data"),
        Input("overlay", "value"),
        prevent_initial_call=True,
    )

    app.clientside_callback(
        ClientsideFunction("phases", "pick"),
        Output("nothing", "data"),
        Input("phone-execution", "value"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "step"),
        Output("nothing", "data", allow_duplicate=True),
        Input("step-back", "n_clicks"),
        Input("step-on", "n_clicks"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "filter"),
        Output("executions", "dashGridOptions"),
        Input("find-execution", "value"),
        State("executions", "dashGridOptions"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "fill"),
        Output("executions", "rowData"),
        Input("execution-rows", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("phases", "order"),
        Output("executions", "rowData", allow_duplicate=True),
        Input({"type": "order", "by": dash.ALL}, "n_clicks"),
        State("executions", "rowData"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "zoomOut"),
        Output("zoom-out", "disabled"),
        Input("zoom-out", "n_clicks"),
        prevent_initial_call=True,
    )


PAGE = Page(
    "/phases",
    "Phases",
    "timeline",
    1,
    layout,
    register,
    keys=(
        ("↑ ↓", "On Phases: the execution before, the one after"),
        ("Esc", "On Phases: show all of the time axis"),
    ),
)
