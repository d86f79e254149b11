"""The sequences of phases: prototypes, what comes next, the graph, the tree and the matrix.

Everything that is clicked lists the executions behind it, and each of those opens on Phases. What is
chosen lives in stores of the page and in its address; the browser keeps the two together.
"""

from __future__ import annotations

from dash import dcc, html

from app.context import chosen
from app.pages.sequences import exports
from app.pages.sequences.behind import behind_drawer
from app.pages.sequences.callbacks import register
from app.pages.sequences.controls import controls
from app.pages.sequences.layout import (
    graph_card,
    lead,
    matrix_card,
    next_card,
    nothing_yet,
    prototypes_card,
    too_short,
    tree_card,
)
from app.pages.sequences.query import View, default_after, state_of, written
from app.ui.basics import Node, page_head
from app.ui.errors import safe_page
from app.ui.nothing_yet import far_notice, misfit
from app.ui.page import Page, Room


@safe_page("Sequences")
def layout(traces: str | None = None, model: str | None = None, **query: str) -> Node:
    """Lay the page out for what the address names."""
    choice = chosen(traces, model)
    pair = choice.pair()
    if pair is None:
        return [page_head("Sequences"), nothing_yet(choice)]
    wrong = misfit(choice, "/sequences")
    if wrong is not None:
        return [page_head("Sequences"), wrong]
    view = View.read(pair[0].id, pair[1].id, query)
    if not view.analysis().sequences.n_runs:
        return [page_head("Sequences"), too_short(choice, view.analysis().sequences.n_executions)]
    after = _after(view, query.get("after"))
    cards = [
        prototypes_card(view, choice),
        next_card(view, after),
        graph_card(view),
        tree_card(view),
        matrix_card(view),
    ]
    return [
        dcc.Store(id="seq-of", data={**choice.query(), **view.depends()}),
        dcc.Store(id="seq-after", data=written(after)),
        dcc.Store(id="seq-pick", data=query.get("pick")),
        dcc.Store(id="seq-nothing"),
        page_head("Sequences", lead(view), controls(view)),
        html.Div(far_notice(*pair), className="far"),
        html.Div(cards, className="sequences"),
        behind_drawer(),
    ]


def _after(view: View, asked: str | None) -> tuple[int, ...]:
    """The phases that an address asks what comes after, if they occur; else the ones seen most often."""
    after, analysis = state_of(asked), view.analysis()
    known = after and set(after) <= set(analysis.sequences.phases)
    return after if known else default_after(analysis, view.memory)


PAGE = Page(
    "/sequences",
    "Sequences",
    "sitemap",
    1,
    layout,
    register,
    routes=(exports.blueprint,),
    outline=(Room((420, 420), "grid cols-main"), Room((340,) * 3, "grid cols-3")),
)
