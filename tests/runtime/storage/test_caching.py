"""The cache: bounded by bytes, one maker per key, errors kept for nobody."""

import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from core.workspace.cache import ByteCache


def test_the_least_recently_used_goes_first():
    cache = ByteCache(3, lambda _: 1)
    for key in "abc":
        cache.get(key, lambda key=key: key)
    cache.get("a", lambda: "anew")
    cache.get("d", lambda: "d")
    assert [cache.peek(key) for key in "abcd"] == ["a", None, "c", "d"]


def test_what_is_too_large_is_given_out_but_not_kept():
    cache = ByteCache(10, len)
    assert cache.get("x", lambda: "y" * 11) == "y" * 11
    assert cache.peek("x") is None
    assert cache.n_bytes == 0


def test_forgetting_gives_the_room_back():
    cache = ByteCache(10, len)
    cache.get(("a", 1), lambda: "12345")
    cache.get(("b", 1), lambda: "123")
    cache.forget(lambda key: key[0] == "a")
    assert cache.n_bytes == 3
    assert cache.peek(("a", 1)) is None


def test_two_that_ask_at_once_make_it_once():
    cache, made, results = ByteCache(10, lambda _: 1), [], []

    def make():
        made.append(1)
        time.sleep(0.1)
        return object()

    threads = [threading.Thread(target=lambda: results.append(cache.get("k", make))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len({id(result) for result in results}) == 1


def test_an_error_reaches_all_who_wait_and_is_not_kept(refuses):
    cache, begun, errors = ByteCache(10, lambda _: 1), threading.Event(), []

    def fail():
        begun.set()
        time.sleep(0.1)
        raise ValueError("no")

    def ask():
        try:
            cache.get("k", fail)
        except ValueError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    threads[0].start()
    begun.wait()
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 3
    assert cache.get("k", lambda: 5) == 5
    with refuses(ValueError):
        cache.get("other", fail)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=60))
def test_the_bound_holds_whatever_is_asked(asked):
    cache = ByteCache(12, lambda value: value)
    for key, weight in asked:
        cache.get((key, weight), lambda weight=weight: weight)
        kept = sum(w for k, w in {*asked} if cache.peek((k, w)) is not None)
        assert cache.n_bytes == kept <= 12
