"""The history of running containers: stored, rolled up, bounded, pinned, read, and made into trace sets."""

import errno
import math
import os
import threading
import time

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.bootstrap import worker_for
from core.errors import NotFoundError
from core.live.history.chunks import (
    DAY,
    FINEST,
    HOUR,
    LEVELS,
    TAIL,
    RecordedContainer,
    Span,
    chunks_of,
    level_for,
    pack,
    read,
    size,
)
from core.live.history.reader import (
    containers,
    oldest,
    read_points,
    read_span,
    read_tail,
    samples_since,
    traces_of,
)
from core.live.history.writer import HistoryWriter, prune
from core.live.view import LiveFiles
from core.sampling.values import FIELDS, TOTALS
from core.traces.model import Role
from core.workspace.records import TaskState
from tests.examples import fewer
from tests.runtime.kinds_for_tests import until

BEGIN = 1_700_000_000.0
NAMES = {name: RecordedContainer(name * 64, f"job-{name}", "image") for name in "abc"}
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
    found = read_points(tmp_path, [NAMES["a"].id], BEGIN + 100, now, now, max_points=2000)[NAMES["a"].id]
    assert found.seconds == 1
    np.testing.assert_allclose(found.values[:, CPU], used[100:], rtol=1e-6)
    np.testing.assert_allclose(found.time, BEGIN + np.arange(100, 1500) + 0.25)
    assert [path.suffix for path in chunks_of(tmp_path, FINEST).values()] == [
        ".parquet",
        ".samples",
        ".samples",
    ]


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
        stretches = [each for path in chunks_of(folder, level).values() for each in read(path, None)]
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
    (path,) = (tmp_path / "1").glob("*.samples")
    with path.open("ab") as file:
        file.write(b"half a record")
    write(tmp_path, [2.0] * 10, begin=BEGIN + 50)
    found = read_points(tmp_path, [NAMES["a"].id], BEGIN, BEGIN + 60, BEGIN + 60)[NAMES["a"].id]
    assert found.values[:, CPU].tolist() == [1.0] * 50 + [2.0] * 10


def test_records_without_a_name_are_left_out(tmp_path):
    write(tmp_path, [1.0] * 5)
    (path,) = (tmp_path / "1").glob("*.names")
    os.truncate(path, 3)
    write(tmp_path, [2.0] * 5, begin=BEGIN + 5)
    found = read_points(tmp_path, [NAMES["a"].id], BEGIN, BEGIN + 60, BEGIN + 60)[NAMES["a"].id]
    assert found.values[:, CPU].tolist() == [2.0] * 5


def test_a_chunk_that_was_packed_halfway_is_read_once(tmp_path):
    write(tmp_path, [1.0] * 20)
    (path,) = (tmp_path / "1").glob("*.samples")
    raw, names = path.read_bytes(), path.with_suffix(".names").read_bytes()
    pack(path)
    assert not path.exists()
    path.write_bytes(raw)
    path.with_suffix(".names").write_bytes(names)
    found = read_points(tmp_path, [NAMES["a"].id], BEGIN, BEGIN + 60, BEGIN + 60)[NAMES["a"].id]
    assert len(found.time) == 20


def test_it_is_kept_as_long_as_it_says_and_no_longer(tmp_path):
    writer = write(tmp_path, [1.0] * 1300)
    for later in (HOUR, DAY, 31 * DAY):
        write(tmp_path, [1.0] * 5, begin=BEGIN + later, writer=writer)
        now = BEGIN + later + 5
        prune(tmp_path, now)
        for level in LEVELS:
            for begin in list(chunks_of(tmp_path, level))[:-1]:
                assert now - (begin + level.chunk) <= level.retention, "only the newest one is written to"
    assert read_points(tmp_path, [NAMES["a"].id], BEGIN, BEGIN + 1300, BEGIN + 1301) == {}


def test_beyond_its_size_the_oldest_and_finest_goes_first(tmp_path):
    write(tmp_path, [1.0] * 3000)
    all_of_it = size(tmp_path)
    prune(tmp_path, BEGIN + 3000, all_of_it - 1)
    assert min(chunks_of(tmp_path, FINEST)) > BEGIN - 600
    assert size(tmp_path) < all_of_it
    prune(tmp_path, BEGIN + 3000, 0)
    assert [path.suffix for path in chunks_of(tmp_path, FINEST).values()] == [".samples"], (
        "what is written to stays"
    )
    assert chunks_of(tmp_path, LEVELS[1]), "and so does its present"


def test_a_month_is_shown_in_few_points_whose_peaks_are_peaks(tmp_path):
    write(tmp_path, [1.0] * 900 + [5.0] + [1.0] * 900)
    now = BEGIN + 1801
    found = read_points(tmp_path, [NAMES["a"].id], BEGIN, now, now, max_points=20)[NAMES["a"].id]
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
    known = {f"{n:064d}": RecordedContainer(f"{n:064d}", f"job-{n}", "image") for n in range(50)}
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


def sample(value, names="a"):
    """One sample in which every value of every container is the same number, and the host's, too."""
    return {NAMES[name].id: [value] * len(FIELDS) for name in names} | {TOTALS: [value] * len(FIELDS)}


def test_the_last_minutes_are_read_across_chunks_without_being_unpacked(tmp_path):
    writer = HistoryWriter(tmp_path)
    for second in range(1500):
        writer.add(BEGIN + second, sample(float(second)), KNOWN)
    for seconds, count in ((TAIL, 601), (2.0, 3), (0.0, 1)):
        found = read_tail(tmp_path, [NAMES["a"].id, TOTALS, "unknown"], seconds)
        assert set(found) == {NAMES["a"].id, TOTALS}
        for each in found.values():
            assert each.time.tolist() == [BEGIN + at for at in range(1500 - count, 1500)]
            assert (each.values == np.arange(1500 - count, 1500, dtype=np.float32)[:, None]).all()
    assert [path.suffix for path in chunks_of(tmp_path, FINEST).values()][-2:] == [".samples", ".samples"]
    assert read_tail(tmp_path / "nowhere", [TOTALS], 60) == {}
    assert TOTALS not in read_span(tmp_path, FINEST, None, BEGIN, BEGIN + 1500)


def test_samples_since_a_moment_are_whole(tmp_path):
    writer = HistoryWriter(tmp_path)
    for second in range(590, 610):  # across the end of a chunk
        writer.add(1_700_000_400 + second, sample(float(second), "ab"), KNOWN)
    found = samples_since(tmp_path, 1_700_000_400 + 595)
    assert [at - 1_700_000_400 for at, _ in found] == list(range(596, 610))
    assert all(rows == {NAMES[n].id: (at - 1_700_000_400,) * len(FIELDS) for n in "ab"} for at, rows in found)
    newest = max((tmp_path / "1").glob("*.samples"))
    os.truncate(newest, newest.stat().st_size - 60)  # the host's record: the sample is not whole yet
    assert samples_since(tmp_path, 1_700_000_400 + 595) == found[:-1]
    assert samples_since(tmp_path / "nowhere", 0.0) == []


def test_a_reader_never_sees_part_of_a_sample_as_a_whole_one(tmp_path):
    """Every sample holds one number throughout, of forty containers."""
    known = {f"c{at}": RecordedContainer(f"c{at}", f"c{at}") for at in range(40)}
    writer, stop = HistoryWriter(tmp_path), threading.Event()

    def write_on():
        at = 0
        while not stop.is_set():
            at += 1
            writer.add(BEGIN + at, {name: [at] * len(FIELDS) for name in [*known, TOTALS]}, known)

    thread = threading.Thread(target=write_on)
    thread.start()
    try:
        since, seen = BEGIN, 0
        deadline = time.monotonic() + 20
        while seen < 300 and time.monotonic() < deadline:
            for at, rows in samples_since(tmp_path, since):
                assert len(rows) == len(known)
                assert set(map(tuple, rows.values())) == {(at - BEGIN,) * len(FIELDS)}
                since, seen = at, seen + 1
    finally:
        stop.set()
        thread.join()
    assert seen >= 300


def test_without_remembering_ten_minutes_stay(tmp_path):
    writer = HistoryWriter(tmp_path, remembers=False)
    for second in range(4000):
        writer.add(BEGIN + second, sample(float(second)), KNOWN)
    (found,) = read_tail(tmp_path, [NAMES["a"].id], TAIL).values()
    assert len(found.time) == 601
    assert sum(len(path.read_bytes()) for path in (tmp_path / "1").glob("*.samples")) < 3 * 600 * 2 * 60
    assert [path.name for path in tmp_path.iterdir()] == ["1"]
    assert oldest(tmp_path) is None


def test_what_is_pinned_outlives_its_time_and_the_limit_of_bytes_for_its_containers_alone(tmp_path):
    pins = [Span(BEGIN + 700, BEGIN + 900, frozenset({NAMES["b"].id}))]
    writer = HistoryWriter(tmp_path, 0.0, pins=lambda: pins)
    write(tmp_path, [1.0] * 9000, names="abc", writer=writer)
    found = read_span(tmp_path, FINEST, None, BEGIN, BEGIN + 1400)
    assert set(found) == {NAMES["b"].id}
    seconds = set(range(700, 900))
    assert seconds <= {int(at - BEGIN) for at in found[NAMES["b"].id].time}
    before = {path: path.stat().st_mtime_ns for path in chunks_of(tmp_path, FINEST).values()}
    prune(tmp_path, BEGIN + 9000, 0.0, pins)
    assert all(path.stat().st_mtime_ns == at for path, at in before.items() if path.exists()), (
        "rewritten once"
    )
    pins.clear()
    prune(tmp_path, BEGIN + 9000, 0.0, pins)
    assert read_span(tmp_path, FINEST, None, BEGIN, BEGIN + 1400) == {}


def test_on_a_full_disk_the_oldest_makes_room_for_the_newest(tmp_path, monkeypatch):
    writer = write(tmp_path, [1.0] * 1500)
    oldest_chunk = min(chunks_of(tmp_path, FINEST))
    real, failures = os.write, [1]

    def full(handle, data):
        if failures:
            failures.pop()
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data)

    monkeypatch.setattr(os, "write", full)
    write(tmp_path, [2.0], begin=BEGIN + 1500, writer=writer)
    assert oldest_chunk not in chunks_of(tmp_path, FINEST)
    (found,) = read_tail(tmp_path, [NAMES["a"].id], 1.0).values()
    assert found.values[:, CPU].tolist() == [1.0, 2.0]


def earlier_chunk(folder, seconds, begin):
    """A chunk as the version before wrote it: twelve values in a record, and two peaks in coarser ones."""
    fields = [("container", "<i4"), ("at", "<f8"), ("values", "<f4", (12,))]
    record = np.dtype(fields if seconds == "1" else [*fields, ("peaks", "<f4", (2,))])
    records = np.zeros(30, record)
    records["at"] = begin + 1 + np.arange(30)
    records["values"] = 2.0
    if seconds != "1":
        records["peaks"] = 3.0
    (folder / seconds).mkdir(parents=True)
    (folder / seconds / f"{begin}.raw").write_bytes(records.tobytes() + b"half a record")
    (folder / seconds / f"{begin}.names").write_bytes(orjson.dumps(list(NAMES["a"])) + b"\n")


def test_chunks_of_the_version_before_are_read_and_gone_on_with(tmp_path):
    begin = 1_700_000_400
    for seconds in ("1", "60"):
        earlier_chunk(tmp_path, seconds, begin - begin % {"1": 600, "60": 86_400}[seconds])
    for opened in (False, True):
        if opened:
            write(tmp_path, [4.0] * 5, begin=begin + 100)
        (found,) = read_span(tmp_path, FINEST, None, begin, begin + 50).values()
        assert found.values[:, CPU].tolist() == [2.0] * 30
        assert np.isnan(found.values[:, FIELDS.index("pressure")]).all()
        (coarse,) = read_span(tmp_path, LEVELS[2], None, 0.0, begin).values()
        assert coarse.peaks.tolist() == [[3.0, 3.0]] * 30
    assert read_tail(tmp_path, [NAMES["a"].id], 60.0)[NAMES["a"].id].values[-5:, CPU].tolist() == [4.0] * 5
    assert not list(tmp_path.rglob("*.raw"))


def test_a_clock_that_jumps_costs_no_past_and_hides_no_present(tmp_path):
    now = time.time() - 1800
    writer = HistoryWriter(tmp_path)
    values = tuple({**dict.fromkeys(FIELDS, math.nan), "cpu": 1.0}.values())

    def sample(begin, seconds):
        for second in range(seconds):
            writer.add(begin + second, {"a": values, TOTALS: values}, {"a": RecordedContainer("a", "job")})

    sample(now, 700)
    for wrong, then in ((now + 400 * 86_400, now + 700), (now - 3 * 3600, now + 720)):
        sample(wrong, 5)
        sample(then, 20)
    shown = read_tail(tmp_path, ["a"], 600)["a"]
    assert now + 739 == pytest.approx(float(shown.time[-1]))
    assert (np.diff(shown.time) >= 0).all()
    kept = traces_of(tmp_path, None, now, now + 800, now + 800)
    assert kept.n_samples == 740
