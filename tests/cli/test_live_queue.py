"""Jobs from the shell: submitted, listed, put first, cancelled and removed; the demo stands for a host."""

import pytest

from tests.cli.test_cli import run, run_json


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASEDOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PHASEDOCK_DOCKER", f"here=unix://{tmp_path}/none.sock")


def test_a_job_goes_through_the_queue():
    assert "No jobs on demo." in run("queue", "--engine", "demo").stdout
    shown = run("submit", "--program", "mlp", "--engine", "demo", "--priority", "2").stdout
    assert shown.startswith("mlp waits on demo. No policy is attached to demo. Attach one in control")
    made = run_json("submit", "--program", "vae", "--engine", "demo", "--request", "0.5")
    assert (made["name"], made["state"], made["job"]["request"]) == ("vae", "waiting", 0.5)
    listed = run("queue", "--engine", "demo").stdout
    assert listed.count("No policy is attached") == 1, "what is the same of several jobs is said once"
    assert "mlp, vae: " in listed
    put_first = run_json("queue", "vae", "--priority", "9", "--engine", "demo")
    assert [(job["name"], job["priority"]) for job in put_first["jobs"]] == [("vae", 9)]
    assert run("cancel", "mlp", "--engine", "demo").stdout == "mlp is cancelled.\n"
    gone = run_json("cancel", "mlp", made["id"], "--remove", "--engine", "demo")
    assert [(job["name"], job["state"]) for job in gone["jobs"]] == [
        ("mlp", "cancelled"),
        ("vae", "cancelled"),
    ]
    assert run_json("queue", "--engine", "demo") == {"engine": "demo", "jobs": []}


def test_a_deadline_is_answered_before_it_is_submitted():
    asked = ("submit", "--program", "mlp", "--engine", "demo", "--deadline", "2h")
    said = run(*asked, "--ask").stdout
    assert said.startswith("Its speed is unknown: no job of this kind has run here.")
    assert "Deadline is not attached in control" in said
    found = run_json(*asked, "--ask")["outlook"]
    assert (found["known"], found["promised"], found["policy"], found["runs"]) == (
        False,
        False,
        "deadline",
        0,
    )
    assert run_json("queue", "--engine", "demo")["jobs"] == [], "asking submits nothing"
    made = run_json(*asked)
    assert made["state"] == "waiting"
    assert abs(made["outlook"]["deadline"] - made["job"]["deadline"]) < 5.0
    assert "mlp-2 waits on demo." in run(*asked).stdout
    listed = run("queue", "--engine", "demo").stdout
    assert listed.count("to be done by ") == 2
    assert "(in 1 h 59 min)" in listed or "(in 2 h 00 min)" in listed
    refused = run_json(*asked[:-1], "6", code=1)["error"]["message"]
    assert "deadline: “6” is not a time." in refused


def test_what_cannot_be_done_says_why():
    wrong = run_json("submit", "--image", "a b", "--request", "17", "--engine", "demo", code=1)["error"]
    assert "image: Write it as Docker does" in wrong["message"]
    assert "request: demo has 8.00 cores" in wrong["message"]
    assert "PHASEDOCK_CONTROL is off" in run("submit", "--program", "mlp", code=1).stderr
    assert "“nobody”" in run("cancel", "nobody", "--engine", "demo", code=1).stderr
    assert "“nobody”" in run("queue", "nobody", "--engine", "demo", code=1).stderr
    assert "--priority needs a job" in run("queue", "--priority", "3", "--engine", "demo", code=1).stderr
    assert "9" in run("submit", "--program", "mlp", "--priority", "12", "--engine", "demo", code=1).stderr
