"""Building an experiment: its form, or its YAML as text, on the left; its preview and the start on the right.

The way is from the form to the text: once an experiment is edited as text it stays text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import ALL, Input, Output, State, dcc, html, set_props

from app.context import LOCATION, workspace
from app.pages.runs.draft import check_text, field_of, from_fields, has_seed_gaps, text_of, write_yaml
from app.pages.runs.form import ENGINE, FORM, FORM_ACT, SHAPE, change_parts, form, settings_names
from app.pages.runs.query import PATH
from app.pages.runs.stored import describe_experiment
from app.ui.basics import Node, aria, button, card, icon, link_button, notice, page_head
from app.ui.forms import ORDER, controls, errors_for, field_id, read, select, values_of
from app.ui.page import problem, refused_policies
from core.errors import NotFoundError, PhaseDockError
from core.experiments.recorded import TraceJobs, experiment_values, jobs_from_traces
from core.experiments.spec import ENGINES
from core.experiments.spec_reader import read_experiment
from core.runs import bundled as bundled_files
from core.runs.values import Keep
from core.traces.model import Role
from core.units import format_cores, format_duration, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash import Dash

    from app.pages.runs.draft import Problem
    from app.pages.runs.query import View
    from core.experiments.recorded import ConvertedJobs
    from core.experiments.spec import Experiment

# First drafts of experiments.

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
"""A small first experiment: it takes one to two seconds."""


@dataclass(frozen=True, slots=True)
class Bundled:
    """A bundled experiment and its name in addresses."""

    name: str
    experiment: Experiment


@lru_cache(maxsize=1)
def bundled() -> tuple[Bundled, ...]:
    """The experiments that come with PhaseDock, in order; they do not change while it runs."""
    return tuple(Bundled(name, read_experiment(bundled_files.text(name))) for name in bundled_files.names())


def find(name: str) -> Bundled:
    """Return a bundled experiment by its name."""
    match = next((each for each in bundled() if each.name == name), None)
    if match is None:
        raise NotFoundError(f"There is no bundled experiment called “{name}”.", "Choose one from the list.")
    return match


def first_draft(source: str | None) -> dict[str, Any]:
    """The first draft of the form: a bundled experiment, a stored one, or a small new one."""
    if not source or source == "new":
        return dict(NEW)
    try:
        return find(source).experiment.to_dict()
    except NotFoundError:
        return workspace().runs.experiment(source).experiment.to_dict()


# A trace set's executions as jobs.

TRACES = "trace-jobs"
_MAX_NAMED = 5
_KEPT_FIELDS = ("engine", "docker", "policies", "baseline", "seeds")


def traces_part(chosen: str | None) -> html.Details:
    """The section that makes jobs from traces, folded unless a trace set is chosen."""
    sets = workspace().traces.list()
    ids = [info.id for info in sets]
    with_work = (info.id for info in sets if any(one.role is Role.CPU for one in info.features))
    summary = html.Summary([icon("chevron-right", "sm"), "My traces as jobs"])
    if not sets:
        return html.Details(
            [summary, html.P("Import a trace set first.", className="ink3 small")],
            className="unfold tracesjobs",
        )
    trace_set_id = chosen if chosen in ids else next(with_work, ids[0])
    picker = select(
        "run-traces",
        ((info.id, info.name) for info in sets),
        trace_set_id,
        label="Trace set",
        description="Each execution becomes a job: its CPU is the work.",
        inputWrapperOrder=ORDER,
    )
    return html.Details(
        [
            summary,
            html.Div(
                [html.Div(picker, className="field"), *controls(TRACES, TraceJobs)], className="formgrid"
            ),
            html.Div([button("Make jobs", "timeline", "small", id="run-make")], className="row ends"),
            html.Div(id="run-made", className="stack close"),
        ],
        className="unfold tracesjobs",
        open=chosen is not None,
    )


def draft_from_traces(
    draft: Mapping[str, Any], trace_set: str, settings: TraceJobs
) -> tuple[dict[str, Any], ConvertedJobs]:
    """A draft with the jobs and machines of a trace set; policies and seeds stay."""
    info = workspace().traces.get(trace_set)
    jobs = jobs_from_traces(workspace().traces.load(info.id), settings)
    values = experiment_values(jobs, f"{info.name} as jobs")
    unchanged = {name: draft[name] for name in _KEPT_FIELDS if draft.get(name)}
    world = {**(draft.get("world") or {}), **values["world"]}
    return {**values, **unchanged, "world": world}, jobs


def describe_jobs(converted: ConvertedJobs) -> list[Node]:
    """The jobs, what is assumed or uncertain, and the skipped executions."""
    longest = max(converted.durations.values())
    alone = sum((job.work or 0.0) / (job.demand or 1.0) for job in converted.jobs) / sum(
        converted.durations.values()
    )
    words = (
        f"Longest {format_duration(longest)}; together they used at most {format_cores(converted.busiest)}. "
        f"Alone, a job takes {alone:.0%} of its recorded time, as pauses are not replayed. "
        "Machines are a guess: enter yours below."
    )
    n = len(converted.jobs)
    parts: list[Node] = [notice("ok", words, strong=f"{plural(n, 'job')} made.")]
    if converted.notes:
        parts.append(notice("warn", " ".join(converted.notes), strong="Uncertain."))
    if converted.left_out:
        reasons = " ".join(each.reason for each in converted.left_out[:_MAX_NAMED])
        more = len(converted.left_out) - _MAX_NAMED
        others = f" And {more:,} more." if more > 0 else ""
        parts.append(notice("warn", f"{reasons}{others}", strong=f"{len(converted.left_out):,} left out."))
    return parts


# The page.

_MAX_LINES = 400
_KEEP_OPTIONS = [
    {"value": Keep.FIRST.value, "label": "First seed"},
    {"value": Keep.ALL.value, "label": "All seeds"},
    {"value": Keep.NONE.value, "label": "No seed"},
]


def build_page(view: View) -> list[Node]:
    """The page that builds an experiment."""
    draft = first_draft(view.source)
    text = write_yaml(draft)
    as_text = has_seed_gaps(draft)
    edit = html.Div(button("Edit as text", "file-text", id="run-edit"), id="run-edit-tool", hidden=as_text)
    yaml_area = dmc.Textarea(
        id="run-yaml",
        value=text,
        autosize=True,
        minRows=20,
        maxRows=60,
        debounce=300,
        className="monotext",
        label="Experiment as YAML or JSON",
        description="Paste a file here; errors are shown with their line. The form does not follow.",
    )
    return [
        page_head("New experiment", "several policies on the same machines and jobs",
                  [edit, link_button("Back to runs", PATH, "chevron-left")]),
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
        dcc.Store(id="run-mode", data="text" if as_text else "form"),
    ]  # fmt: skip


def _right(text: str) -> list[Node]:
    keep = dmc.Select(
        id="run-keep",
        label="Save ledgers for",
        data=_KEEP_OPTIONS,
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
    """The text with numbered lines and the error's line marked, and the error or the number of runs."""
    experiment, problem = check_text(text)
    if experiment is not None:
        message = notice(
            "ok",
            f"{describe_experiment(experiment)}.",
            strong=f"{plural(len(experiment.policies) * len(experiment.seeds), 'run')}.",
        )
    elif problem is not None:
        message = notice("bad", problem.hint, strong=problem.message)
    return [message, numbered_lines(text, problem.line if problem else None)]


def numbered_lines(text: str, wrong: int | None) -> html.Div:
    """A text with numbered lines and the wrong one marked; a long text is cut around it."""
    lines = text.splitlines()
    first = max(0, (wrong or 1) - _MAX_LINES // 2) if len(lines) > _MAX_LINES else 0
    rows = [
        html.Div(
            [html.Span(str(at), className="n"), html.Code(line or " ")],
            className="line bad" if at == wrong else "line",
            **(aria(label=f"Line {at} is wrong") | {"role": "group"} if at == wrong else {}),
        )
        for at, line in enumerate(lines[first : first + _MAX_LINES], first + 1)
    ]
    return html.Div(
        rows, className="yaml", tabIndex="0", role="region", **aria(label="The experiment as YAML")
    )


def problems(problem: Problem | None, values: Mapping[str, Any]) -> dict[str, str]:
    """Errors by the field that shows them."""
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
    form_values = {
        name: bool(switches[name]) if value is None and isinstance(switches[name], bool) else value
        for name, value in values_of(ids, values).items()
    }
    return form_values | values_of(policy_ids, policies)


# Actions of the form.

_FIELDS = field_id(FORM, ALL)
_SHAPES = field_id(SHAPE, ALL)
_TRACE_FIELDS = field_id(TRACES, ALL)
_ALL_OF_IT = (
    State(_FIELDS, "id"),
    State(_FIELDS, "value"),
    State(_FIELDS, "checked"),
    State(_SHAPES, "id"),
    State(_SHAPES, "value"),
)


def _register_preview(app: Dash) -> None:
    @app.callback(
        Output("run-preview", "children"),
        Output(_FIELDS, "error"),
        Input(_FIELDS, "value"),
        Input(_FIELDS, "checked"),
        Input("run-yaml", "value"),
        Input("run-mode", "data"),
        State(_FIELDS, "id"),
        State(_SHAPES, "id"),
        State(_SHAPES, "value"),
        prevent_initial_call=True,
    )
    def follow(
        values: list[Any],
        switches: list[bool | None],
        text: str | None,
        mode: str,
        ids: list[dict[str, str]],
        shape_ids: list[dict[str, str]],
        shapes: list[Any],
    ) -> tuple[Any, ...]:
        if mode == "text":
            return preview(text or ""), [None] * len(ids)
        entries = fields(ids, values, switches, shape_ids, shapes)
        draft_text = text_of(entries)
        return preview(draft_text), errors_for(ids, problems(check_text(draft_text)[1], entries))


def _register_shape(app: Dash) -> None:
    app.callback(
        Output("run-form", "children"),
        Input(FORM_ACT, "data"),
        Input(_SHAPES, "value"),
        *_ALL_OF_IT[:4],
        prevent_initial_call=True,
    )(reshape)
    app.callback(
        Output("run-yaml", "value"),
        Output("run-fields", "hidden"),
        Output("run-text", "hidden"),
        Output("run-edit-tool", "hidden"),
        Output("run-mode", "data"),
        Input("run-edit", "n_clicks"),
        *_ALL_OF_IT,
        prevent_initial_call=True,
    )(edit_text)


def reshape(
    request: dict[str, Any] | None,
    shapes: list[Any],
    ids: list[dict[str, str]],
    values: list[Any],
    switches: list[bool | None],
    shape_ids: list[dict[str, str]],
) -> Any:
    """Redraw the form with a part added or removed, or with another engine's or policy's settings."""
    draft = from_fields(fields(ids, values, switches, shape_ids, shapes))
    if dash.ctx.triggered_id == FORM_ACT:
        return form(change_parts(draft, request["act"], request["id"])) if request else dash.no_update
    return form(draft) if _other_shape(ids, shape_ids, shapes) else dash.no_update


def edit_text(clicks: int | None, *state: Any) -> tuple[Any, ...]:
    """Replace the form by its YAML, which is edited as text from then on."""
    if not clicks:
        return (dash.no_update,) * 5
    return text_of(fields(*state)), True, False, True, "text"


def _register_traces(app: Dash) -> None:
    app.callback(
        Output("run-form", "children", allow_duplicate=True),
        Output("run-made", "children"),
        Output(_TRACE_FIELDS, "error"),
        Input("run-make", "n_clicks"),
        State("run-traces", "value"),
        State(_TRACE_FIELDS, "id"),
        State(_TRACE_FIELDS, "value"),
        State(_TRACE_FIELDS, "checked"),
        *_ALL_OF_IT,
        prevent_initial_call=True,
        running=[(Output("run-make", "disabled"), True, False)],
    )(make_jobs)


def make_jobs(
    clicks: int | None,
    trace_set: str,
    ids: list[dict[str, str]],
    values: list[Any],
    switches: list[bool | None],
    *state: Any,
) -> tuple[Any, ...]:
    """Fill the form with the jobs of a trace set, and show the assumptions."""
    keep = dash.no_update
    if not clicks:
        return keep, keep, [keep] * len(ids)
    entries = values_of(ids, values) | {
        name: on for name, on in values_of(ids, switches).items() if isinstance(on, bool)
    }
    settings, wrong = read(TraceJobs, entries)
    if settings is None:
        return keep, keep, errors_for(ids, wrong)
    try:
        draft, jobs = draft_from_traces(from_fields(fields(*state)), trace_set, settings)
    except PhaseDockError as error:
        return keep, problem(error), [None] * len(ids)
    return form(draft), describe_jobs(jobs), [None] * len(ids)


def _register_start(app: Dash) -> None:
    @app.callback(
        Output("run-problem", "children"),
        Output(LOCATION, "href", allow_duplicate=True),
        Input("run-start", "n_clicks"),
        State("run-mode", "data"),
        State("run-yaml", "value"),
        State("run-keep", "value"),
        *_ALL_OF_IT,
        prevent_initial_call=True,
        running=[(Output("run-start", "disabled"), True, False)],
    )
    def start(clicks: int | None, mode: str, text: str | None, keep: str, *state: Any) -> tuple[Any, ...]:
        if not clicks:
            return dash.no_update, dash.no_update
        draft_text = (text or "") if mode == "text" else text_of(fields(*state))
        experiment, wrong = check_text(draft_text)
        if experiment is None:
            message = wrong.message if wrong else ""
            return notice("bad", "Nothing was started.", strong=message), dash.no_update
        try:
            return None, start_experiment(experiment, Keep(keep))
        except PhaseDockError as error:
            return problem(error), dash.no_update


def start_experiment(experiment: Experiment, keep: Keep = Keep.FIRST) -> str:
    """Submit an experiment; returns the address of its page."""
    space = workspace()
    task = space.runs.submit(experiment, keep)
    set_props("changed", {"data": task})
    return f"{PATH}?experiment={space.tasks.get(task).params['experiment']}"


def _other_shape(
    ids: Sequence[Mapping[str, str]], shape_ids: Sequence[Mapping[str, str]], shapes: Sequence[Any]
) -> bool:
    """Whether the visible settings differ from those of the chosen engine and policies."""
    names = {each["name"] for each in ids}
    for shape_id, chosen in zip(shape_ids, shapes, strict=True):
        if shape_id["name"] == ENGINE:
            if ("docker/image" in names) != ENGINES[chosen].real:
                return True
            continue
        path = shape_id["name"].removesuffix("policy") + "settings/"
        if {name.removeprefix(path) for name in names if name.startswith(path)} != settings_names(chosen):
            return True
    return False


def register(app: Dash) -> None:
    """Connect the form."""
    _register_preview(app)
    _register_shape(app)
    _register_traces(app)
    _register_start(app)
