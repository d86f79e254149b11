"""The phases of a model on a trace set: the one it was trained on, or any other that fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, html

from app.context import workspace
from app.figures.spread import frequencies
from app.ui.basics import Node, card, contents, icon, link_button, notice
from app.ui.graph import graph
from app.ui.phases import PHASE_COLUMNS, live, phase_cells
from app.ui.tables import html_table
from core.errors import PhaseDockError
from core.tables import Table
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.phases import PhaseStatistics
    from core.workspace.records import ModelInfo


def evaluation(info: ModelInfo, trace_set_id: str | None, chosen: str | None) -> html.Section:
    """A select of trace sets and, below, the model's phases in the chosen one."""
    sets = workspace().traces.list()
    ids = [each.id for each in sets]
    first = next((each for each in (trace_set_id, chosen, info.trace_set_id) if each in ids), None)
    pick = dmc.Select(
        id="evaluate-on",
        data=[{"value": each.id, "label": each.name} for each in sets],
        value=first,
        placeholder="Choose a trace set",
        allowDeselect=False,
        size="xs",
        w=240,
        rightSection=icon("selector", "sm"),
        **{"aria-label": "Trace set to evaluate on"},
    )
    return card(
        "Evaluate",
        html.Div(id="evaluate-result", className="stack"),
        note="the phases of this model on a trace set, as labelled",
        tools=[pick],
        id={"type": "evaluate", "model": info.id},
    )


def result(model_id: str, trace_set_id: str) -> list[Node]:
    """Shares, samples, runs and dwell times of each phase; or why the model does not fit."""
    space = workspace()
    try:
        traces = space.traces.get(trace_set_id)
        labelling = space.labels.get(trace_set_id, model_id)
    except PhaseDockError as error:
        return [notice("warn", error.hint, strong=error.message)]
    names = workspace().models.get(model_id).phase_names
    shares = [(each.phase, each.samples, each.share) for each in live(labelling.statistics)]
    figure = frequencies(shares, names)
    query = f"traces={trace_set_id}&model={model_id}"
    return [
        html.Div(
            [
                html.Div(
                    _table(labelling.statistics, names),
                    className="flushtable",
                ),
                graph(
                    f"evaluate-{model_id}-{trace_set_id}", figure, "Share and number of samples of each phase"
                ),
            ],
            className="grid cols-result top",
        ),
        html.Div(
            [
                link_button("See phases", f"/phases?{query}", "timeline", "small"),
                html.A(
                    [icon("download"), "Labels as CSV"],
                    href=f"/api/traces/{trace_set_id}/phases/{model_id}.csv",
                    className="btn small",
                    download="",
                ),
                html.Span(
                    f"{contents(traces)}, {plural(len(labelling.runs.start), 'segment')}",
                    className="small ink3",
                ),
            ],
            className="row wrap",
        ),
    ]


def _table(statistics: Sequence[PhaseStatistics], names: Mapping[int, str]) -> html.Div:
    table = Table("phases", PHASE_COLUMNS, statistics)
    return html_table(table, "Phases on this trace set", cells=phase_cells(names))


def register(app: Dash) -> None:
    """Evaluate when a trace set is chosen."""

    @app.callback(
        Output("evaluate-result", "children"),
        Input("evaluate-on", "value"),
        State({"type": "evaluate", "model": ALL}, "id"),
    )
    def evaluate(trace_set_id: str | None, ids: list[dict[str, str]]) -> list[Node]:
        if trace_set_id is None or not ids:
            return [html.P("Choose a trace set to see this model's phases on it.", className="ink2")]
        return result(ids[0]["model"], trace_set_id)
