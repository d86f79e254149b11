"""Empty states of pages: no traces, no model, or a model that does not fit, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.context import Choice, address, cached, workspace
from app.ui.basics import Node, card, empty, link_button, notice
from core.phases.drift import compare_with_training, drift_warning
from core.units import plural

if TYPE_CHECKING:
    from core.workspace.records import ModelInfo, TraceSetInfo


def no_traces(icon_name: str, text: str) -> Node:
    """The empty state of a page that needs traces."""
    ways = [
        link_button("Add traces", address("/traces"), "upload", "primary"),
        link_button("Load the samples", address("/"), "player-play"),
    ]
    return card(None, empty(icon_name, "No traces yet", text, ways))


def no_model(choice: Choice, traces: TraceSetInfo, icon_name: str, title: str) -> Node:
    """The empty state of a page that needs a model for the chosen traces."""
    text = (
        f"A model is needed to label the {plural(traces.n_executions, 'execution')} of "
        f"{traces.name}. Training takes well under a minute for most sets."
    )
    return card(None, empty(icon_name, title, text, [train_a_model(choice)]))


def train_a_model(choice: Choice) -> Node:
    """A button to the training form."""
    return link_button("Train a model", address("/models", choice, view="train"), "player-play", "primary")


def train_on_this_set(traces: str, kind: str = "primary") -> Node:
    """A button that trains a model on this trace set."""
    href = address("/models", traces=traces, view="train")
    return link_button("Train on this set", href, "player-play", kind)


def misfit(choice: Choice, path: str) -> Node:
    """A notice that the model does not fit the traces; None if it does or without a model."""
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


def drift_notice(traces: TraceSetInfo, model: ModelInfo) -> Node:
    """A notice that the traces have drifted from the training data; None if they have not."""
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
