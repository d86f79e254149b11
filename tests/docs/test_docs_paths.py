"""README and docs name modules, files and pages that are there."""

import ast
import importlib
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_CODE = re.compile(r"`([^`\n]+)`")
_EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_MODULE = re.compile(r"(?:core|app|benchmarks|tests)(?:\.\w+)+")
_PATH = re.compile(r"(?:core|app|assets|benchmarks|data|docs|tests)/[\w./-]+")
_MADE = {"benchmarks/results.json"}  # written by `make bench`


def _is_there(name):
    """Whether a dotted name is a module, or something that a module defines."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        base = ROOT.joinpath(*parts[:end])
        file = base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"
        if file.is_file():
            return end == len(parts) or re.search(rf"\b{parts[end]}\b", file.read_text("utf-8")) is not None
        if base.is_dir():
            return end == len(parts)
    return False


def missing(text, folder):
    """Give what a page names in backticks or links to, and is not there."""
    named = _CODE.findall(text)
    gone = [name for name in named if _MODULE.fullmatch(name) and not _is_there(name)]
    gone += [
        name for name in named if _PATH.fullmatch(name) and name not in _MADE and not (ROOT / name).exists()
    ]
    links = [link for link in _LINK.findall(text) if not link.startswith(("http:", "https:"))]
    return gone + [link for link in links if not (folder / link).exists()]


def not_importable(text):
    """Give what a page's examples import from PhaseDock, and is not there."""
    statements = [each for code in _EXAMPLE.findall(text) for each in ast.walk(ast.parse(code))]
    names = [
        (each.module, name.name)
        for each in statements
        if isinstance(each, ast.ImportFrom) and (each.module or "").startswith(("app.", "core."))
        for name in each.names
    ]
    return [f"{module}.{name}" for module, name in names if not _imports(module, name)]


def _imports(module, name):
    return hasattr(importlib.import_module(module), name) or find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_there(page):
    assert missing(page.read_text("utf-8"), page.parent) == []
    assert not_importable(page.read_text("utf-8")) == []


def test_what_is_gone_is_found():
    text = "`core.phases.gone`, `core.phases.fit`, `core/nowhere.py`, `core/units.py`, "
    text += "[a](gone.md), [b](runtime.md)"
    assert missing(text, ROOT / "docs") == ["core.phases.gone", "core/nowhere.py", "gone.md"]
    assert not_importable("```python\nfrom core.phases import fit, gone\n```\n") == ["core.phases.gone"]
