"""Settings of ``elastic``: admission, queue, and reassignment of free cores."""

from __future__ import annotations

from dataclasses import dataclass

from core.scheduling.queueing import core_unit_setting, default_request_setting, memory_setting
from core.settings_fields import setting

ADMISSIONS = {
    "strict": "Its whole request, or it waits",
    "attend": "What is free, at least its minimum",
    "proportional": "Its request, divided as all requests exceed the cores",
    "equal": "An equal share",
}
ORDERS = {
    "arrival": "First come, first served",
    "priority": "By priority",
    "round-robin": "In turns",
}
REASSIGNMENTS = {
    "strict": "The oldest, up to their requests",
    "proportional": "All alike",
    "fill": "The oldest, up to their maximum",
    "speedup": "The largest speed-up",
    "none": "No job",
}


@dataclass(frozen=True)
class ElasticSettings:
    """Settings of ``elastic``."""

    admission: str = setting(
        "proportional",
        label="Cores at the start",
        choices=ADMISSIONS,
        help="Number of cores that a job starts with.",
    )
    order: str = setting("arrival", label="Queue", choices=ORDERS, help="Order of the waiting jobs.")
    reassign: str = setting(
        "speedup",
        label="Freed cores",
        choices=REASSIGNMENTS,
        help="Running jobs that get free cores.",
    )
    first: str = setting(
        "waiting",
        label="Served first",
        choices={"waiting": "Waiting jobs", "running": "Running jobs"},
        help="Jobs that get free cores first; waiting jobs also reclaim cores beyond requests or shares.",
    )
    cap: float = setting(
        0.0,
        label="Cores per job",
        low=0.0,
        high=4096,
        unit="cores",
        help="Maximum cores of any job; 0: no cap.",
    )
    grain: float = core_unit_setting(1.0)
    unasked: float = default_request_setting()
    ageing: float = setting(
        60.0,
        label="Ageing",
        low=0.0,
        high=1e6,
        unit="s",
        help="Waiting time that raises the priority by one; 0: never. Only in order of priority.",
    )
    feedback: bool = setting(
        False,
        label="Feedback",
        help="Priority falls by one after each run of a job. Only in order of priority.",
    )
    quantum: float = setting(
        60.0,
        label="Quantum",
        low=1.0,
        high=1e6,
        unit="s",
        help="Time after which a running job is paused for a waiting one. Only in turns.",
    )
    victim: str = setting(
        "longest",
        label="Paused first",
        choices={"longest": "Longest running", "smallest": "Smallest request"},
        help="Running job that is paused for a waiting one. Only in turns.",
    )
    memory: float = memory_setting()
    interval: float = setting(
        10.0,
        label="Interval",
        low=0.5,
        high=3600,
        unit="s",
        help="Time between comparisons of speed-ups. Only if free cores go to the largest speed-up.",
    )
