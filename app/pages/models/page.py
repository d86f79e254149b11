"""Phase models: train, choose k, search settings, import, export, compare, expand, evaluate.

The address says which of these is open and about which traces and model, so every view can be sent to
a colleague and found again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
from dash import Input, Output, State, dcc, html

from app.context import LOCATION, Choice, find_choice, workspace
from app.pages.models import choose, dialogs, evaluate, expand, importing, train
from app.pages.models import compare as model_compare
from app.pages.models import detail as model_detail
from app.pages.models import listing as model_list
from app.pages.models import search as model_search
from app.pages.models.listing import ModelsAddress
from app.ui import task_card
from app.ui.basics import Node, aria, empty, link_button, page_head
from app.ui.links import Query
from app.ui.page import Page, Room, safe_page
from core.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dash import Dash

    from core.workspace.records import ModelInfo

VIEWS = {
    "": "Models",
    "train": "Train",
    "choose": "Choose k",
    "search": "Search settings",
    "compare": "Compare",
    "import": "Import",
}


def _tabs(address: ModelsAddress) -> html.Nav:
    links = [
        dcc.Link(
            label,
            href=address.query.only("traces", "model", view=key or None),
            className="on" if key == address.view else "",
        )
        for key, label in VIEWS.items()
    ]
    return html.Nav(links, className="tabs", **aria(label="Views of models"))


def _shown_model(requested: str | None, fallback: ModelInfo | None) -> ModelInfo | None:
    """The model in the address, else the one that the top bar shows, else the newest."""
    models = workspace().models.list()
    if requested and all(info.id != requested for info in models):
        raise NotFoundError(
            "The model in this address does not exist, or is in the trash.", "Choose another one."
        )
    model_id = requested or (fallback and fallback.id)
    return next((info for info in models if info.id == model_id), next(iter(models), None))


def _library(address: ModelsAddress, choice: Choice) -> list[Node]:
    query, trace_set_id = address.query, choice.traces.id if choice.traces else None
    model = _shown_model(address.model, choice.model)
    undo = model_list.undo_notice(address.trashed)
    notes = [undo] if undo is not None else []
    if model is None:
        return [*notes, model_list.no_models(query)]
    loaded = workspace().models.load(model.id)
    detail = [
        model_detail.head(model, loaded, address.traces),
        model_detail.cards(loaded),
        evaluate.evaluation(model, address.evaluate_on, trace_set_id),
        expand.expansion(model, loaded, trace_set_id, address.expand),
        html.Div(
            [
                html.Div([model_detail.loss(loaded), model_detail.features(loaded)], className="stack"),
                model_detail.settings(loaded),
            ],
            className="grid cols-2 top",
        ),
    ]
    listing = model_list.model_list(query, model.id, trace_set_id)
    return [
        *notes,
        html.Div([listing, html.Div(detail, className="stack")], className="grid models-main"),
    ]


def render(address: ModelsAddress) -> list[Node]:
    """The page below its head, for an address."""
    choice, view = find_choice(address.traces), address.view
    traces, shown_above = choice.traces, address.model or (choice.model.id if choice.model else None)
    views: dict[str, Callable[[], list[Node]]] = {
        "": lambda: _library(address, choice),
        "train": lambda: train.view(address, traces),
        "choose": lambda: choose.view(address, traces),
        "search": lambda: model_search.view(address.task, traces),
        "compare": lambda: model_compare.view(address, traces, shown_above),
        "import": lambda: importing.view(workspace().models.list()),
        "trash": lambda: [model_list.trash(address.query)],
    }
    return views[view]() if view in views else _nothing(address.query, view)


def _nothing(query: Query, view: str) -> list[Node]:
    back = link_button("Back to models", query.only("traces"), "stack-2")
    return [empty("help-circle", "No such view", f"“{view}” cannot be done with models.", [back])]


def _lead() -> str:
    count = len(workspace().models.list())
    return "find the phases in traces" if not count else f"{count} model{'s' if count != 1 else ''}"


@safe_page("Models")
def layout(**values: str) -> Node:
    """Lay the page out."""
    address = ModelsAddress.read(Query("/models", values))
    training = address.query.only("traces", view="train")
    start = link_button("Train a model", training, "player-play", "primary")
    actions = [start] if address.view in ("", "trash") and workspace().models.list() else []
    return [
        page_head("Models", _lead(), actions),
        _tabs(address),
        html.Div(render(address), id="models-body", className="stack"),
        *dialogs.dialogs(),
        *task_card.plumbing(),
    ]


def register(app: Dash) -> None:
    """Connect the callbacks."""
    for part in (
        dialogs,
        train,
        choose,
        model_search,
        model_compare,
        importing,
        expand,
        evaluate,
    ):
        part.register(app)

    @app.callback(
        Output("models-body", "children"),
        Input("models-stale", "data"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )
    def redraw(stale: str | None, search: str | None) -> Any:
        return render(ModelsAddress.read(Query.parse("/models", search))) if stale else dash.no_update

    @app.callback(
        Output(model_list.LISTED, "children"),
        Output(model_list.MORE, "hidden"),
        Input(model_list.MORE, "n_clicks"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )
    def show_more(clicks: int, search: str | None) -> tuple[list[Node], bool]:
        address = ModelsAddress.read(Query.parse("/models", search))
        choice = find_choice(address.traces)
        model, traces = _shown_model(address.model, choice.model), choice.traces
        return model_list.list_models(
            address.query, model.id if model else "", traces.id if traces else None, clicks
        )


PAGE = Page(
    "/models",
    "Models",
    "stack-2",
    1,
    layout,
    register,
    count=lambda: len(workspace().models.list()),
    findable=lambda: [
        ("Train a model", "action", {"view": "train"}),
        ("Import a model", "action", {"view": "import"}),
        ("Compare models", "action", {"view": "compare"}),
    ],
    outline=(Room((560, 560), "grid models-main"),),
)
