"""Stepping through a ledger: jobs, lists, limits and reasons at each tick.

Next to the tick are the queue of the whole run and the cores of its jobs. The line at the tick is the first
shape of the graphs ``queue`` and ``cores-…``; the browser moves it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
import orjson
from dash import ALL, ClientsideFunction, Input, Output, State, dcc, html

from app.context import workspace
from app.figures.runs import cpu, timelines
from app.figures.runs.series import edges, queues, spans
from app.pages.runs import stored
from app.pages.runs.completion import state_keys
from app.pages.runs.over_time import ENDS, page_of, pager
from app.pages.runs.query import PATH
from app.pages.runs.selection import select
from app.pages.runs.tick import tick_body
from app.ui.attached_runs import state_words
from app.ui.basics import Node, aria, card, data, empty, icon_button, link_button, page_head
from app.ui.graph import figure_id, graph
from app.ui.links import link
from app.ui.tables import export_menu

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash import Dash

    from app.pages.runs.query import View
    from app.pages.runs.stored import Side
    from core.runs.values import ExperimentInfo, RunInfo
    from core.workspace.ledgers import Tick

_MAX_SIDES = 5
_FIGURES: dict[str, Any] = {**figure_id(""), "name": ALL}


def ledger_page(info: ExperimentInfo, view: View) -> list[Node]:
    """The page of a ledger."""
    selection = select(info, view)
    with_runs = [each for each in selection.sides if each.runs]
    side = next((each for each in with_runs if each.key == view.of), selection.base)
    back = link_button(
        "Back to the comparison",
        view.query(look=None, of=None, tick=None, job=None, page=None),
        "chevron-left",
    )
    offered_sides = with_runs if len(with_runs) <= _MAX_SIDES else selection.drawn
    options = {each.key: each.title for each in offered_sides} | {side.key: side.title}
    run = side.runs.get(view.seed if view.seed is not None else min(side.runs, default=0))
    ticks = workspace().runs.ledgers.ticks(run) if run else []
    head = page_head(info.name, f"ledger of {side.title}", [_sides(view, options, side), back])
    if run is None or not ticks:
        text = "Ledgers are saved for the first seed only, unless another choice was made."
        return [head, card(None, empty("list-check", "No ledger was saved for this run", text, [back]))]
    return [head, *_steps(view, side.title, run, ticks)]


def run_page(info: RunInfo, view: View) -> list[Node]:
    """The page of the ledger of an attached policy, whose run belongs to no experiment."""
    back = link_button("Back to runs", PATH, "chevron-left")
    head = page_head(info.name, f"decisions on running containers, {state_words(info.state)[0]}", [back])
    ticks = workspace().runs.ledgers.ticks(info.id)
    if not ticks:
        text = "The policy has no container yet."
        return [head, card(None, empty("list-check", "No decisions yet", text, [back]))]
    return [head, *_steps(view, info.name, info.id, ticks)]


def _sides(view: View, options: dict[str, str], side: Side) -> html.Nav:
    links = [
        link(
            label,
            view.query(of=key, tick=None, job=None),
            className="on" if key == side.key else "",
            **(aria(current="true") if key == side.key else {}),
        )
        for key, label in options.items()
    ]
    return html.Nav(links, className="seg", **aria(label="Policy"))


def _steps(view: View, label: str, run: str, ticks: Sequence[Tick]) -> list[Node]:
    tick = min(view.tick, len(ticks) - 1)
    keys = html.Span(["or the keys ", html.Kbd("←"), " ", html.Kbd("→")], className="ink3 small only-desktop")
    return [
        card("Tick", _tick_bar(view, label, run, ticks), tools=[keys], class_name="tickcard"),
        dcc.Store(id="tick-run", data=run),
        html.Div(tick_body(run, tick, view.job), id="tick-body", className="stack spaced-top"),
        html.Div(run_cards(run, ticks[tick].time, view), className="stack spaced-top"),
        dcc.Store(id="tick-times", data=[each.time for each in ticks]),
    ]


def _tick_bar(view: View, label: str, run: str, ticks: Sequence[Tick]) -> html.Div:
    """The slider with step buttons, the next decision, and the choice of a job."""
    busy = [each.number for each in ticks if each.actions or each.failures]
    last = len(ticks) - 1
    return html.Div(
        [
            icon_button("chevron-left", "Previous tick", **data(step=-1)),
            _slider(min(view.tick, last), last, label),
            icon_button("chevron-right", "Next tick", **data(step=1)),
            html.Button("Next decision", type="button", className="btn small", **data(step="decision")),
            _job_choice(run, view.job),
        ],
        className="tickbar",
        **data(busy=orjson.dumps(busy).decode(), last=last, run=run),
    )


def _slider(tick: int, last: int, label: str) -> dmc.Slider:
    return dmc.Slider(
        id="tick",
        min=0,
        max=max(last, 1),
        step=1,
        value=tick,
        label=None,
        thumbLabel=f"Tick of the ledger of {label}",
        className="grow",
        size="sm",
    )


def _job_choice(run: str, job: str | None) -> dmc.Select:
    jobs = list((stored.recent_series(run) or {"jobs": {}})["jobs"])
    return dmc.Select(
        id="tick-job",
        data=jobs,
        value=job if job in jobs else None,
        placeholder="All jobs",
        limit=100,
        clearable=True,
        searchable=True,
        size="xs",
        clearButtonProps=aria(label="All jobs"),
        **aria(label="Only this job"),
    )


# The whole run: its queue where jobs wait, and its cores.

_PER_COLUMN = 6
_KEYS = (("used", ""), ("given", "alloc"), ("threads", "dots"))


def run_cards(run: str, time: float, view: View) -> list[Node]:
    """The cards of a whole run with a line at the tick: its queue if jobs wait, and its cores."""
    series = stored.recent_series(run)
    if series is None or not series["jobs"]:
        return []
    end = float(edges(series)[-1]) * 1.04 or 1.0
    cards = [_queue_card(series, end, time, run)] if queues(series) else []
    return [*cards, _cores_card(series, time, run, view)]


def _queue_card(series: Mapping[str, Any], end: float, time: float | None, run: str) -> html.Section:
    """The number of waiting jobs over time, and the states of each job."""
    jobs = list(series["jobs"])
    states = ["waiting", "running"]
    if any(span.state == "paused" for span in spans(series)):
        states.append("paused")
    cut = f", the first {timelines.MAX_ROWS} of {len(jobs):,}" if len(jobs) > timelines.MAX_ROWS else ""
    keys = state_keys(*states)
    if any("due" in lines for lines in series["jobs"].values()):
        keys.append(html.Span("deadline", className="key until"))
    if any("ends" in lines for lines in series["jobs"].values()):
        keys.append(html.Span("expected end at the tick", className="key expected"))
    return card(
        "Queue",
        graph(
            "queue",
            timelines.job_states(series, jobs, end, time),
            "Jobs waiting over time, and the life of each job",
        ),
        note=f"a row is a job, by arrival{cut}; {ENDS}",
        tools=[*keys, _files("queue", "queue", run)],
        class_name="queuechart",
    )


def _cores_card(series: Mapping[str, Any], time: float, run: str, view: View) -> html.Section:
    """Allocated and used cores, and threads, of a few jobs over their lifetime."""
    chosen, jobs, view = _choose_jobs(series, time, view)
    rows = cpu.core_rows(series, chosen)
    top = cpu.highest(rows)
    start, end = _window(series, chosen)
    columns = [column for column in (rows[:_PER_COLUMN], rows[_PER_COLUMN:]) if column]
    charts = [
        graph(
            f"cores-{at}",
            cpu.cpu_rows(series, column, end, top, time, start),
            f"Cores and threads over time of {', '.join(row.name for row in column)}",
        )
        for at, column in enumerate(columns)
    ]
    follow = any(row.threads is not None for row in rows)
    keys = _KEYS if follow else (("used", ""), ("limit", "limit"))
    return card(
        "Cores and threads per job" if follow else "Cores per job",
        html.Div(charts, className="grid cols-2" if len(charts) > 1 else "grid"),
        tools=[
            *(html.Span(word, className=f"key {kind}".strip()) for word, kind in keys),
            html.Span(pager(jobs, view, 2 * _PER_COLUMN), className="samemoment"),
            _files([(f"cores-{at}", column[0].name) for at, column in enumerate(columns)], "cores", run),
        ],
        class_name="corescard",
    )


def _choose_jobs(series: Mapping[str, Any], time: float, view: View) -> tuple[list[str], list[str], View]:
    """The jobs to draw, those to choose from, and the view; by default those running at the tick."""
    jobs = [str(view.job)] if view.job in series["jobs"] else list(series["jobs"])
    if view.query.get("page") is None:
        running = {span.job for span in spans(series) if span.start <= time <= span.end}
        first = next((at for at, job in enumerate(jobs) if job in running), 0)
        view = replace(view, page=first // (2 * _PER_COLUMN))
    return page_of(jobs, view, 2 * _PER_COLUMN)[0], jobs, view


def _window(series: Mapping[str, Any], jobs: Sequence[str]) -> tuple[float, float]:
    """The time from the arrival of these jobs to the last end, with a margin."""
    job_spans = spans(series, jobs)
    if not job_spans:
        return 0.0, float(edges(series)[-1]) or 1.0
    start, end = min(span.start for span in job_spans), max(span.end for span in job_spans)
    room = 0.03 * (end - start)
    return max(start - room, 0.0), end + room


def _files(name: str | Sequence[tuple[str, str]], title: str, run: str) -> Node:
    return export_menu(name, title, [("Lines over time, CSV", f"/api/runs/{run}/lines.csv")])


def register(app: Dash) -> None:
    """Connect the slider, the keys and the filter."""

    @app.callback(
        Output("tick-body", "children"),
        Input("tick", "value"),
        Input("tick-job", "value"),
        State("tick-run", "data"),
        prevent_initial_call=True,
    )
    def show(tick: int, job: str | None, run: str) -> Node:
        return tick_body(run, int(tick or 0), job or None)

    app.clientside_callback(
        ClientsideFunction("runs", "address"),
        Output("tick-run", "id"),
        Input("tick", "value"),
        Input("tick-job", "value"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("runs", "line"),
        Output(_FIGURES, "data", allow_duplicate=True),
        Input("tick", "value"),
        State("tick-times", "data"),
        State(_FIGURES, "data"),
        State(_FIGURES, "id"),
        prevent_initial_call=True,
    )
