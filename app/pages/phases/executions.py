"""The list of executions at the left, which the browser fills, searches and orders; on a phone a picker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import dcc, html

from app.context import workspace
from app.figures.phase_band import Runs
from app.figures.timeline import Series, timeline
from app.pages.phases.view import allocations
from app.ui.basics import Node, aria, card, icon, icon_button, opener
from app.ui.phases import attributes, titles
from app.ui.tables import grid
from core.phases.describe import scale_for
from core.traces.model import Role
from core.units import format_duration, plural

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from app.pages.phases.view import View
    from core.traces.model import TraceSet
    from core.workspace.phase_labels import Labelling


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands above a timeline."""

    title: str
    note: str


def execution_heading(trace_set_id: str, name: str) -> Heading:
    """The execution's name, and what, how long and how often it was sampled."""
    table = workspace().traces.summary(trace_set_id)
    names = table["execution"].tolist()
    place = names.index(name)
    row = table.iloc[place]
    groups = [str(row[name]) for name in attributes(table)]
    pace = float(row["duration_s"]) / max(int(row["samples"]), 1)
    title, folder = titles(names)[place]
    said = [folder] if folder else groups[:2]
    said.append(format_duration(float(row["duration_s"])))
    if pace > 0:
        said.append(f"every {format_duration(pace)}")
    said.append(plural(int(row["samples"]), "sample"))
    return Heading(title, " · ".join(said))


def execution_timeline(
    view: View,
    name: str,
    window: tuple[float, float] | None = None,
    overlay: tuple[str, str] | None = None,
) -> go.Figure:
    """The timeline of one execution with its phases, and what a policy gave it."""
    found = view.labelling()
    traces = workspace().traces.execution(view.traces, name)
    told = {each.phase: each.description for each in found.statistics if each.phase >= 0}
    return timeline(
        traces.time - traces.time[0],
        series(view, found, traces, name, overlay),
        _runs(found, name, float(traces.time[0]), traces),
        told or dict.fromkeys(found.phases, ""),
        window,
        f"{name} · {workspace().traces.get(view.traces).name}",
        traces.breaks,
    )


def _runs(found: Labelling, name: str, zero: float, traces: TraceSet) -> Runs:
    """The runs of one execution with the durations that cards and tables have."""
    place = found.ids.index(name)
    part = slice(int(found.run_offsets[place]), int(found.run_offsets[place + 1]))
    begin = traces.time[found.runs.start[part] - int(found.offsets[place])] - zero
    return Runs.of(begin, found.runs.seconds[part], found.runs.phase[part])


def series(
    view: View, found: Labelling, traces: TraceSet, name: str, overlay: tuple[str, str] | None
) -> list[Series]:
    """The lanes of an execution, with limits, and with what a policy gave of CPU and memory."""
    evaluation, policy = overlay or ("", "")
    given = allocations(evaluation, policy, name)
    return [
        Series(
            lane.title,
            traces.column(lane.features[0].name),
            lane.unit,
            None if lane.limit is None else traces.column(lane.limit.name),
            given.get(lane.role),
            policy,
            [
                (title, traces.column(feature.name))
                for title, feature in zip(lane.names[1:], lane.features[1:], strict=True)
            ],
            lane.names[0],
            scale_for(found.statistics, lane.role, lane.unit),
            lane.role is Role.LOSS,
        )
        for lane in view.lanes
    ]


_ORDERS = {
    "file": "As in the file",
    "name": "Name",
    "seconds": "Longest first",
    "runs": "Most segments first",
    "strange": "Most unfamiliar first",
}


def executions_card(rows: str, count: int, selected: str) -> Node:
    """The card with the list."""
    return card(
        "Executions",
        html.Div(_find(), className="find"),
        dcc.Store(id="execution-rows", data=rows),
        html.Div(_list(selected), className="grow"),
        note=f"{count:,}",
        tools=[_order()],
        flush=True,
        class_name="executions",
    )


def _find() -> dmc.TextInput:
    return dmc.TextInput(
        id="find-execution",
        placeholder="Find by name or workload",
        leftSection=html.Span(className="icon i-search"),
        size="xs",
        **aria(label="Find an execution"),
    )


def _list(selected: str) -> Node:
    column = {
        "colId": "name",
        "headerName": "Execution",
        # a cell is drawn again when its value changes, as a strip does with another minimum dwell time
        "valueGetter": {"function": "params.data.name + params.data.strip"},
        "cellRenderer": "ExecutionCell",
        "flex": 1,
        "getQuickFilterText": {"function": "params.data.name + ' ' + params.data.note"},
    }
    return grid(
        "executions",
        [column],
        [],
        height="100%",
        options={
            "rowHeight": 54,
            "headerHeight": 0,
            "suppressCellFocus": False,
            "suppressHeaderFocus": True,
            "context": {"chosen": selected},
            "rowClassRules": {"chosen": "isChosenExecution(params)"},
        },
        columnSize=None,
        getRowId="params.data.name",
        scrollTo={"rowId": selected, "rowPosition": "middle"},
    )


def _order() -> dmc.Menu:
    orders = [dmc.MenuItem(label, id={"type": "order", "by": key}) for key, label in _ORDERS.items()]
    target = dmc.MenuTarget(icon("sort-descending"), boxWrapperProps=opener("Order of the executions"))
    return dmc.Menu([target, dmc.MenuDropdown(orders)])


def phone_picker(names: list[str], selected: str) -> Node:
    """A choice of the execution, and the ways to its neighbours."""
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
            icon_button("chevron-left", "Previous execution", id="step-back", class_name="boxed"),
            icon_button("chevron-right", "Next execution", id="step-on", class_name="boxed"),
        ],
        className="phone-pick",
    )
