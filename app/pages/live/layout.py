"""The layout of the page of running containers; data comes with the first tick, a moment later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import dcc, html

from app.pages.live.state import ACT, COLUMNS, EVERY, MEASURES, does
from app.ui.basics import Node, aria, button, card, data, icon, icon_button
from app.ui.engines import title_of
from app.ui.tables import grid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.pages.live.state import LiveAddress
    from core.sampling.values import EngineInfo


GRID = "live-grid"
_JS = "phasedockLive."


# The table of containers: use against limit as bars with a tick, sparklines, badges, and what can be done.
#
# Its rows are filled in the browser at every tick (``live_table.js``); sorting by a quantity that moves
# uses its mean over the last 15 s, so that rows do not jump under the pointer.


def _function(name: str) -> dict[str, str]:
    return {"function": f"{_JS}{name}(params)"}


def _sorted_by(name: str) -> dict[str, Any]:
    return {"comparator": {"function": f"{_JS}{name}"}, "sortingOrder": ["desc", "asc"]}


_UNSEARCHED: Mapping[str, Any] = {"cellDataType": False, "getQuickFilterText": _function("nothing")}
"""Options of all columns with changing values: the filter ignores them."""


def columns() -> list[dict[str, Any]]:
    """The columns of the table."""
    return [
        _name(),
        {"field": "list", "headerName": "List", "cellRenderer": "LiveListCell", "width": 96, "minWidth": 86},
        {"field": "phase", "headerName": "Phase", "cellRenderer": "LivePhaseCell", "width": 64,
         "minWidth": 60},
        _state(),
        *(_further(name, label) for name, label in COLUMNS.items()),
        _bar("cpu", "CPU use and limit", "byCpu", sort="desc"),
        _line("cpuLine"),
        _bar("memory", "Memory use and limit", "byMemory"),
        _loss(),
        _line("lossLine"),
        _buttons(),
    ]  # fmt: skip


def _name() -> dict[str, Any]:
    return {
        "field": "name",
        "headerName": "Container",
        "cellRenderer": "LiveNameCell",
        "minWidth": 126,
        "flex": 4,
        "tooltipField": "image",
    }


def _state() -> dict[str, Any]:
    """The column of last ends, shown where a container has one."""
    return {
        "cellDataType": False,
        "getQuickFilterText": _function("stateText"),
        "field": "trouble",
        "headerName": "State",
        "cellRenderer": "LiveStateCell",
        "sortable": False,
        "minWidth": 170,
        "flex": 4,
    }


def _bar(field: str, title: str, order: str, **more: Any) -> dict[str, Any]:
    """A column of bars with a tick at the limit."""
    return {
        **_UNSEARCHED,
        **_sorted_by(order),
        "field": field,
        "headerName": title,
        "cellRenderer": "LiveBarCell",
        "minWidth": 178,
        "flex": 4,
        **more,
    }


def _line(field: str) -> dict[str, Any]:
    """A column of sparklines."""
    return {
        **_UNSEARCHED,
        "sortable": False,
        "headerValueGetter": _function("span"),
        "field": field,
        "colId": field,
        "cellRenderer": "LiveLineCell",
        "width": 80,
        "minWidth": 66,
    }


def _further(field: str, title: str) -> dict[str, Any]:
    """A column that is shown where it was chosen."""
    return {
        **_UNSEARCHED,
        "comparator": {"function": f"{_JS}by{field.capitalize()}"},
        "sortingOrder": ["desc", "asc"],
        "field": field,
        "headerName": title,
        "cellRenderer": "LiveTextCell",
        "type": "rightAligned",
        "hide": True,
        "width": 92,
        "minWidth": 76,
    }


def _column_choice() -> html.Details:
    """Which further columns the table has."""
    buttons = [
        button(label, None, "quiet small", **data(column=name), **aria(pressed="false"))
        for name, label in COLUMNS.items()
    ]
    return html.Details(
        [
            html.Summary([icon("table", "sm"), "Columns"], className="btn small"),
            html.Div(buttons, className="columnlist"),
        ],
        className="columnchoice only-desktop-block",
    )


def _loss() -> dict[str, Any]:
    return {
        **_UNSEARCHED,
        **_sorted_by("byLoss"),
        "field": "loss",
        "headerName": "Loss",
        "cellRenderer": "LiveLossCell",
        "type": "rightAligned",
        "width": 66,
        "minWidth": 62,
    }


def _buttons() -> dict[str, Any]:
    """The column of action buttons, always in sight."""
    return {
        **_UNSEARCHED,
        "field": "acts",
        "headerName": "Actions",
        "headerClass": "acts-head",
        "cellRenderer": "LiveActsCell",
        "cellClass": "acts-cell",
        "sortable": False,
        "resizable": False,
        "pinned": "right",
        "width": 62,
        "minWidth": 62,
        "maxWidth": 62,
    }


def table_card(text: str) -> html.Section:
    """The card with the table on wide screens and with one card per container on a phone."""
    search = dmc.TextInput(
        id="live-filter",
        value=text,
        placeholder="Filter",
        size="xs",
        leftSection=icon("search", "sm"),
        **aria(label="Filter containers"),
    )
    export = icon_button("download", "Export the table, CSV", **data(live="csv"))
    note: Node = [html.Span("bar: use; tick: limit", className="only-desktop"), html.Span(id="live-count")]
    return card(
        "Containers",
        html.Div(_table(), className="live-table only-desktop-block", id="live-table"),
        html.Div(id="live-cards", className="live-cards"),
        note=note,
        tools=[search, _column_choice(), export],
        flush=True,
        class_name="containers",
    )


def _table() -> Node:
    options = {
        "suppressModelUpdateAfterUpdateTransaction": True,
        "suppressCellFocus": False,
        "enableCellTextSelection": False,
        "rowBuffer": 4,
        "localeText": {"noRowsToShow": "No matching container"},
        "cellFlashDuration": 0,
    }
    return grid(
        GRID,
        columns(),
        [],
        height="404px",
        options=options,
        getRowId="params.data.id",
        eventListeners={"cellKeyDown": [f"{_JS}key(params)"]},
        columnSize=None,
    )


PANELS = ("notice", "policy", "record", "others", "queue", "deadlines")
_KPIS = (("cpu", "CPU used"), ("memory", "Memory used"), ("throttled", "CPU throttled"),
         ("containers", "Containers"))  # fmt: skip


def head(seconds: str) -> html.Div:
    """The page's title, how old its data is, and its controls."""
    age = html.Span([icon("clock"), html.Span(id="live-age")], className="age", id="live-age-line")
    return html.Div(
        [
            html.H1("Live"),
            html.Span(id="live-lead", className="lead truncate"),
            html.Div([age, _every(seconds), _pause(), _release()], className="actions"),
        ],
        className="pagehead",
    )


def _every(seconds: str) -> dmc.Select:
    return dmc.Select(
        id="live-every",
        data=[{"value": each, "label": f"Every {each} s"} for each in EVERY],
        value=seconds,
        allowDeselect=False,
        size="xs",
        w=104,
        rightSection=icon("chevron-down", "sm"),
        className="only-desktop-block",
        **aria(label="How often the page is updated"),
    )


def _pause() -> html.Button:
    return html.Button(
        [
            html.Span([icon("player-pause"), html.Span("Pause", className="txt")], className="when-running"),
            html.Span([icon("player-play"), html.Span("Resume", className="txt")], className="when-paused"),
        ],
        id="live-pause",
        type="button",
        className="btn",
        title="Pause or resume updates (P)",
        **aria(label="Pause"),
    )


def _release() -> html.Button:
    return button(
        html.Span("Release everything", className="txt"),
        "lock-open",
        "danger",
        title="Release everything",
        **does("release"),
        **aria(label="Release everything"),
    )


def _kpi(name: str, label: str) -> html.Div:
    return html.Div(
        [
            html.Div(
                [
                    html.Div(label, className="label"),
                    html.Div(
                        [
                            html.Span("–", **data(kpi=f"{name}-value")),
                            " ",
                            html.Small("", **data(kpi=f"{name}-unit")),
                        ],
                        className="value",
                    ),
                ],
                className="words",
            ),
            html.Div(className="kpi-line", **data(kpi=f"{name}-line"), **aria(hidden="true")),
        ],
        className="card kpi",
    )


def _small_card(measure: str) -> html.Section:
    choices = [
        button(label, None, "quiet small", **data(measure=key), **aria(pressed=str(key == measure).lower()))
        for key, label in MEASURES.items()
    ]
    keys = html.Div(
        [
            html.Span("Used", className="key"),
            html.Span("Limit", className="key alloc"),
            html.Span("Loss", className="key loss"),
        ],
        className="keys only-desktop",
    )
    tools = [
        keys,
        html.Div(choices, className="seg", role="group", **aria(label="Quantity shown")),
        html.Button(
            [icon("chevron-down"), html.Span(id="live-all-label")],
            id="live-all",
            type="button",
            className="btn quiet small",
            **aria(expanded="false", controls="live-small"),
        ),
    ]
    return card(
        html.Span("Top six by CPU", id="live-small-title"),
        html.Div(id="live-small", className="live-small"),
        tools=tools,
        class_name="small-multiples",
    )


def body(engine: EngineInfo, address: LiveAddress) -> list[Node]:
    """The page of one engine."""
    main = [table_card(address.text), _side(), _small_card(address.measure)]
    parts = [
        head(address.every),
        html.Div(id="live-late", className="lv-slot", role="status"),
        html.Div(id="live-notice", className="lv-slot"),
        html.Div([_kpi(*each) for each in _KPIS], className="grid cols-4 kpis"),
        html.Div(
            card("Queue", html.P("Loading …", className="pad small ink2"), flush=True),
            id="live-queue",
            className="lv-slot lv-queue",
        ),
        html.Div(id="live-deadlines", className="lv-slot lv-deadlines"),
        html.Div(main, className="live-main"),
        html.Div(id="live-others", className="lv-slot"),
    ]
    attributes = data(
        engine=engine.name,
        called=title_of(engine),
        every=address.every,
        paused="0",
        model=address.model or "",
    )
    chosen = data(measure=address.measure, all=address.all_charts, columns=address.columns)
    return [
        html.Div(parts, id="live", className="live waiting", **attributes, **chosen),
        *plumbing(),
    ]


def _side() -> html.Div:
    """Where the server draws the panels of the policy and of the recording."""
    return html.Div(
        [
            html.Div(id="live-policy", className="lv-slot lv-policy"),
            html.Div(id="live-record", className="lv-slot lv-record"),
        ],
        className="live-side",
    )


def plumbing() -> list[Node]:
    """The stores between the page's script and the server, and the window that its buttons open."""
    return [
        dcc.Store(id=ACT),
        dcc.Store(id="live-panels"),
        dcc.Store(id="live-drawn", data={}),
        dcc.Store(id="live-poke"),
        dcc.Store(id="live-draft"),
        dcc.Store(id="live-job-asked"),
        dcc.Store(id="live-zone"),
        dmc.Modal(
            id="live-window",
            closeButtonProps=aria(label="Close"),
            children=html.Div(id="live-window-what", className="stack"),
        ),
    ]
