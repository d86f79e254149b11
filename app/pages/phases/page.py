"""The phases that executions go through: the timeline of one, and what each phase uses over all.

The list of executions, the timeline and the cards are about the trace set and the model that the
address names. Choosing another execution changes the address without reloading the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from app.context import Choice, address, chosen
from app.pages.phases.callbacks import register
from app.pages.phases.cards import details, timeline_card
from app.pages.phases.controls import dwell_picker
from app.pages.phases.executions import executions_card, phone_picker
from app.pages.phases.exports import blueprint
from app.pages.phases.overlay import overlays
from app.pages.phases.view import View, window_of, written_keys
from app.ui.basics import Node, link_button, page_head
from app.ui.errors import safe_page
from app.ui.nothing_yet import far_notice, misfit, no_model, no_traces
from app.ui.page import Page, Room
from app.ui.phases.cards import live
from app.ui.phases.views import execution_names, execution_rows
from core.units import phase_number

if TYPE_CHECKING:
    from core.workspace.records import ModelInfo


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
    **query: str,
) -> Node:
    """Lay the page out for what the address names."""
    choice = chosen(traces, model)
    pair = choice.pair()
    if pair is None:
        return [page_head("Phases"), _nothing_yet(choice)]
    wrong = misfit(choice, "/phases")
    if wrong is not None:
        return [page_head("Phases"), wrong]
    view = View.read(pair[0].id, pair[1].id, query.get("lanes"), query.get("dwell"))
    names = execution_names(view.traces)
    name = execution or names[0]
    over = overlays(choice, evaluation)
    right = [
        timeline_card(view, name, window_of(x0, x1), over, overlay),
        html.Div(details(view), id="phase-details", className="stack"),
    ]
    left = executions_card(execution_rows(view.traces, view.model, view.dwell), len(names), name)
    return [
        *_stores(choice, view, name),
        _head(choice, pair[1], view),
        html.Div(far_notice(*pair), className="far"),
        phone_picker(names, name),
        html.Div([left, html.Div(right, className="stack")], className="phases"),
    ]


def _stores(choice: Choice, view: View, name: str) -> list[Node]:
    """What is chosen, for the callbacks and the page's script."""
    return [
        dcc.Store(id="choice", data=choice.query()),
        dcc.Store(id="zoom"),
        dcc.Store(id="shown", data={"lanes": written_keys(view.lanes), "dwell": f"{view.dwell:g}"}),
        dcc.Store(id="chosen-execution", data=name),
        dcc.Store(id="nothing"),
    ]


def _head(choice: Choice, model: ModelInfo, view: View) -> Node:
    numbered = "numbered as published" if model.origin == "ai4dl" else "ordered by CPU then memory"
    longest = max(live(view.labelling().statistics), key=lambda each: each.share, default=None)
    phase = longest.phase if longest is not None else view.labelling().phases[0]
    href = address("/models", choice, expand=phase_number(phase))
    expand = link_button("Expand a phase", href, "hierarchy-2")
    lead = f"{len(model.phases)} phases, {numbered}"
    return page_head("Phases", lead, [dwell_picker(view), expand])


PAGE = Page(
    "/phases",
    "Phases",
    "timeline",
    1,
    layout,
    register,
    routes=(blueprint,),
    keys=(
        ("↑ ↓", "On Phases: previous or next execution"),
        ("+ −", "On Phases: zoom in or out"),
        ("← →", "On Phases: earlier or later, where zoomed"),
        ("Esc", "On Phases: reset zoom"),
    ),
    outline=(Room((620, 620), "phases"),),
)
