"""A run's queue, beside its ledger: who waits at a tick and why, the lives of all jobs, and their cores.

The line at the tick is the first shape of the graphs ``queue`` and ``cores-…``; the browser moves it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dash import html

from app.figures.runs import lives
from app.figures.runs import rows as run_rows
from app.figures.runs.steps import edges
from app.pages.runs import stored
from app.pages.runs.compare.charts import ENDS, few, pager
from app.pages.runs.compare.differences import state_keys
from app.ui.basics import Node, card, scrolling
from app.ui.export import export_menu
from app.ui.graph import graph
from core.scheduling.actions import Pause, Refuse, Resume, Start, Stop
from core.scheduling.model import JobState
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.pages.runs.query import View
    from core.scheduling.loop import Entry
    from core.scheduling.model import Job

_PER_COLUMN = 6
_KEYS = (("used", ""), ("given", "alloc"), ("threads", "dots"))
_MOST_WAITING = 50


@dataclass(frozen=True, slots=True)
class Why:
    """Why a job waits: the sentence, the rule behind it, and when it was said; seconds of the run's clock."""

    text: str
    rule: str
    said: float


def whys(series: Mapping[str, Any] | None, number: int) -> dict[str, tuple[Why, float | None]]:
    """The last reason of each job up to a tick, and how many waited behind it then, or None."""
    found: dict[str, tuple[Why, float | None]] = {}
    for each in (series or {}).get("waits", ()):
        if each["number"] > number:
            break
        said = float((series or {})["time"][each["number"]])
        found.pop(each["job"], None)
        found[each["job"]] = Why(each["text"], each["rule"], said), each["behind"]
    return found


def waiting(entry: Entry) -> list[Job]:
    """Jobs that wait or are paused after a tick's decision, in order of submission."""
    gone = {action.job for action in entry.actions if isinstance(action, Start | Resume | Refuse | Stop)}
    halted = {action.job for action in entry.actions if isinstance(action, Pause)}
    idle = (JobState.WAITING, JobState.PAUSED)
    return [
        job
        for job in entry.observation.jobs
        if (job.state in idle or job.id in halted) and job.id not in gone
    ]


def waiting_card(entry: Entry, series: Mapping[str, Any] | None, job: str | None) -> Node:
    """Who waits after this tick, for how long and why; None where nobody does."""
    every = waiting(entry)
    shown = [each for each in every if job in (None, each.id)]
    if not shown:
        return None
    said = whys(series, entry.observation.number)
    own = {reason.job: reason for reason in entry.reasons}
    for each in shown:
        if (reason := own.get(each.id)) is not None:
            said[each.id] = Why(reason.text, reason.rule, entry.observation.time), None
    front = _front(said, every)
    rows = [_row(each, entry.observation.time, said, front) for each in shown[:_MOST_WAITING]]
    head = html.Tr(
        [
            html.Th(title, scope="col", className="num" if title == "Asks for" else "")
            for title in ("Job", "Waits", "Asks for", "Why")
        ]
    )
    table = html.Table(
        [html.Caption("Jobs that wait", className="sr"), html.Thead(head), html.Tbody(rows)],
        className="plain ticks queue",
    )
    paused = sum(each.state is not JobState.WAITING for each in every)
    note = f"{len(every) - paused:,} waiting" + (f", {paused:,} paused" if paused else "")
    return card(
        "Waiting after this tick", scrolling(table, "Jobs that wait", "scroll"), note=note, flush=True
    )


def _front(said: Mapping[str, tuple[Why, float | None]], every: Sequence[Job]) -> str | None:
    """The job that holds up all others, by what was last said."""
    still = {each.id for each in every}
    told = [(why.said, name) for name, (why, behind) in said.items() if behind is not None and name in still]
    return max(told)[1] if told else None


def _row(job: Job, now: float, said: Mapping[str, tuple[Why, float | None]], front: str | None) -> html.Tr:
    paused = job.state is not JobState.WAITING
    came = html.Div(
        f"{'came at' if paused else 'since'} {format_duration(job.arrived)}", className="ink3 because"
    )
    waits: list[Node] = ["paused" if paused else format_duration(now - job.arrived), came]
    known = said.get(job.id)
    if known is not None:
        why = known[0]
        ago = "" if why.said >= now else f", said at {format_duration(why.said)}"
        reason: Node = [html.Div(why.text), html.Div(f"{why.rule}{ago}", className="ink3 because")]
    else:
        text = f"Behind {front}." if front not in (None, job.id) else "The policy has not said why."
        reason = html.Span(text, className="ink2")
    return html.Tr(
        [
            html.Th(job.id, scope="row"),
            html.Td(waits),
            html.Td("–" if job.request is None else f"{job.request:g} cores", className="num"),
            html.Td(reason, className="why"),
        ]
    )


def run_cards(run: str, time: float, view: View) -> list[Node]:
    """The cards of a whole run, with a line at the tick: its queue where somebody waits, and its cores."""
    series = stored.recent_series(run)
    if series is None or not series["jobs"]:
        return []
    end = float(edges(series)[-1]) * 1.04 or 1.0
    made = [queue_card(series, end, time, run)] if lives.queues(series) else []
    return [*made, _cores_card(series, time, run, view)]


def queue_card(series: Mapping[str, Any], end: float, time: float | None, run: str) -> html.Section:
    """How many jobs wait over time, and the life of each."""
    jobs = list(series["jobs"])
    states = ["waiting", "running"]
    if any(span.state == "paused" for span in lives.spans(series)):
        states.append("paused")
    cut = f", the first {lives.MOST_ROWS} of {len(jobs):,}" if len(jobs) > lives.MOST_ROWS else ""
    keys = state_keys(*states)
    if any("due" in lines for lines in series["jobs"].values()):
        keys.append(html.Span("deadline", className="key until"))
    if any("ends" in lines for lines in series["jobs"].values()):
        keys.append(html.Span("expected end at the tick", className="key expected"))
    return card(
        "Queue",
        graph(
            "queue", lives.lives(series, jobs, end, time), "Jobs waiting over time, and the life of each job"
        ),
        note=f"a row is a job, by arrival{cut}; {ENDS}",
        tools=[*keys, _files("queue", "queue", run)],
        class_name="queuechart",
    )


def _cores_card(series: Mapping[str, Any], time: float, run: str, view: View) -> html.Section:
    """Cores given and used, and threads, of a few jobs over the time in which they are there."""
    chosen, jobs, view = _chosen(series, time, view)
    rows = run_rows.core_rows(series, chosen)
    top = run_rows.highest(rows)
    start, end = _window(series, chosen)
    columns = [column for column in (rows[:_PER_COLUMN], rows[_PER_COLUMN:]) if column]
    charts = [
        graph(
            f"cores-{at}",
            run_rows.cpu_rows(series, column, end, top, time, start),
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


def _chosen(series: Mapping[str, Any], time: float, view: View) -> tuple[list[str], list[str], View]:
    """The jobs that are drawn and those that they are among; without a page, those that run at the tick."""
    jobs = [str(view.job)] if view.job in series["jobs"] else list(series["jobs"])
    if view.query.get("page") is None:
        running = {span.job for span in lives.spans(series) if span.start <= time <= span.end}
        first = next((at for at, job in enumerate(jobs) if job in running), 0)
        view = replace(view, page=first // (2 * _PER_COLUMN))
    return few(jobs, view, 2 * _PER_COLUMN)[0], jobs, view


def _window(series: Mapping[str, Any], jobs: Sequence[str]) -> tuple[float, float]:
    """From the first sight of these jobs to the last of their ends, with some room."""
    found = lives.spans(series, jobs)
    if not found:
        return 0.0, float(edges(series)[-1]) or 1.0
    start, end = min(span.start for span in found), max(span.end for span in found)
    room = 0.03 * (end - start)
    return max(start - room, 0.0), end + room


def _files(name: str | Sequence[tuple[str, str]], title: str, run: str) -> Node:
    return export_menu(name, title, [("Lines over time, CSV", f"/api/runs/{run}/lines.csv")])
