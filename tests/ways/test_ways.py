"""The counter counts what it should, and the way from a CSV to a figure and a model has not grown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from core import units
from tests.ways.__main__ import from_csv, union
from tests.ways.calls import BOUNDS, Calls, import_everything

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_counts_once_where_a_function_of_it_runs() -> None:
    calls = Calls()
    with calls.here():
        units.format_bytes(2048.0)
        units.format_bytes(4096.0)
    assert calls.files == ["core/units.py"]


def test_code_of_a_module_counts_nowhere() -> None:
    calls = Calls()
    with calls.here():
        exec(compile("class A:\n    x = 1\n", units.__file__, "exec"), {"__name__": "x"})
    assert calls.files == []


@pytest.mark.slow
def test_ways_have_not_grown(tmp_path: Path) -> None:
    import_everything()
    for way, stages in from_csv(tmp_path).items():
        assert all(stages.values())
        assert len(union(stages)) <= BOUNDS[way], stages
