"""Small files that would become large: each is answered within 3 s and 512 MiB, whatever it is."""

import gzip
import json
from contextlib import suppress
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import InputError
from core.files import import_ai4dl, load_model
from core.files.phase_models import safe_pickle
from core.files.phase_models.safe_pickle import read_pickle
from core.reading import inspect_file, read_with_report
from tests.reading.foreign_files import bag, kind, name, pickled, raw, shape, text, whole, wrapped
from tests.reading.formats import archive_with, formats, unzipped, zipped
from tests.reading.test_broken_fuzz import MOST_BYTES, MOST_SECONDS, cost_of

MIB = 2**20
KMEANS = ("sklearn.cluster._kmeans", "KMeans")


def used_often(times=60, size=16 * MIB):
    """An array that is made of the same remembered bytes again and again."""
    made = name("numpy.core.multiarray", "_reconstruct") + name("numpy", "ndarray")
    made += whole(0) + b"\x85" + raw(b"b") + b"\x87R"
    state = b"(" + whole(1) + shape((size,)) + kind(np.dtype("|u1")) + b"\x89h\x00tb"
    return pickled(b"(" + raw(bytes(size)) + b"q\x00" + (made + state) * times + b"t")


def built_often(attributes=30_000, times=60_000):
    """An object that takes over the same remembered attributes again and again."""
    items = b"".join(text(f"k{i}") + b"N" for i in range(attributes))
    return pickled(name(*KMEANS) + b")\x81}(" + items + b"uq\x00b" + b"h\x00b" * times)


def texts_of_wide_characters():
    return pickled(b"(" + text("\U0001f600" + "a" * (20 * MIB)) * 2 + b"t")


def giant_shape():
    array = wrapped(np.ones(3)).replace(shape((3,)), shape((2**28, 4)))
    return pickled(bag(*KMEANS, {"cluster_centers_": array}))


PICKLES = {
    "used often": used_often,
    "built often": built_often,
    "wide texts": texts_of_wide_characters,
    "a giant shape": giant_shape,
    "tuples in tuples": lambda: pickled(b")" + b"\x85" * 990_000),
    "bytes after bytes": lambda: pickled((raw(bytes(MIB))) * 60 + b"\x85"),
    "nothing but zeros": lambda: bytes(100 * MIB),
}


@pytest.mark.parametrize("make", PICKLES.values(), ids=PICKLES)
def test_a_foreign_model_stays_small(make, tmp_path):
    pack = partial(gzip.compress, compresslevel=1)
    path = formats()["crbm-pickle"].write(tmp_path / "m", pack(make()))
    assert (path / "crbm1" / "model_dict.pickle").stat().st_size < 2 * MIB
    assert_refused_cheaply(lambda: import_ai4dl(path))


def test_what_is_built_is_counted_not_what_is_read(monkeypatch, refuses):
    monkeypatch.setattr(safe_pickle, "MAX_BUILT", 10_000)
    assert len(read_pickle(used_often(8, 1_000))) == 9
    with refuses(InputError):
        read_pickle(used_often(12, 1_000))
    assert read_pickle(built_often(10, 5))
    with refuses(InputError):
        read_pickle(built_often(10, 9))


def npy(sizes, dtype, body):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {sizes}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


def with_centres(*array):
    return archive_with(arrays=zipped({"centres.npy": npy(*array)}))


def expanded(times):
    """A model that says that its phases were divided many times."""
    one = npy("(2, 3)", "<f4", bytes(24))
    phases = [{"phase": 2 * i + 2, "ids": [2 * i + 3, 2 * i + 4]} for i in range(times)]
    arrays = formats()["model-npz"].content
    told = archive_with(
        arrays=zipped({**unzipped(arrays), **{f"expansion_{i}.npy": one for i in range(times)}})
    )
    facts = {**json.loads(unzipped(told)["model.json"]), "expansions": phases}
    return zipped({**unzipped(told), "model.json": json.dumps(facts).encode()})


ARCHIVES = {
    "lists": lambda: archive_with(facts=b"[" + b"[]," * (5 * MIB) + b"[]]"),
    "as many lists as may be": lambda: archive_with(facts=b"[" + b"[]," * 499_990 + b"[]]"),
    "wide text": lambda: archive_with(facts=b'{"a":"\xf0\x9f\x98\x80' + b"a" * (15 * MIB) + b'"}'),
    "depth": lambda: archive_with(facts=b"[" * 990_000),
    "a large array": lambda: with_centres("(1024, 15000)", "<f4", bytes(1024 * 15_000 * 4)),
    "an array of small numbers": lambda: with_centres("(1024, 60000)", "|i1", bytes(1024 * 60_000)),
    "an array of giant shape": lambda: with_centres("(4000000000, 4000000000)", "<f8", b""),
    "more zeros than allowed": lambda: zipped({"model.json": bytes(100 * MIB), "arrays.npz": b""}),
    "many expansions": lambda: expanded(4_000),
}


@pytest.mark.parametrize("make", ARCHIVES.values(), ids=ARCHIVES)
def test_a_model_of_our_own_stays_small(make, tmp_path):
    path = tmp_path / "m.zip"
    path.write_bytes(make())
    assert path.stat().st_size < 2 * MIB
    assert_refused_cheaply(lambda: load_model(path))


def assert_refused_cheaply(read):
    def refused():
        with pytest.raises(InputError) as caught:
            read()
        assert caught.value.hint

    seconds, size = cost_of(refused)
    assert seconds <= MOST_SECONDS
    assert size <= MOST_BYTES


ODD_TABLES = {
    "thousands of digits": lambda: f"t,a,b\n0,1,{'9' * 20_000}\n1,{'9' * 20_000}x,1\n2,2,3\n3,3,4\n",
    "brackets in names": lambda: f"t,a,{'(' * 100_000}\n1,1,2\n2,3,4\n",
    "thousands of columns": lambda: "\n".join(
        f"{time}," + ",".join(f"{c}{i}" for i in range(5_000)) for time, c in (("t", "c"), (1, "1"), (2, "2"))
    ),
    "digits of docker stats": lambda: "".join(
        f'{{"time":"12:00:0{i}","Name":"a","CPUPerc":"1%","MemUsage":"{"9" * 100_000}x / 1GiB"}}\n'
        for i in (1, 2)
    ),
}


@pytest.mark.parametrize("make", ODD_TABLES.values(), ids=ODD_TABLES)
def test_a_small_table_takes_no_time(make, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(make())
    inspect_file(path)
    seconds, size = cost_of(lambda: read_with_report(path))
    assert seconds <= MOST_SECONDS
    assert size <= MOST_BYTES


def prometheus(series):
    """A response with two samples of each series, at times of its own."""
    result = [
        {"metric": labels, "values": [[1.7e9 + 0.01 * i, "1"], [1.7e9 + 0.01 * i + 10, "2"]]}
        for i, labels in enumerate(series)
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def long(rows):
    return "timestamp,metric,pod,value\n" + "".join(
        f"{1.7e9 + 0.01 * i},{row},1\n" for i, row in enumerate(rows)
    )


def wide(names):
    """A table of which each column has one cell, at a time of its own."""
    return f"Time,{','.join(names)}\n" + "".join(
        f"{1_700_000_000 + i}{',' * i},0.5{',' * (len(names) - 1 - i)}\n" for i in range(len(names))
    )


def pidstat(n):
    """Frames of one process, between the first and the last with many."""
    header = "UID PID %usr %system %guest %wait %CPU CPU Command"
    stamps = [f"{i // 3600:02d}:{i // 60 % 60:02d}:{i % 60:02d}" for i in range(n)]
    frames = (
        f"{stamp} {header}\n"
        + "".join(f"{stamp} 0 {p} 1 0 0 0 1 1 c{p}\n" for p in (range(n) if i in (0, n - 1) else (0,)))
        for i, stamp in enumerate(stamps)
    )
    return "Linux 5.15.0 (h) 01/15/2026 _x86_64_ (8 CPU)\n\n" + "\n".join(frames)


SERIES = {
    "metrics, JSON": lambda: prometheus({"__name__": f"m{i}_bytes", "pod": "p"} for i in range(4_000)),
    "devices, JSON": lambda: prometheus(
        {"__name__": "container_network_receive_bytes_total", "pod": "p", "device": f"d{i}"}
        for i in range(4_000)
    ),
    "keys of labels, JSON": lambda: prometheus(
        {"__name__": "cpu", "pod": "p", f"k{i}": f"d{i}"} for i in range(4_000)
    ),
    "paths of groups, JSON": lambda: prometheus(
        {"__name__": "cpu", "id": f"/{'a/' * 40_000}{i}"} for i in range(5)
    ),
    "metrics, CSV": lambda: long(f"m{i}_bytes,p" for i in range(6_000)),
    "metrics of pods, CSV": lambda: long(f"m{i}_bytes,p{i}" for i in range(6_000)),
    "containers in columns": lambda: wide([f"cpu train-{i}" for i in range(700)]),
    "metrics of pods in columns": lambda: "\n".join(
        (
            f"Time,{','.join(f'm{i}_bytes{{pod=p{i}}}' for i in range(4_000))}",
            *(f"{t}{',1' * 4_000}" for t in range(9)),
        )
    ),
    "minima in columns": lambda: "\n".join(
        (f"Time,{','.join(f'x {i} min' for i in range(8_000))}", *(f"{t}{',1' * 8_000}" for t in range(3)))
    ),
    "pods with a container": lambda: (
        "timestamp,pod,container,cpu_cores,memory_bytes\n"
        + "".join(f"{1_700_000_000 + i},p{i // 2},c{i // 2},0.5,5000000\n" for i in range(24_000))
    ),
    "keys, JSON lines": lambda: "\n".join(
        json.dumps({"time": 1_700_000_000 + i, "cpu_cores": 0.5, f"k{i}": 1}) for i in range(15_000)
    ),
    "idle processes": lambda: pidstat(4_000),
}


@pytest.mark.parametrize("make", SERIES.values(), ids=SERIES)
def test_series_with_times_of_their_own_take_no_time(make, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(make())
    assert path.stat().st_size < MIB

    def read():
        inspect_file(path)
        with suppress(InputError):
            read_with_report(path)

    seconds, size = cost_of(read)
    assert seconds <= 2 * MOST_SECONDS  # it is opened twice
    assert size <= MOST_BYTES


@pytest.mark.parametrize("is_response", [True, False], ids=["a response", "a series in each line"])
def test_large_series_take_at_most_a_few_times_their_size(is_response, tmp_path):
    times, values = np.arange(20_000) * 15 + 1_700_000_000, [0.123456789 * i for i in range(20_000)]
    labels = [{"__name__": "container_cpu_usage_seconds_total", "pod": f"p{i}"} for i in range(15)]
    if is_response:
        samples = [[time, f"{value:.9f}"] for time, value in zip(times.tolist(), values, strict=True)]
        result = [{"metric": one, "values": samples} for one in labels]
        text = json.dumps({"data": {"result": result}})
    else:
        stamps = (1_000 * times).tolist()
        found = [{"metric": one, "values": values, "timestamps": stamps} for one in labels]
        text = "\n".join(map(json.dumps, found))
    path = tmp_path / "t.json"
    path.write_text(text)
    _, size = cost_of(lambda: read_with_report(path))
    assert size <= 5 * path.stat().st_size


N = 1_000
PARQUET = {
    "a long text, once": ({"kind": ["x" * 2_000_000] * N}, True),
    "a long text in every row": ({"kind": ["x" * 500_000] * N}, False),
    "millions of equal rows": ({"memory_mib": np.ones(3_000 * N)}, True),
}


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "once"), PARQUET.values(), ids=PARQUET)
def test_a_small_parquet_file_stays_small(columns, once, tmp_path):
    path, n_rows = tmp_path / "t.parquet", len(next(iter(columns.values())))
    table = pa.table({"time": np.zeros(n_rows), "cpu_cores": np.full(n_rows, 0.5), **columns})
    pq.write_table(table, path, compression="zstd", use_dictionary=once)
    assert path.stat().st_size < MIB
    assert_refused_cheaply(lambda: read_with_report(path))
