"""Machines, rules, jobs and arrivals of an experiment as typed settings, for forms and for files.

Every field says its unit, bounds and meaning; see `core.settings_fields`.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any, TypeAlias

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
        label="Contention",
        symbol="γ",
        low=0.0,
        high=10.0,
        help="With n jobs a machine has 1/(1 + contention · (n − 1)) of its speed; 0 is none.",
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
    """Settings of jobs in containers, where the engine is Docker."""

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
    """Arrival of jobs without a time of their own."""

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


LIKE = {"VAE": "VAE (65%)", "Bi-RNN": "Bi-RNN (98%)", "GRU": "GRU (90%)"}
Span: TypeAlias = tuple[float, float]


def _about(**described: Any) -> Any:
    """Metadata of a field with another default than a number: a span, or None."""
    return setting(0.0, **described).metadata


def _cores(label: str, help_: str) -> Any:
    """A field for an optional number of cores."""
    described = _about(label=label, low=0.01, high=4096, unit="cores", help=help_)
    return field(default=None, metadata=described)


def _memory() -> Any:
    described = _about(
        label="Memory", low=0.001, high=1e6, unit="GiB", help="What it takes while it is placed."
    )
    return field(default=None, metadata=described)


def _deadline() -> Any:
    described = _about(
        label="Deadline",
        low=0.001,
        high=1e9,
        unit="s",
        help="Time from its arrival within which it should end.",
    )
    return field(default=None, metadata=described)


_SLACK = _about(
    label="Deadline, relative",
    low=0.001,
    high=1e6,
    help="The same as a multiple of the time that it takes with its request; none: as “Deadline” says.",
)


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of training job; a pair of values is a range from which each job is sampled."""

    like: str = setting(
        "VAE", label="Loss like", choices=LIKE, help="The model whose early fall of the loss it has."
    )
    early: float | None = field(
        default=None,
        metadata=_about(
            label="Early fall",
            low=0.2,
            high=0.999,
            help="Share of the whole fall of the loss in the first 20% of the work, in place of “like”.",
        ),
    )
    final: float = setting(
        0.1, label="Final loss", low=0.0, high=0.99, help="What the loss ends at; it starts at 1."
    )
    values: int = setting(
        200, label="Printed values", low=1, high=100_000, help="How many losses a job prints."
    )
    work: Span = field(
        default=(100.0, 100.0),
        metadata=_about(
            label="Work",
            low=0.001,
            high=1e9,
            unit="core-s",
            help="Processor time that a job needs.",
        ),
    )
    demand: Span | None = field(
        default=None,
        metadata=_about(
            label="Demand",
            low=0.01,
            high=4096,
            unit="cores",
            help="Most cores it can use; none: any number.",
        ),
    )
    steps: int = setting(
        200, label="Training steps", low=0, high=10**9, help="How many it claims to have; 0: it does not say."
    )
    checkpoint: Span | None = field(
        default=(1.5, 1.5),
        metadata=_about(
            label="Checkpoint",
            low=0.0,
            high=3600.0,
            unit="s",
            help="Time to write one; none: it writes none.",
        ),
    )
    restore: Span = field(
        default=(2.0, 2.0),
        metadata=_about(
            label="Restore", low=0.0, high=3600.0, unit="s", help="Time to start from a checkpoint."
        ),
    )
    weight: float = setting(
        1.0, label="Weight", low=0.0, high=1e6, help="How often it is drawn, relative to the others."
    )
    request: float | None = _cores("Request", "Cores that its owner asks for; none: does not say.")
    min: float | None = _cores("At least", "Fewest cores that it can run with; none: does not say.")
    max: float | None = _cores("At most", "Most cores that it is to have; none: does not say.")
    memory: float | None = _memory()
    priority: int = setting(
        0, label="Priority", low=0, high=9, help="From 0 to 9; the higher, the sooner, where priority counts."
    )
    deadline: float | None = _deadline()
    slack: Span | None = field(default=None, metadata=_SLACK)
    threads: int = setting(
        0,
        label="Threads",
        low=0,
        high=4096,
        help="Threads that it begins with, which more than its cores slow down; 0: as many as its cores.",
    )
    malleable: bool = setting(
        False, label="Malleable", help="Whether its threads can be changed while it runs."
    )
    fixed: float = setting(
        0.0,
        label="Not parallel",
        low=0.0,
        high=1.0,
        help="Share of a step on one core that more cores do not shorten.",
    )
    overhead: float = setting(
        0.0,
        label="Cost of a core",
        low=0.0,
        high=1.0,
        help="What every further core adds to a step, as a share of a step on one core.",
    )
    program: str = setting(
        "", label="Program", help="What its containers run, such as “mlp --size 2”. Only for Docker."
    )
    image: str = setting(
        "", label="Image", help="The image of its containers; none: the experiment's. Only for Docker."
    )
    throughput: tuple[Span, ...] = ()
    """(cores, steps per second) as measured, in place of `fixed` and `overhead`."""
    losses: tuple[float, ...] = ()
    """A recorded loss at even shares of the training, from 0 to all of it, in place of `like` and `early`."""

    def command(self, threads: str) -> tuple[str, ...]:
        """The command of its containers, besides a seed and a number of steps."""
        words = ("python3", "-m", "phasedock_jobs", *shlex.split(self.program))
        return (*words, "--threads", "1" if threads == "one" else threads)


SPANS = ("work", "demand", "checkpoint", "restore", "slack")
MAY_BE_NONE = ("early", "demand", "checkpoint", "request", "min", "max", "memory", "deadline", "slack")
TERMS = (
    "request", "min", "max", "memory", "priority", "deadline", "slack", "threads", "malleable", "fixed",
    "overhead", "throughput",
)  # fmt: skip
"""Terms of a job's owner, and how the job scales."""
CONTAINER = ("program", "image")
"""What a job's container runs."""
OMITTED_IF_DEFAULT = (*TERMS, "image")
"""Fields that files omit at their defaults."""


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job by name; empty fields take the values of its kind."""

    id: str = setting("", label="Id", help="Its name; no two jobs have the same.")
    kind: str = setting("", label="Kind", help="One of the kinds of jobs.")
    work: float | None = field(
        default=None,
        metadata=_about(
            label="Work", low=0.001, high=1e9, unit="core-s", help="Processor time that it needs."
        ),
    )
    demand: float | None = field(
        default=None,
        metadata=_about(label="Demand", low=0.01, high=4096, unit="cores", help="Most cores it can use."),
    )
    at: float | None = field(
        default=None,
        metadata=_about(
            label="Arrives at",
            low=0.0,
            high=1e9,
            unit="s",
            help="When it arrives; as in “Arrivals” if left out.",
        ),
    )
    request: float | None = _cores("Request", "Cores that its owner asks for.")
    min: float | None = _cores("At least", "Fewest cores that it can run with.")
    max: float | None = _cores("At most", "Most cores that it is to have.")
    memory: float | None = _memory()
    priority: int | None = field(
        default=None, metadata=setting(0, label="Priority", low=0, high=9, help="From 0 to 9.").metadata
    )
    deadline: float | None = _deadline()
    slack: float | None = field(default=None, metadata=_SLACK)
    due: float | None = field(
        default=None,
        metadata=_about(
            label="Due", low=0.0, high=1e9, unit="s", help="Its deadline as a time of the run, like “at”."
        ),
    )
    steps: int | None = field(
        default=None,
        metadata=setting(
            1,
            label="Training steps",
            low=1,
            high=10**9,
            help="How many it has; with its kind’s throughput they are its work.",
        ).metadata,
    )


@dataclass(frozen=True, slots=True)
class DrawnJobs:
    """Jobs drawn at random from the kinds."""

    count: int = setting(0, label="Jobs drawn", low=0, high=1_000_000, help="How many.")
    id: str = setting(
        "Job", label="Name prefix", help="What their names begin with; they are numbered in order of arrival."
    )
    draw: str = setting(
        "weights",
        label="Kinds drawn",
        choices={"weights": "By weight", "rotation": "In rotation", "jobs": "From the listed jobs"},
        help="By the weights of the kinds, or each kind equally often in random order; or any of the listed "
        "jobs instead of kinds, which then do not come by themselves.",
    )


# What was published of it.

PUBLISHED_MEASURES = {
    "mean": "Mean completion",
    "makespan": "Makespan",
    "sooner": "Jobs sooner",
    "best": "Best job",
    "worst": "Worst job",
    "completion": "Completion of one job",
}


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One published figure of one policy."""

    policy: str = setting("", label="Policy", help="The label of the policy that it is about.")
    measure: str = setting("mean", label="Measure", choices=PUBLISHED_MEASURES, help="What was measured.")
    job: str = setting("", label="Job", help="The job, where it is about one.")
    value: float = setting(0.0, label="Value", low=0.0, unit="s", help="With the policy; 0: not given.")
    base: float = setting(0.0, label="Baseline", low=0.0, unit="s", help="Without it; 0: not given.")
    share: float = setting(
        0.0,
        label="Share",
        low=-1.0,
        high=10.0,
        help="The relative change, where no values are given; of “sooner” the share of jobs.",
    )
    source: str = setting("", label="Source", help="Where it was published.")

    @property
    def change(self) -> float:
        """The relative change against the baseline; of ``sooner`` the share of jobs."""
        return self.value / self.base - 1.0 if self.value and self.base else self.share
