"""My traces as jobs: the section of the form that makes the jobs of an experiment from a trace set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash import html

from app.context import workspace
from app.ui.basics import Node, button, icon, notice
from app.ui.forms import ORDER, controls, select
from core.experiments.recorded.execution import TraceJobs
from core.experiments.recorded.jobs import experiment_values, jobs_from_traces
from core.traces.model import Role
from core.units import format_cores, format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.experiments.recorded.jobs import MadeJobs

FORM = "trace-jobs"
_MOST_NAMED = 5
_KEPT = ("engine", "docker", "policies", "baseline", "seeds")


def traces_part(chosen: str | None) -> html.Details:
    """The section, folded unless a trace set is chosen; without trace sets it says where to get one."""
    sets = workspace().traces.list()
    known = [info.id for info in sets]
    with_work = (info.id for info in sets if any(one.role is Role.CPU for one in info.features))
    summary = html.Summary([icon("chevron-right", "sm"), "My traces as jobs"])
    if not sets:
        return html.Details(
            [summary, html.P("Import a trace set first.", className="ink3 small")],
            className="unfold tracesjobs",
        )
    picked = chosen if chosen in known else next(with_work, known[0])
    which = select(
        "run-traces",
        ((info.id, info.name) for info in sets),
        picked,
        label="Trace set",
        description="Each execution becomes a job: its CPU is the work.",
        inputWrapperOrder=ORDER,
    )
    return html.Details(
        [
            summary,
            html.Div([html.Div(which, className="field"), *controls(FORM, TraceJobs)], className="formgrid"),
            html.Div([button("Make jobs", "timeline", "small", id="run-make")], className="row ends"),
            html.Div(id="run-made", className="stack close"),
        ],
        className="unfold tracesjobs",
        open=chosen is not None,
    )


def made_draft(
    draft: Mapping[str, Any], trace_set: str, settings: TraceJobs
) -> tuple[dict[str, Any], MadeJobs]:
    """A draft whose jobs and machines are those of a trace set; policies and seeds stay as they were.

    Raises
    ------
    InputError
        If no jobs can be made of it.
    """
    info = workspace().traces.get(trace_set)
    made = jobs_from_traces(workspace().traces.load(info.id), settings)
    values = experiment_values(made, f"{info.name} as jobs")
    kept = {name: draft[name] for name in _KEPT if draft.get(name)}
    world = {**(draft.get("world") or {}), **values["world"]}
    return {**values, **kept, "world": world}, made


def said(made: MadeJobs) -> list[Node]:
    """What was made, what is assumed or uncertain, and what was left out."""
    longest = max(made.durations.values())
    alone = sum((job.work or 0.0) / (job.demand or 1.0) for job in made.jobs) / sum(made.durations.values())
    words = (
        f"Longest {format_duration(longest)}; together they used at most {format_cores(made.busiest)}. "
        f"Alone, a job takes {alone:.0%} of its recorded time, as pauses are not replayed. "
        "Machines are a guess: enter yours below."
    )
    n = len(made.jobs)
    parts: list[Node] = [notice("ok", words, strong=f"{n:,} job{'s' if n != 1 else ''} made.")]
    if made.notes:
        parts.append(notice("warn", " ".join(made.notes), strong="Uncertain."))
    if made.left_out:
        named = " ".join(each.reason for each in made.left_out[:_MOST_NAMED])
        more = len(made.left_out) - _MOST_NAMED
        rest = f" And {more:,} more." if more > 0 else ""
        parts.append(notice("warn", f"{named}{rest}", strong=f"{len(made.left_out):,} left out."))
    return parts
