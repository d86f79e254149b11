"""Settings as typed data, and those of a phase model."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from core.errors import InputError
from core.phases import PRESETS, PhaseSettings
from core.phases.crbm import SOLVERS
from core.phases.encoders import ENCODERS
from core.settings_fields import build, describe, setting


@dataclass(frozen=True)
class Example:
    """One of each kind."""

    count: int = setting(3, label="Count", low=1, high=9, help="How many.", unit="pieces")
    share: float = setting(0.5, label="Share", low=0.0, help="How much.")
    most: float = setting(2.0, label="Most", high=5.0, help="At most.")
    free: float = setting(2.0, label="Free", help="Any.")
    on: bool = setting(True, label="On", help="Whether.")
    name: str = setting("a", label="Name", help="What it is called.")
    way: str = setting("x", label="Way", help="How.", choices={"x": "By x", "y": "By y"})
    hidden: int = 7


def test_fields_describe_themselves(sentence):
    specs = {spec.name: spec for spec in describe(Example)}
    assert "hidden" not in specs
    assert [spec.kind for spec in specs.values()] == [
        "int",
        "float",
        "float",
        "float",
        "bool",
        "text",
        "choice",
    ]
    assert specs["count"].unit == "pieces"
    sentence(specs["count"].bounds)
    sentence(specs["share"].bounds)
    sentence(specs["most"].bounds)
    assert specs["free"].bounds == "a number"
    assert specs["on"].bounds == "true or false"
    assert specs["name"].bounds == "text"
    sentence(specs["way"].bounds)


def test_text_becomes_values():
    made = build(Example, {"count": "4", "share": "1e-1", "on": "no", "name": 5, "way": "y", "free": 3})
    assert made == Example(count=4, share=0.1, on=False, name="5", way="y", free=3.0)
    assert build(Example, {"on": "True"}).on is True
    assert build(Example, {"on": False}).on is False
    assert build(Example, {}) == Example()


@pytest.mark.parametrize(
    "values",
    [
        {"count": 0},
        {"count": "2.5"},
        {"count": "many"},
        {"count": True},
        {"count": None},
        {"share": "nan"},
        {"share": "inf"},
        {"most": 6},
        {"on": "perhaps"},
        {"way": "z"},
        {"colour": 1},
    ],
)
def test_wrong_values_are_refused_by_name_and_bounds(values, refuses):
    with refuses(InputError):
        build(Example, values)


def test_phase_settings_go_through_json_and_have_presets():
    for settings in PRESETS.values():
        assert PhaseSettings.from_dict(settings.to_dict()) == settings
    assert {"Quick", "Paper (AI4DL)", "Published model"} == set(PRESETS)
    for spec in describe(PhaseSettings):
        assert spec.help.endswith(".")
        assert spec.label


def test_every_choice_of_the_settings_is_registered():
    choices = {spec.name: [value for value, _ in spec.choices] for spec in describe(PhaseSettings)}
    assert choices["encoder"] == list(ENCODERS)
    assert choices["solver"] == list(SOLVERS)
