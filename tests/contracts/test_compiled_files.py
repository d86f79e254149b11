"""Files of functions that Numba compiles are not measured: what counts their calls cannot be compiled."""

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILED = [
    str(path.relative_to(ROOT))
    for path in sorted((ROOT / "core").rglob("*.py"))
    if re.search(r"^@(compiled|exact|inlined)$", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("path", COMPILED)
def test_a_file_of_kernels_is_not_measured(path):
    left_out = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["slipcover"]["omit"]
    assert any(fnmatch(path, pattern) for pattern in left_out)
