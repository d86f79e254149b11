"""Settings of a comparison: in the form, in the address, in the question; those of one policy, too."""

import pytest

from app.context import find_choice
from app.pages.provisioning import policy_settings, results
from app.pages.provisioning.form import (
    given_settings,
    policies_asked,
    price_values,
    proposed,
    read_prices,
    summary,
)
from app.pages.provisioning.results import View
from app.ui.evaluations import ALL_POLICIES, USUAL, address_values
from app.ui.links import Query
from core.provisioning.evaluation.comparison import PAPERS_POLICIES
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.provisioning.policies import POLICIES, usual
from core.provisioning.policy import FAMILIES, PolicyKind
from core.settings_fields import describe
from tests.app.provisioning.page_text import page_text


def test_settings_go_into_the_address_and_come_back():
    settings = EvaluationSettings(cycle=45.0, group_by="workload", seed=3)
    values = {key: value for key, value in address_values(settings, ("vpa",)).items() if value is not None}
    view = View.read(Query("/provisioning", values))
    assert view.settings == settings
    assert view.policies == ("vpa",)
    assert "draws" not in values


def test_all_policies_are_written_as_all_and_the_usual_ones_not_at_all():
    assert policies_asked(list(POLICIES)) == (ALL_POLICIES,)
    assert policies_asked(usual()) == (USUAL,)
    assert address_values(EvaluationSettings(), (USUAL,))["policies"] is None
    assert address_values(EvaluationSettings(), (ALL_POLICIES,))["policies"] == ALL_POLICIES
    assert View.read(Query("/provisioning", {})).policies == (USUAL,)
    assert policies_asked(["vpa", "no.such"]) == ("vpa",)


def test_switches_come_by_their_state():
    given = given_settings({"refit": None, "cycle": "60"}, {"refit": True, "cycle": None})
    assert given == {"refit": True, "cycle": "60"}


def test_the_proposed_cycle_fits_short_executions(traces):
    assert proposed(traces, 100_000.0).cycle == 600.0
    short = proposed(traces, 400.0)
    assert 400.0 / short.cycle >= 10.0
    assert short.cycle >= 2 * traces.period
    assert "cycle" in summary(short, 3)


def policy_fields(policy):
    """The controls of a policy's settings, as a callback gets them."""
    (made,) = policy_settings.policy_controls([policy], {})
    found = [each for each in made._traverse() if isinstance(getattr(each, "id", None), dict)]
    values, checked = ([getattr(each, part, None) for each in found] for part in ("value", "checked"))
    return [each.id for each in found], values, checked


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if describe(policy.settings)])
def test_every_setting_of_every_policy_is_in_the_form_and_defaults_change_nothing(name):
    ids, values, checked = policy_fields(name)
    assert [each["name"] for each in ids] == [spec.name for spec in describe(POLICIES[name].settings)]
    given = policy_settings.entered_values(ids, values, checked)
    assert list(given) == [name]
    assert policy_settings.read_own_settings(given) == ({}, {})


def test_a_setting_of_a_policy_goes_from_the_form_into_the_address_and_the_question(evaluated):
    ids, values, checked = policy_fields("vpa")
    values[[each["name"] for each in ids].index("margin")] = "0.3"
    own_settings, wrong = policy_settings.read_own_settings(
        policy_settings.entered_values(ids, values, checked)
    )
    assert (own_settings, wrong) == ({"vpa": {"margin": 0.3}}, {})
    query = {"policies": "vpa", "own": policy_settings.own_settings_text(own_settings) or ""}
    view = View.read(Query("/provisioning", query))
    assert (view.own_settings, view.problem) == (own_settings, None)
    assert (
        results.question(find_choice(), EvaluationSettings(), ("vpa",), own_settings).own_settings
        == own_settings
    )


def test_what_a_policy_may_not_be_set_to_is_said_at_its_field_and_of_the_address():
    wrong = policy_settings.read_own_settings({"vpa": {"margin": "much", "growth": 0.1}})[1]
    assert list(wrong) == [("policy vpa", "margin")]
    view = View.read(Query("/provisioning", {"policies": "vpa", "own": "vpa.margin=much"}))
    assert view.problem is not None
    assert view.problem[0].startswith("vpa: Margin")


def test_own_settings_are_shown_in_the_form_of_their_result(evaluated):
    text = page_text(**{**evaluated, "own": "phase.rule.kappa=3"})
    assert "own settings of Phases: mean + 2·sd, as published" in text
    assert "policy phase.rule" in text
    assert "Worst containers first" not in text
    assert "policy phase.rule" not in page_text(**evaluated)


def test_the_usual_policies_have_the_papers_five_and_every_kind_has_a_family():
    assert set(PAPERS_POLICIES) | {"budget.oracle", "phasedock"} <= set(usual())
    assert len(usual()) <= 9
    assert sorted(kind for kinds in FAMILIES.values() for kind in kinds) == sorted(PolicyKind)


def test_prices_are_read_and_defaults_are_left_out_of_the_address():
    ids = [{"form": "prices", "name": name} for name in ("core_hour", "gib_hour", "currency", "hours")]
    prices, wrong = read_prices(
        [{"form": "evaluate", "name": "cycle"}, *ids], ["9", "0.1", "0.0045", "EUR", "0"]
    )
    assert prices is not None
    assert (prices.core_hour, prices.currency, wrong) == (0.1, "EUR", {})
    values = price_values(prices)
    assert values == {"core_hour": "0.1", "gib_hour": None, "currency": "EUR", "hours": None}
    assert View.read(Query("/provisioning", {k: v for k, v in values.items() if v})).prices == prices
    assert read_prices(ids, ["-1", "0", "USD", "0"])[0] is None


def test_vpa_and_what_is_adapted_were_not_published_with_phases():
    assert POLICIES["vpa"].kind is PolicyKind.AUTOSCALER
    assert {POLICIES[name].kind for name in POLICIES if name.endswith("+conformal")} == {PolicyKind.ADAPTIVE}
    with_phases = {name for name, policy in POLICIES.items() if policy.kind is PolicyKind.PUBLISHED}
    assert with_phases == {
        "phase.rule", "phase.rule.container", "phase.rule.shrunk", "phase.rule.relative", "phase.lookahead"
    }  # fmt: skip
