"""Runs of attached policies: listed beside experiments, stepped through, and found from their tasks."""

import json

from app.pages.runs import page
from app.pages.runs.tick import lines
from app.ui.attached_runs import address, attached_card
from app.ui.links import Query
from core.errors import NotFoundError
from core.live.attach.activity import AttachedRun
from core.scheduling.actions import Mark, Reason, SetLimit
from core.scheduling.loop import Entry
from core.scheduling.model import Job, JobState, Observation, Trigger, Worker
from core.workspace.files import new_id
from core.workspace.samples import load_samples
from tests.data.make_synthetic import SYNTHETIC


def attached(place, entries, settings=None, says="It converged."):
    """A run as an attached policy leaves it; gives its id."""
    worker = Worker("box", 2.0, used=1.0)
    with AttachedRun(
        place.database,
        new_id(),
        "FlowCon controls box",
        "box",
        "flowcon",
        settings or {},
        1,
        "task",
    ) as run:
        for at in range(entries):
            # it had computed for five minutes before the policy came
            job = Job(
                "trainer", JobState.RUNNING, "box", limit=None, arrived=-0.5, cpu_seconds=300.0 + 15 * at
            )
            seen = Observation(at, 20.0 * at, Trigger.TICK, (worker,), (job,))
            reason = Reason("itval", says, job="trainer")
            run.add(
                Entry(seen, (SetLimit("trainer", 0.5),), (reason,), (Mark("trainer", "CL", 0.01),), None),
                {"c" * 64: "trainer"},
            )
    return run.id


def body_json(**values):
    return json.dumps(
        page.body(Query("/runs", values)), default=lambda each: each.to_plotly_json(), ensure_ascii=False
    )


def test_without_one_there_is_no_card(place):
    assert place
    assert attached_card() is None


def test_it_is_listed_and_stepped_through_by_the_names_of_its_containers(place):
    run = attached(place, 3)
    assert address(run) in body_json()
    ledger = body_json(look="ledger", run=run, tick="1")
    assert "FlowCon controls box" in ledger
    assert "trainer" in ledger
    assert "It converged." in ledger


def test_what_a_container_used_before_the_policy_came_is_no_use_of_its_first_tick(place):
    run = attached(place, 3)
    series = place.runs.ledgers.series(run)
    assert series["jobs"]["trainer"]["cpu"] == [0.0, 0.75, 0.75]
    assert series["workers"]["box"]["cpu"] == [0.0, 0.75, 0.75]
    used = [lines(entry, series)[0].used for entry in place.runs.ledgers.entries(run)]
    assert used == [None, 0.75, 0.75]


def test_one_that_saw_nothing_says_so(place):
    assert "No decisions yet" in body_json(look="ledger", run=attached(place, 0))


def test_one_that_is_gone_is_refused_in_words(place, refuses):
    assert place
    with refuses(NotFoundError):
        body_json(look="ledger", run="0" * 16)


def test_its_reasons_say_the_names_that_people_gave_to_phases(place):
    _, model = load_samples(place.traces, place.models, sample=SYNTHETIC)
    run = attached(place, 2, {"model": model.name}, "trainer, in φ2, has 1 core from now on.")
    assert "in φ2, has" in body_json(look="ledger", run=run, tick="1")
    place.models.name_phase(model.id, 1, "validation")
    assert "in φ2 validation, has" in body_json(look="ledger", run=run, tick="1")
