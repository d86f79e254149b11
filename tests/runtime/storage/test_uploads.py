"""Uploads: exact to the byte, nothing half-made, no path from outside."""

import json
import os
import resource
import threading
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConflictError, InputError, NotFoundError
from core.workspace.files import StorageError, safe_name
from core.workspace.uploads import Uploads


@pytest.fixture
def uploads(tmp_path):
    return Uploads(tmp_path / "uploads", max_size=1000)


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_file_arrives_in_pieces(uploads):
    upload = uploads.begin("traces.csv.gz", 10)
    assert uploads.list() == []
    assert not uploads.get(upload).complete
    info = uploads.receive(upload, [b"01234", b"", b"56789"])
    assert (info.name, info.size, info.complete) == ("traces.csv.gz", 10, True)
    assert uploads.path(upload).read_bytes() == b"0123456789"
    assert uploads.path(upload).name == "traces.csv.gz"
    assert uploads.list() == [info]


@pytest.mark.parametrize("chunks", [[b"123"], [b"123456"], [], [b"12345", b"6"]])
def test_a_wrong_size_leaves_nothing(uploads, tmp_path, chunks, refuses):
    upload = uploads.begin("a.csv", 5)
    with refuses(InputError):
        uploads.receive(upload, chunks)
    assert uploads.list() == []
    assert files_in(tmp_path) == [f"uploads/{upload}/info.json"]
    assert uploads.receive(upload, [b"12345"]).complete


def test_a_broken_connection_leaves_nothing(uploads, tmp_path):
    def chunks():
        yield b"12"
        raise ConnectionResetError

    upload = uploads.begin("a.csv", 5)
    with pytest.raises(ConnectionResetError):
        uploads.receive(upload, chunks())
    assert files_in(tmp_path) == [f"uploads/{upload}/info.json"]


@pytest.mark.parametrize("size", [0, -1, 1001])
def test_sizes_are_bounded_before_a_byte_arrives(uploads, size, refuses):
    with refuses(InputError):
        uploads.begin("a.csv", size)


def test_a_file_larger_than_the_disk_is_refused_at_once(tmp_path, refuses, monkeypatch):
    uploads = Uploads(tmp_path, max_size=2**60)
    monkeypatch.setattr(
        "core.workspace.uploads.shutil.disk_usage", lambda _: SimpleNamespace(free=75 * 2**30)
    )
    with refuses(StorageError):
        uploads.begin("a.csv", 2**59)


def test_a_complete_upload_is_not_overwritten(uploads, refuses):
    upload = uploads.begin("a.csv", 1)
    uploads.receive(upload, [b"1"])
    with refuses(ConflictError):
        uploads.receive(upload, [b"2"])
    assert uploads.path(upload).read_bytes() == b"1"


def test_two_requests_for_one_upload_do_not_mix(uploads, refuses):
    upload = uploads.begin("a.csv", 4)
    begun, go_on = threading.Event(), threading.Event()

    def slow():
        yield b"12"
        begun.set()
        go_on.wait(10)
        yield b"34"

    first = threading.Thread(target=lambda: uploads.receive(upload, slow()))
    first.start()
    begun.wait(10)
    with refuses(ConflictError):
        uploads.receive(upload, [b"abcd"])
    assert uploads.sweep() == 0
    go_on.set()
    first.join(10)
    assert uploads.path(upload).read_bytes() == b"1234"


@pytest.mark.parametrize("upload", ["../../etc", "..", "", "0123456789ab/../x", "ABCDEF0123456789", "x" * 16])
def test_ids_are_never_paths(uploads, upload):
    for act in (uploads.get, uploads.path, uploads.discard, lambda u: uploads.receive(u, [])):
        with pytest.raises(NotFoundError):
            act(upload)


def test_an_unknown_or_incomplete_upload_has_no_path(uploads, refuses):
    with pytest.raises(NotFoundError):
        uploads.path("0" * 16)
    upload = uploads.begin("a.csv", 3)
    with refuses(ConflictError):
        uploads.path(upload)


def test_discarding_removes_all(uploads, tmp_path):
    upload = uploads.begin("a.csv", 1)
    uploads.receive(upload, [b"1"])
    uploads.discard(upload)
    uploads.discard(upload)
    assert files_in(tmp_path) == []


def test_a_part_nobody_receives_is_swept(uploads, tmp_path):
    upload = uploads.begin("a.csv", 9)
    (tmp_path / "uploads" / upload / "part").write_bytes(b"half")
    (tmp_path / "uploads" / ".0123.456").mkdir()
    assert uploads.sweep() == 0
    for path in (tmp_path / "uploads" / upload / "part", tmp_path / "uploads" / ".0123.456"):
        os.utime(path, (time.time() - 10, time.time() - 10))
    assert uploads.sweep() == 2
    assert files_in(tmp_path) == []


def test_old_uploads_go_unless_they_are_needed(uploads, tmp_path):
    kept, lost, announced = (uploads.begin("a.csv", 1) for _ in range(3))
    for upload in (kept, lost):
        uploads.receive(upload, [b"1"])
    assert uploads.sweep() == 0
    for upload in (kept, lost, announced):
        path = tmp_path / "uploads" / upload / "info.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "created": time.time() - 8 * 86400}))
        os.utime(path.parent, (time.time() - 10, time.time() - 10))
    assert uploads.sweep(keep=[kept]) == 2
    assert [info.id for info in uploads.list()] == [kept]


def test_a_full_disk_is_said_in_words(tmp_path):
    upload_size = 1 << 20
    child = os.fork()
    if child == 0:
        code = 1
        try:
            uploads = Uploads(tmp_path / "uploads", max_size=10 * upload_size)
            upload = uploads.begin("a.csv", upload_size)
            import signal

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (upload_size // 4, upload_size // 4))
            try:
                uploads.receive(upload, [bytes(1 << 16)] * 16)
            except StorageError as error:
                left = files_in(tmp_path)
                code = 0 if "disk is full" in error.message and len(left) == 1 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@given(st.text(max_size=300))
def test_any_name_becomes_one_plain_file_name(name):
    safe = safe_name(name)
    assert safe
    assert not set(safe) & set("/\\\0\n")
    assert safe not in (".", "..")
    assert not safe.startswith(".")
    assert len(safe.encode()) <= 200
    assert safe_name(safe) == safe


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("my traces (1).csv", "my traces (1).csv"),
        ("C:\\Users\\me\\traces.parquet", "traces.parquet"),
        ("../../etc/passwd", "passwd"),
        ("", "file"),
        ("..", "file"),
        (".csv", "csv"),
        ("größe.csv.gz", "größe.csv.gz"),
        ("a\nb.csv", "a_b.csv"),
    ],
)
def test_names_stay_recognisable(name, safe):
    assert safe_name(name) == safe


def test_a_long_name_keeps_its_suffix():
    assert safe_name("é" * 300 + ".csv.gz").endswith(".csv.gz")


def send(uploads, name, content):
    upload = uploads.begin(name, len(content))
    uploads.receive(upload, [content])
    return upload


def test_gathered_files_are_one_upload_until_they_are_separated(uploads):
    made = uploads.gather([send(uploads, "cpu.csv", b"12"), send(uploads, "memory.csv", b"345")])
    (info,) = uploads.list()
    assert (info.id, info.name, info.size, info.complete) == (made, "cpu.csv + memory.csv", 5, True)
    assert uploads.is_joined(made)
    assert [path.read_bytes() for path in uploads.files(made)] == [b"12", b"345"]
    apart = uploads.separate(made)
    assert {uploads.get(one).name: uploads.path(one).read_bytes() for one in apart} == {
        "cpu.csv": b"12",
        "memory.csv": b"345",
    }
    assert len(uploads.list()) == 2
    assert not any(uploads.is_joined(one) for one in (*apart, made))


def test_files_of_one_name_stay_apart_and_many_names_are_counted(uploads, tmp_path, sentence):
    made = uploads.gather([send(uploads, "export.csv", str(n).encode()) for n in range(5)])
    sentence(uploads.get(made).name)
    assert sorted(path.read_bytes() for path in uploads.files(made)) == [b"0", b"1", b"2", b"3", b"4"]
    uploads.discard(made)
    assert files_in(tmp_path) == []


def test_what_has_not_arrived_is_not_gathered(uploads):
    there, waits = send(uploads, "a.csv", b"1"), uploads.begin("b.csv", 5)
    with pytest.raises(ConflictError):
        uploads.gather([there, waits])
    assert [one.id for one in uploads.list()] == [there]
