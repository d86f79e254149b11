"""What became of one job of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """One job of a run; times in seconds."""

    #: Its name and kind.
    id: str
    model: str
    #: On the run's clock.
    arrived: float
    started: float | None
    ended: float
    #: From arrival to end.
    completion: float
    #: From arrival until its loss has fallen by 90, 95 and 99% of its whole fall, or None.
    t90: float | None
    t95: float | None
    t99: float | None
    #: What it would take under fair sharing, and how many times that it took; None where not known.
    fair: float | None
    slowdown: float | None
    #: How often it was moved.
    migrations: int
    #: ``"done"``, ``"failed"``, or ``"refused"``.
    state: str
    #: As in `core.experiments.measures.job_times.JobTimes`; None in results of earlier releases.
    waiting: float | None = None
    service: float | None = None
    paused: float | None = None
    used: float | None = None
    pauses: int | None = None
    resizes: int | None = None
    thread_changes: int | None = None
    #: Seconds after its arrival within which it should end, or None.
    deadline: float | None = None
    #: Whether its policy promised it that; None where the policy promises nothing.
    promised: bool | None = None
    #: When it was expected to end as its policy first said so, on the run's clock; None where it did not.
    predicted_end: float | None = None
    #: Core-seconds that its limits allowed while it ran; None where it had none, or ran without for a while.
    allocated: float | None = None
