"""The timeline as CSV: exactly what is shown, in the units in which it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from flask import Blueprint, Response, request

from app.api import file_answer
from app.context import chosen, workspace
from app.pages.phases.execution import series
from app.pages.phases.overlay import overlays
from app.pages.phases.view import View, window_of
from app.ui.phases.views import execution_names
from core.csv_export import csv_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.figures.timeline import Series
    from core.traces.model import FloatArray

blueprint = Blueprint("phases", __name__)


@blueprint.get("/api/traces/<trace_set_id>/timeline/<model_id>.csv")
def export_timeline(trace_set_id: str, model_id: str) -> Response:
    """The shown samples of the shown execution: its lanes, limits, allocation and phases.

    The address takes what the page's own does: ``execution``, ``x0`` and ``x1``, ``lanes``, ``dwell``,
    ``overlay`` and ``evaluation``.
    """
    asked = request.args
    view = View.read(trace_set_id, model_id, asked.get("lanes"), asked.get("dwell"))
    name = asked.get("execution") or execution_names(trace_set_id)[0]
    traces = workspace().traces.execution(trace_set_id, name)
    over = overlays(chosen(trace_set_id, model_id), asked.get("evaluation"))
    drawn = (over.evaluation, asked.get("overlay", "")) if over else None
    elapsed = traces.time - traces.time[0]
    start, end = window_of(asked.get("x0"), asked.get("x1")) or (0.0, float(elapsed[-1]))
    inside = np.flatnonzero((elapsed >= start) & (elapsed <= end))
    found = view.labelling()
    columns = [column for lane in series(view, found, traces, name, drawn) for column in _columns(lane)]
    own = slice(int(found.offsets[found.ids.index(name)]), None)
    numbers = [np.maximum(labels[own][inside] + 1, 0) for labels in (found.labels, found.as_labelled)]
    head = ["execution", "time_s", *(title for title, _ in columns)]
    head += ["phase_number", "phase_number_as_labelled"]
    values = [elapsed[inside], *(column[inside] for _, column in columns), *numbers]
    rows = zip(*(_cells(column) for column in values), strict=True)
    return file_answer(csv_lines(head, ((name, *row) for row in rows)), f"{name}-timeline.csv")


def _columns(lane: Series) -> Iterator[tuple[str, FloatArray]]:
    """The lines of a lane with their titles and units, in the unit that is shown."""
    scale = lane.shown_in
    unit = f" ({scale.label})" if scale.label else ""
    yield from ((f"{name}{unit}", values / scale.size) for name, values in lane.lines)
    if lane.limit is not None:
        yield f"{lane.title} limit{unit}", lane.limit / scale.size
    if lane.given is not None:
        yield f"{lane.title}, {lane.policy} allocation{unit}", lane.given / scale.size


def _cells(column: FloatArray) -> list[float | None]:
    """Numbers as they are; an empty cell where nothing is known."""
    return [value if value == value else None for value in column.tolist()]  # noqa: PLR0124  # NaN is not itself
