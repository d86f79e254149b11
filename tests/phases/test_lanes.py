"""Vectors of sixteen numbers do what the plain operations do."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from numba import njit

from core.phases import kernels, lanes

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
@limits(max_examples=30)
def test_fused_and_spread(factor, seed):
    rng = np.random.default_rng(seed)
    x, y = (rng.normal(size=16).astype(np.float32) for _ in range(2))
    out = np.zeros(16, np.float32)
    scaled_sum(x, np.float32(factor), y, out)
    np.testing.assert_allclose(out, x * np.float32(factor) + y, rtol=1e-4, atol=1e-5)


def test_cached_kernels_belong_to_these_lanes():
    mark = hashlib.sha256(Path(lanes.__file__).read_bytes()).hexdigest()[:12]
    assert mark == kernels.LANES_MARK, f'lanes.py was changed: set LANES_MARK = "{mark}" in kernels.py'


def test_a_place_without_a_cache_folder_still_compiles(monkeypatch):
    asked = []

    def picky(**options):
        asked.append(options)
        if options.get("cache"):

            def fail(function):
                raise RuntimeError("cannot cache function: no locator available")

            return fail
        return njit(**options)

    monkeypatch.setattr(kernels, "njit", picky)
    double = kernels.compiled(lambda x: x * 2)
    assert double(4) == 8
    assert [options.get("cache") for options in asked] == [True, None]
