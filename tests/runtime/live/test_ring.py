"""The ring of the last minutes: what is read is what was written, whole, in order, and for long enough."""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.sampling.ring_buffer import ROW, TOTALS, RingWriter, read_ring

if TYPE_CHECKING:
    from pathlib import Path

NAN = float("nan")


def row(value: float) -> list[float]:
    return [value + at for at in range(len(ROW))]


def test_rows_are_read_as_they_were_written(tmp_path: Path):
    ring = RingWriter(tmp_path / "ring", length=10)
    for at in range(4):
        ring.append(100.0 + at, {"a": row(at), TOTALS: row(10 * at)})
    found = read_ring(tmp_path / "ring", ["a", TOTALS, "b"], 60.0)
    assert set(found) == {"a", TOTALS}
    assert found["a"].time.tolist() == [100, 101, 102, 103]
    assert found["a"].values.tolist() == [row(at) for at in range(4)]
    assert found[TOTALS].values[:, 0].tolist() == [0, 10, 20, 30]


def test_a_ring_has_its_room_on_the_disk_before_it_is_mapped(tmp_path: Path, monkeypatch, refuses):
    """Writing into a hole of a mapped file on a full disk kills the process."""
    ring = RingWriter(tmp_path / "ring", length=100)
    found = (tmp_path / "ring").stat()
    assert found.st_blocks * 512 >= found.st_size
    ring.append(1.0, {"a": row(1)})

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with refuses(OSError):
        ring.append(2.0, {f"c{n}": row(n) for n in range(100)})
    assert [path.name for path in tmp_path.iterdir()] == ["ring"]
    assert read_ring(tmp_path / "ring", ["a"], 60.0)["a"].time.tolist() == [1.0]


def test_only_the_newest_rows_stay(tmp_path: Path):
    ring = RingWriter(tmp_path / "ring", length=5)
    for at in range(13):
        ring.append(float(at), {"a": row(at)})
    assert read_ring(tmp_path / "ring", ["a"], 60.0)["a"].time.tolist() == [8, 9, 10, 11, 12]
    assert read_ring(tmp_path / "ring", ["a"], 2.0)["a"].time.tolist() == [10, 11, 12]


def test_a_container_begins_where_it_was_first_seen_and_has_gaps_where_it_was_not(tmp_path: Path):
    ring = RingWriter(tmp_path / "ring", length=10)
    for at, rows in enumerate(({"a": row(1)}, {"b": row(2)}, {"a": row(3)}, {"a": row(4), "b": row(5)})):
        ring.append(float(at), rows)
    found = read_ring(tmp_path / "ring", ["b"], 60.0)["b"]
    assert found.time.tolist() == [1, 2, 3]
    assert np.isnan(found.values[1]).all()
    assert found.values[2].tolist() == row(5)


def test_the_room_grows_and_is_used_again(tmp_path: Path):
    ring = RingWriter(tmp_path / "ring", length=4, capacity=2)
    for at in range(40):
        ring.append(float(at), {f"c{at}": row(at)})
    size = (tmp_path / "ring").stat().st_size
    found = read_ring(tmp_path / "ring", [f"c{at}" for at in range(40)], 60.0)
    assert set(found) == {"c36", "c37", "c38", "c39"}
    assert found["c37"].values[0].tolist() == row(37)
    for at in range(40, 80):
        ring.append(float(at), {f"c{at}": row(at)})
    assert (tmp_path / "ring").stat().st_size == size


def test_a_container_comes_back_just_when_its_last_row_goes(tmp_path: Path):
    ring = RingWriter(tmp_path / "ring", length=3, capacity=1)
    for at, rows in enumerate(({"a": row(1)}, {}, {}, {"a": row(2)}, {"b": row(3)})):
        ring.append(float(at), rows)
    found = read_ring(tmp_path / "ring", ["a", "b"], 60.0)
    assert found["a"].time.tolist() == [3, 4]
    assert found["a"].values[0].tolist() == row(2)
    assert found["b"].values.tolist() == [row(3)]


def test_a_container_that_was_forgotten_comes_back_in_another_place(tmp_path: Path):
    ring = RingWriter(tmp_path / "ring", length=2, capacity=2)
    for at, rows in enumerate(({"a": row(1), "b": row(2)}, {}, {}, {"b": row(3)})):
        ring.append(float(at), rows)
    assert set(read_ring(tmp_path / "ring", ["a", "b"], 60.0)) == {"b"}
    assert read_ring(tmp_path / "ring", ["b"], 60.0)["b"].values.tolist() == [row(3)]


def test_a_ring_goes_on_after_its_writer_was_replaced(tmp_path: Path):
    RingWriter(tmp_path / "ring", length=5).append(1.0, {"a": row(1)})
    RingWriter(tmp_path / "ring", length=5).append(9.0, {"a": row(2), "b": row(3)})
    found = read_ring(tmp_path / "ring", ["a", "b"], 60.0)
    assert found["a"].time.tolist() == [1, 9]
    assert found["b"].values.tolist() == [row(3)]


def test_a_ring_whose_writer_died_in_the_middle_of_a_row_is_not_read_and_begins_anew(tmp_path: Path):
    ring = RingWriter(tmp_path / "ring", length=5)
    ring.append(1.0, {"a": row(1)})
    ring._parts.head["turn"] += 1
    assert read_ring(tmp_path / "ring", ["a"], 60.0) == {}
    RingWriter(tmp_path / "ring", length=5).append(2.0, {"a": row(7)})
    assert read_ring(tmp_path / "ring", ["a"], 60.0)["a"].values.tolist() == [row(7)]


def test_no_ring_and_no_row_give_nothing(tmp_path: Path):
    assert read_ring(tmp_path / "ring", ["a"], 60.0) == {}
    RingWriter(tmp_path / "ring")
    assert read_ring(tmp_path / "ring", ["a"], 60.0) == {}
    (tmp_path / "ring").write_bytes(b"no ring at all, but long enough to hold the head of one")
    assert read_ring(tmp_path / "ring", ["a"], 60.0) == {}


def test_a_reader_never_sees_half_a_row(tmp_path: Path):
    """Every row holds one number throughout, so a torn one would show two."""
    path, stop = tmp_path / "ring", threading.Event()
    names = [f"c{at}" for at in range(40)]
    ring = RingWriter(path, length=20)
    ring.append(0.0, {name: [0.0] * len(ROW) for name in names})

    def write() -> None:
        at = 0.0
        while not stop.is_set():
            at += 1.0
            ring.append(at, {name: [at] * len(ROW) for name in names})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        whole = 0
        for _ in range(300):
            found = read_ring(path, names, 1000.0)
            for past in found.values():
                assert (past.values == past.time[:, None].astype(np.float32)).all()
            whole += len(found) == len(names)
    finally:
        stop.set()
        writer.join()
    assert whole > 0


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["a", "b", "c", "d"]),
            st.floats(-1e6, 1e6, width=32),
            max_size=4,
        ),
        max_size=20,
    )
)
def test_any_rows_come_back(tmp_path_factory, rows):
    path, length = tmp_path_factory.mktemp("ring") / "ring", 7
    ring = RingWriter(path, length=length, capacity=1)
    for at, values in enumerate(rows):
        ring.append(float(at), {name: [value] * len(ROW) for name, value in values.items()})
    kept = list(enumerate(rows))[-length:]
    found = read_ring(path, ["a", "b", "c", "d"], 1e9)
    for name in "abcd":
        seen = [(at, values[name]) for at, values in kept if name in values]
        past = found.get(name)
        there = (
            []
            if past is None
            else [
                (at, value)
                for at, value in zip(past.time, past.values[:, 0], strict=True)
                if np.isfinite(value)
            ]
        )
        assert there == seen
