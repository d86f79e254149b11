"""Building an experiment: a form or its YAML on the left, its preview on the right, and the start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import dcc, html

from app.context import workspace
from app.pages.runs.build.draft import FORM_ACT, checked, field_of, from_fields, gapped
from app.pages.runs.build.form import form
from app.pages.runs.build.yaml import written
from app.pages.runs.query import PATH
from app.pages.runs.stored import about
from app.ui.basics import Node, aria, button, card, icon, link_button, notice, page_head
from app.ui.errors import refused_policies
from app.ui.forms import ORDER, controls, select, values_of
from core.errors import NotFoundError
from core.experiments.reading.experiment import read_experiment
from core.experiments.recorded import TraceJobs, experiment_values, jobs_from_traces
from core.runs import bundled as stored
from core.runs.values import Keep
from core.traces.model import Role
from core.units import format_cores, format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.pages.runs.build.draft import Problem
    from app.pages.runs.query import View
    from core.experiments.recorded import MadeJobs
    from core.experiments.spec import Experiment


NEW: dict[str, Any] = {
    "version": 1,
    "name": "My experiment",
    "workers": [{"id": "worker", "count": 2, "cores": 4.0}],
    "world": {"gamma": 0.035},
    "kinds": {
        "VAE": {"like": "VAE", "work": [200, 600], "demand": 4},
        "GRU": {"like": "GRU", "work": [150, 400], "demand": 4},
    },
    "drawn": {"count": 8},
    "arrivals": {"by": "uniform", "within": 120.0},
    "policies": [{"policy": "fewest"}, {"policy": "specon"}],
    "baseline": "fewest",
    "seeds": {"count": 5, "first": 1},
}
"""A small experiment to begin with: it takes a second or two."""


@dataclass(frozen=True, slots=True)
class Bundled:
    """An experiment under the name that addresses have for it."""

    name: str
    experiment: Experiment


@lru_cache(maxsize=1)
def bundled() -> tuple[Bundled, ...]:
    """The experiments that come with PhaseDock, in order; they do not change while it runs."""
    return tuple(Bundled(name, read_experiment(stored.text(name))) for name in stored.names())


def find(name: str) -> Bundled:
    """One of them.

    Raises
    ------
    NotFoundError
        If there is none of this name.
    """
    found = next((each for each in bundled() if each.name == name), None)
    if found is None:
        raise NotFoundError(f"There is no bundled experiment called “{name}”.", "Choose one from the list.")
    return found


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


_MOST_LINES = 400
_KEEP = [
    {"value": Keep.FIRST.value, "label": "First seed"},
    {"value": Keep.ALL.value, "label": "All seeds"},
    {"value": Keep.NONE.value, "label": "No seed"},
]


def begun(source: str | None) -> dict[str, Any]:
    """What the form begins with: a bundled experiment, one that was run, or a small new one.

    Raises
    ------
    NotFoundError
        If there is none of this name or id.
    """
    if not source or source == "new":
        return dict(NEW)
    try:
        return find(source).experiment.to_dict()
    except NotFoundError:
        return workspace().runs.experiment(source).experiment.to_dict()


def build_page(view: View) -> list[Node]:
    """The page of the form."""
    draft = begun(view.source)
    text = written(draft)
    as_text = gapped(draft)
    mode = dmc.SegmentedControl(
        id="run-mode",
        value="yaml" if as_text else "form",
        data=[{"value": "form", "label": "Form"}, {"value": "yaml", "label": "YAML"}],
        size="xs",
        **aria(label="Edit as a form or as YAML"),
    )
    yaml_area = dmc.Textarea(
        id="run-yaml",
        value=text,
        autosize=True,
        minRows=20,
        maxRows=60,
        debounce=300,
        className="monotext",
        label="Experiment as YAML or JSON",
        description="Paste a file here; errors are shown with their line.",
    )
    return [
        page_head("New experiment", "several policies on the same machines and jobs",
                  [mode, link_button("Back to runs", PATH, "chevron-left")]),
        refused_policies(),
        html.Div(
            [
                html.Div(
                    [
                        html.Div(
                            [
                                traces_part(view.query.get("traces")),
                                html.Div(form(draft), id="run-form", className="stack"),
                            ],
                            id="run-fields",
                            className="stack",
                            hidden=as_text,
                        ),
                        html.Div(card(None, yaml_area), id="run-text", hidden=not as_text),
                    ]
                ),
                html.Div(_right(text), className="stack side"),
            ],
            className="runs-build",
        ),
        dcc.Store(id=FORM_ACT),
    ]  # fmt: skip


def _right(text: str) -> list[Node]:
    keep = dmc.Select(
        id="run-keep",
        label="Save ledgers for",
        data=_KEEP,
        value=Keep.FIRST.value,
        allowDeselect=False,
        size="xs",
    )
    start = button("Start", "player-play", "primary", id="run-start")
    return [
        card(
            "Preview",
            html.Div(preview(text), id="run-preview", className="stack"),
            html.Div([keep, start], className="row ends startline"),
            html.Div(id="run-problem"),
        )
    ]


def preview(text: str) -> list[Node]:
    """The text with numbered lines, the wrong one marked, and what is wrong or what will be run."""
    experiment, problem = checked(text)
    if experiment is not None:
        said = notice(
            "ok", f"{about(experiment)}.", strong=_runs(len(experiment.policies), len(experiment.seeds))
        )
    elif problem is not None:
        said = notice("bad", problem.hint, strong=problem.message)
    return [said, numbered(text, problem.line if problem else None)]


def _runs(policies: int, seeds: int) -> str:
    n = policies * seeds
    return f"{n:,} run{'s' if n != 1 else ''}."


def numbered(text: str, wrong: int | None) -> html.Div:
    """A text with numbered lines, one of them marked as wrong; a long one is cut around it."""
    lines = text.splitlines()
    first = max(0, (wrong or 1) - _MOST_LINES // 2) if len(lines) > _MOST_LINES else 0
    made = [
        html.Div(
            [html.Span(str(at), className="n"), html.Code(line or " ")],
            className="line bad" if at == wrong else "line",
            **(aria(label=f"Line {at} is wrong") | {"role": "group"} if at == wrong else {}),
        )
        for at, line in enumerate(lines[first : first + _MOST_LINES], first + 1)
    ]
    return html.Div(
        made, className="yaml", tabIndex="0", role="region", **aria(label="The experiment as YAML")
    )


def problems(problem: Problem | None, values: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong, at the field that shows it."""
    if problem is None:
        return {}
    kinds = list(from_fields(values)["kinds"])
    name = field_of(problem.path, kinds, list(values))
    return {name: f"{problem.message.partition(': ')[2] or problem.message} {problem.hint}"} if name else {}


def fields(
    ids: Sequence[Mapping[str, str]],
    values: Sequence[Any],
    checked_: Sequence[bool | None],
    policy_ids: Sequence[Mapping[str, str]],
    policies: Sequence[Any],
) -> dict[str, Any]:
    """All fields of the form by name; switches have theirs in `checked_`."""
    switches = values_of(ids, checked_)
    made = {
        name: bool(switches[name]) if value is None and isinstance(switches[name], bool) else value
        for name, value in values_of(ids, values).items()
    }
    return made | values_of(policy_ids, policies)
