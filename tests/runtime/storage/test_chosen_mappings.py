"""What was chosen for a file is offered for the next one of the same shape."""

from dataclasses import replace

from core.reading import inspect_file, read_traces
from core.traces.model import Role
from core.workspace.trace_uploads import ChosenMappings


def inspected(tmp_path, header="time,name,cpu"):
    path = tmp_path / "t.csv"
    path.write_text(header + "\n" + "".join(f"{i},a,{20 + i}\n" for i in range(4)))
    return inspect_file(path)


def with_units(mapping):
    return replace(
        mapping, features=tuple(replace(one, unit_key="percent_of_core") for one in mapping.features)
    )


def test_a_choice_is_offered_for_the_same_columns_only(tmp_path):
    first = inspected(tmp_path)
    assert first.mapping is not None
    assert first.mapping.unknown == ("cpu",)
    kept = ChosenMappings(tmp_path / "chosen.json")
    assert kept.get(first) is None
    kept.keep(first, with_units(first.mapping), "monday.csv")
    assert ChosenMappings(tmp_path / "chosen.json").get(inspected(tmp_path)) == (
        with_units(first.mapping),
        "monday.csv",
    )
    assert kept.get(inspected(tmp_path, "time,pod,cpu")) is None


def test_what_was_only_suggested_is_not_kept(tmp_path):
    found = inspected(tmp_path)
    kept = ChosenMappings(tmp_path / "chosen.json")
    kept.keep(found, found.mapping, "monday.csv")
    assert not (tmp_path / "chosen.json").exists()


def test_a_damaged_file_of_choices_is_as_none(tmp_path):
    path = tmp_path / "chosen.json"
    for text in ("{", "[]", '{"x": 3}'):
        path.write_text(text)
        assert ChosenMappings(path).get(inspected(tmp_path)) is None


def test_a_choice_brings_no_cores_of_another_machine(tmp_path):
    def machine(name, cores):
        path = tmp_path / name
        rows = "".join(f"{1_376_314_846 + 300 * i};{cores};50;{6_129_274 + i}\n" for i in range(6))
        path.write_text("Timestamp [ms];CPU cores;CPU usage [%];Memory usage [KB]\n" + rows)
        return path

    first, second = machine("1.csv", 4), machine("2.csv", 16)
    kept = ChosenMappings(tmp_path / "chosen.json")
    found = inspect_file(first)
    kept.keep(found, replace(found.mapping, period=300.0), first.name)
    mapping, _ = kept.get(inspect_file(second))
    assert mapping.period == 300.0
    assert read_traces(second, mapping).values(Role.CPU).tolist() == [8.0] * 6
