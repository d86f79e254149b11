"""Writes model files in AI4DL's formats with numbers of our own, byte by byte.

The pickles are put together from the instructions that Python 3.6 and NumPy 1.18 wrote, so the tests need
neither those versions nor a pickle of ours with other class paths.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def whole(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def number(value: float) -> bytes:
    return b"G" + struct.pack(">d", value)


def name(module: str, thing: str) -> bytes:
    return b"c" + f"{module}\n{thing}\n".encode()


def kind(dtype: np.dtype) -> bytes:
    made = name("numpy", "dtype") + text(dtype.str[1:]) + whole(0) + whole(1) + b"\x87R"
    order = {"=": "<"}.get(dtype.byteorder, dtype.byteorder)
    return made + b"(" + whole(3) + text(order) + b"NNN" + whole(-1) + whole(-1) + whole(0) + b"tb"


def shape(sizes: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(whole(size) for size in sizes) + b"t"


def raw(data: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(data)) + data


def array(values: np.ndarray, fortran: bool = False) -> bytes:
    """An array inside a pickle."""
    values = np.asarray(values)
    made = name("numpy.core.multiarray", "_reconstruct") + name("numpy", "ndarray")
    made += whole(0) + b"\x85" + raw(b"b") + b"\x87R"
    data = values.tobytes("F" if fortran else "C")
    state = (
        whole(1) + shape(values.shape) + kind(values.dtype) + (b"\x88" if fortran else b"\x89") + raw(data)
    )
    return made + b"(" + state + b"tb"


def wrapped(values: np.ndarray, aligned: bool = False, order: str = "C") -> bytes:
    """An array inside a joblib file: an announcement, then its bytes in the stream."""
    values = np.asarray(values)
    made = name("joblib.numpy_pickle", "NumpyArrayWrapper") + b")\x81}("
    made += text("subclass") + name("numpy", "ndarray") + text("shape") + shape(values.shape)
    made += text("order") + text(order) + text("dtype") + kind(values.dtype) + text("allow_mmap") + b"\x88"
    if aligned:
        made += text("numpy_array_alignment_bytes") + whole(16)
    padding = b"\x03\xff\xff\xff" if aligned else b""
    return made + b"ub" + padding + values.tobytes(order)


def bag(module: str, thing: str, attributes: dict[str, bytes]) -> bytes:
    items = b"".join(text(key) + value for key, value in attributes.items())
    return name(module, thing) + b")\x81}(" + items + b"ub"


def pickled(body: bytes, protocol: int = 3) -> bytes:
    return b"\x80" + bytes([protocol]) + body + b"."


def by_feature(matrix: np.ndarray, features: int) -> np.ndarray:
    """Columns in the authors' order, feature by feature, from ours, sample by sample."""
    history = matrix.shape[1] // features
    return np.ascontiguousarray(
        matrix.reshape(len(matrix), history, features).swapaxes(1, 2).reshape(matrix.shape)
    )


def scalar(value: int) -> bytes:
    data = np.int64(value).tobytes()
    return name("numpy.core.multiarray", "scalar") + kind(np.dtype("<i8")) + raw(data) + b"\x86R"


def crbm_pickle(crbm, errors=(0.9, 0.4)) -> bytes:
    n = crbm.W.shape[1]
    items = {
        "n_vis": whole(n),
        "n_hid": whole(crbm.hidden),
        "learning_rate": number(1e-3),
        "W": array(crbm.W),
        "A": array(by_feature(crbm.A, n)),
        "B": array(by_feature(crbm.B, n), fortran=True),
        "v_bias": array(crbm.visible_bias[:, None]),
        "h_bias": array(crbm.hidden_bias[:, None]),
        "rec_error_per_epoch": b"](" + b"".join(number(error) for error in errors) + b"e",
    }
    return pickled(b"}(" + b"".join(text(key) + value for key, value in items.items()) + b"u")


def kmeans_joblib(centres: np.ndarray, aligned: bool = False) -> bytes:
    attributes = {
        "n_clusters": whole(len(centres)),
        "init": text("k-means++"),
        "cluster_centers_": wrapped(np.asarray(centres, "<f8"), aligned),
        "labels_": wrapped(np.arange(5, dtype="<i4"), aligned),
        "n_iter_": whole(7),
    }
    return pickled(bag("sklearn.cluster._kmeans", "KMeans", attributes))


def scaler_joblib(mean: np.ndarray, scale: np.ndarray) -> bytes:
    attributes = {
        "with_mean": b"\x88",
        "n_samples_seen_": scalar(1234),
        "mean_": wrapped(np.asarray(mean, "<f8")),
        "scale_": wrapped(np.asarray(scale, ">f8")),
    }
    return pickled(bag("sklearn.preprocessing._data", "StandardScaler", attributes))


def write_folder(folder: Path, crbm, centres, mean, scale, initializer=None) -> Path:
    """A folder as AI4DL saves it."""
    (folder / "crbm1").mkdir(parents=True)
    facts = {"n_epochs": 1000, "learning_rate": 0.001, "random_state": 1234, "patience": 3}
    (folder / "crbm1" / "model_initializer.json").write_text(json.dumps(initializer or facts))
    (folder / "crbm1" / "model_dict.pickle").write_bytes(crbm_pickle(crbm))
    (folder / "our_kmeans1.joblib").write_bytes(kmeans_joblib(centres))
    (folder / "our_scaler1.joblib").write_bytes(scaler_joblib(mean, scale))
    return folder
