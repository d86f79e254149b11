"""The command line lists experiments, runs them, and replays what it ran."""

import numpy as np
import pytest

from core.bootstrap import open_workspace
from core.cli import offline_experiments as offline
from core.config import load_settings
from core.errors import InputError
from core.experiments.spec_reader import from_dict, read_experiment
from core.files.ledger import pack, unpack
from core.runs import bundled
from core.workspace.database_schema import LedgerRow
from tests.cli.test_cli import run, run_json
from tests.experiments.making import RANDOM, THREE


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASEDOCK_HOME", str(tmp_path / "home"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text(RANDOM, encoding="utf-8")
    return path


def test_the_bundled_experiments_are_listed_and_read_back():
    shown = run("experiments").stdout
    listed = run_json("experiments")["experiments"]
    assert [each["name"] for each in listed] == list(bundled.names())
    assert len(listed) == 21
    docker = [name for name in bundled.names() if name.startswith("docker-")]
    assert docker == list(bundled.names())[-9:]
    for name in bundled.names():
        assert name in shown
        made = bundled.load(name)
        assert from_dict(made.to_dict()) == made
        text = run("experiments", "--show", name).stdout
        assert read_experiment(text) == made
        assert any(source in text for source in ("section 6.", "Libutti", "ElasticFlow", "AI4DL"))
        if made.engine == "docker":
            assert len(made.seeds) == 5
            continue
        assert len(made.seeds) >= 30 or name == "flowcon-3-fixed" or name.startswith("deadlines-")
        assert "γ" in text
        assert "Demand cap" in text or "A cap is" in text
    assert run_json("experiments", "--show", "flowcon-3-fixed")["experiment"]["baseline"] == "NA"
    assert "flowcon-3-fixed" in run_json("experiments", "--show", "flowcon-4", code=1)["error"]["hint"]


def test_the_tables_of_alpha_and_itval_are_arms():
    labels = [arm.label for name in bundled.names() for arm in bundled.load(name).policies]
    assert not any("," in label for label in labels)  # --policies has commas between
    arms = bundled.load("flowcon-3-fixed").policies
    pairs = {(arm.settings["alpha"], arm.settings["itval"]) for arm in arms if arm.policy == "flowcon"}
    wanted = {(alpha, itval) for alpha in (0.05, 0.1) for itval in (20, 30, 40, 50, 60)}
    wanted |= {(alpha, itval) for alpha in (0.01, 0.03, 0.05, 0.1, 0.15) for itval in (20, 30)}
    assert pairs == wanted
    five = {tuple(arm.settings.values()) for arm in bundled.load("flowcon-5-random").policies[1:5]}
    assert five == {(alpha, itval) for alpha in (0.03, 0.05) for itval in (30, 60)}
    arms = bundled.load("specon-20-vae-random").policies
    spec = {(a.settings["alpha"], a.settings["interval"]) for a in arms if a.policy == "specon"}
    assert spec == {(0.05, 20), (0.05, 25), (0.05, 30), (0.01, 30), (0.1, 30)}


def test_an_experiment_is_run_and_replayed(file):
    report = run_json("simulate", file, "--seeds", 2)
    assert report["seeds"] == [5, 6]
    assert report["baseline"] == "fewest"
    assert [(each["label"], each["seed"]) for each in report["runs"]] == [
        ("fewest", 5), ("fewest", 6), ("specon", 5), ("specon", 6)
    ]  # fmt: skip
    for each in report["runs"]:
        times = [job["completion"] for job in each["jobs"]]
        assert each["mean"] == pytest.approx(np.mean(times))
        assert each["makespan"] == pytest.approx(
            max(job["ended"] for job in each["jobs"]) - min(job["arrived"] for job in each["jobs"])
        )
        assert each["t90"] == pytest.approx(np.mean([job["t90"] for job in each["jobs"]]))
        assert each["migrations"] == sum(job["migrations"] for job in each["jobs"])
    by_arm = {
        label: [r["mean"] for r in report["runs"] if r["label"] == label] for label in ("fewest", "specon")
    }
    change = np.mean(np.array(by_arm["specon"]) / by_arm["fewest"] - 1)
    found = report["policies"][1]["differences"]["mean"]
    assert found["value"] == pytest.approx(change)
    assert found["low"] <= found["value"] <= found["high"]
    kept = [each["run"] for each in report["runs"] if each["ticks"]]
    assert len(kept) == 2
    for each in kept:
        said = run_json("replay", each)
        assert said["equal"]
        assert said["ticks"] > 5
        assert "makes the same decisions" in run("replay", each).stdout
    again = run_json("simulate", file, "--seeds", 2)
    assert [each["run"] for each in again["runs"]] == [each["run"] for each in report["runs"]]
    shown = run("simulate", file, "--seeds", 2).stdout
    assert "specon" in shown
    assert f"phasedock replay {kept[0]}" in shown


def test_a_ledger_that_was_changed_is_found_out(file):
    report = run_json("simulate", file, "--seeds", 1)
    chosen = next(each["run"] for each in report["runs"] if each["policy"] == "fewest")
    workspace = open_workspace(load_settings())
    with workspace.database.write() as session:
        row = session.get(LedgerRow, (chosen, 0))
        entries = unpack(row.data)
        changed = [type(entries[0])(entries[0].observation, (), (), (), None), *entries[1:]]
        row.data = pack(changed)
    workspace.close()
    said = run_json("replay", chosen, code=1)
    assert not said["equal"]
    assert said["differences"][0]["tick"] == 0
    assert said["differences"][0]["recorded"] == []
    assert "decides differently at 1 of" in run("replay", chosen, code=1).stdout


def test_policies_baseline_and_fields_are_chosen(file):
    report = run_json("simulate", file, "--policies", "specon", "--seeds", 1, "--ledgers", "none")
    assert [row["label"] for row in report["policies"]] == ["fewest", "specon"]
    assert not any(each["ticks"] for each in report["runs"])
    report = run_json(
        "simulate", file, "--baseline", "specon", "--seeds", 1,
        "--set", "world.gamma=0.5", "--set", "kinds.GRU.work=[1, 2]",
        "--set", "workers=[{count: 3, cores: 8}]"
    )  # fmt: skip
    assert (report["world"]["gamma"], report["n_workers"], report["baseline"]) == (0.5, 3, "specon")
    assert report["policies"][1]["differences"] is None
    small = [job for job in report["runs"][0]["jobs"] if job["model"] == "GRU"]
    assert all(job["completion"] < 60 for job in small)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.yaml",), "neither a file nor a bundled experiment called “nowhere.yaml”"),
        (("flowcon-3-fixed", "--policies", "best"), "no policy labelled “best”"),
        (("flowcon-3-fixed", "--baseline", "best"), "no policy labelled “best”"),
        (("flowcon-3-fixed", "--seeds", "-1"), "--seeds cannot be -1"),
        (("flowcon-3-fixed", "--ledgers", "some"), "--ledgers cannot be “some”"),
        (("flowcon-3-fixed", "--set", "world.gamma"), "has no value"),
        (("flowcon-3-fixed", "--set", "moon.gamma=1"), "no field “moon.gamma”"),
        (("flowcon-3-fixed", "--set", "world.gama=1"), "--set world.gama: world has no field “gama”"),
        (("flowcon-3-fixed", "--set", "kinds.VAE.demand=3"), "demands 3 cores"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(arguments, said):
    assert said in run_json("simulate", *arguments, code=1)["error"]["message"]


def test_a_wrong_file_is_refused_with_its_line(tmp_path, sentence):
    path = tmp_path / "wrong.yaml"
    path.write_text(THREE.replace("at: 40 s", "at: 40 cores"), encoding="utf-8")
    said = run_json("simulate", path, code=1)["error"]
    assert said["message"].startswith("wrong.yaml: Line 11: Arrives at (at) cannot be in “cores”")
    path.write_bytes(b"\xff\xfe\x00\x01")
    sentence(run_json("simulate", path, code=1)["error"]["message"])
    assert "no run" in run_json("replay", "0" * 16, code=1)["error"]["message"]


def test_a_policys_settings_are_set_by_its_label_or_its_name():
    made = offline.choose_experiment("flowcon-3-fixed", changes=["flowcon.beta=3", "world.gamma=0.01"])
    arms = [arm for arm in made.policies if arm.policy == "flowcon"]
    assert len(arms) > 1
    assert {arm.settings["beta"] for arm in arms} == {3.0}
    assert made.world.gamma == 0.01
    one = offline.choose_experiment("flowcon-3-fixed", changes=[f"{arms[0].label}.alpha=0.2"])
    assert [arm.label for arm in one.policies if arm.settings.get("alpha") == 0.2] == [arms[0].label]


@pytest.mark.parametrize("change", ["flowcon.alpha=9", "flowcon.colour=1", "nobody.alpha=1", "alpha"])
def test_what_a_policy_has_not_cannot_be_set(change):
    with pytest.raises(InputError):
        offline.choose_experiment("flowcon-3-fixed", changes=[change])


def test_what_a_queue_does_is_said_where_somebody_waits(tmp_path):
    text = (
        "version: 1\nname: Queue\nworkers: {cores: 4}\nkinds:\n  a: {work: [40, 60], request: 3, min: 1}\n"
        "drawn: {count: 4}\nseeds: 2\npolicies:\n"
        "  - free\n  - {policy: elastic, label: static, settings: {admission: strict, reassign: none}}\n"
    )
    path = tmp_path / "queue.yaml"
    path.write_text(text, encoding="utf-8")
    report = run_json("simulate", path)
    free, static = report["policies"]
    assert free["measures"]["waiting"] == 0.0
    assert static["measures"]["waiting"] > 10
    assert static["measures"]["jobs_per_hour"] < free["measures"]["jobs_per_hour"]
    found = static["differences"]["waiting"]
    assert found["value"] is None
    assert found["seconds_low"] <= found["seconds"] == pytest.approx(static["measures"]["waiting"])
    run_of = next(each for each in report["runs"] if each["label"] == "static")
    waits = [job["waiting"] for job in run_of["jobs"]]
    assert run_of["waiting"] == pytest.approx(np.mean(waits))
    shown = run("simulate", path).stdout
    assert "waiting" in shown
    assert "jobs/h" in shown
    assert f"+{found['seconds']:.1f} s" in shown
    assert "refused" not in shown
    assert "waiting" not in run("simulate", path, "--policies", "free").stdout
