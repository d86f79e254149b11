"""Choose the number of phases: three criteria over k, and a recommendation with its reason."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

import dash
from dash import ALL, Dash, Input, Output, State, dcc, html, set_props

from app.context import address, workspace
from app.figures.models import criterion
from app.pages.models.train import MAIN, no_traces
from app.ui import task_card
from app.ui.basics import Node, button, card, icon, link_button, notice
from app.ui.forms import ORDER, controls, errors_for, field_id, read, select, values_of
from app.ui.graph import graph
from app.ui.page import problem
from app.ui.tables import html_table
from core.errors import NotFoundError, PhaseDockError
from core.phases import PhaseSettings
from core.tables import Column, Table
from core.units import format_count, format_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import dash_mantine_components as dmc

    from app.pages.models.listing import ModelsAddress
    from core.workspace.records import TaskInfo, TraceSetInfo

FORM = "choose"
_FIELDS = (*(name for name in MAIN if name != "phases"), "seed")
NEW = "new"


def view(address: ModelsAddress, traces: TraceSetInfo | None) -> list[Node]:
    """The form of the codes to cluster, and the comparison of k = 2 to 12."""
    if traces is None:
        return [no_traces()]
    tasks = task_card.tasks_of("choose_k", {"trace_set": traces.id}, address.task)
    text = "Within-cluster sum of squares, silhouette and stability for 2 to 12 phases appear here."
    panel = task_card.panel(tasks, "target", "No comparison on these traces yet", text)
    parts = [_form(address, traces), task_card.place("choose-live", panel)]
    return [html.Div(parts, className="grid cols-side top")]


def _form(address: ModelsAddress, traces: TraceSetInfo) -> html.Section:
    values = {"epochs": 30, **address.settings}
    start = button("Compare k = 2 to 12", "player-play", "primary", id="choose-start")
    return card(
        "Choose k",
        html.Div(
            [
                _codes(address.model, traces),
                html.Div(
                    controls(FORM, PhaseSettings, values, _FIELDS), id="choose-settings", className="formgrid"
                ),
                html.Div(id="choose-problem"),
                html.Div(start, className="row"),
                dcc.Store(id="choose-traces", data=traces.id),
            ],
            className="stack form",
        ),
        note=["on ", traces.name],
    )


def _codes(model: str | None, traces: TraceSetInfo) -> dmc.Select:
    """The codes to cluster: those of a new encoder, or of a compatible model."""
    models = workspace().models.compatible(traces.id)
    options = [(NEW, "A new encoder with these settings")]
    options += [(info.id, f"The existing codes of {info.name}") for info in models]
    return select(
        "choose-codes",
        options,
        model if any(info.id == model for info in models) else NEW,
        label="Cluster",
        description="k-means groups similar codes; this compares how many groups fit best.",
        inputWrapperOrder=ORDER,
        className="field",
    )


_CRITERIA = {"within": "Within-cluster squares ↓", "silhouette": "Silhouette ↑", "stability": "Stability ↑"}


def outcome(task: TaskInfo) -> Node:
    """Three curves, the recommendation, and the way to train with it."""
    result: Mapping[str, Any] = task.result or {}
    if not result.get("candidates"):
        return notice("info", "The comparison gave no results.")
    best = int(result["recommended"])
    return html.Div(
        [
            notice(
                "info",
                result.get("reason", ""),
                strong=f"Recommended: k = {best}.",
                actions=[
                    link_button(f"Train with k = {best}", _train_with(task, best), "player-play", "small")
                ],
            ),
            html.Div(_curves(task.id, result), className="grid curves"),
            html.P(
                "↓ Lower is better: squared distances to the centres, as a share of the total. "
                "↑ Higher is better: how well phases are separated, and how similar refits on resampled "
                "codes are (Rand index).",
                className="small ink3",
            ),
            html.Details(
                [html.Summary([icon("chevron-right", "sm"), "All values"]), _table(result)], className="more"
            ),
        ],
        className="stack",
    )


def _curves(task_id: str, result: Mapping[str, Any]) -> list[Node]:
    candidates, best = result["candidates"], int(result["recommended"])
    ks = [int(each["k"]) for each in candidates]
    elbow = (int(result["elbow"]), "elbow")
    return [
        graph(
            f"choose-{name}-{task_id}",
            criterion(
                title, ks, [float(e[name]) for e in candidates], best, elbow if name == "within" else None
            ),
            f"{title}, for each number of phases",
        )
        for name, title in _CRITERIA.items()
    ]


_THREE_DIGITS = partial(format_number, digits=3)
_COLUMNS = (
    Column("k", "Phases", format_count),
    Column("within", "Within, share of total", _THREE_DIGITS),
    Column("silhouette", "Silhouette", _THREE_DIGITS),
    Column("stability", "Stability", _THREE_DIGITS),
)


def _table(result: Mapping[str, Any]) -> html.Div:
    best = int(result["recommended"])
    table = Table("criteria", _COLUMNS, result["candidates"])
    return html_table(
        table,
        "Criteria for each number of phases",
        cells={"k": lambda each: html.B(str(each["k"])) if each["k"] == best else str(each["k"])},
    )


def _train_with(task: TaskInfo, phases: int) -> str:
    """The address of the training form with the settings of the compared codes."""
    settings = dict(task.params.get("settings") or {})
    if model := task.params.get("model"):
        with contextlib.suppress(NotFoundError):
            settings = workspace().models.load(str(model)).settings.to_dict()
    form_values = {name: value for name, value in settings.items() if name in (*MAIN, "solver", "seed")}
    values = {"view": "train", "traces": task.params["trace_set"], **form_values, "phases": phases}
    return address("/models", None, **values)


task_card.OUTCOMES["choose_k"] = outcome


def submit(trace_set_id: str, codes: str, settings: PhaseSettings | None) -> str:
    """Submit the comparison; returns the id of its task."""
    space = workspace()
    traces = space.traces.get(trace_set_id)
    params: dict[str, Any] = {"trace_set": trace_set_id}
    if codes == NEW and settings is not None:
        params["settings"] = settings.to_dict()
        return space.tasks.submit("choose_k", f"Choose k on {traces.name}", params)
    info = space.models.get(codes)
    return space.tasks.submit(
        "choose_k", f"Choose k for {info.name} on {traces.name}", {**params, "model": codes}
    )


def register(app: Dash) -> None:
    """Connect the form."""
    app.callback(
        Output("choose-settings", "className"),
        Input("choose-codes", "value"),
        Input(field_id(FORM, "encoder"), "value"),
    )(show_what_matters)
    fields = field_id(FORM, ALL)
    app.callback(
        Output(fields, "error"),
        Output("choose-problem", "children"),
        Output("choose-live", "children"),
        Input("choose-start", "n_clicks"),
        State(fields, "id"),
        State(fields, "value"),
        State("choose-codes", "value"),
        State("choose-traces", "data"),
        prevent_initial_call=True,
        running=[(Output("choose-start", "disabled"), True, False)],
    )(start)


def show_what_matters(codes: str, encoder: str) -> str:
    """Show the settings that the chosen encoder has; a model's codes need none."""
    return f"formgrid enc-{encoder}" if codes == NEW else "formgrid hidden"


def start(
    clicks: int | None, ids: list[dict[str, str]], values: list[Any], codes: str, trace_set_id: str
) -> tuple[Any, ...]:
    """Submit the comparison; returns errors by field, a message, and the task."""
    keep = dash.no_update
    if not clicks:
        return [keep] * len(ids), keep, keep
    settings, wrong = read(PhaseSettings, values_of(ids, values))
    if settings is None and codes == NEW:
        message = notice(
            "bad", "See the form above; nothing was started.", strong="A setting is out of range."
        )
        return errors_for(ids, wrong), message, keep
    try:
        task = submit(trace_set_id, codes, settings)
    except PhaseDockError as error:
        return errors_for(ids, {}), problem(error), keep
    set_props("changed", {"data": task})
    return errors_for(ids, {}), None, task_card.panel([workspace().tasks.get(task)], "", "", "")
