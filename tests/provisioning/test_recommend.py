"""Recommendations: what they are made from, and exports that their readers take."""

from __future__ import annotations

import csv
import json
import shlex
from dataclasses import replace

import numpy as np
import pytest

from core.errors import InputError
from core.phases import predict
from core.provisioning.fleet import Resource
from core.provisioning.recommendation.exports import FORMATS, Origin, export, kubernetes_name, quantity
from core.provisioning.recommendation.recommend import RecommendSettings, recommend
from core.traces.model import Feature
from core.units import GIB, Unit
from tests.builders import small_model, small_traces

ORIGIN = Origin("my model\n# kubectl", "set", "2026-03-04")


@pytest.fixture(scope="module")
def traces():
    return small_traces(12, samples=80)


@pytest.fixture(scope="module")
def model(traces):
    return small_model(traces)


@pytest.fixture(scope="module")
def rows(traces, model):
    return recommend(traces, model, RecommendSettings(group_by="workload"))


def document(text):
    """A reader of the part of YAML that is written: mappings, lists and JSON scalars in block style."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]

    def block(at, indent):
        found = [] if lines[at].lstrip().startswith("- ") else {}
        while at < len(lines):
            depth = len(lines[at]) - len(lines[at].lstrip())
            if depth < indent:
                break
            assert depth == indent, lines[at]
            if isinstance(found, list):
                rest = lines[at].lstrip()[2:]
                if ": " in rest or rest.endswith(":"):
                    lines[at] = " " * (indent + 2) + rest
                    value, at = block(at, indent + 2)
                else:
                    value, at = json.loads(rest), at + 1
                found.append(value)
                continue
            key, _, rest = lines[at].strip().partition(":")
            assert key not in found
            if rest.strip():
                found[key], at = json.loads(rest), at + 1
            else:
                found[key], at = block(at + 1, len(lines[at + 1]) - len(lines[at + 1].lstrip()))
        return found, at

    return block(0, 0)[0]


def documents(text):
    head, *rest = text.split("\n---\n")
    assert all(line.startswith("#") for line in head.splitlines())
    return [document(each) for each in rest]


def test_requests_are_quantiles_of_the_samples(traces, model, rows):
    labels, cpu = predict(model, traces), traces.columns[0]
    group = np.repeat(traces.attributes["workload"], np.diff(traces.offsets))
    for row in rows:
        if row.resource is not Resource.CPU:
            continue
        mine = (group == row.group) & ((labels == row.phase) if row.phase is not None else True)
        assert row.samples == mine.sum()
        level = np.quantile(cpu[mine], 0.95)
        assert level - 1e-9 <= row.request <= level + 0.0101
        assert row.limit >= 1.1 * cpu[mine].max() - 1e-9
        given = traces.columns[2][mine].mean()
        assert row.saving == pytest.approx(given - row.request)
        assert 0 <= row.expected_violation <= 1
        assert f"{row.samples:,} samples" in row.reason


def test_every_group_has_its_whole_life_first(rows, traces):
    for group in set(traces.attributes["workload"]):
        mine = [row for row in rows if row.group == group]
        assert [row.resource for row in mine if row.phase is None] == [Resource.CPU, Resource.MEMORY]
        assert mine[0].phase is None
        parts = sum(row.samples for row in mine if row.resource is Resource.CPU and row.phase is not None)
        assert parts == mine[0].samples


def test_the_expected_violation_is_of_containers_left_out(model):
    """Containers of very different size: those left out exceed by far more than 5% of the time."""
    traces = small_traces(12, samples=80)
    scale = np.repeat(2.0 ** np.arange(12), np.diff(traces.offsets))
    apart = replace(traces, columns=(traces.columns[0] * scale, *traces.columns[1:]))
    row = recommend(apart, small_model(apart))[0]
    assert row.expected_violation > 0.05
    alone = recommend(traces.only(traces.ids[:1]), model)[0]
    assert alone.expected_violation <= 0.05
    assert "this one container itself" in alone.reason


@pytest.mark.parametrize("style", FORMATS)
def test_every_export_says_its_origin(rows, style):
    text = export(rows, ORIGIN, style)
    assert "2026-03-04" in text
    assert "set" in text
    assert "\n# kubectl" not in text or style == "csv"


def test_json_and_csv_hold_everything(rows):
    data = json.loads(export(rows, ORIGIN, "json"))
    assert data["comment"] == {"model": ORIGIN.model, "traces": "set", "date": "2026-03-04"}
    assert len(data["recommendations"]) == len(rows)
    table = list(csv.DictReader(export(rows, ORIGIN, "csv").splitlines(keepends=True)))
    assert [float(each["request"]) for each in table] == [row.request for row in rows]
    called = {("all phases", ""), ("warm-up", "0"), ("φ1", "1"), ("φ2", "2"), ("φ3", "3")}
    assert {(each["phase"], each["phase_number"]) for each in table} <= called
    assert {each["phase"] for each in data["recommendations"]} == {each["phase"] for each in table}
    formula = [replace(row, group="=1+1") for row in rows[:1]]
    assert export(formula, ORIGIN, "csv").splitlines()[1].startswith("'=1+1")


def test_docker_commands_are_commands(rows, traces):
    lines = export(rows, ORIGIN, "docker").splitlines()
    commands = [shlex.split(line) for line in lines if line and not line.startswith("#")]
    assert len(commands) == len(set(traces.attributes["workload"]))
    for words in commands:
        assert words[:2] == ["docker", "update"]
        options = dict(zip(words[2:-1:2], words[3:-1:2], strict=True))
        assert set(options) == {"--cpus", "--cpu-shares", "--memory", "--memory-swap", "--memory-reservation"}
        assert float(options["--cpus"]) > 0
        assert int(options["--memory"][:-1]) >= int(options["--memory-reservation"][:-1]) >= 6
    hostile = [replace(row, group="a; rm -rf /\nnext") for row in rows[:1]]
    last = export(hostile, ORIGIN, "docker").splitlines()[-1]
    assert shlex.split(last)[-1] == "a-rm--rf-next"


def test_vpa_manifests_have_the_published_fields(rows):
    for each in documents(export(rows, ORIGIN, "vpa")):
        assert each["apiVersion"] == "autoscaling.k8s.io/v1"
        assert each["kind"] == "VerticalPodAutoscaler"
        assert set(each["spec"]) == {"targetRef", "updatePolicy", "resourcePolicy"}
        assert set(each["spec"]["targetRef"]) == {"apiVersion", "kind", "name"}
        assert each["spec"]["updatePolicy"]["updateMode"] in {"Off", "Initial", "Recreate", "Auto"}
        (policy,) = each["spec"]["resourcePolicy"]["containerPolicies"]
        assert policy["controlledValues"] in {"RequestsAndLimits", "RequestsOnly"}
        assert set(policy["controlledResources"]) == {"cpu", "memory"}
        for name, unit in (("cpu", "m"), ("memory", "Mi")):
            low, high = policy["minAllowed"][name], policy["maxAllowed"][name]
            assert low.endswith(unit)
            assert int(low.removesuffix(unit)) <= int(high.removesuffix(unit))


def test_patches_are_of_pods(rows):
    found = documents(export(rows, ORIGIN, "patch"))
    assert len({each["metadata"]["name"] for each in found}) == 4
    for each in found:
        (container,) = each["spec"]["containers"]
        assert set(container["resources"]) == {"requests", "limits"}
        assert container["resources"]["requests"]["cpu"].endswith("m")


def test_groups_of_one_name_stay_apart(rows):
    alike = [replace(row, group=group) for group in ("a b", "a_b", "A b") for row in rows[:2]]
    names = [each["metadata"]["name"] for each in documents(export(alike, ORIGIN, "vpa"))]
    assert names == ["a-b", "a-b-2", "a-b-3"]


def test_shares_of_unknown_machines_are_not_exported(traces, model):
    rows = [replace(row, unit=Unit.SHARE) for row in recommend(traces, model) if row.resource is Resource.CPU]
    with pytest.raises(InputError, match="shares of a machine of unknown size"):
        export(rows, ORIGIN, "docker")
    memory = [row for row in recommend(traces, model) if row.resource is Resource.MEMORY]
    text = export([*rows, *memory], ORIGIN, "docker")
    assert "# cpu is left out" in text
    assert "--cpus" not in text


def test_quantities_and_names():
    assert quantity(0.2501, Unit.CORES) == "251m"
    assert quantity(0.25, Unit.CORES) == "250m"
    assert quantity(GIB, Unit.BYTES) == "1024Mi"
    assert quantity(0.0, Unit.CORES) == "1m"
    assert kubernetes_name("Spark ALS_large / é") == "spark-als-large"
    assert kubernetes_name("§") == "group"
    assert len(kubernetes_name("x" * 99)) == 63


def test_wishes_that_cannot_be(traces, model):
    with pytest.raises(InputError, match="no column “planet”"):
        recommend(traces, model, RecommendSettings(group_by="planet"))
    with pytest.raises(InputError, match="no format “yaml”"):
        export((), ORIGIN, "yaml")
    bare = replace(traces, features=tuple(replace(f, name=f"x{i}") for i, f in enumerate(traces.features)))
    renamed = replace(bare, features=(Feature("a"), *bare.features[1:]))
    with pytest.raises(InputError):
        recommend(renamed, model)
