"""Threads of the numerical libraries, changed while a program runs."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache

from .processors import ProcessorLimit, allowed_now

POOLS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
"""TensorFlow's variables for the sizes of its pools: inside an operation, and of operations side by side."""
_PROCESSORS = ProcessorLimit()


def fix_pools(threads: int) -> None:
    """Tell libraries that cannot change their number of threads later how many to start with.

    To be called before such a library is loaded; so far that is TensorFlow.
    """
    os.environ.update(dict.fromkeys(POOLS, str(threads)))


def set_threads(wanted: int | None) -> int:
    """Let the numerical libraries of this process use `wanted` threads, and return how many they use now.

    PyTorch is told where it is loaded, and OpenMP and the linear algebra behind NumPy through threadpoolctl
    where that is installed. TensorFlow keeps the threads that it started with, but all of them together may
    use no more processors than `wanted`. Must be called from the thread that computes, because OpenMP counts
    by thread.
    """
    in_use = _linear_algebra(wanted)
    torch = sys.modules.get("torch")
    if torch is not None:
        if wanted is not None:
            torch.set_num_threads(wanted)
        in_use = int(torch.get_num_threads())
    if "tensorflow" in sys.modules:
        in_use = _tensorflow(wanted)
    return in_use


def usable_cores() -> int:
    """Return the number of processors that this process may run on, which is what libraries start with."""
    return len(os.sched_getaffinity(0))


def _linear_algebra(wanted: int | None) -> int:
    with suppress(ImportError):
        import threadpoolctl  # noqa: PLC0415 - a program without it keeps its threads

        if wanted is not None:
            threadpoolctl.threadpool_limits(limits=wanted)
        return max([pool["num_threads"] for pool in threadpoolctl.threadpool_info()], default=1)
    return 1


def _tensorflow(wanted: int | None) -> int:
    """Limit the processors; a thread counts as in use where it can compute beside the others."""
    pool = _pool()
    if wanted is None:
        _PROCESSORS.look_again()
    else:
        _PROCESSORS.limit(wanted if wanted < pool else sys.maxsize)
    return min(pool, len(allowed_now()))


@cache
def _pool() -> int:
    told = os.environ.get(POOLS[0], "")
    return int(told) if told.isdecimal() and int(told) > 0 else usable_cores()
