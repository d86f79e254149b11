"""What is seen of a container each second, and what it is given."""

from __future__ import annotations

from typing import Any, NamedTuple


class Use(NamedTuple):
    """A container over the last second.

    Parameters
    ----------
    time
        Seconds.
    cores
        Cores used, the mean since the sample before.
    memory
        Bytes of its working set.
    throttled
        The share of its quota's periods in which it was held back; 0 without a quota.
    phase, code
        By a phase model: −1 and None while it warms up, and without one.
    """

    time: float
    cores: float
    memory: float
    throttled: float = 0.0
    phase: int = -1
    code: Any = None


class Held(NamedTuple):
    """The limits of a container, in cores and bytes; None without one."""

    cores: float | None = None
    memory: float | None = None
