"""The cards at the right: the timeline of the chosen execution, and the spread of each phase over all."""

from __future__ import annotations

from dash import dcc, html

from app.pages.phases.execution import execution_heading, execution_timeline
from app.pages.phases.overlay import Overlays, picker, sentence
from app.ui.basics import Node, button, card
from app.ui.export import export_menu
from app.ui.graph import graph
from app.ui.phase_views import spread_figures


def timeline_card(
    of: tuple[str, str],
    name: str,
    window: tuple[float, float] | None,
    over: Overlays | None,
    policy: str | None,
    *,
    limited: bool,
) -> Node:
    """The timeline of an execution.

    Parameters
    ----------
    of, name
        The ids of the trace set and of the model; the execution.
    window
        The seconds to show, or None for all.
    over, policy
        The comparison whose allocations may be drawn, and the policy whose allocation is; None for none.
    limited
        Whether limits were recorded.
    """
    evaluation, heading = over.evaluation if over else "", execution_heading(of[0], name)
    figure = execution_timeline(*of, name, window, (evaluation, policy or ""))
    keys = _keys(given=over is not None, limited=limited)
    return card(
        html.Span(heading.title, id="execution-title"),
        graph("timeline", figure, f"CPU and memory of {name} over time, with its phases"),
        html.Div(keys, className="keys only-phone"),
        html.P(sentence(evaluation, policy, name), id="overlay-note", className="small ink3", role="status"),
        dcc.Store(id="overlay-from", data=evaluation),
        dcc.Store(id="overlay-chosen", data={"policy": policy or "", "window": None}),
        note=html.Span(heading.note, id="execution-note", className="small"),
        tools=[
            html.Div(keys, className="keys only-desktop"),
            picker(over, policy) if over else None,
            *_tools(of),
        ],
        class_name="timeline",
    )


def _keys(*, given: bool, limited: bool) -> list[Node]:
    """What the lines are."""
    return [
        html.Span("Used", className="key"),
        html.Span("Allocation", className="key alloc") if given else None,
        html.Span("Limit", className="key limit") if limited else None,
    ]


def _tools(of: tuple[str, str]) -> list[Node]:
    title = "Reset zoom (Esc)"
    phases = ("Phases of every sample, CSV", f"/api/traces/{of[0]}/phases/{of[1]}.csv")
    return [
        button("Reset zoom", "zoom-reset", "small quiet", id="zoom-out", title=title),
        export_menu("timeline", "timeline", [phases]),
    ]


def spread_card(of: tuple[str, str]) -> Node:
    """What each phase uses of each resource; `of` are the ids of the trace set and of the model."""
    figures, note = spread_figures(*of)
    shorts = [label.removeprefix("Spread of ").partition(" ")[0] for label, _ in figures]
    return card(
        "Spread by phase",
        html.Div(
            [graph(f"spread-{position}", figure, label) for position, (label, figure) in enumerate(figures)],
            className="spread",
        ),
        note=note,
        tools=[
            export_menu(
                [(f"spread-{position}", short) for position, short in enumerate(shorts)],
                "spread by phase",
                [("Statistics of every feature, CSV", f"/api/traces/{of[0]}/statistics/{of[1]}.csv")],
            )
        ],
    )
