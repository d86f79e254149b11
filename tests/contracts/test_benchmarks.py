"""`make bench` says what it measured, and what it could not."""

import json
import shutil

from benchmarks import __main__ as bench


def test_a_group_that_cannot_run_is_said_and_written_down(tmp_path, monkeypatch, capsys, sentence):
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    bench.main(("timeline",))
    assert capsys.readouterr().out.rstrip().endswith("NOT RUN: timeline")
    written = json.loads((tmp_path / "results.json").read_text())
    assert written["rows"] == []
    sentence(written["not_run"]["timeline"])
