"""Vectors of sixteen numbers do what the plain operations do."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from core.phases.kernels import blocks, compiling, lanes, loops

OPERATIONS = {
    lanes.add: np.add,
    lanes.sub: np.subtract,
    lanes.mul: np.multiply,
    lanes.div: np.divide,
    lanes.smaller: np.minimum,
    lanes.larger: np.maximum,
}


def compiled(operation):
    load, store = lanes.load, lanes.store

    @njit
    def apply(x, y, out):
        store(out, 1, operation(load(x, 2), load(y, 0)))

    return apply


@pytest.mark.parametrize(("operation", "expected"), OPERATIONS.items())
def test_operations_on_two_vectors(operation, expected):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=18).astype(np.float32), rng.uniform(1, 2, 16).astype(np.float32)
    out = np.zeros(18, np.float32)
    compiled(operation)(x, y, out)
    np.testing.assert_allclose(out[1:17], expected(x[2:], y), rtol=1e-6)
    assert out[0] == out[17] == 0


load, store, spread, fused = lanes.load, lanes.store, lanes.spread, lanes.fused


@njit
def scaled_sum(x, factor, y, out):
    store(out, 0, fused(load(x, 0), spread(factor), load(y, 0)))


@given(st.floats(-10, 10, width=32), st.integers(0, 2**31))
def test_fused_and_spread(factor, seed):
    rng = np.random.default_rng(seed)
    x, y = (rng.normal(size=16).astype(np.float32) for _ in range(2))
    out = np.zeros(16, np.float32)
    scaled_sum(x, np.float32(factor), y, out)
    np.testing.assert_allclose(out, x * np.float32(factor) + y, rtol=1e-4, atol=1e-5)


def test_a_choice_takes_each_lane_by_itself():
    less, equal = lanes.where_less, lanes.where_equal

    @njit
    def choose(x, y, yes, no, out):
        store(out, 0, less(load(x, 0), load(y, 0), load(yes, 0), load(no, 0)))
        store(out, 16, equal(load(x, 0), load(y, 0), load(yes, 0), load(no, 0)))

    rng = np.random.default_rng(0)
    x, y, yes, no = (rng.integers(0, 3, 16).astype(np.float32) for _ in range(4))
    x[0] = np.nan
    out = np.empty(32, np.float32)
    choose(x, y, yes, no, out)
    np.testing.assert_array_equal(out, np.concatenate([np.where(x < y, yes, no), np.where(x == y, yes, no)]))


def test_whole_numbers_are_stored_where_they_belong():
    whole = lanes.store_whole

    @njit
    def write(values, out):
        whole(out, 1, load(values, 0))

    values = np.array([*range(-7, 7), 32_767, -32_768], np.float32)
    out = np.full(18, 9, np.int16)
    write(values, out)
    np.testing.assert_array_equal(out, [9, *values, 9])


@pytest.mark.parametrize("module", [loops, blocks])
def test_cached_kernels_belong_to_these_lanes(module):
    parts = [Path(each.__file__).read_bytes() for each in (lanes, compiling)]
    mark = hashlib.sha256(b"".join(parts)).hexdigest()[:12]
    assert mark == module.LANES_MARK, f'set LANES_MARK = "{mark}" in {module.__name__}'


def test_a_place_without_a_cache_folder_still_compiles(monkeypatch):
    asked = []

    def picky(**options):
        asked.append(options)
        if options.get("cache"):

            def fail(function):
                raise RuntimeError("cannot cache function: no locator available")

            return fail
        return njit(**options)

    monkeypatch.setattr(compiling, "njit", picky)
    double = compiling.compiled(lambda x: x * 2)
    assert double(4) == 8
    assert [options.get("cache") for options in asked] == [True, None]
