"""The exam that every upload format sits: it knows its own files, and is listed where people look."""

import gzip
import re
from dataclasses import replace
from pathlib import Path

import pytest

from app.pages.traces.page import drop_zone
from core.errors import InputError
from core.reading import inspect_file, read_traces
from core.reading.formats.base import FileStart
from core.reading.formats.register import FORMATS, list_suffixes, list_titles, open_source
from core.reading.mapping import INTERVAL
from tests.cli.test_cli import run_json
from tests.reading.format_examples import EXAMPLES


@pytest.fixture(params=list(FORMATS))
def example(request, tmp_path):
    """A small file of a format; its name says nothing."""
    path, content = tmp_path / "upload", FORMATS[request.param].example or EXAMPLES[request.param]
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return request.param, path


def test_a_file_is_of_the_first_format_that_recognises_it(example):
    name, path = example
    assert next(each for each, entry in FORMATS.items() if entry.recognises(FileStart(path))) == name
    source = FORMATS[name].open(FileStart(path))
    assert source.path == path
    assert source.header
    assert all(len(row) == len(source.header) for row in source.rows)
    assert source.n_rows is None or source.n_rows > 0


def test_a_file_of_every_format_becomes_traces(example):
    _, path = example
    mapping = inspect_file(path).mapping
    if mapping.unknown == (INTERVAL,):
        mapping = replace(mapping, period=1.0)
    assert read_traces(path, mapping).n_samples >= 5


def test_text_may_be_gzipped(example, tmp_path):
    name, path = example
    if isinstance(EXAMPLES.get(name), bytes):
        return
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert open_source(packed).header == open_source(path).header


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_says_what_it_is(name):
    entry = FORMATS[name]
    assert entry.name == name
    assert entry.title in list_titles()
    assert set(entry.suffixes) <= set(list_suffixes())
    assert all(end.startswith(".") and end == end.lower() for end in entry.suffixes)


def test_what_can_be_read_is_listed_where_people_look(tmp_path):
    listed = run_json("traces", "formats")["formats"]
    assert [each["name"] for each in listed] == list(FORMATS)
    docs = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    rows = [line for line in docs.splitlines() if re.fullmatch(r"\| .* \| `\w+` \| `\..*", line)]
    assert len(rows) > 5
    endings = {one.name: ", ".join(f"`{end}`" for end in one.suffixes) for one in FORMATS.values()}
    known = {f"| {one.title} | `{one.name}` | {endings[one.name]} |" for one in FORMATS.values()}
    assert set(rows) <= known
    shown = str(drop_zone(2**30).to_plotly_json())
    assert all(title in shown for title in list_titles())
    assert ",".join(list_suffixes()) in shown
    path = tmp_path / "x.csv"
    path.write_bytes(b"PK\x03\x04" + bytes(40))
    with pytest.raises(InputError) as refused:
        open_source(path)
    assert all(title in refused.value.hint for title in list_titles())
