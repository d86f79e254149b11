"""One odd answer concerns one container: the others are sampled on, and the odd one is named on its row."""

import json
import math
import time
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.engines.docker_host import Host
from core.engines.docker_host.connection import MAX_BYTES, Address
from core.engines.docker_host.kind import _adopt
from core.engines.errors import HostLost
from core.engines.values import FollowOptions
from core.live.view import read_view, write
from core.sampling.sampler import LossReader, Sampler
from tests.engines.odd_daemon import IDS, LINE, NAMES, framed, leave, serving

pytestmark = pytest.mark.loopback

HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
BODIES = (b"", b"null", b"[]", b"{}", b"17", b'"text"', b'{"a":', b"\xff\xfe\x00", HTML, b"[" * 5000)
VALUES = (
    *(None, True, -1, -1e300, 1e300, 10**30, 2**63, 0.5, "", "x", "\ud800", "a\x00b", [], [None], {}),
    *({"a": 1}, math.nan, math.inf, "2026-99-99T99:99:99Z", "9" * 400, [["x"]]),
)


class NoMarks:
    """Nothing is picked, and nothing was changed."""

    def picked(self, _engine):
        return frozenset()

    def saved_containers(self, _engine):
        return frozenset()


@pytest.fixture(scope="module")
def daemon():
    with serving() as made:
        yield made


@pytest.fixture
def sample(daemon, tmp_path):
    """Sample twice; the view as a page reads it."""

    def twice():
        with Host(Address("box", daemon.url), guard=lambda _: False) as host:
            sampler = Sampler(host, NoMarks(), LossReader(host))
            sampler.sample()
            time.sleep(0.01)
            view, _ = sampler.sample()
        write(tmp_path / "view.json", view)
        return read_view(tmp_path / "view.json")

    yield twice
    daemon.spoil = leave


def check(view):
    """The others are as ever; the odd one is there, and says so if it was not measured."""
    rows = {row.name: row for row in (*view.rows, *view.stopped)}
    for name in NAMES[1:]:
        row = rows[name]
        assert row.cpu == pytest.approx(0.5, abs=0.4)
        assert (row.memory, row.cpu_limit, row.unreadable) == (3_043_328.0, 1.5, "")
    assert math.isfinite(view.totals.cpu)
    assert math.isfinite(view.totals.memory)
    odd = next(row for row in (*view.rows, *view.stopped, *view.foreign) if row.id == IDS["odd"])
    assert odd.name
    return odd


def paths(value, before=()):
    """Every place in an answer."""
    yield before
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        yield from paths(each, (*before, key))


def changed(answer, path, value, missing):
    """An answer with another value at a place, or without it."""
    if not path:
        return value
    answer = deepcopy(answer)
    place = answer
    for key in path[:-1]:
        place = place[key]
    if missing:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return answer


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_whatever_is_answered_about_one_container_the_others_are_sampled_on(daemon, sample, data):
    what = data.draw(st.sampled_from(["json", "stats"]))
    value, missing = data.draw(st.sampled_from(VALUES)), data.draw(st.booleans())
    seed = data.draw(st.integers(0, 10_000))

    def spoil(asked, answer):
        if asked != (what, "odd"):
            return None
        places = list(paths(answer))
        path = places[seed % len(places)]
        return 200, json.dumps(changed(answer, path, value, missing)).encode()

    daemon.spoil = spoil
    odd = check(sample())
    assert odd.unreadable or odd.cpu is not None or missing or value is None or not odd.labelled


@pytest.mark.parametrize("what", ["json", "stats", "logs"])
@pytest.mark.parametrize("body", BODIES)
def test_another_body_than_docker_sends(daemon, sample, what, body):
    daemon.spoil = lambda asked, _: (200, body) if asked == (what, "odd") else None
    odd = check(sample())
    assert odd.unreadable or what == "logs"


@pytest.mark.parametrize("what", ["json", "stats", "logs"])
@pytest.mark.parametrize("status", [403, 500, 502])
def test_an_error_for_one_container(daemon, sample, what, status):
    daemon.spoil = lambda asked, _: (status, HTML) if asked == (what, "odd") else None
    odd = check(sample())
    if what == "logs":
        assert "Docker on box says" in odd.loss_why
    else:
        assert "Docker on box says" in odd.unreadable


def test_the_description_of_another_container_is_not_taken_for_it(daemon, sample):
    daemon.spoil = lambda asked, answer: (
        (200, json.dumps({**answer, "Id": IDS["one"]}).encode()) if asked == ("json", "odd") else None
    )
    assert "another container" in check(sample()).unreadable


@pytest.mark.parametrize("used", [-5, 10**25, 2**62, "many", 1e40])
def test_what_no_kernel_counts_was_not_measured(daemon, sample, used):
    times = iter(range(10))

    def spoil(asked, answer):
        if asked != ("stats", "odd"):
            return None
        cpu = {**answer["cpu_stats"], "cpu_usage": {"total_usage": used if next(times) else 0}}
        return 200, json.dumps({**answer, "cpu_stats": cpu}).encode()

    daemon.spoil = spoil
    odd = check(sample())
    assert odd.cpu is None
    assert odd.memory == 3_043_328.0, "its memory was measured"
    assert odd.unreadable


@pytest.mark.parametrize(
    "logs",
    [
        framed(LINE % 1 + b"2026-03-04T05:06:08.1Z \xff\xfe loss=\xc3\x28\n"),
        framed(b"2026-03-04T05:06:08.1Z " + b"x" * 10_000_000 + b"\n" + LINE % 5),
        b"\x01\x00\x00\x00\xff\xff\xff\xff" + LINE % 1,
        b"\x01\x00\x00",
        framed(b"9999-99-99T00:00:00Z loss=1\nno time\n"),
        framed(b"2026-03-04T05:06:08.1Z " + b"y" * (MAX_BYTES + 5)),
    ],
    ids=["no UTF-8", "a line of 10 MB", "a wrong length", "cut off", "no times", "more than is read"],
)
def test_odd_logs(daemon, sample, logs):
    daemon.spoil = lambda asked, _: (200, logs) if asked == ("logs", "odd") else None
    odd = check(sample())
    assert odd.cpu is not None
    assert odd.loss is None or math.isfinite(odd.loss)


@pytest.mark.parametrize("entry", [None, 17, {}, {"Id": 5}, {"Id": "f" * 64, "Labels": [1], "Names": {}}])
def test_an_odd_entry_of_the_list_hides_no_other(daemon, sample, entry):
    daemon.spoil = lambda asked, answer: (
        (200, json.dumps([entry, *answer]).encode()) if asked[0] == "list" else None
    )
    check(sample())


@pytest.mark.parametrize("what", ["list", "info"])
@pytest.mark.parametrize("body", [HTML, b"null", b"17", b'{"message": "x"}'])
def test_an_odd_answer_about_the_host_is_a_lost_host_in_one_sentence(daemon, sample, what, body):
    daemon.spoil = lambda asked, _: (200, body) if asked[0] == what else None
    with pytest.raises(HostLost) as lost:
        sample()
    assert "cannot be read" in lost.value.message


def test_a_policy_goes_on_with_the_others(daemon, tmp_path):
    """At first it is not adopted; later it stays as it was last seen."""
    daemon.spoil = lambda asked, _: (500, HTML) if asked == ("json", "odd") else None
    with (
        Host(Address("box", daemon.url), guard=lambda _: True) as host,
        _adopt(host, tmp_path, lambda _: True, lambda: None, FollowOptions(0.0)) as engine,
    ):
        assert {job.id for job in engine.observe().jobs} == {"one", "other"}
        daemon.spoil = leave
        host._cache.mark_stale(IDS["odd"])
        assert {job.id for job in engine.observe().jobs} == set(NAMES)
        daemon.spoil = lambda asked, _: (200, HTML) if asked == ("json", "odd") else None
        host._cache.mark_stale(IDS["odd"])
        observation = engine.observe()
        assert {job.id: job.limit for job in observation.jobs} == dict.fromkeys(NAMES, 1.5)
        assert observation.ended == ()
