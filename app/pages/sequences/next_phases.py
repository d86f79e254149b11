"""What comes after some phases: probabilities, counts, dwell times, and the chance of leaving the last."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import html

from app.context import workspace
from app.figures.sequences import leaving
from app.pages.sequences.query import name_of, named, written
from app.ui.basics import Node, aria, bar, data, icon, notice, opener, phase_badge, state_badge
from app.ui.graph import graph
from core.errors import NotFoundError
from core.sequences import END
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.pages.sequences.query import State, View
    from core.sequences import DwellTimes, PhaseForecast
    from core.workspace.sequences import SequenceAnalysis

WITHIN = (30.0, 60.0, 120.0, 300.0)
_OFFERED = 12


def badge(phase: int) -> Node:
    """A phase's badge, or that of the end."""
    return state_badge("end") if phase == END else phase_badge(phase)


def state_badges(state: Sequence[int]) -> Node:
    """The badges of a state with arrows between them."""
    parts: list[Node] = []
    for place, phase in enumerate(state):
        parts += [html.Span("›", className="ink3")] if place else []
        parts.append(badge(phase))
    return html.Span(parts, className="states")


def after_menu(view: View, after: State) -> Node:
    """The states to ask about, those seen most often first, by their memory."""
    analysis = view.analysis()
    groups: list[Node] = []
    for memory in (1, 2, 3):
        made = analysis.graph(memory)
        full = [number for number, state in enumerate(made.states) if len(state) == memory]
        chosen = sorted(full, key=lambda number: -int(made.visits[number]))[:_OFFERED]
        if not chosen:
            continue
        groups.append(
            html.Div(f"Last {memory} phase{'' if memory == 1 else 's'}", className="ink3 small grouphead")
        )
        groups.append(
            html.Div(
                [
                    html.Button(
                        state_badges(made.states[number]),
                        type="button",
                        className=f"btn quiet small{' on' if made.states[number] == after else ''}",
                        title=f"{named(made.states[number])}: seen {int(made.visits[number]):,} times",
                        **data(after=written(made.states[number])),
                    )
                    for number in chosen
                ],
                className="offers",
            )
        )
    return dmc.Popover(
        [
            dmc.PopoverTarget(
                html.Span([icon("chevron-down", "sm"), " Change"]),
                boxWrapperProps=opener("Change the phases to start from") | {"className": "btn quiet small"},
            ),
            dmc.PopoverDropdown(groups, p=8),
        ],
        position="bottom",
        width=340,
    )


def next_view(view: View, after: State) -> Node:
    """What comes after some phases: probabilities, counts, and when the present one is left."""
    analysis = view.analysis()
    try:
        outlook = analysis.forecaster.forecast(after, view.ahead)
    except NotFoundError as error:
        return [_after_line(view, after, ""), notice("info", error.hint, strong=error.message)]
    descriptions = {
        each.phase: each.description for each in workspace().labels.get(view.traces, view.model).statistics
    }
    descriptions[END] = "The execution ends"
    stays = analysis.dwell_times(outlook.used)
    parts: list[Node] = [
        _after_line(view, after, f"seen {outlook.seen:,} time{'' if outlook.seen == 1 else 's'}")
    ]
    if outlook.used != after:
        parts.append(
            notice(
                "info", f"These are too rarely seen together, so what followed {named(outlook.used)} is used."
            )
        )
    rows = [_next_row(analysis, outlook, place, descriptions) for place in range(len(outlook.phases))]
    parts.append(
        html.Div(rows, className="nextlist", tabIndex="0", role="region", **aria(label="What comes next"))
    )
    return [*parts, *_leave(outlook.used, stays)]


def _after_line(view: View, after: State, seen: str) -> Node:
    return html.Div(
        [
            html.Span("After", className="ink3"),
            state_badges(after),
            after_menu(view, after),
            html.Span(seen, className="ink3 seen"),
        ],
        className="afterline",
    )


def _next_row(analysis: SequenceAnalysis, outlook: PhaseForecast, place: int, texts: dict[int, str]) -> Node:
    each = outlook.phases[place]
    one = outlook.steps == 1
    count = f"{each.count:,} segment{'' if each.count == 1 else 's'}" if one else ""
    typical = (
        "" if each.phase == END else _stay(analysis, (*outlook.used, each.phase) if one else (each.phase,))
    )
    return html.Button(
        [
            badge(each.phase),
            html.Span(
                texts.get(each.phase) or name_of(each.phase),
                className="truncate",
                title=texts.get(each.phase),
            ),
            bar(each.probability, label=f"probability of {name_of(each.phase)}"),
            html.B(f"{each.probability:.2f}", className="num"),
            html.Span(
                [html.Span(count), html.Span(typical, className="small", title="dwell time")],
                className="ink3 num seen",
            ),
        ],
        type="button",
        className="nextrow",
        **data(
            pick=f"edge:{written(outlook.used)}:{written((each.phase,))}"
            if one
            else f"node:{written((each.phase,))}"
        ),
    )


def _stay(analysis: SequenceAnalysis, after: State) -> str:
    stays = analysis.dwell_times(after[-3:])
    return f"median {format_duration(stays.median)}" if stays.n_runs else ""


def _leave(used: State, stays: DwellTimes) -> list[Node]:
    name = name_of(used[-1])
    chances = [(seconds, stays.leave_within(seconds)) for seconds in WITHIN]
    typical = f"; dwell time: median {format_duration(stays.median)}, mean {format_duration(stays.mean)}"
    figure = leaving(stays.times, stays.share_left_by, used[-1])
    return [
        html.Hr(className="rule"),
        html.Div([f"Chance of leaving {name}", html.Span(typical)], className="ink3 small"),
        html.Div(
            [
                html.Div(
                    [
                        html.Span(f"within {seconds:.0f} s", className="ink3 small"),
                        html.B("–" if math.isnan(chance) else f"{chance:.2f}", className="num"),
                    ]
                )
                for seconds, chance in chances
            ],
            className="chances",
        ),
        graph("leaving", figure, f"Chance of having left {name}, by seconds since it began"),
    ]
