"""Train a model: the form made from its settings, and the live progress of the training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, set_props

from app.context import workspace
from app.pages.models.detail import ROLES
from app.ui import task_card
from app.ui.basics import Node, button, card, contents, empty, icon, link_button, notice
from app.ui.forms import controls, errors_for, field_id, read, values_of
from app.ui.page import problem
from core.errors import InputError, PhaseDockError
from core.phases import PRESETS, PhaseSettings
from core.phases.matching import EXCLUDED_ROLES
from core.settings_fields import describe
from core.units import Unit, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.pages.models.listing import ModelsAddress
    from core.traces.model import Feature
    from core.workspace.records import TraceSetInfo

FORM = "train"
_LONGEST_NAME = 110
MAIN = ("phases", "encoder", "hidden", "history", "epochs", "learning_rate")
FOLDED = ("solver", "batch_size", "patience", "warmup", "seed")
_ABOUT = {
    "Quick": "30 epochs: a first look within seconds.",
    "Paper (AI4DL)": "As in the paper: 2,000 epochs, one sample at a time.",
    "Published model": "As the authors trained the model they published: 1,000 epochs.",
}


def default_features(features: Sequence[Feature]) -> list[str]:
    """The default features of a model: all usage, no limits, no loss."""
    return [feature.name for feature in features if feature.role not in EXCLUDED_ROLES]


def _presets() -> html.Div:
    return html.Div(
        [
            html.Span("Start from", className="small ink3"),
            *(
                button(name, None, "small", id={"type": "preset", "name": name}, title=_ABOUT.get(name, ""))
                for name in PRESETS
            ),
        ],
        className="row wrap presets",
    )


def _feature_words(feature: Feature) -> str:
    role = ROLES.get(str(feature.role), str(feature.role))
    return role if feature.unit is Unit.PLAIN else f"{role}, {feature.unit}"


def features_control(
    form: str, traces: TraceSetInfo, chosen: Sequence[str] | None = None
) -> dmc.CheckboxGroup:
    """The features of a trace set to choose from, with their roles and units."""
    boxes = [
        dmc.Checkbox(
            label=[
                html.Span(feature.name, className="strong"),
                html.Span(_feature_words(feature), className="ink3 small"),
            ],
            value=feature.name,
            size="xs",
        )
        for feature in traces.features
    ]
    return dmc.CheckboxGroup(
        html.Div(boxes, className="featurelist"),
        id={"type": "features", "form": form},
        label="Features",
        description="The features of each sample. Leave out limits and loss.",
        value=list(chosen) if chosen is not None else default_features(traces.features),
        size="xs",
    )


def no_traces() -> html.Section:
    """The empty state without traces to train on."""
    add_button = link_button("Add traces", "/traces", "upload", "primary")
    return card(
        None, empty("database", "No traces yet", "A model learns from traces: add some first.", [add_button])
    )


def form(address: ModelsAddress, traces: TraceSetInfo) -> html.Section:
    """The form, filled from the address."""
    has_folded = any(name in address.settings for name in FOLDED)
    return card(
        "Train a model",
        html.Div(
            [
                _presets(),
                html.Div(controls(FORM, PhaseSettings, address.settings, MAIN), className="formgrid"),
                features_control(FORM, traces, address.features),
                html.Details(
                    [
                        html.Summary([icon("chevron-right", "sm"), "More settings"]),
                        html.Div(
                            controls(FORM, PhaseSettings, address.settings, FOLDED), className="formgrid"
                        ),
                    ],
                    className="more",
                    open=has_folded,
                ),
                dmc.TextInput(
                    id="train-name",
                    label="Name",
                    placeholder="Leave empty to name it after its phases and traces",
                    size="xs",
                    className="field",
                ),
                html.Div(id="train-problem"),
                html.Div(button("Train", "player-play", "primary", id="train-start"), className="row"),
                dcc.Store(id="train-traces", data=traces.id),
            ],
            id="train-form",
            className="stack form enc-crbm",
        ),
        note=[
            "on ",
            traces.name,
            f", {contents(traces)}",
        ],
    )


def view(address: ModelsAddress, traces: TraceSetInfo | None) -> list[Node]:
    """The form, and the training under way."""
    if traces is None:
        return [no_traces()]
    tasks = task_card.tasks_of("train", {"trace_set": traces.id}, address.task)
    panel = task_card.panel(
        tasks,
        "activity",
        "No training on these traces",
        "Progress, time left and the reconstruction error appear here. You can close the page meanwhile.",
    )
    return [
        html.Div(
            [form(address, traces), task_card.place("train-live", panel)], className="grid cols-main top"
        )
    ]


def model_name(settings: PhaseSettings, traces: str, used_names: Sequence[str]) -> str:
    """An unused name for a model: ``5 phases · Recorded jobs``, ``5 phases · Recorded jobs (2)``."""
    base = f"{plural(settings.phases, 'phase')} · {traces}"[:_LONGEST_NAME]
    names = [base, *(f"{base} ({number})" for number in range(2, len(used_names) + 3))]
    return next(name for name in names if name not in used_names)


def taken_names() -> list[str]:
    """The names of all models, and of those that are being made."""
    active = workspace().tasks.list(100, ["queued", "running"])
    return [info.name for info in workspace().models.list()] + [
        str(task.params.get("name")) for task in active
    ]


def submit(trace_set_id: str, settings: PhaseSettings, features: Sequence[str], name: str) -> str:
    """Submit a training; returns the id of its task.

    Raises
    ------
    InputError
        If no feature is chosen.
    """
    traces = workspace().traces.get(trace_set_id)
    if not features:
        raise InputError("No feature is chosen.", "Choose at least one, usually CPU and memory.")
    ordered = [feature.name for feature in traces.features if feature.name in features]
    new_name = name.strip() or model_name(settings, traces.name, taken_names())
    params = {
        "trace_set": trace_set_id,
        "settings": settings.to_dict(),
        "features": None if ordered == default_features(traces.features) else ordered,
        "name": new_name,
    }
    return workspace().tasks.submit("train", f"Train {new_name} on {traces.name}", params)


def _preset_values(name: str, ids: Sequence[Mapping[str, str]]) -> list[Any]:
    values = PRESETS[name].to_dict()
    specs = {spec.name: spec for spec in describe(PhaseSettings)}
    return [f"{values[i['name']]:g}" if specs[i["name"]].kind == "float" else values[i["name"]] for i in ids]


def register(app: Dash) -> None:
    """Connect the form."""
    fields = field_id(FORM, ALL)
    app.callback(
        Output(fields, "value"),
        Input({"type": "preset", "name": ALL}, "n_clicks"),
        State(fields, "id"),
        prevent_initial_call=True,
    )(fill)
    app.callback(
        Output("train-form", "className"),
        Input(field_id(FORM, "encoder"), "value"),
        Input(field_id(FORM, "solver"), "value"),
    )(show_what_matters)
    app.callback(
        Output(fields, "error"),
        Output("train-problem", "children"),
        Output("train-live", "children"),
        Input("train-start", "n_clicks"),
        State(fields, "id"),
        State(fields, "value"),
        State({"type": "features", "form": FORM}, "value"),
        State("train-name", "value"),
        State("train-traces", "data"),
        prevent_initial_call=True,
        running=[(Output("train-start", "disabled"), True, False)],
    )(start)


def fill(clicks: list[int | None], ids: list[dict[str, str]]) -> Any:
    """Put the values of the chosen preset into the form."""
    if not any(clicks) or not isinstance(ctx.triggered_id, dict):
        return [dash.no_update] * len(ids)
    return _preset_values(ctx.triggered_id["name"], ids)


def show_what_matters(encoder: str, solver: str) -> str:
    """Show the settings that the chosen encoder and solver have."""
    return f"stack form enc-{encoder} solver-{solver}"


def start(
    clicks: int | None,
    ids: list[dict[str, str]],
    values: list[Any],
    features: list[str] | None,
    name: str | None,
    trace_set_id: str,
) -> tuple[Any, ...]:
    """Submit the training; returns errors by field, a message, and the trainings under way."""
    keep = dash.no_update
    if not clicks:
        return [keep] * len(ids), keep, keep
    settings, wrong = read(PhaseSettings, values_of(ids, values))
    if settings is None:
        count = f"{len(wrong)} settings are" if len(wrong) > 1 else "One setting is"
        message = notice("bad", "See the form above; nothing was started.", strong=f"{count} out of range.")
        return errors_for(ids, wrong), message, keep
    try:
        task = submit(trace_set_id, settings, features or [], name or "")
    except PhaseDockError as error:
        return errors_for(ids, {}), problem(error), keep
    set_props("changed", {"data": task})
    tasks = task_card.tasks_of("train", {"trace_set": trace_set_id})
    return errors_for(ids, {}), None, task_card.panel(tasks, "", "", "")
