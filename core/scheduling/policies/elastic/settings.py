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
    "speedup": "Whose steps get shorter by most",
    "none": "No job",
}


@dataclass(frozen=True)
class ElasticSettings:
    """Settings of ``elastic``."""

    admission: str = setting(
        "proportional",
        label="Cores at the start",
        choices=ADMISSIONS,
        help="With how many cores a job begins.",
    )
    order: str = setting(
        "arrival", label="Queue", choices=ORDERS, help="Which of the jobs that wait comes first."
    )
    reassign: str = setting(
        "speedup",
        label="Freed cores",
        choices=REASSIGNMENTS,
        help="Which running jobs get cores that are free.",
    )
    first: str = setting(
        "waiting",
        label="Served first",
        choices={"waiting": "Waiting jobs", "running": "Running jobs"},
        help="Who gets free cores first; waiting jobs also get back what is lent beyond requests or shares.",
    )
    cap: float = setting(
        0.0,
        label="Cores per job",
        low=0.0,
        high=4096,
        unit="cores",
        help="Most that any job gets; 0: no cap.",
    )
    grain: float = core_unit_setting(1.0)
    unasked: float = default_request_setting()
    ageing: float = setting(
        60.0,
        label="Ageing",
        low=0.0,
        high=1e6,
        unit="s",
        help="Waiting time that counts as one step of priority; 0: none. Only in order of priority.",
    )
    feedback: bool = setting(
        False,
        label="Feedback",
        help="Priority falls by one each time that a job has been run. Only in order of priority.",
    )
    quantum: float = setting(
        60.0,
        label="Quantum",
        low=1.0,
        high=1e6,
        unit="s",
        help="Time after which a running job is paused for one that waits. Only in turns.",
    )
    victim: str = setting(
        "longest",
        label="Paused first",
        choices={"longest": "Longest running", "smallest": "Smallest request"},
        help="Which running job is paused for one that waits. Only in turns.",
    )
    memory: float = memory_setting()
    interval: float = setting(
        10.0,
        label="Interval",
        low=0.5,
        high=3600,
        unit="s",
        help="Time after which speeds are looked at again. Only where freed cores go by speed.",
    )
