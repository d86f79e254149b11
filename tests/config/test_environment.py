"""The rules about the environment that import-linter cannot see."""

import ast
from pathlib import Path

import pytest

from core.config import SETTINGS, settings_table

ROOT = Path(__file__).resolve().parents[2]


def test_only_the_settings_read_the_environment():
    readers = []
    # core/jobs is other programs, in containers: what these are told is not a setting of PhaseDock
    ours = [path for path in ROOT.glob("core/**/*.py") if "jobs" not in path.relative_to(ROOT).parts]
    for path in [*ours, *ROOT.glob("app/**/*.py")]:
        names = {
            node.attr
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute)
        }
        if names & {"environ", "getenv", "putenv"}:
            readers.append(path.relative_to(ROOT).as_posix())
    assert readers == ["core/config.py"]


DOCUMENTS = [name for name in ("docs/runtime.md", "README.md") if (ROOT / name).exists()]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_documents_show_all_settings(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    assert settings_table() in text, f"put this into {document}:\n{settings_table()}"


def test_the_table_has_a_row_for_each_setting():
    assert len(settings_table().splitlines()) == len(SETTINGS) + 2
