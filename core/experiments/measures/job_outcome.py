"""What became of one job of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """One job of a run; times in seconds.

    Parameters
    ----------
    id, model
        Its name and kind.
    arrived, started, ended
        On the run's clock.
    completion
        From arrival to end.
    t90, t95, t99
        From arrival until its loss has fallen by 90, 95 and 99% of its whole fall, or None.
    fair, slowdown
        What it would take under fair sharing, and how many times that it took; None where not known.
    migrations
        How often it was moved.
    state
        ``"done"``, ``"failed"``, or ``"refused"``.
    waiting, service, paused, used, pauses, resizes, thread_changes
        As in `core.experiments.measures.job_times.JobTimes`; None in results of earlier releases.
    deadline
        Seconds after its arrival within which it should end, or None.
    promised
        Whether its policy promised it that; None where the policy promises nothing.
    predicted_end
        When it was expected to end as its policy first said so, on the run's clock; None where it did not.
    allocated
        Core-seconds that its limits allowed while it ran; None where it had none, or ran without for a while.
    """

    id: str
    model: str
    arrived: float
    started: float | None
    ended: float
    completion: float
    t90: float | None
    t95: float | None
    t99: float | None
    fair: float | None
    slowdown: float | None
    migrations: int
    state: str
    waiting: float | None = None
    service: float | None = None
    paused: float | None = None
    used: float | None = None
    pauses: int | None = None
    resizes: int | None = None
    thread_changes: int | None = None
    deadline: float | None = None
    promised: bool | None = None
    predicted_end: float | None = None
    allocated: float | None = None
