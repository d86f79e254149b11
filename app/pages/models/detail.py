"""One model: its phases, training settings, features, and divided phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.figures.models import error_curve
from app.pages.models.listing import action, encoder_words, format_error, origin_badges, phase_badges
from app.ui.basics import Node, card, contents, icon, link_button, phase_badge, state_badge
from app.ui.forms import text_of
from app.ui.graph import graph
from app.ui.phases import live, phase_cards, usual_lanes
from app.ui.tables import export_menu, html_table
from app.ui.task_card import when
from core.settings_fields import describe
from core.tables import Column, Table
from core.traces.model import ROLE_NAMES
from core.units import Unit, format_duration, format_number, format_value, plural

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.phases import PhaseModel
    from core.workspace.records import ModelInfo

ROLES = {role.value: name for role, name in ROLE_NAMES.items()} | {"phase": "Phase", "other": "Other"}


def _facts(info: ModelInfo, model: PhaseModel) -> Iterable[tuple[str, Node]]:
    record = model.training
    yield "Encoder", encoder_words(info)
    if record.n_samples:
        yield "Trained on", contents(record)
    if record.errors:
        yield "Epochs", f"{len(record.errors):,} of at most {model.settings.epochs:,}"
    yield "Final error", format_error(info.final_error)
    if record.period:
        yield "Sampled", f"every {format_duration(record.period)}"


def head(info: ModelInfo, model: PhaseModel, trace_set_id: str | None) -> html.Section:
    """The model's name, origin and actions."""
    traces = trace_set_id or info.trace_set_id or ""
    phases = f"/phases?traces={traces}&model={info.id}" if traces else f"/phases?model={info.id}"
    export = html.A(
        [icon("file-export"), "Export"], href=f"/api/models/{info.id}/export", className="btn", download=""
    )
    facts = [
        html.Div(
            [html.Span(label, className="small ink3"), html.Span(value, className="strong")], className="fact"
        )
        for label, value in _facts(info, model)
    ]
    trained = (
        f"Trained on {info.trace_set_name}"
        if info.trace_set_name
        else "Its training traces are not available"
    )
    ways = [
        link_button("See phases", phases, "timeline"),
        export,
        action("Rename", "ask-rename", info.id, "pencil"),
        action("Move to trash", "trash", info.id, "trash"),
    ]
    return card(
        info.name,
        html.Div(
            [
                html.Div(phase_badges(info), className="row wrap badges"),
                html.Div(facts, className="facts"),
                html.Div(ways, className="row wrap"),
            ],
            className="stack",
        ),
        note=[trained, ", ", when(info.created)],
        tools=origin_badges(info),
        class_name="modelhead",
    )


def cards(model: PhaseModel) -> Node:
    """A card per phase with its statistics on the training traces; its bare phases if there are none."""
    if live(model.statistics):
        return phase_cards(model.statistics, usual_lanes(model.statistics), max_columns=4, names=model.names)
    return card(
        "Phases",
        html.Div(
            [phase_badge(phase, model.names.get(phase, "")) for phase in model.phases], className="row wrap"
        ),
        html.P(
            "The files of this model have no statistics of its phases. Evaluate it on a trace set below.",
            className="small ink2",
            style={"marginTop": "8px"},
        ),
    )


def loss(model: PhaseModel) -> html.Section:
    """The error of each epoch of the training."""
    errors = model.training.errors
    if not errors:
        why = (
            "This encoder is not trained in epochs."
            if model.encoder.name != "crbm"
            else "The files of this model contain no training history."
        )
        return card("Training", html.P(why, className="ink2"))
    figure = error_curve(range(1, len(errors) + 1), errors)
    return card(
        "Training",
        graph("model-loss", figure, "Reconstruction error of each epoch"),
        note=f"{plural(len(errors), 'epoch')}, final error {format_error(errors[-1])}",
        tools=[export_menu("model-loss", "reconstruction error", ())],
    )


def settings(model: PhaseModel) -> html.Section:
    """How the model was fitted."""
    rows: list[tuple[str, str]] = []
    for spec in describe(type(model.settings)):
        value = getattr(model.settings, spec.name)
        counted = spec.unit and isinstance(value, int)
        text = dict(spec.choices).get(value) or (f"{value:,}" if counted else text_of(value))
        rows.append((spec.label, f"{text} {spec.unit}".strip()))
    return card(
        "Settings", html_table(Table("settings", _SETTINGS, rows), "Settings of the model"), flush=True
    )


_SETTINGS = (Column("setting", "Setting"), Column("value", "Value"))


_FEATURES = (
    Column("feature", "Feature", value=lambda row: row[0].name),
    Column("role", "Role", value=lambda row: ROLES.get(str(row[0].role), str(row[0].role))),
    Column("unit", "Unit", value=lambda row: "" if row[0].unit is Unit.PLAIN else str(row[0].unit)),
    Column("mean", "Mean", value=lambda row: format_value(row[1], row[0].unit), right=True),
    Column("scale", "Scale", value=lambda row: format_value(row[2], row[0].unit), right=True),
)


def features(model: PhaseModel) -> html.Section:
    """The features of the model, and how its scaler standardises them to mean 0 and deviation 1."""
    scaler = model.scaler
    rows = [
        [feature, float(mean), float(scale)]
        for feature, mean, scale in zip(model.features, scaler.mean, scaler.scale, strict=True)
    ]
    table = html_table(
        Table("features", _FEATURES, rows),
        "Features with the mean and scale of the scaler",
        cells={"feature": lambda row: html.Code(row[0].name)},
    )
    note = f"{format_number(len(rows), 0)}, standardised before encoding"
    return card("Features and scaler", table, note=note, flush=True)


def expansions(model: PhaseModel) -> Node:
    """The divided phases as a nested list; None without any."""
    if not model.expansions:
        return None
    children = {each.phase: each.ids for each in model.expansions}
    new_phases = {phase for ids in children.values() for phase in ids}

    def branch(phase: int) -> html.Li:
        label: list[Node] = [phase_badge(phase, model.names.get(phase, ""))]
        if phase not in children:
            return html.Li([*label, html.Span(model.description(phase), className="ink2")])
        label.append(state_badge("divided", "", "git-branch"))
        return html.Li([*label, html.Ul([branch(each) for each in children[phase]])])

    return html.Ul([branch(phase) for phase in children if phase not in new_phases], className="branches")
