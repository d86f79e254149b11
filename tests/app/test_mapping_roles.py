"""What further columns measure, said in the form: a role and a unit for each of them."""

import json

import pytest

from app.pages.traces import mapping, mapping_form, page
from app.pages.traces.mapping_form import FEW, SAID, picked, rows
from app.pages.traces.mapping_values import NOTHING, answered, further, mapping_of, suggested
from core.reading.mapping import UNKNOWN, ColumnMapping, MappedColumn
from core.traces.model import ROLE_NAMES, Role

HEAD = "run,time,cpu_cores,memory_mib,gpu_power,gpu_util_percent,net_in,note_count"
GUESSED = {
    "gpu_power": ("other", "plain"),
    "gpu_util_percent": ("gpu", "percent"),
    "net_in": ("other", "plain"),
    "note_count": ("other", "plain"),
}


def table(head=HEAD):
    lines = (f"a,{1_700_000_000 + 5 * t},1.5,2048,{200 + t},{40 + t},{1000 * t},{t % 3}" for t in range(40))
    return "\n".join([head, *lines]) + "\n"


def send(place, name="gpu.csv", text=""):
    """Upload a file; what the form knows of it."""
    content = (text or table()).encode()
    made = place.uploads.begin(name, len(content))
    place.uploads.receive(made, [content])
    return {"id": made, "as_written": False}


@pytest.fixture
def at(place):
    return send(place)


@pytest.fixture
def inspection(place, at):
    return place.uploads.inspect(at["id"])


@pytest.fixture
def values(inspection):
    return suggested(inspection.mapping)


def node_json(node):
    return json.dumps(node, default=lambda part: part.to_plotly_json(), ensure_ascii=False)


def parts(node):
    """A component and all within it."""
    if isinstance(node, list | tuple):
        return [one for each in node for one in parts(each)]
    inside = getattr(node, "children", None)
    return [node, *parts(inside)] if inside is not None else [node]


def control(node, what, column):
    wanted = {"type": SAID, "what": what, "column": column}
    return next(one for one in parts(node) if getattr(one, "id", None) == wanted)


def measured(values, inspection):
    made = mapping_of(values, inspection.mapping)
    return {one.column: (one.role.value, one.unit_key) for one in made.features[2:]}


def values_after(values, inspection, *choices):
    """The values after some choices in the rows."""
    for what, column, value in choices:
        values = values | picked(what, column, value, values, inspection)
    return values


class Of:
    """An inspection of which only the suggestion is needed."""

    def __init__(self, mapping):
        self.mapping = mapping


def test_each_further_feature_has_its_row_with_what_was_guessed(values, inspection):
    assert measured(values, inspection) == GUESSED
    found = rows(values, inspection)
    assert len(found) == len(GUESSED)
    for column, (role, unit) in GUESSED.items():
        assert control(found, "role", column).value == role
        assert control(found, "unit", column).value == unit
    text = node_json(found)
    assert '"aria-label": "What “gpu_power” measures"' in text
    assert '"aria-label": "Unit of “gpu_power”"' in text


def test_a_role_is_any_that_is_not_in_a_field_of_its_own(values, inspection):
    found = rows(values, inspection)
    offered = [one["value"] for one in control(found, "role", "gpu_power").data]
    assert offered == [
        *(role.value for role in ROLE_NAMES if role not in (Role.CPU, Role.MEMORY)),
        Role.OTHER.value,
    ]
    without = control(rows(values | {"cpu": NOTHING}, inspection), "role", "gpu_power")
    assert "cpu" in [one["value"] for one in without.data]
    taken = values_after(values | {"cpu": NOTHING}, inspection, ("role", "note_count", "cpu"))
    assert taken["cpu"] == "note_count"
    assert "note_count" not in taken["features"]


def test_units_are_those_of_the_role_and_other_has_none_to_choose(values, inspection):
    chosen = values_after(values, inspection, ("role", "gpu_power", "gpu_power"))
    unit = control(rows(chosen, inspection), "unit", "gpu_power")
    assert [one["value"] for one in unit.data] == ["watts", "milliwatts"]
    assert unit.value is None
    assert not unit.disabled
    assert control(rows(chosen, inspection), "unit", "note_count").disabled
    assert control(rows(chosen, inspection), "unit", "gpu_util_percent").value == "percent"


def test_what_is_said_in_a_row_is_what_is_read(values, inspection, at):
    chosen = values_after(values, inspection, ("role", "gpu_power", "gpu_power"))
    waits = mapping.follow(chosen, at)
    assert waits["blocked"]
    assert "Choose the unit of “gpu_power”." in node_json(waits["state"])
    # its row asks; a second question above would push the row away under the person's hands
    assert waits["questions"] is None
    chosen = values_after(
        chosen,
        inspection,
        ("unit", "gpu_power", "watts"),
        ("role", "net_in", "network_in"),
        ("unit", "net_in", "kib_per_s"),
        ("role", "note_count", "loss"),
    )
    assert measured(chosen, inspection) == {
        "gpu_power": ("gpu_power", "watts"),
        "gpu_util_percent": ("gpu", "percent"),
        "net_in": ("network_in", "kib_per_s"),
        "note_count": ("loss", "plain"),
    }
    follows = mapping.follow(chosen, at)
    assert not follows["blocked"]
    text = node_json(follows["evidence"])
    assert "GPU power up to 239.0 W" in text or "GPU power up to 239 W" in text
    assert "Network in up to" in text


def test_several_columns_may_have_one_role(values, inspection):
    chosen = values_after(
        values,
        inspection,
        ("role", "gpu_power", "gpu_power"),
        ("unit", "gpu_power", "watts"),
        ("role", "note_count", "gpu_power"),
        ("unit", "note_count", "milliwatts"),
    )
    assert measured(chosen, inspection)["gpu_power"] == ("gpu_power", "watts")
    assert measured(chosen, inspection)["note_count"] == ("gpu_power", "milliwatts")


def test_a_unit_stays_where_the_new_role_has_it_too(values, inspection):
    chosen = values_after(
        values, inspection, ("role", "net_in", "network_in"), ("unit", "net_in", "mib_per_s"),
        ("role", "net_in", "network_out")
    )  # fmt: skip
    assert measured(chosen, inspection)["net_in"] == ("network_out", "mib_per_s")
    back = values_after(chosen, inspection, ("role", "net_in", "other"))
    assert measured(back, inspection)["net_in"] == ("other", "plain")


def test_a_unit_that_a_layout_knows_of_a_further_column_is_kept():
    suggestion = ColumnMapping(
        (MappedColumn("c", Role.CPU, "cores"), MappedColumn("d", Role.CPU, "millicores"),
         MappedColumn("rss", Role.OTHER, "kib"))
    )  # fmt: skip
    values = suggested(suggestion)
    found = {one.column: one for one in further(values, suggestion)}
    assert found["rss"] == MappedColumn("rss", Role.OTHER, "kib")
    assert found["d"] == MappedColumn("d", Role.OTHER, "millicores")
    # the row says it, although nothing can be chosen
    unit = control(rows(values, Of(suggestion)), "unit", "rss")
    assert (unit.value, unit.disabled) == ("kib", True)
    assert unit.data == [{"value": "kib", "label": "KiB"}]

    away = values_after(values, Of(suggestion), ("role", "rss", "gpu_memory"))
    assert away["answers"]["rss"] == {"role": "gpu_memory", "unit": "kib"}
    back = values_after(away, Of(suggestion), ("role", "rss", "other"))
    assert further(back, suggestion)[-1] == MappedColumn("rss", Role.OTHER, "kib")


def test_a_unit_alone_can_be_asked_of_a_further_column():
    power = MappedColumn("p", Role.GPU_POWER, UNKNOWN)
    suggestion = ColumnMapping((MappedColumn("c", Role.CPU, "cores"), power))
    values = suggested(suggestion)
    values |= answered("unit", "p", "watts", values, Of(suggestion))
    assert mapping_of(values, suggestion).features[1] == MappedColumn("p", Role.GPU_POWER, "watts")


def test_what_was_said_is_there_for_the_next_file_of_the_shape(place, values, inspection, at):
    chosen = values_after(
        values, inspection, ("role", "gpu_power", "gpu_power"), ("unit", "gpu_power", "watts"),
        ("role", "gpu_util_percent", "other")
    )  # fmt: skip
    mapping.start(1, None, chosen, "GPU", at)
    again = send(place, "next.csv")
    text = node_json(page.layout(upload=again["id"]))
    assert "You chose these columns for “gpu.csv”" in text
    before, _ = place.uploads.chosen_before(again["id"])
    kept = suggested(before)
    assert measured(kept, inspection)["gpu_power"] == ("gpu_power", "watts")
    assert measured(kept, inspection)["gpu_util_percent"][0] == "other"
    assert control(rows(kept, inspection), "role", "gpu_power").value == "gpu_power"
    assert json.dumps(kept["answers"], ensure_ascii=False) in text


def test_a_row_that_only_appears_answers_nothing(values, inspection, at, monkeypatch):
    def callback_context(triggered):
        class Context:
            pass

        context = Context()
        context.triggered = triggered
        context.triggered_prop_ids = {
            f"{place}.value": {"type": SAID, "what": what, "column": column}
            for place, what, column in (("0", "role", "net_in"), ("1", "unit", "net_in"))
        }
        monkeypatch.setattr(mapping.dash, "ctx", context)
        return mapping.answer([], [], [], values, at)

    same = [{"prop_id": "0.value", "value": "other"}, {"prop_id": "1.value", "value": "plain"}]
    assert set(map(type, callback_context(same))) == {type(mapping.dash.no_update)}
    changed = callback_context([{"prop_id": "0.value", "value": "network_in"}, same[1]])
    assert changed[-1]["net_in"] == {"role": "network_in", "unit": None}


def controls_of(found, what):
    """The controls of some rows as the browser has them."""
    controls = [one for one in parts(found) if (getattr(one, "id", None) or {}).get("what") == what]
    return {name: [getattr(one, name) for one in controls] for name in mapping_form.SHOWN}


def redrawn(values, at, found):
    return mapping_form.follow_rows(values, at, controls_of(found, "role"), controls_of(found, "unit"))


def test_only_what_changes_is_drawn_anew(values, inspection, at):
    found = rows(values, inspection)
    chosen = values_after(values, inspection, ("role", "gpu_power", "gpu_power"))
    found[0].children[1].value = "gpu_power"  # the person chose it there
    told = redrawn(chosen, at, found)
    assert told["rows"] is mapping.dash.no_update
    assert [one is mapping.dash.no_update for one in told["units"]] == [False, True, True, True]
    found[0].children[2].children = told["units"][0]
    found[0].children[2].children.value = "watts"
    chosen = values_after(chosen, inspection, ("unit", "gpu_power", "watts"))
    assert set(map(type, redrawn(chosen, at, found)["units"])) == {type(mapping.dash.no_update)}
    for changed in ({"features": chosen["features"][:2]}, {"features": []}, {"cpu": NOTHING}):
        told = redrawn(chosen | changed, at, found)
        assert len(told["rows"]) == len(further(chosen | changed, None))
        assert set(map(type, told["units"])) == {type(mapping.dash.no_update)}
        assert len(told["units"]) == len(found)


def test_many_rows_are_folded_and_none_are_not_shown(values, at, sentence):
    told = redrawn(values, at, [])
    assert told["hidden"] is False
    assert len(told["rows"]) == len(GUESSED)
    assert told["units"] == []
    sentence(told["title"])
    assert redrawn(values | {"features": []}, at, [])["hidden"] is True
    assert mapping_form.roles_box(values["features"]).open is True
    assert mapping_form.roles_box([f"x{i}" for i in range(FEW + 1)]).open is False
