"""The page and the command line give the same phases, and names are harmless in what is saved."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from core.cli import offline_files as offline
from core.store import save_model
from tests.builders import small_traces, write_csv

if TYPE_CHECKING:
    from pathlib import Path

    from flask import Flask

    from core.application import Workspace
    from core.workspace.records import ModelInfo, TraceSetInfo


@pytest.fixture
def traces(place: Workspace) -> TraceSetInfo:
    made = small_traces(3, samples=60)
    return place.traces.add(replace(made, ids=("-1+1", "\x1b[2Jjob", *made.ids[2:])), None, name="set")


def saved(server: Flask, address: str) -> pd.DataFrame:
    answer = server.test_client().get(address, base_url="http://127.0.0.1")
    assert answer.status_code == 200
    return pd.read_csv(io.StringIO(answer.text))


def test_phases_of_the_page_are_those_of_the_command_line(
    server: Flask, place: Workspace, traces: TraceSetInfo, model: ModelInfo, tmp_path: Path
) -> None:
    table = saved(server, f"/api/traces/{traces.id}/phases/{model.id}.csv")
    assert list(table.columns) == ["execution", "time_s", "phase_number", "phase_number_as_labelled"]
    samples = place.traces.load(traces.id)
    assert table["time_s"].tolist() == samples.time.tolist()
    plain = write_csv(tmp_path / "t.csv", replace(samples, ids=("a", "b", "c")))
    said = offline.label(save_model(place.models.load(model.id), tmp_path / "m"), plain)
    assert [said[name] for name in "abc"] == [
        part["phase_number"].tolist() for _, part in table.groupby("execution", sort=False)
    ]


def test_phases_are_exported_by_the_numbers_on_the_screen_before_and_after_a_minimum_dwell_time(
    server: Flask, place: Workspace, traces: TraceSetInfo, model: ModelInfo
) -> None:
    address = f"/api/traces/{traces.id}/phases/{model.id}.csv"
    plain = place.labels.get(traces.id, model.id)
    table = saved(server, f"{address}?dwell=20&dwell=100")
    assert table["phase_number_as_labelled"].tolist() == (plain.labels + 1).tolist()
    assert table["phase_number"].tolist() == (place.labels.get(traces.id, model.id, 100).labels + 1).tolist()
    assert table["phase_number"].tolist() != table["phase_number_as_labelled"].tolist()
    assert (plain.labels == plain.as_labelled).all()
    numbers = saved(server, f"/api/traces/{traces.id}/statistics/{model.id}.csv")["phase_number"]
    assert set(numbers) == {*range(1, 4), 0}
    wrong = server.test_client().get(f"{address}?dwell=-1", base_url="http://127.0.0.1")
    assert wrong.status_code == 422


@pytest.mark.parametrize("what", ["executions.csv", "phases/{}.csv"])
def test_names_leave_as_texts(server: Flask, traces: TraceSetInfo, model: ModelInfo, what: str) -> None:
    table = saved(server, f"/api/traces/{traces.id}/{what.format(model.id)}")
    assert table["execution"].unique().tolist()[:2] == ["'-1+1", "job"]
