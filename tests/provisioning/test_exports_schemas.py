"""Exported manifests against the published schemas, and exported commands as a shell reads them."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import yaml

from core.provisioning.fleet import Resource
from core.provisioning.recommendation.exports import Origin, export
from core.provisioning.recommendation.recommend import RecommendSettings, recommend
from core.units import Unit
from tests.builders import small_model, small_traces

SCHEMAS = Path(__file__).parent / "schemas"
ORIGIN = Origin("my model", "set: a\n---\nb", "2026-03-04")
AWKWARD = ("Spark ALS_large", "no", "1e3", "ü; $(reboot) `id`", "-" * 70, "a: b # c", "'", '"', "x" * 99)


@pytest.fixture(scope="module")
def rows():
    traces = small_traces(12, samples=80)
    model = small_model(traces)
    everybody = recommend(traces, model, RecommendSettings())
    awkward = [replace(row, group=group) for group in AWKWARD for row in everybody]
    return [*recommend(traces, model, RecommendSettings(group_by="workload")), *awkward]


def validator(name):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def documents(text):
    """What a YAML reader makes of it; the comment at the head is no document."""
    return [each for each in yaml.safe_load_all(text) if each is not None]


STYLES = {"vpa": "vpa", "patch": "pod-resources"}


@pytest.mark.parametrize("style", STYLES)
def test_every_document_is_valid_and_has_no_unknown_field(rows, style):
    found = documents(export(rows, ORIGIN, style))
    assert len(found) == len({row.group for row in rows})
    check = validator(STYLES[style])
    for each in found:
        assert [error.message for error in check.iter_errors(each)] == []
    names = [each["metadata"]["name"] for each in found]
    assert all(isinstance(name, str) for name in names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("only", list(Resource))
def test_one_resource_alone_is_valid_too(rows, style, only):
    alone = [row for row in rows if row.resource is only]
    check = validator(STYLES[style])
    for each in documents(export(alone, ORIGIN, style)):
        assert list(check.iter_errors(each)) == []


@pytest.mark.parametrize("style", STYLES)
def test_extreme_amounts_are_quantities(rows, style):
    tiny = [replace(row, request=0.0, limit=1e-12) for row in rows]
    huge = [replace(row, request=1e6 if row.unit is Unit.CORES else 1e15, limit=1e16) for row in rows]
    check = validator(STYLES[style])
    for each in documents(export([*tiny], ORIGIN, style)) + documents(export(huge, ORIGIN, style)):
        assert list(check.iter_errors(each)) == []


@pytest.mark.parametrize(
    ("style", "where", "wrong"),
    [
        ("vpa", ("spec", "updatePolicy", "updateMode"), "Sometimes"),
        ("vpa", ("spec", "resourcePolicy", "containerPolicies", 0, "maxAllowed", "cpu"), "2 cores"),
        ("vpa", ("spec", "resourcePolicy", "containerPolicies", 0, "limit"), {}),
        ("vpa", ("spec", "targetRef", "name"), None),
        ("patch", ("spec", "containers", 0, "resources", "limits", "memory"), "3 GiB"),
        ("patch", ("spec", "containers", 0, "resources", "limit"), {}),
        ("patch", ("metadata", "name"), "Spark ALS"),
    ],
)
def test_the_schemas_refuse_what_is_wrong(rows, style, where, wrong):
    document = documents(export(rows, ORIGIN, style))[0]
    part = document
    for key in where[:-1]:
        part = part[key]
    part[where[-1]] = wrong
    assert list(validator(STYLES[style]).iter_errors(document))


def test_requests_are_no_more_than_limits(rows):
    for each in documents(export(rows, ORIGIN, "patch")):
        resources = each["spec"]["containers"][0]["resources"]
        for name, unit in (("cpu", "m"), ("memory", "Mi")):
            asked, most = (int(resources[kind][name].removesuffix(unit)) for kind in ("requests", "limits"))
            assert asked <= most


def test_docker_commands_reach_docker_as_they_stand(rows, tmp_path):
    """A shell runs the file with a `docker` that writes down what it is given."""
    said = tmp_path / "said"
    fake = tmp_path / "docker"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\t" "$@" >> {said}\necho >> {said}\n')
    fake.chmod(0o755)
    script = tmp_path / "update.sh"
    script.write_text(export(rows, ORIGIN, "docker"), encoding="utf-8")
    shell = shutil.which("sh")
    assert shell
    done = subprocess.run(
        [shell, "-eu", str(script)], env={"PATH": str(tmp_path)}, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    lines = [line.rstrip("\t").split("\t") for line in said.read_text().splitlines()]
    assert len(lines) == len({row.group for row in rows})
    for words in lines:
        assert words[0] == "update"
        assert words[1:-1:2] == [
            "--cpus", "--cpu-shares", "--memory", "--memory-swap", "--memory-reservation"
        ]  # fmt: skip
        assert not words[-1].startswith("-")


def test_every_docker_command_says_what_its_placeholder_stands_for(rows):
    lines = export(rows, ORIGIN, "docker").splitlines()
    assert any("placeholder" in line for line in lines[:8])
    for number, line in enumerate(lines):
        if line.startswith("docker"):
            assert lines[number - 1].startswith(f"# in place of {line.split()[-1]}: ")
