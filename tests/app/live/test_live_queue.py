"""The queue on the page of running containers: its card in all states, its buttons, its form; on the demo."""

import json
from dataclasses import replace

import pytest

from app.context import EXTENSION, workspace
from app.main import create_app
from app.pages.live import actions, queue, submit
from app.pages.live.policy import confirmation
from app.pages.live.policy import panel as policy_panel
from app.pages.live.queue import form
from app.pages.live.state import Queue, notices, signatures
from core.config import Settings
from core.live.queue.spec import JobSpec
from core.live.queue.values import QueuedJob, QueueState
from core.sampling.values import EngineInfo, EngineState, LiveView

ENGINE = EngineInfo("demo", "", EngineState.READY, cores=6.0)
VIEW = LiveView(ENGINE, 1e9)
SPEC = JobSpec("phasedock-jobs:light", ("python3", "-m", "phasedock_jobs", "mlp", "--steps", "9"), 1.0,
               0.5, 2.0, 2**29, program="mlp", follows=True)  # fmt: skip
WAITS = "No policy is attached to demo."
JOBS = tuple(
    QueuedJob(f"{n:032x}", f"job-{state}", "demo", SPEC, 1e9, n, state, why, started=1e9, finished=1e9)
    for n, (state, why) in enumerate(
        [
            (QueueState.WAITING, WAITS),
            (QueueState.RUNNING, ""),
            (QueueState.PAUSED, ""),
            (QueueState.ENDED, "It finished."),
            (QueueState.FAILED, "Its program exited with code 1."),
            (QueueState.REFUSED, "It would be accepted with 2 cores."),
            (QueueState.CANCELLED, ""),
        ]
    )
)


def text(node):
    return json.dumps(node, default=lambda each: each.to_plotly_json(), ensure_ascii=False)


@pytest.fixture
def app(tmp_path):
    made = create_app(Settings(home=tmp_path / "home", docker=f"here=unix://{tmp_path}/none.sock"))
    with made.server.test_request_context("/live"):
        yield made
    made.server.extensions[EXTENSION].close()


@pytest.fixture
def windows(monkeypatch):
    """What is sent to the page beside an answer."""
    sent = []
    monkeypatch.setattr(actions, "set_props", lambda part, values: sent.append({part: values}))
    for module in (actions, submit):
        monkeypatch.setattr(module, "notify", lambda *of, **more: sent.append({"said": (of, more)}))
    return sent


def test_an_empty_queue_says_what_it_is_for():
    shown = text(queue.panel(VIEW, Queue(()), control=True))
    assert "it waits here until a policy" in shown
    assert "a recorded job is replayed" not in shown
    assert "a recorded job is replayed" in text(queue.panel(VIEW, Queue(()), control=True, demo=True))
    off = text(queue.panel(VIEW, Queue(()), control=False))
    assert "PHASEDOCK_CONTROL=on" in off
    assert '"disabled": true' in off
    lost = replace(VIEW, engine=replace(ENGINE, state=EngineState.LOST))
    assert "demo is not ready" in text(queue.panel(lost, Queue(()), control=True))
    assert queue.panel(VIEW, Queue(None), control=True) is None


def test_every_state_of_a_job_is_shown_with_what_can_be_done():
    jobs = (*JOBS, replace(JOBS[1], id="f" * 32, cores=0.5, threads=1, cancelling=True))
    shown = text(queue.panel(VIEW, Queue(jobs, WAITS), control=True))
    assert shown.count(WAITS) == 1, "what all wait for is said once"
    for state in QueueState:
        assert f'"data-state": "{state}"' in shown
    for words in (
        "1 job waits.",
        "0.50 cores, 1 thread",
        "no limit",
        "requests 1.00 cores, 0.50 to 2.00; 512 MiB",
    ):
        assert words in shown
    assert "bundled mlp --steps 9" in shown
    assert [shown.count(f'"data-act": "{act}"') for act in ("job-cancel", "job-remove", "job-up")] == [
        4,
        4,
        1,
    ]
    assert "ending" in shown
    watched = text(queue.panel(VIEW, Queue(jobs, WAITS), control=False))
    assert '"data-act": "job-up"' not in watched


def test_a_job_of_ones_own_says_its_image():
    own = replace(JOBS[0], spec=JobSpec("trainer:2", ("train", "two words"), least=0.5))
    shown = text(queue.panel(VIEW, Queue((own, replace(own, spec=JobSpec("x", most=2.0)))), control=True))
    assert "trainer:2 train 'two words'" in shown
    assert "no request, at least 0.50" in shown
    assert "no request, at most 2.00" in shown


def test_the_card_is_drawn_again_when_a_job_changes():
    def queue_signature(*jobs):
        return signatures(VIEW, control=True, working=True, queue=Queue(jobs))["queue"]

    assert queue_signature(JOBS[0]) == queue_signature(JOBS[0])
    assert queue_signature(JOBS[0]) != queue_signature(replace(JOBS[0], priority=4))


def test_with_jobs_that_wait_a_policy_can_be_attached_where_no_container_runs():
    waiting = Queue(JOBS[:1])
    assert notices(VIEW, control=True, working=True)
    assert notices(VIEW, control=True, working=True, queue=waiting) == []
    assert '"disabled": true' in text(policy_panel(VIEW, control=True))
    assert '"disabled": true' not in text(policy_panel(VIEW, control=True, waiting=True))
    assert "job-waiting" in text(confirmation(VIEW, "elastic", ["job-waiting"]))


def test_a_job_is_submitted_put_first_cancelled_and_removed(app, windows):
    assert app
    live = workspace().live.queue
    said, wrong = submit.submitted("demo", {"program": "mlp", "request": "99", "priority": 2})
    assert said is not None
    assert wrong == {"request": "demo has 8.00 cores; at most that would be accepted."}
    assert submit.submitted("demo", {"program": "mlp", "request": "many"})[1]["request"]
    assert "PHASEDOCK_CONTROL" in text(submit.submitted("here", {"program": "mlp"})[0])
    assert submit.submitted("demo", {"program": "mlp", "follows": False}) == (None, {})
    (job,) = live.list("demo")
    assert any("mlp is submitted." in str(each) for each in windows)
    actions.act(VIEW, {"act": "job-up", "id": job.id})
    assert live.list("demo")[0].priority == 1
    actions.act(VIEW, {"act": "job-down", "id": job.id})
    assert live.list("demo")[0].priority == 0
    assert actions.act(VIEW, {"act": "job-cancel", "id": job.id}) is None
    assert live.list("demo")[0].state is QueueState.CANCELLED
    actions.act(VIEW, {"act": "job-remove", "id": job.id})
    assert live.list("demo") == ()


def test_ending_a_job_that_runs_asks_first(app, windows):
    assert app
    live = workspace().live.queue
    job = live.submit("demo", {"program": "mlp"})
    live.store.claim(job.id)
    shown = text(actions.act(VIEW, {"act": "job-cancel", "id": job.id}))
    assert f"its container {job.container_name} is deleted" in shown
    assert live.find("demo", job.id).state is QueueState.RUNNING
    actions.act(VIEW, {"act": "job-cancel-now", "id": job.id})
    assert live.find("demo", job.id).state is QueueState.CANCELLED


def test_the_form_has_every_setting_and_says_what_the_demo_does(app, windows):
    assert app
    shown = text(form(demo=False))
    for name in ("program", "image", "command", "request", "priority", "environment", "volumes", "ports"):
        assert f'"name": "{name}"' in shown
    assert "This is the demo." not in shown
    assert "This is the demo." in text(actions.act(VIEW, {"act": "job-form", "id": ""}))
    assert Queue.of("demo").jobs == ()
