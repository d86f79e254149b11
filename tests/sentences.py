"""The sentences that PhaseDock shows, asserted in one golden file: ``tests/golden/sentences.yaml``.

A test that expects an error writes ``with refuses(InputError):``; one that has a text, ``sentence(text)``.
The sentences stand in the golden file under the test's name, once for all its cases that have the same;
``pytest --accept-sentences`` writes them anew for the tests that run, with all cases of each. Elsewhere a
test asserts an error's type and fields.
"""

from __future__ import annotations

import ast
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden" / "sentences.yaml"
_TEXTS = pytest.StashKey[list[str]]()
_accepted: dict[str, dict[str, list[str]]] = {}
_golden: dict[str, dict[str, list[str]]] = {}


def read_golden() -> dict[str, dict[str, list[str]]]:
    """The sentences of each test of each file; one without a list is every one of its test."""
    files = yaml.load(GOLDEN.read_text(), yaml.CSafeLoader) if GOLDEN.exists() else None
    return {
        file: {name: [texts] if isinstance(texts, str) else texts for name, texts in tests.items()}
        for file, tests in (files or {}).items()
    }


def orphans(golden: dict[str, dict[str, list[str]]]) -> list[tuple[str, str]]:
    """Entries whose test is not there or asks for no sentence."""
    found = []
    for file, tests in golden.items():
        path = TESTS / file
        tree = ast.parse(path.read_text() if path.exists() else "")
        functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
        asking = {f.name for f in functions if {a.arg for a in f.args.args} & {"sentence", "refuses"}}
        found += [(file, name) for name in tests if name.split("[")[0] not in asking]
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept-sentences", action="store_true", help="write the golden file anew")


@pytest.fixture
def sentence(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compare texts with the next ones that the golden file has for this test."""
    texts = request.node.stash.setdefault(_TEXTS, [])
    folder = str(request.getfixturevalue("tmp_path")) if "tmp_path" in request.fixturenames else None

    def compare(*shown: object) -> None:
        for text in shown:
            plain = str(text).encode(errors="backslashreplace").decode()  # a lone surrogate is no text
            texts.append(plain.replace(folder, "TMP") if folder else plain)
            if not request.config.option.accept_sentences:
                expected = _expected(request.node)
                place = len(texts) - 1 if len(expected) > 1 else 0
                assert texts[-1:] == expected[place : place + 1], "--accept-sentences writes it anew"

    return compare


@pytest.fixture
def refuses(sentence: Callable[..., None]) -> Callable[[Any], Any]:
    """As `pytest.raises`; what the error says is in the golden file."""

    @contextmanager
    def raises(kind: type[BaseException] | tuple[type[BaseException], ...]) -> Iterator[Any]:
        with pytest.raises(kind) as caught:
            yield caught
        sentence(caught.value)

    return raises


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test for which the golden file has more than it says."""
    yield
    if (texts := item.stash.get(_TEXTS, None)) is None:
        return
    if item.config.option.accept_sentences:
        item.user_properties.append(("sentences", texts))
    elif texts and len(texts) < len(_expected(item)):
        pytest.fail(f"The golden file has more sentences: {_expected(item)[len(texts) :]}", pytrace=False)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what was texts where reports arrive, from this process or from one of pytest-xdist."""
    if report.when == "call" and report.passed:
        file, name = _address(report.nodeid)
        for key, texts in report.user_properties:
            if key == "sentences" and texts:
                _accepted.setdefault(file, {})[name] = texts[:1] if len(set(texts)) == 1 else texts


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not session.config.option.accept_sentences or hasattr(session.config, "workerinput"):
        return
    golden = read_golden()
    for file, tests in _accepted.items():
        again = {name.split("[")[0] for name in tests}
        others = {
            name: texts for name, texts in golden.get(file, {}).items() if name.split("[")[0] not in again
        }
        golden[file] = others | tests
    for file, name in orphans(golden):
        del golden[file][name]
    written = {
        file: {name: texts[0] if len(texts) == 1 else texts for name, texts in sorted(_merged(tests).items())}
        for file, tests in sorted(golden.items())
        if tests
    }
    GOLDEN.write_text(yaml.safe_dump(written, allow_unicode=True, width=10_000, sort_keys=False))


def _merged(tests: dict[str, list[str]]) -> dict[str, list[str]]:
    """One entry for all cases of a test that say the same."""
    cases: dict[str, dict[str, list[str]]] = {}
    for name, texts in tests.items():
        cases.setdefault(name.split("[")[0], {})[name] = texts
    merged: dict[str, list[str]] = {}
    for test, entries in cases.items():
        first = next(iter(entries.values()))
        merged |= {test: first} if all(texts == first for texts in entries.values()) else entries
    return merged


def _address(nodeid: str) -> tuple[str, str]:
    file, _, name = nodeid.partition("::")
    return file.removeprefix("tests/"), name


def _expected(item: pytest.Item) -> list[str]:
    if not _golden:
        _golden.update(read_golden())
    file, name = _address(item.nodeid)
    tests = _golden.get(file, {})
    return tests[name] if name in tests else tests.get(name.split("[")[0], [])
