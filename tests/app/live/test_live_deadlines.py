"""Deadlines on the page of running containers: how each job is doing, and what a form is told beforehand."""

import json
from dataclasses import replace

import pytest

from app.context import EXTENSION, workspace
from app.main import create_app
from app.pages.live import deadlines, submit
from app.pages.live.state import Queue, signatures
from core.config import Settings
from core.live.queue.spec import JobSpec
from core.live.queue.values import QueuedJob, QueueState, Standing
from core.sampling.values import EngineInfo, EngineState, LiveView
from core.scheduling.deadline_planning.run_history import Pace, RunMeasurement

NOW = 1_800_000_000.0
SPEC = JobSpec("mine", request=1.0, deadline=NOW + 3600)
RUNNING = QueuedJob(
    "1" * 32, "nightly", "demo", SPEC, NOW - 600, state=QueueState.RUNNING, started=NOW - 500, cores=2.0,
    promised=True
)  # fmt: skip


def text(node):
    return json.dumps(node, default=lambda each: each.to_plotly_json(), ensure_ascii=False)


def stands(ends, *between, label="promised"):
    moment = None if ends is None else NOW + ends
    return Standing(NOW, 30, 100, 1.0, True, label, moment, *(NOW + each for each in between))


def verdict(job):
    kind, word, said = deadlines._verdict(job, NOW)
    return kind, word, text(said)


def test_no_card_without_deadlines():
    plain = replace(RUNNING, spec=replace(SPEC, deadline=None))
    assert deadlines.panel(Queue((plain,)), NOW) is None
    assert deadlines.panel(Queue(None), NOW) is None


@pytest.mark.parametrize(
    ("change", "kind", "word", "said"),
    [
        ({"stands": stands(3000, 2900, 3300)}, "ok", "guaranteed", "10 min 00 s to spare"),
        ({"stands": stands(3000, 2900, 3700)}, "warn", "at risk", "10 min 00 s to spare"),
        ({"stands": stands(3900)}, "warn", "at risk", "5 min 00 s too late"),
        ({"stands": stands(3900, label="late")}, "bad", "will be late", "5 min 00 s too late"),
        ({"stands": stands(3900), "promised": False}, "bad", "will be late", "5 min 00 s too late"),
        ({"stands": stands(3000), "promised": False}, "", "no guarantee", "10 min 00 s to spare"),
        ({"stands": stands(None)}, "ok", "guaranteed", "due "),
        ({"promised": None}, "", "no guarantee", "due "),
        ({"spec": replace(SPEC, deadline=NOW - 1)}, "bad", "overdue", "due "),
        ({"state": QueueState.ENDED, "finished": NOW + 3000}, "ok", "met", "10 min 00 s before"),
        ({"state": QueueState.ENDED, "finished": NOW + 4200}, "bad", "missed", "by 10 min 00 s"),
        ({"state": QueueState.FAILED, "finished": NOW}, "", "failed", "due "),
    ],
)
def test_every_job_says_how_it_is_doing(change, kind, word, said):
    found = verdict(replace(RUNNING, **change))
    assert found[:2] == (kind, word)
    assert said in found[2]


def test_the_card_counts_what_is_to_come_and_puts_the_nearest_first():
    late = replace(RUNNING, id="2" * 32, name="late", stands=stands(9000, label="late"))
    soon = replace(RUNNING, id="3" * 32, name="soon", spec=replace(SPEC, deadline=NOW + 60), promised=False)
    over = replace(RUNNING, id="4" * 32, name="over", state=QueueState.ENDED, finished=NOW)
    shown = text(deadlines.panel(Queue((late, RUNNING, soon, over)), NOW))
    assert "3 jobs, 1 guaranteed, 1 late" in shown
    names = [shown.index(f'"title": "{name}"') for name in ("soon", "late", "nightly", "over")]
    assert names == sorted(names)
    assert "2.00 cores, step 30 of 100" in shown
    only = text(deadlines.panel(Queue((over,)), NOW))
    assert "none to come" in only


@pytest.mark.parametrize("span", [61.0, 600.0, 5000.0, 90_000.0, 3e6])
def test_the_axis_has_a_few_round_moments_within_it(span):
    axis = deadlines._Axis(NOW, NOW + span)
    ticks = axis.ticks()
    assert (span >= 120) <= len(ticks) <= 6, "an axis of a minute may have none"
    assert all(axis.begin < tick < axis.end and tick % 60 == 0 for tick in ticks)
    assert (axis.at(NOW - 5), axis.at(NOW + span / 2), axis.at(NOW + 2 * span)) == (
        "0.00%",
        "50.00%",
        "100.00%",
    )


def test_what_the_policy_thinks_draws_the_deadlines_anew_and_not_the_queue():
    view = LiveView(EngineInfo("demo", "", EngineState.READY), 1e9)
    queues = [Queue((replace(RUNNING, stands=stands(each)),)) for each in (3000, 3100)]
    one, two = (signatures(view, control=True, working=True, queue=queue) for queue in queues)
    assert one["deadlines"] != two["deadlines"]
    assert one["queue"] == two["queue"]


@pytest.fixture
def app(tmp_path):
    made = create_app(Settings(home=tmp_path / "home", docker=f"here=unix://{tmp_path}/none.sock"))
    with made.server.test_request_context("/live"):
        yield made
    made.server.extensions[EXTENSION].close()


def outlook_text(**entered):
    return text(submit.outlook("demo", {"program": "mlp", **entered}, "UTC"))


def test_a_form_is_told_before_it_is_sent(app):
    assert "no job of this kind has run here" in outlook_text(deadline="2 h")
    spec = JobSpec("phasedock-jobs:light", ("python3", "-m", "phasedock_jobs", "mlp"), program="mlp")
    paces = {1.0: Pace(0.1, 2.0), 2.0: Pace(0.06, 2.0)}
    workspace().live.queue.earlier_on("demo").add(spec.kind, RunMeasurement(paces=paces, steps=200))
    assert "It can be done by " in outlook_text(deadline="2 h")
    assert "notice ok" in outlook_text(deadline="2 h")
    assert "It cannot be promised by " in outlook_text(deadline="2 s")
    assert "notice warn" in outlook_text(deadline="2 s")
    assert "Deadline: “6” is not a time." in outlook_text(deadline="6")
    assert "Correct Cores requested to see" in outlook_text(deadline="2 h", request="many")
    assert "Image: Leave it empty" in outlook_text(deadline="2 h", image="mine")
    assert workspace().live.queue.list("demo") == ()


def test_a_deadline_is_sent_in_the_zone_of_the_person(app, monkeypatch):
    for name in ("close", "poke"):
        monkeypatch.setattr(submit.actions, name, lambda: None)
    monkeypatch.setattr(submit, "notify", lambda *_, **__: None)
    entered = {"program": "mlp", "deadline": "tomorrow 12:00"}
    for zone in ("Pacific/Auckland", "UTC"):
        assert submit.submitted("demo", {**entered, "name": zone[:3]}, zone) == (None, {})
    by = {job.name: job.spec.deadline for job in workspace().live.queue.list("demo")}
    assert {each % 3600 for each in by.values()} == {0.0}
    assert by["Pac"] != by["UTC"]
    wrong = submit.submitted("demo", {**entered, "deadline": "6"}, "UTC")[1]
    assert set(wrong) == {"deadline"}
