"""The pieces of the form of an experiment: controls of a part at its path, sections, removable items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import html

from app.pages.runs.build.draft import shown
from app.ui.basics import Node, data, icon, icon_button
from app.ui.forms import ORDER, control, field_id
from core.experiments.jobs import MAY_BE_NONE, SPANS, JobKind
from core.settings_fields import describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORM = "run"
SHAPE = "run-shape"
"""Fields whose values decide which others there are."""
FORM_ACT = "run-form-act"


def controls(
    cls: type[Any], path: str, values: Mapping[str, Any], only: Sequence[str] | None = None
) -> list[Node]:
    """The controls of a part at a path; spans and values that may be left out are text fields."""
    made: list[Node] = []
    for spec in describe(cls):
        if only is not None and spec.name not in only:
            continue
        value = values.get(spec.name, spec.default)
        if cls is JobKind and spec.name in (*SPANS, *MAY_BE_NONE):
            spec, value = replace(spec, kind="text"), shown(value)  # noqa: PLW2901 - a field of text instead
        made.append(control(FORM, replace(spec, name=f"{path}/{spec.name}"), value))
    return made


def rest(cls: type[Any], main: Sequence[str]) -> list[str]:
    """The settings of a part that are not among its main ones."""
    return [spec.name for spec in describe(cls) if spec.name not in main]


def text(name: str, label: str, value: str, help_: str = "", **more: Any) -> html.Div:
    """A field of text."""
    made = dmc.TextInput(
        id=field_id(FORM, name),
        label=label,
        description=help_ or None,
        value=value,
        size="xs",
        inputWrapperOrder=ORDER,
        **more,
    )
    return html.Div(made, className="field", **data(field=name))


def does(act: str, place: object = "") -> dict[str, Any]:
    """The action that a button of the form requests, as its attributes."""
    return data(act=act, id=place, store=FORM_ACT)


def section(title: str, *body: Node, tools: Sequence[Node] = ()) -> html.Fieldset:
    """A section of the form, with its buttons at the right of its title."""
    head = [html.H2(title), html.Div(list(tools), className="tools")] if tools else [html.H2(title)]
    return html.Fieldset(
        [html.Legend(title, className="sr"), html.Div(head, className="parthead"), *body], className="part"
    )


def item(title: str, controls: list[Node], act: str, place: int, more: Sequence[Node] = ()) -> html.Div:
    """One of several parts, with the button that removes it."""
    remove = icon_button("x", f"Remove {title}", **does(act, place))
    return html.Div(
        [html.Div([html.H3(title), remove], className="row between"),
         html.Div(controls, className="formgrid"), *more],
        className="partitem",
    )  # fmt: skip


def more(title: str, controls: list[Node]) -> html.Details:
    """Further controls, folded."""
    summary = html.Summary([icon("chevron-right", "sm"), title])
    return html.Details([summary, html.Div(controls, className="formgrid")], className="unfold")
