"""Every CSV that PhaseDock writes, and every line on a terminal, is harmless to what reads it."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cli import answers, output
from core.files.allocation_csv import write_allocations
from core.plain_text import without_controls
from core.tables import Column, Table, render_csv, safe_cell

CASES = json.loads((Path(__file__).parent / "shared" / "csv_cells.json").read_text(encoding="utf-8"))
EVIL = "\x1b[31m=cmd|' /C calc'!A0\x9b2J"
HARMLESS = "'=cmd|' /C calc'!A0"


@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case["in"]))
def test_a_cell_is_written_by_the_rule(case):
    assert safe_cell(case["in"]) == case["out"]
    row = "".join(render_csv(Table("t", [Column("x"), Column("y")], [(case["in"], 1.5)]))).split("\r\n", 1)[1]
    assert next(csv.reader(io.StringIO(row))) == [case["out"], "1.5"]


@given(st.text() | st.text("=+-@\t\r\n \x1b[0m1.e%＝", max_size=8))
def test_no_text_leaves_as_a_formula_or_an_escape(text):
    cell = str(safe_cell(text))
    assert "\x1b" not in cell
    assert without_controls(cell) == cell == str(safe_cell(cell))
    if cell.lstrip()[:1] in tuple("=+-@＝＋－＠"):
        float(cell.removesuffix("%"))


@pytest.mark.parametrize("value", [3, -1.5, None, True, np.float64(-2)])
def test_what_is_no_text_stays(value):
    assert safe_cell(value) is value


def test_allocations_are_written_by_the_rule(tmp_path):
    path = tmp_path / "a.csv"
    series = [(EVIL, "cpu", np.ones(2), np.ones(2))]
    write_allocations(path, [EVIL, "-1+1"], np.array([0, 1, 2]), np.arange(2.0), series)
    read = pd.read_csv(path)
    assert read["execution"].tolist() == [HARMLESS, "'-1+1"]
    assert read["policy"].tolist() == [HARMLESS] * 2


def test_the_terminal_shows_names_and_obeys_none(capsys):
    output.labels({"\x1b]0;owned\x07job\x1b[2J": [0, 0, 1], "[bold]\x9bx": [1]}, {})
    output.error(f"There is no “{EVIL}”.", "Look\x1b[5m elsewhere.")
    shown = capsys.readouterr()
    assert not {"\x1b", "\x9b", "\x07"} & set(shown.out + shown.err)
    assert "owned" not in shown.out
    assert "job" in shown.out
    assert "[bold]" in shown.out
    assert "Look elsewhere." in shown.err


def test_json_on_the_terminal_is_the_same_document_without_escapes(capsys):
    value = {"name": f"{EVIL} é \x7f"}
    answers.print_json(value)
    text = capsys.readouterr().out
    assert not {"\x1b", "\x9b", "\x7f"} & set(text)
    assert "é" in text
    assert json.loads(text) == value
