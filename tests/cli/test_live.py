"""The command line watches, records and releases containers, without a worker; the demo stands for a host."""

import io
import time

import pytest
from rich.console import Console

from core.bootstrap import open_workspace, worker_for
from core.cli import live_output
from core.config import load_settings
from core.sampling.values import ContainerRow, EngineInfo, EngineState, LiveView
from tests.cli.test_cli import run, run_json
from tests.runtime.kinds_for_tests import until


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASEDOCK_HOME", str(tmp_path / "home"))


def test_what_containers_use_is_shown_as_a_table_and_as_json():
    shown = run("watch", "--engine", "demo", "--seconds", "0.5").stdout
    assert shown.lstrip().startswith("demo: ")
    assert "throttled" in shown
    assert "…" not in shown, "it fits a narrow terminal"
    seen = run_json("watch", "--engine", "demo")
    assert all(row["name"] in shown for row in seen["rows"])
    assert seen["engine"]["name"] == "demo"


def test_what_is_recorded_is_a_trace_set_and_a_name_that_is_not_there_is_refused():
    name = run_json("watch", "--engine", "demo")["rows"][0]["name"]
    shown = run("record", "evening", "--engine", "demo", "--seconds", "3", "--container", name).stdout
    assert shown.startswith("evening: 1 container, ")
    refused = run("record", "other", "--engine", "demo", "--seconds", "1", "--container", "nobody", code=1)
    assert "No container called “nobody” runs on demo." in refused.stderr
    assert "Nothing to restore" in run("release").stdout


@pytest.fixture
def worker():
    """A worker on the same home, as `phasedock serve` starts one."""
    workspace = open_workspace(load_settings())
    made = worker_for(workspace, threads=1)
    made.start()
    yield workspace
    made.stop()
    workspace.close()


def test_without_a_worker_nothing_is_attached_or_left_to_record():
    for command in (("attach", "flowcon", "--yes"), ("record", "night", "--background")):
        assert "phasedock serve" in run(*command, "--engine", "demo", code=1).stderr


def test_a_policy_is_attached_after_its_containers_were_named_and_detached_again(worker):
    names = [row["name"] for row in run_json("watch", "--engine", "demo")["rows"]]
    refused = run("attach", "flowcon", "--engine", "demo", answer="n\n", code=1)
    assert "watch, and change nothing" in refused.stdout
    assert [name for name in names if name in refused.stdout]
    assert "No policy is attached" in run("detach", "--engine", "demo", code=1).stderr
    assert "is attached to demo" in run("attach", "flowcon", "--engine", "demo", answer="y\n").stdout
    assert "already attached" in run("attach", "specon", "--engine", "demo", "--yes", code=1).stderr
    assert "is restored" in run("detach", "--engine", "demo").stdout


def test_a_wrong_policy_or_setting_attaches_nothing(worker):
    for wrong in (("nobody",), ("flowcon", "--set", "power=9"), ("flowcon", "--set", "tick")):
        assert run("attach", *wrong, "--engine", "demo", "--yes", code=1).stderr
    assert "No policy is attached" in run("detach", "--engine", "demo", code=1).stderr


def test_a_recording_runs_in_the_background_until_it_is_stopped(worker):
    assert "record --stop" in run("record", "night", "--background", "--engine", "demo").stdout
    again = run("record", "late", "--background", "--engine", "demo", code=1)
    assert "already running" in again.stderr
    until(lambda: worker.live.recordings and run_json("watch", "--engine", "demo")["recording"])
    time.sleep(3)
    assert run("record", "--stop", "--engine", "demo").stdout.startswith("night: ")
    assert "Nothing is being recorded" in run("record", "--stop", "--engine", "demo", code=1).stderr


def test_limits_are_set_by_hand_and_taken_back_step_by_step_to_the_original():
    row = next(row for row in run_json("watch", "--engine", "demo")["rows"] if row["cpu_limit"] is None)
    name, memory = row["name"], row["memory_limit"]
    limit = ("limit", name, "--engine", "demo")
    assert run(*limit, "--cpu", "2").stdout == f"{name}: CPU from no limit to 2.00 cores.\n"
    changed = run_json(*limit, "--memory", "4GiB")
    assert changed["after"] == {"cores": 2.0, "memory": 4 * 2**30}
    assert run_json("limit", row["id"][:12], "--engine", "demo", "--cpu", "0.5")["after"]["cores"] == 0.5
    back = [run_json(*limit, "--undo")["after"] for _ in range(3)]
    assert back == [
        {"cores": 2.0, "memory": 4 * 2**30},
        {"cores": 2.0, "memory": memory},
        {"cores": None, "memory": memory},
    ]
    assert "nothing to undo" in run(*limit, "--undo", code=1).stderr
    assert "Nothing to restore" in run("release").stdout
    run(*limit, "--cpu", "1")
    assert f"The limits of {name} are restored." in run("release").stdout


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--cpu", "many"), "is not a number of cores"),
        (("--memory", "4 loaves"), "is not a size"),
        (("--cpu", "99"), "is not possible here"),
        ((), "Either a limit or --undo is needed."),
        (("--cpu", "1", "--undo"), "Either a limit or --undo is needed."),
    ],
)
def test_a_limit_that_cannot_be_is_refused_in_a_sentence(options, why):
    name = run_json("watch", "--engine", "demo")["rows"][0]["name"]
    assert why in " ".join(run("limit", name, "--engine", "demo", *options, code=1).stderr.split())
    assert "No container called" in run("limit", "nobody", "--engine", "demo", "--cpu", "1", code=1).stderr


def test_watch_shows_how_containers_ended():
    ended = ContainerRow(
        "a" * 64, "trainer", state="exited", exit_code=137, kills=2, restarts=1, ended=1e9 - 65
    )
    again = ContainerRow("b" * 64, "looper", state="restarting", exit_code=3, restarts=7)
    fine = ContainerRow("c" * 64, "server", cpu=0.5)
    view = LiveView(EngineInfo("box", "", EngineState.READY), 1e9, (fine,), stopped=(ended, again))
    console = Console(width=160, file=io.StringIO())
    console.print(live_output._table(view))
    shown = " ".join(console.file.getvalue().split())
    assert "trainer: out of memory, exit 137, killed 2×, 1 restart, 1 min 05 s ago" in shown
    assert "looper: restarting, exit 3, 7 restarts 0 other containers" in shown
    assert "server:" not in shown
