"""What the form of an experiment does: preview, other parts, form and YAML, the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
from dash import ALL, Input, Output, State, set_props

from app.context import LOCATION, workspace
from app.pages.runs.build.draft import FORM, FORM_ACT, SHAPE, changed, checked, from_fields, gapped, text_of
from app.pages.runs.build.form import ENGINE, form, settings_names
from app.pages.runs.build.layout import FORM as TRACES
from app.pages.runs.build.layout import fields, made_draft, preview, problems, said
from app.pages.runs.query import PATH
from app.ui.basics import notice
from app.ui.errors import problem
from app.ui.forms import errors_for, field_id, read, values_of
from core.errors import PhaseDockError
from core.experiments.reading.marked import read_marked
from core.experiments.recorded import TraceJobs
from core.experiments.spec import ENGINES
from core.runs.values import Keep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash import Dash

    from core.experiments.spec import Experiment

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
        Input("run-mode", "value"),
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
        if mode == "yaml":
            return preview(text or ""), [None] * len(ids)
        given = fields(ids, values, switches, shape_ids, shapes)
        made = text_of(given)
        return preview(made), errors_for(ids, problems(checked(made)[1], given))


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
        Output("run-form", "children", allow_duplicate=True),
        Output("run-fields", "hidden"),
        Output("run-text", "hidden"),
        Output("run-mode", "value"),
        Input("run-mode", "value"),
        State("run-yaml", "value"),
        *_ALL_OF_IT,
        prevent_initial_call=True,
    )(switch)


def reshape(
    asked: dict[str, Any] | None,
    shapes: list[Any],
    ids: list[dict[str, str]],
    values: list[Any],
    switches: list[bool | None],
    shape_ids: list[dict[str, str]],
) -> Any:
    """Redraw the form with a part added or removed, or with another engine's or policy's settings."""
    draft = from_fields(fields(ids, values, switches, shape_ids, shapes))
    if dash.ctx.triggered_id == FORM_ACT:
        return form(changed(draft, asked["act"], asked["id"])) if asked else dash.no_update
    return form(draft) if _other_shape(ids, shape_ids, shapes) else dash.no_update


def switch(mode: str, text: str | None, *state: Any) -> tuple[Any, ...]:
    """Switch the experiment between form and YAML; an invalid text stays in the YAML view."""
    keep = dash.no_update
    if mode == "yaml":
        return text_of(fields(*state)), keep, True, False, keep
    try:
        values = read_marked(text or "").values
        if gapped(values):
            words = "The form has a number of seeds and a first one."
            set_props(
                "run-problem",
                {"children": notice("bad", words, strong="The form cannot show seeds with gaps.")},
            )
            return keep, keep, True, False, "yaml"
        return keep, form(values), False, True, keep
    except (PhaseDockError, AttributeError, TypeError, ValueError):
        said = notice("bad", "Fix the highlighted line first.", strong="The form cannot show this text.")
        set_props("run-problem", {"children": said})
        return keep, keep, True, False, "yaml"


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
    """Fill the form with the jobs of a trace set, and say what is assumed of them."""
    keep = dash.no_update
    if not clicks:
        return keep, keep, [keep] * len(ids)
    given = values_of(ids, values) | {
        name: on for name, on in values_of(ids, switches).items() if isinstance(on, bool)
    }
    settings, wrong = read(TraceJobs, given)
    if settings is None:
        return keep, keep, errors_for(ids, wrong)
    try:
        draft, made = made_draft(from_fields(fields(*state)), trace_set, settings)
    except PhaseDockError as error:
        return keep, problem(error), [None] * len(ids)
    return form(draft), said(made), [None] * len(ids)


def _register_start(app: Dash) -> None:
    @app.callback(
        Output("run-problem", "children"),
        Output(LOCATION, "href", allow_duplicate=True),
        Input("run-start", "n_clicks"),
        State("run-mode", "value"),
        State("run-yaml", "value"),
        State("run-keep", "value"),
        *_ALL_OF_IT,
        prevent_initial_call=True,
        running=[(Output("run-start", "disabled"), True, False)],
    )
    def start(clicks: int | None, mode: str, text: str | None, keep: str, *state: Any) -> tuple[Any, ...]:
        if not clicks:
            return dash.no_update, dash.no_update
        written_ = (text or "") if mode == "yaml" else text_of(fields(*state))
        experiment, wrong = checked(written_)
        if experiment is None:
            said = wrong.message if wrong else ""
            return notice("bad", "Nothing was started.", strong=said), dash.no_update
        try:
            return None, started(experiment, Keep(keep))
        except PhaseDockError as error:
            return problem(error), dash.no_update


def started(experiment: Experiment, keep: Keep = Keep.FIRST) -> str:
    """Submit an experiment; returns the address of its page."""
    space = workspace()
    task = space.runs.submit(experiment, keep)
    set_props("changed", {"data": task})
    return f"{PATH}?experiment={space.tasks.get(task).params['experiment']}"


def _other_shape(
    ids: Sequence[Mapping[str, str]], shape_ids: Sequence[Mapping[str, str]], shapes: Sequence[Any]
) -> bool:
    """Whether the settings that are shown are not those of the chosen engine and policies."""
    names = {each["name"] for each in ids}
    for where, chosen in zip(shape_ids, shapes, strict=True):
        if where["name"] == ENGINE:
            if ("docker/image" in names) != ENGINES[chosen].real:
                return True
            continue
        path = where["name"].removesuffix("policy") + "settings/"
        if {name.removeprefix(path) for name in names if name.startswith(path)} != settings_names(chosen):
            return True
    return False


def register(app: Dash) -> None:
    """Connect the form."""
    _register_preview(app)
    _register_shape(app)
    _register_traces(app)
    _register_start(app)
