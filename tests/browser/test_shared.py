"""The browser writes quantities and cells of CSV as the server does: the cases that both share."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT / "tests" / "shared"
CALL = """cases => cases.map(([name, given]) => phasedock.format[name](
    ...given.map(each => ({ NaN, Infinity, "-Infinity": -Infinity })[each] ?? each)))"""


@pytest.fixture
def bare(page):
    """A page with nothing but the two scripts."""
    for script in ("format.js", "csv.js"):
        (found,) = (ROOT / "assets").rglob(script)
        page.add_script_tag(path=found)
    return page


def test_quantities_are_written_as_core_units_writes_them(bare):
    cases = json.loads((SHARED / "format.json").read_text(encoding="utf-8"))
    texts = bare.evaluate(CALL, cases)
    assert [(*case[:2], said) for case, said in zip(cases, texts, strict=True) if said != case[2]] == []


def test_what_is_not_there_is_a_dash(bare):
    said = bare.evaluate(
        """() => ["number", "count", "cores", "bytes", "duration", "share", "change", "significant"].flatMap(
            name => [null, undefined, NaN].map(value => phasedock.format[name](value)))"""
    )
    assert set(said) == {"–"}


def test_losses_and_ticks_have_three_digits(bare):
    values = [0, 0.1, 0.04214, 2.3, 23.45, 1234, -0.5, 99_999, 123_456, -0.000_012_3]
    texts = ["0.000", "0.100", "0.0421", "2.30", "23.4", "1230", "−0.500", "100000", "1.23e+5", "−1.23e−5"]
    assert bare.evaluate("values => values.map(phasedock.format.significant)", values) == texts
    ticks = bare.evaluate(
        "values => values.map(phasedock.format.short)", [0, 0.30000000000000004, 1500, -2.5]
    )
    assert ticks == ["0", "0.3", "1500", "−2.5"]


def test_cells_of_csv_are_guarded_as_the_server_guards_them(bare):
    cases = json.loads((SHARED / "csv_cells.json").read_text(encoding="utf-8"))
    cells = bare.evaluate("texts => texts.map(phasedock.csv.cell)", [case["in"] for case in cases])
    assert [(case, said) for case, said in zip(cases, cells, strict=True) if said != case["out"]] == []
    table = [["name", "loss"], ['=say "hi"', -1.5], ["two\nlines", None]]
    assert bare.evaluate("phasedock.csv.file", table) == 'name,loss\r\n"\'=say ""hi""",-1.5\r\ntwo lines,\r\n'
