"""How long something takes this thread, whatever else goes on in the process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def cpu_seconds(work: Callable[[], object], enough: float) -> float:
    """Processor seconds of a call; the least of three where the first took `enough` or longer.

    Now and then the interpreter stands still within a call, as when SlipCover takes its probes away, and a
    processor that others share is slower.
    """
    taken = _once(work)
    return taken if taken < enough else min(taken, _once(work), _once(work))


def _once(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began
