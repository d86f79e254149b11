"""Forms made from settings: every setting has a control, and every wrong value its sentence."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from app.ui.forms import controls, errors_for, field_id, numbers, read, text_of, values_of
from app.ui.links import Query
from core.errors import InputError
from core.phases import PRESETS, PhaseSettings
from core.settings_fields import describe, setting

SPECS = describe(PhaseSettings)


@dataclass(frozen=True)
class Small:
    """Settings of every kind."""

    count: int = setting(3, label="Count", low=1, high=9, unit="samples", help="How many.")
    rate: float = setting(1e-4, label="Rate", low=0.0, high=1.0, help="How fast.")
    on: bool = setting(True, label="On", help="Whether.")
    name: str = setting("x", label="Name", help="What it is called.")


def control_of(node):
    return node.children


def test_every_setting_gets_a_control_with_its_label_and_help():
    made = {control_of(node).id["name"]: control_of(node) for node in controls("f", PhaseSettings)}
    assert list(made) == [spec.name for spec in SPECS]
    for spec in SPECS:
        assert (made[spec.name].label, made[spec.name].description) == (spec.label, spec.help)
    choices = {entry["value"] for entry in made["encoder"].data}
    assert choices == {"crbm", "window", "pca"}
    assert (made["phases"].min, made["phases"].max, made["phases"].value) == (1, 64, 5)


def test_units_and_switches_have_their_controls():
    count, rate, on, name = (control_of(node) for node in controls("f", Small, {"count": 7}))
    assert count.value == 7
    assert count.rightSection.children == "samples"
    assert (rate.value, on.checked, name.value) == ("0.0001", True, "x")


def test_only_the_named_settings_in_their_order():
    made = controls("f", PhaseSettings, only=("seed", "phases"))
    assert [control_of(node).id for node in made] == [field_id("f", "seed"), field_id("f", "phases")]


@pytest.mark.parametrize("name", PRESETS)
def test_a_form_gives_back_what_it_was_filled_with(name):
    preset = PRESETS[name]
    made = [control_of(node) for node in controls("f", PhaseSettings, preset.to_dict())]
    settings, wrong = read(PhaseSettings, values_of([c.id for c in made], [c.value for c in made]))
    assert wrong == {}
    assert settings == preset


def test_every_wrong_field_is_named_at_once():
    ids = [field_id("f", name) for name in ("phases", "hidden", "learning_rate")]
    settings, wrong = read(PhaseSettings, values_of(ids, [None, 0, " 0.01 "]))
    assert settings is None
    assert wrong == {
        "phases": "It must be a whole number from 1 to 64.",
        "hidden": "It must be a whole number from 1 to 512.",
    }
    assert errors_for(ids, wrong) == [wrong["phases"], wrong["hidden"], None]


def test_numbers_are_read_from_a_list():
    assert numbers("5, 10;20", "Hidden", int) == [5, 10, 20]
    assert numbers("1e-3 0.5", "Rate") == [0.001, 0.5]


@pytest.mark.parametrize("text", ["", "a, b", ","])
def test_what_is_no_list_of_numbers_is_refused_by_name(text, refuses):
    with refuses(InputError):
        numbers(text, "Hidden", int)


@pytest.mark.parametrize(("value", "text"), [(1e-7, "1e-07"), (0.001, "0.001"), (5, "5"), ("x", "x")])
def test_numbers_are_written_short(value, text):
    assert text_of(value) == text


def test_a_link_changes_a_part_of_the_address():
    query = Query.parse("/models", "?traces=a&view=train&task=t")
    assert query(task=None) == "/models?traces=a&view=train"
    assert query.only("traces", "model", view="trash") == "/models?traces=a&view=trash"
    assert query.only() == "/models"
    assert query.get("model") is None
