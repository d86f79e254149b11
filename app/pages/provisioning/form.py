"""The settings of a comparison: the form, and the callbacks that start one and set prices."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import ALL, ClientsideFunction, Input, Output, State, dcc, html, set_props

from app.context import LOCATION, find_choice
from app.pages.provisioning import results
from app.pages.provisioning.policy_settings import (
    entered_values,
    every_field,
    own_settings_text,
    policy_controls,
    read_own_settings,
    section,
)
from app.pages.provisioning.results import PATH, POLICY_PARAMETERS, View
from app.ui.basics import Node, aria, button, icon, notice
from app.ui.evaluations import ALL_POLICIES, USUAL, address_values, policy_name
from app.ui.forms import ORDER, control, controls, field_id, read, select, text_of, values_of
from app.ui.links import Query
from app.ui.page import problem
from core.errors import PhaseDockError
from core.provisioning.evaluation.evaluate import EvaluationSettings, proposed_cycle
from core.provisioning.policies import POLICIES, policy_title, usual
from core.provisioning.policy import FAMILIES
from core.provisioning.verdict.savings import PriceSettings
from core.settings_fields import describe
from core.units import format_duration, format_set_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash import Dash

    from app.context import Choice
    from app.pages.provisioning.policy_settings import OwnSettings
    from core.provisioning.policy import Policy
    from core.workspace.records import TraceSetInfo


FORM, PRICES = "evaluate", "prices"
_AGAIN = "Compare again, even if this comparison is stored"


def proposed(traces: TraceSetInfo, seconds: float) -> EvaluationSettings:
    """The settings to begin with: the paper's cycle, or a shorter one where executions are short."""
    return EvaluationSettings(cycle=proposed_cycle(traces.period, seconds))


def _group_control(settings: EvaluationSettings, attributes: Sequence[str]) -> html.Div:
    """A select of the column of the traces to hold out by."""
    spec = next(spec for spec in describe(EvaluationSettings) if spec.name == "group_by")
    options = [("", "Single containers"), *((name, name) for name in attributes)]
    if settings.group_by not in ("", *attributes):
        options.append((settings.group_by, settings.group_by))
    field = select(
        field_id(FORM, "group_by"),
        options,
        settings.group_by,
        label=spec.label,
        description=spec.help,
        inputWrapperOrder=ORDER,
    )
    return html.Div(field, className="field")


def _controls(settings: EvaluationSettings, traces: TraceSetInfo) -> list[Node]:
    fields: list[Node] = []
    for spec in describe(EvaluationSettings):
        if spec.name == "group_by":
            fields.append(_group_control(settings, traces.attributes))
        else:
            fields.append(control(FORM, spec, getattr(settings, spec.name)))
    return fields


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
    if ALL_POLICIES in chosen:
        return list(POLICIES)
    return usual() if USUAL in chosen else [name for name in chosen if name in POLICIES]


def _boxes(title: str, policies: Sequence[Policy]) -> html.Fieldset:
    """Policies under one heading, to be ticked."""
    boxes = [
        dmc.Checkbox(
            label=policy_name(policy.name),
            value=policy.name,
            size="xs",
            wrapperProps={"title": policy.about},
        )
        for policy in policies
    ]
    return html.Fieldset([html.Legend(title, className="small ink3"), *boxes])


def summary(settings: EvaluationSettings, policies: int, own_settings: Sequence[str] = ()) -> str:
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
            *([f"own settings of {', '.join(map(policy_title, own_settings))}"] if own_settings else []),
        ]
    )


def form(
    choice: Choice,
    settings: EvaluationSettings,
    policies: Sequence[str],
    own_settings: OwnSettings,
    view: View,
    *,
    is_open: bool,
    fresh: bool,
) -> html.Div:
    """The button that evaluates, and the folded settings."""
    count = len(_names(policies))
    line = [
        icon("chevron-right", "sm"),
        html.H2("Settings"),
        html.Span(summary(settings, count, list(own_settings)), className="ink3 truncate"),
    ]
    body = html.Div(
        _body(choice, settings, policies, own_settings, view, fresh=fresh), className="stack form body"
    )
    folded = html.Details(
        [html.Summary(line), body],
        className="card settings",
        open=is_open,
        **aria(label="Settings of the comparison"),
    )
    start = button("Evaluate", "player-play", "primary" if fresh else "", id="evaluate-start")
    problem_notice = (
        notice("bad", view.problem[1], strong=view.problem[0]) if view.problem is not None else None
    )
    return html.Div(
        [html.Div([start, folded], className="evaluate"), html.Div(problem_notice, id="evaluate-problem")],
        className="stack spaced",
    )


def _body(
    choice: Choice,
    settings: EvaluationSettings,
    policies: Sequence[str],
    own_settings: OwnSettings,
    view: View,
    *,
    fresh: bool,
) -> list[Node]:
    if choice.traces is None:
        raise AssertionError("there is a form only where there is a trace set")
    traces, model = choice.traces, choice.model
    phases = [" with the phases of ", html.B(model.name)] if model else [", without a phase model"]
    pair = {"traces": traces.id, "model": model.id if model else None, "own": own_settings}
    return [
        html.P(["on ", html.B(traces.name), *phases], className="small ink2"),
        html.Div(_controls(settings, traces), className="formgrid"),
        _policies(policies),
        section(_names(policies), own_settings),
        html.Div(_buttons(), className="row wrap"),
        prices(view) if fresh else None,
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


def prices(view: View) -> html.Fieldset:
    """The price of an hour; changing it needs no new comparison."""
    fields = controls(PRICES, PriceSettings, asdict(view.prices))
    return html.Fieldset(
        [
            html.Legend("Prices: assumptions for the saving per day", className="small ink3"),
            html.Div(fields, className="formgrid"),
            html.Div(id="prices-problem"),
            button("Apply prices", None, "small", id="prices-apply"),
        ],
        className="prices",
    )


def policies_asked(values: Sequence[str] | None) -> tuple[str, ...]:
    """The chosen policies; ``all`` or ``usual`` for these groups, so that later policies are included."""
    chosen = tuple(name for name in POLICIES if name in set(values or ()))
    if list(chosen) == usual():
        return (USUAL,)
    return (ALL_POLICIES,) if len(chosen) == len(POLICIES) else chosen


def given_settings(values: Mapping[str, Any], checked: Mapping[str, bool | None]) -> dict[str, Any]:
    """The form's values; switches have theirs in `checked`."""
    kinds = {spec.name: spec.kind for spec in describe(EvaluationSettings)}
    return {name: bool(checked[name]) if kinds[name] == "bool" else value for name, value in values.items()}


def register(app: Dash) -> None:
    """Connect the form."""
    _register_start(app)
    _register_own(app)


def _read_form(
    ids: list[dict[str, str]], values: list[Any], checked: list[bool | None], otherwise: OwnSettings
) -> tuple[EvaluationSettings | None, OwnSettings, dict[tuple[str, str], str]]:
    """The entered settings; the policies' own ones are `otherwise` until their controls are shown."""
    places = [place for place, each in enumerate(ids) if each["form"] == FORM]
    names = [ids[place] for place in places]
    entries = given_settings(
        values_of(names, [values[place] for place in places]),
        values_of(names, [checked[place] for place in places]),
    )
    settings, faults = read(EvaluationSettings, entries)
    entries_by_policy = entered_values(ids, values, checked)
    own_settings, wrong = read_own_settings(entries_by_policy) if entries_by_policy else (otherwise, {})
    wrong |= {(FORM, name): sentence for name, sentence in faults.items()}
    return (None if wrong else settings), own_settings, wrong


def _errors(ids: list[dict[str, str]], wrong: Mapping[tuple[str, str], str]) -> list[str | None]:
    return [wrong.get((each["form"], each["name"])) for each in ids]


def _register_start(app: Dash) -> None:
    fields = every_field(ALL)
    app.callback(
        Output(fields, "error"),
        Output("evaluate-problem", "children"),
        Output("evaluate-live", "children"),
        Output(LOCATION, "search", allow_duplicate=True),
        Input("evaluate-start", "n_clicks"),
        Input("evaluate-again", "n_clicks"),
        State(fields, "id"),
        State(fields, "value"),
        State(fields, "checked"),
        State("evaluate-policies", "value"),
        State("evaluate-about", "data"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
        running=[(Output(f"evaluate-{name}", "disabled"), True, False) for name in ("start", "again")],
    )(start)
    # in the browser, so that “Evaluate” right after it uses the new choice
    app.clientside_callback(
        ClientsideFunction("provisioning", "choose"),
        Output("evaluate-policies", "value"),
        Input("evaluate-usual", "n_clicks"),
        Input("evaluate-all", "n_clicks"),
        Input("evaluate-none", "n_clicks"),
        State("evaluate-groups", "data"),
        prevent_initial_call=True,
    )
    app.callback(
        Output("prices-problem", "children"),
        Output(LOCATION, "search", allow_duplicate=True),
        Input("prices-apply", "n_clicks"),
        State(fields, "id"),
        State(fields, "value"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )(apply_prices)


def start(
    clicks: int | None,
    again_clicks: int | None,
    ids: list[dict[str, str]],
    values: list[Any],
    checked: list[bool | None],
    names: list[str] | None,
    pair: dict[str, Any],
    search: str | None,
) -> tuple[Any, ...]:
    """Submit the comparison; returns errors by field, or the address of the result."""
    keep = dash.no_update
    if not (clicks or again_clicks):
        return [keep] * len(ids), keep, keep, keep
    settings, own_settings, wrong = _read_form(ids, values, checked, pair["own"])
    if settings is None:
        refusal = notice(
            "bad", "Open the settings; nothing was started.", strong="A setting is out of range."
        )
        return _errors(ids, wrong), refusal, keep, keep
    if not names:
        refusal = notice("bad", "Choose at least one; nothing was started.", strong="No policy is chosen.")
        return _errors(ids, {}), refusal, keep, keep
    own_settings = {name: each for name, each in own_settings.items() if name in names}
    policies, choice = policies_asked(names), find_choice(pair["traces"], pair["model"])
    address_query = _comparison_query(settings, policies, own_settings, pair, Query.parse(PATH, search))
    again = dash.ctx.triggered_id == "evaluate-again"
    stored = None if again else results.find(choice, View.read(address_query))
    if stored and not stored.earlier:
        return _errors(ids, {}), None, keep, f"?{address_query.search()}"
    try:
        task = results.submit(choice, settings, policies, own_settings, again=again)
    except PhaseDockError as error:
        return _errors(ids, {}), problem(error), keep, keep
    set_props("changed", {"data": task})
    return _errors(ids, {}), None, keep, f"?{address_query.search(task=task)}"


def _comparison_query(
    settings: EvaluationSettings,
    policies: tuple[str, ...],
    own_settings: OwnSettings,
    choice: Mapping[str, Any],
    query: Query,
) -> Query:
    """The address of the comparison in the form."""
    pair = {name: choice[name] for name in ("traces", "model")}
    values = {**pair, **address_values(settings, policies), "own": own_settings_text(own_settings)}
    return Query.parse(PATH, query.search(**values, task=None, **dict.fromkeys(POLICY_PARAMETERS.values())))


def read_prices(ids: list[dict[str, str]], values: list[Any]) -> tuple[PriceSettings | None, dict[str, str]]:
    """The entered prices, or errors by field."""
    places = [place for place, each in enumerate(ids) if each["form"] == PRICES]
    return read(PriceSettings, values_of([ids[i] for i in places], [values[i] for i in places]))


def price_values(prices: PriceSettings) -> dict[str, str | None]:
    """The prices as parameters of an address; defaults are left out."""
    default = asdict(PriceSettings())
    return {n: None if v == default[n] else text_of(v) for n, v in asdict(prices).items()}


def apply_prices(
    clicks: int | None, ids: list[dict[str, str]], values: list[Any], search: str | None
) -> tuple[Any, ...]:
    """Show the result with other prices; nothing is compared again."""
    if not clicks:
        return dash.no_update, dash.no_update
    prices, wrong = read_prices(ids, values)
    if prices is None:
        sentences = " ".join(dict.fromkeys(wrong.values()))
        return notice("bad", sentences, strong="A price is out of range."), dash.no_update
    return None, f"?{Query.parse(PATH, search).search(**price_values(prices))}"


def _register_own(app: Dash) -> None:
    fields = every_field(ALL)

    @app.callback(
        Output("evaluate-own", "children"),
        Input("evaluate-own-details", "n_clicks"),
        Input("evaluate-policies", "value"),
        State("evaluate-own", "children"),
        State(fields, "id"),
        State(fields, "value"),
        State(fields, "checked"),
        State("evaluate-about", "data"),
        prevent_initial_call=True,
    )
    def show_own_settings(
        clicks: int | None,
        names: list[str] | None,
        before: Any,
        ids: list[dict[str, str]],
        values: list[Any],
        checked: list[bool | None],
        pair: dict[str, Any],
    ) -> Any:
        """Make the controls when they are first opened, and again for other policies."""
        is_open = clicks or before or pair["own"]
        if not is_open or (before and dash.ctx.triggered_id == "evaluate-own-details"):
            return dash.no_update
        return policy_controls(names or (), {**pair["own"], **entered_values(ids, values, checked)})
