"""How fast a job computes with some cores and some threads.

Its unit is the speed on one core with one thread. A job with `threads` cannot use more cores than that;
below one core it is throttled in proportion. Threads beyond its cores wait for each other: measured on two
cores with PyTorch 2.13 (docs/simulator.md), products that take 1.03 s with one thread under a
quota of half a core take 2.9 to 4.1 s with two: a loss of 1.8 to 3.0 seconds for each useful one.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import InputError


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Time per step on c ≥ 1 cores: t(c) = a + b/c + d·c (docs/simulator.md), a, b, d ≥ 0.

    Parameters
    ----------
    fixed
        a: the part that no core makes shorter.
    parallel
        b: the part that cores share.
    overhead
        d: what every further core costs.
    """

    fixed: float = 0.0
    parallel: float = 1.0
    overhead: float = 0.0

    def __post_init__(self) -> None:
        if min(self.fixed, self.parallel, self.overhead) < 0 or self.seconds(1.0) <= 0:
            raise InputError(
                "A speed-up curve has a negative coefficient, or only zeros.",
                "Give a, b and d ≥ 0, not all zero.",
            )

    def seconds(self, cores: float) -> float:
        """Give t(c), in the unit of its parts."""
        return self.fixed + self.parallel / cores + self.overhead * cores

    def speed(self, cores: float) -> float:
        """Speed on `cores`, 1 on one core: t(1)/t(c), and in proportion below one core."""
        return cores if cores <= 1 else self.seconds(1.0) / self.seconds(cores)


def thread_efficiency(threads: int | None, cores: float, penalty: float) -> float:
    """Share of its speed that k threads on c cores leave: 1/(1 + penalty·(k/max(c, 1) − 1)⁺)."""
    if threads is None:
        return 1.0
    return 1.0 / (1.0 + penalty * max(0.0, threads / max(cores, 1.0) - 1.0))


def speed_of(cores: float, speedup: SpeedUp | None, threads: int | None, penalty: float) -> float:
    """Core-seconds of work done per second on `cores`, without contention."""
    if cores <= 0 or (speedup is None and threads is None):
        return max(cores, 0.0)
    plain = cores if speedup is None else speedup.speed(cores)
    return plain * thread_efficiency(threads, cores, penalty)
