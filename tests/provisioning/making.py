"""Fleets for the tests of provisioning: drawn by Hypothesis, or made from a seed."""

import numpy as np
from hypothesis import strategies as st

from core.provisioning.fleet import Demand, Fleet, Resource
from core.traces.model import sample_seconds
from core.units import Unit


def demand_of(
    containers, cycle=4.0, period=1.0, labels=None, given=None, times=None, groups=None, codes=None
):
    """A demand from one list of values per container."""
    lengths = [len(values) for values in containers]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = np.concatenate([np.asarray(each, float) for each in containers])
    if times is None:
        times = [np.arange(length) * period for length in lengths]
    time = np.concatenate([np.asarray(each, float) for each in times])
    fleet = Fleet(
        ids=tuple(f"c{i}" for i in range(len(containers))),
        groups=tuple(groups or [f"c{i}" for i in range(len(containers))]),
        time=time,
        seconds=sample_seconds(time, offsets, period),
        offsets=offsets,
        cycle=cycle,
        period=period,
        labels=None if labels is None else np.concatenate([np.asarray(e, np.int16) for e in labels]),
        codes=codes,
        columns={"cpu": values, "other": np.sqrt(np.abs(values))},
    )
    known = None if given is None else np.asarray(given, float)
    return Demand(fleet, Resource.CPU, values, Unit.CORES, known)


def random_demand(seed, n_containers=6, longest=60, cycle=5.0, resource=Resource.CPU):
    """Containers of different lengths and irregular times whose demand follows their phases."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, n_containers)
    labels = [np.repeat(rng.integers(-1, 3, n // 4 + 1), 4)[:n] for n in lengths]
    scales = rng.lognormal(0, 0.5, n_containers)
    values = [
        s * np.maximum(1 + each + rng.gamma(2, 0.3, len(each)), 0)
        for s, each in zip(scales, labels, strict=True)
    ]
    times = [np.cumsum(rng.uniform(0.5, 1.6, n)) for n in lengths]
    n = int(lengths.sum())
    codes = rng.random((n, 3)).astype(np.float32)
    given = np.repeat([3 * s for s in scales], lengths)
    groups = [f"g{i % 3}" for i in range(n_containers)]
    made = demand_of(values, cycle, 1.0, labels, given, times, groups, codes)
    return made.with_(resource=resource)


@st.composite
def demands(draw, most=4, longest=12, positive=False):
    """Small demands with ties, zeros and irregular times."""
    low = 1 if positive else 0
    level = st.one_of(st.integers(low, 6).map(float), st.floats(low, 50, allow_subnormal=False))
    containers = draw(st.lists(st.lists(level, min_size=1, max_size=longest), min_size=1, max_size=most))
    step = st.sampled_from([0.5, 1.0, 1.5, 3.0])
    times = [np.cumsum([draw(step) for _ in each]) for each in containers]
    labels = [[draw(st.integers(-1, 2)) for _ in each] for each in containers]
    cycle = draw(st.sampled_from([1.0, 2.5, 4.0, 100.0]))
    return demand_of(containers, cycle, 1.0, labels, times=times)
