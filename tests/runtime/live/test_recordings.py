"""A recording is a pin on the history, and its trace set is cut from it, whatever became of its worker."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from core.bootstrap import worker_for
from core.config import child_environment
from core.errors import Cancelled, ConflictError
from core.live.history.chunks import FINEST, RecordedContainer
from core.live.history.pins import GRACE, Pin, folder_of, pins_of, read_pin, write_pin
from core.live.history.reader import read_span
from core.live.history.writer import HistoryWriter, prune
from core.live.recordings import cut, record
from core.live.view import LiveFiles
from core.phases import predict
from core.sampling.phases import PhaseTracker
from core.sampling.values import FIELDS
from core.workspace.records import TaskState
from core.workspace.samples import load_samples
from tests.runtime.kinds_for_tests import until

ROOT = Path(__file__).parents[3]
ID = "0123456789abcdef"
BEGIN = 1_700_000_400.0
JOBS = {name: RecordedContainer(name, f"job-{name}", "image") for name in ("a", "b")}


def row(cpu, memory=1e9):
    values = dict.fromkeys(FIELDS, math.nan) | {"cpu": cpu, "memory": memory, "throttled": 0.0}
    return tuple(values.values())


def sample(home, engine, seconds, begin=BEGIN, writer=None):
    """Write so many samples of two containers, one a second."""
    writer = writer or HistoryWriter(LiveFiles(home, engine).history)
    for second in range(seconds):
        writer.add(begin + second, {name: row(float(second)) for name in JOBS}, JOBS)
    return writer


def test_only_what_was_chosen_is_cut_from_when_it_started_to_when_it_was_stopped(workspace, refuses):
    home = workspace.settings.home
    sample(home, "box", 50)
    pin = Pin(ID, "box", "night", start=BEGIN + 10, end=BEGIN + 20.5)
    both = cut(home, pin, workspace.models)
    assert both.ids == ("job-a", "job-b")
    assert both.execution("job-b").columns["cpu_cores"].tolist() == list(range(10, 21))
    assert cut(home, replace(pin, containers=("b",)), workspace.models).ids == ("job-b",)
    with refuses(ConflictError):
        cut(home, replace(pin, start=BEGIN + 100, end=BEGIN + 200), workspace.models)


def test_of_recordings_that_are_started_at_once_one_begins(workspace):
    started, refused = [], []
    together = threading.Barrier(8)

    def press(number):
        together.wait()
        try:
            started.append(workspace.live.recordings.record("demo", f"night {number}"))
        except ConflictError as error:
            refused.append(error.message)

    threads = [threading.Thread(target=press, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(started), refused) == (1, ["A recording is already running on demo."] * 7)


def test_a_recording_longer_than_the_history_keeps_every_second(workspace):
    """Its chunks outlive the hour for which seconds are kept, and no longer than until it is cut."""
    home, folder = workspace.settings.home, LiveFiles(workspace.settings.home, "box").history
    write_pin(home, Pin(ID, "box", "night", start=BEGIN + 5))
    os.utime(folder_of(home, ID) / "about.json", (BEGIN + 9000,) * 2)
    writer = HistoryWriter(folder, pins=lambda: [pin.span for pin in pins_of(home, "box")])
    sample(home, "box", 9000, writer=writer)
    (pin,) = pins_of(home, "box")
    assert (pin.is_running(BEGIN + 9000), pin.is_running(BEGIN + 9000 + GRACE)) == (True, False)
    traces = cut(home, pin, workspace.models)
    assert traces.period == 1.0
    assert traces.n_samples == 2 * (9000 - 5)
    assert len(traces.breaks) == 0
    prune(folder, BEGIN + 9000)
    assert (
        min(each.time[0] for each in read_span(folder, FINEST, None, 0.0, BEGIN + 9000).values())
        > BEGIN + 4000
    )


@pytest.mark.slow
def test_phases_are_those_that_were_seen_as_samples_came(workspace):
    home, model = workspace.settings.home, load_samples(workspace.traces, workspace.models)[1]
    rng = np.random.default_rng(5)
    writer, tracker = (
        HistoryWriter(LiveFiles(home, "box").history),
        PhaseTracker(workspace.models.load(model.id)),
    )
    seen = {name: [] for name in JOBS}
    for second in range(60):
        rows = {
            name: tuple(np.float32(row(rng.random(), 1e9 * (1 + second // 20))).tolist()) for name in JOBS
        }
        writer.add(BEGIN + second, rows, JOBS)
        phases = tracker.push(BEGIN + second, rows)
        for name in JOBS:
            seen[name].append(phases.get(name, -1))
    traces = cut(home, Pin(ID, "box", "night", model.id, start=BEGIN, end=BEGIN + 60), workspace.models)
    assert traces.column("phase").tolist() == seen["a"] + seen["b"]
    assert traces.column("phase").tolist() == predict(workspace.models.load(model.id), traces).tolist()


def test_a_task_counts_what_there_is_and_stores_it(workspace):
    home, shown = workspace.settings.home, []
    writer = HistoryWriter(LiveFiles(home, "box").history)

    def say(text):
        writer.add(time.time(), {name: row(1.0) for name in JOBS}, JOBS)
        shown.append((text, read_pin(home, ID)))
        if len(shown) == 6:
            raise Cancelled

    params = {"engine": "box", "name": "night", "containers": ["a"], "recording": ID}
    live = workspace.live
    made = record(home, live.engines, workspace.traces, workspace.models, params, None, say)
    text, pin = shown[-1]
    assert text == "4 samples of 1 container"
    assert (pin.samples, pin.executions, pin.bytes, pin.end) == (4, 1, 4 * 64, None)
    assert workspace.traces.load(made).ids == ("job-a",)
    assert not folder_of(home, ID).exists()


def earlier(folder, fields, about):
    """A recording as the version before left it: two samples of one container in phases 1 and 2."""
    count = 8 if fields is None else len(fields)
    kind = np.dtype([("container", "<i4"), ("phase", "<i4"), ("at", "<f8"), ("values", "<f4", (count,))])
    samples = np.zeros(2, kind)
    samples["at"], samples["phase"] = [BEGIN, BEGIN + 1], [1, 2]
    samples["values"] = np.arange(2)[:, None] + np.arange(count)
    folder.mkdir(parents=True)
    (folder / "samples.bin").write_bytes(samples.tobytes() + b"half a record")
    (folder / "containers.jsonl").write_bytes(b'{"id":"a","name":"job-a","image":"img"}\n{"id":"b","na')
    (folder / "about.json").write_bytes(orjson.dumps(about))
    if fields is not None:
        (folder / "fields.json").write_bytes(orjson.dumps(fields))


@pytest.mark.parametrize("fields", [None, FIELDS[:11]])
def test_a_recording_of_an_earlier_version_is_listed_and_finished(workspace, fields):
    home = workspace.settings.home
    earlier(folder_of(home, ID), fields, {"engine": "box", "name": "old", "model": "f" * 16})
    (left,) = workspace.live.recordings.unfinished()
    assert (left.name, left.samples, left.containers, left.recording) == ("old", 2, 1, ID)
    task = workspace.live.recordings.finish(ID)
    assert workspace.live.recordings.unfinished() == ()
    worker = worker_for(workspace, threads=1)
    worker.start()
    try:
        done = until(lambda: (now := workspace.tasks.get(task)).state.ended and now, 60)
    finally:
        worker.stop()
    assert done.state is TaskState.DONE, done.error
    traces = workspace.traces.load(done.result["trace_set"])
    assert traces.column("cpu_cores").tolist() == [0.0, 1.0]
    assert traces.column("network_bytes_per_second").tolist() == [7.0, 8.0]
    assert traces.column("phase").tolist() == [1.0, 2.0], "its model is gone, so they are those it recorded"
    assert ("gpu_share" in [feature.name for feature in traces.features]) == (fields is not None)


def test_a_recording_of_an_earlier_version_goes_on_in_the_history(workspace):
    home = workspace.settings.home
    earlier(folder_of(home, ID), FIELDS[:11], {"engine": "box", "name": "old", "model": None})
    os.utime(folder_of(home, ID) / "about.json", (BEGIN, BEGIN))
    sample(home, "box", 6)
    pin = replace(read_pin(home, ID), end=BEGIN + 10, containers=("a",))
    assert cut(home, pin, workspace.models).column("cpu_cores").tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


_WORKER = """
import time
from core.bootstrap import open_workspace, worker_for
from core.config import load_settings
space = open_workspace(load_settings())
worker_for(space, threads=1).start()
while True:
    space.live.view.request_view("demo")
    time.sleep(0.5)
"""


@pytest.mark.slow
def test_a_killed_worker_loses_no_more_than_the_sample_that_was_being_written(workspace):
    home = workspace.settings.home
    task = workspace.live.recordings.record("demo", "cut short")
    worker = subprocess.Popen(
        [sys.executable, "-c", _WORKER], env=child_environment(workspace.settings), cwd=ROOT
    )
    try:
        until(lambda: pins_of(home) and pins_of(home)[0].samples >= 4, 60)
        killed = time.time()
        worker.send_signal(signal.SIGKILL)
    finally:
        worker.kill()
        worker.wait(10)
    assert workspace.tasks.get(task).state is TaskState.INTERRUPTED
    (left,) = workspace.live.recordings.unfinished()
    stored = read_span(LiveFiles(home, "demo").history, FINEST, None, left.since, killed + 1)
    newest = max(each.time[-1] for each in stored.values())
    assert newest > killed - 1.6, "at most one sample, and the present second"
    traces = cut(home, read_pin(home, left.recording), workspace.models)
    assert traces.n_samples == sum(len(each.time) for each in stored.values()) >= left.samples
