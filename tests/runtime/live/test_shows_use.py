"""What a policy that steers by use is shown of running containers."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from core.files.phase_models.archive import load_model
from core.sampling import usage_wrapper
from core.sampling.usage_wrapper import UsageWrapper
from core.sampling.values import FIELDS
from core.scheduling.actions import SetLimit
from core.scheduling.model import Job, JobState, Observation, Trigger, Worker
from core.units import MIB
from core.workspace.samples import RECORDED

SECONDS = 12


class Engine:
    """One job, that has the limit it was given; and its container, that uses so much a second."""

    def __init__(self, cores, throttled, *, obeys):
        self.cores, self.throttled, self.obeys = cores, throttled, obeys
        self.second, self.limit = 0, 1.0

    def observe(self):
        job = Job("job", JobState.RUNNING, "w", limit=self.limit)
        return Observation(self.second, float(self.second), Trigger.TICK, (Worker("w", 2.0),), (job,))

    def apply(self, actions):
        self.limit = actions[-1].limit if self.obeys else self.limit
        return ()

    def samples(self):
        row = [0.0] * len(FIELDS)
        for name, value in (
            ("cpu", self.cores),
            ("memory", 700 * MIB),
            ("throttled", self.throttled),
            ("withheld", self.throttled * self.cores),
        ):
            row[FIELDS.index(name)] = value
        return [(1000.0 + self.second, {"container": tuple(row)})]


def usage(monkeypatch, cores, throttled=0.0, limit=None, *, obeys=True):
    """What the job used in the last of some seconds."""
    engine = Engine(cores, throttled, obeys=obeys)
    monkeypatch.setattr(usage_wrapper, "time", SimpleNamespace(time=lambda: 1000.0))
    model = load_model(RECORDED.folder / RECORDED.model)
    shows = UsageWrapper(engine, lambda: {"job": "container"}, engine.samples, 1.0, model, codes=False)
    if limit is not None:
        shows.apply([SetLimit("job", limit)])
    for engine.second in range(SECONDS):
        (job,) = shows.observe().jobs
    assert job.use.time == SECONDS - 1
    return job.use


@pytest.mark.parametrize(("limit", "obeys"), [(None, True), (0.5, False)], ids=["nobody's", "watched"])
def test_a_limit_of_somebody_else_is_part_of_what_is_seen(monkeypatch, limit, obeys):
    plain = usage(monkeypatch, 1.0)
    assert usage(monkeypatch, 1.0, 1.0, limit, obeys=obeys) == replace(plain, throttled=1.0, withheld=1.0)


def test_a_container_that_is_held_back_by_this_run_is_in_the_phase_that_it_would_be_in(monkeypatch):
    free, held = usage(monkeypatch, 1.0), usage(monkeypatch, 0.5, 1.0, limit=0.5)
    calm = usage(monkeypatch, 0.4, limit=0.5)
    assert (held.phase, held.cores, held.throttled) == (free.phase, 0.5, 1.0)
    assert calm.phase != free.phase
    nearly = usage(monkeypatch, 1.9, 1.0, limit=1.0)
    assert nearly.phase == free.phase, "never more than its worker has"
