"""The warning that a model was trained on other data than it is shown on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.cache import cached
from app.context import workspace
from app.ui.basics import Node, notice
from app.ui.nothing_yet import train_on_this_set
from core.phases.familiarity import Familiarity, familiarity
from core.units import format_duration, format_number, format_share

if TYPE_CHECKING:
    from core.runtime.infos import ModelInfo, TraceSetInfo

_NAMED = 3


def far_notice(traces: TraceSetInfo, model: ModelInfo) -> Node:
    """How far the traces are from what the model was trained on; None where they are near."""
    if model.trace_set_id == traces.id:
        return None
    space = workspace()
    loaded = space.models.load(model.id)
    if loaded.training.fingerprint == traces.fingerprint:
        return None
    found = cached(
        lambda: familiarity(loaded, space.traces.load(traces.id)), "far", traces.fingerprint, model.id
    )
    if not found.far and found.known:
        return None
    way = train_on_this_set(traces.id, "primary" if found.far else "small")
    if found.far:
        strong = f"{model.name} was trained on other data."
        return notice("warn", sentences(found), strong=strong, actions=[way])
    return notice(
        "info",
        "The model was stored without the range of its training data: check that its phases make sense here.",
        strong=f"How far these traces are from what {model.name} was trained on is not known.",
        actions=[way],
    )


def sentences(found: Familiarity) -> str:
    """What is different, in numbers."""
    said = []
    if found.other_period and found.period_ratio is not None:
        ratio = found.period_ratio
        times = f"{format_number(max(ratio, 1 / ratio), 1)} times as {'rarely' if ratio > 1 else 'often'}"
        said.append(
            f"These traces are sampled every {format_duration(found.period)}, its training was every "
            f"{format_duration(found.trained_period)} ({times})."
        )
    for each in found.strange[:_NAMED]:
        above, below = format_share(each.above), format_share(each.below)
        said.append(
            f"{each.name}: {above} of samples are above the 99th percentile of the training, {below} below "
            "the 1st (1% each is usual)."
        )
    if len(found.strange) > _NAMED:
        said.append(f"So are {len(found.strange) - _NAMED} more features.")
    if not found.known:
        said.append(
            "How far their values are from its training is not known: it was stored without their range."
        )
    return " ".join([*said, "What it calls phases here may mean little."])
