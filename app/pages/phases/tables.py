"""The tables of the Phases page: the shown timeline, the phase of every sample, statistics of each phase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from flask import Blueprint, Response, request

from app.context import find_choice, workspace
from app.pages.phases.executions import View, overlays, series, written_keys
from app.ui.basics import card
from app.ui.phases import PHASE_COLUMNS, execution_names, execution_rows, list_executions, phase_cells
from app.ui.tables import download, html_table, table_route
from core.phases import ApplicationSettings
from core.phases.describe import scale_for
from core.tables import Column, Table
from core.units import format_share
from core.workspace.phase_labels import phases_by_execution

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dash import html

    from app.figures.timeline import Series
    from core.phases import PhaseStatistics
    from core.traces.lanes import Lane
    from core.traces.model import FloatArray

blueprint = Blueprint("phases", __name__)


def requested_dwell() -> float:
    """The minimum dwell time of the address in seconds; 0, as labelled, without one; of several the last.

    Raises
    ------
    InputError
        If it is not a time.
    """
    texts = request.args.getlist("dwell")
    return ApplicationSettings.read(texts[-1] if texts else "0").minimum_dwell


@table_route(blueprint, "/api/traces/<trace_set_id>/phases/<model_id>.csv")
def samples_table(trace_set_id: str, model_id: str) -> Table:
    """The phase of every sample, as shown and as labelled, by the numbers on the screen."""
    space = workspace()
    traces, labelling = (
        space.traces.load(trace_set_id),
        space.labels.get(trace_set_id, model_id, requested_dwell()),
    )

    def rows() -> Iterator[tuple[str, float, int, int]]:
        for name, time, (merged, as_labelled) in phases_by_execution(
            traces, labelling.labels, labelling.as_labelled
        ):
            for values in zip(time, merged, as_labelled, strict=True):
                yield name, *values

    keys = ("execution", "time_s", "phase_number", "phase_number_as_labelled")
    return Table.file_only(f"{space.traces.get(trace_set_id).name}-phases", keys, rows())


MAX_LISTED = 500


@blueprint.get("/api/traces/<trace_set_id>/list/<model_id>.json")
def listed_executions(trace_set_id: str, model_id: str) -> Response:
    """Some rows of the list of executions, how many there are, and the place of one in it; -1 without it.

    The address takes the rows from ``start`` to ``end``, the words of ``find``, the ``order``, the name
    ``at`` of the one whose place is asked for, and ``dwell``.
    """
    dwell, asked = requested_dwell(), request.args
    executions = list_executions(trace_set_id, model_id, dwell)
    places = executions.find(asked.get("find", ""), asked.get("order", "file"))
    start, end = (max(asked.get(key, 0, int), 0) for key in ("start", "end"))
    name = asked.get("at", "")
    place = executions.names.index(name) if name in executions.names else -1
    at = np.flatnonzero(places == place)
    answer = {
        "rows": execution_rows(
            trace_set_id, model_id, dwell, places[start : min(end, start + MAX_LISTED)].tolist()
        ),
        "count": len(places),
        "at": int(at[0]) if len(at) else -1,
    }
    return Response(orjson.dumps(answer), mimetype="application/json")


@table_route(blueprint, "/api/traces/<trace_set_id>/timeline/<model_id>.csv")
def timeline_table(trace_set_id: str, model_id: str) -> Table:
    """The shown samples of the shown execution: its lanes, limits, allocation and phases.

    The address takes the same parameters as the page: ``execution``, ``x0`` and ``x1``, ``lanes``, ``dwell``,
    ``overlay`` and ``evaluation``.
    """
    view = View.of(trace_set_id, model_id, request.args.to_dict())
    name = view.execution or execution_names(trace_set_id)[0]
    traces = workspace().traces.execution(trace_set_id, name)
    over = overlays(find_choice(trace_set_id, model_id), view.evaluation)
    overlay = (over.evaluation, view.overlay) if over else None
    elapsed = traces.time - traces.time[0]
    start, end = view.window or (0.0, float(elapsed[-1]))
    inside = np.flatnonzero((elapsed >= start) & (elapsed <= end))
    labelling = view.labelling()
    lines = [line for lane in series(view, labelling, traces, name, overlay) for line in _lines(lane)]
    samples = slice(int(labelling.offsets[labelling.ids.index(name)]), None)
    numbers = [
        np.maximum(labels[samples][inside] + 1, 0) for labels in (labelling.labels, labelling.as_labelled)
    ]
    values = [elapsed[inside], *(line[inside] for _, line in lines), *numbers]
    keys = ["execution", "time_s", *(title for title, _ in lines), "phase_number", "phase_number_as_labelled"]
    rows = zip(*([name] * len(inside), *map(_cells, values)), strict=True)
    return Table.file_only(f"{name}-timeline", keys, rows)


def _lines(lane: Series) -> Iterator[tuple[str, FloatArray]]:
    """The lines of a lane with their titles and units, in the unit that is shown."""
    scale = lane.axis_scale
    unit = f" ({scale.label})" if scale.label else ""
    yield from ((f"{name}{unit}", values / scale.size) for name, values in lane.lines)
    for name, values in (("limit", lane.limit), ("request", lane.request)):
        if values is not None:
            yield f"{lane.title} {name}{unit}", values / scale.size
    if lane.allocation is not None:
        yield f"{lane.title}, {lane.policy} allocation{unit}", lane.allocation / scale.size


def _cells(column: FloatArray) -> list[float | None]:
    """Numbers of a column; NaN is an empty cell."""
    return [value if value == value else None for value in column.tolist()]  # noqa: PLR0124  # NaN is not itself


@table_route(blueprint, "/api/traces/<trace_set_id>/statistics/<model_id>.csv")
def statistics_table(trace_set_id: str, model_id: str) -> Table:
    """Every phase's statistics, warm-up included; quantities that are not shown are in the file only."""
    values = {**request.args.to_dict(), "dwell": f"{requested_dwell():g}"}
    view = View.of(trace_set_id, model_id, values)
    return _statistics(view, workspace().traces.get(trace_set_id).name)


def statistics_card(view: View, note: str) -> html.Section:
    """The statistics with a way to their file."""
    statistics = _statistics(view, workspace().traces.get(view.traces).name)
    names = workspace().models.get(view.model).phase_names
    table = html_table(statistics, "Statistics per phase", cells=phase_cells(names))
    tools = [download("statistics", statistics_address(view))]
    return card("Statistics", table, note=note, tools=tools, flush=True)


def statistics_address(view: View) -> str:
    """The address of the table of statistics with the visible quantities."""
    query = f"dwell={view.dwell:g}&lanes={written_keys(view.lanes)}"
    return f"/api/traces/{view.traces}/statistics/{view.model}.csv?{query}"


_QUANTILES = (("p5", "5th"), ("p25", ""), ("p50", "median"), ("p75", ""), ("p95", "95th"))


def _statistics(view: View, name: str) -> Table:
    statistics = view.labelling().statistics
    titled = {
        feature.name: (title, lane)
        for lane in view.lanes
        for title, feature in zip(lane.names, lane.features, strict=True)
    }
    columns = [*PHASE_COLUMNS]
    for feature in statistics[0].features if statistics else ():
        title, lane = titled.get(feature.name, ("", None))
        columns += _feature_columns(statistics, feature.name, f"{feature.name}_{feature.unit}", title, lane)
    return Table(f"{name}-statistics", columns, statistics)


def _feature_columns(
    statistics: Sequence[PhaseStatistics], feature: str, key: str, title: str, lane: Lane | None
) -> Iterator[Column]:
    """Columns of mean, deviation and quantiles of one quantity; without a lane for files only."""
    show = scale_for(statistics, lane.role, lane.unit).with_unit if lane else None

    def one(part: str, head: str, take: Any) -> Column:
        def value(each: PhaseStatistics) -> float | None:
            quantity = each.feature(feature)
            return take(quantity) if quantity is not None and each.samples else None

        return Column(f"{key}_{part}", head if lane else "", show, value)

    yield one("mean", f"{title} mean", lambda values: values.mean)
    yield one("sd", "sd", lambda values: values.sd)
    for place, (part, head) in enumerate(_QUANTILES):
        yield one(part, head, lambda values, place=place: values.quantiles[place])
    if any(quantity.censored for each in statistics if (quantity := each.feature(feature)) is not None):
        head = f"{title} bounded" if lane else ""
        yield Column(f"{key}_bounded_share", head, format_share, _censored_share(feature))


def _censored_share(feature: str) -> Any:
    def value(each: PhaseStatistics) -> float | None:
        quantity = each.feature(feature)
        return quantity.censored if quantity is not None and each.samples else None

    return value
