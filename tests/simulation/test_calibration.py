"""Constants fitted from a recorded run: the truth comes back where it is known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.engines import simulated as engine
from core.errors import InputError
from core.files.ledger import unpack
from core.scheduling.actions import Refuse, SetLimit, Start
from core.scheduling.loop import drive
from core.scheduling.policies import POLICIES
from core.simulation.calibration import calibrate, fit_curve, golden_section
from core.simulation.loss import FAMILIES, Replayed, curve
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from tests.simulation.making import ends, run, scripted

DATA = Path(__file__).parents[1] / "data"
NODE = (WorkerSpec("node", 2.0),)
JOBS = (
    JobSpec("a", 120.0, loss=curve("VAE")),
    JobSpec("b", 60.0, 15.0, demand=0.4, loss=curve("GRU", "hyperbolic"), request=1.0),
    JobSpec("c", 90.0, 30.0, loss=curve("Bi-RNN", "weibull"), values=150, steps=None),
)


def recorded(**rules):
    return [entry.observation for entry in run(Scenario(NODE, JOBS, **rules))]


@pytest.mark.parametrize("contention", ["count", "effective"])
@pytest.mark.parametrize("gamma", [0.0, 0.08])
def test_the_truth_comes_back(gamma, contention):
    found = calibrate(recorded(gamma=gamma, contention=contention), contention)
    assert found.scenario.gamma == pytest.approx(gamma, abs=0.001)
    for fitted, true in zip(found.scenario.jobs, JOBS, strict=True):
        assert fitted.work == pytest.approx(true.work, rel=0.002)
        assert (fitted.id, fitted.arrival, fitted.values) == (true.id, true.arrival, true.values)
        assert (fitted.steps, fitted.request) == (true.steps, true.request)
        x = np.linspace(0, 1, 50)
        assert fitted.loss.level(x) == pytest.approx(true.loss.level(x), abs=0.02)
        assert fitted.noise_sigma == pytest.approx(true.noise_sigma, rel=0.5)
    assert found.scenario.jobs[1].demand == pytest.approx(0.4, rel=0.01)
    assert found.scenario.workers == NODE
    assert (found.gamma_known, found.left_out) == (True, ())
    assert found.progress_error < 1e-3


def test_what_comes_before_and_after_training_comes_back():
    slow = JobSpec("slow", 120.0, loss=curve("VAE"), prepare=30.0, finish=6.0)
    jobs = (slow, replace(JOBS[2], prepare=9.0))
    found = calibrate([entry.observation for entry in run(Scenario(NODE, jobs, gamma=0.05))])
    assert found.scenario.gamma == pytest.approx(0.05, abs=0.001)
    for fitted, true in zip(found.scenario.jobs, jobs, strict=True):
        times = (fitted.work, fitted.prepare, fitted.finish)
        assert times == pytest.approx((true.work, true.prepare, true.finish), abs=0.1)
        x = np.linspace(0, 1, 50)
        assert fitted.loss.level(x) == pytest.approx(true.loss.level(x), abs=0.02)


def real(name):
    """Observations of containers in free competition, every two seconds, and how long each job took."""
    seen = [entry.observation for entry in unpack((DATA / name).read_bytes())]
    return seen, {job.id: each.time - job.arrived for each in seen for job in each.ended}


def simulated(scenario):
    ended = ends(run(scenario))
    return {job.id: ended[job.id] - job.arrival for job in scenario.jobs}


def test_three_real_jobs_end_in_the_simulator_as_they_did():
    """While a container is made, and in the moment of its end, it uses less than it could."""
    seen, took = real("three_jobs_on_docker.ledger")
    found = calibrate(seen)
    assert [job.demand for job in found.scenario.jobs] == [None, None, None]
    prepared = [job.prepare / job.work for job in found.scenario.jobs]
    assert prepared == pytest.approx([0.13, 0.17, 0.54], abs=0.02)
    assert max(found.curve_errors) < 0.05
    assert simulated(found.scenario) == pytest.approx(took, rel=0.03)


def test_whoever_asks_for_a_whole_machine_is_not_refused_where_the_host_keeps_some_for_itself():
    scenario = calibrate(real("eight_jobs_on_docker.ledger")[0]).scenario
    asking = replace(scenario, jobs=tuple(replace(job, request=1.0) for job in scenario.jobs))
    elastic = POLICIES["elastic"]
    entries = list(
        drive(engine.simulated(asking, 1), elastic, elastic.build_settings({"admission": "strict"}), 1)
    )
    assert not [action for entry in entries for action in entry.actions if isinstance(action, Refuse)]


def test_what_a_host_keeps_for_itself_is_no_demand_of_eight_real_jobs():
    """Two processors, busy for the whole run, gave the jobs 0.96 of themselves."""
    seen, took = real("eight_jobs_on_docker.ledger")
    scenario = calibrate(seen).scenario
    assert [job.demand for job in scenario.jobs] == [None] * 8
    assert [worker.cores for worker in scenario.workers] == [1.0, 1.0], "what policies reckon with"
    assert [worker.for_jobs for worker in scenario.workers] == pytest.approx([0.96, 0.96], abs=0.03)
    start = {job.id: job.worker for each in seen for job in each.jobs if job.worker}
    placed = scripted([], {name: Start(name, worker) for name, worker in start.items()})
    ended = ends(run(scenario, placed))
    found = {job.id: ended[job.id] - job.arrival for job in scenario.jobs}
    assert found == pytest.approx(took, rel=0.12)
    assert sum(found.values()) == pytest.approx(sum(took.values()), rel=0.04)


def test_a_run_with_a_policy_is_predicted_from_one_without():
    script = scripted(
        [(40.0, SetLimit("a", 0.3)), (70.0, SetLimit("a", None))],
        {job.id: Start(job.id, "node") for job in JOBS},
    )
    truth = ends(run(Scenario(NODE, JOBS, gamma=0.08), script))
    predicted = ends(run(calibrate(recorded(gamma=0.08)).scenario, script, seed=9))
    assert predicted == pytest.approx(truth, rel=0.005)


STATIC = tuple(replace(job, demand=None, threads=2, thread_penalty=3.1) for job in JOBS)


ONE_THREAD = JobSpec("one", 60.0, 5.0, loss=curve("GRU"), threads=1)


@pytest.mark.parametrize("gamma", [0.0, 0.08])
@pytest.mark.parametrize("prepare", [0.0, 20.0])
def test_what_too_many_threads_cost_comes_back(gamma, prepare):
    """Two threads each on two cores: right alone, one too many for each core beside others."""
    jobs = (*(replace(job, prepare=prepare) for job in STATIC), ONE_THREAD)
    found = calibrate([entry.observation for entry in run(Scenario(NODE, jobs, gamma=gamma))])
    assert (found.gamma_known, found.penalty_known) == (True, True)
    assert found.scenario.gamma == pytest.approx(gamma, abs=0.005)
    for fitted, true in zip(found.scenario.jobs, sorted(jobs, key=lambda job: job.arrival), strict=True):
        assert (fitted.id, fitted.threads, fitted.demand) == (true.id, true.threads, None)
        assert fitted.thread_penalty == pytest.approx(3.1, rel=0.02)
        assert fitted.work == pytest.approx(true.work, rel=0.01)
        assert fitted.prepare == pytest.approx(true.prepare, abs=0.4)


def test_what_only_comes_with_threads_too_many_is_put_down_to_them():
    """Whoever had neighbours had threads too many as well: γ 0.08 and p 3.1 look like p 3.1 · 1.16 + 0.16."""
    seen = run(Scenario(NODE, STATIC, gamma=0.08))
    found = calibrate([entry.observation for entry in seen])
    assert (found.gamma_known, found.scenario.gamma) == (False, 0.0)
    assert 3.1 < found.scenario.jobs[0].thread_penalty < 3.1 * 1.16 + 0.16
    assert ends(run(found.scenario)) == pytest.approx(ends(seen), rel=0.01)


def test_what_threads_cost_is_not_claimed_where_nothing_shows_it():
    found = calibrate(recorded(gamma=0.08))
    assert not found.penalty_known
    assert {job.thread_penalty for job in found.scenario.jobs} == {2.4}


def test_gamma_is_not_claimed_where_nothing_shows_it():
    alone = [entry.observation for entry in run(Scenario(NODE, JOBS[:1], gamma=0.5))]
    assert (calibrate(alone).gamma_known, calibrate(alone).scenario.gamma) == (False, 0.0)


def test_a_run_without_values_says_so(refuses):
    with refuses(InputError):
        calibrate([e.observation for e in run(Scenario(NODE, (JobSpec("j", 5.0, values=3),)))])


def test_a_job_that_failed_is_left_out():
    jobs = (JOBS[0], JobSpec("crashed", 50.0, crash_at=0.5))
    found = calibrate([entry.observation for entry in run(Scenario(NODE, jobs))])
    assert found.left_out == ("crashed",)
    assert [job.id for job in found.scenario.jobs] == ["a"]


def test_a_job_that_printed_everything_at_once_is_left_out():
    seen = recorded()
    (last,) = (each for each in seen if "a" in {job.id for job in each.ended})
    at_once = tuple((last.time, value) for value in (1.0, 0.5, 0.3, 0.2, 0.1))

    def changed(job, readings):
        return replace(job, readings=readings) if job.id == "a" else job

    told = [
        replace(
            each,
            jobs=tuple(changed(job, ()) for job in each.jobs),
            ended=tuple(changed(job, at_once) for job in each.ended),
        )
        for each in seen
    ]
    found = calibrate(told)
    assert found.left_out == ("a",)
    assert [job.id for job in found.scenario.jobs] == ["b", "c"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("model", ["VAE", "Bi-RNN", "GRU"])
def test_a_family_is_recognised(family, model):
    x = np.arange(1, 201) / 200
    found = fit_curve(x, 7.5 * curve(model, family).level(x))
    assert found.family == family
    assert found.error < 1e-3
    assert found.curve.level(x) == pytest.approx(curve(model, family).level(x), abs=2e-3)


def test_what_no_family_describes_is_replayed():
    x = np.arange(1, 101) / 100
    values = np.where(x < 0.5, 2.0, 1.0) + 0.3 * np.sin(20 * x)
    found = fit_curve(x, values)
    assert (found.family, type(found.curve)) == ("replayed", Replayed)
    assert found.curve.level(x) == pytest.approx(values / values.max())


def test_the_golden_section_finds_a_valley():
    assert golden_section(lambda x: (x - 0.3) ** 2, 0.0, 2.0) == pytest.approx(0.3, abs=1e-6)


def with_threads(scenario, threads):
    """The same jobs with so many threads, or with threads that follow for None."""
    follows = threads is None
    jobs = (replace(job, threads=threads, resizable=follows, follows=follows) for job in scenario.jobs)
    return replace(scenario, jobs=tuple(jobs))


def test_what_threads_cost_is_predicted_from_runs_in_which_they_stayed():
    """Five real runs of three jobs with two threads each on two cores.

    Following took 12.9 instead of 48.2 s and one thread each 13.3 s, in the mean (docs/docker/measured.md).
    """
    took, predicted = {2: [], None: []}, {2: [], None: [], 1: []}
    for repeat in range(1, 6):
        seen, alike = real(f"threads_on_docker/static-{repeat}.ledger")
        took[2] += alike.values()
        took[None] += real(f"threads_on_docker/following-{repeat}.ledger")[1].values()
        found = calibrate(seen)
        assert not found.gamma_known, "two threads too many in all come with every neighbour"
        for threads in predicted:
            predicted[threads] += simulated(with_threads(found.scenario, threads)).values()
    assert (np.mean(took[2]), np.mean(took[None])) == pytest.approx((48.2, 12.9), abs=0.05)
    assert np.mean(predicted[2]) == pytest.approx(48.2, rel=0.05)
    assert np.mean(predicted[None]) == pytest.approx(12.9, rel=0.1)
    assert np.mean(predicted[1]) == pytest.approx(13.3, rel=0.1)
