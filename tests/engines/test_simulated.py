"""The simulated engine sits the exam of every engine; and what is its own."""

import pytest

from core.engines.simulated import simulated
from core.errors import InputError
from core.scheduling.actions import SetThreads, Start
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from tests.contracts.engine_exam import EngineExam


class TestSimulatedEngine(EngineExam):
    """Exact, so nothing is late."""

    def engine(self, *jobs, workers=2):
        specs = tuple(
            JobSpec(
                job.id,
                job.seconds,
                job.arrival,
                values=20,
                steps=20,
                checkpoint_s=0.2 if job.can_migrate else None,
                restore_s=0.3,
                resizable=job.can_resize,
            )
            for job in jobs
        )
        nodes = tuple(WorkerSpec(f"worker-{n}", 1.0) for n in range(workers))
        return simulated(Scenario(nodes, specs), seed=1)


def _one(**job):
    return Scenario((WorkerSpec("w", 2.0),), (JobSpec("j", 10.0, **job),))


def _started(scenario, **settings):
    engine = simulated(scenario, 1, **settings)
    engine.wait(None)
    engine.observe()
    engine.apply([Start("j", "w")])
    return engine


def test_only_who_is_meant_to_sees_the_work_that_is_left():
    for hidden, left in ((True, 6.0), (False, None)):
        engine = _started(_one(), reveal_hidden=hidden)
        engine.wait(2.0)
        seen = engine.observe().jobs[0].hidden
        assert (None if seen is None else seen.work_left) == left


def test_more_threads_than_cores_cost_speed_and_fewer_leave_cores_idle():
    """At k = 4 threads on 2 cores and a penalty of 2.4, each second does 2/(1 + 2.4) core-seconds of work."""
    engine = _started(_one(threads=4, resizable=True))
    engine.wait(3.4)
    assert engine.observe().jobs[0].steps == pytest.approx(200 * 0.2)
    engine.apply([SetThreads("j", 1)])
    engine.wait(4.4)
    seen = engine.observe()
    assert (seen.workers[0].used, seen.jobs[0].threads) == (1.0, 1)
    assert seen.jobs[0].steps == 60


def test_a_second_look_shows_no_news():
    engine = _started(_one())
    engine.wait(2.0)
    first, second = engine.observe(), engine.observe()
    assert (len(first.jobs[0].readings), second.jobs[0].readings) == (80, ())
    assert (second.number, second.time) == (first.number + 1, first.time)


def test_a_negative_seed_is_refused(refuses):
    with refuses(InputError):
        simulated(_one(), -1)
