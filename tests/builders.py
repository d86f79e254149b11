"""Small makers shared by all tests."""

import numpy as np

from core.live.history.chunks import FINEST, RecordedContainer
from core.live.history.reader import make_traces, read_span
from core.live.history.writer import HistoryWriter
from core.phases import PhaseSettings, fit
from core.sampling.sampler import LossReader, Sampler
from tests.synthetic import synthetic_traces

SIX_JOBS = """
version: 1
name: Six jobs
workers: {count: 2, cores: 2, id: box}
kinds:
  VAE: {work: [20, 60], demand: 2}
drawn: {count: 6}
arrivals: {by: uniform, within: 20}
policies: [fewest, specon, flowcon]
seeds: 3
"""
"""An experiment of three policies that runs in a moment."""


def small_traces(n_executions=4, seed=1, samples=60):
    """A few short synthetic executions."""
    return synthetic_traces(n_executions, seed, samples=samples)[0]


def small_model(traces, **settings):
    """A model that is trained in a moment."""
    return fit(traces, PhaseSettings(**{"phases": 3, "hidden": 4, "epochs": 2, "seed": 7, **settings}))


def write_csv(path, traces):
    """A trace set as a CSV file that is recognised."""
    owner = np.repeat(np.array(traces.ids), np.diff(traces.offsets))
    names = [feature.name for feature in traces.features if feature.role.value in ("cpu", "memory")]
    columns = [traces.column(name) for name in names]
    lines = [",".join(["execution", "time", *names])]
    lines += [
        ",".join([str(name), f"{time:.3f}", *(f"{value:.6g}" for value in values)])
        for name, time, *values in zip(owner, traces.time, *columns, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def remembered(folder, moments):
    """The trace set of samples that went through the history: (when, values of `FIELDS` by container)."""
    known = {name: RecordedContainer(name, name) for _, rows in moments for name in rows}
    writer = HistoryWriter(folder)
    for at, rows in moments:
        writer.add(at, rows, known)
    return make_traces(read_span(folder, FINEST, None, moments[0][0], moments[-1][0]).values(), 1.0)


def demo_rows(space):
    """The demo's labelled containers as a sample shows them, by name."""
    with space.live.engines.host("demo") as host:
        view, _ = Sampler(host, space.live.saved_limits, LossReader(host)).sample()
    return {row.name: row for row in view.rows}
