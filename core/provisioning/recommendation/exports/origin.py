"""The comments of every export: its origin, its groups and phases, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import InputError
from core.plain_text import without_controls
from core.units import Unit, format_share, format_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.provisioning.recommendation.recommend import Advice

_ABSOLUTE = (Unit.CORES, Unit.BYTES)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a recommendation was made from; `date` is an ISO date."""

    model: str
    traces: str
    date: str

    def lines(self) -> list[str]:
        """The comment that every export carries."""
        return [
            "Recommended by PhaseDock",
            f"model: {one_line(self.model)}",
            f"traces: {one_line(self.traces)}",
            f"date: {one_line(self.date)}",
        ]


def by_group(rows: Sequence[Advice]) -> list[tuple[str, list[Advice]]]:
    """Each group's rows that are in cores or bytes.

    Raises
    ------
    InputError
        If there are none.
    """
    groups: dict[str, list[Advice]] = {}
    for row in rows:
        if row.unit in _ABSOLUTE:
            groups.setdefault(row.group, []).append(row)
    if not groups:
        raise InputError(
            "These traces have CPU and memory only as shares of a machine of unknown size.",
            "Import the file again with the machine’s cores and memory in the mapping.",
        )
    return list(groups.items())


def by_phase(rows: Sequence[Advice]) -> list[tuple[int | None, list[Advice]]]:
    """Each phase's rows; None is a container's whole life."""
    phases: dict[int | None, list[Advice]] = {}
    for row in rows:
        phases.setdefault(row.phase, []).append(row)
    return list(phases.items())


def left_out(rows: Sequence[Advice]) -> list[str]:
    """Comments that say which resources are only known as shares."""
    missing = {row.resource: None for row in rows if row.unit not in _ABSOLUTE}
    return [
        f"# {resource.value} is left out: the traces have it only as a share of a machine of unknown size."
        for resource in missing
    ]


def words(rows: Sequence[Advice]) -> str:
    """What one phase needs, in a line."""
    each = [
        f"{row.resource.value} request {format_value(row.request, row.unit)}, "
        f"limit {format_value(row.limit, row.unit)} ({format_share(row.expected_violation)} above request)"
        for row in rows
    ]
    return f"{rows[0].phase_name}: {'; '.join(each)}"


def reasons(rows: Sequence[Advice]) -> list[str]:
    """Why each resource gets what it gets, a line each."""
    return [f"{row.resource.value}: {one_line(row.reason)}" for row in rows]


def one_line(text: str) -> str:
    """Without control characters, so that a name cannot end a comment."""
    return without_controls(text)


def ceil(value: float) -> int:
    """The next whole number, unless rounding alone put the value above one."""
    return -int(-(value - 1e-6) // 1)
