"""The Sequences page without a browser: addresses, tables to take away, figures, and odd trace sets."""

import csv
import io
import json
from dataclasses import replace
from unittest.mock import ANY

import numpy as np
import pytest

from app.figures.sequences import Node, icicle, node_link
from app.main import create_app
from app.pages.sequences import page
from app.pages.sequences.cards import matrix_figure, next_view, tree_figure, tree_nodes
from app.pages.sequences.graph import elements
from app.pages.sequences.query import View, default_after, matching_executions, state_of, written
from app.pages.sequences.tables import edge_rows
from app.ui.links import Query
from core.errors import NotFoundError
from core.phases import PhaseSettings, fit
from core.sequences import END, Step, Warmup
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit
from tests.builders import small_model, small_traces


def node_json(node):
    """All texts of a piece of a page."""
    return json.dumps(node, default=lambda part: part.to_plotly_json(), ensure_ascii=False)


@pytest.fixture
def server(settings):
    return create_app(settings).server


def see(traces, model, **values):
    """What an address shows."""
    return View.read(Query("/sequences", {**values, "traces": traces, "model": model}))


def stock(server, traces, model=None):
    """Put a trace set and a model on the server, and look at them."""
    place = server.extensions["phasedock"]
    info = place.traces.add(traces, None, name="jobs")
    stored = place.models.add(model or small_model(traces), name="model", trace_set=info)
    with server.app_context():
        return see(info.id, stored.id)


@pytest.fixture
def view(server):
    return stock(server, small_traces(8, samples=80))


def level_traces(executions):
    """Executions whose CPU is as given; memory follows it."""
    lengths = [len(each) for each in executions]
    cpu = np.array([level for each in executions for level in each])
    return TraceSet(
        features=(Feature("cpu", Role.CPU, Unit.CORES), Feature("memory", Role.MEMORY, Unit.BYTES)),
        columns=(cpu, cpu * 2.0**30),
        time=np.concatenate([np.arange(length) * 10.0 for length in lengths]),
        ids=tuple(f"e{i}" for i in range(len(lengths))),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        period=10.0,
    )


def window_model(traces, phases=2):
    return fit(traces, PhaseSettings(encoder="window", history=2, phases=phases, seed=1))


def rows_of(server, view, name, **query):
    answer = server.test_client().get(
        f"/api/traces/{view.traces}/sequences/{view.model}/{name}.csv",
        query_string=query,
        base_url="http://127.0.0.1",
    )
    assert answer.status_code == 200, answer.text
    return list(csv.reader(io.StringIO(answer.text)))


def test_an_address_says_what_is_shown_and_nonsense_is_the_default(server, view):
    asked = {"memory": "3", "step": "sample", "warmup": "own", "hide": "0.30", "ahead": "5", "dwell": "40"}
    wrong = {"memory": "9", "step": "x", "warmup": "'", "hide": "-1", "ahead": "NaN", "dwell": "inf"}
    with server.app_context():
        said = see(view.traces, view.model, **asked)
        assert see(view.traces, view.model, **wrong) == replace(view, query=ANY)
    assert (said.memory, said.step, said.warmup, said.hide, said.ahead) == (
        3,
        Step.SAMPLE,
        Warmup.OWN,
        0.3,
        5,
    )
    assert said.dwell == 40
    assert state_of("2.4") == (2, 4)
    assert state_of("end") == (END,)
    assert state_of("x") == state_of(None) == ()
    assert state_of(written((0, END))) == (0, END)


def test_tables_to_take_away_hold_what_the_library_says(server, view):
    with server.app_context():
        analysis = view.analysis()
    paths = rows_of(server, view, "paths")
    assert [int(row[4]) for row in paths[1:]] == [path.count for path in analysis.paths]
    packed = rows_of(server, view, "executions")
    assert [row[0] for row in packed[1:]] == list(analysis.sequences.ids)
    assert sum(int(row[2]) for row in packed[1:]) == analysis.sequences.n_runs
    edges = rows_of(server, view, "transitions", memory="2", step="sample")
    assert sum(int(row[3]) for row in edges[1:]) == analysis.graph(2, Step.SAMPLE).visits.sum()
    tree = rows_of(server, view, "tree")
    assert [int(row[4]) for row in tree[1:]] == analysis.tree.count.tolist()
    first = str(analysis.sequences.phase[0])
    chances = [float(row[3]) for row in rows_of(server, view, "next", after=first)[1:] if row[0] == "next"]
    assert sum(chances) == pytest.approx(1.0)
    who = rows_of(server, view, "behind", pick=f"node:{first}")
    assert sum(int(row[1]) for row in who[1:]) == (analysis.sequences.phase == int(first)).sum()


@pytest.mark.parametrize(("name", "query", "status"), [("next", {}, 422), ("behind", {"pick": "no"}, 404)])
def test_what_cannot_be_taken_away_is_said(server, view, name, query, status):
    where = f"/api/traces/{view.traces}/sequences/{view.model}/{name}.csv"
    answer = server.test_client().get(where, query_string=query, base_url="http://127.0.0.1")
    assert answer.status_code == status
    assert set(answer.get_json()["error"]) == {"message", "hint"}


def test_every_pick_that_the_page_offers_has_executions_behind_it(server, view):
    with server.app_context():
        analysis = view.analysis()
        graph = analysis.graph(view.memory, view.step)
        drawn, _ = elements(graph, 0.0)
        picks = [each["data"]["pick"] for each in drawn] + [row["pick"] for row in edge_rows(graph)]
        picks += [f"path:{path.node}" for path in analysis.paths]
        picks += [f"tree:{node.number}" for node in tree_nodes(analysis.tree)]
        for pick in picks:
            assert len(matching_executions(view, pick).executions) > 0
        for pick in ("node:77x", "edge:0", "edge:0:1:2", "path:-1", "tree:999999", "", "other:1"):
            with pytest.raises(NotFoundError):
                matching_executions(view, pick)


@pytest.mark.parametrize("pick", ["tree:999999999", "node:nothing", "nonsense"])
def test_a_pick_that_points_nowhere_is_refused(server, view, pick, refuses):
    with server.app_context(), refuses(NotFoundError):
        page.list_executions(pick, "1", "run", {"traces": view.traces, "model": view.model})


def test_hidden_edges_are_counted(server, view):
    with server.app_context():
        graph = replace(view, dwell=0).analysis().graph(1)
        everything, note = elements(graph, 0.0)
        few, hidden = elements(graph, 0.5)
    assert note == ""
    assert sum("source" in each["data"] for each in everything) == len(graph.count)
    kept = sum("source" in each["data"] for each in few)
    assert kept == (graph.probability >= 0.5).sum()
    assert hidden == f"{len(graph.count) - kept:,} edges hidden"


def test_flicker_is_merged_as_on_phases_and_can_be_seen_as_labelled(server):
    made = small_traces(8, samples=80)
    with server.test_request_context():
        view = stock(server, made)
        plain = replace(view, dwell=0.0).analysis().sequences
        merged = replace(view, dwell=5 * made.period).analysis().sequences
        assert 0 < merged.n_runs < plain.n_runs
        labels = server.extensions["phasedock"].labels
        assert merged.n_runs == (labels.get(view.traces, view.model, 5 * made.period).runs.phase >= 0).sum()
        usual = labels.default_dwell(view.traces, view.model)
        assert see(view.traces, view.model).dwell == usual
        assert see(view.traces, view.model, dwell="0").dwell == 0
        said = node_json(page.layout(traces=view.traces, model=view.model, dwell=f"{5 * made.period:g}"))
        assert "segments shorter than 50 s merged" in said
        assert "As labelled" in said


def test_a_small_tree_is_nodes_and_links_and_a_big_one_an_icicle(server):
    small = level_traces([[0.1] * 6 + [3.0] * 6, [0.1] * 6, [3.0] * 8])
    seen = stock(server, small, window_model(small))
    with server.app_context():
        figure, note = tree_figure(seen)
    assert figure.data[0].type == "scatter"
    assert note == "number of executions"
    nodes = [
        Node(0, -1, 0, (), "all", 3),
        Node(1, 0, 1, (0,), "φ1", 2),
        Node(2, 0, 1, (1, 2), "(φ2·φ3)×n", 1),
    ]
    assert icicle(nodes).data[0].values == (3, 2, 1)
    assert {trace.mode for trace in node_link(nodes).data} == {"lines", "markers+text", "text"}


def test_one_phase_and_one_sample_after_warm_up(server):
    traces = level_traces([[1.0, 1.0, 1.0], [1.0, 1.0], [1.0]])
    busy = level_traces([[0.1] * 10 + [3.0] * 10])
    seen = stock(server, traces, window_model(busy))
    with server.app_context():
        said = node_json(page.layout(traces=seen.traces, model=seen.model))
        outlook = node_json(next_view(seen, default_after(seen.analysis(), 1)))
        assert [str(path) for path in seen.analysis().paths] == ["warm-up only", "φ1"]
    assert "2 distinct paths" in said
    assert "The execution ends" in outlook


def test_executions_shorter_than_the_warm_up_get_a_sentence(server):
    busy = level_traces([[0.1] * 10 + [3.0] * 10])
    seen = stock(server, level_traces([[1.0], [2.0, 2.0]]), window_model(busy))
    with server.app_context():
        said = node_json(page.layout(traces=seen.traces, model=seen.model))
    assert "Too short for sequences" in said
    assert "None of the 2 executions is longer than the warm-up" in said


def test_before_there_is_anything_the_page_says_what_to_do(server):
    with server.app_context():
        assert "No traces yet" in node_json(page.layout())
        server.extensions["phasedock"].traces.add(small_traces(2), None, name="jobs")
        said = node_json(page.layout())
    assert "No sequences yet" in said
    assert "A model is needed to label the 2 executions" in said


def test_a_model_that_does_not_fit_the_traces_gets_a_sentence(server, view):
    other = TraceSet(
        features=(Feature("queue"),),
        columns=(np.arange(30.0),),
        time=np.arange(30) * 10.0,
        ids=("e0",),
        offsets=np.array([0, 30]),
        period=10.0,
    )
    info = server.extensions["phasedock"].traces.add(other, None, name="queues")
    with server.app_context():
        said = node_json(page.layout(traces=info.id, model=view.model))
    assert "alert" in said
    assert "model does not fit queues. The model needs" in said
    assert "Continue without it" in said
    assert "inside PhaseDock" not in said


def test_names_that_people_gave_to_phases_are_in_tables_figures_and_sentences(server, view):
    place = server.extensions["phasedock"]
    with server.app_context():
        phase = view.analysis().sequences.phases[0]
        place.models.name_phase(view.model, phase, "val <id>")
        named = f"φ{phase + 1} val <id>"
        after = node_json(next_view(view, (phase,)))
        nodes = json.dumps(elements(view.analysis().graph(1), 0.1, view.phase_names())[0], ensure_ascii=False)
        drawn = [node_json(make(view)[0]) for make in (tree_figure, matrix_figure)]
        edge = next(
            row for row in edge_rows(view.analysis().graph(1), view.phase_names()) if "edge" in row["pick"]
        )
        title = matching_executions(view, edge["pick"]).title
        for table in ("paths", "transitions", "executions", "tree", "next"):
            rows = rows_of(server, view, table, after=written((phase,)))
            assert any(named in cell for row in rows for cell in row), table
    assert "val <id>" in after
    assert named in nodes
    assert all(f"φ{phase + 1} val &lt;id&gt;" in figure and "<id>" not in figure for figure in drawn)
    assert "val <id>" in title
