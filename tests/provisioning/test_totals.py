"""Totals over age: regular sampling gives level totals, and nothing is lost between bins."""

from dataclasses import replace

import numpy as np
import pytest

from core.provisioning.evaluation.evaluate import age_bins, total_over_age
from core.provisioning.fleet import Resource, prepare
from tests.builders import small_traces


def level_fleet(lengths, period):
    """Containers of some lengths that all use two cores all the time."""
    traces = small_traces(len(lengths), samples=max(lengths))
    keep = np.concatenate([np.arange(n) + traces.offsets[i] for i, n in enumerate(lengths)])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    # times as files have them: large, and not whole multiples of the period to the last bit
    time = np.concatenate([1_700_131_067.0 + 37.3 * i + np.arange(n) * period for i, n in enumerate(lengths)])
    columns = tuple(np.full(len(keep), 2.0) for _ in traces.columns)
    made = replace(
        traces, columns=columns, time=time, offsets=offsets, breaks=np.empty(0, np.int64), period=period
    )
    return prepare(made).demands[Resource.CPU]


@pytest.mark.parametrize("period", [1.0, 7.5, 10.0, 300.0])
@pytest.mark.parametrize("samples", [60, 241, 293, 1000])
def test_what_is_level_stays_level_whatever_the_length(samples, period):
    demand = level_fleet([samples] * 3, period)
    starts, place = age_bins(demand.fleet)
    total = total_over_age(demand.values, demand.fleet, starts, place)
    np.testing.assert_allclose(total[:-1], 6.0)
    assert 0 < total[-1] <= 6.0 + 1e-9
    assert len(starts) <= 241


def test_the_area_is_what_all_used_together():
    demand = level_fleet([300, 120, 77], 10.0)
    starts, place = age_bins(demand.fleet)
    total = total_over_age(demand.values, demand.fleet, starts, place)
    assert total.sum() * starts[1] == pytest.approx(2.0 * 10.0 * (300 + 120 + 77))
    assert np.all(np.diff(total) <= 1e-9)
