"""Exported manifests: an independent reader applies them to the traces and finds what was promised."""

import csv
import json
import shlex
import shutil
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml

from core.errors import InputError
from core.phases import predict
from core.provisioning.evaluation.evaluate import EvaluationSettings, evaluate
from core.provisioning.fleet import Resource, prepare
from core.provisioning.manifests import FORMATS, write
from core.provisioning.manifests.manifest_comments import About
from core.provisioning.manifests.vpa_manifest import kubernetes_name, quantity
from core.provisioning.verdict.verdict import KEEP, verdict
from core.provisioning.verdict.workload_evidence import smallest_amounts
from core.traces.model import SET_ROLES
from core.units import GIB, Unit
from tests.builders import small_model, small_traces

POLICIES = ("budget.oracle", "prev.step.max", "prev.step.rules", "static.p95", "static.peak")
SCHEMAS = Path(__file__).parent / "schemas"
AWKWARD = ("Spark ALS_large", "no", "1e3", "ü; $(reboot) `id`", "-" * 70, "a: b # c", "'", '"', "x" * 99)
UNITS = {"m": 1e-3, "Mi": 2.0**20}


def compared(traces, **more):
    return evaluate(traces, None, EvaluationSettings(cycle=60.0, draws=200, **more), POLICIES).report


def about(report):
    return About("Night batch\n# kubectl", None, "2026-03-04", report)


@pytest.fixture(scope="module")
def traces():
    return small_traces(40, samples=60)


@pytest.fixture(scope="module")
def report(traces):
    return compared(traces)


def amount(text):
    unit = next(unit for unit in UNITS if text.endswith(unit))
    return int(text.removesuffix(unit)) * UNITS[unit]


def documents_of(text):
    """What a YAML reader makes of it; the comment at the head is no document."""
    return [each for each in yaml.safe_load_all(text) if each is not None]


def evidence(comments):
    """The YAML after ``# evidence:``."""
    lines = [line.removeprefix("# ") for line in comments.splitlines() if line.startswith("#")]
    return yaml.safe_load("\n".join(lines[lines.index("evidence:") :]))["evidence"]


def applied(traces, resource, execution, limit):
    """One container under one limit, counted sample by sample: seconds short, by 5%, all, and times."""
    feature = {"cpu": 0, "memory": 1}[resource]
    at = traces.ids.index(execution)
    span = slice(int(traces.offsets[at]), int(traces.offsets[at + 1]))
    time, use = traces.time[span], traces.columns[feature][span]
    short, by_five, whole, times, before = 0.0, 0.0, 0.0, 0, False
    for i, used in enumerate(use):
        seconds = time[i + 1] - time[i] if i + 1 < len(use) else traces.period
        whole += seconds
        short += seconds * (used > limit)
        by_five += seconds * (used > 1.05 * limit)
        times += used > limit and not before
        before = used > limit
    return np.array([short, by_five, whole, times, times > 0])


def check_promises(traces, manifests):
    """Read each manifest, apply it to the containers it names, and compare with what its comments promise."""
    documents = manifests.split("\n---\n")[1:]
    for each in documents:
        said, manifest = evidence(each), yaml.safe_load(each)
        resources = manifest["spec"]["containers"][0]["resources"]
        assert resources["requests"] == resources["limits"]
        for resource, text in resources["requests"].items():
            promised = said[resource]
            assert amount(text) == pytest.approx(promised["request"])
            made_from = promised["made_from"]
            one = {"request": promised["request"], "held_out": made_from}
            folds = promised["folds"] if promised["tested"] else [one]
            assert sorted(name for fold in folds for name in fold["held_out"]) == sorted(made_from)
            assert max(fold["request"] for fold in folds) == promised["request"]
            short, by_five, whole, times, containers = sum(
                applied(traces, resource, name, fold["request"])
                for fold in folds
                for name in fold["held_out"]
            )
            all_short, _, all_whole, all_times, _ = sum(
                applied(traces, resource, name, amount(text)) for name in made_from
            )
            assert promised["on_all"]["under_time_0"] == pytest.approx(all_short / all_whole)
            assert promised["on_all"]["events"] == all_times
            assert promised["time_short_0"] == pytest.approx(short / whole)
            assert promised["time_short_05"] == pytest.approx(by_five / whole)
            assert (promised["events"], promised["containers_short"]) == (times, containers)
            assert promised["resizes_per_hour"] == 0
            assert promised["saved_per_container"] == pytest.approx(promised["now"] - promised["request"])
    return documents


def test_a_manifest_applied_to_the_traces_gives_what_it_promises(traces, report):
    text = write(verdict(report), about(report), "patch")
    documents = check_promises(traces, text)
    assert len(documents) == len(set(traces.attributes["workload"]))
    assert "\n# kubectl" not in text


def only_one_is_large(traces, feature):
    """One container of each workload needs ten times as much as the others, which tell nothing of it."""
    first = {traces.attributes["workload"].index(name) for name in traces.attributes["workload"]}
    owner = np.repeat([i in first for i in range(traces.n_executions)], np.diff(traces.offsets))
    columns = [
        np.where(owner, 10 * each, each) if i == feature else each for i, each in enumerate(traces.columns)
    ]
    return replace(traces, columns=tuple(columns))


def test_what_broke_its_promise_on_held_out_containers_is_not_exported(traces, refuses):
    apart = only_one_is_large(traces, 1)
    report = compared(apart)
    for each in check_promises(apart, write(verdict(report), about(report), "patch")):
        assert "# memory is left out: " in each
        assert "is not enough. On " in each
        assert set(yaml.safe_load(each)["spec"]["containers"][0]["resources"]["limits"]) == {"cpu"}
    report = compared(replace(apart, features=apart.features[1:], columns=apart.columns[1:]))
    with refuses(InputError):
        write(verdict(report), about(report), "patch")


def test_the_fixed_amount_is_enough_for_each_container_and_no_more_than_that(traces):
    demand = prepare(traces).demands[Resource.CPU]
    enough = smallest_amounts(demand.with_(censoring=None), 0.05, 0.1).amount
    for name, amount in zip(demand.fleet.ids, enough, strict=True):
        short, _, whole, *_ = applied(traces, "cpu", name, amount)
        assert short <= 0.05 * whole + 1e-9
        below, _, _, *_ = applied(traces, "cpu", name, np.nextafter(amount, 0))
        assert below > 0.05 * whole
    memory = prepare(traces).demands[Resource.MEMORY]
    peaks = [memory.values[a:b].max() for a, b in pairwise(memory.fleet.offsets)]
    np.testing.assert_allclose(smallest_amounts(memory, 0.05, 0.1).amount, np.array(peaks) * 1.1)


def test_the_promise_of_a_fixed_amount_is_kept_on_what_it_was_made_from(traces, report):
    for each in verdict(report).cards:
        for line in each.lines:
            names = line.fixed.evidence["made_from"]
            counted = sum(applied(traces, line.resource.value, name, line.fixed.amount) for name in names)
            assert counted[0] / counted[2] <= (0.05 if line.resource is Resource.CPU else 0.0)


def test_workloads_that_are_groups_are_said_to_be_untested(traces):
    report = compared(traces, group_by="workload", holdout=0.5)
    text = write(verdict(report), about(report), "patch")
    documents = check_promises(traces, text)
    untested = [each for each in documents if not evidence(each)["cpu"]["tested"]]
    assert untested
    for each in untested:
        assert "Nothing here is recommended as safe." in each
        assert "promise nothing" in each


def test_the_pinned_autoscaler_the_values_and_the_command_hold_the_same_amounts(report):
    found = verdict(report)
    patches = documents_of(write(found, about(report), "patch"))
    scalers = documents_of(write(found, about(report), "vpa"))
    commands = [
        line for line in write(found, about(report), "docker").splitlines() if line.startswith("docker")
    ]
    resources = [each["spec"]["containers"][0]["resources"] for each in patches]
    assert documents_of(write(found, about(report), "helm")) == [{"resources": each} for each in resources]
    assert len(patches) == len(scalers) == len(commands)
    for patch, scaler, command in zip(patches, scalers, commands, strict=True):
        amounts = patch["spec"]["containers"][0]["resources"]["requests"]
        (policy,) = scaler["spec"]["resourcePolicy"]["containerPolicies"]
        assert policy["minAllowed"] == policy["maxAllowed"] == amounts
        assert policy["containerName"] != "*"
        words = shlex.split(command)
        assert float(words[words.index("--cpus") + 1]) == pytest.approx(amount(amounts["cpu"]))
        assert ("--memory" in words) == ("memory" in amounts)
        if "memory" in amounts:
            assert words[words.index("--memory") + 1] == amounts["memory"].replace("Mi", "m")


@pytest.mark.parametrize(("style", "schema"), [("vpa", "vpa"), ("patch", "pod-resources")])
def test_manifests_are_valid(report, style, schema):
    check = jsonschema.Draft202012Validator(json.loads((SCHEMAS / f"{schema}.json").read_text()))
    for each in documents_of(write(verdict(report), about(report), style)):
        assert [error.message for error in check.iter_errors(each)] == []


@pytest.mark.parametrize("style", ["patch", "vpa", "docker"])
def test_nothing_is_exported_for_a_workload_without_a_name(traces, style, refuses):
    names = ["*", "", "nan", "real"]
    attributes = {"workload": [names[i % 4] for i in range(traces.n_executions)]}
    report = compared(replace(traces, attributes=attributes))
    text = write(verdict(report), about(report), style)
    assert "30 containers whose “workload” is missing" in text
    if style == "docker":
        assert [line.split()[-1] for line in text.splitlines() if line.startswith("docker")] == ["real"]
    else:
        assert [each["metadata"]["name"] for each in documents_of(text)] == ["real"]
    for without in ({}, {"workload": ["*"] * traces.n_executions}):
        bare = compared(replace(traces, attributes=without))
        with refuses(InputError):
            write(verdict(bare), about(bare), style)
        assert write(verdict(bare), about(bare), "json")


def test_tables_hold_every_way_of_every_workload(report):
    found = verdict(report)
    rows = json.loads(write(found, about(report), "json"))["workloads"]
    table = list(csv.DictReader(write(found, about(report), "csv").splitlines()))
    kept = sum(line.recommended.method == KEEP for card in found.cards for line in card.lines)
    assert len(rows) == len(table) == 2 * 2 * len(found.cards) + kept
    for resource in ("cpu", "memory"):
        for card in found.cards:
            mine = [row for row in rows if (row["workload"], row["resource"]) == (card.name, resource)]
            assert [row["recommended"] for row in mine].count(True) == 1
            settable = card.line(Resource(resource)).settable
            assert [row["exported"] for row in mine].count(True) == int(settable)
    assert {row["date"] for row in table} == {"2026-03-04"}


def least(runs, tolerance=0.05):
    """The least amount in steps of 0.01 that none of the runs exceeds for more than the tolerated share."""
    enough = []
    for values in runs:
        ordered = np.sort(values)[::-1]
        enough.append(ordered[int(np.floor(tolerance * len(ordered) + 1e-9))])
    return np.ceil(max(enough) * 100 - 1e-7) / 100


def test_the_amounts_by_phase_follow_the_rule_of_the_fixed_amount(traces):
    """Recomputed sample by sample: the tolerated share of each training container's time in the phase."""
    kept = [at for at, each in enumerate(traces.features) if each.role not in SET_ROLES]
    features, columns = ([part[at] for at in kept] for part in (traces.features, traces.columns))
    traces = replace(traces, features=tuple(features), columns=tuple(columns))  # whose use nothing bounds
    model = small_model(traces)
    report = evaluate(traces, model, EvaluationSettings(cycle=60.0, draws=200), ("prev.step.max",)).report
    found, labels, cpu = verdict(report), predict(model, traces), traces.columns[0]
    fold_of = {name: at for at, fold in enumerate(report["split"]["folds"]) for name in fold}
    assert len(found.cards) > 1
    for card in found.cards:
        parts = [
            (fold_of[traces.ids[i]], slice(int(traces.offsets[i]), int(traces.offsets[i + 1])))
            for i, workload in enumerate(traces.attributes["workload"])
            if workload == card.name
        ]
        by_phase = card.line(Resource.CPU).by_phase
        assert "φ1" in [each.name for each in by_phase]
        for each in by_phase:
            inside = [(fold, cpu[part][labels[part] == each.phase]) for fold, part in parts]
            inside = [(fold, values) for fold, values in inside if len(values)]
            assert each.made_from == len(inside)
            assert each.amount == pytest.approx(least(values for _, values in inside))
            judged = [
                values > least(others for its, others in inside if its != fold)
                for fold, values in inside
                if any(its != fold for its, _ in inside)
            ]
            assert each.tested == bool(judged)
            assert not judged or each.time_short == pytest.approx(np.concatenate(judged).mean())
        for each in card.line(Resource.MEMORY).by_phase:
            used = [traces.columns[1][part][labels[part] == each.phase] for _, part in parts]
            peak = max(values.max() for values in used if len(values))
            assert 0 <= each.amount - 1.1 * peak < 2**20
    text = write(found, about(report), "patch")
    assert "By phase, by the same rule: φ1 " in text
    named = write(verdict(report, phase_names={0: "validation"}), about(report), "patch")
    assert "By phase, by the same rule: φ1 validation " in named
    said = evidence(text.split("\n---\n")[1])["cpu"]["by_phase"]
    rows = list(csv.DictReader(write(found, about(report), "csv").splitlines()))
    cells = dict(part.rsplit(" ", 1) for part in rows[0]["by_phase"].split("; "))
    assert {name: float(value) for name, value in cells.items()} == pytest.approx(said)


def test_a_report_of_before_amounts_by_phase_still_has_a_verdict(report):
    older = json.loads(json.dumps(report))
    for part in older["resources"].values():
        for each in (part["workloads"]["everything"], *part["workloads"]["each"]):
            del each["phases"]
    assert verdict(older) == verdict(report)


def named(found, *names):
    """A verdict whose first workload has each of some names."""
    return replace(found, cards=tuple(replace(found.cards[0], name=name) for name in names))


def test_workloads_of_one_name_stay_apart(report):
    text = write(named(verdict(report), "a b", "a_b", "A b"), about(report), "vpa")
    assert [each["metadata"]["name"] for each in documents_of(text)] == ["a-b", "a-b-2", "a-b-3"]


@pytest.mark.parametrize(("style", "schema"), [("vpa", "vpa"), ("patch", "pod-resources")])
def test_manifests_of_awkward_names_are_valid(report, style, schema):
    check = jsonschema.Draft202012Validator(json.loads((SCHEMAS / f"{schema}.json").read_text()))
    found = documents_of(write(named(verdict(report), *AWKWARD), about(report), style))
    assert len({each["metadata"]["name"] for each in found}) == len(AWKWARD)
    for each in found:
        assert [error.message for error in check.iter_errors(each)] == []


def test_docker_commands_reach_docker_as_they_stand(report, tmp_path):
    """A shell runs the file with a `docker` that writes down its arguments."""
    log, fake, script = tmp_path / "log", tmp_path / "docker", tmp_path / "update.sh"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\t" "$@" >> {log}\necho >> {log}\n')
    fake.chmod(0o755)
    script.write_text(write(named(verdict(report), *AWKWARD), about(report), "docker"), encoding="utf-8")
    shell = shutil.which("sh")
    assert shell
    done = subprocess.run(
        [shell, "-eu", str(script)], env={"PATH": str(tmp_path)}, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    commands = [line.rstrip("\t").split("\t") for line in log.read_text().splitlines()]
    assert len(commands) == len(AWKWARD)
    for words in commands:
        assert words[0] == "update"
        assert set(words[1:-1:2]) <= {"--cpus", "--memory", "--memory-swap"}
        assert not words[-1].startswith("-")


def test_quantities_and_names():
    assert quantity(0.2501, Unit.CORES) == "251m"
    assert quantity(0.25, Unit.CORES) == "250m"
    assert quantity(GIB, Unit.BYTES) == "1024Mi"
    assert quantity(0.0, Unit.CORES) == "1m"
    assert kubernetes_name("Spark ALS_large / é") == "spark-als-large"
    assert kubernetes_name("§") == "group"
    assert len(kubernetes_name("x" * 99)) == 63


def test_formats_are_known_by_name(report, refuses):
    with refuses(InputError):
        write(verdict(report), about(report), "yaml")
    assert list(FORMATS) == ["patch", "vpa", "helm", "docker", "json", "csv"]
