"""What to compare policies on: the comparison's settings, the policies, and the button that starts it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import dcc, html

from app.pages.provisioning.own_settings import section
from app.ui.basics import Node, aria, button, icon, notice
from app.ui.evaluations import ALL
from app.ui.forms import control, field_id, text_of
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.provisioning.policies import POLICIES
from core.provisioning.policy import PolicyKind
from core.settings_fields import describe
from core.units import format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.pages.provisioning.own_settings import Own
    from core.runtime.infos import ModelInfo, TraceSetInfo

FORM = "evaluate"
_FEW = 24
_CYCLES_PER_EXECUTION = 10


def proposed(traces: TraceSetInfo, seconds: float) -> EvaluationSettings:
    """The settings to begin with: the paper's cycle, or a shorter one where executions are short.

    Parameters
    ----------
    traces
        What is compared on.
    seconds
        The median length of its executions.
    """
    settings = EvaluationSettings()
    if seconds >= _CYCLES_PER_EXECUTION * settings.cycle:
        return settings
    steps = (10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0)
    fitting = [
        step for step in steps if step * _CYCLES_PER_EXECUTION <= seconds and step >= 2 * traces.period
    ]
    return replace(settings, cycle=max(fitting, default=max(2 * traces.period, 1.0)))


def _group_control(settings: EvaluationSettings, attributes: Sequence[str]) -> html.Div:
    """The column to hold out by, of those that the traces have."""
    spec = next(spec for spec in describe(EvaluationSettings) if spec.name == "group_by")
    options = [{"value": "", "label": "Single containers"}]
    options += [{"value": name, "label": name} for name in attributes]
    known = settings.group_by in ("", *attributes)
    made = dmc.Select(
        id=field_id(FORM, "group_by"),
        label=spec.label,
        description=spec.help,
        data=options if known else [*options, {"value": settings.group_by, "label": settings.group_by}],
        value=settings.group_by,
        allowDeselect=False,
        size="xs",
        inputWrapperOrder=["label", "input", "description", "error"],
        rightSection=icon("selector", "sm"),
    )
    return html.Div(made, className="field")


def _controls(settings: EvaluationSettings, traces: TraceSetInfo) -> list[Node]:
    made: list[Node] = []
    for spec in describe(EvaluationSettings):
        if spec.name == "group_by":
            made.append(_group_control(settings, traces.attributes))
        else:
            made.append(control(FORM, spec, getattr(settings, spec.name)))
    return made


def _policies(chosen: Sequence[str]) -> dmc.CheckboxGroup:
    kinds = {kind: [policy for _, policy in POLICIES.items() if policy.kind is kind] for kind in PolicyKind}
    groups = [
        html.Fieldset(
            [
                html.Legend(kind.label, className="small ink3"),
                *(
                    dmc.Checkbox(
                        label=policy.name, value=policy.name, size="xs", wrapperProps={"title": policy.about}
                    )
                    for policy in policies
                ),
            ]
        )
        for kind, policies in kinds.items()
        if policies
    ]
    return dmc.CheckboxGroup(
        html.Div(groups, className="policylist"),
        id="evaluate-policies",
        label="Policies",
        value=_names(chosen),
        size="xs",
    )


def _names(chosen: Sequence[str]) -> list[str]:
    return list(POLICIES) if ALL in chosen else [name for name in chosen if name in POLICIES]


def summary(settings: EvaluationSettings, policies: int, own: Sequence[str] = ()) -> str:
    """The settings in one line; `own` are the policies that have some of their own."""
    by = f"whole groups of {settings.group_by}" if settings.group_by else "containers"
    return " · ".join(
        [
            f"cycle {format_duration(settings.cycle)}",
            f"tolerance {format_share(settings.tolerance, 0 if settings.tolerance >= 0.01 else 1)}",
            f"κ {text_of(settings.kappa)}",
            f"{format_share(settings.holdout, 0)} of {by} held out",
            f"seed {settings.seed}",
            f"{policies} policies" if policies != 1 else "1 policy",
            *([f"own settings of {', '.join(own)}"] if own else []),
        ]
    )


def form(
    traces: TraceSetInfo,
    model: ModelInfo | None,
    settings: EvaluationSettings,
    policies: Sequence[str],
    own: Own,
    problem: tuple[str, str] | None,
    *,
    opened: bool,
) -> html.Details:
    """The form, folded to its summary while a result is shown."""
    count = len(POLICIES) if ALL in policies else len(policies)
    said = notice("bad", problem[1], strong=problem[0]) if problem is not None else None
    pair = {"traces": traces.id, "model": model.id if model else None, "own": own}
    about: list[Node] = ["on ", html.B(traces.name)]
    about += [" with the phases of ", html.B(model.name)] if model else [", without a phase model"]
    return html.Details(
        [
            html.Summary(
                [
                    icon("chevron-right", "sm"),
                    html.H2("Settings"),
                    html.Span(summary(settings, count, list(own)), className="ink3 truncate"),
                ]
            ),
            html.Div(
                [
                    html.P(about, className="small ink2"),
                    html.Div(_controls(settings, traces), className="formgrid"),
                    _policies(policies),
                    section(_names(policies), own),
                    html.Div(said, id="evaluate-problem"),
                    html.Div(
                        [
                            button("Evaluate", "player-play", "primary", id="evaluate-start"),
                            button("All policies", None, "", id="evaluate-all"),
                            button("None", None, "quiet", id="evaluate-none"),
                        ],
                        className="row wrap",
                    ),
                    dcc.Store(
                        id="evaluate-about",
                        data=pair,
                    ),
                ],
                className="stack form body",
            ),
        ],
        className="card settings",
        open=opened,
        **aria(label="Settings of the comparison"),
    )


def policies_asked(values: Sequence[str] | None) -> tuple[str, ...]:
    """The chosen policies; all of them stand for ``all``, so that later ones belong to it too."""
    chosen = tuple(name for name in POLICIES if name in set(values or ()))
    return (ALL,) if len(chosen) == len(POLICIES) else chosen


def given_settings(values: Mapping[str, Any], checked: Mapping[str, bool | None]) -> dict[str, Any]:
    """The form's values; switches have theirs in `checked`."""
    kinds = {spec.name: spec.kind for spec in describe(EvaluationSettings)}
    return {name: bool(checked[name]) if kinds[name] == "bool" else value for name, value in values.items()}
