"""An execution on the Phases page: the choices of the address, its timeline, and the list of all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html

from app.context import workspace
from app.figures.timeline import Caption, Runs, Series, timeline
from app.ui import evaluations
from app.ui.basics import Node, aria, card, icon, icon_button, opener
from app.ui.links import free_text
from app.ui.phases import LabelledTraces, attributes, titles
from app.ui.tables import grid
from core.errors import NotFoundError
from core.phases.describe import scale_for
from core.provisioning.policies import policy_title
from core.traces.lanes import Lane, default_lanes, list_lanes, select_lanes
from core.traces.model import Role
from core.units import format_duration, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from app.context import Choice
    from app.ui.links import Query
    from core.traces.model import FloatArray, TraceSet
    from core.workspace.phase_labels import Labelling


NONE = ""
MAX_BESIDE = 4
"""The largest number of executions drawn beside another one."""
MIN_DATE = 1e8
"""Smaller times in seconds count from a start, not from 1970."""
_RESOURCES = {Role.CPU: "cpu", Role.MEMORY: "memory"}


# A policy's allocation over the timeline of an execution: available policies, and their values.
#
# Only held-out executions have allocations: those on executions that the policy learned from
# would not show how it performs on others.


@dataclass(frozen=True, slots=True)
class Overlays:
    """A comparison with stored allocations, and its policies."""

    evaluation: str
    policies: tuple[str, ...]


def overlays(choice: Choice, evaluation: str | None) -> Overlays | None:
    """The comparison in the address, else the last one on the pair, else None."""
    stored = None
    if evaluation:
        try:
            stored = evaluations.get(evaluation)
        except NotFoundError:
            stored = None
    stored = stored or evaluations.latest(choice)
    if stored is None:
        return None
    parts = stored.report["resources"].values()
    names = dict.fromkeys(each["policy"] for part in parts for each in part["policies"])
    return Overlays(stored.id, tuple(names))


def allocations(evaluation: str | None, policy: str | None, execution: str) -> dict[Role, FloatArray]:
    """A policy's allocation to an execution, per sample; empty if it was not held out or none is chosen."""
    if not evaluation or not policy:
        return {}
    try:
        stored = workspace().evaluations.get(evaluation)
    except NotFoundError:
        return {}
    by_role = {role: stored.allocation(name, policy, execution) for role, name in _RESOURCES.items()}
    return {role: values for role, values in by_role.items() if values is not None}


def sentence(evaluation: str | None, policy: str | None, execution: str) -> str:
    """Why a chosen policy has no allocation here; empty if it has one."""
    if not policy or allocations(evaluation, policy, execution):
        return ""
    title = f"“{policy_title(policy)}”"
    if not evaluation:
        return f"No comparison with {title} is stored for these traces; evaluate it on Provisioning."
    return f"Only held-out executions have allocations; {title} learned from this one or was not compared."


def picker(available: Overlays, policy: str | None) -> Node:
    """The choice of a policy to draw over the timeline."""
    options = [{"value": NONE, "label": "Overlay: none"}]
    options += [{"value": name, "label": policy_title(name)} for name in available.policies]
    return dmc.Select(
        id="overlay",
        data=options,
        value=policy if policy in available.policies else NONE,
        allowDeselect=False,
        searchable=True,
        size="xs",
        w=130,
        rightSection=icon("selector", "sm"),
        comboboxProps={"width": "max-content", "position": "bottom-end"},
        **aria(label="Policy whose allocation is drawn over the timeline"),
    )


@dataclass(frozen=True, slots=True)
class View(LabelledTraces):
    """The choices of the page."""

    #: The visible lanes.
    lanes: tuple[Lane, ...] = ()
    #: The execution, or None for the first, and the zoom: its begin and end in seconds, or None.
    execution: str | None = free_text()
    window: tuple[float, float] | None = None
    #: The executions whose lines are drawn beside it.
    beside: tuple[str, ...] = ()
    #: The policy whose allocation is drawn, and the comparison with that allocation.
    overlay: str = free_text("")
    evaluation: str | None = free_text()

    @classmethod
    def derive(cls, query: Query) -> dict[str, Any]:
        """The minimum dwell time; lanes, usual for the traces unless the address has some; and the zoom."""
        names = query.get("lanes")
        keys = [unquote(name) for name in names.split(",")] if names else None
        lanes = select_lanes(offered_lanes(query.values["traces"]), keys, default_timeline_lanes)
        others = [unquote(name) for name in (query.get("beside") or "").split(",") if name][:MAX_BESIDE]
        try:
            start, end = float(query.get("x0") or ""), float(query.get("x1") or "")
        except ValueError:
            start = end = math.nan
        window = (start, end) if math.inf > end > start >= 0 else None
        return {
            **LabelledTraces.derive(query),
            "lanes": lanes,
            "window": window,
            "beside": tuple(others),
        }

    @property
    def resource_lanes(self) -> tuple[Lane, ...]:
        """The lanes whose usage is summarised by phase: a loss is of a job, not of a phase."""
        return tuple(lane for lane in self.lanes if lane.role is not Role.LOSS)

    def labelling(self) -> Labelling:
        """The phases of every sample."""
        return workspace().labels.get(self.traces, self.model, self.dwell)


def default_timeline_lanes(offered: Sequence[Lane]) -> tuple[Lane, ...]:
    """The usual lanes, and the loss where it was recorded."""
    usual = default_lanes(offered)
    return tuple(lane for lane in offered if lane in usual or lane.role is Role.LOSS)


def offered_lanes(traces: str) -> tuple[Lane, ...]:
    """All lanes of a stored trace set."""
    return list_lanes(workspace().traces.get(traces).features)


def written_keys(lanes: Sequence[Lane]) -> str:
    """Lanes as an address has them."""
    return ",".join(quote(lane.key, safe="") for lane in lanes)


@dataclass(frozen=True, slots=True)
class Heading:
    """The title and the note above a timeline."""

    title: str
    note: str


def execution_heading(trace_set_id: str, name: str) -> Heading:
    """The execution's name, and its group, duration, sampling interval and number of samples."""
    table = workspace().traces.summary(trace_set_id)
    names = table["execution"].tolist()
    place = names.index(name)
    row = table.iloc[place]
    groups = [str(row[name]) for name in attributes(table)]
    pace = float(row["duration_s"]) / max(int(row["samples"]), 1)
    title, folder = titles(names)[place]
    notes = [folder] if folder else groups[:2]
    notes.append(format_duration(float(row["duration_s"])))
    if pace > 0:
        notes.append(f"every {format_duration(pace)}")
    notes.append(plural(int(row["samples"]), "sample"))
    if float(row["start_s"]) >= MIN_DATE:
        notes.append(f"{datetime.fromtimestamp(float(row['start_s']), UTC):%-d %b %Y, %H:%M} UTC")
    return Heading(title, " · ".join(notes))


def execution_timeline(
    view: View,
    name: str,
    window: tuple[float, float] | None = None,
    overlay: tuple[str, str] | None = None,
) -> go.Figure:
    """The timeline of one execution with its phases, and the allocation of a policy."""
    labelling = view.labelling()
    traces = workspace().traces.execution(view.traces, name)
    names = view.phase_names()
    descriptions = {
        each.phase: f"{names[each.phase]}: {each.description}" if each.phase in names else each.description
        for each in labelling.statistics
        if each.phase >= 0
    }
    return timeline(
        traces.time - traces.time[0],
        series(view, labelling, traces, name, overlay),
        _runs(labelling, name, float(traces.time[0]), traces),
        descriptions or dict.fromkeys(labelling.phases, ""),
        window,
        Caption(
            f"{name} · {workspace().traces.get(view.traces).name}",
            float(traces.time[0]) if traces.time[0] >= MIN_DATE else None,
            names,
        ),
        traces.breaks,
    )


def _runs(labelling: Labelling, name: str, zero: float, traces: TraceSet) -> Runs:
    """The runs of one execution with the durations that cards and tables have."""
    place = labelling.ids.index(name)
    part = slice(int(labelling.run_offsets[place]), int(labelling.run_offsets[place + 1]))
    begin = traces.time[labelling.runs.start[part] - int(labelling.offsets[place])] - zero
    return Runs.of(begin, labelling.runs.seconds[part], labelling.runs.phase[part])


def series(
    view: View, labelling: Labelling, traces: TraceSet, name: str, overlay: tuple[str, str] | None
) -> list[Series]:
    """The lanes of an execution, with limits, and a policy's allocation of CPU and memory."""
    evaluation, policy = overlay or ("", "")
    allocated = allocations(evaluation, policy, name)
    others = [
        (other, workspace().traces.execution(view.traces, other))
        for other in view.beside
        if other != name and other in labelling.ids
    ]
    lanes = [lane for lane in view.lanes if _has_values(traces, lane)] or view.lanes
    return [
        Series(
            lane.title,
            traces.column(lane.features[0].name),
            lane.unit,
            None if lane.limit is None else traces.column(lane.limit.name),
            allocated.get(lane.role),
            policy_title(policy) if policy else "",
            [
                (title, traces.column(feature.name))
                for title, feature in zip(lane.names[1:], lane.features[1:], strict=True)
            ],
            lane.names[0],
            scale_for(labelling.statistics, lane.role, lane.unit),
            lane.role is Role.LOSS,
            None if lane.request is None else traces.column(lane.request.name),
            [(other, each.time - each.time[0], each.column(lane.features[0].name)) for other, each in others],
        )
        for lane in lanes
    ]


def _has_values(traces: TraceSet, lane: Lane) -> bool:
    """Whether an execution has a lane's quantity; one without a loss has no lane for it."""
    return any(bool(np.isfinite(traces.column(feature.name)).any()) for feature in lane.features)


MAX_OFFERED = 100
"""The number of executions that a menu offers; a text in it finds others."""


def offered_names(names: Sequence[str], selected: Sequence[str], text: str | None = None) -> list[str]:
    """The executions that a menu offers for a text, with those that are selected."""
    pattern = (text or "").strip().lower()
    # what is selected is the text of a closed menu
    found = (
        names
        if pattern in {name.lower() for name in selected}
        else (n for n in names if pattern in n.lower())
    )
    known = frozenset(names)
    return list(dict.fromkeys([*(name for name in selected if name in known), *islice(found, MAX_OFFERED)]))


def beside_menu(names: Sequence[str], view: View) -> Node:
    """The executions that are drawn beside the chosen one."""
    picked = dmc.MultiSelect(
        id="beside",
        label="Drawn beside this execution",
        description=f"At most {MAX_BESIDE}, each from its own beginning",
        data=offered_names(names, view.beside),
        value=[name for name in view.beside if name in names],
        searchable=True,
        clearable=True,
        hidePickedOptions=True,
        maxValues=MAX_BESIDE,
        size="xs",
        w=280,
        comboboxProps={"withinPortal": False},
    )
    target = opener("Executions drawn beside this one") | {"className": "btn small"}
    return dmc.Popover(
        [
            dmc.PopoverTarget([icon("git-compare", "sm"), "Compare"], boxWrapperProps=target),
            dmc.PopoverDropdown(html.Div(picked, className="lanemenu"), p=12),
        ],
        position="bottom-end",
        keepMounted=True,
    )


_ORDERS = {
    "file": "As in the file",
    "name": "Name",
    "seconds": "Longest first",
    "runs": "Most segments first",
    "strange": "Most unfamiliar first",
}


def list_address(view: View) -> str:
    """Where the browser asks for rows of the list."""
    return f"/api/traces/{view.traces}/list/{view.model}.json?dwell={view.dwell:g}"


def executions_card(view: View, count: int, selected: str) -> Node:
    """The card with the list, whose rows are fetched as it is scrolled."""
    return card(
        "Executions",
        html.Div(_find(), className="find"),
        dcc.Store(id="execution-list", data=list_address(view)),
        dcc.Store(id="execution-order", data="file"),
        html.Div(_list(selected, count), className="grow"),
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
        debounce=150,
        size="xs",
        **aria(label="Find an execution"),
    )


_BLOCK = 100
"""The number of rows that the browser asks for at once."""


def _list(selected: str, count: int) -> Node:
    column = {
        "colId": "name",
        "headerName": "Execution",
        # a cell is redrawn when its value changes, as a strip does with another minimum dwell time
        "valueGetter": {"function": "params.data ? params.data.name + params.data.strip : ''"},
        "cellRenderer": "ExecutionCell",
        "flex": 1,
    }
    return grid(
        "executions",
        [column],
        None,
        height="100%",
        options={
            "rowHeight": 54,
            "headerHeight": 0,
            "suppressCellFocus": False,
            "suppressHeaderFocus": True,
            "context": {"chosen": selected},
            "rowClassRules": {"chosen": "isChosenExecution(params)"},
            "cacheBlockSize": _BLOCK,
            "maxConcurrentDatasourceRequests": 1,
            "infiniteInitialRowCount": count,
        },
        columnSize=None,
        getRowId="params.data.name",
    )


def _order() -> dmc.Menu:
    orders = [dmc.MenuItem(label, id={"type": "order", "by": key}) for key, label in _ORDERS.items()]
    target = dmc.MenuTarget(icon("sort-descending"), boxWrapperProps=opener("Order of the executions"))
    return dmc.Menu([target, dmc.MenuDropdown(orders)])


def phone_picker(names: Sequence[str], selected: str) -> Node:
    """A choice of the execution, and the ways to its neighbours."""
    return html.Div(
        [
            dmc.Select(
                id="phone-execution",
                label="Execution",
                data=offered_names(names, [selected]),
                value=selected,
                searchable=True,
                allowDeselect=False,
            ),
            icon_button("chevron-left", "Previous execution", id="step-back", class_name="boxed"),
            icon_button("chevron-right", "Next execution", id="step-on", class_name="boxed"),
        ],
        className="phone-pick",
    )
