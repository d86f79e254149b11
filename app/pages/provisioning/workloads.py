"""The first screen of Provisioning: four tiles, and one table of workloads whose rows open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import html

from app.pages.provisioning.opened import opened
from app.ui.basics import Node, aria, card, icon, kpi, scrolling, state_badge
from app.ui.evaluations import saved_tile
from app.ui.links import link
from app.ui.tables import download
from core.provisioning.fleet import Resource
from core.provisioning.verdict.savings import LEAST_MONEY, money
from core.provisioning.verdict.table import AT_LEAST, RULES, Evidence
from core.provisioning.verdict.verdict import mean_over
from core.units import (
    DASH,
    GIB,
    Unit,
    format_number,
    format_set_share,
    format_share,
    plural,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from app.context import Choice
    from app.pages.provisioning.results import View
    from app.ui.evaluations import Result
    from core.provisioning.verdict.table import Amount, WorkloadRow
    from core.provisioning.verdict.verdict import Verdict


PAGE_ROWS = 50
_DOTS = {Evidence.NONE: 0, Evidence.FAIR: 1, Evidence.GOOD: 2, Evidence.STRONG: 3}
_UNITS = {Unit.CORES: ("cores", 1.0), Unit.BYTES: ("GiB", GIB)}
ARROW = "→"


def tiles(verdict: Verdict, rows: Sequence[WorkloadRow], report: Mapping[str, Any], view: View) -> html.Div:
    """The saving per day, what is requested of both resources, and the time short."""
    boxes: list[Node] = [saved_tile(verdict, report, view.prices)]
    boxes += [_amount_tile(verdict, rows, resource) for resource in (Resource.CPU, Resource.MEMORY)]
    boxes.append(_short_tile(verdict, rows, float(report["settings"]["tolerance"])))
    return html.Div([each for each in boxes if each is not None], className="grid cols-4 tiles")


def _amount_tile(verdict: Verdict, rows: Sequence[WorkloadRow], resource: Resource) -> html.Div | None:
    lines = [(card.line(resource), row) for card, row in zip(verdict.cards, rows, strict=True)]
    pairs = [(line, row) for line, row in lines if line is not None and line.recommended is not None]
    if not pairs:
        return None
    now = sum(line.cost.amount for line, _ in pairs)
    then = now - sum(
        line.recommended.saved.amount
        for line, row in pairs
        if line.recommended is not None and row.evidence is not Evidence.NONE
    )
    title = f"{'CPU' if resource is Resource.CPU else 'Memory'} requested"
    unit, scale = _UNITS.get(pairs[0][0].unit, ("of a machine", 1.0))
    recorded = all(line.with_limit == line.of for line, _ in pairs)
    sub = "on average over the recording" if recorded else "now: observed peak where no request is recorded"
    if resource is Resource.MEMORY:
        kept = sum(row.memory is not None and row.memory.keeps for _, row in pairs)
        tested = sum(row.killed is not None for _, row in pairs)
        sub = f"{plural(kept, 'workload')} keep their limit" if kept else "no held-out run would be killed"
        sub = sub if kept or tested else "not tested"
    return kpi(title, [_plain(now / scale), f" {ARROW} ", _plain(then / scale)], unit, sub)


def _short_tile(verdict: Verdict, rows: Sequence[WorkloadRow], tolerance: float) -> html.Div | None:
    tested = [
        (card, line.recommended)
        for card, row in zip(verdict.cards, rows, strict=True)
        if row.time_short is not None and (line := card.line(Resource.CPU)) is not None and line.recommended
    ]
    allowed = f"of {format_set_share(tolerance)} allowed"
    if not tested:
        return kpi("Time short of CPU", DASH, allowed, "nothing was tested")
    runs = sum(card.held_out for card, _ in tested)
    each = [float(option.evidence["under_time_0"]) for _, option in tested]
    spread = f"{format_share(min(each))} to {format_share(max(each))} by workload, " if len(each) > 1 else ""
    short = format_share(mean_over(tested, "under_time_0"))
    return kpi("Time short of CPU", short, allowed, f"{spread}{plural(runs, 'held-out run')}")


def _plain(value: float) -> str:
    return format_number(value, 0 if value >= 100 else 1 if value >= 10 else 2)


_ORDERS: dict[str, Callable[[WorkloadRow], Any]] = {
    "workload": lambda row: row.name,
    "runs": lambda row: -row.runs,
    "short": lambda row: -1.0 if row.time_short is None else -row.time_short,
    "evidence": lambda row: -_DOTS[row.evidence],
}
"""The orders of the table other than by saving, which is the verdict's own."""


def workloads_card(
    verdict: Verdict, rows: Sequence[WorkloadRow], result: Result, view: View, choice: Choice, csv: str
) -> html.Section:
    """The card with the table, a filter, and pages of `PAGE_ROWS` rows."""
    tolerance = float(result.report["settings"]["tolerance"])
    found = [row for row in rows if view.find.casefold() in f"{row.name}\n{row.place}".casefold()]
    if view.order in _ORDERS:
        found.sort(key=_ORDERS[view.order])
    first = min(view.start, max(len(found) - 1, 0)) // PAGE_ROWS * PAGE_ROWS
    shown = found[first : first + PAGE_ROWS]
    most = {name: _most(rows, name) for name in ("cpu", "memory")}
    body: list[Node] = []
    for row in shown:
        is_open = view.open == _key(row)
        body.append(_row(row, most, tolerance, view, is_open=is_open))
        if is_open:
            workload = next(each for each in verdict.cards if each.name == row.name)
            body.append(
                html.Tr(
                    html.Td(opened(workload, row, result, view, choice), colSpan=8),
                    className="opened",
                )
            )
    table = html.Table(
        [
            html.Caption("Workloads: now, recommended, risk and saving", className="sr"),
            html.Thead(html.Tr(_heads(rows, view))),
            html.Tbody(body),
        ],
        className="plain workloads",
    )
    tools = [_filter(view), download("workloads", csv)] if len(rows) > 1 else [download("workloads", csv)]
    note = "bar: recommended · tick: now"
    return card(
        "Workloads",
        scrolling(table, "Workloads"),
        _pages(len(found), first, view),
        note=note,
        tools=tools,
        flush=True,
    )


def _key(row: WorkloadRow) -> str:
    return row.name or "*"


def _filter(view: View) -> dmc.TextInput:
    return dmc.TextInput(
        id="workloads-find", value=view.find, placeholder="Filter by name, namespace",
        size="xs", debounce=300, **aria(label="Filter workloads by name"),
    )  # fmt: skip


def _pages(count: int, first: int, view: View) -> Node:
    """The number of rows, and links to the pages before and after."""
    if not count:
        return html.P("No workload has this in its name.", className="small ink2 pages")
    if count <= PAGE_ROWS:
        return None
    end = min(first + PAGE_ROWS, count)
    before = (
        link("Previous", view.query(start=first - PAGE_ROWS or None), className="link") if first else None
    )
    after = link("Next", view.query(start=end), className="link") if end < count else None
    return html.Nav(
        [html.Span(f"{first + 1:,} to {end:,} of {count:,}", className="ink3 small"), before, after],
        className="row pages",
        **aria(label="Pages of workloads"),
    )


def _heads(rows: Sequence[WorkloadRow], view: View) -> list[html.Th]:
    heads = [
        ("Workload", "workload", ""),
        ("Runs", "runs", "num"),
        (_with_unit("CPU", [row.cpu for row in rows]), "", ""),
        (_with_unit("Memory", [row.memory for row in rows]), "", ""),
        ("Time short", "short", "num"),
        ("Out of memory", "", ""),
        ("Saves per day", "saved", "num"),
        ("Evidence", "evidence", ""),
    ]
    return [_head(title, by, class_name, view) for title, by, class_name in heads]


def _head(title: str, by: str, class_name: str, view: View) -> html.Th:
    if not by:
        return html.Th(title, scope="col", className=class_name)
    chosen = by == (view.order if view.order in _ORDERS else "saved")
    target = view.query(order=None if by == "saved" else by, start=None)
    label: Node = [title, icon("chevron-down", "sm")] if chosen else title
    state = aria(sort="ascending" if by == "workload" else "descending") if chosen else {}
    sorter = link(label, target, className="sorter", title=f"Sort by {title.lower()}")
    return html.Th(sorter, scope="col", className=class_name, **state)


def _with_unit(title: str, amounts: Sequence[Amount | None]) -> str:
    unit = next((each.unit for each in amounts if each is not None), None)
    name = _UNITS.get(unit, ("", 1.0))[0] if unit is not None else ""
    return f"{title}, {name}" if name else title


def _most(rows: Sequence[WorkloadRow], name: str) -> float:
    """The amount of a full bar."""
    amounts = [each for row in rows if (each := getattr(row, name)) is not None]
    return max((value for each in amounts for value in (each.now, each.recommended)), default=1.0) or 1.0


def _row(
    row: WorkloadRow, most: Mapping[str, float], tolerance: float, view: View, *, is_open: bool
) -> html.Tr:
    key = _key(row)
    name = link(
        [icon("chevron-right", "sm"), html.Span(row.name or "All containers", className="truncate")],
        view.query(open=None if is_open else key),
        className="opens",
        title=row.name,
        **aria(expanded=str(is_open).lower()),
    )
    cells: list[Node] = [
        html.Th([name, html.Div(row.place, className="place") if row.place else None], scope="row"),
        html.Td(_runs(row), className="num"),
        html.Td(_amount(row.cpu, most["cpu"], "CPU")),
        html.Td(_amount(row.memory, most["memory"], "Memory")),
        html.Td(_time_short(row, tolerance), className="num"),
        html.Td(_out_of_memory(row)),
        html.Td(_saves(row, view), className="num strong"),
        html.Td(_evidence(row)),
    ]
    return html.Tr(cells, className="open" if is_open else "")


def _amount(amount: Amount | None, most: float, name: str) -> Node:
    """The bar of what is recommended with a tick at what there is now, and both numbers."""
    if amount is None:
        return html.Span(DASH, className="ink3", title=f"{name} was not recorded.")
    scale = _UNITS.get(amount.unit, ("", 1.0))[1]
    now, then = (_plain(value / scale) for value in (amount.now, amount.recommended))
    ends: list[Node] = [now, html.Span(" keep", className="ink3")]
    if not amount.keeps:
        ends = [now, f" {ARROW} ", html.B(f"{AT_LEAST if amount.at_least else ''}{then}")]
    source = (
        "recorded request or limit" if amount.is_recorded else "observed peak, no request is recorded for all"
    )
    track = html.Span(
        [
            html.I(style={"width": f"{0 if amount.keeps else 100 * amount.recommended / most:.1f}%"}),
            html.Em(style={"left": f"{100 * amount.now / most:.1f}%"}),
        ],
        className="track",
        **aria(hidden="true"),
    )
    return html.Div([track, html.Span(ends, className="num")], className="nowthen", title=f"Now: {source}")


def _runs(row: WorkloadRow) -> list[Node]:
    """How many runs there are, and how many of them were killed while they were recorded."""
    killed = html.Div(
        f"{row.kills_seen:,} killed", className="small bad", title="for lack of memory, as recorded"
    )
    return [f"{row.runs:,}", killed if row.kills_seen else None]


def _time_short(row: WorkloadRow, tolerance: float) -> html.Span:
    if row.time_short is None:
        return html.Span(DASH, className="ink3")
    title = "fewer than 8 held-out runs: no interval"
    if row.short_interval is not None:
        low, high = (format_share(each) for each in row.short_interval)
        title = f"95% interval {low} to {high}"
    class_name = "warn" if row.time_short > tolerance else ""
    return html.Span(format_share(row.time_short), title=title, className=class_name)


def _out_of_memory(row: WorkloadRow) -> Node:
    word = row.out_of_memory
    if word is None or row.evidence is Evidence.NONE:
        return html.Span(DASH, className="ink3")
    return state_badge(word, "bad") if row.killed else html.Span(word, className="ink2")


def _saves(row: WorkloadRow, view: View) -> Node:
    if row.saved is None:
        return html.Span(DASH, className="ink3")
    text = money(row.saved, view.prices)
    return html.Span(
        text, className="ok" if row.saved > LEAST_MONEY else "bad" if row.saved < -LEAST_MONEY else ""
    )


def _evidence(row: WorkloadRow) -> html.Span:
    filled = _DOTS[row.evidence]
    dots = html.Span("●" * filled + "○" * (3 - filled), className="dots", **aria(hidden="true"))
    word = row.evidence.value
    if row.evidence is Evidence.NONE:
        word = f"none: record {row.missing:,} more" if row.missing else "none: not tested"
    return html.Span([dots, " ", word], title=RULES[row.evidence], className="evidence")
