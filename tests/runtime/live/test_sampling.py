"""From counters to what is shown: rates, sums, rows, and phases as samples arrive."""

import math
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines.docker_host import Container, Counters, Limits
from core.engines.errors import ContainerGone
from core.engines.values import HostInfo
from core.errors import MismatchError
from core.live.control.saved_limits import SavedLimitsStore
from core.phases import PhaseSettings, fit, predict
from core.sampling.phases import LIVE_FEATURES, PhaseTracker
from core.sampling.sampler import (
    LossReader,
    Sampler,
    Usage,
    UsageReader,
    count_labels,
    field_values,
    mark_rows,
    row_of,
    sum_totals,
    usage_between,
)
from core.sampling.values import FIELDS, ContainerRow
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit
from tests.builders import small_model, small_traces


def container(**values):
    plain = {
        "id": "a" * 64, "name": "job", "image": "img", "labels": {}, "state": "running", "created": 1.0,
        "started": 2.0, "pid": 7, "limits": Limits(), "cpuset": ""
    }  # fmt: skip
    return Container(**{**plain, **values})


class TwoListsOfTwoMoments:
    """A host whose lists of running and of stopped containers are of two moments."""

    name, address = "box", SimpleNamespace(name="box", url="")

    def __init__(self):
        self.running, self.ended, self.present = [], [], {}

    def info(self):
        return HostInfo("box", 4.0, 2**33, "1", 2, local=False, id="BOX")

    def containers(self):
        return self.running

    def stopped(self, wanted, at_most):
        return [each for each in self.ended if wanted(each)][:at_most]

    def inspect(self, name):
        if name not in self.present:
            raise ContainerGone("It is gone.", "See which there are.")
        return self.present[name]

    def counters(self, containers):
        return {each.id: Counters(1.0, 1.0, 1) for each in containers}

    def pressure(self):
        return None

    def readings(self, _container):
        return None

    def logs_since(self, *_):
        return []


def test_no_container_vanishes_between_two_lists_of_a_host(workspace):
    host, labelled = TwoListsOfTwoMoments(), {"phasedock": "1"}
    a, b = (container(id=name * 64, name=name, labels=labelled) for name in "ab")
    sampler = Sampler(host, SavedLimitsStore(workspace.database), LossReader(host))
    host.running, host.present = [a, b], {a.id: a, b.id: b}
    sampler.sample()
    host.running = [a]  # b started again, and is in neither list yet
    view, _ = sampler.sample()
    assert ([row.name for row in view.rows], view.stopped) == (["a", "b"], ())
    host.running, host.ended = [a], [b]  # it was listed as stopped, and runs now
    view, _ = sampler.sample()
    assert ([row.name for row in view.rows], view.stopped) == (["a", "b"], ())
    host.ended = []
    ended = replace(b, state="exited", pid=0, ended=time.time())
    host.present[b.id] = ended
    view, _ = sampler.sample()
    assert ([row.name for row in view.rows], [row.name for row in view.stopped]) == (["a"], ["b"])
    host.running, host.present = [], {}  # both were removed
    view, _ = sampler.sample()
    assert (view.rows, view.stopped) == ((), ())


def test_usage_is_the_difference_of_two_readings():
    before = Counters(10.0, 5.0, 100, 10, 20, 30, 40, 100, 10, 1.0)
    now = Counters(12.0, 8.0, 150, 110, 20, 30, 240, 120, 15, 2.0)
    assert usage_between(before, now) == Usage(1.5, 150.0, 50.0, 100.0, 0.25, 0.5)


def test_the_first_reading_and_one_after_a_restart_know_no_rate():
    first = Counters(10.0, 5.0, 100)
    assert usage_between(None, first) == Usage(None, 100.0)
    assert usage_between(first, Counters(11.0, 0.1, 60)) == Usage(None, 60.0)
    assert usage_between(first, Counters(10.0, 6.0, 60)).cpu is None


def test_what_a_quota_withheld_is_the_time_for_which_threads_were_throttled():
    before = Counters(1.0, 1.0, 1, periods=10, throttled_periods=1, throttled_seconds=0.5)
    now = Counters(3.0, 2.0, 1, periods=30, throttled_periods=11, throttled_seconds=2.0)
    usage = usage_between(before, now)
    assert (usage.cpu, usage.throttled, usage.withheld) == (0.5, 0.5, 0.75)
    assert usage_between(None, now).withheld is None


def test_without_a_period_nobody_knows_whether_it_was_throttled():
    assert usage_between(Counters(1.0, 1.0, 1), Counters(2.0, 1.5, 1)).throttled is None


def test_a_reader_forgets_containers_that_it_was_not_shown():
    reader = UsageReader()
    assert reader.take({"a": Counters(1.0, 1.0, 1)})["a"].cpu is None
    assert reader.take({"a": Counters(2.0, 1.5, 1)})["a"].cpu == 0.5
    reader.take({})
    assert reader.take({"a": Counters(4.0, 2.5, 1)})["a"].cpu is None


@given(st.lists(st.tuples(st.floats(0.5, 2.0), st.floats(0.0, 4.0)), min_size=2, max_size=20))
def test_rates_times_seconds_are_the_counter(steps):
    moments = np.cumsum([seconds for seconds, _ in steps])
    used = np.cumsum([cores * seconds for seconds, cores in steps])
    reader = UsageReader()
    rates = [reader.take({"a": Counters(at, cpu, 1)})["a"].cpu for at, cpu in zip(moments, used, strict=True)]
    integral = sum(rate * dt for rate, dt in zip(rates[1:], np.diff(moments), strict=True))
    assert integral == pytest.approx(used[-1] - used[0], abs=1e-9)


def test_a_row_says_what_is_known_and_nothing_else():
    limits = Limits(cpu_quota=50_000, cpu_period=100_000, memory=2**30, memory_swap=2**31)
    row = row_of(container(limits=limits, labels={"phasedock": ""}), None, picked=False, held=True, at=1e9)
    assert (row.cpu, row.memory, row.throttled) == (None, None, None)
    assert (row.cpu_limit, row.memory_limit, row.labelled, row.held) == (0.5, 2**30, True, True)
    free = row_of(container(), Usage(0.25, 5.0, 1.0, 2.0), picked=True, held=False, at=1e9)
    assert (free.cpu_limit, free.memory_limit, free.picked, free.malleable) == (None, None, True, False)
    values = dict(zip(FIELDS, field_values(free), strict=True))
    assert (values["cpu"], values["memory"], values["io"], values["network"]) == (0.25, 5.0, 1.0, 2.0)
    assert math.isnan(values["cpu_limit"])


def test_sums_leave_out_what_is_not_known():
    rows = [
        ContainerRow("a", "a", cpu=0.5, memory=10.0, throttled=0.2),
        ContainerRow("b", "b", cpu=None, memory=5.0),
        ContainerRow("c", "c", cpu=1.0, memory=None, throttled=0.4),
    ]
    totals = sum_totals(rows, 4.0, 100.0)
    assert (totals.cpu, totals.memory, totals.containers) == (1.5, 15.0, 3)
    assert totals.throttled == pytest.approx(0.3)
    assert sum_totals([], 4.0, 100.0).throttled is None


def test_lists_are_counted_and_rows_marked():
    rows = mark_rows(
        [ContainerRow("a", "a"), ContainerRow("b", "b")], {"a": ("NL", 0.5), "gone": ("CL", None)}
    )
    assert [(row.label, row.growth) for row in rows] == [("NL", 0.5), (None, None)]
    assert count_labels(["NL", "CL", "NL", None, ""]) == (("NL", 2), ("CL", 1))


def stream(phaser, traces):
    """Phases of the first execution, one sample after the other, warm-up as −1."""
    execution, labels = traces.execution(traces.ids[0]), []
    for at, cpu, memory in zip(
        execution.elapsed, execution.columns["cpu_cores"], execution.columns["memory_bytes"], strict=True
    ):
        row = dict.fromkeys(FIELDS, math.nan) | {"cpu": cpu, "memory": memory}
        labels.append(phaser.push(float(at), {"a": tuple(row.values())}).get("a", -1))
    return labels


def every_second():
    made = small_traces(1, samples=80)
    return TraceSet(
        made.features, made.columns, np.arange(float(made.n_samples)), made.ids, made.offsets, 1.0
    )


def test_phases_as_samples_arrive_are_those_of_all_samples_together():
    traces = every_second()
    model = fit(traces, PhaseSettings(phases=3, hidden=4, epochs=2, seed=7), ["cpu_cores", "memory_bytes"])
    assert stream(PhaseTracker(model), traces) == predict(model, traces).tolist()


def test_a_model_of_a_longer_period_is_shown_means_over_it():
    model = small_model(small_traces(3), history=1)
    assert model.training.period == 10.0
    phaser = PhaseTracker(model)
    labels = [
        phaser.push(float(at), {"a": (1.0, math.nan, 1e8, *(math.nan,) * (len(FIELDS) - 3))}).get("a", -1)
        for at in range(60)
    ]
    assert labels[:19] == [-1] * 19
    assert labels[19] >= 0
    assert len(set(labels[19:])) == 1


def test_a_model_that_reads_something_else_is_refused(refuses):
    other = (Feature("gpu", Role.OTHER, Unit.SHARE), Feature("cpu_cores", Role.CPU, Unit.CORES))
    made = every_second()
    traces = TraceSet(other, made.columns[:2], made.time, made.ids, made.offsets, 1.0)
    with refuses(MismatchError):
        PhaseTracker(fit(traces, PhaseSettings(phases=2, hidden=2, epochs=1)))


def test_a_thousand_containers_are_labelled_within_a_fraction_of_a_second():
    """The cost grows with the number of containers and no faster, on a machine of any speed.

    Counted in time of this thread on a core: a longer computation is interrupted by whatever else the
    machine does, a short one is not.
    """
    model = fit(every_second(), PhaseSettings(phases=3, hidden=4, epochs=1), ["cpu_cores", "memory_bytes"])

    def cost(containers):
        phaser, took = PhaseTracker(model), []
        rows = {
            f"c{at}": (at / 1000, math.nan, 1e8 + at, *(math.nan,) * (len(FIELDS) - 3))
            for at in range(containers)
        }
        for at in range(12):
            begun = time.thread_time()
            phases = phaser.push(float(at), rows)
            took.append(time.thread_time() - begun)
        assert len(phases) == containers
        return min(took[4:])

    hundred, thousand = cost(100), cost(1000)
    assert thousand < 30 * hundred
    assert thousand < 0.25
    assert len(LIVE_FEATURES) == len(FIELDS)
