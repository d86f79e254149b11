"""Questions of the mapping page: what a file leaves open, how it is asked, and what an answer does."""

from dataclasses import replace

from app.pages.traces import mapping, mapping_values, page
from app.pages.traces.mapping_values import answered, mapping_of, suggested
from app.ui.links import Query
from core.errors import InputError
from core.reading.mapping import UNKNOWN, ColumnMapping, MappedColumn
from core.reading.questions import Question
from core.traces.model import Role
from tests.app.test_traces import as_json, form, run, send, upload


def test_a_file_of_unnamed_values_is_asked_about_each_time(place):
    def wide(level):
        rows = "".join(f"2026-02-02 10:00:{t:02},{level + t},{level + 2 * t}\n" for t in range(9))
        return "Time,train-1,train-2\n" + rows

    made = upload(place, wide(1), "cpu.csv")
    inspection = place.uploads.inspect(made)
    mapping = inspection.mapping
    assert [one.role for one in inspection.questions] == [True]
    run(
        place,
        place.uploads.accept(
            made, replace(mapping, features=(MappedColumn("value", Role.CPU, "cores"),)), "CPU"
        ),
    )
    again = upload(place, wide(2**30), "memory.csv")
    assert place.uploads.chosen_before(again) is not None
    assert "You chose these columns" not in as_json(page.layout(upload=again))


def two_candidates(place):
    rows = "".join(f"{1_700_000_000 + 5 * t},p,{t}.5,{t}.25,{t + 1}.5\n" for t in range(9))
    return send(place, "both.csv", "timestamp,pod,host_cpu_cores,container_cpu_cores,memory_mib\n" + rows)


def test_which_column_is_usage_is_asked_and_answered_with_its_name(place):
    at = {"id": two_candidates(place), "as_written": False}
    inspection = place.uploads.inspect(at["id"])
    values = suggested(inspection.mapping)
    first = mapping.follow(values, at)
    assert first["blocked"]
    said = as_json(first["questions"])
    assert "Which column is CPU usage: “host_cpu_cores” or “container_cpu_cores”?" in said
    assert '"what": "which", "column": "host_cpu_cores", "value": "cpu:container_cpu_cores"' in said
    assert "None of them" in said

    chosen = values | answered("which", "host_cpu_cores", "cpu:container_cpu_cores", values, inspection)
    assert mapping_of(chosen, inspection.mapping).features == (
        MappedColumn("container_cpu_cores", Role.CPU, "cores"),
        MappedColumn("memory_mib", Role.MEMORY, "mib"),
        MappedColumn("host_cpu_cores"),
    )
    assert not mapping.follow(chosen, at)["blocked"]
    itself = values | answered("which", "host_cpu_cores", "cpu:host_cpu_cores", values, inspection)
    assert (itself["cpu"], itself["cpu_unit"]) == ("host_cpu_cores", "cores")
    none = values | answered("which", "host_cpu_cores", "cpu:", values, inspection)
    assert not mapping.follow(none, at)["blocked"]
    assert all(one.role is not Role.CPU for one in mapping_of(none, inspection.mapping).features)
    by_hand = values | {"cpu": "container_cpu_cores", "cpu_unit": "cores"}
    assert not mapping.follow(by_hand, at)["blocked"]
    # what was chosen for a file with the same columns is offered again
    run(place, place.uploads.accept(at["id"], mapping_of(chosen, inspection.mapping), "Both"))
    assert "You chose these columns" in as_json(page.layout(upload=two_candidates(place)))


def test_whose_memory_it_is_has_an_answer_each(place):
    rows = "".join(f"{1_700_000_000 + 5 * t},{g},{4000 + t}\n" for t in range(9) for g in (0, 1))
    at = {"id": send(place, "gpus.csv", "timestamp,gpu_index,memory_used_MiB\n" + rows), "as_written": False}
    inspection = place.uploads.inspect(at["id"])
    values = suggested(inspection.mapping)
    said = as_json(mapping.follow(values, at)["questions"])
    assert "Is “memory_used_MiB” memory of the containers, or of a GPU?" in said
    assert '"what": "role", "column": "memory_used_MiB", "value": "gpu_memory"' in said
    chosen = values | answered("role", "memory_used_MiB", "gpu_memory", values, inspection)
    assert mapping_of(chosen, inspection.mapping).features == (
        MappedColumn("memory_used_MiB", Role.GPU_MEMORY, "mib"),
    )


def nameless(place):
    rows = "".join(f"{1_700_000_000 + 5 * t},{{pod}},{{value}}\n" for t in range(9))
    return send(place, "panel.csv", "timestamp,pod,value\n" + rows.format(pod="a-1", value=2_000_000_000))


def test_what_a_column_without_a_name_measures_is_asked_and_answered_in_place(place, refuses):
    at = {"id": nameless(place), "as_written": False}
    inspection = place.uploads.inspect(at["id"])
    values = suggested(inspection.mapping)
    shown_first = mapping.follow(values, at)
    assert shown_first["blocked"]
    assert "What does “value” measure? It is 2,000,000,000 at most" in as_json(shown_first["questions"])
    with refuses(InputError):
        place.uploads.accept(at["id"], mapping_of(values, inspection.mapping), "x")

    chosen = values | answered("role", "value", "memory", values, inspection)
    assert (chosen["memory"], chosen["memory_unit"], chosen["features"]) == ("value", None, [])
    follows = mapping.follow(chosen, at)
    assert "In which unit is Memory in “value”?" in as_json(follows["questions"])
    chosen |= answered("unit", "value", "bytes", chosen, inspection)
    assert mapping_of(chosen, inspection.mapping).features == (MappedColumn("value", Role.MEMORY, "bytes"),)
    assert not mapping.follow(chosen, at)["blocked"]

    at_once = values | answered("measure", "value", "memory:bytes", values, inspection)
    assert mapping_of(at_once, inspection.mapping).features == (MappedColumn("value", Role.MEMORY, "bytes"),)

    gpu = values | answered("role", "value", "gpu_memory", values, inspection)
    gpu |= answered("unit", "value", "mib", gpu, inspection)
    assert mapping_of(gpu, inspection.mapping).features == (MappedColumn("value", Role.GPU_MEMORY, "mib"),)
    other = values | answered("role", "value", "other", values, inspection)
    assert mapping_of(other, inspection.mapping).features == (MappedColumn("value"),)
    assert not mapping.follow(other, at)["blocked"]


def test_a_table_whose_columns_are_no_executions_can_be_read_as_it_is_written(place):
    rows = "".join(f"{1_700_000_000 + 5 * t},{t},{2 * t}\n" for t in range(9))
    made = send(place, "sensors.csv", "time,rack-1,rack-2\n" + rows)
    turned = as_json(page.layout(upload=made))
    assert "Read it as a plain table" in turned
    assert "Read it as series" in as_json(page.layout(upload=made, **{"as": "table"}))
    at = {"id": made, "as_written": True}
    values = suggested(place.uploads.inspect(made, as_written=True).mapping)
    task = Query.parse("", mapping.start(1, None, values, "Racks", at)).values["task"]
    run(place, task)
    (info,) = place.traces.list()
    assert (info.n_executions, [one.name for one in info.features]) == (1, ["rack-1", "rack-2"])


class OpenQuestions:
    """An inspection with the questions that a file leaves open."""

    def __init__(self, *questions):
        self.questions = questions


def test_a_question_has_its_likely_answers_as_buttons():
    one = Question("RAM", False, "In which unit is Memory in “RAM”?", ("bytes", "kib", "mib", "tib"))
    mapping = ColumnMapping((MappedColumn("RAM", Role.MEMORY, UNKNOWN),), period=1.0)
    values = form(memory="RAM")
    said = as_json(mapping_values.asked(mapping_values.open_questions(mapping, OpenQuestions(one)), values))
    assert "One question before the import." in said
    assert '"what": "unit", "column": "RAM", "value": "mib"' in said
    assert '"what": "unit", "column": "RAM", "value": "tib"' not in said
    assert '{"value": "tib", "label"' in said
    assert answered("unit", "RAM", "mib", values, OpenQuestions(one)) == {"memory_unit": "mib"}
