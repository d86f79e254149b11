"""The form's callbacks: start a comparison, choose policies, show the settings of the chosen ones."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import dash
from dash import ALL, ClientsideFunction, Input, Output, State, set_props

from app.context import LOCATION, chosen
from app.pages.provisioning import results
from app.pages.provisioning.form import FORM, PRICES, given_settings, policies_asked
from app.pages.provisioning.policy_settings import controls, entered, every_field, read_own, text_of
from app.pages.provisioning.query import PATH, TAKEN, View
from app.ui.basics import notice
from app.ui.errors import problem
from app.ui.evaluations import address_values
from app.ui.forms import read, values_of
from app.ui.forms import text_of as own_text
from app.ui.links import Query
from core.errors import PhaseDockError
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.provisioning.verdict.savings import PriceSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dash import Dash

    from app.pages.provisioning.policy_settings import Own


def register(app: Dash) -> None:
    """Connect the form."""
    _register_start(app)
    _register_own(app)


def _read_form(
    ids: list[dict[str, str]], values: list[Any], checked: list[bool | None], otherwise: Own
) -> tuple[EvaluationSettings | None, Own, dict[tuple[str, str], str]]:
    """What was entered; the policies' settings are `otherwise` until their controls have been shown."""
    mine = [place for place, each in enumerate(ids) if each["form"] == FORM]
    names = [ids[place] for place in mine]
    given = given_settings(
        values_of(names, [values[place] for place in mine]),
        values_of(names, [checked[place] for place in mine]),
    )
    settings, faults = read(EvaluationSettings, given)
    there = entered(ids, values, checked)
    own, wrong = read_own(there) if there else (otherwise, {})
    wrong |= {(FORM, name): said for name, said in faults.items()}
    return (None if wrong else settings), own, wrong


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
    # by the browser, so that who evaluates at once evaluates what was just chosen
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
    about: dict[str, Any],
    search: str | None,
) -> tuple[Any, ...]:
    """Submit the form's comparison; returns what is wrong, field by field, or the address that shows it."""
    keep = dash.no_update
    if not (clicks or again_clicks):
        return [keep] * len(ids), keep, keep, keep
    settings, own, wrong = _read_form(ids, values, checked, about["own"])
    if settings is None:
        said = notice("bad", "Open the settings; nothing was started.", strong="A setting is out of range.")
        return _errors(ids, wrong), said, keep, keep
    if not names:
        said = notice("bad", "Choose at least one; nothing was started.", strong="No policy is chosen.")
        return _errors(ids, {}), said, keep, keep
    own = {name: each for name, each in own.items() if name in names}
    policies, choice = policies_asked(names), chosen(about["traces"], about["model"])
    where = _asked(settings, policies, own, about, Query.parse(PATH, search))
    again = dash.ctx.triggered_id == "evaluate-again"
    kept = None if again else results.find(choice, View.read(where))
    if kept and not kept.earlier:
        return _errors(ids, {}), None, keep, f"?{where.search()}"
    try:
        task = results.submit(choice, settings, policies, own, again=again)
    except PhaseDockError as error:
        return _errors(ids, {}), problem(error), keep, keep
    set_props("changed", {"data": task})
    return _errors(ids, {}), None, keep, f"?{where.search(task=task)}"


def _asked(
    settings: EvaluationSettings, policies: tuple[str, ...], own: Own, about: Mapping[str, Any], query: Query
) -> Query:
    """The address of the comparison that the form asks for."""
    pair = {name: about[name] for name in ("traces", "model")}
    values = {**pair, **address_values(settings, policies), "own": text_of(own)}
    return Query.parse(PATH, query.search(**values, task=None, **dict.fromkeys(TAKEN.values())))


def read_prices(ids: list[dict[str, str]], values: list[Any]) -> tuple[PriceSettings | None, dict[str, str]]:
    """The prices that were entered, or what is wrong with them."""
    mine = [place for place, each in enumerate(ids) if each["form"] == PRICES]
    return read(PriceSettings, values_of([ids[i] for i in mine], [values[i] for i in mine]))


def price_values(prices: PriceSettings) -> dict[str, str | None]:
    """The prices as parameters of an address; defaults are left out."""
    default = asdict(PriceSettings())
    return {n: None if v == default[n] else own_text(v) for n, v in asdict(prices).items()}


def apply_prices(
    clicks: int | None, ids: list[dict[str, str]], values: list[Any], search: str | None
) -> tuple[Any, ...]:
    """Show the result with other prices; nothing is compared again."""
    if not clicks:
        return dash.no_update, dash.no_update
    prices, wrong = read_prices(ids, values)
    if prices is None:
        said = " ".join(dict.fromkeys(wrong.values()))
        return notice("bad", said, strong="A price is out of range."), dash.no_update
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
    def own_settings(
        clicks: int | None,
        names: list[str] | None,
        shown: Any,
        ids: list[dict[str, str]],
        values: list[Any],
        checked: list[bool | None],
        about: dict[str, Any],
    ) -> Any:
        """Make the controls when they are first looked at, and again when other policies are chosen."""
        opened = clicks or shown or about["own"]
        if not opened or (shown and dash.ctx.triggered_id == "evaluate-own-details"):
            return dash.no_update
        return controls(names or (), {**about["own"], **entered(ids, values, checked)})
