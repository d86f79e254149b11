"""Time per step at each number of cores, from the series of a run."""

from dataclasses import replace

import pytest

from core.engines.simulated import simulated
from core.experiments.series import Series
from core.experiments.step_times import stages
from core.scheduling.loop import drive
from core.scheduling.policies import POLICIES
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec

JOB = JobSpec("a", 200.0, steps=2000, prepare=1.0, thread_penalty=2.0)


def stages_and_entries(*jobs, pace=0.5):
    """The stages of a run of ``resizes``, and its entries."""
    policy, made = POLICIES["resizes"], Series()
    settings = policy.build_settings({"cores": "2 1 0.5 1 2", "every": 20.0})
    engine = simulated(Scenario((WorkerSpec("w", 2.0),), jobs), 1)
    entries = list(drive(engine, policy, settings, 1, pace))
    for entry in entries:
        made.add(entry)
    return stages(made.to_dict()), entries


@pytest.mark.parametrize(
    ("threads", "speeds"),
    [
        ({"threads": 2}, [2.0, 1 / 3, 0.5 / 3, 1 / 3, 2.0]),
        ({"threads": 1}, [1.0, 1.0, 0.5, 1.0, 1.0]),
        ({"follows": True, "resizable": True}, [2.0, 1.0, 0.5, 1.0, 2.0]),
    ],
    ids=["two", "one", "following"],
)
def test_threads_that_do_not_fit_the_cores_show_in_the_time_per_step(threads, speeds):
    """Two threads on one core lose two seconds for each useful one; one on two cores leaves a core idle."""
    each, _ = stages_and_entries(replace(JOB, **threads))
    assert [stage.limit for stage in each] == [2.0, 1.0, 0.5, 1.0, 2.0]
    seconds_per_step = 199.0 / 2000
    assert [stage.step_seconds for stage in each] == pytest.approx(
        [seconds_per_step / speed for speed in speeds], rel=0.05
    )
    used = [min(stage.limit, threads.get("threads", 2)) for stage in each]
    assert [stage.used for stage in each] == pytest.approx(used, rel=0.01)


def test_every_step_is_in_one_stage_and_jobs_that_say_none_have_no_stages():
    each, entries = stages_and_entries(JOB, replace(JOB, id="b", steps=None), replace(JOB, id="c", work=90.0))
    assert {stage.job for stage in each} == {"a", "c"}
    for name in ("a", "c"):
        mine = [stage for stage in each if stage.job == name]
        looks = [
            job
            for entry in entries
            for job in (*entry.observation.jobs, *entry.observation.ended)
            if job.id == name and job.steps
        ]
        assert sum(stage.steps for stage in mine) == looks[-1].steps - looks[0].steps
        assert [stage.start for stage in mine] == sorted(stage.start for stage in mine)
