"""Stored trace sets: what is written is what is read, and damage is said."""

import numpy as np
import pytest

from core.errors import ConflictError, InputError, NotFoundError
from core.files import open_trace_set, write_trace_set
from core.traces.model import fingerprint
from core.traces.validation import Report, problem
from tests.synthetic import synthetic_traces


@pytest.fixture(scope="module")
def traces():
    return synthetic_traces(60, 7, samples=700)[0]


@pytest.fixture(scope="module")
def stored(traces, tmp_path_factory):
    directory = tmp_path_factory.mktemp("sets") / "one"
    report = Report((problem("ragged", "Row 3 has 2 cells.", row=3),), 10, 9, 60)
    write_trace_set(directory, traces, report, durable=True)
    return open_trace_set(directory)


def same(one, other):
    assert one.ids == other.ids
    assert one.features == other.features
    assert one.period == other.period
    assert one.resampling == other.resampling
    assert one.attributes == dict(other.attributes)
    for mine, theirs in (
        (one.offsets, other.offsets),
        (one.breaks, other.breaks),
        (one.time, other.time),
        *zip(one.columns, other.columns, strict=True),
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_a_stored_set_is_read_back_whole(traces, stored):
    same(stored.load(), traces)
    assert stored.info.n_samples == traces.n_samples
    assert stored.report().problems[0].row == 3


def test_one_execution_is_read_alone_with_its_own_breaks(traces, stored):
    for name in (traces.ids[0], traces.ids[31], traces.ids[-1]):
        same(stored.load_execution(name), traces.only([name]))


def test_breaks_survive_and_follow_their_execution(traces, tmp_path):
    from dataclasses import replace

    broken = replace(traces, breaks=np.array([5, int(traces.offsets[2]) + 9]))
    write_trace_set(tmp_path / "set", broken)
    stored = open_trace_set(tmp_path / "set")
    same(stored.load(), broken)
    assert stored.load_execution(traces.ids[2]).breaks.tolist() == [9]
    assert stored.load_execution(traces.ids[1]).breaks.tolist() == []


def test_the_fingerprint_tells_content_from_content(traces, stored, tmp_path):
    assert stored.fingerprint == fingerprint(traces) == fingerprint(stored.load())
    other = synthetic_traces(60, 8, samples=700)[0]
    assert write_trace_set(tmp_path / "other", other).fingerprint != stored.fingerprint


def test_the_summary_has_a_row_per_execution(traces, stored):
    table = stored.summary()
    assert tuple(table["execution"]) == traces.ids
    assert table["samples"].sum() == traces.n_samples
    assert table["workload"].nunique() == 4
    assert (table["cpu_peak"] >= table["cpu_mean"]).all()


def test_a_folder_that_is_not_empty_is_not_written_into(traces, tmp_path, refuses):
    (tmp_path / "something").write_text("here")
    with refuses(ConflictError):
        write_trace_set(tmp_path, traces)


def test_what_is_not_there_is_said(stored, tmp_path, refuses):
    with refuses(NotFoundError):
        open_trace_set(tmp_path)
    with refuses(NotFoundError):
        stored.load_execution("nobody")


@pytest.mark.parametrize("text", ["{", '{"format": 99}'])
def test_a_description_that_cannot_be_read_is_said(tmp_path, text, refuses):
    (tmp_path / "info.json").write_text(text)
    with refuses(InputError):
        open_trace_set(tmp_path)


def test_damaged_samples_are_said(traces, tmp_path, refuses):
    write_trace_set(tmp_path / "set", traces)
    (tmp_path / "set" / "samples.parquet").write_bytes(b"PAR1 and nothing else")
    stored = open_trace_set(tmp_path / "set")
    with refuses(InputError):
        stored.load()
    with refuses(InputError):
        stored.load_execution(traces.ids[0])


def test_progress_may_stop_the_writing(traces, tmp_path):
    from core.errors import Cancelled

    def stop(share, message):
        raise Cancelled

    with pytest.raises(Cancelled):
        write_trace_set(tmp_path / "set", traces, progress=stop)
    with pytest.raises(NotFoundError):
        open_trace_set(tmp_path / "set")
