"""The table of differences: two policies beside each other in every measure, paired over seeds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dash import html

from app.figures.provisioning import frontier
from app.figures.runs.time_bars import TimeRow, time_bars
from app.pages.runs.stored import NOTHING, change
from app.ui.basics import Node, card, gain_dot, scrolling
from app.ui.export import export_menu
from app.ui.graph import graph
from core.experiments.measures.further import COUNTS, FURTHER_MEASURES, RISING
from core.experiments.measures.queue_measures import queues
from core.units import GIB, format_number, format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from app.pages.runs.stored import Row
    from core.experiments.compare import Difference


STATE_KEYS = {"waiting": "outline", "running": "w1", "paused": "lines"}
"""The states of jobs with the classes of their keys in style sheets (``runs.css``)."""


def state_keys(*states: str) -> list[Node]:
    """The keys of some states."""
    return [html.Span(state, className=f"key box {STATE_KEYS[state]}") for state in states]


def times_card(
    rows: Sequence[tuple[str, Mapping[str, float | None]]], files: Sequence[tuple[str, str]]
) -> Node:
    """The card; None where nobody waits under any of the policies, or nothing is known of that."""
    known = [(title, means) for title, means in rows if means.get("service") is not None]
    if not any(queues(means) for _, means in known):
        return None
    bars = [
        TimeRow(title, *(means.get(name) or 0.0 for name in ("waiting", "service", "paused")))
        for title, means in known
    ]
    states = [name for name in STATE_KEYS if name != "paused" or any(bar.paused for bar in bars)]
    titles = " and ".join(title for title, _ in known)
    return card(
        "Where jobs’ time goes",
        graph("times", time_bars(bars), f"Mean waiting, running and total time of a job under {titles}"),
        note="means of a job, all seeds",
        tools=[*state_keys(*states), export_menu("times", "waiting, service and total time", files)],
    )


BETTER = {"better": "worse", "worse": "better", "open": "open"}
_COUNTS = ("migrations", "failed_jobs", *COUNTS)
_RATIOS = ("worst_slowdown",)
_SHARES = {
    "used": 1,
    "used_seed": 0,
    "controller": 1,
    **{name: 1 for name, each in FURTHER_MEASURES.items() if each.unit == "share" and name != "used"},
}
_RATES = {
    "jobs_per_hour": (1.0, "/ h"),
    "lost": (3600.0, "core-h"),
    "reserved": (3600.0, "core-h"),
    "freed": (1.0, "cores"),
    "freed_memory": (GIB, "GiB"),
}
"""What a measure is divided by, and the unit that it is then in."""
EXCEPT = ", except for shares of jobs or cores, jobs per hour, and what is freed"
"""Completes “lower is better”."""
_SHORT = {
    "mean": "Mean completion",
    "median": "Median completion",
    "p95": "95th percentile completion",
    "t90": "To 90% of loss reduction",
    "t95": "To 95% of loss reduction",
    "t99": "To 99% of loss reduction",
    "worst_slowdown": "Worst slowdown",
    "controller": "PhaseDock’s own CPU",
    **{name: each.label.removesuffix(" per run") for name, each in FURTHER_MEASURES.items()},
}


def kind_of(name: str, value: float, low: float | None, high: float | None) -> str:
    """Whether a measure's difference is ``better``, ``worse`` or ``open``: one written as 0.0% is open."""
    if abs(value) < NOTHING:
        return "open"
    found = frontier.verdict(low, high)
    return found if name in RISING else BETTER[found]


def quantity(name: str, value: float | None) -> str:
    """A measure's value with its unit."""
    if value is None:
        return "–"
    if name in _COUNTS:
        return format_number(value, 0 if value == round(value) else 1)
    if name in _SHARES:
        return format_share(value, _SHARES[name])
    if name in _RATES:
        return f"{format_number(value / _RATES[name][0], 1)} {_RATES[name][1]}"
    return f"{format_number(value)}×" if name in _RATIOS else f"{format_number(value, 1)} s"


def in_words(name: str, made: Difference | None) -> tuple[str, str] | None:
    """A difference and its interval, in the measure's own unit where the baseline has none; None: nothing."""
    if made is None:
        return None
    if made.value is not None:
        return change(made.value), _interval(made.low, made.high, span)
    if not made.seconds:
        return None
    return apart(name, made.seconds), _interval(
        made.seconds_low, made.seconds_high, partial(_apart_span, name)
    )


def _interval(low: float | None, high: float | None, words: Callable[[float, float], str]) -> str:
    return "one seed" if low is None or high is None else words(low, high)


def _apart_span(name: str, low: float, high: float) -> str:
    return f"{apart(name, low)} to {apart(name, high)}"


def said(row: Row) -> str:
    """A difference with its interval in words."""
    if row.value is None:
        return f"{row.label}: not tested"
    words = f"{row.label}: {change(row.value)}"
    if row.low is None or row.high is None:
        return f"{words}, one seed, no interval"
    return f"{words}, 95% interval {span(row.low, row.high)}"


def differences_card(
    rows: Sequence[Row], names: tuple[str, str], seeds: int, tools: Sequence[Node]
) -> html.Section:
    """The card with the table."""
    on = frontier.track((row.value, row.low, row.high) for row in rows if row.value is not None)
    head = html.Tr(
        [
            html.Th(f"{seeds} paired seeds" if seeds != 1 else "1 seed", scope="col"),
            *(html.Th(_short(name), className="num", scope="col", title=name) for name in names),
            html.Th("Difference, 95% interval" if seeds > 1 else "Difference", colSpan=3, scope="colgroup"),
        ]
    )
    table = html.Table(
        [
            html.Caption(f"{names[1]} against {names[0]} in every measure", className="sr"),
            html.Thead(head),
            html.Tbody([_row(row, on) for row in rows]),
        ],
        className="plain differences",
    )
    return card(
        "Differences",
        scrolling(table, "Differences of B from A"),
        note=f"B against A, lower is better{EXCEPT if any(row.name in RISING for row in rows) else ''}",
        tools=tools,
        flush=True,
    )


def _row(row: Row, on: frontier.Track) -> html.Tr:
    cells: list[Node] = [
        html.Th(_SHORT.get(row.name, row.label), scope="row", title=row.label),
        html.Td(quantity(row.name, row.a), className="num"),
        html.Td(quantity(row.name, row.b), className="num strong"),
    ]
    if row.value is None:
        cells += _in_unit(row)
        return html.Tr(cells)
    kind = kind_of(row.name, row.value, row.low, row.high)
    cells += [
        html.Td(_dot(row, on)),
        html.Td(change(row.value), className=f"num strong {'ok' if kind == 'better' else _worse(kind)}"),
        html.Td(
            "one seed" if row.low is None or row.high is None else span(row.low, row.high),
            className="num ink3 span",
        ),
    ]
    return html.Tr(cells)


def _in_unit(row: Row) -> list[html.Td]:
    """A difference in the measure's own unit, where A has none of it; else that it is not tested."""
    if row.apart is None or not row.b:
        return [html.Td("not tested" if row.a != row.b else "the same", colSpan=3, className="ink3")]
    interval = _interval(row.apart_low, row.apart_high, partial(_apart_span, row.name))
    return [
        html.Td("A has none", className="ink3"),
        html.Td(apart(row.name, row.apart), className="num strong"),
        html.Td(interval, className="num ink3 span"),
    ]


def apart(name: str, value: float) -> str:
    """A difference in a measure's own unit, with its sign."""
    return f"{'+' if value > 0 else ''}{quantity(name, value)}"


def _worse(kind: str) -> str:
    return "bad" if kind == "worse" else ""


def _dot(row: Row, on: frontier.Track) -> html.Div:
    """The dot and whisker of one row on the common track."""
    found = frontier.mark(row.value or 0.0, row.low, row.high, on)
    return gain_dot(found, on, kind_of(row.name, row.value or 0.0, row.low, row.high), said(row))


def span(low: float, high: float) -> str:
    """An interval of changes."""
    return f"{change(low).removesuffix('%')} to {change(high)}"


def _short(name: str) -> str:
    return name if len(name) <= 18 else f"{name[:17]}…"
