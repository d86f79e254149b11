"""The evidence beside the form: what the file's first part looks like as it is mapped now.

Three executions are drawn from the person's own data, with what does not look like containers above them, so
that a wrong unit or a wrong column is seen before anything is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html

from app.context import workspace
from app.figures.timeline import Series, timeline
from app.ui.basics import Node, icon, notice
from app.ui.graph import graph
from core.errors import InputError
from core.traces.model import ROLE_NAMES, unit_scale
from core.traces.validation import UnusableError
from core.units import format_duration, format_value, plural

if TYPE_CHECKING:
    from core.traces.mapping import ColumnMapping
    from core.traces.model import Execution, Feature, TraceSet

SHOWN = 3
_HEIGHT, _TICKS = 190, 4


def evidence(upload_id: str, mapping: ColumnMapping) -> Node:
    """Three executions of the file's first part as mapped, and what is odd about them."""
    try:
        part: Any = workspace().uploads.read_first_part(upload_id, mapping)
    except UnusableError as error:
        return notice("warn", error.hint, strong="Nothing of the first rows can be used so.")
    except InputError as error:
        return notice("warn", error.hint, strong=error.message)
    if part is None:
        return html.P("The file is too large for a look before the import.", className="small ink3")
    return html.Div([_said(part), _doubts(part), miniatures(part.traces)], className="stack")


def miniatures(traces: TraceSet) -> html.Div:
    """Three executions, each quantity in one unit for all of them."""
    charts = [_chart(number, traces, name) for number, name in enumerate(_likely(traces))]
    return html.Div(charts, className="minis")


def _said(part: Any) -> html.P:
    """What was read, in one line."""
    traces = part.traces
    where = "in all" if part.whole else "in the first part"
    words = [
        f"{plural(traces.n_executions, 'execution')} {where}",
        f"a sample every {format_duration(traces.period)}",
        *(_most(feature, values) for feature, values in zip(traces.features, traces.columns, strict=True)),
    ]
    return html.P(" · ".join(word for word in words if word), className="small ink2")


def _most(feature: Feature, values: np.ndarray[tuple[int], np.dtype[np.floating]]) -> str:
    if feature.role not in ROLE_NAMES or not np.isfinite(values).any():
        return ""
    return f"{ROLE_NAMES[feature.role]} up to {format_value(float(np.nanmax(values)), feature.unit)}"


def _doubts(part: Any) -> Node:
    """What does not look like containers; and rows that would be lost."""
    said = [doubt.sentence for doubt in part.doubts]
    # in parts that were cut, a partner may lie behind the cut
    quiet = {"doubtful", "assumed_unit", "assumed_zone", *(() if part.whole else ("no_partner",))}
    harmful = [one for one in part.report.harmful if one.kind not in quiet]
    said += [f"{one.message} {one.hint}" if one.kind == "no_partner" else one.message for one in harmful]
    said += [one.message for one in part.report.harmful if one.kind == "doubtful" and one.message not in said]
    if not said:
        return None
    listed = html.Ul(
        [html.Li([icon("alert-triangle"), sentence]) for sentence in said[:6]], className="doubts"
    )
    return html.Div(listed, className="notice warn")


def _likely(traces: TraceSet) -> list[str]:
    """Three executions to look at: the longest of those that are there."""
    lengths = np.diff(traces.offsets)
    order = np.argsort(-lengths, kind="stable")[:SHOWN]
    return [traces.ids[i] for i in sorted(order)]


def _chart(number: int, traces: TraceSet, name: str) -> html.Div:
    execution = traces.execution(name)
    series = _series(execution, traces)
    figure = timeline(execution.elapsed, series)
    figure.update_layout(height=_HEIGHT)
    figure.for_each_yaxis(lambda axis: axis.update(nticks=_TICKS))
    label = f"{name}: {', '.join(one.title for one in series)} over time"
    return html.Div(
        [html.Div(name, className="strong truncate"), graph(f"evidence-{number}", figure, label)],
        className="mini",
    )


def _series(execution: Execution, traces: TraceSet) -> list[Series]:
    """The first two features with a role, or the first two at all; in one unit for all executions."""
    known = [feature for feature in traces.features if feature.role in ROLE_NAMES]
    scales = {
        feature.name: unit_scale(feature.unit, values)
        for feature, values in zip(traces.features, traces.columns, strict=True)
    }
    return [
        Series(
            ROLE_NAMES.get(feature.role, feature.name),
            execution.columns[feature.name],
            feature.unit,
            scale=scales[feature.name],
        )
        for feature in (known or list(traces.features))[:2]
    ]
