"""What the page of running containers is told: buckets of histories, and only what it does not have yet."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context import EXTENSION
from app.main import create_app
from app.pages.live.page import SPAN, TickRequest, bucketed, first_bucket, number_of, table
from core.config import Settings
from core.sampling.values import ContainerRow, History
from tests.app.live.feed import Feed, container

NOW = 1_700_000_000.4
ENGINE = "gpu-box-2"


def history(times, cpu, **more):
    """Samples with only some lines known."""
    nan = [float("nan")] * len(times)
    names = ("cpu_limit", "memory", "memory_limit", "loss", "throttled")
    lines = {name: np.array(more.get(name, nan), np.float32) for name in names}
    return History(np.array(times), np.array(cpu, np.float32), **lines)


def test_buckets_hold_means_and_of_limits_the_last_value():
    nan = float("nan")
    seen = history([10.0, 12.0, 14.9, 15.0, 26.0], [1.0, 2.0, 3.0, 5.0, nan], cpu_limit=[4, 4, 2, nan, 1])
    assert bucketed(seen, "cpu", 2, 4, 5).tolist()[:2] == [2.0, 5.0]
    assert np.isnan(bucketed(seen, "cpu", 2, 4, 5)[2:]).all()
    limits = bucketed(seen, "cpu_limit", 2, 4, 5)
    assert limits[0] == 2.0
    assert np.isnan(limits[1:3]).all()
    assert limits[3] == 1.0


@given(
    values=st.lists(st.floats(0, 64, width=32), min_size=1, max_size=80),
    width=st.sampled_from([1, 2, 5]),
    start=st.integers(0, 40),
)
def test_buckets_equal_a_mean_taken_one_by_one(values, width, start):
    times = [float(start + i) for i in range(len(values))]
    count = number_of(times[-1], width) + 1
    made = bucketed(history(times, values), "cpu", 0, count, width)
    for bucket in range(count):
        own = [v for t, v in zip(times, values, strict=True) if t // width == bucket]
        assert np.isnan(made[bucket]) if not own else made[bucket] == pytest.approx(np.mean(own), rel=1e-4)


@given(at=st.floats(1e9, 2e9), ago=st.floats(0, 2000), width=st.sampled_from([2, 5]))
def test_the_first_bucket_is_never_after_the_last_one(at, ago, width):
    last, first = number_of(at, width), first_bucket(at - ago, at, width)
    assert first <= last
    assert (last - first + 1) * width <= SPAN
    assert first_bucket(at + 5, at, width) == last
    assert first_bucket(None, at, width) <= first


def test_a_container_without_history_has_no_values():
    made = table([history([10.0], [1.0]), None], ("cpu", "loss"), 2, 1, 5)
    assert made["first"] == 2
    assert made["cpu"][0].tolist() == [1.0]
    assert np.isnan(made["cpu"][1]).all()


def test_what_a_page_has_is_read_from_its_address():
    asked = TickRequest.read({"since": "12.5", "shape": "ab", "charts": "a,b,", "fresh": "1"})
    assert asked == TickRequest(12.5, "ab", ("a", "b"), True)
    for since in ("", "x", "nan", "inf", "1e300"):
        assert TickRequest.read({"since": since}).since is None


@pytest.fixture
def fed(tmp_path):
    """An engine with eleven containers and a minute of history."""
    feed = Feed(tmp_path / "home", ENGINE, tuple(container(i) for i in range(11)))
    feed.past(NOW, 60)
    feed.publish(NOW)
    return feed


@pytest.fixture
def server(tmp_path, fed):
    settings = Settings(home=tmp_path / "home", docker=f"{ENGINE}=unix:///nowhere.sock")
    made = create_app(settings).server
    yield made
    made.extensions[EXTENSION].close()


def get_tick(server, query=""):
    answer = server.test_client().get(f"/api/live/{ENGINE}?{query}", base_url="http://127.0.0.1")
    assert answer.status_code == 200, answer.data
    return json.loads(answer.data)


def test_the_first_tick_has_all_and_the_next_only_what_is_new(server, fed):
    first = get_tick(server)
    assert [row["name"] for row in first["rows"]][:2] == ["bert-finetune", "vae-celeba"]
    assert first["columns"]["cpu_limit"][0] == 3.49
    assert len(first["sparks"]["cpu"]) == 11
    assert len(first["sparks"]["cpu"][0]) == number_of(NOW, 5) - first["sparks"]["first"] + 1 <= 14
    fed.publish(NOW + 1)
    query = f"since={first['at']}&shape={first['shape']}&charts={fed.rows[0].id}"
    second = get_tick(server, query)
    assert second["rows"] is None
    assert all(len(line) <= 2 for line in second["sparks"]["cpu"])
    assert second["charts"]["ids"] == [fed.rows[0].id]
    assert len(second["charts"]["memory"][0]) <= 2
    fresh = get_tick(server, query + "&fresh=1")
    assert len(fresh["charts"]["memory"][0]) >= 30


def test_a_history_newer_than_the_view_is_drawn_up_to_the_view(server, tmp_path):
    feed = Feed(tmp_path / "home", ENGINE, (container(0),))
    feed.publish(NOW - 40)
    view = get_tick(server)
    for ago in (39, 1, 0):  # after a pause the history is written before the view
        feed.second(NOW - ago, 1.0)
    first = get_tick(server)
    assert first["at"] == NOW - 40
    later = get_tick(server, f"since={first['at']}&shape={view['shape']}")
    assert len(later["sparks"]["cpu"][0]) <= 2


def test_a_clock_that_was_set_back_is_no_error(server, tmp_path):
    feed = Feed(tmp_path / "home", ENGINE, (container(0),))
    for at in (NOW + 3600, NOW + 3601):
        feed.second(at, 1.0)
    feed.publish(NOW)
    first = get_tick(server)
    assert get_tick(server, f"since={first['at']}&shape={first['shape']}")["at"] == NOW


def test_rows_travel_again_when_one_came_or_changed(server, fed):
    first = get_tick(server)
    fed.rows = (*fed.rows, container(11))
    fed.publish(NOW + 1)
    second = get_tick(server, f"since={first['at']}&shape={first['shape']}")
    assert len(second["rows"]) == 12
    assert len(second["sparks"]["cpu"][0]) > 10, "lines travel whole with the rows"


def test_only_panels_that_changed_change_their_signature(server, fed):
    first = get_tick(server)["panels"]
    fed.publish(NOW + 1)
    assert get_tick(server)["panels"] == first
    fed.foreign = (ContainerRow(id="f" * 64, name="postgres", image="postgres:16"),)
    fed.publish(NOW + 2)
    later = get_tick(server)["panels"]
    assert later["others"] != first["others"]
    assert later["policy"] == first["policy"]


def test_two_hundred_containers_travel_in_a_small_tick(server, fed):
    fed.rows = tuple(container(i) for i in range(200))
    fed.publish(NOW + 1)
    first = get_tick(server, "charts=all&fresh=1")
    assert len(first["rows"]) == len(first["charts"]["ids"]) == 200
    fed.publish(NOW + 2)
    answer = server.test_client().get(
        f"/api/live/{ENGINE}?since={first['at']}&shape={first['shape']}", base_url="http://127.0.0.1"
    )
    assert len(answer.data) < 30_000


def test_an_engine_that_nobody_named_is_refused_in_a_sentence(server):
    answer = server.test_client().get("/api/live/other", base_url="http://127.0.0.1")
    assert answer.status_code == 404
    assert "other" in json.loads(answer.data)["error"]["message"]


def test_histories_are_taken_away_as_csv(server, fed):
    client = server.test_client()
    one = client.get(f"/api/live/{ENGINE}/history.csv?ids={fed.rows[0].id}", base_url="http://127.0.0.1")
    lines = one.get_data(as_text=True).splitlines()
    assert lines[0].startswith("container,time_unix_s,cpu_cores")
    assert len(lines) == 62
    assert all(line.startswith("bert-finetune,1") for line in lines[1:])
    everything = client.get(f"/api/live/{ENGINE}/history.csv", base_url="http://127.0.0.1")
    assert len(everything.get_data(as_text=True).splitlines()) == 1 + 11 * 61
