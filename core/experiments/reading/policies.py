"""Reading what an experiment compares: its policies with their settings, the baseline and the seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import PhaseDockError
from core.experiments.parts import Containers
from core.experiments.reading.fields import listing, mapping, one, only, read
from core.experiments.reading.marked import SpecError
from core.experiments.spec import Arm
from core.scheduling.policies import POLICIES
from core.settings_fields import FieldSpec, describe

if TYPE_CHECKING:
    from core.experiments.reading.marked import Path

_MOST_SEEDS = 10_000
_THREADS = next(spec for spec in describe(Containers) if spec.name == "threads")
_WATCH = FieldSpec("watch", "bool", False, "Only watch", "")
_SEED = FieldSpec("seeds", "int", 1, "Seed", "", low=0, high=2**31)
_COUNT = FieldSpec("seeds", "int", 30, "Number of seeds", "", low=1, high=_MOST_SEEDS)


def policies(value: Any) -> tuple[Arm, ...]:
    """The policies of an experiment, in order.

    Raises
    ------
    SpecError
        If one is not known, has invalid settings, or shares its label with another.
    """
    arms: dict[str, Arm] = {}
    for at, each in enumerate(listing(value or [], ("policies",), "policies")):
        arm = _arm({"policy": each} if isinstance(each, str) else each, ("policies", at))
        if arm.label in arms:
            raise SpecError(
                ("policies", at),
                f"There are two policies labelled “{arm.label}”.",
                "Give one of them another “label”.",
            )
        arms[arm.label] = arm
    if not arms:
        raise SpecError(("policies",), "The experiment has no policies.", f"Some are: {', '.join(POLICIES)}.")
    return tuple(arms.values())


def _arm(value: Any, path: Path) -> Arm:
    values = mapping(value, path, "A policy")
    only(values, ("policy", "label", "settings", "threads", "watch"), path, "A policy")
    name = str(values.get("policy", ""))
    if name not in POLICIES:
        where: Path = (*path, "policy") if "policy" in values else path
        raise SpecError(
            where, f"There is no policy called “{name}”.", f"Choose one of: {', '.join(POLICIES)}."
        )
    policy, where = POLICIES[name], (*path, "settings")
    given = mapping(values.get("settings") or {}, where, "settings")
    settings = read(policy.settings, given, where, f"{name}")
    try:
        policy.chosen(settings)
    except PhaseDockError as error:
        raise SpecError(where, error.message, error.hint) from None
    threads = str(values.get("threads") or "")
    if threads:
        one(_THREADS, threads, (*path, "threads"))
    watch = bool(one(_WATCH, values.get("watch", False), (*path, "watch")))
    if watch and not policy.sees_use:
        raise SpecError(
            (*path, "watch"),
            f"{policy.name} decides when jobs run, so it cannot only watch.",
            f"Those that can: {', '.join(name for name in POLICIES if POLICIES[name].sees_use)}.",
        )
    return Arm(str(values.get("label") or name), name, settings, threads, watch)


def baseline(value: Any, arms: tuple[Arm, ...]) -> str:
    """The label of the policy that the others are compared with; the first where none is named.

    Raises
    ------
    SpecError
        If no policy has that label.
    """
    labels = [arm.label for arm in arms]
    if value is None:
        return labels[0]
    if value not in labels:
        raise SpecError(
            ("baseline",), f"No policy is labelled “{value}”.", f"Choose one of: {', '.join(labels)}."
        )
    return str(value)


def seeds(value: Any) -> tuple[int, ...]:
    """Seeds from their number, from ``{count, first}`` or from a list.

    Raises
    ------
    SpecError
        If there are none, too many, or one twice.
    """
    path: Path = ("seeds",)
    if isinstance(value, dict):
        only(value, ("count", "first"), path, "seeds")
        first = one(_SEED, value.get("first", 1), (*path, "first"))
        return tuple(range(first, first + one(_COUNT, value.get("count", 1), (*path, "count"))))
    if not isinstance(value, list):
        return tuple(range(1, 1 + one(_COUNT, value, path)))
    listed = tuple(one(_SEED, each, (*path, at)) for at, each in enumerate(value))
    if not listed or len(set(listed)) < len(listed):
        raise SpecError(path, "There are no seeds, or one of them appears twice.", "List each seed once.")
    return listed
