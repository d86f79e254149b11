"""A model is trained further on what is remembered of containers that it does not know."""

import time

import numpy as np
import pytest

from core.bootstrap import worker_for
from core.errors import ConflictError, NotFoundError
from core.live.history.chunks import RecordedContainer
from core.live.history.writer import HistoryWriter
from core.live.view import LiveFiles
from core.phases import predict
from core.sampling.values import FIELDS
from core.workspace.records import TaskState
from core.workspace.samples import load_samples
from tests.builders import small_model, small_traces
from tests.runtime.kinds_for_tests import until

JOB = RecordedContainer("a" * 64, "unknown-job", "image")


def remember(folder, begin, seconds=300):
    """A container that swings between nothing and much more than any recorded job used."""
    writer, rng = HistoryWriter(folder), np.random.default_rng(2)
    for second in range(seconds):
        row = [np.nan] * len(FIELDS)
        loud = second // 20 % 2
        row[FIELDS.index("cpu")] = 6.0 * loud + rng.random() * 0.1
        row[FIELDS.index("memory")] = (0.5 + 4 * loud) * 2**30
        writer.add(begin + second, {JOB.id: row}, {JOB.id: JOB})


def test_what_is_new_gets_a_phase_of_its_own_and_the_old_ones_keep_their_numbers(workspace):
    traces, model = load_samples(workspace.traces, workspace.models)
    engine, begin = workspace.live.engines.names[0], time.time() - 300
    remember(LiveFiles(workspace.settings.home, engine).history, begin)
    task = workspace.live.recordings.teach(engine, model.id, [JOB.id], begin, time.time())
    worker = worker_for(workspace, threads=1)
    worker.start()
    try:
        info = until(lambda: (now := workspace.tasks.get(task)).state.ended and now, 60)
    finally:
        worker.stop()
    assert info.state is TaskState.DONE, info.error
    made = workspace.models.get(info.result["model"])
    assert made.name == f"{model.name}, trained further"
    assert made.phases == (*model.phases, len(model.phases))
    both = workspace.traces.get(info.result["trace_set"])
    assert made.trace_set_id == both.id
    assert both.name == f"{traces.name}, and more"
    old, new = workspace.models.load(model.id), workspace.models.load(made.id)
    recorded = workspace.traces.load(traces.id)
    assert (predict(old, recorded) == predict(new, recorded)).mean() > 0.95
    own = workspace.traces.execution(both.id, JOB.name)
    assert (predict(new, own) == made.phases[-1]).mean() > 0.2


def test_what_cannot_be_is_refused_when_it_is_asked_for(workspace, refuses):
    _, model = load_samples(workspace.traces, workspace.models)
    engine, now = workspace.live.engines.names[0], time.time()
    with refuses(NotFoundError):
        workspace.live.recordings.teach(engine, model.id, [JOB.id], now - 60, now)
    remember(LiveFiles(workspace.settings.home, engine).history, now - 30, 30)
    alien = workspace.models.add(small_model(small_traces()), name="other", trace_set=None)
    with refuses(ConflictError):
        workspace.live.recordings.teach(engine, alien.id, [JOB.id], now - 60, now)
    with pytest.raises(NotFoundError):
        workspace.live.recordings.teach(engine, "0" * 16, [JOB.id], now - 60, now)
