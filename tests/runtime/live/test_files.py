"""What worker and web process tell each other by files, and the tape of a recording."""

from __future__ import annotations

import errno
import math
import os
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from core.errors import ConflictError
from core.live.attach.activity import ActivityLog
from core.live.recording import recording_file as taping
from core.live.recording.recording_file import SAMPLE, Recorded, RecordingFile
from core.live.view.snapshot import LiveFiles, read_attached, read_recording, read_view, write, write_attached
from core.live.watcher import locked
from core.sampling.ring_buffer import FIELDS
from core.sampling.values import (
    ActivityEntry,
    Attached,
    ContainerRow,
    EngineInfo,
    EngineState,
    LiveView,
    Mode,
    Recording,
    Totals,
)
from core.scheduling.actions import Mark, Pause, Reason, SetLimit
from core.scheduling.loop import Entry
from core.scheduling.model import Failure, Job, JobState, Observation, Trigger
from core.workspace.files import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

ENGINE = EngineInfo("local", "unix:///x", EngineState.READY, cores=2.0, memory=1e9, version="20.10")


@pytest.fixture
def files(tmp_path: Path) -> LiveFiles:
    return LiveFiles(tmp_path, "local")


def test_a_view_comes_back_as_it_was_written(files):
    rows = (ContainerRow("a", "job", cpu=0.5, loss=None, loss_why="not yet"), ContainerRow("b", "other"))
    view = LiveView(ENGINE, 12.5, rows, 1, (ContainerRow("c", "foreign"),), Totals(0.5, labels=(("NL", 2),)))
    write(files.snapshot, view)
    assert read_view(files.snapshot) == view


def test_what_is_not_a_number_becomes_not_known(files):
    write(files.snapshot, LiveView(ENGINE, 1.0, (ContainerRow("a", "job", cpu=math.nan),)))
    assert read_view(files.snapshot).rows[0].cpu is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"engine": 1}', '{"rows": [{"x": 1}]}'])
def test_a_file_that_is_none_of_ours_is_nothing(files, text):
    for path in (files.snapshot, files.attached, files.recording):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert read_view(files.snapshot) is None
    assert read_attached(files.attached) is None
    assert read_recording(files.recording) is None
    assert read_view(files.snapshot.with_name("nothing")) is None


def test_an_attached_policy_and_a_recording_come_back(files):
    attached = Attached(
        "t", "flowcon", Mode.WATCH, {"itval": 2.0}, 5.0, 7.0, 1, (ActivityEntry(6.0, "job", "Cut."),), "r"
    )
    files.snapshot.parent.mkdir()
    write_attached(files.attached, attached, {"a": ("NL", 0.5), "b": ("CL", None)})
    assert read_attached(files.attached) == (attached, {"a": ("NL", 0.5), "b": ("CL", None)})
    write(files.recording, Recording("t", "name", 1.0, 2, 3, 4))
    assert read_recording(files.recording) == Recording("t", "name", 1.0, 2, 3, 4)


def test_an_engine_is_wanted_for_half_a_minute_after_somebody_looked(files):
    assert not files.is_wanted()
    files.want("model")
    files.want("model")
    assert files.is_wanted()
    assert files.model() == "model"
    files.want(None)
    assert files.model() is None
    old = time.time() - 31
    os.utime(files.wanted, (old, old))
    assert not files.is_wanted()


def test_a_lock_has_one_holder(files):
    files.lock.parent.mkdir()
    with locked(files.lock) as mine, locked(files.lock) as other:
        assert (mine, other) == (True, False)
    with locked(files.lock) as again:
        assert again


class FullDisk:
    """In place of `os.pwrite`: takes so many bytes more, in pieces, and then says that the disk is full."""

    def __init__(self, room: int, piece: int = 7) -> None:
        self.room, self.piece = room, piece

    def __call__(self, handle: int, data: bytes, place: int) -> int:
        taken = min(len(data), self.piece, self.room)
        if data and not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= taken
        return PWRITE(handle, data[:taken], place)


PWRITE = os.pwrite


def row(cpu: float) -> tuple[float, ...]:
    return (cpu, *(math.nan,) * (len(FIELDS) - 1))


def test_a_tape_becomes_a_trace_set_with_breaks_where_nothing_was_sampled(tmp_path):
    tape = RecordingFile(tmp_path / "tape")
    tape.meet([Recorded("a" * 64, "job", "img"), Recorded("b" * 64, "job", "img"), Recorded("c", "unused")])
    for at in (1.0, 2.0, 3.0, 9.0, 10.0):
        tape.add(at, {"a" * 64: row(at), **({"b" * 64: row(-at)} if at > 2 else {})}, {"a" * 64: 1})
    traces = RecordingFile(tmp_path / "tape").traces(phased=True)
    assert traces.ids == (f"job {'a' * 12}", f"job {'b' * 12}")
    assert traces.time.tolist() == [1, 2, 3, 9, 10, 3, 9, 10]
    assert traces.breaks.tolist() == [3, 6]
    assert traces.column("cpu_cores").tolist() == [1, 2, 3, 9, 10, -3, -9, -10]
    assert traces.column("phase").tolist() == [1] * 5 + [-1] * 3
    names = [feature.name for feature in traces.features]
    assert "loss" not in names
    assert np.isfinite(traces.column("throttled")).all()
    assert traces.attributes["image"] == ["img", "img"]


def test_a_tape_without_a_sample_is_no_trace_set(tmp_path, refuses):
    with refuses(ConflictError):
        RecordingFile(tmp_path / "tape").traces(phased=False)


def test_half_a_record_at_the_end_is_left_out_and_written_over(tmp_path):
    folder = tmp_path / "tape"
    tape = RecordingFile(folder)
    tape.meet([Recorded("a", "job")])
    tape.add(1.0, {"a": row(1.0)}, {})
    with (folder / "samples.bin").open("ab") as file:
        file.write(b"half of it")
    with (folder / "containers.jsonl").open("ab") as file:
        file.write(b'{"id": "b", "na')
    assert RecordingFile(folder, writing=False).samples == 1
    again = RecordingFile(folder)
    again.meet([Recorded("b", "other")])
    again.add(2.0, {"b": row(2.0)}, {})
    traces = again.traces(phased=False)
    assert traces.ids == ("job", "other")
    assert traces.column("cpu_cores").tolist() == [1.0, 2.0]
    assert again.last == 2.0


def older(folder: Path) -> None:
    """A recording as an older version left it: two samples of eight values, and no word of what they are."""
    kind = np.dtype([("container", "<i4"), ("phase", "<i4"), ("at", "<f8"), ("values", "<f4", (8,))])
    samples = np.zeros(2, kind)
    samples["at"] = [1.0, 2.0]
    samples["values"] = [[1.0, 2.0, 3.0, math.nan, 0.5, 0.0, 7.0, 8.0], [1.5] * 8]
    folder.mkdir()
    (folder / "samples.bin").write_bytes(samples.tobytes())
    (folder / "containers.jsonl").write_bytes(b'{"id":"a","name":"job","image":"img"}\n')


def test_a_recording_of_an_older_version_is_read_and_gone_on_with(tmp_path):
    older(tmp_path / "tape")
    plain = RecordingFile(tmp_path / "tape", writing=False)
    assert (plain.samples, plain.traces(phased=False).column("loss").tolist()) == (2, [0.5, 1.5])
    tape = RecordingFile(tmp_path / "tape")
    tape.add(3.0, {"a": tuple(float(at) for at in range(len(FIELDS)))}, {})
    for opened in (tape, RecordingFile(tmp_path / "tape"), RecordingFile(tmp_path / "tape", writing=False)):
        traces = opened.traces(phased=False)
        assert traces.column("cpu_cores").tolist() == [1.0, 1.5, 0.0]
        assert traces.column("network_bytes_per_second").tolist() == [8.0, 1.5, 7.0]
        assert np.isnan(traces.column("gpu_share")).tolist() == [True, True, False]


@pytest.mark.parametrize("name", ["samples.upgraded", "fields.json", "samples.bin"])
def test_an_upgrade_that_is_killed_leaves_all_as_it_was(tmp_path, monkeypatch, name):
    older(tmp_path / "tape")

    def killed(path: Path, content: bytes) -> None:
        if path.name == name:
            raise KeyboardInterrupt
        write_atomically(path, content)

    def never(_self: Path, _target: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as kill:
        kill.setattr(taping, "write_atomically", killed)
        if name == "samples.bin":
            kill.setattr(type(tmp_path), "replace", never)
            kill.setattr(taping, "write_atomically", lambda path, content: path.write_bytes(content))
        with pytest.raises(KeyboardInterrupt):
            RecordingFile(tmp_path / "tape")
    for writing in (False, True, False):
        tape = RecordingFile(tmp_path / "tape", writing=writing)
        assert tape.traces(phased=False).column("cpu_cores").tolist() == [1.0, 1.5]


def recorded(folder: Path) -> list[tuple[float, float]]:
    """Moments and cores of what a recording has, by whoever opens it next."""
    traces = RecordingFile(folder, writing=False).traces(phased=False)
    return list(zip(traces.time.tolist(), traces.column("cpu_cores").tolist(), strict=True))


def test_a_write_that_takes_only_a_part_is_gone_on_with(tmp_path, monkeypatch):
    monkeypatch.setattr(taping.os, "pwrite", FullDisk(10**6))
    tape = RecordingFile(tmp_path)
    tape.meet([Recorded("a", "job"), Recorded("b", "other")])
    tape.add(1.0, {"a": row(1.0), "b": row(2.0)}, {})
    tape.add(2.0, {"a": row(3.0)}, {})
    assert recorded(tmp_path) == [(1.0, 1.0), (2.0, 3.0), (1.0, 2.0)]


def test_a_disk_that_is_full_in_mid_record_misaligns_nothing_that_follows(tmp_path, monkeypatch, refuses):
    for room in range(2 * SAMPLE.itemsize):
        folder = tmp_path / str(room)
        tape = RecordingFile(folder)
        tape.meet([Recorded("a", "job"), Recorded("b", "other")])
        tape.add(1.0, {"a": row(1.0)}, {})
        with monkeypatch.context() as full:
            full.setattr(taping.os, "pwrite", FullDisk(room))
            with refuses(OSError):
                tape.add(2.0, {"a": row(5.0), "b": row(6.0)}, {})
            full.setattr(taping.os, "pwrite", FullDisk(room % 30))
            with refuses(OSError):
                tape.meet([Recorded("c", "third")])
        assert (tape.samples, len(RecordingFile(folder, writing=False).known)) == (1, 2)
        tape.meet([Recorded("d", "fourth")])
        tape.add(3.0, {"a": row(7.0), "d": row(8.0)}, {})
        assert recorded(folder) == [(1.0, 1.0), (3.0, 7.0), (3.0, 8.0)]


def test_a_recording_that_ends_at_any_byte_is_read_up_to_its_last_whole_record(tmp_path):
    tape = RecordingFile(tmp_path)
    tape.meet([Recorded("a", "job"), Recorded("b", "other")])
    for at in (1.0, 2.0, 3.0):
        tape.add(at, {"a": row(at)}, {})
    samples, size = tmp_path / "samples.bin", SAMPLE.itemsize
    whole = samples.read_bytes()
    for end in range(size, len(whole)):
        samples.write_bytes(whole[:end])
        expected = [(float(at), float(at)) for at in range(1, end // size + 1)]
        assert recorded(tmp_path) == expected
        again = RecordingFile(tmp_path)
        again.add(9.0, {"a": row(9.0)}, {})
        assert recorded(tmp_path) == [*expected, (9.0, 9.0)]


def test_containers_that_were_cut_off_take_their_samples_with_them(tmp_path):
    """After a power cut the file of samples may be newer than that of the containers they are of."""
    tape = RecordingFile(tmp_path)
    tape.meet([Recorded("a", "job")])
    tape.add(1.0, {"a": row(1.0)}, {})
    place = tmp_path / "containers.jsonl"
    text = place.read_bytes()
    tape.meet([Recorded("b", "other")])
    tape.add(2.0, {"a": row(2.0), "b": row(5.0)}, {})
    place.write_bytes(text + b'{"id": "b')
    assert recorded(tmp_path) == [(1.0, 1.0), (2.0, 2.0)]
    again = RecordingFile(tmp_path)
    again.meet([Recorded("c", "third")])
    again.add(3.0, {"c": row(7.0)}, {})
    assert recorded(tmp_path) == [(1.0, 1.0), (2.0, 2.0), (3.0, 7.0)]


IDS = {"job": "a" * 64}


def entry(number: int, limit: float | None, actions, reasons=(), failures=(), wake=None) -> Entry:
    job = Job("job", JobState.RUNNING, "local", limit=limit)
    seen = Observation(number, 10.0 * number, Trigger.TICK, (), (job,))
    return Entry(seen, tuple(actions), tuple(reasons), (Mark("job", "NL", 0.25),), wake, tuple(failures))


def test_minutes_say_what_was_done_why_and_what_failed(files):
    files.lock.parent.mkdir()
    minutes = ActivityLog(files, Attached("t", "flowcon", Mode.CONTROL), 1000.0)
    cut = SetLimit("job", 0.5)
    minutes.take(entry(1, 2.0, [cut], [Reason("r", "It converged.", job="job")], wake=30.0), IDS)
    minutes.take(entry(2, 0.5, [cut]), IDS)
    refused = SetLimit("job", 0.25)
    minutes.take(entry(3, 0.5, [refused], failures=[Failure(refused, "Docker said no.")]), IDS)
    attached, marks = read_attached(files.attached)
    assert [(said.at, said.text, said.before, said.after) for said in attached.said] == [
        (1030.0, "Could not: Docker said no.", None, None),
        (1010.0, "It converged.", 2.0, 0.5),
    ]
    assert (attached.resizes, attached.said[0].label, minutes.decisions) == (1, "NL", 3)
    assert marks == {IDS["job"]: ("NL", 0.25)}
    minutes.close()
    assert read_attached(files.attached) is None


def test_minutes_of_watching_say_a_limit_once_though_it_never_comes_true(files):
    files.lock.parent.mkdir()
    minutes = ActivityLog(files, Attached("t", "flowcon", Mode.WATCH), 0.0)
    for number, limit in enumerate((0.5, 0.5, 0.25, 0.5)):
        minutes.take(entry(number, 2.0, [SetLimit("job", limit)]), IDS)
    minutes.take(entry(9, 2.0, [Pause("job")]), IDS)
    attached, _ = read_attached(files.attached)
    assert [said.after for said in attached.said] == [None, 0.5, 0.25, 0.5]
    assert [said.before for said in attached.said] == [None, 0.25, 0.5, 2.0]
    assert attached.said[0].text == "Would pause."
    assert attached.resizes == 3
