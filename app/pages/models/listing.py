"""The list of models and the trash, and what the address of the page says."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dash import dcc, html

from app.context import workspace
from app.ui.basics import Node, button, card, data, empty, icon, link_button, notice, phase_badge, state_badge
from app.ui.links import PageState, free_text, whole_number
from app.ui.task_card import when
from core.errors import PhaseDockError
from core.phases import PhaseSettings
from core.settings_fields import describe
from core.units import format_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.ui.links import Query
    from core.workspace.records import ModelInfo

ACTIONS, MORE, LISTED = "model-act", "more-models", "listed-models"
_ENCODERS = {"crbm": "CRBM", "window": "Window", "pca": "PCA"}
_MAX_BADGES = 12
_PAGE = 30
"""The number of models that are listed at once."""


@dataclass(frozen=True, slots=True)
class ModelsAddress(PageState):
    """The choices of the page."""

    #: Which of the page's views is open; the library without one.
    view: str = free_text("")
    traces: str | None = free_text()
    model: str | None = free_text()
    #: The task whose progress or result is shown.
    task: str | None = free_text()
    #: The models to compare, the traces to evaluate on, and the phase to expand by its number on the screen.
    first: str | None = free_text(name="a")
    second: str | None = free_text(name="b")
    evaluate_on: str | None = free_text(name="on")
    expand: int | None = whole_number()
    #: The model that has just gone to the trash.
    trashed: str | None = free_text()
    #: The settings that a form begins with, and the features, or None for the usual ones: those of the task,
    #: then those of the address itself.
    settings: Mapping[str, Any] = field(default_factory=dict)
    features: Sequence[str] | None = None

    @classmethod
    def derive(cls, query: Query) -> dict[str, Any]:
        """What forms begin with."""
        params: Mapping[str, Any] = {}
        if task := query.get("task"):
            with suppress(PhaseDockError):
                params = workspace().tasks.get(task).params
        values = {**(params.get("settings") or {}), **query.values}
        names = [spec.name for spec in describe(PhaseSettings) if spec.name in values]
        return {"settings": {name: values[name] for name in names}, "features": params.get("features")}


def action(label: str, act: str, model_id: str, icon_name: str, kind: str = "") -> html.Button:
    """A button that does something to a model."""
    return button(label, icon_name, kind, **data(act=act, id=model_id, store=ACTIONS))


def format_error(value: float | None) -> str:
    """A reconstruction error with three digits; a dash where there is none."""
    return "–" if value is None else f"{value:#.3g}" if value < 100 else format_number(value)


def encoder_words(info: ModelInfo) -> str:
    """The encoder of a model in words: ``CRBM, 10 hidden, history 3``."""
    parts = [_ENCODERS.get(info.encoder, info.encoder)]
    if info.encoder != "window":
        parts.append(f"{info.hidden} {'hidden' if info.encoder == 'crbm' else 'components'}")
    return ", ".join([*parts, f"history {info.history}"])


def origin_badges(info: ModelInfo) -> list[Node]:
    """Badges of models that were imported or are samples."""
    badges: list[Node] = []
    if info.origin == "ai4dl":
        badges.append(state_badge("AI4DL import", "accent", "file-import"))
    if info.sample:
        badges.append(state_badge("sample", "", "flask"))
    return badges


def phase_badges(info: ModelInfo) -> list[Node]:
    """The model's phases, the first of many."""
    more = len(info.phases) - _MAX_BADGES
    tail = [html.Span(f"and {more} more", className="small ink3")] if more > 0 else []
    names = info.phase_names
    return [*(phase_badge(phase, names.get(phase, "")) for phase in info.phases[:_MAX_BADGES]), *tail]


def _item(info: ModelInfo, query: Query, chosen: str | None, *, fits: bool) -> html.Div:
    error = f"error {format_error(info.final_error)}" if info.final_error is not None else ""
    about = (
        f"Trained on {info.trace_set_name}"
        if info.trace_set_name
        else "Its training traces are not available"
    )
    if not fits:
        about = "Does not fit the chosen traces"
    return html.Div(
        [
            html.Div(
                [
                    dcc.Link(info.name, href=query.only("traces", model=info.id), className="name truncate"),
                    html.Span(when(info.created), className="small ink3 num"),
                ],
                className="row between",
            ),
            html.Div(
                [html.Span(encoder_words(info)), html.Span(error, className="num")],
                className="row between small ink2",
            ),
            html.Div([*phase_badges(info), *origin_badges(info)], className="row wrap badges"),
            html.Span(about, className="small ink3 truncate"),
        ],
        className="modelitem on" if info.id == chosen else "modelitem",
        **data(model=info.id),
    )


def model_list(query: Query, chosen: str, trace_set_id: str | None) -> html.Section:
    """The newest models that are not in the trash, and ways to the others and to the trash."""
    count, trashed = (len(workspace().models.list(trashed=each)) for each in (False, True))
    items, is_whole = list_models(query, chosen, trace_set_id, 0)
    way = dcc.Link(
        [icon("trash", "sm"), f"{trashed} in the trash"],
        href=query.only("traces", view="trash"),
        className="link row",
    )
    more = button(
        f"Show {_PAGE} more", "chevron-down", "small quiet more", id=MORE, n_clicks=0, hidden=is_whole
    )
    tail = [more, *([html.Div(way, className="item small")] if trashed else [])]
    items = [html.Div(items, id=LISTED), *tail]
    return card("Models", html.Div(items, className="modellist"), note=f"{count:,}", flush=True)


def list_models(query: Query, chosen: str, trace_set_id: str | None, clicks: int) -> tuple[list[Node], bool]:
    """The newest models, 30 more with each click, the chosen one among them; and whether these are all."""
    models, listed = workspace().models.list(), _PAGE * (clicks + 1)
    fitting = {info.id for info in workspace().models.compatible(trace_set_id)} if trace_set_id else None
    shown = [info for info in models[listed:] if info.id == chosen] + list(models[:listed])
    return [_item(info, query, chosen, fits=fitting is None or info.id in fitting) for info in shown], len(
        shown
    ) == len(models)


def no_models(query: Query) -> html.Section:
    """The empty state without models."""
    ways: list[Node] = [
        link_button("Train a model", query.only("traces", view="train"), "player-play", "primary"),
        link_button("Import one", query.only("traces", view="import"), "file-import"),
    ]
    if trashed := workspace().models.list(trashed=True):
        ways.append(link_button(f"Trash ({len(trashed)})", query.only("traces", view="trash"), "trash"))
    return card(
        None,
        empty(
            "stack-2",
            "No models yet",
            "A model finds the phases in traces: it encodes windows of samples and groups "
            "similar ones together. Train one on your traces, or import AI4DL's published files.",
            ways,
        ),
    )


def undo_notice(model_id: str | None) -> Node:
    """A notice with an undo button after a model was moved to the trash, or None."""
    info = next((each for each in workspace().models.list(trashed=True) if each.id == model_id), None)
    if info is None:
        return None
    return notice(
        "ok",
        "It stays there until you delete it for good.",
        strong=f"Moved “{info.name}” to the trash",
        actions=[action("Undo", "restore", info.id, "arrow-back-up", "small")],
    )


def trash(query: Query) -> html.Section:
    """The models in the trash: restore them, or delete them for good."""
    models = workspace().models.list(trashed=True)
    if not models:
        back = link_button("Back to models", query.only("traces"), "stack-2")
        return card(
            "Trash",
            empty(
                "trash",
                "The trash is empty",
                "Deleted models stay here until you delete them for good.",
                [back],
            ),
        )
    rows: list[Node] = [
        html.Div(
            [
                html.Div(
                    [
                        html.Div(
                            [html.Span(info.name, className="strong truncate"), *origin_badges(info)],
                            className="row",
                        ),
                        html.Span(
                            [encoder_words(info), f", {len(info.phases)} phases"], className="small ink2"
                        ),
                    ],
                    className="stack tight grow",
                ),
                html.Span(when(info.trashed or info.created), className="small ink3 num"),
                action("Restore", "restore", info.id, "arrow-back-up", "small"),
                action("Delete for good", "ask-delete", info.id, "trash", "small danger"),
            ],
            className="item row wrap",
        )
        for info in models
    ]
    return card("Trash", *rows, note=str(len(models)), flush=True)
