"""The phases that executions go through: the timeline of one, and what each phase uses over all.

The list of executions, the timeline and the cards are about the trace set and the model that the
address names. Choosing another execution changes the address without reloading the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from app.context import Choice, address, chosen
from app.pages.phases.callbacks import register
from app.pages.phases.cards import spread_card, timeline_card
from app.pages.phases.executions import executions_card, phone_picker
from app.pages.phases.overlay import overlays
from app.ui.basics import Node, link_button, page_head
from app.ui.errors import safe_page
from app.ui.nothing_yet import no_model, no_traces
from app.ui.page import Page
from app.ui.phase_views import execution_names, execution_rows, phase_cards, statistics_table
from core.traces.model import Role

if TYPE_CHECKING:
    from core.runtime.infos import ModelInfo


def _nothing_yet(choice: Choice) -> Node:
    """What to do while there are no traces, or no model that fits them."""
    if choice.traces is None:
        return no_traces("timeline", "Phases are found in traces of containers: CPU and memory over time.")
    return no_model(choice, choice.traces, "stack-2", "No model yet")


@safe_page("Phases")
def layout(
    traces: str | None = None,
    model: str | None = None,
    execution: str | None = None,
    x0: str | None = None,
    x1: str | None = None,
    overlay: str | None = None,
    evaluation: str | None = None,
    **_query: str,
) -> Node:
    """Lay the page out for what the address names."""
    choice = chosen(traces, model)
    pair = choice.pair()
    if pair is None:
        return [page_head("Phases"), _nothing_yet(choice)]
    of = (pair[0].id, pair[1].id)
    names = execution_names(of[0])
    name = execution or names[0]
    limited = any(f.role in (Role.CPU_LIMIT, Role.MEMORY_LIMIT) for f in pair[0].features)
    over = overlays(choice, evaluation)
    right = [
        timeline_card(of, name, _window(x0, x1), over, overlay, limited=limited),
        phase_cards(*of),
        spread_card(of),
        statistics_table(*of),
    ]
    left = executions_card(execution_rows(*of), len(names), name)
    return [
        *_stores(choice, name),
        _head(choice, pair[1]),
        phone_picker(names, name),
        html.Div([left, html.Div(right, className="stack")], className="phases"),
    ]


def _stores(choice: Choice, name: str) -> list[Node]:
    """What is chosen, for the callbacks and the page's script."""
    return [
        dcc.Store(id="choice", data=choice.query()),
        dcc.Store(id="zoom"),
        dcc.Store(id="chosen-execution", data=name),
        dcc.Store(id="nothing"),
    ]


def _head(choice: Choice, model: ModelInfo) -> Node:
    numbered = "numbered as published" if model.origin == "ai4dl" else "ordered by CPU then memory"
    expand = link_button("Expand a phase", address("/models", choice), "hierarchy-2")
    return page_head("Phases", f"{len(model.phases)} phases, {numbered}", [expand])


def _window(x0: str | None, x1: str | None) -> tuple[float, float] | None:
    """The zoom of an address; None for anything that is not a span of time."""
    try:
        start, end = float(x0 or ""), float(x1 or "")
    except ValueError:
        return None
    return (start, end) if end > start >= 0 else None


PAGE = Page(
    "/phases",
    "Phases",
    "timeline",
    1,
    layout,
    register,
    keys=(
        ("↑ ↓", "On Phases: previous or next execution"),
        ("Esc", "On Phases: reset zoom"),
    ),
)
