"""No reader's exception passes its door, and no sentence of a reader is lost there."""

import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import (
    MAX_SENTENCE_LENGTH,
    Cancelled,
    InputError,
    NotFoundError,
    format_names,
    shorten_sentence,
)
from core.files import (
    import_ai4dl,
    load_model,
    model_archive,
    read_crbm,
    read_kmeans,
    read_model_archive,
    read_scaler,
)
from core.files.phase_models import ai4dl as foreign
from core.files.phase_models import archive
from core.files.phase_models.ai4dl import read_errors
from core.reading import inspect_file, inspection, read_traces, read_with_report
from core.reading.formats import csv as csv_files
from core.reading.readers import guard_reader
from tests.reading.foreign_files import kmeans_joblib
from tests.reading.formats import SAR, TABLE, archive_with, formats, small_model, zipped


class UnheardError(Exception):
    """What no reader knows."""


def raising(*_arguments, **_named):
    raise UnheardError("detail " * 100)


DOORS = {
    "read_traces": (inspection, "open_source", read_traces),
    "read_with_report": (inspection, "open_source", read_with_report),
    "inspect_file": (inspection, "open_source", inspect_file),
    "load_model": (archive, "_assembled", load_model),
    "read_model_archive": (archive, "_assembled", lambda path: read_model_archive(path.read_bytes())),
    "import_ai4dl": (foreign, "read_pickle", lambda path: import_ai4dl(crbm=path, kmeans=path, scaler=path)),
    "read_crbm": (foreign, "read_pickle", read_crbm),
    "read_errors": (foreign, "read_pickle", read_errors),
    "read_kmeans": (foreign, "read_pickle", read_kmeans),
    "read_scaler": (foreign, "read_pickle", read_scaler),
}


@pytest.mark.parametrize(("module", "inside", "door"), DOORS.values(), ids=DOORS)
def test_what_no_reader_expects_is_a_sentence_and_its_detail_is_in_the_log(
    module, inside, door, tmp_path, monkeypatch, caplog, refuses
):
    path = tmp_path / ("long name " * 20)
    path.write_bytes(model_archive(small_model()))
    monkeypatch.setattr(module, inside, raising)
    with caplog.at_level(logging.WARNING), refuses(InputError) as caught:
        door(path)
    assert isinstance(caught.value.__cause__, UnheardError)
    assert max(len(caught.value.message), len(caught.value.hint)) <= MAX_SENTENCE_LENGTH
    assert "detail" not in str(caught.value)
    assert "detail detail" in caplog.text


@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt(), Cancelled()])
def test_what_is_no_fault_of_the_file_passes(error):
    with pytest.raises(type(error)) as caught, guard_reader("file.csv"):
        raise error
    assert caught.value is error


def test_a_sentence_of_a_reader_passes_with_its_type_and_short_enough(refuses):
    told = NotFoundError(f"There is no “{'x' * 5_000}” in \x1b[31m“{'y' * 5_000}”.", "Look " * 500)
    with refuses(NotFoundError) as caught, guard_reader("file.csv"):
        raise told
    assert caught.value is told
    assert len(caught.value.hint) == MAX_SENTENCE_LENGTH
    assert caught.value.args == (caught.value.message,)


def test_what_the_caller_of_a_reader_raises_passes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    with pytest.raises(UnheardError):
        read_with_report(path, progress=raising)


def test_names_are_listed_as_far_as_a_sentence_bears(sentence):
    assert format_names(["a", "b"]) == "“a”, “b”"
    assert format_names(["x" * 1_000] * 2) == f"“{'x' * 59}…”, “{'x' * 59}…”"
    assert format_names(f"column {i}" for i in range(1_000)).endswith("“column 13” …")
    sentence(shorten_sentence("A short one, as it is: “name”."))


# ── the faults that were found, each with its own sentence ──


def test_utf_16_that_ends_in_the_middle_of_a_character_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TABLE.encode("utf-16")[:-1])
    traces, report = read_with_report(path)
    assert traces.n_samples == 18
    assert report.count("undecodable") == 1
    assert "not UTF-16" in " ".join(report.sentences())


def test_utf_16_with_half_a_pair_is_read_and_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TABLE.replace("b", "\ud800").encode("utf-16", "surrogatepass"))
    traces, report = read_with_report(path)
    assert traces.ids == ("a", "�é")
    assert report.problems[1].row == 11


@pytest.mark.parametrize("numbers", [pa.float64(), pa.string()])
def test_texts_of_parquet_that_are_not_utf_8_are_named(tmp_path, numbers, refuses):
    path = tmp_path / "t.parquet"
    names = pa.array([b"ok"] * 60 + [b"\xff\xfe"]).view(pa.binary())
    broken = pa.Array.from_buffers(pa.string(), len(names), names.buffers())
    cpu = pa.array([i / 10 for i in range(61)]).cast(numbers)
    pq.write_table(pa.table({"pod": broken, "time": list(range(61)), "cpu": cpu}), path)
    with refuses(InputError):
        read_traces(path)


def test_a_date_of_parquet_that_no_calendar_has_is_named(tmp_path, refuses):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"time": pa.array([2**60], pa.timestamp("us")), "cpu": [1.0]}), path)
    with refuses(InputError):
        inspect_file(path)


@pytest.mark.parametrize("date", ["9" * 5_001, "1/1/" + "9" * 5_001, "9" * 5_001 + "/1/2024", "9999-12-31"])
def test_a_date_of_sar_that_is_none_counts_from_1970(tmp_path, date):
    path = tmp_path / "sar.txt"
    path.write_text(SAR.replace("01/31/2024", date))
    assert read_traces(path).time[0] == 86_390


def test_blocks_of_sadf_without_a_timestamp_are_reported(tmp_path, sentence):
    path = tmp_path / "sar.csv"
    path.write_text(formats()["sadf"].content.decode().replace("timestamp;kbmemfree", "when;kbmemfree"))
    traces, report = read_with_report(path)
    assert traces.n_samples == report.count("ragged") == 9
    sentence(" ".join(report.sentences()))


@pytest.mark.parametrize("size", [".", "1.2.3MiB", ".GiB"])
def test_a_size_of_docker_stats_that_is_none_is_reported(tmp_path, size):
    path = tmp_path / "stats.json"
    path.write_text(formats()["docker-json"].content.decode().replace("1.5GiB", size, 1))
    _, report = read_with_report(path)
    assert f"row 1 has “{size}”, which is no number" in " ".join(report.sentences())


def test_columns_with_enormous_names_are_quoted_short(tmp_path, refuses):
    path = tmp_path / "t.csv"
    path.write_text(
        TABLE.replace("cpu", "c" * 70_000).replace("memory", "m" * 70_000).replace(",1000000003", ",x")
    )
    with refuses(InputError) as caught:
        read_traces(path, formats()["mapped-table"].read.keywords["mapping"])
    assert max(len(caught.value.message), len(caught.value.hint)) <= MAX_SENTENCE_LENGTH
    _, report = read_with_report(path)
    assert max(map(len, report.sentences())) <= MAX_SENTENCE_LENGTH


def test_a_table_whose_rows_are_all_ragged_is_refused_early(tmp_path, monkeypatch, refuses):
    monkeypatch.setattr(csv_files, "MAX_FLAWED_ROWS", 100)
    path = tmp_path / "t.csv"
    path.write_text("execution,timestamp,cpu,memory\n" + "a,1,1\n" * 1_000)
    with refuses(InputError):
        read_traces(path, formats()["mapped-table"].read.keywords["mapping"])
    good = "".join(f"a,{i},1,1000000000\n" for i in range(108))
    path.write_text("execution,timestamp,cpu,memory\n" + "a,1,1\n" * 99 + good + "a,1,1\n" * 9)
    assert read_traces(path).n_samples == 108


@pytest.mark.parametrize("quoted", [False, True])
def test_a_table_most_of_whose_rows_are_ragged_is_no_table(tmp_path, quoted, refuses):
    path, end = tmp_path / "t.csv", '"a\nb"\n' if quoted else "\n"
    path.write_text("execution,timestamp,cpu\na,1,1\na,2,1\n" + "a,1\n" * 3 + end)
    with refuses(InputError):
        read_traces(path)


@pytest.mark.parametrize(
    "header",
    [b"{'descr': '<f4', 'shape': (", b"{'descr': '''<f4", b"{'descr': '<f4', 'shape': (-1,)}", b"-" * 90],
)
def test_a_damaged_header_of_an_array_is_a_damaged_model(header, refuses):
    good = formats()["model-npy"].content
    data = good[:10] + header.ljust(117) + b"\n" + good[128:]
    with refuses(InputError):
        read_model_archive(archive_with(arrays=zipped({"centres.npy": data})))


def test_numbers_that_overflow_in_a_model_are_refused(tmp_path, refuses):
    path = formats()["kmeans-joblib"].write(tmp_path / "m", kmeans_joblib(np.full((3, 3), 1e300)))
    with refuses(InputError):
        import_ai4dl(path)
