"""The simulator against its slow twin, which goes by small steps."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.scheduling.actions import Migrate, Pause, Resume, SetLimit, Start
from core.scheduling.shares import water_fill
from tests.examples import fewer
from tests.oracles import slow_simulator as slow
from tests.simulation.making import run, scenarios, scripted, tenths

STEP = 0.004
WITHIN = 0.1


@st.composite
def scripts(draw, scenario):
    """Actions after every arrival; what is paused goes on later."""
    lines = []
    for spec in scenario.jobs:
        when = draw(tenths(5.1, 9))
        limit = draw(st.sampled_from([None, 0.2, 0.5]))
        to = draw(st.sampled_from([worker.id for worker in scenario.workers]))
        chosen = draw(st.sampled_from(["none", "limit", "pause", "migrate"]))
        if chosen == "limit":
            lines.append((when, SetLimit(spec.id, limit, draw(st.sampled_from([0.5, 1.0, 3.0])))))
        elif chosen == "pause":
            lines += [(when, Pause(spec.id)), (when + draw(tenths(0.1, 5)), Resume(spec.id))]
        elif chosen == "migrate":
            lines.append((when, Migrate(spec.id, to)))
    return lines


@fewer(4)
@given(st.data(), scenarios())
def test_every_job_ends_when_the_twin_says(data, scenario):
    script = data.draw(scripts(scenario))
    starts = {
        spec.id: Start(
            spec.id,
            data.draw(st.sampled_from([worker.id for worker in scenario.workers])),
            data.draw(st.sampled_from([None, 0.5, 0.3])),
            data.draw(st.sampled_from([1.0, 0.5, 2.0])),
        )
        for spec in scenario.jobs
    }
    entries = run(scenario, scripted(script, starts))
    fast = {j.id: (e.observation.time, j.cpu_seconds) for e in entries for j in e.observation.ended}
    moments = [when for when, _ in script]
    assume(all(abs(end - when) > WITHIN for end, _ in fast.values() for when in moments))
    begins = [(spec.arrival, starts[spec.id]) for spec in scenario.jobs]
    twin = slow.simulate(scenario, [*begins, *script], STEP)
    for name, (end, used) in twin.items():
        assert fast[name][0] == pytest.approx(end, abs=WITHIN)
        assert fast[name][1] == pytest.approx(used, abs=WITHIN)


positive = st.floats(0.01, 10)


@given(positive, st.lists(st.tuples(positive | st.just(float("inf")), positive), min_size=1, max_size=8))
def test_water_filling_equals_bisection(capacity, jobs):
    caps, weights = ([pair[part] for pair in jobs] for part in (0, 1))
    found = water_fill(capacity, caps, weights)
    bounded = [min(cap, capacity) for cap in caps]
    assert found == pytest.approx(slow.shares(capacity, bounded, weights), rel=1e-6, abs=1e-9)
    assert sum(found) <= capacity * (1 + 1e-12)
    assert sum(found) == pytest.approx(min(capacity, sum(caps)))


def test_water_filling_gives_keshavs_example():
    """Capacity 10, demands 2, 2.6, 4 and 5: 2, 2.6, 2.7 and 2.7 (Keshav, pages 215-217)."""
    assert water_fill(10, [2, 2.6, 4, 5], [1, 1, 1, 1]) == pytest.approx([2, 2.6, 2.7, 2.7])
    assert water_fill(1, [], []) == []
