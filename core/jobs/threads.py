"""Threads of the numerical libraries, changed while a program runs."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def set_threads(wanted: int | None) -> int:
    """Let the numerical libraries of this process use `wanted` threads, and return how many they use now.

    PyTorch is told where it is loaded, and OpenMP and the linear algebra behind NumPy through threadpoolctl
    where that is installed. Must be called from the thread that computes, because OpenMP counts by thread.
    """
    in_use = 1
    with suppress(ImportError):
        import threadpoolctl  # noqa: PLC0415 - a program without it keeps its threads

        if wanted is not None:
            threadpoolctl.threadpool_limits(limits=wanted)
        in_use = max([pool["num_threads"] for pool in threadpoolctl.threadpool_info()], default=1)
    torch = sys.modules.get("torch")
    if torch is not None:
        if wanted is not None:
            torch.set_num_threads(wanted)
        in_use = int(torch.get_num_threads())
    return in_use


def usable_cores() -> int:
    """Return the number of processors that this process may run on, which is what libraries start with."""
    return len(os.sched_getaffinity(0))
