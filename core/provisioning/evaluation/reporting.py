"""Describing an evaluation's basis: the split, the phase model, and what that was trained on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from core.traces.fingerprint import fingerprint
from core.units import format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.phases import PhaseModel
    from core.provisioning.building import Provisioning
    from core.provisioning.evaluation.splitting import Split
    from core.provisioning.fleet import Fleet
    from core.traces.model import TraceSet

_SEEN = (
    "The phase model was trained on these very traces, the held-out containers included: what it calls a "
    "phase is not independent of them. Policies still learn from training containers only."
)


def split_report(found: Provisioning, divided: Split, grouped_by: str) -> dict[str, Any]:
    """Which containers, and which groups, were on which side."""
    fleet = found.fleet
    names = [[fleet.ids[i] for i in part] for part in (divided.training, divided.held_out)]
    groups = [
        list(dict.fromkeys(fleet.groups[i] for i in part)) if grouped_by else []
        for part in (divided.training, divided.held_out)
    ]
    return {
        "by": grouped_by or None,
        "training": names[0],
        "held_out": names[1],
        "training_groups": groups[0],
        "held_out_groups": groups[1],
    }


def trained_on(model: PhaseModel, traces: TraceSet, fleet: Fleet, divided: Split) -> str:
    """What the model had seen: ``held_out``, ``training`` or ``unknown``."""
    if not model.training.fingerprint:
        return "unknown"
    if model.training.fingerprint == fingerprint(traces):
        return "held_out"
    only = traces.only([fleet.ids[i] for i in divided.training])
    return "training" if model.training.fingerprint == fingerprint(only) else "unknown"


def model_report(model: PhaseModel, seen: str) -> dict[str, Any]:
    """The phase model in short."""
    return {
        "phases": list(model.phases),
        "encoder": model.settings.encoder,
        "origin": model.origin,
        "trained_on": seen,
    }


def model_notes(seen: str | None) -> list[str]:
    """What a reader must know about the phase model, in sentences."""
    if seen is None:
        return ["No phase model was given: policies that need phases are left out."]
    match seen:
        case "held_out":
            return [_SEEN]
        case "unknown":
            return ["It is not known whether the phase model was trained on the held-out containers."]
        case _:
            return []


def finite(value: Any) -> Any:
    """Replace NaN and infinities, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def describe_split(report: Mapping[str, Any]) -> str:
    """How the comparison was made, in one sentence."""
    how, settings = report["split"], report["settings"]
    what = f"whole groups of “{how['by']}”" if how["by"] else "containers"
    return (
        f"{len(how['held_out']):,} of {len(how['held_out']) + len(how['training']):,} executions held out "
        f"({what}, seed {settings['seed']}), cycle {format_duration(settings['cycle'])}, "
        f"{format_share(settings['tolerance'], 0)} of the time may fall short."
    )
