"""A card per phase: what it is, its share of the time, and what it uses, every quantity in one unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from app.ui.basics import Node, aria, icon, phase_badge
from core.phases.describing.statistics import scale_for
from core.traces.lanes import Lane, default_lanes, lanes
from core.traces.model import Feature, Role
from core.traces.scales import Scale, scale_of
from core.units import MINUS, format_duration, format_number, format_share, phase_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.phases import FeatureStatistics, PhaseStatistics

MOST_IN_A_ROW = 5


def live(statistics: Sequence[PhaseStatistics]) -> list[PhaseStatistics]:
    """The phases without warm-up."""
    return [each for each in statistics if each.phase >= 0]


def usual_lanes(statistics: Sequence[PhaseStatistics]) -> tuple[Lane, ...]:
    """The lanes that are shown of phases whose traces are not at hand."""
    known = statistics[0].features if statistics else ()
    return default_lanes(lanes([Feature(each.name, each.role, each.unit) for each in known]))


def balanced(count: int, most: int = MOST_IN_A_ROW) -> int:
    """How many cards stand in a row, at most `most`, so that the rows are about equally long."""
    rows = -(-count // most)
    return -(-count // max(rows, 1))


def phase_cards(
    statistics: Sequence[PhaseStatistics],
    shown: Sequence[Lane],
    expand: Callable[[int], str] | None = None,
    most: int = MOST_IN_A_ROW,
) -> html.Div:
    """The cards in the order of the phases' numbers."""
    phases = live(statistics)
    growth = _growth_scale(phases)
    cards = [_card(each, phases, shown, growth, expand) for each in phases]
    return html.Div(
        cards,
        className="cards",
        style={"--columns": str(balanced(len(cards), most))},
        tabIndex="0",
        role="region",
        **aria(label="Phases"),
    )


def _card(
    each: PhaseStatistics,
    phases: Sequence[PhaseStatistics],
    shown: Sequence[Lane],
    growth: Scale,
    expand: Callable[[int], str] | None,
) -> html.Div:
    lines: list[tuple[str, ...]] = []
    for lane in shown:
        scale = scale_for(phases, lane.role, lane.unit)
        for name, feature in zip(lane.names, lane.features, strict=True):
            found = each.named(feature.name)
            lines += [(name, *_range(found, scale))] if found is not None and each.samples else []
        if lane.role is Role.MEMORY and each.samples:
            lines.append(("Growth", _signed(each.memory_growth, growth), f"{growth.label}/min".lstrip("/")))
    lines.append(("Median dwell time", *_split(format_duration(each.median_stay))))
    head = [phase_badge(each.phase), html.Span(f"{format_share(each.share)} of time", className="ink3")]
    return html.Div(
        [
            html.Div([*head, _expander(each.phase, expand)], className="row cardhead"),
            html.H3(each.description),
            *(
                html.Div(
                    [html.Span(title), html.Span([html.B(value), " ", *rest], className="num")],
                    className="line",
                )
                for title, value, *rest in lines
            ),
        ],
        className="card phasecard",
        style={"borderTopColor": f"var(--p{each.phase % 8 + 1})"},
    )


def _expander(phase: int, expand: Callable[[int], str] | None) -> Node:
    if expand is None:
        return None
    label = f"Expand {phase_name(phase)}"
    inside = [icon("git-branch", "sm"), html.Span(label, className="sr")]
    return dcc.Link(inside, href=expand(phase), className="iconbtn", title=label)


def _range(feature: FeatureStatistics, scale: Scale) -> tuple[str, str]:
    """A feature's median and its 5th to 95th percentile, in one unit."""
    low, high, median = feature.quantiles[0], feature.quantiles[4], feature.quantiles[2]
    sign = "%" if scale.label == "%" else ""
    unit = "" if sign else scale.label
    top = high / scale.size
    digits = 0 if top >= (10 if sign else 100) else 1 if top >= 1 or sign else 2
    ends = [format_number(end / scale.size, digits) for end in (low, high)]
    return f"{_short(median, scale)}{sign}", f"{'–'.join(ends)}{sign} {unit}".strip()


def _short(value: float, scale: Scale) -> str:
    """Three digits, or whole percent from 10 on."""
    shown = value / scale.size
    if scale.label == "%":
        return format_number(shown, 0 if abs(shown) >= 10 or shown == 0 else 1)
    return format_number(shown, 1 if abs(shown) >= 10 else 2)


def _growth_scale(phases: Sequence[PhaseStatistics]) -> Scale:
    memory = next((each.memory for each in phases if each.memory is not None), None)
    most = max((abs(each.memory_growth) for each in phases), default=0.0)
    return Scale(1.0, "") if memory is None else scale_of(memory.unit, most)


def _signed(value: float, scale: Scale) -> str:
    text = _short(value, scale)
    return text if text.startswith(MINUS) or not value else f"+{text}"


def _split(text: str) -> tuple[str, str]:
    value, _, unit = text.rpartition(" ")
    return value, unit
