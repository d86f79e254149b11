"""One execution in detail: its timeline with the band of its phases, and what is said above it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.context import workspace
from app.figures.timeline import Runs, Series, timeline
from app.pages.phases.overlay import allocations
from app.ui.phase_views import attributes
from core.traces.model import Role
from core.traces.validation import many
from core.units import Unit, format_duration

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.traces.model import FloatArray, TraceSet


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands above a timeline."""

    title: str
    note: str


def execution_heading(trace_set_id: str, name: str) -> Heading:
    """The execution's name, and what, how long and how often it was sampled."""
    table = workspace().traces.summary(trace_set_id)
    row = table.loc[table["execution"] == name].iloc[0]
    groups = [str(row[name]) for name in attributes(table)]
    pace = float(row["duration_s"]) / max(int(row["samples"]) - 1, 1)
    folder, _, title = name.rpartition("/")
    said = [folder] if folder else groups[:2]
    said += [format_duration(float(row["duration_s"])), many(int(row["samples"]), "sample")]
    if pace > 0:
        said.append(f"every {format_duration(pace)}")
    return Heading(title, " · ".join(said))


def execution_timeline(
    trace_set_id: str,
    model_id: str,
    name: str,
    window: tuple[float, float] | None = None,
    overlay: tuple[str, str] | None = None,
) -> go.Figure:
    """The timeline of one execution with its phases, and what a policy gave it.

    Parameters
    ----------
    trace_set_id, model_id, name
        The execution, and the model that labels it.
    window
        The seconds to show; all when left out.
    overlay
        The comparison's key and the policy whose allocation is drawn, or None.
    """
    space = workspace()
    labelling = space.labels.get(trace_set_id, model_id)
    traces = space.traces.execution(trace_set_id, name)
    start = int(labelling.offsets[labelling.ids.index(name)])
    labels = labelling.labels[start : start + traces.n_samples]
    elapsed = traces.time - traces.time[0]
    runs = Runs.from_labels(elapsed, labels, traces.period)
    return timeline(elapsed, _series(traces, name, overlay), runs, labelling.phases, window)


def _series(traces: TraceSet, name: str, overlay: tuple[str, str] | None) -> list[Series]:
    """CPU and memory, or the first two features of a set that has neither."""
    evaluation, policy = overlay or ("", "")
    given = allocations(evaluation, policy, name)
    found = [
        Series(title, values, feature.unit, _limit(traces, limit, feature.unit), given.get(role), policy)
        for title, role, limit in (
            ("CPU", Role.CPU, Role.CPU_LIMIT),
            ("Memory", Role.MEMORY, Role.MEMORY_LIMIT),
        )
        if (feature := traces.feature(role)) is not None and (values := traces.values(role)) is not None
    ]
    plain = zip(traces.features[:2], traces.columns[:2], strict=True)
    return found or [Series(feature.name, values, feature.unit) for feature, values in plain]


def _limit(traces: TraceSet, role: Role, unit: Unit) -> FloatArray | None:
    feature = traces.feature(role)
    return traces.values(role) if feature is not None and feature.unit is unit else None
