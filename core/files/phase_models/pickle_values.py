"""Values allowed in a foreign pickle: arrays, numbers, and named bags of attributes. Nothing is run.

The allow-list at the end is complete: each entry says what a name in the stream stands for here. None of
them is the object of that name; they only collect what the file says about it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.errors import InputError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

Array = npt.NDArray[Any]

KINDS = {
    **{f"f{size}": f"f{size}" for size in (2, 4, 8)},
    **{f"{sign}{size}": f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8)},
    "b1": "?",
    "?": "?",
}
MAX_DIMENSIONS = 4
ADVICE = "Nothing in the file was run. Get the model file from its authors again."


def refused(what: str) -> RefusedError:
    """The refusal of a thing by its name."""
    return RefusedError(f"The model file asks for {what}, which is not an array or a number.", ADVICE)


def broken(reason: str) -> InputError:
    """The sentence for a file that is damaged rather than dangerous."""
    return InputError(f"The model file cannot be read: {reason}.", "Get a fresh copy of it.")


@dataclass(frozen=True, slots=True)
class Name:
    """A name in the stream that the allow-list knows."""

    path: str
    short: str


@dataclass(slots=True)
class Kind:
    """A number type, on its way to a NumPy dtype."""

    code: str
    order: str = "<"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return np.dtype(("" if self.order == "|" else self.order) + self.code)

    def build(self, state: object) -> None:
        """Take the byte order from a dtype's pickled state."""
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise refused("a number type of unknown form")
        if any(part is not None for part in state[2:5]):
            raise refused("a structured number type")
        self.order = state[1]


@dataclass(slots=True)
class Shell:
    """An array that the stream has announced; `value` comes with its state."""

    value: Array | None = None

    def build(self, state: object) -> None:
        """Take shape, number type and bytes from an array's pickled state."""
        if not isinstance(state, tuple) or len(state) != 5:
            raise refused("an array of unknown form")
        _, shape, kind, fortran, data = state
        if not isinstance(kind, Kind) or not isinstance(data, bytes):
            raise refused("an array of objects")
        self.value = array_of(data, kind, shape, fortran=fortran is True)


@dataclass(slots=True)
class Bag:
    """An object of a known class as its attributes only."""

    name: Name
    attributes: dict[str, Any] = field(default_factory=dict)

    def build(self, state: object) -> None:
        """Take attributes by their names."""
        if not isinstance(state, dict):
            raise refused(f"{self.name.path} with a state of unknown form")
        self.attributes.update(state)


def sizes_of(shape: object) -> tuple[int, ...]:
    """A shape, checked."""
    if not isinstance(shape, tuple) or len(shape) > MAX_DIMENSIONS:
        raise broken("an array's shape is not a few whole numbers")
    if not all(type(size) is int and 0 <= size < 2**40 for size in shape):
        raise broken("an array's shape is not a few whole numbers")
    return shape


def fits_float32(array: Array) -> bool:
    """Tell whether all numbers are finite and stay so as float32, which models compute in."""
    return bool((np.abs(array) <= np.finfo(np.float32).max).all())


def array_of(data: bytes, kind: Kind, shape: object, *, fortran: bool) -> Array:
    """An array from its bytes, in the machine's byte order."""
    sizes = sizes_of(shape)
    if math.prod(sizes) * kind.dtype.itemsize != len(data):
        raise broken("an array's bytes do not fit its shape")
    array = np.frombuffer(data, kind.dtype).reshape(sizes, order="F" if fortran else "C")
    return array.astype(kind.dtype.newbyteorder("="))


def make_kind(arguments: tuple[Any, ...]) -> Kind:
    """``numpy.dtype("f8", 0, 1)``."""
    code = arguments[0] if arguments else None
    if not isinstance(code, str) or code not in KINDS:
        raise refused(f"the number type “{str(code)[:20]}”" if isinstance(code, str) else "a number type")
    return Kind(KINDS[code])


def make_shell(arguments: tuple[Any, ...]) -> Shell:
    """``_reconstruct(numpy.ndarray, (0,), b"b")``."""
    if not arguments or not isinstance(arguments[0], Name) or arguments[0].short != "ndarray":
        raise refused("an array of an unknown class")
    return Shell()


def make_scalar(arguments: tuple[Any, ...]) -> float | int | bool:
    """``scalar(dtype, bytes)``."""
    if len(arguments) != 2 or not isinstance(arguments[0], Kind) or not isinstance(arguments[1], bytes):
        raise refused("a number of unknown form")
    value = array_of(arguments[1], arguments[0], (), fortran=False).item()
    return value if isinstance(value, bool | int) else float(value)


CALLS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "dtype": make_kind,
    "_reconstruct": make_shell,
    "scalar": make_scalar,
}
CLASSES = ("NumpyArrayWrapper", "StandardScaler", "KMeans")
ALLOWED: dict[str, Name] = {
    path: Name(path, path.rpartition(".")[2])
    for path in (
        "numpy.ndarray",
        "numpy.dtype",
        "numpy.core.multiarray._reconstruct",
        "numpy.core.multiarray.scalar",
        "numpy._core.multiarray._reconstruct",
        "numpy._core.multiarray.scalar",
        "joblib.numpy_pickle.NumpyArrayWrapper",
        "sklearn.preprocessing.data.StandardScaler",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.cluster.k_means_.KMeans",
        "sklearn.cluster._kmeans.KMeans",
    )
}
