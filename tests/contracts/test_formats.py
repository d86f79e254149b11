"""The exam that every upload format sits: it knows its own files, and is listed where people look."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from app.pages.traces.upload import drop_zone
from core.errors import InputError
from core.store import inspect_file, read_traces
from core.store.formats.opening import Beginning
from core.store.formats.register import FORMATS, open_source, suffixes, table, titles
from tests.cli.test_cli import run_json

CSV = "execution,timestamp,cpu_cores,memory_bytes\n" + "".join(
    f"a,{10 * i},0.{i},{1000 + i}\n" for i in range(6)
)
SERIES = [[10 * i, str(0.1 * i)] for i in range(6)]
STATS = {"Name": "a", "CPUPerc": "5.00%", "MemUsage": "1MiB / 2MiB", "NetIO": "1kB / 2kB", "PIDs": "3"}
ANSWER = {
    "status": "success",
    "data": {
        "resultType": "matrix",
        "result": [
            {"metric": {"__name__": "container_memory_usage_bytes", "container": "a"}, "values": SERIES}
        ],
    },
}
EXAMPLES = {
    "sadf": "# hostname;interval;timestamp;CPU;%user;%idle\n"
    + "".join(f"h;10;2024-01-01 00:00:{i}0 UTC;-1;5.0;{90 - i}.0\n" for i in range(5)),
    "sar": "Linux 6.1 (h) \t01/01/2024 \t_x86_64_\t(4 CPU)\n\n00:00:00  CPU  %user  %idle\n"
    + "".join(f"00:0{i}:00  all  5.00  {90 - i}.00\n" for i in range(5)),
    "docker_stats_json": "".join(json.dumps(STATS) + "\n" for _ in range(5)),
    "docker_stats": "NAME  CPU %  MEM USAGE / LIMIT\n" * 1 + "a  5.00%  1MiB / 2MiB\n" * 5,
    "prometheus_json": json.dumps(ANSWER),
    "prometheus_csv": "timestamp,__name__,container,value\n"
    + "".join(f"{10 * i},container_memory_usage_bytes,a,{i}\n" for i in range(6)),
    "csv": CSV,
}


@pytest.fixture(params=list(FORMATS))
def example(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A small file of a format; its name says nothing."""
    path = tmp_path / "upload"
    if request.param == "parquet":
        table_ = {
            "execution": ["a"] * 6,
            "timestamp": range(6),
            "cpu_cores": [0.1] * 6,
            "memory_bytes": [1.0] * 6,
        }
        pd.DataFrame(table_).to_parquet(path)
    else:
        path.write_text(EXAMPLES[request.param], encoding="utf-8")
    return request.param, path


def test_a_file_is_of_the_first_format_that_recognises_it(example: tuple[str, Path]) -> None:
    name, path = example
    assert next(each for each, entry in FORMATS.items() if entry.recognise(Beginning(path))) == name
    source = FORMATS[name].open(Beginning(path))
    assert source.path == path
    assert source.header
    assert all(len(row) == len(source.header) for row in source.rows)
    assert source.n_rows is None or source.n_rows > 0


def test_a_file_of_every_format_becomes_traces(example: tuple[str, Path]) -> None:
    _, path = example
    assert inspect_file(path).mapping is not None
    assert read_traces(path).n_samples >= 5


def test_text_may_be_gzipped(example: tuple[str, Path], tmp_path: Path) -> None:
    name, path = example
    if name == "parquet":
        return
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert open_source(packed).header == open_source(path).header


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_says_what_it_is(name: str) -> None:
    entry = FORMATS[name]
    assert entry.name == name
    assert entry.title in titles()
    assert set(entry.suffixes) <= set(suffixes())
    assert all(end.startswith(".") and end == end.lower() for end in entry.suffixes)


def test_what_can_be_read_is_listed_where_people_look(tmp_path: Path) -> None:
    listed = run_json("traces", "formats")["formats"]
    assert [each["name"] for each in listed] == list(FORMATS)
    assert table() in (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    shown = str(drop_zone(2**30).to_plotly_json())
    assert all(title in shown for title in titles())
    assert ",".join(suffixes()) in shown
    path = tmp_path / "x.csv"
    path.write_bytes(b"PK\x03\x04" + bytes(40))
    with pytest.raises(InputError) as refused:
        open_source(path)
    assert all(title in refused.value.hint for title in titles())
