"""The Phases page: lanes, minimum dwell time, one figure for one quantity, and files of what is shown."""

import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from plotly.utils import PlotlyJSONEncoder

from app.context import workspace
from app.pages.phases import naming
from app.pages.phases.executions import View, execution_heading, execution_timeline, offered_names
from app.pages.phases.page import details, dwell_picker, lanes_menu, layout, raw_button
from app.ui.nothing_yet import drift_notice
from app.ui.phases import list_executions
from core.phases.drift import MAX_STRANGE_SHARE
from core.traces.model import Feature, Role
from core.units import Unit, format_share
from tests.builders import small_traces

GPUS = (Feature("gpu0", Role.GPU, Unit.SHARE), Feature("gpu1", Role.GPU, Unit.SHARE))
FURTHER = (*GPUS, Feature("loss", Role.LOSS), Feature("net_in", Role.NETWORK_IN, Unit.BYTES_PER_SECOND))


def wide_traces():
    made = small_traces(3, samples=80)
    n, rng = made.n_samples, np.random.default_rng(4)
    columns = (rng.random(n), rng.random(n), rng.random(n), rng.random(n) * 5e6)
    return replace(made, features=(*made.features, *FURTHER), columns=(*made.columns, *columns))


@pytest.fixture
def traces(place):
    return place.traces.add(wide_traces(), None, name="with GPUs")


@pytest.fixture
def view(traces, model):
    return View.of(traces.id, model.id, {"lanes": "cpu,memory,gpu,network_in,loss", "dwell": "0"})


def saved(server, address):
    answer = server.test_client().get(address, base_url="http://127.0.0.1")
    assert answer.status_code == 200, answer.text
    return pd.read_csv(io.StringIO(answer.text))


def test_every_lane_is_drawn_and_offered_and_an_address_that_says_nothing_shows_the_usual_ones(
    view, traces, model
):
    name = wide_traces().ids[0]
    used = {line.name for line in execution_timeline(view, name).data if line.meta and "lane" in line.meta}
    assert {"CPU", "Memory", "GPU 0", "GPU 1", "Network in", "Loss"} <= used
    usual = View.of(traces.id, model.id, {})
    assert [lane.title for lane in usual.lanes] == ["CPU", "Memory", "GPU", "Loss"]
    assert "Network in" in str(lanes_menu(usual))
    shown = str(details(view)[0]) + str(details(view)[2])
    assert all(title in shown for title in ("GPU 1", "Network in"))
    assert "Loss" not in str(details(view)[0])


def test_an_execution_without_a_loss_has_no_lane_for_it(place, model):
    made = wide_traces()
    loss = made.column("loss").copy()
    loss[: made.offsets[1]] = np.nan
    columns = [loss if feature.name == "loss" else part
               for feature, part in zip(made.features, made.columns, strict=True)]  # fmt: skip
    stored = place.traces.add(replace(made, columns=tuple(columns)), None, name="one without loss")
    view = View.of(stored.id, model.id, {})
    assert "Loss" not in lanes_of(execution_timeline(view, made.ids[0]))
    assert "Loss" in lanes_of(execution_timeline(view, made.ids[1]))


def lanes_of(figure):
    return {line.meta["lane"] for line in figure.data if line.meta and "lane" in line.meta}


def test_the_time_of_day_is_beneath_the_elapsed_time_where_traces_have_dates(place, view, model):
    made = wide_traces()
    figure = execution_timeline(view, made.ids[0])
    began = datetime.fromtimestamp(made.time[0], UTC)
    assert figure.layout.meta["clock"] == made.time[0]
    assert figure.layout.xaxis.ticktext[0] == f"0<br>{began:%H:%M:%S}"
    plain = place.traces.add(replace(made, time=made.time - made.time[0]), None, name="from zero")
    undated = execution_timeline(View.of(plain.id, model.id, {}), made.ids[0])
    assert undated.layout.meta["clock"] is None
    assert undated.layout.xaxis.ticktext[0] == "0"
    assert "UTC" not in execution_heading(plain.id, made.ids[0]).note


def test_other_executions_are_drawn_from_their_own_beginnings(traces, model):
    made = wide_traces()
    first, second, third = made.ids
    view = View.of(traces.id, model.id, {"beside": f"{quote(second, safe='')},{third},gone"})
    figure = execution_timeline(view, first)
    drawn = {line.name: line for line in figure.data if line.name.startswith("Memory of ")}
    assert set(drawn) == {f"Memory of {second}", f"Memory of {third}"}
    part = slice(made.offsets[1], made.offsets[2])
    assert drawn[f"Memory of {second}"].x[0] == 0
    assert len(drawn[f"Memory of {second}"].x) == part.stop - part.start
    assert figure.layout.meta["full"][1] >= max(line.x[-1] for line in drawn.values())
    assert second in str(layout(traces=traces.id, model=model.id, beside=quote(second, safe="")))


def test_one_phase_has_one_share_everywhere(view):
    cards, spread, table = (str(part) for part in details(view))
    for each in view.labelling().statistics:
        if each.phase >= 0:
            share = format_share(each.share)
            assert f"{share} of time" in cards
            assert f"{share}  {each.samples:,}" in spread
            assert f"'{share}'" in table


def test_the_timelines_file_is_what_is_shown(server, place, traces, view):
    name = place.traces.load(traces.id).ids[1]
    execution = place.traces.execution(traces.id, name)
    elapsed = execution.time - execution.time[0]
    start, end = float(elapsed[10]), float(elapsed[20])
    address = f"/api/traces/{traces.id}/timeline/{view.model}.csv?execution={name}&x0={start}&x1={end}"
    table = saved(server, f"{address}&lanes=memory,gpu&dwell=100")
    assert table["execution"].unique().tolist() == [name]
    assert table["time_s"].tolist() == elapsed[10:21].tolist()
    memory = next(head for head in table.columns if head.startswith("Memory ("))
    size = {"GiB": 2**30, "MiB": 2**20}[memory[8:-1]]
    assert table[memory].to_numpy() == pytest.approx(execution.values(Role.MEMORY)[10:21] / size)
    assert table["GPU 1 (%)"].to_numpy() == pytest.approx(execution.column("gpu1")[10:21] * 100)
    assert not [head for head in table.columns if head.startswith(("CPU", "Network"))]
    found = place.labels.get(traces.id, view.model, 100)
    part = slice(int(found.offsets[1]) + 10, int(found.offsets[1]) + 21)
    assert table["phase_number"].tolist() == (found.labels[part] + 1).tolist()
    assert table["phase_number_as_labelled"].tolist() == (found.as_labelled[part] + 1).tolist()
    whole = saved(server, f"/api/traces/{traces.id}/timeline/{view.model}.csv")
    assert len(whole) == int(found.offsets[1])


def test_the_minimum_dwell_time_is_in_the_address_and_can_be_turned_off(place, traces, model):
    suggested = place.labels.default_dwell(traces.id, model.id)
    assert View.of(traces.id, model.id, {}).dwell == suggested
    assert View.of(traces.id, model.id, {"dwell": "0"}).dwell == 0
    assert View.of(traces.id, model.id, {"dwell": "nan"}).dwell == suggested
    smooth = View.of(traces.id, model.id, {"dwell": "95"})
    assert smooth.labelling().runs.seconds[smooth.labelling().runs.phase >= 0].min() >= 20
    assert "Segments ≥ 1 min 35 s" in str(dwell_picker(smooth))
    assert "Segments as labelled" in str(dwell_picker(smooth))
    assert "segments shorter than 1 min 35 s merged" in str(details(smooth)[2])


def test_raw_segments_are_one_click_away_where_segments_flicker(place, traces, model):
    suggested = place.labels.default_dwell(traces.id, model.id)
    smooth, raw = (raw_button(View.of(traces.id, model.id, query)) for query in ({}, {"dwell": "0"}))
    for button, pressed in ((smooth, "false"), (raw, "true")):
        props = button.to_plotly_json()["props"]
        assert props["disabled"] is (not suggested)
        assert props["data-smooth"] == f"{suggested:g}"
        assert props["aria-pressed"] == (pressed if suggested else "true")


def test_times_that_are_written_the_same_are_one_choice(view):
    # Mantine takes the page down where two options have one value
    near = replace(view, dwell=workspace().traces.get(view.traces).period * 2 + 1e-7)
    values = [each["value"] for each in dwell_picker(near).data]
    assert len(values) == len(set(values))
    assert f"{near.dwell:g}" in values


def test_published_models_are_shown_as_labelled(place, traces, model):
    published = place.models.add(replace(place.models.load(model.id), origin="ai4dl"), name="published")
    assert place.labels.default_dwell(traces.id, published.id) == 0


def test_a_model_from_other_data_warns_in_numbers_and_offers_to_train(place, traces, model):
    assert drift_notice(traces, model) is None
    made = wide_traces()
    other = place.traces.add(
        replace(made, columns=(made.columns[0], *(c * 50 for c in made.columns[1:])), period=made.period * 5),
        None,
        name="other",
    )
    said = str(drift_notice(other, model))
    assert "was trained on other data" in said
    assert "5.0 times as rarely" in said
    assert re.search(r"\d+\.\d% of samples are above the 99th percentile", said)
    assert "btn primary" in said
    assert "Train on this set" in said
    assert "Train on this set" in str(layout(traces=other.id, model=model.id))
    loaded = place.models.load(model.id)
    older = place.models.add(
        replace(loaded, training=replace(loaded.training, ranges=(), fingerprint="")), name="older"
    )
    near = replace(made, columns=tuple(column * 1.001 for column in made.columns))
    same = place.traces.add(near, None, name="near")
    assert "is not known" in str(drift_notice(same, older))
    assert "btn primary" not in str(drift_notice(same, older))


def test_a_model_that_cannot_read_these_traces_is_said_with_the_ways_out(place, model):
    made = small_traces(2)
    units = [replace(feature, unit=Unit.SHARE) for feature in made.features]
    odd = place.traces.add(replace(made, features=tuple(units)), None, name="odd")
    said = str(layout(traces=odd.id, model=model.id))
    assert "first does not fit odd." in said
    assert "Train on this set" in said
    assert "btn primary" in said


def test_the_heading_says_how_often_it_was_sampled(traces, sentence):
    made = wide_traces()
    heading = execution_heading(traces.id, made.ids[0])
    sentence(heading.note)


def test_a_phase_is_expanded_where_its_form_is(view):
    assert f"/models?traces={view.traces}&model={view.model}&expand=2" in str(details(view)[0])


def test_what_the_model_has_seen_nothing_like_is_said_in_the_list(place, traces, model):
    """An execution that does other things than the training is named, with the share of such samples."""
    own = list_executions(traces.id, model.id)
    assert {note.startswith("unfamiliar") for note in own.notes} == {False}
    loaded = place.traces.load(traces.id)
    part = slice(int(loaded.offsets[1]), int(loaded.offsets[2]))
    columns = tuple(values.copy() for values in loaded.columns)
    for values in columns[:2]:
        values[part] = values[part] * 9 + 5 * values.max()
    other = place.traces.add(replace(loaded, columns=columns), None, name="one is other")
    listed = list_executions(other.id, model.id)
    assert (listed.strange > MAX_STRANGE_SHARE).tolist() == [False, True, False]
    assert listed.notes[1].startswith(f"unfamiliar, {format_share(listed.strange[1])}")
    again = place.labels.strange_shares(other.id, model.id)
    assert again.tolist() == listed.strange.tolist()
    assert listed.find("", "strange")[0] == 1


def test_the_list_is_fetched_in_parts_that_are_searched_and_sorted_on_the_server(server, place, model):
    """The page of a thousand executions is as small as that of a few."""
    loaded = wide_traces()
    part = loaded.only(loaded.ids[:1])
    n, length = 1_000, part.n_samples
    many = place.traces.add(
        replace(
            part,
            ids=tuple(f"pod-{i}" for i in range(n)),
            columns=tuple(np.tile(values, n) for values in part.columns),
            time=np.tile(part.time, n),
            offsets=np.arange(n + 1) * length,
            attributes={name: values * n for name, values in part.attributes.items()},
        ),
        None,
        name="many",
    )
    page = json.dumps(layout(traces=many.id, model=model.id), cls=PlotlyJSONEncoder)
    assert page.count("pod-") < 300
    assert "pod-999" not in page

    def rows(**query):
        address = f"/api/traces/{many.id}/list/{model.id}.json"
        return server.test_client().get(address, query_string=query).get_json()

    found = rows(start=500, end=600, at="pod-7")
    assert [row["name"] for row in found["rows"]] == [f"pod-{i}" for i in range(500, 600)]
    assert (found["count"], found["at"]) == (n, 7)
    found = rows(start=0, end=10, find="POD-99", at="pod-7")
    assert (found["count"], found["at"]) == (11, -1)
    assert [row["name"] for row in rows(end=12, find="pod-99", order="name")["rows"]][:2] == [
        "pod-99",
        "pod-990",
    ]
    assert len(rows(start=0, end=n)["rows"]) < n
    assert offered_names([f"pod-{i}" for i in range(n)], ["pod-5"], "pod-77") == ["pod-5", "pod-77"] + [
        f"pod-77{i}" for i in range(10)
    ]


def test_a_given_name_is_shown_with_the_phases_number(place, view, model):
    place.models.name_phase(model.id, 1, "val <id>")
    figure = execution_timeline(view, wide_traces().ids[0])
    described = {phase: text for phase, _, _, text in figure.layout.meta["phases"]}
    assert described[1].startswith("val <id>: ")
    row = next(trace for trace in figure.data if trace.meta and trace.meta.get("names"))
    assert {run[5] for run in row.customdata if run[3] == 1} == {"val <id>"}
    assert {run[5] for run in row.customdata if run[3] != 1} == {""}
    assert set(row.text) <= {"<b>φ1</b>", "<b>φ2</b>", "<b>φ3</b>", "<b>val &lt;id&gt;</b>"}
    cards, spread, statistics = map(str, details(view))
    assert "φ2 val &lt;id&gt;" in spread
    assert "val <id>" in cards
    assert "val <id>" in statistics


def test_a_name_that_cannot_be_is_said_below_its_field(place, view, model, monkeypatch):
    said = {}
    monkeypatch.setattr(naming, "set_props", lambda id_, props: said.update({id_: props}))
    monkeypatch.setattr(naming, "notify", lambda *words, **_: said.update({"notice": words}))
    choice = {"traces": view.traces, "model": model.id}
    assert naming.save(1, None, "x" * 41, 0, choice) is naming.dash.no_update
    assert "40 characters" in said["phase-name"]["error"]
    assert naming.save(1, None, "validation", 0, choice) is not naming.dash.no_update
    assert place.models.get(model.id).phase_names == {0: "validation"}
    assert said["notice"][0] == "φ1 is called “validation”."
    assert naming.save(2, None, "", 0, choice) is not naming.dash.no_update
    assert place.models.get(model.id).phase_names == {}
