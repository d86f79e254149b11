"""A form made from a settings dataclass: one control per setting, its help under it, its errors beside it.

`core.settings_fields` says what each setting is. `controls` draws it; `read` turns what a person typed
into an instance, or says for each field what is wrong with it. Nothing is corrected
silently: a value out of bounds stays where it is, with its sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import dash_mantine_components as dmc
from dash import html

from app.context import workspace
from app.ui.basics import Node, data, icon, with_symbol
from core.errors import InputError
from core.provisioning.policies import POLICIES, policy_title
from core.provisioning.policy import FAMILIES
from core.settings_fields import FieldSpec, build, check, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from core.workspace.records import ModelInfo, TraceSetInfo

S = TypeVar("S")

ORDER = ["label", "input", "description", "error"]
"""The parts of a control from top to bottom: its help is below it."""


def field_id(form: Any, name: Any) -> dict[str, Any]:
    """The id of one control; `form` and `name` may be ``dash.ALL``."""
    return {"type": "field", "form": form, "name": name}


def text_of(value: object) -> str:
    """Format a number for a field, such as ``0.001`` or ``1e-07``."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def control(form: str, spec: FieldSpec, value: Any) -> html.Div:
    """One setting with its label, unit and help."""
    common: dict[str, Any] = {
        "id": field_id(form, spec.name),
        "label": with_symbol(spec.label, spec.symbol),
        "description": spec.help,
        "size": "xs",
    }
    if spec.kind != "bool":
        common["inputWrapperOrder"] = ORDER
    field = _MAKERS.get(spec.kind, _text)(spec, value, common)
    return html.Div(field, className="field", **data(field=spec.name))


def _choice(spec: FieldSpec, value: Any, common: dict[str, Any]) -> dmc.Select:
    return dmc.Select(
        **common,
        data=[{"value": key, "label": label} for key, label in spec.choices],
        value=str(value),
        allowDeselect=False,
        rightSection=icon("selector", "sm"),
        comboboxProps={"width": "max-content", "position": "bottom-start"},
    )


def _switch(_spec: FieldSpec, value: Any, common: dict[str, Any]) -> dmc.Switch:
    return dmc.Switch(**common, checked=bool(value))


def _whole_number(spec: FieldSpec, value: Any, common: dict[str, Any]) -> dmc.NumberInput:
    unit = _unit(spec)
    return dmc.NumberInput(
        **common,
        **unit,
        **({"hideControls": True} if unit else {}),
        value=value,
        min=spec.low,
        max=spec.high,
        allowDecimal=False,
        clampBehavior="none",
        thousandSeparator="",
    )


def _text(spec: FieldSpec, value: Any, common: dict[str, Any]) -> dmc.TextInput:
    return dmc.TextInput(**common, **_unit(spec), value=text_of(value))


def _unit(spec: FieldSpec) -> dict[str, Any]:
    """The unit at the right end of a control, if the setting has one."""
    if not spec.unit:
        return {}
    return {"rightSection": html.Span(spec.unit, className="unit"), "rightSectionWidth": 62}


def _select_by_name(
    names: Callable[[], list[Any]], without: str
) -> Callable[[FieldSpec, Any, dict[str, Any]], Node]:
    """A select of models or trace sets by name; clearable if `without` names the empty choice."""

    def make(_spec: FieldSpec, value: Any, common: dict[str, Any]) -> dmc.Select:
        return dmc.Select(
            **common,
            data=names(),
            value=str(value) or None,
            placeholder=without or None,
            clearable=bool(without),
            allowDeselect=bool(without),
            searchable=True,
            rightSection=icon("selector", "sm"),
            comboboxProps={"width": "max-content", "position": "bottom-start"},
        )

    return make


def _models() -> list[Any]:
    return [{"value": each.id, "label": each.name} for each in workspace().models.list()]


def _trace_sets() -> list[Any]:
    return [{"value": each.id, "label": each.name} for each in workspace().traces.list()]


def _provisioning() -> list[Any]:
    """Policies that can be attached to running containers, by family."""
    usable = [each for _, each in POLICIES.items() if not each.foresight]
    grouped = {
        family: [
            {"value": each.name, "label": each.title or each.name} for each in usable if each.kind in kinds
        ]
        for family, kinds in FAMILIES.items()
    }
    return [{"group": family, "items": items} for family, items in grouped.items() if items]


def referenced_name(spec: FieldSpec, value: object) -> str:
    """The name of the model, trace set or provisioning policy that a setting holds; empty for others."""
    infos: Sequence[ModelInfo | TraceSetInfo]
    match spec.kind:
        case "model":
            infos = workspace().models.list()
        case "traces":
            infos = workspace().traces.list()
        case "provisioning":
            return policy_title(str(value))
        case _:
            return ""
    return next((each.name for each in infos if each.id == value), "no longer there" if value else "")


_MAKERS: dict[str, Callable[[FieldSpec, Any, dict[str, Any]], Node]] = {
    "choice": _choice,
    "bool": _switch,
    "int": _whole_number,
    "model": _select_by_name(_models, "Without phases"),
    "traces": _select_by_name(_trace_sets, "The model’s training traces"),
    "provisioning": _select_by_name(_provisioning, ""),
}
"""The control of each kind of setting; all others are text fields."""


def select(select_id: Any, options: Iterable[tuple[str, str]], value: str | None, **more: Any) -> dmc.Select:
    """A select of one of several (value, label) options, which cannot be cleared."""
    return dmc.Select(
        id=select_id,
        data=[{"value": key, "label": label} for key, label in options],
        value=value,
        allowDeselect=False,
        size="xs",
        rightSection=icon("selector", "sm"),
        **more,
    )


def controls(
    form: str,
    cls: type[Any],
    values: Mapping[str, Any] | None = None,
    only: Sequence[str] | None = None,
) -> list[Node]:
    """The controls of a settings dataclass."""
    initial = values or {}
    specs = {spec.name: spec for spec in describe(cls)}
    names = list(specs) if only is None else only
    return [control(form, specs[name], initial.get(name, specs[name].default)) for name in names]


def values_of(
    ids: Iterable[Mapping[str, str]], values: Sequence[Any], switches: Sequence[bool | None] | None = None
) -> dict[str, Any]:
    """The values of a form's controls by name; `switches` has True or False for switches, else None."""
    on = [None] * len(values) if switches is None else switches
    contents = (value if switch is None else switch for value, switch in zip(values, on, strict=True))
    return {each["name"]: value for each, value in zip(ids, contents, strict=True)}


def read(cls: type[S], values: Mapping[str, Any]) -> tuple[S | None, dict[str, str]]:
    """Turn entered values into an instance, or into error sentences by field."""
    wrong: dict[str, str] = {}
    good: dict[str, Any] = {}
    for spec in describe(cls):
        if spec.name not in values:
            continue
        try:
            good[spec.name] = check(spec, _clean(values[spec.name]))
        except InputError as error:
            wrong[spec.name] = error.hint
    return (None if wrong else build(cls, good)), wrong


def _clean(value: object) -> object:
    return value.strip() if isinstance(value, str) else "" if value is None else value


def errors_for(ids: Iterable[Mapping[str, str]], wrong: Mapping[str, str]) -> list[str | None]:
    """The sentences of `read` in the order of the controls, for their ``error`` property."""
    return [wrong.get(each["name"]) for each in ids]


def numbers(text: str, label: str, kind: type[float] = float) -> list[float]:
    """Read a list of numbers such as ``5, 10, 20``.

    Raises
    ------
    InputError
        If the list is empty or has something other than a number; names the list.
    """
    parts = [part for part in str(text or "").replace(";", ",").replace(" ", ",").split(",") if part]
    try:
        entries = [kind(part) for part in parts]
    except ValueError:
        entries = []
    if not entries:
        kind_words = "whole numbers" if kind is int else "numbers"
        raise InputError(f"{label} cannot be “{text}”.", f"Enter {kind_words} separated by commas.")
    return entries
