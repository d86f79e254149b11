"""Phases: the timeline of one execution, and the usage of each phase over all executions.

The list of executions, the timeline and the cards are about the trace set and the model that the
address names. Choosing another execution changes the address without reloading the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import dash
import dash_mantine_components as dmc
from dash import ClientsideFunction, Input, Output, State, dcc, html

from app.context import Choice, address, cached, find_choice, workspace
from app.pages.phases import naming, tables
from app.pages.phases.executions import (
    MAX_OFFERED,
    Overlays,
    View,
    beside_menu,
    execution_heading,
    execution_timeline,
    executions_card,
    list_address,
    offered_lanes,
    offered_names,
    overlays,
    phone_picker,
    picker,
    sentence,
    written_keys,
)
from app.ui.basics import Node, aria, card, icon, icon_button, link_button, opener, page_head
from app.ui.graph import figure_id, graph
from app.ui.nothing_yet import drift_notice, misfit, no_model, no_traces
from app.ui.page import Page, Room, safe_page
from app.ui.phases import execution_names, live, phase_cards, spread_figures
from app.ui.tables import export_menu
from core.units import format_duration, phase_number, plural

if TYPE_CHECKING:
    from dash import Dash

    from core.workspace.records import ModelInfo


_PERIODS = (2, 3, 5, 10, 30)


def lanes_menu(view: View) -> Node:
    """Which lanes are shown, of all that the traces have."""
    boxes = [dmc.Checkbox(label=lane.title, value=lane.key, size="xs") for lane in offered_lanes(view.traces)]
    group = dmc.CheckboxGroup(
        html.Div(boxes, className="stack close"),
        id="lanes",
        label="Shown of these traces",
        value=[lane.key for lane in view.lanes],
        size="xs",
    )
    target = opener("Lanes of these traces") | {"className": "btn small"}
    return dmc.Popover(
        [
            dmc.PopoverTarget([icon("stack-2", "sm"), "Lanes"], boxWrapperProps=target),
            dmc.PopoverDropdown(html.Div(group, className="lanemenu"), p=12),
        ],
        position="bottom-end",
        keepMounted=True,
    )


def dwell_picker(view: View) -> Node:
    """The minimum dwell time of a phase; shorter segments are shown as part of a neighbour."""
    labels = workspace().labels
    as_labelled, default = labels.get(view.traces, view.model), labels.default_dwell(view.traces, view.model)
    period = workspace().traces.get(view.traces).period
    dwells = {round(period * count, 3) for count in _PERIODS} | {
        view.dwell,
        default,
        as_labelled.suggested_dwell,
    }
    options = [{"value": "0", "label": "Segments as labelled"}]
    # stamps that are some microseconds late make times that are written the same
    by_value = {f"{seconds:g}": seconds for seconds in sorted(dwells) if seconds > 0}
    options += [
        {"value": value, "label": _label(value, f"{as_labelled.suggested_dwell:g}", seconds)}
        for value, seconds in by_value.items()
    ]
    return dmc.Select(
        id="dwell",
        data=options,
        value=f"{view.dwell:g}",
        allowDeselect=False,
        size="xs",
        w=216,
        rightSection=icon("selector", "sm"),
        comboboxProps={"width": "max-content", "position": "bottom-end"},
        **aria(label="Minimum dwell time: shorter segments join a neighbour"),
    )


def raw_button(view: View) -> Node:
    """One click from smoothed segments to those as labelled, and back; disabled where they do not flicker."""
    smooth = workspace().labels.default_dwell(view.traces, view.model) or view.dwell
    shorter = (
        f"shorter than {format_duration(smooth)}" if smooth else "too short to mean anything: there are none"
    )
    return html.Button(
        "Raw",
        id="raw",
        type="button",
        className="btn",
        title=f"Segments as the model labels them, with those {shorter}",
        disabled=not smooth,
        **aria(pressed="false" if view.dwell else "true") | {"data-smooth": f"{smooth:g}"},
    )


def _label(value: str, suggested: str, seconds: float) -> str:
    text = f"Segments ≥ {format_duration(seconds)}"
    return f"{text}, suggested" if value == suggested else text


def timeline_card(view: View, name: str, over: Overlays | None) -> Node:
    """The timeline of an execution."""
    evaluation, heading = over.evaluation if over else "", execution_heading(view.traces, name)
    figure = execution_timeline(view, name, view.window, (evaluation, view.overlay))
    keys = _keys(view, allocated=over is not None)
    return card(
        html.Span(heading.title, id="execution-title"),
        graph("timeline", figure, f"Usage of {name} over time, with its phases"),
        html.Div(keys, className="keys only-phone"),
        html.P(
            sentence(evaluation, view.overlay, name), id="overlay-note", className="small ink3", role="status"
        ),
        dcc.Store(id="overlay-from", data=evaluation),
        dcc.Store(id="overlay-chosen", data={"policy": view.overlay, "window": None}),
        note=html.Span(heading.note, id="execution-note", className="small"),
        tools=[
            html.Div(keys, className="keys only-desktop"),
            beside_menu(execution_names(view.traces), view),
            picker(over, view.overlay) if over else None,
            lanes_menu(view),
            *_tools(view),
        ],
        class_name="timeline",
    )


def _keys(view: View, *, allocated: bool) -> list[Node]:
    """The key of the lines."""
    return [
        html.Span("Used", className="key"),
        html.Span("Allocation", className="key alloc") if allocated else None,
        html.Span("Limit", className="key limit") if any(lane.limit for lane in view.lanes) else None,
        html.Span("Request", className="key request") if any(lane.request for lane in view.lanes) else None,
    ]


def _tools(view: View) -> list[Node]:
    title, base = "Reset zoom (Esc)", f"/api/traces/{view.traces}"
    files = [
        ("This timeline, CSV", f"{base}/timeline/{view.model}.csv?"),
        ("Phases of every sample, CSV", f"{base}/phases/{view.model}.csv?dwell={view.dwell:g}&"),
    ]
    return [
        icon_button("zoom-reset", title, id="zoom-out"),
        export_menu("timeline", "timeline", files),
    ]


def details(view: View) -> list[Node]:
    """The cards below the timeline: each phase and its usage over all executions."""
    labelling = view.labelling()

    def expand(phase: int) -> str:
        return address("/models", None, traces=view.traces, model=view.model, expand=phase_number(phase))

    note = "over all samples of the trace set"
    if view.dwell:
        note += f"; segments shorter than {format_duration(view.dwell)} merged"
    return [
        phase_cards(
            labelling.statistics, view.resource_lanes, expand, names=view.phase_names(), can_rename=True
        ),
        _spread_card(view),
        tables.statistics_card(view, note),
    ]


def _spread_card(view: View) -> Node:
    labelling, names = view.labelling(), view.phase_names()
    figures = cached(
        lambda: spread_figures(labelling.statistics, view.resource_lanes, names),
        "spread",
        str(names),
        *view.prints(),
        written_keys(view.resource_lanes),
    )
    samples = sum(each.samples for each in live(labelling.statistics))
    info = workspace().traces.get(view.traces)
    counts = f"{plural(info.n_executions, 'execution')}, {plural(samples, 'labelled sample')}"
    ids = [f"spread-{place}" for place in range(len(figures))]
    return card(
        "Spread by phase",
        html.Div(
            [graph(name, figure, label) for name, (_, label, figure) in zip(ids, figures, strict=True)],
            className="spread",
        ),
        note=f"whiskers 5th to 95th percentile; {counts}",
        tools=[
            export_menu(
                [(name, title) for name, (title, _, _) in zip(ids, figures, strict=True)],
                "spread by phase",
                [("Statistics of every feature, CSV", tables.statistics_address(view))],
            )
        ],
    )


def register(app: Dash) -> None:
    """Connect the callbacks."""
    app.callback(
        Output(figure_id("timeline"), "data"),
        Output("execution-title", "children"),
        Output("execution-note", "children"),
        Output("overlay-note", "children"),
        Input("chosen-execution", "data"),
        Input("zoom", "data"),
        Input("overlay-chosen", "data"),
        Input("shown", "data"),
        Input("phases-named", "data"),
        State("choice", "data"),
        State("overlay-from", "data"),
        prevent_initial_call=True,
    )(show)
    app.callback(
        Output("phase-details", "children"),
        Output("execution-list", "data"),
        Input("shown", "data"),
        Input("phases-named", "data"),
        State("choice", "data"),
        prevent_initial_call=True,
    )(show_details)
    naming.register(app)
    _register_timeline(app)
    _register_steps(app)
    _register_list(app)


def show(
    name: str,
    zoom: list[float] | None,
    over: dict[str, Any],
    state: dict[str, Any],
    _named: str | None,
    choice: dict[str, str],
    evaluation: str,
) -> tuple[Any, ...]:
    """Draw the chosen execution, zoomed and with the chosen policy's allocation."""
    part = {"zoom": zoom, "overlay-chosen": over["window"], "shown": state.get("window")}
    window = part.get(str(dash.ctx.triggered_id))
    overlay = (evaluation, over["policy"])
    figure = execution_timeline(
        _view(state, choice), name, (window[0], window[1]) if window else None, overlay
    )
    heading = execution_heading(choice["traces"], name)
    return figure, heading.title, heading.note, sentence(*overlay, name)


def show_details(state: dict[str, Any], _named: str | None, choice: dict[str, str]) -> tuple[Any, str]:
    """Show other quantities of the phases, or the phases with another minimum dwell time."""
    view = _view(state, choice)
    return details(view), list_address(view)


def _view(state: dict[str, Any], choice: dict[str, str]) -> View:
    kept: dict[str, str] = {key: state[key] for key in ("lanes", "dwell", "beside") if key in state}
    return View.of(choice["traces"], choice["model"], kept)


def _register_timeline(app: Dash) -> None:
    """The overlay, and the button that shows all of the time axis."""
    app.clientside_callback(
        ClientsideFunction("provisioning", "overlay"),
        Output("overlay-chosen", "data"),
        Input("overlay", "value"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "shown"),
        Output("shown", "data"),
        Input("lanes", "value"),
        Input("dwell", "value"),
        Input("beside", "value"),
        State("shown", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "raw"),
        Output("dwell", "value"),
        Input("raw", "n_clicks"),
        State("raw", "data-smooth"),
        State("dwell", "value"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "pressed"),
        Output("raw", "aria-pressed"),
        Input("dwell", "value"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "zoomOut"),
        Output("zoom-out", "disabled"),
        Input("zoom-out", "n_clicks"),
        prevent_initial_call=True,
    )


def _register_steps(app: Dash) -> None:
    """The picker of a phone, and its ways to the neighbours."""
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


def _register_list(app: Dash) -> None:
    """Filling, searching and ordering the list of executions, and the menus of executions."""
    app.clientside_callback(
        ClientsideFunction("phases", "rows"),
        Output("executions", "getRowsResponse"),
        Input("executions", "getRowsRequest"),
        State("execution-list", "data"),
        State("find-execution", "value"),
        State("execution-order", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "again"),
        Output("nothing", "data", allow_duplicate=True),
        Input("execution-list", "data"),
        Input("find-execution", "value"),
        Input("execution-order", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("phases", "order"),
        Output("execution-order", "data"),
        Input({"type": "order", "by": dash.ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    for menu in ("phone-execution", "beside"):
        app.callback(
            Output(menu, "data"),
            Input(menu, "searchValue"),
            State(menu, "value"),
            State(menu, "data"),
            State("choice", "data"),
            prevent_initial_call=True,
        )(offer)


def offer(
    text: str | None, selected: str | list[str] | None, offered: list[str], choice: dict[str, str]
) -> list[str]:
    """Offer the executions that a text in a menu finds; a text that was cleared keeps those it found.

    A menu clears its text before it says what was selected, which has to remain among its options.
    """
    chosen = [selected] if isinstance(selected, str) else selected or []
    names = offered_names(execution_names(choice["traces"]), chosen, text)
    return names if text else list(dict.fromkeys([*names, *offered[: 2 * MAX_OFFERED]]))


def _nothing_yet(choice: Choice) -> Node:
    """What to do while there are no traces, or no model that fits them."""
    if choice.traces is None:
        return no_traces("timeline", "Phases are found in traces of containers: CPU and memory over time.")
    return no_model(choice, choice.traces, "stack-2", "No model yet")


@safe_page("Phases")
def layout(traces: str | None = None, model: str | None = None, **query: str) -> Node:
    """Lay the page out for what the address names."""
    choice = find_choice(traces, model)
    pair = choice.pair()
    if pair is None:
        return [page_head("Phases"), _nothing_yet(choice)]
    wrong = misfit(choice, "/phases")
    if wrong is not None:
        return [page_head("Phases"), wrong]
    view = View.of(pair[0].id, pair[1].id, query)
    names = execution_names(view.traces)
    name = view.execution or names[0]
    cards = [
        timeline_card(view, name, overlays(choice, view.evaluation)),
        html.Div(details(view), id="phase-details", className="stack"),
    ]
    executions = executions_card(view, len(names), name)
    return [
        *_stores(choice, view, name),
        _head(choice, pair[1], view),
        html.Div(drift_notice(*pair), className="far"),
        phone_picker(names, name),
        html.Div([executions, html.Div(cards, className="stack")], className="phases"),
    ]


def _stores(choice: Choice, view: View, name: str) -> list[Node]:
    """Stores of the choices, for the callbacks and the page's script."""
    return [
        dcc.Store(id="choice", data=choice.query()),
        dcc.Store(id="zoom"),
        dcc.Store(id="shown", data=_shown(view)),
        dcc.Store(id="chosen-execution", data=name),
        dcc.Store(id="nothing"),
        *naming.window(),
    ]


def _shown(view: View) -> dict[str, str]:
    """The lanes, minimum dwell time and further executions, as the address has them."""
    beside = ",".join(quote(name, safe="") for name in view.beside)
    return {"lanes": written_keys(view.lanes), "dwell": f"{view.dwell:g}", "beside": beside}


def _head(choice: Choice, model: ModelInfo, view: View) -> Node:
    numbered = "numbered as published" if model.origin == "ai4dl" else "ordered by CPU then memory"
    longest = max(live(view.labelling().statistics), key=lambda each: each.share, default=None)
    phase = longest.phase if longest is not None else view.labelling().phases[0]
    href = address("/models", choice, expand=phase_number(phase))
    expand = link_button("Expand a phase", href, "hierarchy-2")
    lead = f"{len(model.phases)} phases, {numbered}"
    return page_head("Phases", lead, [dwell_picker(view), raw_button(view), expand])


PAGE = Page(
    "/phases",
    "Phases",
    "timeline",
    1,
    layout,
    register,
    routes=(tables.blueprint,),
    keys=(
        ("↑ ↓", "On Phases: previous or next execution"),
        ("+ −", "On Phases: zoom in or out"),
        ("← →", "On Phases: earlier or later, where zoomed"),
        ("Esc", "On Phases: reset zoom"),
    ),
    outline=(Room((620, 620), "phases"),),
)
