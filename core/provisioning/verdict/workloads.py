"""Workloads: containers that do the same work, told by an attribute of the traces; one group without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.building import groups_of
from core.provisioning.evaluation.intervals import group_numbers

if TYPE_CHECKING:
    from core.provisioning.fleet import Integers
    from core.traces.model import TraceSet

ATTRIBUTES = (
    *("workload", "service", "app", "application", "deployment", "statefulset", "job", "job_name"),
    *("task", "container", "image"),
)
"""Attributes that tell workloads apart, the best first."""
MOST = 200
NAMELESS = ("", "*", "-", "?", "nan", "none", "null", "<none>", "unknown")
"""What stands for a missing name; nothing can be set for such a workload."""


@dataclass(frozen=True, eq=False)
class Workloads:
    """The workload of each container."""

    #: The attribute that tells them apart, or None where all containers are one group.
    by: str | None
    #: The workloads' names.
    names: tuple[str, ...]
    #: The workload of each container that has samples, shape (n_containers,).
    of: Integers


def has_name(workload: str | None) -> bool:
    """Whether a workload is called something that can be put into a manifest."""
    return workload is not None and workload.strip().lower() not in NAMELESS


def attribute_of(traces: TraceSet, group_by: str = "") -> str | None:
    """The attribute that tells workloads apart: the comparison's own groups, else the best known name.

    An attribute with more than `MOST` values names single containers and no workloads.
    """
    if group_by:
        return group_by
    there = {name.lower(): name for name in traces.attributes}
    for known in ATTRIBUTES:
        if known in there and len({str(each) for each in traces.attributes[there[known]]}) <= MOST:
            return there[known]
    return None


def workloads_of(traces: TraceSet, group_by: str = "") -> Workloads:
    """Group the containers that have samples by what they do."""
    by = attribute_of(traces, group_by)
    alive = np.flatnonzero(np.diff(traces.offsets) > 0)
    if by is None:
        return Workloads(None, ("",), np.zeros(len(alive), np.int64))
    values = groups_of(traces, by)
    mine = [values[i].strip() for i in alive]
    numbers, _ = group_numbers(mine)
    return Workloads(by, tuple(dict.fromkeys(mine)), numbers)
