"""The parts of an experiment as typed settings: forms are made from them, files checked against them.

Every field says its unit, bounds and meaning; see `core.settings_fields`.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.settings_fields import setting

CURVES = {"exponential": "Exponential", "hyperbolic": "Hyperbolic", "weibull": "Weibull, long tail"}


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """Machines that are alike."""

    id: str = setting(
        "worker", label="Name", help="The machine's name, or what its group's names begin with."
    )
    count: int = setting(1, label="Machines", low=1, high=100_000, help="How many there are of this kind.")
    cores: float = setting(
        1.0, label="Cores", low=0.01, high=4096, unit="cores", help="The processors of each machine."
    )
    memory: float = setting(
        0.0,
        label="Memory",
        low=0.0,
        high=1e6,
        unit="GiB",
        help="The memory of each machine; 0: as much as is needed.",
    )
    host: str = setting(
        "",
        label="Docker host",
        help="Where it is, by the name of an engine; empty: the first one. Only for Docker.",
    )

    @property
    def names(self) -> tuple[str, ...]:
        """The machines' names."""
        return (self.id,) if self.count == 1 else tuple(f"{self.id}-{n + 1}" for n in range(self.count))


@dataclass(frozen=True, slots=True)
class World:
    """The rules of a simulated world."""

    gamma: float = setting(
        0.0,
        label="Contention γ",
        low=0.0,
        high=10.0,
        help="With n jobs a machine has 1/(1 + γ(n − 1)) of its speed; 0 is none.",
    )
    contention: str = setting(
        "count",
        label="Contention counts",
        choices={"count": "Jobs", "effective": "Effective jobs"},
        help="Whether n is the number of runnable jobs, or (Σa)²/Σa² of their shares a.",
    )
    curves: str = setting(
        "exponential", label="Loss curves", choices=CURVES, help="The family of all losses."
    )
    noise: float = setting(
        0.003,
        label="Noise",
        low=0.0,
        high=1.0,
        help="Standard deviation of a printed loss, which starts at 1.",
    )
    correlation: float = setting(
        0.5,
        label="Noise correlation",
        low=0.0,
        high=0.99,
        help="Correlation of the noise of one printed value with the next.",
    )
    size_error: float = setting(
        0.0,
        label="Size error",
        low=0.0,
        high=3.0,
        help="Standard deviation of the logarithm of claimed over true training steps.",
    )
    prediction_error: float = setting(
        0.0,
        label="Prediction error",
        low=0.0,
        high=3.0,
        help="Standard deviation of the logarithm of predicted over true time per step.",
    )
    control: float = setting(
        1.1,
        label="Migration overhead",
        low=0.0,
        high=3600.0,
        unit="s",
        help="Seconds of a migration besides checkpoint and restore.",
    )
    checkpoint_failure: float = setting(
        0.0, label="Checkpoints that fail", low=0.0, high=1.0, help="Chance that a job does not write one."
    )
    restore_failure: float = setting(
        0.0,
        label="Restores that fail",
        low=0.0,
        high=1.0,
        help="Chance that a job does not start on its target.",
    )


THREADS = {
    "follow": "Its share of cores",
    "static": "Its worker’s cores",
    "one": "One",
}


@dataclass(frozen=True, slots=True)
class Containers:
    """How jobs are started where the engine is Docker."""

    image: str = setting(
        "phasedock-jobs:light", label="Image", help="The image that every job's container runs."
    )
    threads: str = setting(
        "follow",
        label="Threads",
        choices=THREADS,
        help="How many threads jobs compute with, and whether threads follow cores.",
    )
    memory: float = setting(
        0.0, label="Memory", low=0.0, high=1e6, unit="GiB", help="Most that each job may have; 0: no limit."
    )


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When jobs come that do not say so themselves."""

    by: str = setting(
        "together",
        label="Arrivals",
        help="How jobs arrive.",
        choices={
            "together": "All at once",
            "spacing": "At fixed spacing",
            "normal": "At gaps that vary (normal)",
            "uniform": "At random within a time",
            "poisson": "At random, without end (Poisson)",
            "load": "At random, for a load",
            "list": "At listed times",
        },
    )
    start: float = setting(0.0, label="From", low=0.0, high=1e9, unit="s", help="The earliest arrival.")
    spacing: float = setting(
        50.0,
        label="Spacing",
        low=0.0,
        high=1e9,
        unit="s",
        help="Between two jobs; on average where gaps vary.",
    )
    spread: float = setting(
        5.0,
        label="Spread",
        low=0.0,
        high=1e9,
        unit="s",
        help="Standard deviation of normal gaps, at most a third of the spacing.",
    )
    within: float = setting(
        300.0, label="Within", low=0.0, high=1e9, unit="s", help="Length of the interval."
    )
    load: float = setting(
        1.0,
        label="Load",
        low=0.01,
        high=100.0,
        help="Core-time that the jobs take with their requests, of what all machines have in the interval.",
    )
    times: tuple[float, ...] = ()
