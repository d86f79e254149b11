"""Memory budgets of the caches, and the size of a trace set in memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from core.units import GIB

if TYPE_CHECKING:
    from core.traces.model import TraceSet

_BYTES_PER_ID = 120


def share_of_memory(share: float) -> float:
    """A share of the machine's memory in bytes."""
    try:
        total = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError):
        total = 4 * GIB
    return share * total


def weight_of(traces: TraceSet) -> float:
    """The bytes that a trace set takes in memory, about."""
    arrays = sum(values.nbytes for values in traces.columns)
    arrays += traces.time.nbytes + traces.offsets.nbytes + traces.breaks.nbytes
    return float(arrays + _BYTES_PER_ID * traces.n_executions * (1 + len(traces.attributes)))
