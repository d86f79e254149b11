"""Foreign pickles are read as data; whatever would act is refused by name and never runs."""

import bz2
import contextlib
import gzip
import io
import os
import pickle
import struct
import subprocess
import zlib

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from core.errors import InputError, RefusedError
from core.files.phase_models import safe_pickle
from core.files.phase_models.pickle_values import Bag
from core.files.phase_models.safe_pickle import read_pickle
from tests.reading.foreign_files import array, bag, kind, name, number, pickled, shape, text, whole, wrapped


class Reduced:
    """An object whose pickle calls something."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


MARK = "the-pickle-ran"
ATTACKS = {
    "os.system": pickle.dumps(Reduced(os.system, f"touch {MARK}")),
    "subprocess.Popen": pickle.dumps(Reduced(subprocess.Popen, ["touch", MARK])),
    "builtins.eval": pickle.dumps(Reduced(eval, f"open({MARK!r}, 'w')")),
    "builtins.exec": pickle.dumps(Reduced(exec, f"open({MARK!r}, 'w')"), protocol=2),
    "builtins.getattr": pickled(name("builtins", "getattr") + b")R"),
    "inside a dictionary": pickle.dumps({"W": np.ones(3), "A": Reduced(os.system, f"touch {MARK}")}),
    "inside an array": pickle.dumps(np.array([Reduced(os.system, f"touch {MARK}")], dtype=object)),
    "numpy's own exec": pickled(name("numpy.testing._private.utils", "runstring") + b")R"),
    "numpy.load": pickled(name("numpy", "load") + text("x") + b"\x85R"),
    "numpy.core.multiarray.fromfile": pickled(name("numpy.core.multiarray", "fromfile") + b")R"),
    "joblib.load": pickled(name("joblib", "load") + text("x") + b"\x85R"),
    "a dotted name": pickled(text("numpy") + text("dtype.__class__.__base__") + b"\x93", 4),
    "a dotted module": pickled(text("numpy.core.multiarray._reconstruct") + text("__globals__") + b"\x93", 4),
    "a name that is a number": pickled(text("numpy") + whole(3) + b"\x93", 4),
    "another estimator": pickled(name("sklearn.pipeline", "Pipeline") + b")\x81"),
    "protocol 0": b"cos\nsystem\n(S'touch " + MARK.encode() + b"'\ntR.",
    "INST": pickled(b"(" + text("touch") + b"ios\nsystem\n"),
    "OBJ": pickled(b"(" + name("numpy", "dtype") + b"o"),
    "NEWOBJ_EX": pickled(name("numpy", "dtype") + b")}\x92", 4),
    "PERSID": pickled(b"Psomething\n"),
    "BINPERSID": pickled(text("something") + b"Q"),
    "EXT1": pickled(b"\x82\x01"),
    "EXT2": pickled(b"\x83\x01\x00"),
    "EXT4": pickled(b"\x84\x01\x00\x00\x00"),
    "NEXT_BUFFER": pickled(b"\x97", 5),
    "BYTEARRAY8": pickled(b"\x96" + struct.pack("<Q", 2**40), 5),
    "LONG4": pickled(b"\x8b" + struct.pack("<i", 2**30)),
    "calling a class of the list": pickled(name("sklearn.cluster._kmeans", "KMeans") + b")R"),
    "calling an array": pickled(array(np.ones(2)) + b")R"),
    "arguments that are no tuple": pickled(name("numpy", "dtype") + text("f8") + b"R"),
    "making a function": pickled(name("numpy", "dtype") + b")\x81"),
    "making with arguments": pickled(name("sklearn.cluster._kmeans", "KMeans") + whole(1) + b"\x85\x81"),
    "BUILD on a dictionary": pickled(b"}}b"),
    "BUILD on a name": pickled(name("numpy", "ndarray") + b"}b"),
    "BUILD on a list": pickled(b"]}b"),
    "BUILD with a pair of states": pickled(
        name("sklearn.cluster._kmeans", "KMeans") + b")\x81" + b"N}(" + text("x") + whole(1) + b"u\x86b"
    ),
    "an object dtype": pickled(name("numpy", "dtype") + text("O8") + whole(0) + whole(1) + b"\x87R"),
    "a dtype of no text": pickled(name("numpy", "dtype") + whole(8) + b"\x85R"),
    "a dtype of nothing": pickled(name("numpy", "dtype") + b")R"),
    "a structured dtype": pickled(
        name("numpy", "dtype") + text("f8") + b"\x85R(" + whole(3) + text("<") + b")NNtb"
    ),
    "a dtype state of no order": pickled(
        name("numpy", "dtype") + text("f8") + b"\x85R" + b"(" + whole(3) + b"tb"
    ),
    "an array of another class": pickled(
        name("numpy.core.multiarray", "_reconstruct") + name("numpy", "dtype") + b"\x85R"
    ),
    "an array state of no tuple": pickled(
        name("numpy.core.multiarray", "_reconstruct") + name("numpy", "ndarray") + b"\x85R}b"
    ),
    "an array of a list": pickled(
        name("numpy.core.multiarray", "_reconstruct") + name("numpy", "ndarray") + b"\x85R"
        b"(" + whole(1) + shape((1,)) + kind(np.dtype("<f8")) + b"\x89]tb"
    ),
    "a scalar of nothing": pickled(name("numpy.core.multiarray", "scalar") + b")R"),
    "a joblib array of objects": pickled(
        bag("joblib.numpy_pickle", "NumpyArrayWrapper", {"dtype": text("O"), "order": text("C")})
    ),
    "a joblib array of a subclass": pickled(
        bag(
            "joblib.numpy_pickle",
            "NumpyArrayWrapper",
            {"dtype": kind(np.dtype("<f8")), "order": text("C"), "subclass": name("numpy", "dtype")},
        )
    ),
    "keys that hash for ever": pickled(b"}(" + b")" + b"2\x86" * 60 + whole(1) + b"u"),
    "a key that is a number": pickled(b"}" + whole(1) + whole(1) + b"s"),
    "items of a tuple": pickled(b")" + text("a") + whole(1) + b"s"),
    "appending to a tuple": pickled(b")" + whole(1) + b"a"),
    "attributes without a dictionary": pickled(name("sklearn.cluster._kmeans", "KMeans") + b")\x81]b"),
}


@pytest.mark.parametrize("data", ATTACKS.values(), ids=ATTACKS)
def test_a_pickle_that_would_act_is_refused_and_never_runs(data, tmp_path, monkeypatch, refuses):
    monkeypatch.chdir(tmp_path)
    with refuses(RefusedError):
        read_pickle(data)
    assert not (tmp_path / MARK).exists()


def test_the_refusal_names_what_was_refused(refuses):
    with refuses(RefusedError):
        read_pickle(ATTACKS["os.system"])
    with refuses(RefusedError):
        read_pickle(ATTACKS["PERSID"])
    with refuses(RefusedError):
        read_pickle(ATTACKS["making a function"])


BROKEN = {
    "nothing": b"",
    "not a pickle": b"\xff\xfe hello",
    "an old protocol": pickled(b"N", 1),
    "a future protocol": pickled(b"N", 9),
    "no end": pickled(b"N")[:-1],
    "an empty stack": pickled(b""),
    "a tuple of too few": pickled(b"N\x86"),
    "no mark": pickled(b"Nt"),
    "a pop below the mark": pickled(b"N(\x85t"),
    "an unknown memo": pickled(b"h\x07"),
    "an endless name": pickled(b"c" + b"a" * 600),
    "text that is not text": pickled(b"X\x02\x00\x00\x00\xff\xff"),
    "a text longer than the file": pickled(b"X\xff\xff\xff\x7fabc"),
    "bytes longer than any memory": pickled(b"\x8e" + struct.pack("<Q", 2**62) + b"abc", 4),
    "odd items": pickled(b"}(" + text("a") + b"u"),
    "an array too short": pickled(array(np.ones(3))).replace(shape((3,)), shape((4,))),
    "a shape below zero": pickled(array(np.ones(3))).replace(shape((3,)), shape((-3,))),
    "a shape of texts": pickled(array(np.ones(3))).replace(shape((3,)), b"(" + text("a") + b"t"),
    "many dimensions": pickled(array(np.ones(3))).replace(shape((3,)), shape((1, 1, 1, 1, 3))),
    "a joblib array larger than the file": pickled(wrapped(np.ones(3))).replace(
        shape((3,)), shape((2**30, 2**30))
    ),
    "damaged zlib": zlib.compress(pickled(array(np.ones(300))))[:40] + b"\x00" * 30,
    "half a gzip": gzip.compress(pickled(array(np.random.default_rng(0).normal(size=300))))[:200],
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_damaged_file_is_a_sentence(data, refuses):
    with refuses(InputError) as caught:
        read_pickle(data)
    assert not isinstance(caught.value, RefusedError)


@pytest.mark.parametrize(
    "data", [bz2.compress(b"x"), b"PK\x03\x04", b"\xfd7zXZ\x00", b"]\x00\x00\x80", b"\x04\x22M\x18"]
)
def test_other_packings_are_named(data, refuses):
    with refuses(InputError):
        read_pickle(data)


def test_bombs_stay_small(monkeypatch, refuses):
    monkeypatch.setattr(safe_pickle, "MAX_BYTES", 10_000)
    monkeypatch.setattr(safe_pickle, "MAX_STEPS", 1_000)
    with refuses(InputError):
        read_pickle(zlib.compress(b"\x00" * 20_000))
    with refuses(InputError):
        read_pickle(b"\x80\x03" + b"N" * 20_000)
    with refuses(InputError):
        read_pickle(pickled(b"]q\x00" + b"h\x00h\x00\x86" * 900))


def test_doubling_tuples_cost_nothing():
    doubled = read_pickle(pickled(b")q\x00" + b"h\x00h\x00\x86q\x00" * 5_000))
    assert isinstance(doubled, tuple)


# ── what is read ──


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_values_of_any_protocol(protocol):
    values = {
        "a": 1,
        "b": -70000,
        "c": 2.5,
        "d": None,
        "e": True,
        "f": [1, "x", (2, 3)],
        "g": 2**40,
        "h": 300,
    }
    assert read_pickle(pickle.dumps(values, protocol=protocol)) == values


@given(
    arrays.arrays(
        st.sampled_from(["<f4", "<f8", ">f8", "<i4", ">i2", "|u1", "?"]),
        arrays.array_shapes(min_dims=1, max_dims=3, max_side=4),
        elements={"allow_nan": False},
    ),
    st.booleans(),
)
def test_arrays_come_as_they_were(values, fortran):
    for data in (
        pickled(array(values, fortran)),
        pickled(wrapped(values)),
        pickled(wrapped(values, aligned=True)),
        pickle.dumps(np.asfortranarray(values) if fortran else values, protocol=4),
    ):
        found = read_pickle(data)
        np.testing.assert_array_equal(found, values)
        assert found.dtype.isnative


def test_fortran_order_inside_joblib():
    values = np.arange(6.0).reshape(2, 3)
    assert read_pickle(pickled(wrapped(values, order="F"))).shape == (2, 3)


@pytest.mark.parametrize("compress", [0, ("zlib", 3), ("gzip", 3)])
def test_files_of_todays_joblib_and_scikit_learn(tmp_path, compress):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    for fitted in (StandardScaler().fit(x), KMeans(3, n_init=1, random_state=0).fit(x)):
        path = tmp_path / "model.joblib"
        joblib.dump(fitted, path, compress=compress)
        found = read_pickle(path.read_bytes())
        assert isinstance(found, Bag)
        for key in ("mean_", "scale_", "cluster_centers_"):
            if hasattr(fitted, key):
                np.testing.assert_array_equal(found.attributes[key], getattr(fitted, key))


def test_numbers_of_numpy():
    assert read_pickle(pickle.dumps({"n": np.int64(7), "x": np.float32(0.5), "b": np.bool_(True)})) == {
        "n": 7,
        "x": 0.5,
        "b": True,
    }


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_sentence(data):
    for stream in (data, b"\x80\x03" + data, b"\x80\x04" + data + b"."):
        with contextlib.suppress(InputError):
            read_pickle(stream)


@given(st.data())
def test_a_changed_model_file_is_a_value_or_a_sentence(data):
    whole_file = bytearray(pickled(array(np.arange(4.0))) + pickled(wrapped(np.arange(3.0))) + number(1.0))
    for _ in range(data.draw(st.integers(1, 3))):
        whole_file[data.draw(st.integers(0, len(whole_file) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InputError):
        read_pickle(io.BytesIO(whole_file).getvalue())
