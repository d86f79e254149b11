"""The page of running containers without a browser: its states in words, its panels, its buttons."""

import itertools
import json
import time
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from app.context import EXTENSION, Choice, workspace
from app.figures.live import history_figure
from app.main import create_app
from app.pages.live import actions, callbacks, limit, page, policy, record, state
from app.pages.live.callbacks import render_panel, show_mode, view_of
from app.pages.live.layout import body, columns
from app.pages.live.policy import evidence
from app.pages.live.state import LiveAddress, attached_signature, capabilities, notices, signatures
from app.shell.layout import choice_of
from app.ui.engines import dot, engine_named, engine_options
from app.ui.links import Query
from core.config import Settings
from core.errors import InputError, NotFoundError
from core.live.control.saved_limits import BY_HAND, SavedLimitsStore, UndoStep
from core.sampling.values import (
    ActivityEntry,
    AttachedPolicy,
    ContainerAllowance,
    ContainerRow,
    EngineInfo,
    EngineState,
    History,
    LimitChange,
    LiveView,
    Mode,
    Recording,
    ReleaseResult,
    Totals,
)
from core.scheduling.policies import POLICIES
from core.scheduling.policies.autopilot.steering_evidence import ContainerEvidence, Evidence
from core.workspace.records import TaskInfo, TaskState
from core.workspace.samples import load_samples
from tests.app.live.feed import Feed, container
from tests.data.make_synthetic import SYNTHETIC

ENGINE = EngineInfo("box", "", EngineState.READY, cores=16.0)
FOREIGN = ContainerRow(id="f" * 64, name="postgres", image="postgres:16")
SAID = (
    ActivityEntry(1e9, "vae-celeba", "vae-celeba in CL may use 12.5% of host box.", 2.0, 0.25, "CL"),
    ActivityEntry(1e9, "bert-finetune", "Kept.", 1.0, 1.0, "NL"),
    ActivityEntry(1e9, "", "The interval doubles.", None, None),
    ActivityEntry(1e9, "gan-faces", "Free again.", 0.5, None, "WL"),
)


def test_the_confirmation_of_control_lists_the_limits_that_it_may_raise_only_with_permission():
    rows = (
        ContainerRow("a", "owned", cpu_limit=0.6, memory_limit=2.0**28),
        ContainerRow("b", "labelled", cpu_limit=0.6, max_cores=1.0),
        ContainerRow("c", "free"),
        ContainerRow("d", "whole", cpu_limit=16.0),
    )
    shown = replace(view(), engine=replace(ENGINE, memory=2.0**34), rows=rows)
    listed = policy._raisable(shown, memory=True)
    assert [tuple(each.values()) for each in listed] == [
        ("labelled", "0.60 cores", "1.00 cores"),
        ("owned", "0.60 cores", "16.00 cores"),
        ("owned", "256 MiB", "16.00 GiB"),
    ]
    assert len(policy._raisable(shown, memory=False)) == 2
    assert policy._permission(replace(shown, rows=rows[2:]), memory=True) == []


def view(**more):
    rows = tuple(container(i) for i in range(11))
    made = LiveView(ENGINE, 1e9, rows, 1, (FOREIGN,), Totals(cpu=3.0, cores=16.0, containers=11))
    return replace(made, **more)


def text(node):
    return json.dumps(node, default=lambda each: each.to_plotly_json(), ensure_ascii=False)


@pytest.fixture
def server(tmp_path):
    home = tmp_path / "home"
    feed = Feed(home, "gpu-box-2", tuple(container(i) for i in range(3)), (FOREIGN,))
    feed.past(1e9, 5)
    feed.publish()
    made = create_app(Settings(home=home, docker="gpu-box-2=unix:///nowhere.sock;far=ssh://me@far")).server
    with made.test_request_context("/live"):
        yield made
    made.extensions[EXTENSION].close()


def test_the_engine_is_kept_in_the_address_and_an_unknown_one_falls_back(server):
    assert server
    chosen = engine_named("far")
    assert chosen is not None
    assert chosen.name == "far"
    fallen = engine_named("gone")
    assert fallen is not None
    assert fallen.name == "demo"  # nothing real is ready
    assert [each["value"] for each in engine_options()] == ["gpu-box-2", "far", "demo"]
    assert engine_options()[2]["label"] == "Demo (replayed jobs)"
    assert choice_of("?engine=far") == Choice(None, None, "far")
    assert choice_of("?engine=far").query() == {"engine": "far"}
    assert choice_of("").query() == {}


def test_the_dot_beside_an_engine_says_how_it_stands(sentence):
    assert dot(ENGINE) == ("enginedot ready", "box: ready")
    assert dot(replace(ENGINE, state=EngineState.DENIED)) == ("enginedot denied", "box: no permission")
    sentence(dot(None)[1])


def address(**values):
    return LiveAddress.read(Query("/live", values))


def test_the_page_is_laid_out_for_its_address(server):
    assert server
    shown = text(page.layout(engine="gpu-box-2", every="5", text="bert", measure="memory", all="1"))
    assert '"data-engine": "gpu-box-2"' in shown
    assert '"data-every": "5"' in shown
    assert '"data-measure": "memory"' in shown
    assert "Release everything" in shown
    assert address(every="7").every == "1"
    assert '"data-measure": "cpu"' in text(body(ENGINE, address(measure="x")))


def test_without_any_engine_the_page_says_what_to_do(tmp_path, monkeypatch):
    made = create_app(Settings(home=tmp_path / "home")).server
    with made.test_request_context("/live"):
        monkeypatch.setattr(state, "engine_named", lambda _name: None)
        assert "PHASEDOCK_DOCKER" in text(page.layout())
    made.extensions[EXTENSION].close()


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (EngineState.DENIED, "usermod -aG docker"),
        (EngineState.MISSING, "PHASEDOCK_DOCKER="),
        (EngineState.LOST, "last ones seen"),
    ],
)
def test_an_engine_that_cannot_be_used_says_why_and_what_to_do(state, words):
    engine = replace(ENGINE, state=state, message="It does not answer.", hint="Start it.")
    shown = text(notices(view(engine=engine), control=True, working=True))
    assert "It does not answer." in shown
    assert "Start it." in shown
    assert words in shown
    assert "Try again" in shown


def test_docker_that_is_not_there_is_said_in_grey_with_the_way_to_the_demo():
    engine = replace(ENGINE, state=EngineState.MISSING, message="It does not answer.", hint="Start it.")
    (said,) = notices(view(engine=engine), control=True, working=True)
    assert said.className == "notice plain"
    assert "Open the demo" in text(said)


def missing(name, state=EngineState.MISSING):
    return EngineInfo(name, "", state, "It does not answer.", "Start it.")


def test_the_demo_says_what_it_is_and_which_lines_start_the_real_thing():
    (said,) = notices(view(), control=True, working=True, beside=(missing("local"),))
    assert said.className == "notice plain"
    shown = text(said)
    for words in ("Docker: not found. This is a demo.", "Simulated containers", "sudo systemctl start docker",
                  "PHASEDOCK_DOCKER=gpu-box="):  # fmt: skip
        assert words in shown


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ((missing("local", EngineState.DENIED),), ("Docker: no permission.", "usermod -aG docker")),
        ((missing("a"), missing("b")), ("a: not found, b: not found.", "systemctl start docker")),
        ((missing("a", EngineState.LOST),), ("Docker: not responding. This is a demo.",)),
        ((ENGINE,), ("Demo: recorded jobs, replayed.", "Open box", "/live?engine=box")),
        ((), ("No Docker is configured. This is a demo.", "PHASEDOCK_DOCKER=")),
    ],
    ids=["denied", "two", "lost", "ready", "none"],
)
def test_the_demo_says_how_the_real_engines_stand(beside, words):
    shown = text(notices(view(), control=True, working=True, beside=beside))
    for each in words:
        assert each in shown
    assert "notice bad" not in shown


def test_the_notice_of_the_demo_changes_with_the_engines_beside_it():
    first = signatures(view(), control=True, working=True, beside=(missing("local"),))
    assert first != signatures(view(), control=True, working=True, beside=(ENGINE,))
    assert first == signatures(view(), control=True, working=True, beside=(missing("local"),))


def test_live_opens_on_the_demo_and_calls_it_so(server):
    assert server
    shown = text(page.layout())
    assert '"data-engine": "demo"' in shown
    assert '"data-called": "Demo: recorded jobs, replayed"' in shown
    opened = view_of("?engine=demo")
    assert opened is not None
    assert "Simulated containers" in text(render_panel(opened, "notice"))
    assert '"disabled": true' not in text(render_panel(replace(opened, rows=(container(1),)), "policy"))
    assert "Demo replay" in text(render_panel(opened, "record"))
    assert show_mode("watch", "?engine=demo") == "It shows its decisions and changes nothing."
    assert "PHASEDOCK_CONTROL=on" in show_mode("watch", "?engine=far")


def test_phases_are_by_the_model_that_the_bar_on_top_shows(server):
    space = server.extensions[EXTENSION]
    assert address().model is None
    _, model = load_samples(space.traces, space.models, sample=SYNTHETIC)
    assert address().model == model.id
    assert address(model="another").model == "another"
    assert address(traces="gone").model is None
    assert f'"data-model": "{model.id}"' in text(page.layout())


def test_each_state_that_needs_a_word_has_one():
    assert notices(view(), control=True, working=True) == []
    assert "phasedock worker" in text(notices(view(), control=True, working=False))
    assert "Asking box" in text(notices(view(at=None, rows=()), control=True, working=True))
    none = text(notices(view(rows=()), control=True, working=True))
    assert "docker run --label phasedock" in none
    assert "1 other container runs here" in none
    assert "PHASEDOCK_CONTROL=on" in text(notices(view(), control=False, working=True))


def test_a_policy_that_ended_with_its_worker_says_so_in_its_card_and_can_be_attached_again():
    asked = {"engine": "box", "policy": "flowcon", "mode": "control"}
    now = datetime.now(UTC)
    task = TaskInfo(
        "t" * 16, "attach", "FlowCon controls box", TaskState.INTERRUPTED, 0.0, "", asked, None,
        ("It ended.", ""), now, now, now, None, 1, None,
    )  # fmt: skip
    ended = view(failed=task)
    shown = text(policy.panel(ended, control=True))
    assert "FlowCon ended with its worker at " in shown
    assert "attach-again" in shown
    waits = text(
        policy.panel(replace(ended, failed=replace(task, params=asked | {"reattach": True})), control=True)
    )
    assert "Then it is attached again." in waits
    assert "not-again" in waits
    often = asked | {"reattach": True, "worker_ends": [now.timestamp() - 20, now.timestamp() - 10]}
    stays = text(policy.panel(replace(ended, failed=replace(task, params=often)), control=True))
    assert "three times" in stays
    assert "attach-again" in stays
    assert "attach-again" not in text(policy.panel(ended, control=False)), "it was in control"
    assert notices(ended, control=True, working=True) == [], "said once, in the card"
    before = signatures(view(), control=True, working=True)["policy"]
    assert signatures(ended, control=True, working=True)["policy"] != before


def test_a_policy_that_goes_on_says_since_when():
    at = time.mktime((2026, 3, 4, 14, 3, 0, 0, 0, -1))
    attached = AttachedPolicy("t", "flowcon", Mode.WATCH, worker_ended_at=at, reattached_at=at + 120.0)
    shown = text(policy.panel(view(attached=attached), control=True))
    assert "It ended with its worker at 14:03; attached again at 14:05." in shown


def test_signatures_stay_while_nothing_changes_and_move_with_a_decision():
    attached = AttachedPolicy("t", "flowcon", Mode.CONTROL, entries=SAID)
    first = signatures(view(attached=attached), control=True, working=True)
    assert signatures(view(attached=attached, at=2e9), control=True, working=True) == first
    more = replace(attached, entries=(replace(SAID[0], at=1e9 + 1), *SAID))
    assert signatures(view(attached=more), control=True, working=True)["policy"] != first["policy"]
    assert signatures(view(recording=Recording("t", "a")), control=True, working=True)["record"]


def test_decisions_of_every_second_are_drawn_every_few_seconds():
    def at(now):
        said = tuple(replace(SAID[0], at=each) for each in np.arange(now, 2e9 - 1, -1.0))
        return attached_signature(AttachedPolicy("t", "autopilot", Mode.WATCH, entries=said), now)

    drawn_for = [at(2e9 + second) for second in range(30)]
    changes = sum(one != other for one, other in itertools.pairwise(drawn_for))
    assert 9 <= changes <= 10
    assert at(2e9 + 33)[3] >= 30, "nothing is left out for long"


def test_forms_are_not_drawn_again_when_containers_come_and_go():
    """What a person has typed would be gone."""
    before, after = (signatures(view(rows=rows), control=True, working=True) for rows in ((), view().rows))
    assert before["record"] == after["record"]
    assert before["policy"] == after["policy"]
    assert capabilities(view(rows=())) == {"live-record-start": False, "live-attach": False}
    assert capabilities(view()) == {"live-record-start": True, "live-attach": True}


def test_an_attached_policy_shows_settings_and_decisions_with_names():
    attached = AttachedPolicy("t", "flowcon", Mode.CONTROL, {"itval": 7.0}, 1e9, 1e9 + 7, 14, SAID, run="r1")
    shown = text(policy.panel(view(attached=attached), control=True))
    assert "7 s" in shown
    assert "2.00 → 0.25 cores" in shown
    assert "kept at 1.00 cores" in shown
    assert "0.50 → no limit" in shown
    assert "All containers" in shown
    assert "vae-celeba in CL may use" in shown
    assert "/api/runs/r1.json" in shown
    assert "look=ledger&run=r1" in shown
    assert "Nothing was changed" not in shown


def test_a_watching_policy_says_that_nothing_was_touched():
    attached = AttachedPolicy("t", "specon", Mode.WATCH, resizes=1)
    shown = text(policy.panel(view(attached=attached), control=False))
    assert "SpeCon would have set 1 limit. Nothing was changed." in shown
    assert "No decisions yet." in shown
    assert policy.detached_words(view(attached=attached)) == "It was in watch mode, so nothing changed."
    steering = replace(attached, mode=Mode.CONTROL)
    assert "4 containers" in policy.detached_words(view(attached=steering))


def test_how_often_limits_change_in_an_hour_is_not_made_up_from_a_few_seconds():
    who = ContainerEvidence("a", 6.0, 1.0, 0.0, 0.0, resizes=2, violations=0)

    def evidence_text(seconds):
        found = Evidence(lasted=seconds, seconds=seconds, resizes_per_hour=1200.0, containers=(who,))
        return text(evidence(AttachedPolicy("t", "autopilot", Mode.WATCH, evidence=found)))

    assert "1,200" not in evidence_text(6.0)
    assert "after a minute" in evidence_text(6.0)
    assert "1,200" in evidence_text(61.0)


def test_a_policy_that_is_not_known_any_more_is_shown_all_the_same():
    assert "gone" in text(policy.panel(view(attached=AttachedPolicy("t", "gone", Mode.WATCH)), control=True))


def test_the_form_has_the_settings_of_every_policy_and_no_oracle(server, sentence):
    assert server
    shown = text(policy.panel(view(), control=False))
    assert '"disabled": true' in shown
    assert "srpt" not in shown
    for name in POLICIES:
        assert policy.settings_form(name)
    assert "Control needs PHASEDOCK_CONTROL=on" in policy.mode_words("watch", control=False)
    sentence(policy.mode_words("control", control=True))


def test_the_recording_shows_how_much_there_is(server):
    assert server
    shown = text(record.panel(view(recording=Recording("t", "night", 1e9, 1200, 4, 2048))))
    assert "1,200" in shown
    assert "2.00 KiB" in shown
    named = server.extensions["phasedock"].live.engines.names[0]
    here = replace(view(), engine=replace(view().engine, name=named))
    assert "live-record-start" in text(record.panel(here))
    assert record.default_name("box", 1e9).startswith("box 2001-09-")
    assert "/tasks?task=t1" in text(record.stopped("t1"))


def test_other_containers_are_listed_apart_and_picked_ones_too():
    shown = text(callbacks.panel(view(), control=True))
    assert "left alone" in shown
    assert '"data-act": "pick"' in shown
    assert "Selected by hand" not in shown
    picked = replace(container(0), labelled=False, picked=True)
    both = text(callbacks.panel(view(rows=(picked,)), control=False))
    assert '"data-act": "unpick"' in both
    assert '"disabled": true' in both
    assert callbacks.panel(view(foreign=()), control=True) is None
    many = tuple(replace(FOREIGN, id=f"{i:064x}") for i in range(130))
    assert "and 30 more" in text(callbacks.panel(view(foreign=many), control=True))


def test_the_window_of_a_container_says_what_it_is_and_when_it_cannot_be_changed(server, refuses):
    assert server
    seen = view_of("?engine=gpu-box-2")
    assert seen is not None
    first = seen.rows[0]
    off = text(limit.window(seen, first.id, control=False))
    assert "PHASEDOCK_CONTROL=on" in off
    assert "history.csv?ids=" in off
    on = text(limit.window(seen, first.id, control=True))
    assert "Set the limits of bert-finetune" in on
    assert '"data-act": "undo"' not in on, "no change by hand is left to take back"
    saved, key = SavedLimitsStore(workspace().database), workspace().live.engines.key("gpu-box-2")
    saved.keeper(BY_HAND).keep(key, first.id, {})
    saved.push_undo(key, first.id, first.name, UndoStep({}, ContainerAllowance(0.75, first.memory_limit)))
    assert "Undo: back to 0.75 cores" in text(limit.window(seen, first.id, control=True))
    steered = replace(seen, attached=AttachedPolicy("t", "flowcon", Mode.CONTROL))
    assert "Detach it" in text(limit.window(steered, first.id, control=True))
    with refuses(NotFoundError):
        limit.row_of(seen, "gone")


def test_a_typed_limit_is_a_number_above_nought_or_nothing(refuses):
    assert limit.quantity("", "CPU") is None
    assert limit.quantity(" 1,5 ", "CPU") == 1.5
    for wrong in ("0", "-1", "much", "inf", "nan"):
        with refuses(InputError):
            limit.quantity(wrong, "CPU")


def test_changes_and_releases_are_said_in_words(sentence):
    before, after = ContainerAllowance(None, None), ContainerAllowance(0.5, 2**30)
    words = LimitChange("a", before, after).sentence
    sentence(words)
    assert LimitChange("a", after, ContainerAllowance(0.5, None)).sentence.startswith("Memory from 1.00 GiB")
    assert LimitChange("a", before, before).sentence == "Nothing changed."
    assert actions.released_words(ReleaseResult(("a", "b")))[:2] == ("ok", "Limits of 2 containers restored.")
    kind, title, rest = actions.released_words(ReleaseResult((), ("c",), (("d", "Docker said no."),)))
    assert (kind, title) == ("bad", "Nothing was changed.")
    sentence(rest)


@pytest.mark.parametrize("name", ["notice", "policy", "record", "others"])
def test_panels_are_drawn_for_the_engine_of_the_address(server, name):
    assert server
    seen = view_of("?engine=gpu-box-2")
    assert seen is not None
    shown = text(render_panel(seen, name))
    word = {"notice": "No worker is running", "policy": "FlowCon", "record": "Record", "others": "postgres"}
    assert word[name] in shown


def test_every_column_that_is_drawn_by_a_script_names_its_renderer():
    renderers = {each.get("cellRenderer") for each in columns()}
    assert {"LiveBarCell", "LiveLineCell", "LiveActsCell", "LiveLossCell"} <= renderers


def test_the_figure_keeps_a_far_limit_out_of_the_picture_and_says_mib_below_one_gib():
    n = 5
    nan = np.full(n, np.nan, np.float32)
    ones = np.ones(n, np.float32)
    seen = History(1e9 + np.arange(n), ones, 8 * ones, 2e8 * ones, nan, nan, nan)
    figure = history_figure(seen, "a")
    assert [trace.name for trace in figure.data] == ["CPU", "limit", "Memory", "limit", "loss"]
    assert figure.layout.yaxis.range[1] < 2
    changed = replace(seen, cpu_limit=np.array([8, 8, 1.4, 1.4, 1.4], np.float32))
    assert 1.4 < history_figure(changed, "a").layout.yaxis.range[1] < 2
    assert any(each.text == "Memory, MiB" for each in figure.layout.annotations)
    assert figure.layout.xaxis.ticktext[0] == "now"
    bare = History(np.empty(0), *(np.empty(0, np.float32) for _ in range(6)))
    assert history_figure(bare, "a").layout.yaxis3.range[1] == 1.0


def test_names_that_people_gave_to_phases_are_in_the_explanations(place):
    _, model = load_samples(place.traces, place.models, sample=SYNTHETIC)
    place.models.name_phase(model.id, 1, "validation")
    said = (ActivityEntry(1e9, "trainer", "trainer, in φ2, has 1 core from now on.", 2.0, 1.0, "φ2"),)
    settings = {"model": model.name}
    attached = AttachedPolicy("t", "autopilot", Mode.WATCH, settings=settings, entries=said)
    shown = text(policy.panel(view(attached=attached), control=True))
    assert "trainer, in φ2 validation, has 1 core" in shown
    row = replace(container(1), phase=1)
    seen = view(engine=replace(ENGINE, name="demo"), rows=(row,), model=model.id)
    assert "validation" in text(limit.window(seen, row.id, control=True))
