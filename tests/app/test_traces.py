"""The Traces page without a browser: forms to mappings, reports, lists, and what a failed import says."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import pytest

from app.pages.traces import import_card, mapping, page
from app.pages.traces.import_card import problem_table, summary
from app.pages.traces.listing import View, found_sets, set_list
from app.pages.traces.mapping import miniatures
from app.pages.traces.mapping_form import marks, recognised
from app.pages.traces.mapping_values import (
    FIELDS,
    NOTHING,
    answered,
    mapping_of,
    needs_machine,
    open_questions,
    suggested,
)
from app.pages.traces.page import PICKED, waiting_uploads
from app.ui.links import Query
from app.ui.phases import titles
from core.bootstrap import worker_for
from core.errors import InputError
from core.reading.formats.docker import FACTS
from core.reading.layouts import recognise_layout
from core.reading.mapping import INTERVAL, ColumnMapping, MappedColumn
from core.traces.model import Resampling, Role
from core.traces.validation import KINDS, Report, problem
from core.units import GIB
from tests.app.test_mapping_roles import parts
from tests.app.test_sequences import level_traces
from tests.builders import small_traces

HEADERS = {
    "ai4dl": "pod.id,service,timestamp,cpu.usage,cpu.usage.cores,mem.current,mem.limit",
    "recorder": "execution,timestamp,cpu_cores,memory_bytes,cpu_limit_cores,memory_limit_bytes,loss,workload",
    "batch_jobs": "execution,timestamp,cpu,mem,cpu_iowait,disk_read,disk_write,workload",
    "alibaba": "container_id,machine_id,time_stamp,cpu_util_percent,mem_util_percent,cpi",
    "docker_stats": "name,cpu_percent,memory_bytes,memory_limit_bytes,pids",
    "generic": "when,cpu %,mem MiB,node",
}
TEXTS = {"pod.id", "service", "execution", "workload", "container_id", "machine_id", "name", "node"}


class Inspected:
    """What an inspection says of a table of one row."""

    def __init__(self, header):
        names = tuple(header.split(","))
        row = tuple("a" if name in TEXTS else "1.5" for name in names)
        found = recognise_layout(
            names, (row, row), facts=FACTS if header == HEADERS["docker_stats"] else None
        )
        self.mapping: ColumnMapping | None = found.mapping
        self.label, self.reasons, self.layout = found.label, found.reasons, found.layout
        self.names = names


def as_json(node):
    """All texts of a piece of a page."""
    return json.dumps(node, default=lambda part: part.to_plotly_json(), ensure_ascii=False)


@pytest.mark.parametrize("layout", HEADERS)
def test_the_untouched_form_says_what_was_recognised(layout):
    found = Inspected(HEADERS[layout])
    assert found.layout == layout
    assert found.mapping is not None
    values = suggested(found.mapping)
    assert set(values) == set(FIELDS)
    made = mapping_of(values, found.mapping)
    assert set(made.features) == set(found.mapping.features)
    again = made.to_dict() | {"features": []}
    assert again == found.mapping.to_dict() | {"features": []}


def form(**changes):
    values = {
        "execution": "run",
        "execution_parts": [],
        "time": "t",
        "time_unit": "ms",
        "cpu": "c",
        "cpu_unit": "percent_of_machine",
        "memory": "m",
        "memory_unit": "mib",
        "features": ["x"],
        "attributes": ["w"],
        "period": "",
        "resampling": "mean",
        "max_gap": 3,
        "cores": 8,
        "memory_gib": 2,
        "answers": {},
    }
    return values | changes


def test_a_filled_form_becomes_a_mapping():
    suggestion = ColumnMapping((MappedColumn("x", Role.CPU_LIMIT, "cores"),))
    made = mapping_of(form(), suggestion)
    assert made == ColumnMapping(
        features=(
            MappedColumn("c", Role.CPU, "percent_of_machine"),
            MappedColumn("m", Role.MEMORY, "mib"),
            MappedColumn("x", Role.CPU_LIMIT, "cores"),
        ),
        execution="run",
        time="t",
        time_unit="ms",
        resampling=Resampling.MEAN,
        attributes=("w",),
        cores=8.0,
        memory_bytes=2 * GIB,
    )


def test_without_time_it_is_asked_how_far_apart_rows_are():
    made = mapping_of(form(time=NOTHING), None)
    assert (made.time, made.time_unit, made.period) == (None, "none", None)
    assert made.unknown[-1] == INTERVAL
    (asked,) = (one for one in open_questions(made, SimpleNamespace(questions=())) if one.column == INTERVAL)
    answer = answered("interval", INTERVAL, asked.choices[3], form(time=NOTHING), None)
    assert mapping_of(form(time=NOTHING, **answer), None).unknown == ()
    assert mapping_of(form(time=NOTHING, period=5), None).period == 5.0


def test_a_column_that_was_cpu_and_is_no_longer_is_a_plain_feature():
    suggestion = ColumnMapping((MappedColumn("x", Role.CPU, "millicores"),))
    assert mapping_of(form(), suggestion).features[2] == MappedColumn("x", Role.OTHER, "millicores")


@pytest.mark.parametrize(
    "changes",
    [
        {"memory": "c"},
        {"features": ["t"]},
        {"cpu": NOTHING, "memory": NOTHING, "features": []},
        {"period": 0},
        {"max_gap": 0},
        {"cores": 0},
        {"memory_gib": 0},
    ],
)
def test_what_cannot_be_is_said(changes, refuses):
    with refuses(InputError):
        mapping_of(form(**changes), None)


def test_the_machine_is_asked_for_only_where_there_is_a_share():
    assert needs_machine(form()) == (True, False)
    assert needs_machine(form(cpu=NOTHING, memory_unit="share_of_machine")) == (False, True)


def test_columns_are_marked_by_what_they_stand_for():
    assert marks(form()) == {
        "run": "execution",
        "t": "time",
        "c": "CPU",
        "m": "memory",
        "x": "feature",
        "w": "attribute",
    }
    assert marks(form(time=NOTHING, memory=NOTHING)).keys() == {"run", "c", "x", "w"}


def test_the_layout_is_named():
    assert "Recognised as AI4DL. " in as_json(recognised(Inspected(HEADERS["ai4dl"])))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.csv", "a"), ("a.CSV.gz", "a"), ("b.c.parquet", "b.c"), (".csv", ".csv"), ("plain", "plain")],
)
def test_a_set_is_named_after_its_file(name, expected):
    assert mapping.set_name(name) == expected


def test_a_report_says_how_much_was_kept(sentence):
    sentence(summary(Report((), 10, 10, 1)))
    sentence(summary(Report((), 1000, 990, 12)))


def test_problems_are_listed_the_severe_ones_first():
    text = as_json(problem_table([problem("gap", "A gap."), problem("ragged", "Row 7 is short.", row=1007)]))
    assert text.index("Row 7 is short.") < text.index("A gap.")
    assert "1,007" in text
    assert "No problems found" in as_json(problem_table([]))


def badges(table):
    """The words of a table's badges."""
    states = [one for one in parts(table) if str(getattr(one, "className", "")).startswith("state")]
    return [one.children[-1] for one in states]


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("doubtful", "check"),
        ("assumed_unit", "check"),
        ("counter_reset", "note"),
        ("ragged", "dropped"),
        ("negative", "filled"),
        ("missing", "filled"),
        ("duplicate_time", "merged"),
        ("unsorted", "sorted"),
        ("irregular", "resampled"),
        ("late_column", "not read"),
    ],
)
def test_a_problem_is_marked_by_what_was_done(kind, word):
    assert badges(problem_table([problem(kind, "Something.")])) == [word]


def test_every_kind_of_problem_has_a_word():
    words = badges(problem_table([problem(kind, "Something.") for kind in KINDS]))
    assert len(words) == len(KINDS)


def upload(place, text, name="a.csv"):
    made = place.uploads.begin(name, len(text.encode()))
    place.uploads.receive(made, [text.encode()])
    return made


GOOD = "execution,timestamp,cpu_cores,memory_bytes\n" + "".join(f"a,{t},1.5,2048\n" for t in range(9))


def test_an_empty_workspace_offers_the_sample(place):
    assert place.traces.list() == []
    assert "Load the sample" in as_json(page.layout())
    assert "The trash is empty" in as_json(page.layout(show="trash"))


def test_an_upload_waits_until_it_is_taken_or_discarded(place):
    made = upload(place, GOOD)
    assert [info.id for info in waiting_uploads()] == [made]
    assert "Not imported yet" in as_json(page.layout())
    assert "Not imported yet" not in as_json(page.layout(upload=made))
    task = place.uploads.accept(made, None, "A")
    assert waiting_uploads() == []
    back_again = as_json(page.layout())
    assert "Import a.csv" in back_again
    assert task in back_again


def test_a_file_whose_import_has_doubts_is_not_called_not_imported(place):
    """It stays so that other columns can be chosen, as long as its set is there."""
    made = upload(place, GOOD + "a,9,oops,2048\n")
    run(place, place.uploads.accept(made, None, "Flawed"))
    text = as_json(page.layout())
    assert "Not imported yet" not in text
    assert "imported as “Flawed”" in text
    assert "Choose other columns: a.csv" in text
    upload(place, GOOD, "b.csv")
    assert "Continue: b.csv" in as_json(page.layout())
    place.traces.trash(place.traces.list()[0].id)
    place.traces.delete(place.traces.list(trashed=True)[0].id)
    assert "Continue: a.csv" in as_json(page.layout())


def chosen_by(traces):
    return View.read(Query("", {"traces": traces})).choice()


def test_a_set_in_the_trash_is_not_chosen(place):
    run(place, place.uploads.accept(upload(place, GOOD), None, "One"))
    run(place, place.uploads.accept(upload(place, GOOD), None, "Two"))
    two, one = place.traces.list()
    assert chosen_by(one.id).traces == one
    place.traces.trash(one.id)
    assert chosen_by(one.id).traces == place.traces.get(two.id)
    assert chosen_by("0" * 16).traces == place.traces.get(two.id)
    assert "One" in as_json(page.layout(show="trash"))


def test_a_recording_is_not_chosen_by_itself(place):
    made = small_traces()
    recorded = place.traces.add(made, None, name="alone", source="recorded from docker")
    assert chosen_by(None).traces == recorded
    imported = place.traces.add(made, None, name="imported", source="a.csv")
    place.traces.add(made, None, name="newer", source="recorded from docker")
    assert chosen_by(None).traces == imported
    assert chosen_by(recorded.id).traces == recorded


def test_the_sets_come_first_and_one_to_check_is_marked(place):
    place.traces.add(small_traces(), None, name="Clean")
    assert "Check the import of" not in as_json(page.layout())
    run(place, place.uploads.accept(upload(place, GOOD + "a,9,oops,2048\n"), None, "Flawed"))
    text = as_json(page.layout())
    assert "Check the import of Flawed" in text
    assert "Check the import of Clean" not in text
    assert text.index("Trace sets") < text.index("Drop trace files here") < text.index("Uploaded files")
    assert text.index("Uploaded files") < text.index("Executions of ")


def test_a_finished_import_shows_its_report_and_the_next_step(place):
    task = place.uploads.accept(upload(place, GOOD + "a,9,oops,2048\n"), None, "Flawed")
    run(place, task)
    text = as_json(import_card.import_card(task))
    assert "Imported “Flawed”" in text
    assert "row 11 has “oops”" in text
    assert "Train a model" in text


def test_an_import_that_ended_before_it_was_drawn_is_still_asked_for_its_set(place):
    task = place.uploads.accept(upload(place, GOOD), None, "Quick")
    run(place, task)
    assert '"disabled": true' in as_json(import_card.import_card(task))
    assert '"disabled": true' not in as_json(import_card.import_card(task, is_known=False))


def test_an_import_that_keeps_nothing_says_all_that_was_found(place):
    rows = "".join(f"a,{t},-1,-1\n" for t in range(9)) + "".join(f"a,no,{t},1\n" for t in range(5))
    made = upload(place, "execution,timestamp,cpu_cores,memory_bytes\n" + rows)
    task = place.uploads.accept(made, None, "Nothing")
    run(place, task)
    text = as_json(import_card.import_card(task))
    assert "Choose columns" in text
    assert "below zero" in text
    assert "“no”" in text
    assert f"/traces?upload={made}" in text


def test_a_task_that_was_cleared_is_said_to_be_gone(place):
    assert "There is no task" in as_json(import_card.import_card("0" * 16))


def two_files(place, shift=0):
    cpu = "pod,time,cpu_cores\n" + "".join(f"a,{1_700_000_000 + 5 * t},1.5\n" for t in range(9))
    memory = cpu.replace("cpu_cores", "memory_mib").replace("1.5", "2000").replace("1700", f"{1700 + shift}")
    return [send(place, "cpu.csv", cpu), send(place, "memory.csv", memory)]


def send(place, name, text):
    made = place.uploads.begin(name, len(text.encode()))
    place.uploads.receive(made, [text.encode()])
    return made


def test_files_dropped_at_once_become_one_set(place):
    found = page.show_arrival({"ids": two_files(place)}, "")
    (joined,) = place.uploads.list()
    assert found == f"?upload={joined.id}"
    text = as_json(page.layout(upload=joined.id))
    assert "2 files joined by execution and time" in text
    assert "cpu.csv: CPU. memory.csv: Memory." in text
    assert "Import one by one" in text
    values = suggested(place.uploads.inspect(joined.id).mapping)
    at = {"id": joined.id, "as_written": False}
    assert mapping.follow(values, at)["blocked"] is False
    search = mapping.start(1, None, values, "", at)
    task = Query.parse("", search).values["task"]
    run(place, task)
    (info,) = place.traces.list()
    assert (info.name, info.n_executions, info.n_samples) == ("cpu + memory", 1, 9)
    assert place.traces.report(info.id).faultless
    assert place.uploads.list() == []


def test_files_that_do_not_belong_together_wait_one_by_one_with_the_reason(place, monkeypatch):
    said = []
    monkeypatch.setattr("app.pages.traces.page.notify", lambda node, *_, **__: said.append(as_json(node)))
    found = page.show_arrival({"ids": two_files(place, shift=1)}, "")
    assert len(place.uploads.list()) == 2
    assert found is not None
    assert "upload=" in found
    assert "No times of cpu.csv and memory.csv match" in said[0]


def test_waiting_files_are_joined_when_they_are_picked(place):
    ids = [{"type": PICKED, "upload": one} for one in two_files(place)]
    text = as_json(page.layout())
    assert "Join the ticked files" in text
    page.join_picked(1, [True, True], ids)
    (joined,) = place.uploads.list()
    assert joined.name == "cpu.csv + memory.csv"


def run(place, task):
    """Wait for a worker of our own to do a task."""
    worker = worker_for(place, threads=1)
    worker.start()
    try:
        end = time.monotonic() + 30
        while not place.tasks.get(task).state.ended and time.monotonic() < end:
            time.sleep(0.02)
    finally:
        assert worker.stop(10)
    assert place.tasks.get(task).state.ended


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["pod-a/main", "pod-b/main"], [("pod-a", "main"), ("pod-b", "main")]),
        (["pod/a", "pod/b"], [("a", "pod"), ("b", "pod")]),
        (["p/a", "p/b", "q/a"], [("p/a", ""), ("p/b", ""), ("q/a", "")]),
        (["job-1", "job-2"], [("job-1", ""), ("job-2", "")]),
    ],
)
def test_an_execution_is_called_by_what_tells_it_apart(names, expected):
    assert titles(names) == expected


def test_miniatures_have_one_unit_for_a_quantity_of_all_executions():
    text = str(miniatures(level_traces([[0.5] * 5, [2.0] * 5, [3.0] * 5])))
    assert text.count("Memory, GiB") == 3
    assert "MiB" not in text


def test_the_list_of_many_sets_is_shown_and_searched_in_parts(server, place):
    """The page of 500 sets is no larger than that of 30, and the chosen one is always in it."""
    one = small_traces(1)
    sets = [place.traces.add(one, None, name=f"night-{i:03d}") for i in range(70)]

    def named(node):
        return {info.name for info in sets if f'Actions on {info.name}"' in as_json(node)}

    whole = as_json(set_list(sets[3].id))
    assert named(set_list(sets[3].id)) == {"night-003", *(f"night-{i:03d}" for i in range(40, 70))}
    assert len(whole) < 200_000
    table, count, is_whole = found_sets("", 2, sets[3].id)
    assert (len(named(table)), count, is_whole) == (70, "70", True)
    table, count, is_whole = found_sets(" NIGHT-00", 0, sets[3].id)
    assert (named(table), count, is_whole) == ({f"night-{i:03d}" for i in range(10)}, "10 of 70", True)
    nothing, count, is_whole = found_sets("<day>", 0, None)
    assert ("No trace set has these words." in as_json(nothing), count, is_whole) == (True, "0 of 70", True)
