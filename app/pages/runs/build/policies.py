"""The section of the policies: each with its label, and the controls of its own settings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import html

from app.pages.runs.build.changes import arms
from app.pages.runs.build.pieces import FORM, SHAPE, controls, does, item, more, section, text
from app.pages.runs.words import titled
from app.ui.basics import Node, button, icon
from app.ui.forms import ORDER, control, field_id, select
from core.experiments.parts import THREADS
from core.scheduling.policies import POLICIES, spelt
from core.settings_fields import FieldSpec, describe

if TYPE_CHECKING:
    from collections.abc import Mapping


_THREADS = FieldSpec(
    "threads",
    "choice",
    "",
    "Threads",
    "How many threads its jobs use, and whether that follows their cores.",
    choices=(("", "As in the experiment"), *THREADS.items()),
)

_WATCH = FieldSpec(
    "watch",
    "bool",
    False,
    "Only watch",
    "Jobs keep what they ask for; what it would give them is written down.",
)


def policies(draft: Mapping[str, Any], *, real: bool) -> html.Fieldset:
    """The section: the policies of a draft, and which of them the others are compared with."""
    given = arms(draft)
    items = [_arm(at, each, real) for at, each in enumerate(given)]
    labels = {str(each.get("label") or each.get("policy")): str(each.get("policy")) for each in given}
    baseline = html.Div(_baseline(labels, draft.get("baseline")), className="field")
    return section(
        "Policies",
        *items,
        html.Div(baseline, className="formgrid"),
        tools=[button("Add a policy", "plus", "small", **does("add-policies"))],
    )


def _baseline(labels: Mapping[str, str], chosen: Any) -> dmc.Select:
    first = next(iter(labels), "")
    return dmc.Select(
        id=field_id(FORM, "baseline"),
        label="Baseline",
        description="The policy that the others are compared with.",
        data=[{"value": label, "label": titled(label, policy)} for label, policy in labels.items()],
        value=chosen if chosen in labels else first,
        allowDeselect=False,
        size="xs",
        inputWrapperOrder=ORDER,
        rightSection=icon("selector", "sm"),
    )


def _arm(at: int, arm: Mapping[str, Any], real: bool) -> html.Div:
    name = str(arm.get("policy") or "")
    label = "" if arm.get("label") == name else str(arm.get("label") or "")
    path = f"policies/{at}"
    made: list[Node] = [
        html.Div(_choice(path, name), className="field wide"),
        text(
            f"{path}/label", "Label", label, "In tables; the policy's name if empty.", placeholder=spelt(name)
        ),
    ]
    if real:
        threads = replace(_THREADS, name=f"{path}/threads")
        made.append(control(FORM, threads, str(arm.get("threads") or "")))
    if name in POLICIES and POLICIES[name].sees_use:
        made.append(control(FORM, replace(_WATCH, name=f"{path}/watch"), bool(arm.get("watch"))))
    settings = _settings(path, name, arm.get("settings") or {})
    return item(
        titled(label, name) if label else spelt(name) or "Policy", made, "drop-policies", at, settings
    )


def _choice(path: str, name: str) -> dmc.Select:
    known = name in POLICIES
    return select(
        field_id(SHAPE, f"{path}/policy"),
        [(each, spelt(each)) for each in POLICIES],
        name if known else None,
        label="Policy",
        description=POLICIES[name].about if known else None,
        inputWrapperOrder=ORDER,
    )


def _settings(path: str, name: str, given: Mapping[str, Any]) -> list[Node]:
    """The controls of a policy's settings, folded; nothing for one that has none."""
    if name not in POLICIES or not describe(POLICIES[name].settings):
        return []
    policy = POLICIES[name]
    values = {**policy.defaults, **given}
    return [more(f"Settings of {spelt(name)}", controls(policy.settings, f"{path}/settings", values))]


def settings_names(policy: str | None) -> set[str]:
    """The names of a policy's settings; none for a policy that is not known."""
    if policy is None or policy not in POLICIES:
        return set()
    return {spec.name for spec in describe(POLICIES[policy].settings)}
