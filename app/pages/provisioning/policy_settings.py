"""Settings of single policies: their part of the form, made from their dataclasses, and of the address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dash import html

from app.ui.basics import Node, aria, icon
from app.ui.evaluations import policy_name
from app.ui.forms import control, field_id, read
from core.provisioning.evaluation.comparison import COMMON
from core.provisioning.policies import POLICIES, checked_settings
from core.settings_fields import FieldSpec, describe, parse_assignments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.provisioning.policy import Policy

OwnSettings = dict[str, dict[str, Any]]
_PREFIX = "policy "


def of_text(text: str | None) -> OwnSettings:
    """Parse the policies' own settings of an address, such as ``event.tries=20;vpa.margin=0.3``.

    Raises InputError or NotFoundError if one of them is unknown or invalid.
    """
    return checked_settings(parse_assignments(part for part in (text or "").split(";") if part))


def own_settings_text(own_settings: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The policies' own settings as a parameter of an address, or None without any."""
    parts = [
        f"{name}.{each}={value}" for name, values in own_settings.items() for each, value in values.items()
    ]
    return ";".join(parts) or None


def section(policies: Sequence[str], own_settings: Mapping[str, Mapping[str, Any]]) -> html.Details:
    """The folded part of the form; opening it makes its controls."""
    return html.Details(
        [
            html.Summary([icon("chevron-right", "sm"), html.Span("Settings of the policies")]),
            html.Div(
                policy_controls(policies, own_settings) if own_settings else [],
                id="evaluate-own",
                className="stack",
            ),
        ],
        id="evaluate-own-details",
        className="own",
        open=bool(own_settings),
        n_clicks=0,
    )


def policy_controls(policies: Sequence[str], own_settings: Mapping[str, Mapping[str, Any]]) -> list[Node]:
    """The settings of the chosen policies that have any, with these values instead of defaults."""
    with_settings = [
        POLICIES[name] for name in policies if name in POLICIES and describe(POLICIES[name].settings)
    ]
    return [_fields(policy, own_settings.get(policy.name, {})) for policy in with_settings]


def _fields(policy: Policy, values: Mapping[str, Any]) -> html.Fieldset:
    fields = [
        control(
            f"{_PREFIX}{policy.name}",
            _optional_if_common(spec),
            values.get(spec.name, default_of(policy, spec)),
        )
        for spec in describe(policy.settings)
    ]
    return html.Fieldset(
        [
            html.Legend([html.B(policy_name(policy.name)), " ", html.Span(policy.about, className="ink2")]),
            html.Div(fields, className="formgrid"),
        ],
        **aria(label=f"Settings of {policy.title or policy.name}"),
    )


def _optional_if_common(spec: FieldSpec) -> FieldSpec:
    """A setting with an optional value if the comparison has the same setting."""
    if spec.name not in COMMON:
        return spec
    return replace(spec, kind="text", help=f"{spec.help} Empty: as in the comparison.")


def default_of(policy: Policy, spec: FieldSpec) -> Any:
    """The default of a setting; empty where the comparison's value applies."""
    return "" if spec.name in COMMON else policy.defaults.get(spec.name, spec.default)


def entered_values(
    ids: Sequence[Mapping[str, str]], values: Sequence[Any], checked: Sequence[bool | None]
) -> dict[str, dict[str, Any]]:
    """The entered values by policy and setting, of all controls of the page."""
    entries: dict[str, dict[str, Any]] = {}
    for each, value, state in zip(ids, values, checked, strict=True):
        name = each["form"].removeprefix(_PREFIX)
        if each["form"].startswith(_PREFIX) and name in POLICIES:
            specs = {spec.name: spec for spec in describe(POLICIES[name].settings)}
            is_switch = each["name"] in specs and specs[each["name"]].kind == "bool"
            entries.setdefault(name, {})[each["name"]] = bool(state) if is_switch else value
    return entries


def read_own_settings(
    entries: Mapping[str, Mapping[str, Any]],
) -> tuple[OwnSettings, dict[tuple[str, str], str]]:
    """The settings that differ from their defaults, and errors by form and field."""
    own_settings: OwnSettings = {}
    wrong: dict[tuple[str, str], str] = {}
    for name, values in entries.items():
        policy = POLICIES[name]
        filled = {each: value for each, value in values.items() if not _is_left_empty(each, value)}
        settings, faults = read(policy.settings, filled)
        wrong |= {(f"{_PREFIX}{name}", field): sentence for field, sentence in faults.items()}
        if settings is not None:
            defaults = {spec.name: default_of(policy, spec) for spec in describe(policy.settings)}
            changed = {
                each: getattr(settings, each) for each in filled if getattr(settings, each) != defaults[each]
            }
            own_settings |= {name: changed} if changed else {}
    return own_settings, wrong


def _is_left_empty(name: str, value: Any) -> bool:
    return name in COMMON and (value is None or not str(value).strip())


def every_field(wildcard: Any) -> dict[str, Any]:
    """The id of all controls of the page, of the comparison and of the policies."""
    return field_id(wildcard, wildcard)
