"""The value per day of a difference in allocation, with its assumptions.

A day is taken to look like the recording: on average as many containers run at once as did while the
traces were recorded (container-seconds / seconds from the first sample to the last). Where all
executions begin at the same time, as in files without dates, they count as running side by side all day;
whoever knows better says how many container-hours a day has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.bootstrap_intervals import group_numbers
from core.provisioning.fleet import groups_of
from core.settings_fields import build, setting
from core.units import GIB, Unit, format_duration, format_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.provisioning.fleet import Integers
    from core.traces.model import TraceSet


ATTRIBUTES = (
    *("workload", "service", "app", "application", "deployment", "statefulset", "job", "job_name"),
    *("task", "container", "image"),
)
"""Attributes that tell workloads apart, the best first."""
PLACES = (
    ("namespace", "kubernetes_namespace", "k8s_namespace", "exported_namespace"),
    ("kind", "owner_kind", "controller_kind", "created_by_kind", "workload_type"),
)
"""Attributes that say where a workload belongs: its namespace, and the kind of its object."""
MAX_ATTRIBUTE_VALUES = 200
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
    #: Namespace and kind of each workload, such as “research · Job”; empty where the traces do not tell.
    places: tuple[str, ...] = ("",)


def has_name(workload: str | None) -> bool:
    """Whether a workload is called something that can be put into a manifest."""
    return workload is not None and workload.strip().lower() not in NAMELESS


def attribute_of(traces: TraceSet, group_by: str = "") -> str | None:
    """The attribute that tells workloads apart: the comparison's own groups, else the best known name.

    An attribute with more than `MAX_ATTRIBUTE_VALUES` values, of fewer than two containers each on average,
    names single containers and no workloads.
    """
    if group_by:
        return group_by
    names = {name.lower(): name for name in traces.attributes}
    for name in (names[lower] for lower in ATTRIBUTES if lower in names):
        values = len({str(each) for each in traces.attributes[name]})
        if values <= max(MAX_ATTRIBUTE_VALUES, traces.n_executions // 2):
            return name
    return None


def workloads_of(traces: TraceSet, group_by: str = "") -> Workloads:
    """Group the containers that have samples by what they do."""
    by = attribute_of(traces, group_by)
    alive = np.flatnonzero(np.diff(traces.offsets) > 0)
    if by is None:
        return Workloads(None, ("",), np.zeros(len(alive), np.int64))
    values = groups_of(traces, by)
    texts = [values[i].strip() for i in alive]
    numbers, _ = group_numbers(texts)
    names = tuple(dict.fromkeys(texts))
    return Workloads(by, names, numbers, _places(traces, [alive[numbers == n] for n in range(len(names))]))


def _places(traces: TraceSet, workloads: list[Integers]) -> tuple[str, ...]:
    """Namespace and kind of each workload; a part on which its containers differ is left out."""
    by_lower = {name.lower(): values for name, values in traces.attributes.items()}
    known = [next((by_lower[name] for name in names if name in by_lower), None) for names in PLACES]
    places = []
    for containers in workloads:
        found = [{str(values[i]).strip() for i in containers} for values in known if values is not None]
        places.append(
            " · ".join(part for parts in found if len(parts) == 1 for part in parts if has_name(part))
        )
    return tuple(places)


_HOURS = 24.0
_DAY = 86_400.0


@dataclass(frozen=True)
class PriceSettings:
    """Prices per hour, and container hours per day."""

    core_hour: float = setting(
        0.04, label="Price of a core-hour", low=0.0, high=1e6,
        help="What one core costs per hour. The default is near public list prices for containers on demand.",
    )  # fmt: skip
    gib_hour: float = setting(
        0.0045, label="Price of a GiB-hour", low=0.0, high=1e6,
        help="What one GiB of memory costs per hour. The default is near the same list prices.",
    )  # fmt: skip
    currency: str = setting("USD", label="Currency", help="What the prices are in.")
    hours: float = setting(
        0.0, label="Container-hours per day", low=0.0, high=1e9, unit="h",
        help="How long all containers together run per day. 0: as in the recording.",
    )  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> PriceSettings:
        """Read settings.

        Raises
        ------
        InputError
            If a name is unknown or a value is out of bounds.
        """
        return build(cls, values)


@dataclass(frozen=True, slots=True)
class Saved:
    """The saving of a workload; negative where it would need more than now."""

    #: Cores or bytes saved at any moment, over all containers that run then.
    amount: float
    #: Core-hours or GiB-hours saved per day.
    per_day: float
    #: That times its price, or None where the unit has none.
    money: float | None


def running(container_seconds: float, recorded: Mapping[str, Any], prices: PriceSettings) -> float:
    """The average number of a workload's containers that run at once.

    Parameters
    ----------
    container_seconds
        How long the workload's containers were recorded, together.
    recorded
        A report's `core.provisioning.evaluation.evaluate.recorded`.
    prices
        May say how many container-hours a day has; the workloads share them as in the recording.
    """
    seconds = float(recorded["container_seconds"])
    if prices.hours > 0 and seconds > 0:
        return prices.hours / _HOURS * container_seconds / seconds
    span = float(recorded["span_s"])
    return container_seconds / span if span > 0 else 0.0


def saved(per_container: float, unit: Unit, at_once: float, prices: PriceSettings) -> Saved:
    """The value of saving an amount per container while `at_once` containers run all day."""
    amount = per_container * at_once
    match unit:
        case Unit.CORES:
            return Saved(amount, amount * _HOURS, amount * _HOURS * prices.core_hour)
        case Unit.BYTES:
            per_day = amount / GIB * _HOURS
            return Saved(amount, per_day, per_day * prices.gib_hour)
        case _:
            return Saved(amount, amount * _HOURS, None)


def assumptions(recorded: Mapping[str, Any], prices: PriceSettings) -> list[str]:
    """The assumptions of the figures per day, in sentences."""
    span = float(recorded["span_s"])
    many = running(float(recorded["container_seconds"]), recorded, prices)
    at_once = format_number(many, 1 if many >= 0.1 else 3)
    if prices.hours > 0:
        day = f"A day is taken to have {format_number(prices.hours)} container-hours, as set."
    elif recorded["containers"] == 1:
        day = "The container is taken to run all day."
    elif recorded["same_start"]:
        day = (
            f"All {recorded['containers']:,} containers of these traces begin at the same time, so they are "
            f"taken to run side by side all day ({at_once} at once on average). Set the container-hours per "
            "day if they do not."
        )
    else:
        day = f"A day is taken to look like the recording: {at_once} containers at once on average."
    if span < _DAY and not prices.hours:
        day += f" The recording lasts {format_duration(span)}; the rest of the day is projected from it."
    costs = (
        f"A core-hour is taken to cost {money(prices.core_hour, prices)} and a GiB-hour "
        f"{money(prices.gib_hour, prices)}; set your own in the settings."
    )
    return [day, costs]


LEAST_MONEY = 0.00005
"""A saving that is written as nothing."""


def money(value: float, prices: PriceSettings) -> str:
    """An amount of money with its currency, with as many digits as it needs."""
    digits = 4 if 0 < abs(value) < 0.00995 else 2
    return f"{format_number(value, digits)} {prices.currency.strip()[:8] or 'USD'}"
