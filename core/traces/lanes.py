"""Lanes: the quantities of a trace set that charts show, one lane each.

Every role and every other feature has a lane. The features of several GPUs share one lane with a line each. A
limit or a request is drawn with its usage, so it has a lane only if their units differ; a recorded phase has
none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.traces.model import ROLE_NAMES, SET_ROLES, Feature, Role
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

LIMITS = {Role.CPU: Role.CPU_LIMIT, Role.MEMORY: Role.MEMORY_LIMIT}
"""The role of the limit of a usage."""
REQUESTS = {Role.CPU: Role.CPU_REQUEST, Role.MEMORY: Role.MEMORY_REQUEST}
"""The role of the request of a usage."""
DEFAULT_ROLES = (Role.CPU, Role.MEMORY, Role.GPU, Role.GPU_MEMORY)
"""The roles of the default lanes."""
_SHARED = (Role.GPU, Role.GPU_MEMORY, Role.GPU_POWER)
_MAIN_UNIT = {Role.CPU: Unit.CORES, Role.MEMORY: Unit.BYTES}
_ORDER = tuple(ROLE_NAMES)


@dataclass(frozen=True, slots=True)
class Lane:
    """One quantity of a trace set."""

    #: Its name in an address: the role or the feature's name.
    key: str
    #: Its name for people.
    title: str
    #: Its lines; all have one role and one unit.
    features: tuple[Feature, ...]
    #: The label of each line: the title for a single line, else ``GPU 0`` and so on.
    names: tuple[str, ...]
    #: The features with its limit and its request, or None.
    limit: Feature | None = None
    request: Feature | None = None

    @property
    def role(self) -> Role:
        """The role of its features."""
        return self.features[0].role

    @property
    def unit(self) -> Unit:
        """The unit of its features."""
        return self.features[0].unit


def list_lanes(features: Sequence[Feature]) -> tuple[Lane, ...]:
    """List all lanes of a set: those with a role first, in the order of the roles."""
    remaining, lanes = list(features), []
    for role in _ORDER:
        of_role = [feature for feature in remaining if feature.role is role]
        if role in SET_ROLES or not of_role:
            continue
        first = next((one for one in of_role if one.unit is _MAIN_UNIT.get(role)), of_role[0])
        lines = [one for one in of_role if one.unit is first.unit] if role in _SHARED else [first]
        lanes.append(_lane(role.value, ROLE_NAMES[role], lines, features))
        remaining = [feature for feature in remaining if feature not in lines]
    set_features = [feature for lane in lanes for feature in (lane.limit, lane.request)]
    used_keys = {lane.key for lane in lanes}
    for feature in remaining:
        if feature.role is not Role.PHASE and feature not in set_features:
            key = feature.name if feature.name not in used_keys else f"{feature.name} (feature)"
            lanes.append(_lane(key, feature.name, [feature], ()))
    return tuple(lanes)


def default_lanes(offered: Sequence[Lane]) -> tuple[Lane, ...]:
    """Return the default lanes: CPU, memory, GPUs and their memory; without these, the first two."""
    usual = tuple(lane for lane in offered if lane.key in {role.value for role in DEFAULT_ROLES})
    return usual or tuple(offered[:2])


def select_lanes(
    offered: Sequence[Lane],
    keys: Iterable[str] | None,
    default: Callable[[Sequence[Lane]], tuple[Lane, ...]] = default_lanes,
) -> tuple[Lane, ...]:
    """Select the lanes with some keys, in their usual order; the default lanes if no key fits."""
    selected = set(keys or ())
    return tuple(lane for lane in offered if lane.key in selected) or default(offered)


def _lane(key: str, title: str, lines: Sequence[Feature], among: Sequence[Feature]) -> Lane:
    role, unit = lines[0].role, lines[0].unit
    limit, request = (
        next((each for each in among if each.role is roles.get(role) and each.unit is unit), None)
        for roles in (LIMITS, REQUESTS)
    )
    return Lane(key, title, tuple(lines), _names(title, lines), limit, request)


def _names(title: str, lines: Sequence[Feature]) -> tuple[str, ...]:
    """Label lines by the number in which their features' names differ, else by these names."""
    if len(lines) == 1:
        return (title,)
    numbers = [tuple(re.findall(r"\d+", line.name)) for line in lines]
    if len({len(each) for each in numbers}) == 1:
        for part in zip(*numbers, strict=True):
            if len(set(part)) == len(lines):
                return tuple(_numbered(title, number) for number in part)
    return tuple(f"{title} {line.name}" for line in lines)


def _numbered(title: str, number: str) -> str:
    """Insert a number into a title: ``GPU 0``, ``GPU 0 memory``."""
    what, _, quantity = title.partition(" ")
    return f"{what} {number} {quantity}".strip()
