"""The callbacks of the page of running containers, asked as the browser asks them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from app.context import EXTENSION
from app.main import create_app
from app.ui.engines import anything_attached
from core.config import Settings
from core.live.view import ATTACH
from core.sampling.values import ContainerRow
from tests.app.live.feed import Feed, container

if TYPE_CHECKING:
    from dash import Dash

ENGINE = "gpu-box-2"
SEARCH = f"?engine={ENGINE}"
ROWS = tuple(container(i) for i in range(3))
FOREIGN = ContainerRow(id="f" * 64, name="postgres", image="postgres:16")


@dataclass
class Page:
    """An application whose callbacks are called by the id and property of one of their inputs."""

    app: Dash

    def call(self, trigger, /, **values):
        """Ask the one callback with this input; `values` are its inputs and states by id."""
        found = [
            (key, each)
            for key, each in self.app.callback_map.items()
            if any(f"{one['id']}.{one['property']}" == trigger for one in each["inputs"])
            and each.get("callback") is not None
        ]
        assert len(found) == 1, [key for key, _ in found]
        key, entry = found[0]
        body = {
            "output": key,
            "outputs": self._outputs(key),
            "inputs": [self._part(one, values) for one in entry["inputs"]],
            "state": [self._part(one, values) for one in entry["state"]],
            "changedPropIds": [trigger],
        }
        answer = self.app.server.test_client().post(
            "/_dash-update-component", json=body, base_url="http://127.0.0.1"
        )
        assert answer.status_code in (200, 204), answer.data
        return json.loads(answer.data) if answer.data else {}

    @staticmethod
    def _part(one, values):
        if one["id"].startswith("{"):
            return []
        return {
            "id": one["id"],
            "property": one["property"],
            "value": values.get(one["id"].replace("-", "_")),
        }

    @staticmethod
    def _outputs(key):
        names = key.strip(".").split("...") if key.startswith("..") else [key]
        made = []
        for name in names:
            part, _, attribute = name.rpartition(".")
            made.append([] if part.startswith("{") else {"id": part, "property": attribute.split("@")[0]})
        return made if key.startswith("..") else made[0]


def act(asker, what, of="", draft=None):
    """Press a button of the page."""
    pressed = {"act": what, "id": of, "at": 1}
    return asker.call("live-act.data", live_act=pressed, live_draft=draft, _pages_location=SEARCH)


def notice_text(answer):
    """The message in the corner."""
    return json.dumps(answer["sideUpdate"]["notices"]["sendNotifications"], ensure_ascii=False)


@pytest.fixture
def asker(tmp_path):
    home = tmp_path / "home"
    feed = Feed(home, ENGINE, ROWS, (FOREIGN,))
    feed.past(1e9, 5)
    feed.publish()
    made = create_app(Settings(home=home, docker=f"{ENGINE}=unix:///nowhere.sock"))
    yield Page(made)
    made.server.extensions[EXTENSION].close()


def test_only_panels_whose_signature_changed_are_drawn(asker):
    wanted = {"engine": ENGINE, "model": "", "notice": "a", "policy": "b", "record": "c", "others": "d"}
    wanted |= {"queue": "e", "deadlines": "f"}
    first = asker.call("live-panels.data", live_panels=wanted, live_drawn={})["response"]
    panels = {"live-notice", "live-policy", "live-record", "live-others", "live-queue", "live-deadlines"}
    assert set(first) == {*panels, "live-drawn"}
    again = asker.call("live-panels.data", live_panels=wanted | {"record": "z"}, live_drawn=wanted)[
        "response"
    ]
    assert set(again) == {"live-record", "live-drawn"}


def test_a_container_is_opened_in_a_window_with_its_figure(asker):
    answer = act(asker, "one", ROWS[0].id)
    shown = json.dumps(answer["response"]["live-window-what"])
    assert "by its label" in shown
    assert '"name": "live-one"' in shown
    window = answer["sideUpdate"]["live-window"]
    assert window["opened"] is True
    assert window["title"] == "bert-finetune"


def test_releasing_asks_first_and_names_what_is_put_back(asker):
    shown = json.dumps(act(asker, "release")["response"])
    assert "The original limits of 3 containers are restored" in shown
    assert "bert-finetune" in shown


@pytest.mark.parametrize(("what", "of"), [("undo", ROWS[0].id), ("unpick", ROWS[0].id), ("pick", FOREIGN.id)])
def test_without_control_nothing_is_changed_and_the_reason_is_said(asker, what, of):
    assert "PHASEDOCK_CONTROL" in notice_text(act(asker, what, of))


def test_what_is_not_there_is_refused_in_a_sentence(asker):
    assert "no longer there" in notice_text(act(asker, "one", "gone"))
    assert notice_text(act(asker, "detach"))
    assert notice_text(act(asker, "record-stop"))
    assert "sideUpdate" not in act(asker, "no such button")
    assert act(asker, "close")["sideUpdate"]["live-window"]["opened"] is False


def test_a_wrong_limit_stays_in_the_window_with_its_sentence(asker):
    values = {"live_limit_ok": 1, "live_draft": {"container": ROWS[0].id}, "_pages_location": SEARCH}
    wrong = asker.call("live-limit-ok.n_clicks", live_limit_cores="much", **values)
    assert "CPU cannot be" in json.dumps(wrong["response"], ensure_ascii=False)
    refused = asker.call("live-limit-ok.n_clicks", live_limit_cores="1", **values)
    assert "PHASEDOCK_CONTROL" in json.dumps(refused["response"])
    idle = asker.call("live-limit-ok.n_clicks", live_limit_ok=None, _pages_location=SEARCH)
    assert idle["response"] == {}


def test_another_policy_brings_its_own_settings(asker, sentence):
    answer = asker.call("live-policy-name.value", live_policy_name="specon")["response"]
    assert "weight_pc" in json.dumps(answer["live-settings"])
    assert "converged" in answer["live-policy-about"]["children"]
    unknown = asker.call("live-policy-name.value", live_policy_name="none of that name")
    assert unknown["response"] == {}
    words = asker.call("live-mode.value", live_mode="control")["response"]
    sentence(words["live-mode-words"]["children"])


def test_control_asks_first_and_an_engine_that_is_gone_is_said(asker):
    values = {"live_attach": 1, "live_policy_name": "flowcon", "_pages_location": SEARCH}
    asked = asker.call("live-attach.n_clicks", live_mode="control", **values)["sideUpdate"]
    assert "will set the CPU limits of 3 containers" in json.dumps(asked["live-window-what"])
    draft = asked["live-draft"]["data"]
    assert "Nothing answers at" in notice_text(act(asker, "attach-now", draft=draft))
    watched = asker.call("live-attach.n_clicks", live_mode="watch", **values)["response"]
    assert "Nothing answers at" in json.dumps(watched["live-attach-problem"])


def test_a_recording_needs_a_name_and_an_engine(asker, sentence):
    values = {"live_record_start": 1, "_pages_location": SEARCH}
    unnamed = asker.call("live-record-start.n_clicks", live_record_name=" ", **values)["response"]
    sentence(unnamed["live-record-name"]["error"])
    lost = asker.call("live-record-start.n_clicks", live_record_name="night", **values)["response"]
    sentence(lost["live-record-name"]["error"])


def test_the_history_becomes_a_trace_set_or_a_sentence_says_why_not(asker, sentence):
    values = {"live_record_start": 1, "live_record_name": "night", "_pages_location": SEARCH}
    answer = asker.call("live-record-start.n_clicks", live_record_from="3600", **values)["response"]
    sentence(answer["live-record-name"]["error"])


def test_the_rail_has_its_dot_while_a_policy_is_attached(asker):
    tasks = asker.app.server.extensions[EXTENSION].tasks
    with asker.app.server.test_request_context("/"):
        assert not anything_attached()
        task = tasks.submit(ATTACH, "Watch", {"engine": ENGINE, "policy": "flowcon", "mode": "watch"})
        assert anything_attached()
        tasks.cancel(task)
        assert not anything_attached()
