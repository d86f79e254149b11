"""Steering in the frame: what is asked for, that it replays, and what a run adds up to."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from core.files.ledger import pack, unpack
from core.provisioning.evaluation.metrics import tally, under_time_0
from core.provisioning.fleet import Resource
from core.provisioning.policies import POLICIES
from core.provisioning.policy import fit_policy
from core.scheduling.actions import SetLimit, SetMemory
from core.scheduling.loop import drive, replay
from core.scheduling.model import Failure, Job, JobState, Observation, Trigger, Use, Worker
from core.scheduling.policies.autopilot import AUTOPILOT, ReadySettings
from core.scheduling.policies.autopilot.policy import UNFAMILIAR_RULE
from core.scheduling.policies.autopilot.settings import FittedPolicy, Growth
from core.scheduling.policies.autopilot.steering_evidence import EvidenceBook
from core.units import GIB
from tests.provisioning.making import demand_of, random_demand

CYCLE = 5.0
NEVER_GROWS = Growth(np.zeros(1), np.ones(1), 1e6)


def fitted(policy="prev.step.max", fallback=None):
    cpu, memory = (
        fit_policy(POLICIES[policy], random_demand(11, 8, cycle=CYCLE, resource=each)).adviser
        for each in (Resource.CPU, Resource.MEMORY)
    )
    other = None if fallback is None else fitted(fallback)
    return FittedPolicy(policy, CYCLE, 1.0, cpu, memory, other, NEVER_GROWS)


class RecordedEngine:
    """An engine that shows recorded samples, second by second, and remembers what it was asked to do.

    Parameters
    ----------
    cores, memory
        Of each container, by second.
    limits
        What they have at first, in cores and bytes.
    refuses
        Which actions it refuses, by their number.
    obeys
        Whether limits are set, as they are in control.
    """

    def __init__(self, cores, memory=None, limits=(4.0, 16 * GIB), refuses=(), *, obeys=False):
        self.cores, self.limits, self.refuses = cores, dict.fromkeys(cores, limits), set(refuses)
        self.obeys, self.kills, self.strange = obeys, {}, {}
        self.memory = memory or {name: [1.0 * GIB] * len(each) for name, each in cores.items()}
        self.second, self.number, self.asked, self.failures = -1, 0, [], ()

    @property
    def finished(self):
        return self.second + 1 >= max(map(len, self.cores.values()))

    def wait(self, until):  # noqa: ARG002 - the next second, whenever that is
        self.second += 1

    def observe(self):
        jobs = tuple(
            Job(
                name, JobState.RUNNING, "w", limit=self.limits[name][0], memory_limit=self.limits[name][1],
                use=Use(
                    float(self.second), each[self.second], self.memory[name][self.second], phase=1,
                    strange=self.second in self.strange.get(name, ())
                ),
                kills=sum(second <= self.second for second in self.kills.get(name, ()))
            )
            for name, each in self.cores.items()
            if self.second < len(each)
        )  # fmt: skip
        seen = Observation(
            self.number, float(self.second), Trigger.TICK, (Worker("w", 8.0),), jobs, (), self.failures
        )
        self.number += 1
        return seen

    def apply(self, actions):
        failures = []
        for action in actions:
            if len(self.asked) in self.refuses:
                failures.append(Failure(action, "No."))
            elif self.obeys and isinstance(action, SetLimit):
                self.limits[action.job] = (action.limit, self.limits[action.job][1])
            elif self.obeys and isinstance(action, SetMemory):
                self.limits[action.job] = (self.limits[action.job][0], action.limit)
            self.asked.append(action)
        self.failures = tuple(failures)
        return self.failures


def chosen_with(policy="prev.step.max", fallback=None, **chosen):
    return ReadySettings(**asdict(AUTOPILOT.build_settings(chosen)), fitted=fitted(policy, fallback))


def run(engine, *, policy="prev.step.max", **chosen):
    return list(drive(engine, AUTOPILOT, chosen_with(policy, **chosen), 1))


CORES = {"a": [1.0] * 5 + [0.5] * 5 + [3.0] * 6, "b": [2.0] * 16}


def test_each_container_is_asked_for_what_its_cycle_needs(sentence):
    engine = RecordedEngine(CORES)
    entries = run(engine)
    asked = [(action.job, action.limit) for action in engine.asked if action.job == "a"]
    assert asked[1:] == [("a", 1.0), ("a", 0.5), ("a", 3.0)], "after the cold start"
    assert all(isinstance(action, SetLimit) for action in engine.asked), "memory only if that is asked for"
    said = [reason for entry in entries for reason in entry.reasons if reason.job == "a"]
    sentence(said[1].text)


def test_a_run_replays_from_its_ledger():
    entries = run(RecordedEngine(CORES), policy="phasedock", memory=True)
    again = unpack(pack(entries))
    assert again == tuple(entries)
    assert list(replay(AUTOPILOT, chosen_with("phasedock", memory=True), 1, again)) == []


def test_what_was_refused_is_asked_for_again():
    engine = RecordedEngine({"a": [1.0] * 8}, refuses={0, 1})
    run(engine)
    first = [action.limit for action in engine.asked]
    assert len(set(first[:3])) == 1
    assert first[3:] == [1.0]


def test_memory_is_steered_where_that_is_chosen():
    engine = RecordedEngine({"a": [1.0] * 14}, {"a": [2 * GIB] * 14})
    run(engine, memory=True)
    (action,) = [each for each in engine.asked if isinstance(each, SetMemory)]
    assert action.limit == pytest.approx(2 * GIB * 1.15 + 32 * 2**20)


def test_memory_that_is_not_measured_is_not_steered():
    engine = RecordedEngine({"a": [1.0] * 28}, {"a": [None] * 14 + [2 * GIB] * 14})
    run(engine, memory=True)
    (action,) = [each for each in engine.asked if isinstance(each, SetMemory)]
    assert action.limit == pytest.approx(2 * GIB * 1.15 + 32 * 2**20)
    unknown = RecordedEngine({"a": [1.0] * 14}, {"a": [None] * 14})
    run(unknown, memory=True)
    assert not any(isinstance(each, SetMemory) for each in unknown.asked)


def test_a_book_adds_up_what_an_evaluation_says():
    rng = np.random.default_rng(3)
    cores = {name: rng.gamma(4, 0.3, 60).tolist() for name in ("a", "b", "c")}
    book = EvidenceBook()
    for entry in run(RecordedEngine(cores)):
        book.add_entry(entry)
    found = book.evidence()
    demand = demand_of(list(cores.values()), cycle=CYCLE)
    policy = fit_policy(POLICIES["prev.step.max"], random_demand(11, 8, cycle=CYCLE))
    given = np.maximum(policy(demand), 0.05)
    later = demand.fleet.time > 0  # what the first sample used was used before anything could be decided
    short = float((demand.values > given)[later].mean())
    assert found.short_share == pytest.approx(short)
    assert found.seconds == pytest.approx(3 * 59)
    # a limit decided at a sample holds from then on, as an allocation is for the sample that comes
    assert found.freed_cores == pytest.approx(3 * (4.0 - given[later].mean()))
    assert float(under_time_0(tally(demand, given).pooled())[0]) == pytest.approx(short, abs=0.05)


@pytest.mark.parametrize("obeys", [False, True], ids=["watch", "control"])
def test_where_nobody_set_a_limit_the_most_that_was_used_is_what_it_has(obeys):
    book = EvidenceBook()
    for entry in run(RecordedEngine({"a": [1.0] * 5 + [2.0] * 6}, limits=(None, None), obeys=obeys)):
        book.add_entry(entry)
    assert book.evidence().freed_cores_now == pytest.approx(0.0)


def test_watch_also_writes_down_that_a_container_would_have_its_own_limit_again():
    book = EvidenceBook()
    for entry in run(RecordedEngine({"a": [1.0] * 10 + [4.0] * 10})):
        book.add_entry(entry)
    found = book.evidence()
    assert found.freed_cores_now == 0.0
    assert found.short_share == pytest.approx(5 / 19), "until the next cycle"


@pytest.mark.parametrize(("limit", "withheld", "short"), [(2.0, 0.0, 0.0), (2.0, 0.1, 1.0), (8.0, 0.1, 0.0)])
def test_a_container_that_is_held_back_is_short_where_it_would_use_more_on_that_machine(
    limit, withheld, short
):
    """Also where it has the limit that was decided because it had it before: so watch predicts control."""
    book = EvidenceBook()
    engine = RecordedEngine({"a": [limit] * 12}, limits=(limit, 16 * GIB))
    for entry in run(engine)[6:]:  # after the cold start
        jobs = tuple(replace(job, use=replace(job.use, withheld=withheld)) for job in entry.observation.jobs)
        book.add_entry(replace(entry, observation=replace(entry.observation, jobs=jobs)))
    assert book.evidence().short_share == short


def test_a_sample_that_comes_soon_after_another_makes_no_gaps_of_all_others():
    book = EvidenceBook()
    for entry in run(RecordedEngine({"a": [1.0] * 11})):
        second = entry.observation.time
        book.add_entry(at(entry, 4.3 if second == 5.0 else second))
    assert book.evidence().seconds == pytest.approx(10.0)


def at(entry, moment):
    """An entry whose samples are of another moment."""
    jobs = tuple(replace(job, use=replace(job.use, time=moment)) for job in entry.observation.jobs)
    return replace(entry, observation=replace(entry.observation, jobs=jobs))


def test_containers_that_come_and_go_are_remembered():
    book = EvidenceBook()
    entries = run(RecordedEngine({"short": [1.0] * 8, "long": [1.0] * 12}, obeys=True))
    held = [
        replace(entry, observation=replace(entry.observation, jobs=tuple(
            replace(job, use=replace(job.use, throttled=0.5, withheld=1.0)) if job.id == "short" else job
            for job in entry.observation.jobs
        )))
        for entry in entries
    ]  # fmt: skip
    for entry in held:
        book.add_entry(entry)
    found = book.evidence()
    assert (found.worst.name, found.worst.short_share) == ("short", 3 / 7), "once it has what it uses"
    assert found.freed_cores_now == 3.0, "of those that run"
    assert found.seconds == 7 + 11
    assert found.held_back_share == pytest.approx(0.5 * 7 / 18)


def test_a_container_that_ran_out_of_memory_has_its_limits_back_and_is_left_alone():
    engine = RecordedEngine(
        {"a": [1.0] * 40, "b": [1.0] * 40}, {name: [1.0 * GIB] * 40 for name in "ab"}, obeys=True
    )
    engine.kills = {"a": [20]}
    entries = run(engine, memory=True)
    before, after = ({job.id: job for job in entries[at].observation.jobs} for at in (19, -1))
    assert before["a"].limit == 1.0
    assert before["a"].memory_limit < 2 * GIB
    assert (after["a"].limit, after["a"].memory_limit) == (4.0, 16 * GIB)
    assert (after["b"].limit, after["b"].memory_limit) == (before["b"].limit, before["b"].memory_limit)
    said = [reason for entry in entries for reason in entry.reasons if "ran out of memory" in reason.text]
    assert [(each.job, each.rule) for each in said] == [("a", "autopilot, out of memory")]
    book = EvidenceBook()
    for entry in entries:
        book.add_entry(entry)
    assert (book.evidence().left, book.evidence().killed) == (("a",), 1)


def test_limits_that_are_put_back_after_running_out_of_memory_are_asked_for_until_they_are_there():
    engine = RecordedEngine({"a": [1.0] * 40}, {"a": [1.0 * GIB] * 40}, obeys=True)
    engine.kills = {"a": [20]}
    counted = RecordedEngine({"a": [1.0] * 20}, {"a": [1.0 * GIB] * 20}, obeys=True)
    run(counted, memory=True)
    engine.refuses = {len(counted.asked), len(counted.asked) + 1}
    run(engine, memory=True)
    assert engine.limits["a"] == (4.0, 16 * GIB)


def test_a_container_that_the_model_has_seen_nothing_like_is_steered_by_the_reactive_rule(sentence):
    engine = RecordedEngine({"a": [1.0] * 280, "b": [1.0] * 280}, obeys=True)
    engine.strange = {"a": range(40, 80), "b": range(0, 280, 9)}  # a ninth of b's samples
    entries = run(engine, policy="phasedock", fallback="prev.step.max")
    said = [reason for entry in entries for reason in entry.reasons if reason.rule == UNFAMILIAR_RULE]
    assert [each.job for each in said] == ["a", "a"], "and familiar again later"
    sentence(said[0].text)
    sentence(said[1].text)
    labels = [mark.label for entry in entries for mark in entry.marks if mark.job == "a"]
    assert (labels[39], labels[79], labels[-1]) == ("φ2", "unfamiliar", "φ2")
    limits = [job.limit for entry in entries for job in entry.observation.jobs if job.id == "a"]
    first = labels.index("unfamiliar")
    assert limits[first + 1] >= limits[first], "it keeps what it has until the other rule knows better"
    assert limits[first + 12] == 1.0, "the most of the last cycle"
    book = EvidenceBook()
    for entry in entries[: first + 5]:
        book.add_entry(entry)
    assert book.evidence().unfamiliar == ("a",)
    assert list(replay(AUTOPILOT, chosen_with("phasedock", "prev.step.max"), 1, entries)) == []


def test_an_unfamiliar_container_keeps_its_memory_until_it_was_seen_for_ten_minutes():
    engine = RecordedEngine({"a": [1.0] * 660}, obeys=True)
    engine.strange = {"a": range(660)}
    run(engine, policy="phasedock", fallback="prev.step.max", memory=True)
    limits = [each.limit for each in engine.asked if isinstance(each, SetMemory)]
    assert limits[0] < 2 * GIB, "while nothing was strange yet"
    assert limits[1:] == []


def test_nothing_is_unfamiliar_before_enough_was_seen():
    engine = RecordedEngine({"a": [1.0] * 60})
    engine.strange = {"a": range(19)}
    entries = run(engine, policy="phasedock", fallback="prev.step.max")
    ruled = [
        n for n, entry in enumerate(entries) if any(each.rule == UNFAMILIAR_RULE for each in entry.reasons)
    ]
    assert ruled[0] >= 19
