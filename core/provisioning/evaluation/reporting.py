"""Describing an evaluation's basis: the split, the phase model, and what that was trained on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from core.traces.model import fingerprint
from core.units import format_duration, format_set_share

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
ITSELF = "With a single container it would be judged on what it learned from."
_ALONE = (
    "There is only one container, so none can be held out. What is shown is a replay on that container: what "
    "rules that learn nothing would have given it. It describes the past of one container and promises "
    "nothing for others."
)


def only_itself(*, tested: bool) -> list[str]:
    """What a reader must know where the only container is both learned from and judged on."""
    return [] if tested else [_ALONE]


def recorded(fleet: Fleet, by: str | None) -> dict[str, Any]:
    """How long, and on which clock, the containers were recorded; what tells workloads apart.

    ``span_s`` lasts from the first sample of any container to the end of the last one;
    ``same_start`` says that all begin at one time, as where a file has times but no dates.
    """
    begins, ends = fleet.time[fleet.offsets[:-1]], fleet.time[fleet.offsets[1:] - 1]
    return {
        "by": by,
        "span_s": float(ends.max() - begins.min()) + fleet.period,
        "same_start": bool(np.ptp(begins) <= fleet.period),
        "containers": fleet.n_containers,
        "container_seconds": float(fleet.seconds.sum()),
    }


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
        "tested": divided.tested,
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
    if not how.get("tested", True):
        return (
            f"1 execution, so none is held out: policies are replayed on itself, "
            f"cycle {format_duration(settings['cycle'])}."
        )
    what = f"whole groups of “{how['by']}”" if how["by"] else "containers"
    return (
        f"{len(how['held_out']):,} of {len(how['held_out']) + len(how['training']):,} executions held out "
        f"({what}, seed {settings['seed']}), cycle {format_duration(settings['cycle'])}, "
        f"{format_set_share(settings['tolerance'])} of the time may fall short."
    )
