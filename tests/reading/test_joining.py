"""Several files become one set: stacked by columns, joined by execution and time; nothing is lost unsaid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.reading.joining import FilePart, NotJoinedError, join_files, match_samples, strip_metric
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit
from tests.oracles import slow_joining

CPU = Feature("cpu", Role.CPU, Unit.CORES)
MEMORY = Feature("memory", Role.MEMORY, Unit.BYTES)


def traces(samples, feature=CPU, **attributes):
    """A set of one feature from ``{execution: [(time, value), …]}``."""
    flat = [pair for pairs in samples.values() for pair in pairs]
    lengths = [len(pairs) for pairs in samples.values()]
    return TraceSet(
        features=(feature,),
        columns=(np.array([value for _, value in flat], dtype=np.float64),),
        time=np.array([time for time, _ in flat], dtype=np.float64),
        ids=tuple(samples),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        period=1.0,
        attributes=attributes,
    )


def every(step, n, start=0.0, value=1.0):
    return [(start + step * i, value + i) for i in range(n)]


def kinds(made):
    return {one.kind: one.count for one in made.problems}


times = st.lists(st.integers(0, 60), min_size=2, max_size=12, unique=True).map(sorted)
file_of_samples = st.dictionaries(
    st.sampled_from(["a", "b", "c/main"]),
    times.map(lambda found: [(float(time), float(i)) for i, time in enumerate(found)]),
    min_size=1,
)


@given(times, times, st.sampled_from([0.5, 2.0, 7.5]))
def test_partners_are_those_of_the_slow_twin(a, b, limit):
    mine, theirs = match_samples(np.array(a, dtype=float), np.array(b, dtype=float), limit)
    assert list(zip(mine.tolist(), theirs.tolist(), strict=True)) == slow_joining.partners(a, b, limit)


@settings(deadline=None)
@given(file_of_samples, file_of_samples, st.none() | file_of_samples)
def test_rows_are_those_of_the_slow_twin_and_no_row_leaves_unsaid(first, second, third):
    files = [first, second] if third is None else [first, second, third]
    features = [CPU, MEMORY, Feature("loss", Role.LOSS)]
    parts = [FilePart(f"{i}.csv", traces(one, features[i])) for i, one in enumerate(files)]
    expected = slow_joining.joined(files)
    if not expected:
        with pytest.raises(NotJoinedError):
            join_files(parts)
        return
    made = join_files(parts)
    found = {
        one.name: list(zip(one.time, *one.columns.values(), strict=True)) for one in made.traces.executions()
    }
    assert found == expected
    rows = sum(len(pairs) for file in files for pairs in file.values())
    lost = sum(one.count for one in made.problems if one.kind in ("no_partner", "few_without_partner"))
    assert made.traces.n_samples * made.weight + lost == rows


def test_files_of_other_executions_are_stacked_and_one_goes_on():
    made = join_files(
        [
            FilePart("mon.csv", traces({"a": every(5, 4)}, team=["x"])),
            FilePart("tue.csv", traces({"b": every(5, 3), "a": every(5, 4, 20.0, 5.0)})),
        ]
    )
    assert made.traces.ids == ("a", "b")
    assert made.traces.execution("a").columns["cpu"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert made.traces.attributes == {"team": ["x", ""]}
    assert kinds(made) == {"goes_on": 1}


def test_the_same_metric_of_one_execution_twice_is_refused_by_file(refuses):
    with refuses(NotJoinedError):
        join_files(
            [
                FilePart("x.csv", traces({"a": every(5, 4)})),
                FilePart("y.csv", traces({"a": every(5, 4, 10.0)})),
            ]
        )


def test_columns_that_only_one_of_two_files_has_are_named(refuses):
    both = traces({"b": every(5, 4)})
    both = TraceSet((CPU, MEMORY), (*both.columns, both.columns[0]), both.time, both.ids, both.offsets, 5.0)
    with refuses(NotJoinedError):
        join_files([FilePart("x.csv", traces({"a": every(5, 4)})), FilePart("y.csv", both)])


@pytest.mark.parametrize("other", [{"b": every(5, 4)}, {"a": every(5, 4, 3600.0)}])
def test_what_cannot_be_joined_is_said_with_what_each_has(other, refuses):
    with refuses(NotJoinedError):
        join_files([FilePart("c.csv", traces({"a": every(5, 4)})), FilePart("m.csv", traces(other, MEMORY))])


def test_times_half_a_period_apart_do_not_match():
    cpu = FilePart("c.csv", traces({"a": every(10, 4)}))
    assert (
        join_files([cpu, FilePart("m.csv", traces({"a": every(10, 4, 4.9)}, MEMORY))]).traces.n_samples == 4
    )
    with pytest.raises(NotJoinedError):
        join_files([cpu, FilePart("m.csv", traces({"a": every(10, 4, 5.0)}, MEMORY))])


def test_rows_between_the_samples_of_a_slower_file_are_counted_and_not_filled():
    made = join_files(
        [
            FilePart("c.csv", traces({"a": every(15, 40)})),
            FilePart("m.csv", traces({"a": every(60, 10)}, MEMORY)),
        ]
    )
    assert made.traces.time.tolist() == [60.0 * i for i in range(10)]
    assert kinds(made) == {"no_partner": 30}
    assert "c.csv: 30 of 40 rows have no partner in m.csv" in made.problems[0].message


def test_an_execution_that_one_file_lacks_is_named():
    made = join_files(
        [
            FilePart("c.csv", traces({"a": every(5, 4), "b": every(5, 4)})),
            FilePart("m.csv", traces({"a": every(5, 4)}, MEMORY)),
        ]
    )
    assert made.traces.ids == ("a",)
    assert "c.csv: 4 of 8 rows have no partner in m.csv; 1 execution is lost with them, “b”" in [
        one.message.rstrip(".") for one in made.problems
    ]


def test_a_row_of_each_execution_without_a_partner_is_few():
    rates = FilePart("c.csv", traces({"a": every(5, 3, 5.0)}))  # a counter has no rate at its start
    made = join_files([rates, FilePart("m.csv", traces({"a": every(5, 4)}, MEMORY))])
    assert kinds(made) == {"few_without_partner": 1}


def test_files_that_name_no_execution_are_one_where_only_the_metric_differs():
    parts = [
        FilePart("cpu_train-1.csv", traces({"cpu_train-1": every(5, 4)}), is_unnamed=True),
        FilePart("memory_train-1.csv", traces({"memory_train-1": every(5, 4)}, MEMORY), is_unnamed=True),
        FilePart("cpu_train-2.csv", traces({"cpu_train-2": every(5, 4)}), is_unnamed=True),
        FilePart("memory_train-2.csv", traces({"memory_train-2": every(5, 4)}, MEMORY), is_unnamed=True),
    ]
    made = join_files(parts)
    assert made.traces.ids == ("train-1", "train-2")
    assert kinds(made) == {"named_by_files": 2}
    assert join_files([parts[0], parts[2]]).traces.ids == ("cpu_train-1", "cpu_train-2")
    alone = [FilePart(one.file.split("_")[0] + ".csv", one.traces, is_unnamed=True) for one in parts[:2]]
    assert join_files(alone).traces.ids == ("cpu + memory",)


@pytest.mark.parametrize(
    ("file", "said"),
    [("cpu_train-1.csv", "train-1"), ("train-1-memory-usage.csv.gz", "train-1"), ("CPU.csv", ""),
     ("job cpu 7.json", "job-7"), ("cpuset.csv", "cpuset"),
     ("gpu-worker-1-memory.csv", "worker-1")]
)  # fmt: skip
def test_what_a_file_measures_is_no_part_of_its_containers_name(file, said):
    assert strip_metric(file).replace(" ", "-") == said
