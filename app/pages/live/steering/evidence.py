"""What an attached policy that steers by samples has freed, or would have: sums, course, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.figures.freed import freed_figure
from app.pages.live.state import does
from app.ui.basics import button, notice
from app.ui.graph import graph
from core.sampling.values import Mode
from core.units import format_bytes, format_cores, format_duration, format_list, format_number, format_share

if TYPE_CHECKING:
    from app.ui.basics import Node
    from core.sampling.values import Attached
    from core.scheduling.policies.autopilot.evidence import ContainerEvidence, Evidence

_LISTED = 4
_RATE_AFTER = 60.0
"""Seconds after which it is said how often limits change in an hour."""


def evidence(attached: Attached) -> list[Node]:
    """The part of the policy's card that says what it is worth; nothing where that is not known."""
    found = attached.evidence
    if found is None:
        return []
    if not found.containers:
        return [html.P("Waiting for the first samples.", className="small ink3")]
    memory = bool(attached.settings.get("memory"))
    done = attached.mode is Mode.CONTROL
    parts: list[Node] = [_figures(found, memory=memory, done=done)]
    if len(attached.course) > 1:
        parts.append(graph("live-freed", freed_figure(attached.course), "Cores freed over time"))
    parts.append(_drivers(found, memory=memory))
    if found.unfamiliar:
        text = f"{format_list(found.unfamiliar)}: the model knows nothing like it, so a reactive rule steers."
        ways = [button("Train the model further", "stack-2", "small", **does("teach"))]
        parts.append(notice("warn", text, strong="Unfamiliar.", actions=ways))
    if found.left:
        text = f"{format_list(found.left)}: the original limits are back, and nothing more is steered there."
        parts.append(notice("warn", text, strong="Out of memory."))
    return [html.Section(parts, className="evidence stack close")]


def worth(attached: Attached | None) -> str:
    """What watching has shown so far, in a sentence; empty where nothing has been watched."""
    found = None if attached is None else attached.evidence
    if found is None or found.seconds <= 0:
        return ""
    freed, kept = format_number(found.freed_cores), format_number(found.kept_cores)
    words = (
        f"In the last {format_duration(found.lasted)} it would have freed {freed} of {kept} cores on "
        f"average, and containers would have been short for {format_share(found.short_share)} of the time."
    )
    return f"{words} {found.worst.name} would have been short most often." if found.worst else words


def _figures(found: Evidence, *, memory: bool, done: bool) -> html.Dl:
    figures = [
        (
            "Cores freed" if done else "Cores it would free",
            format_number(found.freed_cores_now),
            f"mean {format_number(found.freed_cores)} of {format_number(found.kept_cores)}",
        ),
        (
            "Time short",
            format_share(found.short_share),
            f"over {format_duration(found.lasted)}",
        ),
        _rate(found),
    ]
    if memory:
        freed = (
            "Memory freed" if done else "Memory it would free",
            format_bytes(found.freed_bytes_now),
            f"mean {format_bytes(found.freed_bytes)} of {format_bytes(found.kept_bytes)}",
        )
        figures.insert(1, freed)
    return html.Dl(
        [
            html.Div([html.Dt(name), html.Dd(value, className="num"), html.Dd(note, className="small ink3")])
            for name, value, note in figures
        ],
        className="evidence-figures",
    )


def _rate(found: Evidence) -> tuple[str, str, str]:
    """How often limits are changed; of a few seconds nothing can be said of an hour."""
    if found.lasted < _RATE_AFTER:
        return "Resizes per hour", "–", "known after a minute"
    note = "per container" + (f", {found.violations:,} too low" if found.violations else "")
    return "Resizes per hour", format_number(found.resizes_per_hour), note


def _drivers(found: Evidence, *, memory: bool) -> html.Div:
    """The containers that are short, then those that free most."""
    short = [each for each in found.containers if each.short_share > 0]
    others = [each for each in found.containers if not each.short_share]
    shown = [*short, *sorted(others, key=lambda each: -each.freed_cores)][:_LISTED]
    rows = [
        html.Tr([html.Td(each.name, className="truncate"), *_cells(each, memory=memory)]) for each in shown
    ]
    heads = ["Container", "Freed", *(["Memory"] if memory else []), "Short"]
    return html.Div(
        html.Table(
            [
                html.Thead(html.Tr([html.Th(each, scope="col") for each in heads])),
                html.Tbody(rows),
            ],
            className="evidence-table",
        )
    )


def _cells(each: ContainerEvidence, *, memory: bool) -> list[html.Td]:
    bytes_ = [html.Td(format_bytes(each.freed_bytes), className="num")] if memory else []
    return [
        html.Td(format_cores(each.freed_cores), className="num"),
        *bytes_,
        html.Td(format_share(each.short_share), className="num"),
    ]
