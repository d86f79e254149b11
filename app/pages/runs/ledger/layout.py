"""Stepping through a ledger: at this tick, these G, these lists, these limits, for these reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
import orjson
from dash import ALL, ClientsideFunction, Input, Output, State, dcc, html

from app.context import workspace
from app.pages.runs import stored
from app.pages.runs.ledger.moment import tick_body
from app.pages.runs.ledger.queue import run_cards
from app.pages.runs.query import PATH
from app.ui.attached_runs import state_words
from app.ui.basics import Node, aria, card, data, empty, icon_button, link_button, page_head
from app.ui.graph import figure_id
from app.ui.links import link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash import Dash

    from app.pages.runs.query import View
    from app.pages.runs.stored import Side
    from core.runs.values import ExperimentInfo, RunInfo
    from core.workspace.ledgers import Tick

_MOST_SIDES = 5
_FIGURES: dict[str, Any] = {**figure_id(""), "name": ALL}


def ledger_page(info: ExperimentInfo, view: View) -> list[Node]:
    """The page of a ledger."""
    first, second, every = stored.pair(info, view.a, view.b)
    side = every.get(view.of or "") or first
    back = link_button(
        "Back to the comparison", view.query.only("experiment", "a", "b", "seed"), "chevron-left"
    )
    own = [each for each in every.values() if each.experiment == info.id and each.runs]
    near = own if len(own) <= _MOST_SIDES else [each for each in (first, second) if each is not None]
    options = {each.key: each.title for each in near} | {side.key: side.title}
    run = side.runs.get(view.seed if view.seed is not None else min(side.runs, default=0))
    ticks = workspace().runs.ledgers.ticks(run) if run else []
    head = page_head(info.name, f"ledger of {side.title}", [_sides(view, options, side), back])
    if run is None or not ticks:
        text = "Ledgers are saved for the first seed only, unless another choice was made."
        return [head, card(None, empty("list-check", "No ledger was saved for this run", text, [back]))]
    return [head, *_steps(view, side.title, run, ticks)]


def run_page(info: RunInfo, view: View) -> list[Node]:
    """The page of the ledger of a run that belongs to no experiment: that of an attached policy."""
    back = link_button("Back to runs", PATH, "chevron-left")
    head = page_head(info.name, f"decisions on running containers, {state_words(info.state)[0]}", [back])
    ticks = workspace().runs.ledgers.ticks(info.id)
    if not ticks:
        text = "The policy has not seen a container yet."
        return [head, card(None, empty("list-check", "No decisions yet", text, [back]))]
    return [head, *_steps(view, info.name, info.id, ticks)]


def _sides(view: View, options: dict[str, str], side: Side) -> html.Nav:
    links = [
        link(
            label,
            view.query(of=key, tick=None, job=None),
            className="on" if key == side.key else "",
            **(aria(current="true") if key == side.key else {}),
        )
        for key, label in options.items()
    ]
    return html.Nav(links, className="seg", **aria(label="Policy"))


def _steps(view: View, label: str, run: str, ticks: Sequence[Tick]) -> list[Node]:
    tick = min(view.tick, len(ticks) - 1)
    keys = html.Span(["or the keys ", html.Kbd("←"), " ", html.Kbd("→")], className="ink3 small only-desktop")
    return [
        card("Tick", _tick_bar(view, label, run, ticks), tools=[keys], class_name="tickcard"),
        dcc.Store(id="tick-run", data=run),
        html.Div(tick_body(run, tick, view.job), id="tick-body", className="stack spaced-top"),
        html.Div(run_cards(run, ticks[tick].time, view), className="stack spaced-top"),
        dcc.Store(id="tick-times", data=[each.time for each in ticks]),
    ]


def _tick_bar(view: View, label: str, run: str, ticks: Sequence[Tick]) -> html.Div:
    """The slider with the steps at both its ends, the way to the next decision, and the choice of a job."""
    busy = [each.number for each in ticks if each.actions or each.failures]
    last = len(ticks) - 1
    return html.Div(
        [
            icon_button("chevron-left", "Previous tick", **data(step=-1)),
            _slider(min(view.tick, last), last, label),
            icon_button("chevron-right", "Next tick", **data(step=1)),
            html.Button("Next decision", type="button", className="btn small", **data(step="decision")),
            _job_choice(run, view.job),
        ],
        className="tickbar",
        **data(busy=orjson.dumps(busy).decode(), last=last, run=run),
    )


def _slider(tick: int, last: int, label: str) -> dmc.Slider:
    return dmc.Slider(
        id="tick",
        min=0,
        max=max(last, 1),
        step=1,
        value=tick,
        label=None,
        thumbLabel=f"Tick of the ledger of {label}",
        className="grow",
        size="sm",
    )


def _job_choice(run: str, job: str | None) -> dmc.Select:
    jobs = list((stored.recent_series(run) or {"jobs": {}})["jobs"])
    return dmc.Select(
        id="tick-job",
        data=jobs,
        value=job if job in jobs else None,
        placeholder="All jobs",
        limit=100,
        clearable=True,
        searchable=True,
        size="xs",
        clearButtonProps=aria(label="All jobs"),
        **aria(label="Only this job"),
    )


def register(app: Dash) -> None:
    """Connect the slider, the keys and the filter."""

    @app.callback(
        Output("tick-body", "children"),
        Input("tick", "value"),
        Input("tick-job", "value"),
        State("tick-run", "data"),
        prevent_initial_call=True,
    )
    def show(tick: int, job: str | None, run: str) -> Node:
        return tick_body(run, int(tick or 0), job or None)

    app.clientside_callback(
        ClientsideFunction("runs", "address"),
        Output("tick-run", "id"),
        Input("tick", "value"),
        Input("tick-job", "value"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("runs", "line"),
        Output(_FIGURES, "data", allow_duplicate=True),
        Input("tick", "value"),
        State("tick-times", "data"),
        State(_FIGURES, "data"),
        State(_FIGURES, "id"),
        prevent_initial_call=True,
    )
