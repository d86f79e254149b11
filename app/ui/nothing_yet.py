"""What a page shows while there are no traces yet, no model, or none that suits them, and the ways out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.context import Choice, address, cached, workspace
from app.ui.basics import Node, card, empty, link_button, notice
from core.phases.drift import compare_with_training, drift_warning
from core.units import plural

if TYPE_CHECKING:
    from core.workspace.records import ModelInfo, TraceSetInfo


def no_traces(icon_name: str, text: str) -> Node:
    """Say what the page needs traces for."""
    ways = [
        link_button("Add traces", address("/traces"), "upload", "primary"),
        link_button("Load the samples", address("/"), "player-play"),
    ]
    return card(None, empty(icon_name, "No traces yet", text, ways))


def no_model(choice: Choice, traces: TraceSetInfo, icon_name: str, title: str) -> Node:
    """Say that a model is needed to label the chosen traces."""
    text = (
        f"A model is needed to label the {plural(traces.n_executions, 'execution')} of "
        f"{traces.name}. Training takes well under a minute for most sets."
    )
    return card(None, empty(icon_name, title, text, [train_a_model(choice)]))


def train_a_model(choice: Choice) -> Node:
    """The way to the training form."""
    return link_button("Train a model", address("/models", choice, view="train"), "player-play", "primary")


def train_on_this_set(traces: str, kind: str = "primary") -> Node:
    """The way to a model of some traces' own."""
    href = address("/models", traces=traces, view="train")
    return link_button("Train on this set", href, "player-play", kind)


def misfit(choice: Choice, path: str) -> Node:
    """Why the model is of no use here; None where it fits, or where there is none."""
    pair = choice.pair()
    error = workspace().models.misfit(pair[1].id, pair[0].id) if pair else None
    if pair is None or error is None:
        return None
    return notice(
        "bad",
        error.hint,
        strong=f"{pair[1].name} does not fit {pair[0].name}. {error.message}",
        actions=[
            train_on_this_set(pair[0].id),
            link_button("Continue without it", address(path, traces=pair[0].id), "arrow-right"),
        ],
    )


def far_notice(traces: TraceSetInfo, model: ModelInfo) -> Node:
    """How far the traces are from what the model was trained on; None where they are near."""
    if model.trace_set_id == traces.id:
        return None
    space = workspace()
    loaded = space.models.load(model.id)
    if loaded.training.fingerprint == traces.fingerprint:
        return None
    drift = cached(
        lambda: compare_with_training(loaded, space.traces.load(traces.id)),
        "far",
        traces.fingerprint,
        model.id,
    )
    warning = drift_warning(drift, model.name)
    if warning is None:
        return None
    train_button = train_on_this_set(traces.id, "primary" if drift.is_far else "small")
    return notice("warn" if drift.is_far else "info", warning[1], strong=warning[0], actions=[train_button])
