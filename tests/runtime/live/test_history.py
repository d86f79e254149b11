"""The past of running containers: it is kept, rolled up, bounded, read back, and made into trace sets."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.bootstrap import worker_for
from core.errors import NotFoundError
from core.live.history.chunks import (
    DAY,
    HOUR,
    LEVELS,
    HistoryWriter,
    Known,
    begins,
    level_for,
    prune,
    read,
    size,
)
from core.live.history.reader import containers, look_back, oldest, traces_of
from core.live.view.snapshot import LiveFiles
from core.sampling.ring_buffer import FIELDS
from core.traces.model import Role
from core.workspace.records import TaskState
from tests.examples import fewer
from tests.runtime.kinds_for_tests import until

BEGIN = 1_700_000_000.0
NAMES = {name: Known(name * 64, f"job-{name}", "image") for name in "abc"}
KNOWN = {each.id: each for each in NAMES.values()}
CPU, MEMORY, LOSS = FIELDS.index("cpu"), FIELDS.index("memory"), FIELDS.index("loss")


def row(cpu, memory=1e9, loss=np.nan):
    values = [np.nan] * len(FIELDS)
    values[CPU], values[MEMORY], values[LOSS] = cpu, memory, loss
    return values


def write(folder, cpu, begin=BEGIN, names="a", writer=None):
    """One sample a second; `cpu(second, name)` is what was used, None: nothing was seen of it."""
    writer = writer or HistoryWriter(folder)
    for second, used in enumerate(cpu):
        rows = {NAMES[name].id: row(used) for name in names if used is not None}
        writer.add(begin + second + 0.25, rows, KNOWN)
    return writer


def test_the_last_hour_is_kept_second_by_second(tmp_path):
    used = np.random.default_rng(1).gamma(2, 0.5, 1500)
    write(tmp_path, used.tolist())
    now = BEGIN + 1500
    found = look_back(tmp_path, [NAMES["a"].id], BEGIN + 100, now, now, most=2000)[NAMES["a"].id]
    assert found.seconds == 1
    np.testing.assert_allclose(found.values[:, CPU], used[100:], rtol=1e-6)
    np.testing.assert_allclose(found.time, BEGIN + np.arange(100, 1500) + 0.25)
    assert [path.suffix for path in begins(tmp_path / "1").values()] == [".parquet", ".parquet", ".open"]


@fewer(2)
@given(st.lists(st.one_of(st.none(), st.floats(0, 8)), min_size=70, max_size=260))
def test_longer_stretches_are_means_and_peaks_of_what_was_seen(tmp_path_factory, used):
    folder = tmp_path_factory.mktemp("history")
    begin = BEGIN - BEGIN % 60
    write(folder, used, begin)
    for level in LEVELS[1:]:
        n, parts = level.seconds, {}
        for second, value in enumerate(used):
            if value is not None:
                parts.setdefault(int(begin + second) // n, []).append(value)
        stretches = [each for path in begins(folder / str(n)).values() for each in read(path, None)]
        found = {
            int(at) // n - 1: (values, peaks)
            for each in stretches
            for at, values, peaks in zip(each.time, each.values, each.peaks, strict=True)
        }
        assert len(found) >= len(parts) - 2, "a stretch is written once a later one begins"
        for bucket, (values, peaks) in found.items():
            assert peaks[0] == pytest.approx(max(parts[bucket]), rel=1e-6)
            assert np.isnan(values[LOSS])
            if n == LEVELS[1].seconds:
                assert values[CPU] == pytest.approx(np.mean(parts[bucket]), rel=1e-5, abs=1e-30)


def test_a_kill_loses_no_more_than_the_sample_that_was_being_written(tmp_path):
    write(tmp_path, [1.0] * 50)
    (path,) = (tmp_path / "1").glob("*.open")
    with path.open("ab") as file:
        file.write(b"half a record")
    write(tmp_path, [2.0] * 10, begin=BEGIN + 50)
    found = look_back(tmp_path, [NAMES["a"].id], BEGIN, BEGIN + 60, BEGIN + 60)[NAMES["a"].id]
    assert found.values[:, CPU].tolist() == [1.0] * 50 + [2.0] * 10


def test_records_without_a_name_are_left_out(tmp_path):
    write(tmp_path, [1.0] * 5)
    (path,) = (tmp_path / "1").glob("*.names")
    os.truncate(path, 3)
    write(tmp_path, [2.0] * 5, begin=BEGIN + 5)
    found = look_back(tmp_path, [NAMES["a"].id], BEGIN, BEGIN + 60, BEGIN + 60)[NAMES["a"].id]
    assert found.values[:, CPU].tolist() == [2.0] * 5


def test_what_was_packed_halfway_is_there_once(tmp_path):
    write(tmp_path, [1.0] * 20)
    (path,) = (tmp_path / "1").glob("*.open")
    names = path.with_suffix(".names").read_bytes(), path.read_bytes()
    HistoryWriter(tmp_path).add(BEGIN + 5000, {}, {})
    prune(tmp_path, BEGIN + 1000)
    path.write_bytes(names[1])
    path.with_suffix(".names").write_bytes(names[0])
    found = look_back(tmp_path, [NAMES["a"].id], BEGIN, BEGIN + 60, BEGIN + 60)[NAMES["a"].id]
    assert len(found.time) == 20


def test_it_is_kept_as_long_as_it_says_and_no_longer(tmp_path):
    writer = write(tmp_path, [1.0] * 1300)
    for later in (HOUR, DAY, 31 * DAY):
        write(tmp_path, [1.0] * 5, begin=BEGIN + later, writer=writer)
        now = BEGIN + later + 5
        prune(tmp_path, now)
        for level in LEVELS:
            for begin, path in begins(tmp_path / str(level.seconds)).items():
                assert path.suffix == ".open" or now - (begin + level.chunk) <= level.kept
    assert look_back(tmp_path, [NAMES["a"].id], BEGIN, BEGIN + 1300, BEGIN + 1301) == {}


def test_beyond_its_size_the_oldest_and_finest_goes_first(tmp_path):
    write(tmp_path, [1.0] * 3000)
    all_of_it = size(tmp_path)
    prune(tmp_path, BEGIN + 3000, all_of_it - 1)
    first = min(begins(tmp_path / "1"))
    assert first > BEGIN - 600
    assert size(tmp_path) < all_of_it
    prune(tmp_path, BEGIN + 3000, 0)
    assert [path.suffix for path in begins(tmp_path / "1").values()] == [".open"], "what is written to stays"
    assert begins(tmp_path / "10"), "and so does its present"


def test_a_month_is_shown_in_few_points_whose_peaks_are_peaks(tmp_path):
    write(tmp_path, [1.0] * 900 + [5.0] + [1.0] * 900)
    now = BEGIN + 1801
    found = look_back(tmp_path, [NAMES["a"].id], BEGIN, now, now, most=20)[NAMES["a"].id]
    assert len(found.time) <= 20
    assert found.peaks[:, 0].max() == 5.0
    assert found.values[:, CPU].max() < 1.1
    assert float((found.values[:, CPU]).mean()) == pytest.approx(1.0, abs=0.01)


def test_a_stretch_becomes_a_trace_set(tmp_path, refuses):
    used = [1.0] * 30 + [None] * 10 + [2.0] * 30
    write(tmp_path, used, names="ab")
    traces = traces_of(tmp_path, [NAMES["b"].id], BEGIN, BEGIN + 100, BEGIN + 100)
    assert traces.ids == ("job-b",)
    assert traces.period == 1.0
    assert traces.breaks.tolist() == [30]
    assert traces.column("cpu_cores").tolist() == [1.0] * 30 + [2.0] * 30
    assert {feature.role for feature in traces.features} >= {Role.CPU, Role.MEMORY}
    both = traces_of(tmp_path, None, BEGIN, BEGIN + 100, BEGIN + 100)
    assert both.ids == ("job-a", "job-b")
    assert both.breaks.tolist() == [30, 90]
    assert [each.name for each in containers(tmp_path, BEGIN, BEGIN + 100, BEGIN + 100)] == ["job-a", "job-b"]
    with refuses(NotFoundError):
        traces_of(tmp_path, ["nobody"], BEGIN, BEGIN + 100, BEGIN + 100)
    assert oldest(tmp_path) == BEGIN + 0.25
    assert oldest(tmp_path / "nowhere") is None


def test_the_fineness_follows_the_time_that_is_looked_at():
    now = BEGIN
    assert level_for(now - 600, now, now).seconds == 1
    assert level_for(now - HOUR, now, now).seconds == 1
    assert level_for(now - 6 * HOUR, now, now).seconds == 10
    assert level_for(now - DAY, now, now).seconds == 10
    assert level_for(now - 7 * DAY, now, now).seconds == 60
    assert level_for(now - 6 * HOUR, now - 5 * HOUR, now).seconds == 10
    assert level_for(now - 90 * DAY, now, now).seconds == 60


def test_fifty_containers_cost_little(tmp_path):
    """Adding a sample of fifty containers takes milliseconds, and a week of them fits in 300 MB."""
    known = {f"{n:064d}": Known(f"{n:064d}", f"job-{n}", "image") for n in range(50)}
    rng, writer = np.random.default_rng(1), HistoryWriter(tmp_path)
    values = {name: row(float(rng.gamma(2, 0.3)), float(rng.gamma(9, 1e8))) for name in known}
    begun = time.process_time()
    for second in range(700):
        writer.add(BEGIN + second, values, known)
    assert (time.process_time() - begun) / 700 < 0.02
    record = 64
    assert 50 * record * (HOUR + 600 + (DAY + 7200) / 10 + 8 * DAY / 60) < 300e6, "even unpacked"


def test_a_stretch_of_a_workspace_is_stored_by_a_task(workspace, refuses):
    engine, begin = workspace.live.engines.names[0], time.time() - 60
    write(LiveFiles(workspace.settings.home, engine).history, [1.0] * 60, begin, names="ab")
    with refuses(NotFoundError):
        workspace.live.recordings.keep_past(engine, "Too early", begin - DAY, begin - HOUR)
    task = workspace.live.recordings.keep_past(engine, "Ten seconds", begin + 10, begin + 20)
    worker = worker_for(workspace, threads=1)
    worker.start()
    try:
        info = until(lambda: (now := workspace.tasks.get(task)).state.ended and now, 60)
    finally:
        worker.stop()
    assert info.state is TaskState.DONE, info.error
    traces = workspace.traces.load(info.result["trace_set"])
    assert traces.ids == ("job-a", "job-b")
    assert traces.n_samples == 20
    assert workspace.live.view.remembered(engine).since == pytest.approx(begin, abs=1)
    assert workspace.live.view.remembered(engine).bytes > 0
    past = workspace.live.view.past(engine, [NAMES["a"].id], begin, begin + 60)
    assert len(past[NAMES["a"].id].time) == 60
