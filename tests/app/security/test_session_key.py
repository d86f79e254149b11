"""The key that signs sessions, asked for by real processes at once, and by ones that die on the way."""

import subprocess
import sys
from pathlib import Path

import pytest

from app import security as keys
from app.security import KEY_BYTES, session_key

ROOT = Path(__file__).resolve().parents[3]
ASK = """
import sys, pathlib
from app.security import session_key
print("ready", flush=True)
sys.stdin.readline()
print(session_key(pathlib.Path(sys.argv[1])).hex())
"""
DIE = """
import os, pathlib, sys
from app import security as keys
setattr(os if sys.argv[2] == "fsync" else pathlib.Path, sys.argv[2], lambda *_: os._exit(9))
keys.session_key(pathlib.Path(sys.argv[1]))
"""


def start(script, home, *more):
    command = [sys.executable, "-c", script, str(home), *more]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def mode_of(home):
    return (home / "session.key").stat().st_mode & 0o777


def test_the_key_is_made_once_and_readable_by_its_owner_only(tmp_path):
    key = session_key(tmp_path)
    assert len(key) == KEY_BYTES
    assert session_key(tmp_path) == key
    assert mode_of(tmp_path) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["session.key"]


@pytest.mark.parametrize("left", [None, b"", b"short"])
def test_processes_that_ask_at_once_get_one_key(tmp_path, left):
    if left is not None:
        (tmp_path / "session.key").write_bytes(left)
    asking = [start(ASK, tmp_path) for _ in range(6)]
    for process in asking:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in asking:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    got = {process.communicate(timeout=30)[0].strip() for process in asking}
    assert got == {(tmp_path / "session.key").read_bytes().hex()}
    assert len(got.pop()) == 2 * KEY_BYTES
    assert mode_of(tmp_path) == 0o600


@pytest.mark.parametrize("dies_in", ["fsync", "replace"])
@pytest.mark.parametrize("left", [None, b""])
def test_a_kill_while_the_key_is_made_leaves_none_or_a_whole_one(tmp_path, dies_in, left):
    if left is not None:
        (tmp_path / "session.key").write_bytes(left)
    with start(DIE, tmp_path, dies_in) as process:
        assert process.wait(30) == 9
    path = tmp_path / "session.key"
    assert (path.read_bytes() if path.exists() else None) == left
    assert len(session_key(tmp_path)) == KEY_BYTES
    assert [path.name for path in tmp_path.iterdir()] == ["session.key"]


def test_a_key_that_others_could_read_becomes_private(tmp_path):
    path = tmp_path / "session.key"
    path.write_bytes(b"k" * KEY_BYTES)
    path.chmod(0o644)
    assert session_key(tmp_path) == b"k" * KEY_BYTES
    assert mode_of(tmp_path) == 0o600


def test_the_draft_is_never_readable_by_others(tmp_path, monkeypatch):
    seen = []
    sync = keys.os.fsync
    monkeypatch.setattr(
        keys.os, "fsync", lambda handle: seen.append(keys.os.fstat(handle).st_mode & 0o777) or sync(handle)
    )
    session_key(tmp_path)
    assert seen == [0o600]
