"""The settings of a comparison: what is chosen, each policy's own, and what they do to the page."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import dcc, html

from app.pages.provisioning.policy_settings import section
from app.ui.basics import Node, aria, button, icon, notice
from app.ui.evaluations import ALL, USUAL
from app.ui.forms import ORDER, control, controls, field_id, select, text_of
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.provisioning.policies import POLICIES, usual
from core.provisioning.policy import FAMILIES
from core.provisioning.verdict.savings import PriceSettings
from core.settings_fields import describe
from core.units import format_duration, format_set_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.context import Choice
    from app.pages.provisioning.policy_settings import Own
    from app.pages.provisioning.query import View
    from core.provisioning.policy import Policy
    from core.workspace.records import TraceSetInfo


FORM, PRICES = "evaluate", "prices"
_FEW = 24
_CYCLES_PER_EXECUTION = 10
_AGAIN = "Compare again, even if this comparison is stored"


def proposed(traces: TraceSetInfo, seconds: float) -> EvaluationSettings:
    """The settings to begin with: the paper's cycle, or a shorter one where executions are short."""
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
    options = [("", "Single containers"), *((name, name) for name in attributes)]
    if settings.group_by not in ("", *attributes):
        options.append((settings.group_by, settings.group_by))
    made = select(
        field_id(FORM, "group_by"),
        options,
        settings.group_by,
        label=spec.label,
        description=spec.help,
        inputWrapperOrder=ORDER,
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
    others = [each for _, each in POLICIES.items() if not each.usual]
    families = {name: [each for each in others if each.kind in kinds] for name, kinds in FAMILIES.items()}
    groups = [_boxes(name, policies) for name, policies in families.items() if policies]
    ticked = set(_names(chosen))
    more = html.Details(
        [
            html.Summary([icon("chevron-right", "sm"), html.Span("More policies")]),
            html.Div(groups, className="policylist"),
        ],
        className="own",
        open=any(each.name in ticked for each in others),
    )
    return dmc.CheckboxGroup(
        [html.Div(_boxes("Usual", [POLICIES[name] for name in usual()]), className="policylist usual"), more],
        id="evaluate-policies",
        label="Policies",
        value=_names(chosen),
        size="xs",
    )


def _names(chosen: Sequence[str]) -> list[str]:
    if ALL in chosen:
        return list(POLICIES)
    return usual() if USUAL in chosen else [name for name in chosen if name in POLICIES]


def _boxes(title: str, policies: Sequence[Policy]) -> html.Fieldset:
    """Policies under one heading, to be ticked."""
    boxes = [
        dmc.Checkbox(label=policy.name, value=policy.name, size="xs", wrapperProps={"title": policy.about})
        for policy in policies
    ]
    return html.Fieldset([html.Legend(title, className="small ink3"), *boxes])


def summary(settings: EvaluationSettings, policies: int, own: Sequence[str] = ()) -> str:
    """The settings in one line; `own` are the policies that have some of their own."""
    by = f"whole groups of {settings.group_by}" if settings.group_by else "containers"
    return " · ".join(
        [
            f"cycle {format_duration(settings.cycle)}",
            f"tolerance {format_set_share(settings.tolerance)}",
            f"prior weight {text_of(settings.kappa)}",
            f"{format_set_share(settings.holdout)} of {by} held out",
            f"seed {settings.seed}",
            f"{policies} policies" if policies != 1 else "1 policy",
            *([f"own settings of {', '.join(own)}"] if own else []),
        ]
    )


def form(
    about: Choice,
    settings: EvaluationSettings,
    policies: Sequence[str],
    own: Own,
    view: View,
    *,
    opened: bool,
    fresh: bool,
) -> html.Div:
    """The one button, and the settings folded beside it."""
    count = len(_names(policies))
    line = [
        icon("chevron-right", "sm"),
        html.H2("Settings"),
        html.Span(summary(settings, count, list(own)), className="ink3 truncate"),
    ]
    body = html.Div(_body(about, settings, policies, own, view), className="stack form body")
    folded = html.Details(
        [html.Summary(line), body],
        className="card settings",
        open=opened,
        **aria(label="Settings of the comparison"),
    )
    start = button("Evaluate", "player-play", "primary" if fresh else "", id="evaluate-start")
    said = notice("bad", view.problem[1], strong=view.problem[0]) if view.problem is not None else None
    return html.Div(
        [html.Div([start, folded], className="evaluate"), html.Div(said, id="evaluate-problem")],
        className="stack spaced",
    )


def _body(
    about: Choice,
    settings: EvaluationSettings,
    policies: Sequence[str],
    own: Own,
    view: View,
) -> list[Node]:
    if about.traces is None:
        raise AssertionError("there is a form only where there is a trace set")
    traces, model = about.traces, about.model
    phases = [" with the phases of ", html.B(model.name)] if model else [", without a phase model"]
    pair = {"traces": traces.id, "model": model.id if model else None, "own": own}
    return [
        html.P(["on ", html.B(traces.name), *phases], className="small ink2"),
        html.Div(_controls(settings, traces), className="formgrid"),
        _policies(policies),
        section(_names(policies), own),
        html.Div(_buttons(), className="row wrap"),
        _prices(view),
        dcc.Store(id="evaluate-about", data=pair),
        dcc.Store(
            id="evaluate-groups",
            data={"evaluate-usual": usual(), "evaluate-all": list(POLICIES), "evaluate-none": []},
        ),
    ]


def _buttons() -> list[Node]:
    return [
        button("Run again", "refresh", "", id="evaluate-again", title=_AGAIN),
        button("The usual policies", None, "", id="evaluate-usual"),
        button("All policies", None, "", id="evaluate-all"),
        button("None", None, "quiet", id="evaluate-none"),
    ]


def _prices(view: View) -> html.Fieldset:
    """What an hour costs; changing it compares nothing again."""
    made = controls(PRICES, PriceSettings, asdict(view.prices))
    return html.Fieldset(
        [
            html.Legend("Prices and a day: assumptions behind what is saved per day", className="small ink3"),
            html.Div(made, className="formgrid"),
            html.Div(id="prices-problem"),
            button("Apply prices", None, "small", id="prices-apply"),
        ],
        className="prices",
    )


def policies_asked(values: Sequence[str] | None) -> tuple[str, ...]:
    """The chosen policies; by one word if they are all or the usual ones, so that later ones are included."""
    chosen = tuple(name for name in POLICIES if name in set(values or ()))
    if list(chosen) == usual():
        return (USUAL,)
    return (ALL,) if len(chosen) == len(POLICIES) else chosen


def given_settings(values: Mapping[str, Any], checked: Mapping[str, bool | None]) -> dict[str, Any]:
    """The form's values; switches have theirs in `checked`."""
    kinds = {spec.name: spec.kind for spec in describe(EvaluationSettings)}
    return {name: bool(checked[name]) if kinds[name] == "bool" else value for name, value in values.items()}
