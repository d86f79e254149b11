"""Compare two models on one trace set: their agreement, and a cross table of their phases."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import dash
import numpy as np
from dash import Dash, Input, Output, State, html

from app.context import LOCATION, workspace
from app.figures.models import cross_table
from app.pages.models.listing import ModelsAddress, encoder_words, format_error
from app.ui.basics import Node, card, empty, kpi, link_button, notice, phase_badge
from app.ui.forms import select
from app.ui.graph import graph
from app.ui.links import Query
from app.ui.tables import export_menu, html_table
from core.errors import PhaseDockError
from core.tables import Column, Table
from core.units import format_share, phase_name, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import dash_mantine_components as dmc

    from core.phases import PhaseStatistics
    from core.traces.model import IntArray
    from core.workspace.records import ModelInfo, TraceSetInfo


def crossed(first: IntArray, second: IntArray, rows: Sequence[int], columns: Sequence[int]) -> IntArray:
    """The number of samples with each pair of labels."""
    low_a, low_b = int(min(rows)), int(min(columns))
    width = int(max(columns)) - low_b + 1
    code = (first.astype(np.int64) - low_a) * width + (second.astype(np.int64) - low_b)
    table = np.bincount(code, minlength=(int(max(rows)) - low_a + 1) * width).reshape(-1, width)
    counts: IntArray = table[np.array(rows) - low_a][:, np.array(columns) - low_b]
    return counts


def adjusted_rand(counts: IntArray) -> float:
    """The adjusted Rand index of a cross table: 1 for equal partitions, about 0 for unrelated ones.

    Hubert and Arabie (1985), from pairs of samples that are together in both, in either, or in neither.
    """
    cells = counts.astype(np.float64)

    def pairs(values: Any) -> float:
        return float((values * (values - 1) / 2).sum())

    together, rows, columns = pairs(cells), pairs(cells.sum(axis=1)), pairs(cells.sum(axis=0))
    n = cells.sum()
    expected = rows * columns / max(n * (n - 1) / 2, 1.0)
    maximum = (rows + columns) / 2
    return 1.0 if maximum == expected else (together - expected) / (maximum - expected)


def agreement_words(index: float) -> str:
    """An adjusted Rand index in words."""
    steps = ((0.9, "nearly the same phases"), (0.65, "substantial agreement"), (0.3, "partial agreement"))
    return next((words for limit, words in steps if index >= limit), "different phases")


def _pick(component_id: str, label: str, models: Sequence[ModelInfo], value: str | None) -> dmc.Select:
    options = [(info.id, info.name) for info in models]
    return select(component_id, options, value, label=label, className="field")


def view(address: ModelsAddress, traces: TraceSetInfo | None, chosen: str | None) -> list[Node]:
    """Two models to choose, and their comparison on the chosen trace set."""
    models = workspace().models.compatible(traces.id) if traces else []
    if traces is None or len(models) < 2:
        query = address.query
        ways = [
            link_button("Train a model", query.only("traces", view="train"), "player-play", "primary"),
            link_button("Import one", query.only("traces", view="import"), "file-import"),
        ]
        text = "A comparison needs two models that fit the chosen traces. Train or import another one."
        return [card("Compare", empty("git-compare", "Nothing to compare yet", text, ways))]
    ids = [info.id for info in models]
    first = next((i for i in (address.first, chosen) if i in ids), ids[0])
    second = next((i for i in (address.second, *ids) if i in ids and i != first), ids[0])
    picks = html.Div(
        [_pick("compare-a", "Model A", models, first), _pick("compare-b", "Model B", models, second)],
        className="formgrid wide",
    )
    head = card("Compare two models", picks, note=["on ", traces.name])
    try:
        cards = comparison(traces, workspace().models.get(first), workspace().models.get(second))
    except PhaseDockError as error:
        cards = [notice("warn", error.hint, strong=error.message)]
    return [head, *cards]


def comparison(traces: TraceSetInfo, a: ModelInfo, b: ModelInfo) -> list[Node]:
    """Agreement, cross table, shares and errors of two models."""
    first, second = (workspace().labels.get(traces.id, info.id) for info in (a, b))
    rows, columns = ([each.phase for each in labelling.statistics] for labelling in (first, second))
    counts = crossed(first.labels, second.labels, rows, columns)
    names = (a.phase_names, b.phase_names)
    figure = cross_table(counts, rows, columns, (f"A, {a.name}", f"B, {b.name}"), names)
    cross = card(
        "Where the phases agree",
        graph("compare-cross", figure, "Samples per pair of phases"),
        note=f"{plural(traces.n_samples, 'sample')} of {plural(traces.n_executions, 'execution')}",
        tools=[export_menu("compare-cross", f"{a.name} against {b.name}", ())],
    )
    shares = card(
        "Shares side by side",
        _shares(first.statistics, second.statistics, (a.phase_names, b.phase_names)),
        note="share of time",
        flush=True,
    )
    return [
        _key_figures(adjusted_rand(counts), a, b),
        html.Div([cross, shares], className="grid cols-2 top"),
    ]


def _key_figures(index: float, a: ModelInfo, b: ModelInfo) -> html.Div:
    errors = [
        kpi(f"Error of {side}", format_error(info.final_error), "at the end of training", encoder_words(info))
        for side, info in (("A", a), ("B", b))
    ]
    agreement = kpi("Agreement", f"{index:.2f}", "adjusted Rand index", agreement_words(index))
    return html.Div([agreement, *errors], className="grid cols-3")


_SHARES = (
    Column("a", "A", value=lambda pair: "" if pair[0] is None else phase_name(pair[0].phase)),
    Column("a_share", "Share", format_share, lambda pair: pair[0] and pair[0].share, missing=""),
    Column("b", "B", value=lambda pair: "" if pair[1] is None else phase_name(pair[1].phase)),
    Column("b_share", "Share", format_share, lambda pair: pair[1] and pair[1].share, missing=""),
)


def _shares(
    first: Sequence[PhaseStatistics],
    second: Sequence[PhaseStatistics],
    names: tuple[Mapping[int, str], Mapping[int, str]],
) -> Node:
    def cell(each: PhaseStatistics | None, names: Mapping[int, str]) -> Node:
        if each is None:
            return ""
        described = html.Span(each.description or "", className="small ink2")
        return html.Span([phase_badge(each.phase, names.get(each.phase, "")), described], className="row")

    table = Table("shares", _SHARES, [list(pair) for pair in zip_longest(first, second)])
    cells = {"a": lambda pair: cell(pair[0], names[0]), "b": lambda pair: cell(pair[1], names[1])}
    return html_table(table, "Shares of time of the phases", cells=cells)


def register(app: Dash) -> None:
    """Put the chosen models into the address."""

    @app.callback(
        Output(LOCATION, "search", allow_duplicate=True),
        Input("compare-a", "value"),
        Input("compare-b", "value"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )
    def choose(a: str | None, b: str | None, search: str | None) -> Any:
        address = ModelsAddress.read(Query.parse("", search))
        if address.view != "compare" or (address.first, address.second) == (a, b):
            return dash.no_update
        return address.query(a=a, b=b)
