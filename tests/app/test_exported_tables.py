"""Files have what the screen has, the command line gives the same phases, and names are harmless."""

import csv
import io
from dataclasses import replace

import pandas as pd
import pytest
from dash import html
from flask import url_for

from app.context import find_choice
from app.pages.provisioning import results
from app.ui import evaluations
from app.ui.tables import TABLES, browser_writer, column_definitions, grid_rows, html_table
from core.bootstrap import worker_for
from core.cli import offline_files as offline
from core.cli import output
from core.cli.output import terminal_table
from core.experiments.spec_reader import read_experiment
from core.files import save_model
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.tables import render_csv, safe_cell
from tests.app.provisioning.page_text import FEW
from tests.builders import SIX_JOBS, small_model, small_traces, write_csv


@pytest.fixture
def traces(place):
    made = small_traces(3, samples=60)
    return place.traces.add(replace(made, ids=("-1+1", "\x1b[2Jjob", *made.ids[2:])), None, name="set")


def saved(server, address):
    answer = server.test_client().get(address, base_url="http://127.0.0.1")
    assert answer.status_code == 200
    return pd.read_csv(io.StringIO(answer.text))


def saved_rows(server, address):
    answer = server.test_client().get(address, base_url="http://127.0.0.1")
    assert answer.status_code == 200, answer.text
    return list(csv.reader(io.StringIO(answer.text)))


def test_phases_of_the_page_are_those_of_the_command_line(server, place, traces, model, tmp_path):
    table = saved(server, f"/api/traces/{traces.id}/phases/{model.id}.csv")
    assert list(table.columns) == ["execution", "time_s", "phase_number", "phase_number_as_labelled"]
    samples = place.traces.load(traces.id)
    assert table["time_s"].tolist() == samples.time.tolist()
    plain = write_csv(tmp_path / "t.csv", replace(samples, ids=("a", "b", "c")))
    said, _ = offline.label(save_model(place.models.load(model.id), tmp_path / "m"), plain)
    assert [said[name] for name in "abc"] == [
        part["phase_number"].tolist() for _, part in table.groupby("execution", sort=False)
    ]


def test_phases_are_exported_by_the_numbers_on_the_screen_before_and_after_a_minimum_dwell_time(
    server, place, traces, model
):
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
def test_names_leave_as_texts(server, traces, model, what):
    table = saved(server, f"/api/traces/{traces.id}/{what.format(model.id)}")
    assert table["execution"].unique().tolist()[:2] == ["'-1+1", "job"]


@pytest.fixture
def places(place):
    """One thing of each kind that tables are of, by its name in routes."""
    samples = small_traces(8)
    traces = place.traces.add(samples, None, name="=set")
    model = place.models.add(small_model(samples), name="model", trace_set=traces)
    task = results.submit(find_choice(traces.id, model.id), EvaluationSettings(cycle=60.0, draws=100), FEW)
    worker_for(place).work(task)
    evaluation = evaluations.latest(find_choice(traces.id, model.id))
    assert evaluation is not None, place.tasks.get(task)
    task = place.runs.submit(read_experiment(SIX_JOBS))
    worker_for(place).work(task)
    experiment = str(place.tasks.get(task).params["experiment"])
    run = next(iter(next(iter(place.runs.experiment(experiment).runs.values())).values()))
    return {
        "trace_set_id": traces.id,
        "model_id": model.id,
        "evaluation_id": evaluation.id,
        "experiment": experiment,
        "run": run,
        "engine": next(iter(place.live.engines.names)),
    }


def parts(node):
    """A component and all within it."""
    if isinstance(node, list | tuple):
        for each in node:
            yield from parts(each)
    elif node is not None:
        yield node
        yield from parts(getattr(node, "children", None))


def words(node):
    return "".join(each for each in parts(node) if isinstance(each, str))


def table_texts(node):
    """The texts of a table of HTML, row by row, its heads first."""
    return [
        [words(cell) for cell in parts(row) if isinstance(cell, html.Th | html.Td)]
        for row in parts(node)
        if isinstance(row, html.Tr)
    ]


def test_every_table_says_the_same_in_each_of_its_renderers(server, places):
    rules = {rule.endpoint: rule for rule in server.url_map.iter_rules() if rule.endpoint in TABLES}
    assert rules.keys() == TABLES.keys()
    asked = {"pick": "node:0", "after": "0"}
    for endpoint, rule in rules.items():
        values = {name: places[name] for name in rule.arguments}
        path = url_for(endpoint, **values, **asked)
        with server.test_request_context(path):
            made = TABLES[endpoint](**values)
            table = replace(made, rows=list(made.rows)[:50])
        whole = [column.key for column in table.columns if column.title]
        texts = [[str(text) for text in table.texts(row)] for row in table.rows]

        file = list(csv.reader(io.StringIO("".join(render_csv(table)))))
        assert saved_rows(server, path)[: len(file)] == file, endpoint
        assert file[0] == [name for column in table.columns for name in column.parts or [column.key]], (
            endpoint
        )
        for row, cells in zip(table.rows, file[1:], strict=True):
            flat = [
                one
                for c, v in zip(table.columns, table.values(row), strict=True)
                for one in (([None] * len(c.parts) if v is None else v) if c.parts else [v])
            ]
            assert cells == ["" if one is None else str(safe_cell(one)) for one in flat], endpoint

        if not whole:
            continue
        heads = [column.title for column in table.titled]
        assert table_texts(html_table(table, "All")) == [heads, *texts], endpoint
        printed = terminal_table(table)
        assert [str(column.header) for column in printed.columns] == [output.plain(head) for head in heads]
        shown = [[*column.cells] for column in printed.columns]
        assert [list(row) for row in zip(*shown, strict=True)] == [
            list(map(output.plain, row)) for row in texts
        ]

        assert [each["field"] for each in column_definitions(table)] == whole, endpoint
        for row, values_of in zip(texts, grid_rows(table), strict=True):
            for column, text in zip(table.titled, row, strict=True):
                if browser_writer(column) is None:
                    found = values_of.get(f"{column.key}_text", values_of[column.key])
                    assert found is None or str(found) == text, endpoint
                else:
                    assert column.text(values_of[column.key]) == text, endpoint
