"""What phases use, over all executions: boxes of every quantity, shares of time, and a table of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.figures.spread import Box, frequencies, spread
from app.ui.basics import Node, card, phase_badge, plain_table
from app.ui.phases.cards import live
from core.phases.describing.statistics import scale_for
from core.units import format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from core.phases import PhaseStatistics
    from core.traces.lanes import Lane

BEFORE_A_WINDOW = "Before the first full window"
"""What warm-up is."""
PHASE_HEAD = (
    ("Phase", False),
    ("Description", False),
    ("Samples", True),
    ("Share of time", True),
    ("Segments", True),
    ("Median dwell time", True),
)


def spread_figures(
    statistics: Sequence[PhaseStatistics], shown: Sequence[Lane]
) -> list[tuple[str, str, go.Figure]]:
    """Boxes of each quantity per phase, and the phases' shares of time, each with its title and a label."""
    phases = [each for each in live(statistics) if each.samples]
    figures = []
    for lane in shown:
        scale = scale_for(statistics, lane.role, lane.unit)
        for name, feature in zip(lane.names, lane.features, strict=True):
            found = [(each.phase, each.named(feature.name)) for each in phases]
            boxes = [Box(phase, one.quantiles, one.mean) for phase, one in found if one is not None]
            figures.append((name, f"Spread of {name} in each phase", spread(name, boxes, scale)))
    counts = [(each.phase, each.samples, each.share) for each in live(statistics)]
    label = "Share of time and number of samples of each phase"
    return [*figures, ("Share of time", label, frequencies(counts))]


def statistics_table(
    statistics: Sequence[PhaseStatistics], shown: Sequence[Lane], csv: str, note: str
) -> html.Section:
    """Every phase's statistics in a table, warm-up included; `csv` is the address of all of them."""
    head = [*PHASE_HEAD]
    for lane in shown:
        for name in lane.names:
            head += [(f"{name} mean", True), ("sd", True), ("5th", True), ("median", True), ("95th", True)]
    rows = [_row(each, statistics, shown) for each in statistics]
    return card(
        "Statistics",
        plain_table(head, rows, "Statistics per phase"),
        note=note,
        tools=[
            html.A(
                [html.Span(className="icon i-download"), html.Span("CSV")],
                href=csv,
                className="btn small",
                download="",
            )
        ],
        flush=True,
    )


def _row(
    each: PhaseStatistics, statistics: Sequence[PhaseStatistics], shown: Sequence[Lane]
) -> Sequence[Node]:
    row: list[Node] = [phase_badge(each.phase), html.Div(described(each), className="description")]
    row += phase_numbers(each)
    for lane in shown:
        scale = scale_for(statistics, lane.role, lane.unit)
        for feature in lane.features:
            found = each.named(feature.name)
            if found is None or not each.samples:
                row += ["–"] * 5
                continue
            low, _q1, median, _q3, high = found.quantiles
            row += [scale.with_unit(value) for value in (found.mean, found.sd, low, median, high)]
    return row


def described(each: PhaseStatistics) -> str:
    """What a phase is, in words."""
    return each.description if each.phase >= 0 else BEFORE_A_WINDOW


def phase_numbers(each: PhaseStatistics) -> tuple[str, str, str, str]:
    """Samples, share of time, segments and median dwell time of a phase, as tables have them."""
    return (
        f"{each.samples:,}",
        format_share(each.share),
        f"{each.runs:,}",
        format_duration(each.median_stay),
    )
