"""Files damaged at random: whatever they are, the answer is a trace set and a report, or a sentence."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.errors import PhaseDockError
from core.store import inspect_file, read_with_report
from core.traces.cleaning import OPTIONAL
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

GOOD = "execution,timestamp,cpu,memory\n" + "".join(
    f"{name},{1_700_000_000 + 10 * i},{0.25 * i},{1000 + i}\n" for name in ("a", "b") for i in range(9)
)
MAPPING = ColumnMapping(
    execution="execution",
    time="timestamp",
    features=(MappedColumn("cpu", Role.CPU, "cores"), MappedColumn("memory", Role.MEMORY, "bytes")),
)
PIECES = st.sampled_from(
    [
        b",",
        b'"',
        b"\n",
        b"\r",
        b"\x00",
        b"\xff",
        b";",
        b"\t",
        b"nan",
        b"inf",
        b"-",
        b"1e9",
        b"\xef\xbb\xbf",
        b"#",
        b"{",
    ]
) | st.binary(max_size=4)


@st.composite
def damaged(draw):
    data = GOOD.encode()
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 12))
        data = data[:at] + draw(PIECES) + data[at + length :]
    return data


def usable(path, mapping):
    """Read a file; what comes back must be whole, and what is refused must be explained."""
    try:
        inspect_file(path)
        traces, report = read_with_report(path, mapping)
    except PhaseDockError as error:
        return error.message and error.hint
    assert report.executions_kept == traces.n_executions > 0
    assert 0 < report.rows_kept <= report.rows_read
    assert all(one.sentence() for one in report.problems)
    for execution in traces.executions():
        assert (np.diff(execution.time) > 0).all()
    for feature, values in zip(traces.features, traces.columns, strict=True):
        assert len(values) == traces.n_samples
        there = values[~np.isnan(values)] if feature.role in OPTIONAL else values
        assert np.isfinite(there).all()
        assert feature.role in (Role.OTHER, Role.LOSS) or (there >= 0).all()
    return True


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged(), st.booleans(), st.booleans())
@example(GOOD.encode(), False, True)
def test_random_damage_is_answered(tmp_path, data, guess, pack):
    path = tmp_path / "file.csv"
    path.write_bytes(gzip.compress(data) if pack else data)
    assert usable(path, None if guess else MAPPING)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(min_size=1, max_size=300) | st.text(min_size=1, max_size=200).map(str.encode))
def test_random_files_are_answered(tmp_path, data):
    path = tmp_path / "file.csv"
    path.write_bytes(data)
    assert usable(path, None)


STARTS = [
    (
        b"# hostname;interval;timestamp;CPU;%user;%idle\nn;1;2024-01-01 00:00:01 UTC;-1;1;98\n"
        b"n;1;2024-01-01 00:00:02 UTC;-1;1;98\n"
    ),
    (
        b"Linux 5 (n) 01/31/2024 _x86_64_ (4 CPU)\n"
        b"00:00:01 CPU %user %idle\n00:00:02 all 1 98\n00:00:03 all 1 98\n"
    ),
    (
        b'{"Name":"a","CPUPerc":"1%","MemUsage":"1MiB / 1GiB"}\n'
        b'{"Name":"a","CPUPerc":"2%","MemUsage":"1MiB / 1GiB"}\n'
    ),
    b"NAME   CPU %   MEM USAGE / LIMIT\na   1%   1MiB / 1GiB\na   2%   1MiB / 1GiB\n",
    b'{"data":{"result":[{"metric":{"pod":"a"},"values":[[1,"1"],[2,"2"],[3,"3"]]}]}}',
    b"timestamp,__name__,pod,value\n1,m,a,1\n2,m,a,2\n3,m,a,3\n",
    b"c_1,m_1,10,1,2,3,4,5,6,7,8\nc_1,m_1,20,1,2,3,4,5,6,7,8\n",
]


@pytest.mark.parametrize("start", STARTS, ids=range(len(STARTS)))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_damage_to_other_layouts_is_answered(tmp_path, start, data):
    damage = start
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(damage)))
        damage = damage[:at] + data.draw(PIECES) + damage[at + data.draw(st.integers(0, 8)) :]
    path = tmp_path / "file.log"
    path.write_bytes(damage)
    assert usable(path, None)
