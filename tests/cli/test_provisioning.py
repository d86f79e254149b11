"""The command line compares policies and gives the verdict; what it writes can be recomputed by anyone."""

import json
import re

import pandas as pd
import pytest

from core.cli import main
from core.phases import PhaseSettings
from core.provisioning.evaluation.evaluate import EvaluationSettings, proposed_cycle
from core.settings_fields import describe
from tests.builders import small_traces, write_csv
from tests.cli.test_cli import RUNNER

POLICIES = "budget.oracle,prev.step.max,prev.step.rules,phase.rule,static.request"


def run(*arguments, code=0):
    result = RUNNER.invoke(main.app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def csv(tmp_path):
    path = write_csv(tmp_path / "jobs.csv", small_traces(8, samples=80))
    table = pd.read_csv(path)
    table["team"] = table["execution"].str.rsplit("-", n=1).str[0]
    table.to_csv(path, index=False)
    return path


@pytest.fixture
def model(tmp_path, csv):
    out = tmp_path / "model"
    run("model", "train", csv, "--epochs", 2, "--hidden", 4, "--phases", 3, "--seed", 7, "--out", out)
    return out


def test_allocations_give_the_figures_again(model, csv, tmp_path):
    out = tmp_path / "allocations.csv"
    said = run(
        "evaluate", model, csv, "--cycle", 100, "--group-by", "team", "--holdout", 0.5, "--seed", 3,
        "--policies", POLICIES, "--allocations", out, "--json"
    )  # fmt: skip
    report = json.loads(said.stdout)
    table = pd.read_csv(out)
    assert list(table.columns) == ["policy", "execution", "timestamp", "resource", "allocation", "demand"]
    assert set(table["execution"]) == set(report["split"]["held_out"])
    assert report["unavailable"][0]["policy"] == "static.request"
    assert {row["policy"] for row in report["results"]} == set(POLICIES.split(",")[:-1])
    for row in report["results"]:
        mine = table[(table["policy"] == row["policy"]) & (table["resource"] == row["resource"])]
        gap = mine["allocation"] - mine["demand"]
        assert row["over"] == pytest.approx(gap.clip(lower=0).sum() / mine["demand"].sum())
        assert row["under_time_0"] == pytest.approx((gap < 0).mean())
        assert row["under_time_05"] == pytest.approx((mine["demand"] > 1.05 * mine["allocation"]).mean())
        factor = pd.Series(dict.fromkeys(mine["execution"], 0.0))
        for fold, each in zip(report["split"]["folds"], row["matched"]["factors"], strict=True):
            factor[fold] = each
        matched = factor[mine["execution"]].to_numpy() * mine["allocation"] - mine["demand"]
        assert row["matched"]["over"] == pytest.approx(matched.clip(lower=0).sum() / mine["demand"].sum())
        assert {"slack", "under_amount", "oom_events", "resizes_per_hour", "worst_under_time"} <= set(row)
        assert {"prev.step.rules", "prev.step.max"} <= set(row["matched"]["against"])
        assert row["matched"]["against_best"]["base"] == report["best_reactive"][row["resource"]]


def test_a_comparison_without_a_reactive_rule_says_so(model, csv):
    shown = run("evaluate", model, csv, "--cycle", 100, "--policies", "phase.rule").stdout
    assert re.search(r"Phases: mean \+ 2·sd, as published +phase\.rule ", shown)
    assert "cpu; no reactive rule was compared" in shown
    assert "None" not in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--group-by", "planet"), "no column “planet”"),
        (("--cycle", "1e6"), "No execution is longer than one cycle"),
        (("--cycle", "0"), "Cycle (cycle) cannot be"),
        (("--policies", "best"), "no policy called “best”"),
        (("--holdout", "1"), "Held out (holdout) cannot be"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(model, csv, arguments, said):
    result = run("evaluate", model, csv, *arguments, "--json", code=1)
    assert said in json.loads(result.stdout)["error"]["message"]


def test_a_format_that_is_not_there_and_a_file_that_cannot_be_written(model, csv, tmp_path):
    assert (
        "no format “yaml”"
        in run(
            "verdict", model, csv, "--cycle", 100, "--policies", "prev.step.max", "--format", "yaml", code=1
        ).stderr
    )
    out = tmp_path / "missing" / "a.csv"
    result = run(
        "evaluate", model, csv, "--cycle", 100, "--policies", "prev.step.max", "--allocations", out, code=1
    )
    assert "cannot be written" in result.stderr.replace("\n", " ")


@pytest.fixture
def fast(model, csv, tmp_path):
    """A comparison that takes its settings from a file."""
    file = tmp_path / "settings.yaml"
    file.write_text(
        "comparison: {cycle: 90, tolerance: 0.1}\npolicies:\n  vpa: {margin: 0.3}\n  phase.rule: {kappa: 3}\n"
    )
    return ["evaluate", model, csv, "--settings", file, "--policies", "vpa,phase.rule", "--json"]


def test_settings_of_policies_come_from_a_file_and_from_the_command_line(fast):
    report = json.loads(run(*fast, "--cycle", 100, "--set", "vpa.margin=0.5").stdout)
    assert report["settings"]["cycle"] == 100.0  # the command line goes before the file
    assert report["settings"]["tolerance"] == 0.1
    assert report["settings"]["draws"] == EvaluationSettings().draws
    assert report["policy_settings"]["vpa"] == {
        "percentile": 0.9, "margin": 0.5, "growth": 0.05, "half_life": 0.0
    }  # fmt: skip
    assert report["policy_settings"]["phase.rule"]["kappa"] == 3.0
    plain = json.loads(run(*fast, "--cycle", 100, "--set", "vpa.margin=0.15").stdout)
    over = [
        next(row["over"] for row in each["results"] if row["policy"] == "vpa") for each in (plain, report)
    ]
    assert over[1] > over[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("vpa.margin=lots", "vpa: Margin (margin) cannot be “lots”."),
        ("vpa.colour=red", "vpa: There is no setting called “colour”."),
        ("margin=1", "“margin=1” is not of the form policy.setting=value."),
        ("event.tries=3", "There are settings for “event”, which is not compared."),
        ("nobody.at=1", "There is no policy called “nobody”."),
    ],
)
def test_a_setting_that_cannot_be_is_said(fast, change, said):
    assert json.loads(run(*fast, "--set", change, code=1).stdout)["error"]["message"] == said


def test_a_file_of_settings_with_something_else_in_it_is_said(fast, tmp_path, sentence):
    for text, said in (("cycle: 3", "cycle"), ("[1", "settings.yaml"), ("policies: [vpa]", "policies")):
        (tmp_path / "settings.yaml").write_text(text)
        assert said in json.loads(run(*fast, code=1).stdout)["error"]["message"]
    (tmp_path / "settings.yaml").unlink()
    sentence(json.loads(run(*fast, code=1).stdout)["error"]["message"])


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        (("model", "train"), PhaseSettings),
        (("evaluate",), EvaluationSettings),
        (("verdict",), EvaluationSettings),
    ],
)
def test_options_are_those_of_the_settings(command, settings):
    shown = " ".join(run(*command, "--help").stdout.replace("│", " ").split())
    for spec in describe(settings):
        assert f"--{spec.name.replace('_', '-')} " in shown
        assert spec.help.split()[0] in shown
    assert "Default: 0.05." in shown or settings is PhaseSettings


@pytest.mark.parametrize("style", ["json", "csv", "docker", "vpa", "patch"])
def test_the_verdict_is_written_in_every_format(model, csv, style):
    shown = run(
        "verdict", model, csv, "--format", style, "--cycle", 100, "--group-by", "team",
        "--policies", POLICIES,
        "--take", "cpu=prev.step.max", "--price", "core_hour=2", "--date", "2026-03-04"
    ).stdout  # fmt: skip
    for word in ("2026-03-04", "jobs.csv", "image-classifier"):
        assert word in shown
    assert ("prev.step.max" in shown) == (style in ("json", "csv"))


def test_the_commands_choose_the_cycle_as_the_page_does(model, csv):
    def cycle_of(*more):
        said = run("evaluate", model, csv, "--policies", "prev.step.max", *more, "--json")
        return json.loads(said.stdout)["settings"]["cycle"]

    table = pd.read_csv(csv)
    times = table.groupby("execution")["time"]
    period = float(times.diff().median())
    assert cycle_of() == proposed_cycle(period, float((times.max() - times.min()).median()) + period)
    assert cycle_of("--cycle", 90) == 90.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--take", "cpu=phasedock"), "“phasedock” is not compared"),
        (("--take", "gpu=vpa"), "no resource “gpu”"),
        (("--take", "vpa"), "“vpa” is not of the form name=value"),
        (("--price", "core_hour=-1"), "Price of a core-hour (core_hour) cannot be"),
        (("--format", "yaml"), "no format “yaml”"),
    ],
)
def test_what_the_verdict_cannot_be_is_said(model, csv, arguments, said):
    result = run("verdict", model, csv, "--cycle", 100, "--policies", POLICIES, *arguments, code=1)
    assert said in result.stderr.replace("\n", " ")


def test_the_verdict_of_traces_without_workloads_is_a_table_and_no_manifest(model, csv, sentence):
    given = ("verdict", model, csv, "--cycle", 100, "--policies", POLICIES)
    assert {row["workload"] for row in json.loads(run(*given).stdout)["workloads"]} == {""}
    sentence(run(*given, "--format", "patch", code=1).stderr.replace("\n", " "))
