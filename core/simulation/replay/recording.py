"""What one job did when nothing held it back, as it was recorded: the script that a replay follows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Recording:
    """One job, step by step; every column has one value per step.

    Raises
    ------
    ValueError
        If there is no step, or a column has another length than the others.
    """

    #: What the job is.
    name: str
    #: Seconds that a step took.
    period: float
    #: Cores used in each step: what the job makes use of, if it gets them.
    cores: tuple[float, ...]
    #: Bytes held in each step.
    memory: tuple[float, ...]
    #: The last value that was printed by the end of each step; NaN before the first.
    loss: tuple[float, ...]
    #: Bytes per second read and written in each step.
    io: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse what cannot be followed."""
        if not self.cores or len({len(self.cores), len(self.memory), len(self.loss), len(self.io)}) > 1:
            raise ValueError(f"the columns of {self.name} are not of one length above 0")
        if self.period <= 0 or min(self.cores) < 0:
            raise ValueError(f"{self.name} has a step that takes no time or less than no work")

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return len(self.cores)

    @cached_property
    def work(self) -> float:
        """Core-seconds of the whole job."""
        return math.fsum(self.cores) * self.period

    @cached_property
    def moved(self) -> tuple[float, ...]:
        """Bytes read and written before each step, and at the end, shape (steps + 1,)."""
        return tuple(accumulate((rate * self.period for rate in self.io), initial=0.0))

    def printed(self, moments: Sequence[float]) -> list[tuple[float, float]]:
        """When each loss was printed, and the loss: one for each step that brought another value.

        Parameters
        ----------
        moments
            When each step that is over ended, seconds.
        """
        lines, last = [], math.nan
        for moment, value in zip(moments, self.loss, strict=False):
            if math.isfinite(value) and value != last:
                lines.append((moment, value))
                last = value
        return lines
