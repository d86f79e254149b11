"""Search settings on a grid or at random, ranked by the error on held-out executions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, dcc, html, set_props

from app.context import workspace
from app.figures.models import trials
from app.pages.models.train import no_traces
from app.ui import task_card
from app.ui.basics import Node, button, card, link_button, notice, unseen
from app.ui.forms import ORDER, numbers, text_of, values_of
from app.ui.graph import graph
from app.ui.page import problem
from app.ui.tables import html_table
from core.errors import InputError, PhaseDockError
from core.phases import PhaseSettings
from core.settings_fields import check, describe
from core.tables import Column, Table
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.workspace.records import TaskInfo, TraceSetInfo

SEARCHED: dict[str, tuple[str, type]] = {
    "hidden": ("5, 10, 20", int),
    "history": ("1, 3, 5", int),
    "learning_rate": ("0.0003, 0.001, 0.003", float),
    "epochs": ("50", int),
}
_SPECS = {spec.name: spec for spec in describe(PhaseSettings)}


def _plural(bounds: str) -> str:
    return bounds.replace("a whole number", "Whole numbers").replace("a number", "Numbers")


def _list_field(name: str, values: str) -> dmc.TextInput:
    spec = _SPECS[name]
    return dmc.TextInput(
        id={"type": "search-values", "name": name},
        label=f"{spec.label} to try",
        description=f"{_plural(spec.bounds)}, separated by commas.",
        value=values,
        size="xs",
        inputWrapperOrder=ORDER,
        className="field",
    )


def _counts() -> list[Node]:
    """The number of trials, the held-out share, and the seed."""
    small: dict[str, Any] = {"size": "xs", "className": "field", "clampBehavior": "none"}
    percent = {"rightSection": html.Span("%", className="unit"), "hideControls": True}
    return [
        dmc.NumberInput(id="search-most", label="Number of random trials", value=8, min=1, max=500, **small),
        dmc.NumberInput(id="search-held", label="Held out", value=25, min=5, max=90, **percent, **small),
        dmc.NumberInput(id="search-seed", label="Seed", value=0, min=0, **small),
    ]


def view(task: str | None, traces: TraceSetInfo | None) -> list[Node]:
    """The form of the search, and its trials."""
    if traces is None:
        return [no_traces()]
    tasks = task_card.tasks_of("search", {"trace_set": traces.id}, task)
    text = "Trials appear here, lowest error on held-out executions first."
    panel = task_card.panel(tasks, "adjustments-horizontal", "No search on these traces yet", text)
    return [html.Div([_form(traces), task_card.place("search-live", panel)], className="grid cols-side top")]


def _form(traces: TraceSetInfo) -> html.Section:
    return card(
        "Search settings",
        html.Div(
            [
                dmc.SegmentedControl(
                    id="search-method",
                    data=[
                        {"value": "grid", "label": "Every combination"},
                        {"value": "random", "label": "Random combinations"},
                    ],
                    value="grid",
                    size="xs",
                    w="max-content",
                ),
                html.Div(
                    [_list_field(name, values) for name, (values, _) in SEARCHED.items()],
                    className="formgrid wide",
                ),
                html.Div(_counts(), className="formgrid"),
                html.P(
                    "Each trial trains a CRBM on a part of the executions and is judged on the others, so "
                    "that a setting cannot win by overfitting.",
                    className="small ink3",
                ),
                html.Div(id="search-problem"),
                html.Div(
                    [
                        button("Search", "player-play", "primary", id="search-start"),
                        html.Span(id="search-count", className="ink3 small"),
                    ],
                    className="row",
                ),
                dcc.Store(id="search-traces", data=traces.id),
            ],
            className="stack form",
        ),
        note=["on ", traces.name],
    )


def _words(settings: Mapping[str, Any]) -> str:
    rate = text_of(settings["learning_rate"])
    return f"{settings['hidden']} hidden, history {settings['history']}, rate {rate}"


def outcome(task: TaskInfo) -> Node:
    """The trials by held-out error, each with a link to train with its settings."""
    rows: Sequence[Mapping[str, Any]] = (task.result or {}).get("trials") or []
    if not rows:
        return notice("info", "The search gave no results.")
    figure = trials(
        [_words(each["settings"]) for each in rows],
        [float(each["held_out_error"]) for each in rows],
        [float(each["training_error"]) for each in rows],
    )
    keys = [
        html.Span("held-out executions", className="dotkey"),
        html.Span("training executions", className="dotkey grey"),
    ]
    return html.Div(
        [
            html.Div(keys, className="row wrap"),
            graph(f"search-{task.id}", figure, "Error of each trial on held-out and on training executions"),
            html.Div(_table(rows, task.params["trace_set"]), className="flushtable tall"),
        ],
        className="stack",
    )


def _setting(name: str, title: str) -> Column:
    return Column(name, title, text_of, lambda each: each["settings"][name])


_TRIALS = (
    *map(_setting, SEARCHED, ("Hidden", "History", "Learning rate", "Epochs")),
    Column("held_out_error", "Held out", "{:#.3g}".format),
    Column("training_error", "Training", "{:#.3g}".format),
    Column("use", " ", value=lambda _: ""),
)


def _table(rows: Sequence[Mapping[str, Any]], trace_set_id: str) -> html.Div:
    cells = {
        "held_out_error": lambda each: html.B(f"{each['held_out_error']:#.3g}"),
        "use": lambda each: _use(each["settings"], trace_set_id),
    }
    heads = {"use": unseen("Actions")}
    return html_table(Table("trials", _TRIALS, rows), "Trials by held-out error", cells=cells, heads=heads)


def _use(settings: Mapping[str, Any], trace_set_id: str) -> Node:
    """The way to the training form, filled with the settings of a trial."""
    values = "&".join(f"{name}={text_of(settings[name])}" for name in SEARCHED)
    return link_button(
        "Use these settings", f"/models?view=train&traces={trace_set_id}&{values}", None, "small"
    )


task_card.OUTCOMES["search"] = outcome


def space_of(texts: Mapping[str, str]) -> dict[str, list[float]]:
    """The values to try, each within its bounds.

    Raises
    ------
    InputError
        If a list is empty, has something other than a number, or a value out of bounds; names the setting.
    """
    space: dict[str, list[float]] = {}
    for name, (_, kind) in SEARCHED.items():
        spec = _SPECS[name]
        entries = numbers(texts.get(name, ""), spec.label, kind)
        space[name] = sorted({check(spec, value) for value in entries})
    return space


def combinations(space: Mapping[str, Sequence[float]]) -> int:
    """The number of combinations of a grid."""
    count = 1
    for values in space.values():
        count *= len(values)
    return count


def _whole(value: object, label: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(f"{label} cannot be “{value}”.", f"Enter a whole number from {low} to {high}.")
    return value


def submit(
    trace_set_id: str, texts: Mapping[str, str], at_most: object, held_out: object, seed: object
) -> str:
    """Submit a search; returns the id of its task.

    Raises
    ------
    InputError
        If something is out of bounds.
    """
    space = space_of(texts)
    max_trials = None if at_most is None else _whole(at_most, "The number of trials", 1, 500)
    params = {
        "trace_set": trace_set_id,
        "space": space,
        "at_most": max_trials,
        "held_out": _whole(held_out, "The share held out", 5, 90) / 100,
        "seed": _whole(seed, "The seed", 0, 2**31 - 1),
    }
    traces = workspace().traces.get(trace_set_id)
    count = min(combinations(space), max_trials or combinations(space))
    return workspace().tasks.submit(
        "search", f"Search settings on {traces.name}, {plural(count, 'trial')}", params
    )


def register(app: Dash) -> None:
    """Connect the form."""
    lists = {"type": "search-values", "name": dash.ALL}
    app.callback(
        Output("search-count", "children"),
        Output("search-most", "disabled"),
        Input(lists, "value"),
        Input("search-method", "value"),
        Input("search-most", "value"),
        State(lists, "id"),
    )(count)
    app.callback(
        Output("search-problem", "children"),
        Output("search-live", "children"),
        Input("search-start", "n_clicks"),
        State(lists, "value"),
        State(lists, "id"),
        State("search-method", "value"),
        State("search-most", "value"),
        State("search-held", "value"),
        State("search-seed", "value"),
        State("search-traces", "data"),
        prevent_initial_call=True,
        running=[(Output("search-start", "disabled"), True, False)],
    )(start)


def count(values: list[str], method: str, max_trials: Any, ids: list[dict[str, str]]) -> tuple[str, bool]:
    """The number of trials, and whether it is fixed by the grid."""
    grid = method == "grid"
    try:
        size = combinations(space_of(values_of(ids, values)))
    except InputError:
        return "", grid
    trials_count = size if grid or not isinstance(max_trials, int) else min(size, max_trials)
    return f"{trials_count} trial{'s' if trials_count != 1 else ''}", grid


def start(
    clicks: int | None,
    values: list[str],
    ids: list[dict[str, str]],
    method: str,
    max_trials: Any,
    held_out: Any,
    seed: Any,
    trace_set_id: str,
) -> tuple[Any, Any]:
    """Submit the search; returns an error, or its task."""
    if not clicks:
        return dash.no_update, dash.no_update
    at_most = None if method == "grid" else max_trials
    try:
        task = submit(trace_set_id, values_of(ids, values), at_most, held_out, seed)
    except PhaseDockError as error:
        return problem(error), dash.no_update
    set_props("changed", {"data": task})
    return None, task_card.panel([workspace().tasks.get(task)], "", "", "")
