"""Policies from outside: those that keep the port are registered, the others are refused with the reason."""

import logging
from importlib.metadata import EntryPoint

import pytest

from core import plugins
from core.bootstrap import open_workspace
from core.plugins import forget, listing, load_policies, log_refusals, refusals, source_digest
from core.provisioning.policies import POLICIES as PROVISIONING
from core.provisioning.policies import policy
from core.scheduling.policies import POLICIES as SCHEDULING
from tests.cli.test_cli import run, run_json

HEAD = """
from dataclasses import dataclass, replace
import numpy as np
from core.provisioning.policy import Policy, PolicyKind
from core.settings_fields import setting

@dataclass(frozen=True)
class Doubled:
    factor: float = setting(2.0, label="Factor", low=0.0, high=9.0, help="What it multiplies.")

def peak(demand):
    fleet = demand.fleet
    ends = np.append(fleet.starts[1:], fleet.n_samples) - 1
    return fleet.per_sample(fleet.previous(demand.values[ends]))

def fit(training, settings, progress):
    return lambda demand: peak(demand) * settings.factor

GOOD = Policy("outside", PolicyKind.REACTIVE, "The last sample of the cycle before, doubled.", fit, Doubled)
"""
SCHEDULER = """
from dataclasses import replace
from core.scheduling.policies.free import FREE
from core.scheduling.ports import Decision
"""
RANDOM_ONE = """
def fit(training, settings, progress):
    return lambda demand: peak(demand) + np.random.default_rng().random(demand.fleet.n_samples)
"""
BROKEN = {
    "it takes the future": (
        "POLICIES = (replace(GOOD, fit=lambda t, s, p: lambda d: d.values * 1.0),)",
        "looks into the future",
    ),
    "its shape is wrong": (
        "POLICIES = (replace(GOOD, fit=lambda t, s, p: lambda d: np.array([1.0])),)",
        "the shape (1,) instead of",
    ),
    "its amounts are below zero": (
        "POLICIES = (replace(GOOD, fit=lambda t, s, p: lambda d: -1.0 - 0 * d.values),)",
        "infinite or below zero",
    ),
    "it changes what it sees": (
        """
def changing(demand):
    demand.values[:] = np.round(demand.values)
    return peak(demand)
POLICIES = (replace(GOOD, fit=lambda t, s, p: changing),)
""",
        "changes the demand",
    ),
    "it is left to chance": (f"{RANDOM_ONE}\nPOLICIES = (replace(GOOD, fit=fit),)", "allocates differently"),
    "it looks beside it": (
        """
def beside(demand):
    return np.full(demand.fleet.n_samples, float(demand.fleet.n_containers))
POLICIES = (replace(GOOD, fit=lambda t, s, p: beside),)
""",
        "depends on others beside it",
    ),
    "it raises": ("POLICIES = (replace(GOOD, fit=lambda t, s, p: 1 / 0),)", "ZeroDivisionError"),
    "its settings are no dataclass": ("POLICIES = (replace(GOOD, settings=dict),)", "not a frozen dataclass"),
    "its default is out of bounds": (
        "POLICIES = (replace(GOOD, defaults={'factor': 10.0}),)",
        "Factor (factor) cannot be “10.0”",
    ),
    "its name is no name": ("POLICIES = (replace(GOOD, name='My, own'),)", "is not a valid name"),
    "its name is taken": ("POLICIES = (replace(GOOD, name='vpa'),)", "taken by a policy of PhaseDock"),
    "it is something else": ("POLICIES = ('outside',)", "neither a Policy nor a SchedulingPolicy"),
    "nothing is declared": ("", "has no attribute 'POLICIES'"),
    "it is no Python": ("def (", "SyntaxError"),
    "it ends the program": ("raise SystemExit(3)", "SystemExit"),
    "it leaves jobs waiting": (
        SCHEDULER
        + """
def decide(state, seen):
    return Decision(state, wake=seen.time + 1)
POLICIES = (replace(FREE, name='lazy', decide=decide),)
""",
        "did not end",
    ),
    "it decides by chance": (
        SCHEDULER
        + """
import random
def decide(state, seen):
    answer = FREE.decide(state, seen)
    return replace(answer, wake=seen.time + 1 + random.random())
POLICIES = (replace(FREE, name='dice', decide=decide),)
""",
        "decides differently",
    ),
    "it looks at what is hidden": (
        SCHEDULER
        + """
def decide(state, seen):
    answer = FREE.decide(state, seen)
    known = all(job.hidden is not None for job in seen.jobs)
    return answer if known else replace(answer, actions=())
POLICIES = (replace(FREE, name='spy', decide=decide),)
""",
        "Job.hidden",
    ),
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"

    def written(text):
        path.write_text(HEAD + text, encoding="utf-8")
        return path

    yield written
    forget(str(path))


@pytest.mark.parametrize("name", BROKEN)
def test_a_policy_that_does_not_keep_the_port_is_refused(file, caplog, name):
    text, why = BROKEN[name]
    path, before = file(text), (list(PROVISIONING), list(SCHEDULING))
    with caplog.at_level(logging.WARNING):
        (refused,) = load_policies([path])
    assert refused.source == str(path)
    assert why in refused.why
    assert len(refused.why) < 400
    assert refused in refusals()
    assert str(refused) in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO):
        log_refusals()
    assert str(refused) in caplog.text
    assert (list(PROVISIONING), list(SCHEDULING)) == before


def test_a_policy_from_a_file_is_everywhere(file, settings, sentence):
    path = file("POLICIES = (GOOD, replace(GOOD, name='vpa'))")
    opened = open_workspace(type(settings)(home=settings.home, policies=(path,)))
    opened.close()
    assert PROVISIONING["outside"].chosen({"factor": "3"}).factor == 3.0
    assert PROVISIONING.source("outside") == str(path)
    (listed,) = [each for each in listing() if each["policy"] == "outside"]
    assert (listed["for"], listed["kind"], listed["source"]) == ("provisioning", "reactive", str(path))
    sentence(listed["settings"][0]["bounds"])
    assert [refused.name for refused in load_policies([path])] == ["vpa"]


def test_the_command_lists_policies_and_refusals(file, monkeypatch):
    path = file("POLICIES = (GOOD, replace(GOOD, name='vpa'))")
    monkeypatch.setenv("PHASEDOCK_POLICIES", str(path))
    found = run_json("policies")
    assert {each["policy"] for each in found["policies"]} >= {*PROVISIONING, *SCHEDULING, "outside"}
    assert [each["policy"] for each in found["refused"]] == ["vpa"]
    shown = run("policies").stdout
    assert "factor=2.0" in shown
    assert "Refused: The policy “vpa”" in shown


def test_a_missing_file_is_refused_and_nothing_else_suffers(tmp_path):
    path = tmp_path / "gone.py"
    (refused,) = load_policies([path])
    assert "FileNotFoundError" in refused.why
    forget(str(path))


@pytest.mark.parametrize(
    ("group", "value", "name"),
    [
        ("phasedock.provisioning", "core.provisioning.policies.vpa:VPA", "vpa"),
        ("phasedock.scheduling", "core.scheduling.policies.las:POLICIES", "las"),
        ("phasedock.scheduling", "core.provisioning.policies.vpa:VPA", ""),
    ],
)
def test_packages_offer_policies_by_entry_points(monkeypatch, group, value, name):
    """What they name is loaded and examined; here it is taken already, or of the other sort."""
    point = EntryPoint("theirs", value, group)
    asked = {each: [point] if each == group else [] for each in plugins.GROUPS}
    monkeypatch.setattr(plugins, "entry_points", lambda group: asked[group])
    (refused,) = load_policies()
    assert refused.name == name
    assert ("taken" in refused.why) == bool(name)
    forget(f"{group}: theirs ({value})")


def test_the_digest_follows_the_sources(file, tmp_path):
    load_policies([file("POLICIES = (GOOD,)")])
    first = source_digest(PROVISIONING["outside"])
    wrapped = source_digest(policy("outside+conformal"))
    assert first == source_digest(PROVISIONING["outside"])
    forget(str(tmp_path / "mine.py"))
    load_policies([file("POLICIES = (GOOD,)\n# changed")])
    assert source_digest(PROVISIONING["outside"]) != first
    assert source_digest(policy("outside+conformal")) != wrapped
    assert source_digest(PROVISIONING["vpa"]) != source_digest(SCHEDULING["las"])
    assert len(source_digest(PROVISIONING["vpa"])) == 32
