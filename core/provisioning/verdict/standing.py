"""Trust in a result: what a few held-out containers show, and what is withheld.

A result on n held-out containers is a sample of n. With fewer than `MIN_UNITS` no interval is given
and nothing is called safe. For memory, where falling short once kills, what was seen matters less
than what n containers can rule out: if none of them ran out of memory, the share of containers that
would is below 1 − 0.05^(1/n) with 95% confidence (the exact form of the "rule of three", 3/n).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from core.bootstrap_intervals import MIN_UNITS
from core.provisioning.fleet import Resource
from core.units import format_set_share, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONFIDENCE = 0.95
_NARROW = 20
_RARE = 0.125
"""What was never seen is called safe only where fewer than this share of containers can yet fall short."""


class State(StrEnum):
    """Levels of trust in a result, from none to as far as it was measured."""

    UNTESTED = "untested"
    FEW = "few"
    BROKEN = "broken"
    OPEN = "open"
    SAFE = "safe"


@dataclass(frozen=True, slots=True)
class Standing:
    """The trust in a result, as a level and a sentence."""

    #: In a word.
    state: State
    #: In a sentence or two.
    sentence: str
    #: How many more containers it would take for intervals; 0 where there are enough.
    missing: int = 0


def unseen(containers: int) -> float:
    """The largest share of containers that may yet fail when none of `containers` did, at 95% confidence."""
    return 1.0 - (1.0 - _CONFIDENCE) ** (1.0 / containers) if containers > 0 else 1.0


def more_needed(held_out: int) -> int:
    """The number of further containers until there are enough for intervals."""
    return max(MIN_UNITS - held_out, 0)


def standing(
    figures: Mapping[str, Any],
    resource: Resource,
    held_out: int,
    containers: int,
    settings: Mapping[str, Any],
    *,
    tested: bool = True,
    groups: int | None = None,
) -> Standing:
    """The trust in one workload's figures for one resource."""
    if not tested or held_out == 0:
        return _untested(containers, settings)
    by_containers = _of_containers(figures, resource, held_out, settings)
    if groups is None or groups >= MIN_UNITS:
        return by_containers
    scope = f"They are of {groups} whole groups" if groups > 1 else "They are one whole group"
    state = State.OPEN if by_containers.state is State.SAFE else by_containers.state
    return replace(
        by_containers, state=state, sentence=f"{by_containers.sentence} {scope}; other groups may differ."
    )


def _of_containers(
    figures: Mapping[str, Any],
    resource: Resource,
    held_out: int,
    settings: Mapping[str, Any],
) -> Standing:
    if held_out < MIN_UNITS:
        return _few(figures, resource, held_out)
    if resource is Resource.MEMORY:
        return _memory(figures, held_out)
    return _cpu(figures, held_out, float(settings["tolerance"]))


_WHOLE_GROUPS = (
    "Whole groups were held out, and all of these containers were learned from: the figures describe their "
    "past and promise nothing. Compare without groups to test them."
)


def _untested(containers: int, settings: Mapping[str, Any]) -> Standing:
    missing = more_needed(containers)
    if containers == 1:
        text = (
            "There is one container, so none could be held out. The figures describe that container’s past "
            "and promise nothing."
        )
    elif settings.get("group_by"):
        return Standing(State.UNTESTED, _WHOLE_GROUPS)
    else:
        text = (
            f"Nothing was held out of these {containers:,} containers: all figures are of containers that "
            "were learned from. They describe the past and promise nothing."
        )
    return Standing(State.UNTESTED, f"{text} {_more(missing)}", missing)


def _few(figures: Mapping[str, Any], resource: Resource, held_out: int) -> Standing:
    missing = more_needed(held_out)
    text = (
        "Measured on 1 held-out container: one example, no evidence."
        if held_out == 1
        else f"Measured on {held_out} held-out containers: too few for an interval, and nothing to rely on."
    )
    if resource is Resource.MEMORY:
        text += f" {ran_out(figures, held_out)}"
        if figures["events"]:
            return Standing(State.BROKEN, f"{text} {_more(missing)}", missing)
    return Standing(State.FEW, f"{text} {_more(missing)}", missing)


def _more(missing: int) -> str:
    return f"Record about {missing:,} more containers." if missing != 1 else "Record 1 more container."


def _memory(figures: Mapping[str, Any], held_out: int) -> Standing:
    if figures["events"]:
        return Standing(State.BROKEN, ran_out(figures, held_out))
    state = State.SAFE if unseen(held_out) <= _RARE else State.OPEN
    return Standing(state, ran_out(figures, held_out))


def ran_out(figures: Mapping[str, Any], held_out: int) -> str:
    """Name containers that would run out of memory, or the upper bound of their share where none would."""
    if not figures["events"]:
        return (
            f"0 of {held_out:,} held-out containers would run out of memory "
            f"(95% upper bound: {_others(held_out)})."
        )
    names = ", ".join(figures["short"][:3])
    others = figures["containers_short"] - min(len(figures["short"]), 3)
    omitted = f" and {others:,} more" if others > 0 else ""
    times = {1: "once", 2: "twice"}.get(figures["events"], f"{figures['events']:,} times")
    return (
        f"Would run out of memory {times}, in {figures['containers_short']:,} of {held_out:,} held-out "
        f"container{'s' if held_out != 1 else ''}: {names}{omitted}."
    )


def _others(held_out: int) -> str:
    return format_share(unseen(held_out), 0)


def _cpu(figures: Mapping[str, Any], held_out: int, tolerance: float) -> Standing:
    low, high = float(figures["short_low"]), float(figures["short_high"])
    tolerated = format_set_share(tolerance)
    short = f"Short {format_share(low)} to {format_share(high)} of the time (95%)"
    narrow = (
        f" With {held_out} containers intervals come out somewhat too narrow." if held_out < _NARROW else ""
    )
    never = high <= 0
    if never:
        short = f"Never short on {held_out:,} held-out containers"
        narrow = f" At most {_others(held_out)} of other containers would be short (95% upper bound)."
    if low > tolerance:
        return Standing(State.BROKEN, f"{short}: more than the tolerated {tolerated}.{narrow}")
    saved_low, saved_high = figures.get("saved_low"), figures.get("saved_high")
    if saved_high is None or saved_high < 0:
        return Standing(State.OPEN, f"{short}. It needs more than there is now.{narrow}")
    if saved_low is None or saved_low <= 0:
        return Standing(State.OPEN, f"{short}. Whether it saves anything is uncertain.{narrow}")
    if high > tolerance:
        return Standing(State.OPEN, f"{short}; {tolerated} is tolerated, so less is possible.{narrow}")
    if never:
        return Standing(State.SAFE if unseen(held_out) <= _RARE else State.OPEN, f"{short}.{narrow}")
    return Standing(State.SAFE, f"{short}, within the tolerated {tolerated}.{narrow}")
