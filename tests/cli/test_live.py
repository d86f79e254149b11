"""The command line watches, records and releases containers, without a worker; the demo stands for a host."""

import pytest

from tests.cli.test_cli import run, run_json


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
