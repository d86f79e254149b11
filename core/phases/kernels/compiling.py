"""Compiles kernels at their first call, without the GIL, with a cache on disk.

In most kernels sums may be reordered and multiply-adds contracted, but values that are not numbers stay what
they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

FLAGS = ("contract", "reassoc", "nsz")

Kernel = TypeVar("Kernel", bound="Callable[..., Any]")


def compiled(function: Kernel) -> Kernel:
    """Compile a kernel at its first call, and keep the result on disk where there is a place to write."""
    return _compiled(function, fastmath=set(FLAGS))


def exact(function: Kernel) -> Kernel:
    """Compile without reordering: kernels that share a part compute the same numbers with it, bit by bit."""
    return _compiled(function)


def _compiled(function: Kernel, **more: Any) -> Kernel:
    make: Any = njit
    options = {"nogil": True, "error_model": "numpy", **more}
    try:
        return make(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # Numba finds no folder that it may write to
        return make(**options)(function)  # type: ignore[no-any-return]


def inlined(function: Kernel) -> Kernel:
    """Make a part of kernels, which becomes part of each at compile time."""
    make: Any = njit(inline="always")
    return make(function)  # type: ignore[no-any-return]
