"""The cards of one tick of a ledger: jobs, those that wait, the decision, one job's changes, workers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dash import html

from app.context import workspace
from app.figures.runs.cpu import job_moment
from app.pages.runs import stored
from app.ui.basics import Node, card, data, icon, list_badge, with_symbol
from app.ui.graph import graph
from app.ui.tables import html_table
from core.scheduling.actions import (
    Migrate,
    Pause,
    Refuse,
    Resume,
    SetLimit,
    SetMemory,
    SetThreads,
    Start,
    Stop,
    list_word,
)
from core.scheduling.model import JobState
from core.tables import Column, Table
from core.units import (
    format_bytes,
    format_cores,
    format_count,
    format_duration,
    format_number,
    plural,
    with_phase_names,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.actions import Action, Reason
    from core.scheduling.loop import Entry
    from core.scheduling.model import Job, Worker

TRIGGERS = {
    "tick": "its interval has passed",
    "arrival": "a job arrived",
    "departure": "a job ended",
    "outcome": "an action has ended or failed",
}
_PLAIN: dict[type, str] = {
    Refuse: "is refused",
    Pause: "is paused",
    Resume: "resumes",
    Stop: "is stopped",
}
_CHANGES = ("label", "worker", "limit", "state")


@dataclass(frozen=True, slots=True)
class Line:
    """A job at one tick."""

    #: The job in the observation.
    job: Job
    #: Its label and G after this tick.
    label: str
    growth: float | None
    #: Cores used since the observation before, or None.
    used: float | None
    #: The limit after this tick, and `before` it.
    limit: float | None
    #: The limit in the observation.
    before: float | None
    #: The last printed value, or None.
    loss: float | None
    #: The actions on it, and their reasons.
    actions: tuple[Action, ...] = field(default=())
    reasons: tuple[Reason, ...] = field(default=())

    @property
    def decided(self) -> bool:
        """Whether an action changed the job."""
        return bool(self.actions)


def lines(entry: Entry, series: Mapping[str, Any] | None) -> list[Line]:
    """The jobs at a tick in order of submission, ended ones last."""
    marks = {mark.job: mark for mark in entry.marks}
    job_lines = []
    for job in (*entry.observation.jobs, *entry.observation.ended):
        actions = tuple(action for action in entry.actions if action.job == job.id)
        limits = [action.limit for action in actions if isinstance(action, SetLimit | Start)]
        mark = marks.get(job.id)
        job_lines.append(
            Line(
                job=job,
                label=mark.label if mark else "",
                growth=mark.growth if mark else None,
                used=_used(series, job.id, entry.observation.number),
                limit=limits[-1] if limits else job.limit,
                before=job.limit,
                loss=_at(series, job.id, "loss", entry.observation.number),
                actions=actions,
                reasons=tuple(reason for reason in entry.reasons if reason.job == job.id),
            )
        )
    return job_lines


def _used(series: Mapping[str, Any] | None, job: str, number: int) -> float | None:
    first = (series or {}).get("jobs", {}).get(job, {}).get("first")
    return None if number == first else _at(series, job, "cpu", number)


def _at(series: Mapping[str, Any] | None, job: str, name: str, number: int) -> float | None:
    job_series = (series or {}).get("jobs", {}).get(job)
    if job_series is None or not 0 <= number - job_series["first"] < len(job_series[name]):
        return None
    value = job_series[name][number - job_series["first"]]
    return None if value is None else float(value)


def describe_limit(value: float | None) -> str:
    """A limit in words."""
    return "no limit" if value is None else format_cores(value)


def describe_action(action: Action) -> str:
    """An action in words."""
    match action:
        case Start(worker=worker, limit=limit):
            action_text = f"starts on {worker}" + ("" if limit is None else f" with {format_cores(limit)}")
        case SetLimit(limit=limit, weight=weight):
            action_text = f"may use {format_cores(limit)}" if limit is not None else "has no limit"
            action_text += "" if weight == 1 else f", weight {format_number(weight)}"
        case SetMemory(limit=limit):
            action_text = (
                "has no memory limit" if limit is None else f"may use {format_bytes(limit)} of memory"
            )
        case SetThreads(threads=threads):
            action_text = f"uses {plural(threads, 'thread')}"
        case Migrate(to=to):
            action_text = f"moves to {to}"
        case _:
            action_text = _PLAIN[type(action)]
    return f"{action.job} {action_text}"


_FIGURES = {
    "G": "growth",
    "P": "progress per second",
    "R": "share of the node used",
    "E": "loss",
    "alpha": "threshold",
    "previous G": "growth before",
    "sum of G": "sum of growths",
    "PC and WC": "progressing or watched",
    "bf": "jobs per worker",
}
"""The figures that papers name by letters, in words."""


def reason_figures(reason: Reason) -> list[Node]:
    """The figures behind a decision, ``growth 0.21, threshold 0.03``, with their letters as tooltips."""
    parts: list[Node] = []
    for name, value in reason.values:
        word = with_symbol(_FIGURES.get(name, name), name)
        parts += [", " if parts else "", word, f" {_figure(value)}"]
    return parts


def _figure(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - not a number
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−")


def history(series: Mapping[str, Any], job: str) -> list[tuple[int, str]]:
    """The changes of a job as (tick, description), in order.

    A limit or worker observed at a tick was set at the one before.
    """
    job_series = series.get("jobs", {}).get(job)
    if job_series is None:
        return []
    changes: list[tuple[int, str]] = []
    before: dict[str, Any] = {}
    for at in range(len(job_series["label"])):
        words = []
        for name in _CHANGES:
            value = job_series[name][at]
            if name in before and before[name] != value and (value or name == "limit"):
                words.append(_change(name, value))
            before[name] = value
        if words or at == 0:
            changes.append((job_series["first"] + at, ", ".join(words) or "first observation"))
    return changes


def _change(name: str, value: Any) -> str:
    match name:
        case "limit":
            return describe_limit(value)
        case "worker":
            return f"on {value}"
        case "label":
            return f"now {list_word(value)}"
        case _:
            return str(value)


def trigger_words(entry: Entry) -> str:
    """The time and the trigger of a decision."""
    time, trigger = entry.observation.time, entry.observation.trigger.value
    return f"At {format_duration(time)}: {TRIGGERS.get(trigger, trigger)}."


_MAX_ROWS, _TALL = 200, 24
_MAX_MOMENTS = 60


def tick_body(run: str, tick: int, job: str | None) -> list[Node]:
    """The cards of one tick."""
    names = workspace().models.phase_names(workspace().runs.get(run).settings.get("model"))
    entry, series = _with_phase_names(stored.entry(run, tick), names), stored.recent_series(run)
    every = lines(entry, series)
    # waiting jobs have a card of their own
    idle = {each.id for each in waiting(entry) if each.state is JobState.WAITING} if job is None else set()
    visible = [each for each in every if job in (None, each.job.id) and each.job.id not in idle]
    side_cards: list[Node] = [_decision(entry, job), _workers(entry)]
    if job is not None and series is not None:
        side_cards.insert(1, _history(series, job, tick))
    main_cards: list[Node] = [
        waiting_card(entry, series, job),
        _jobs(entry, visible, len(every) - len(idle), tick),
    ]
    if job is not None and series is not None and job in series["jobs"]:
        figure = job_moment(series, job, entry.observation.time)
        label = f"CPU and limit of {job} over time, this tick marked"
        main_cards.append(
            card(f"CPU and limit of {job}", graph("moment", figure, label), note="the line is this tick")
        )
    return [
        html.Div(
            [html.Div(main_cards, className="stack"), html.Div(side_cards, className="stack")],
            className="grid ledger",
        )
    ]


def _with_phase_names(entry: Entry, names: Mapping[int, str]) -> Entry:
    """An entry whose labels and reasons say the names that people gave to phases."""
    marks = tuple(replace(mark, label=with_phase_names(mark.label, names)) for mark in entry.marks)
    reasons = tuple(replace(each, text=with_phase_names(each.text, names)) for each in entry.reasons)
    return replace(entry, marks=marks, reasons=reasons)


def _jobs(entry: Entry, visible: Sequence[Line], every: int, tick: int) -> html.Section:
    ordered = (
        sorted(visible, key=lambda each: not each.decided)[:_MAX_ROWS]
        if len(visible) > _MAX_ROWS
        else visible
    )
    table = html_table(
        Table("jobs", _JOB_COLUMNS, ordered),
        f"Jobs at tick {tick}",
        cells={"list": _label_cell, "limit": _limit_cell, "why": _why_cell},
        css={"why": "why"},
        attributes=lambda each: {"className": "decided" if each.decided else ""},
        row_heads=True,
        table_class="plain ticks jobs",
        fit="tall" if len(ordered) > _TALL else "",
    )
    note = f"{len(visible):,} of {every:,}" if len(ordered) != every else f"{every:,}"
    body: Node = table
    if not visible:
        text = "No job has a place at this tick." if every == 0 else "This job does not exist at this tick."
        body = html.Div(text, className="ink3", style={"padding": "6px 14px 14px"})
    title = f"Tick {tick:,}, {format_duration(entry.observation.time)}"
    return card(title, body, note=f"jobs: {note}", flush=True)


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def _place(each: Line) -> str:
    state = "" if each.job.state.value == "running" else f", {each.job.state.value}"
    return f"{each.job.worker or '–'}{state}"


def _label_cell(each: Line) -> Node:
    if not each.label:
        return "–"
    return list_badge(each.label)


def _limit_cell(each: Line) -> Node:
    words = describe_limit(each.limit)
    if each.limit == each.before:
        return words
    return [html.Span(f"{_short(each.before)} → ", className="ink3"), html.B(words)]


def _why_cell(each: Line) -> Node:
    return [_why(reason) for reason in each.reasons] or html.Span("–", className="ink3")


_JOB_COLUMNS = (
    Column("job", "Job", value=lambda each: each.job.id),
    Column("worker", "Worker", value=_place),
    Column("list", "List", value=lambda each: each.label),
    Column("growth", "Growth", _number),
    Column("used", "Used", format_cores),
    Column("limit", "Limit", describe_limit),
    Column("loss", "Loss", _number),
    Column("why", "Why", value=lambda each: each.reasons),
)


def _short(value: float | None) -> str:
    return "none" if value is None else format_number(value)


def _why(reason: Reason) -> html.Div:
    """A reason: its sentence, its rule and its figures."""
    tail = reason_figures(reason)
    return html.Div(
        [
            html.Div(reason.text),
            html.Div([reason.rule, *([": ", *tail] if tail else [])], className="ink3 because"),
        ],
        className="reason",
    )


def _decision(entry: Entry, job: str | None) -> html.Section:
    actions = [action for action in entry.actions if job in (None, action.job)]
    items = [html.Li([icon("arrow-right", "sm"), describe_action(action)]) for action in actions[:_MAX_ROWS]]
    failed = [
        html.Li([icon("alert-triangle", "sm warn"), f"{describe_action(each.action)}: {each.why}"])
        for each in (*entry.observation.failures, *entry.failures)
        if job in (None, each.action.job)
    ]
    general = [_why(reason) for reason in entry.reasons if reason.job is None]
    parts: list[Node] = [html.P(trigger_words(entry), className="ink2")]
    parts.append(
        html.Ul(items, className="acts") if items else html.P("Nothing was changed.", className="ink3")
    )
    if failed:
        parts += [html.H3("Failed"), html.Ul(failed, className="acts")]
    if general:
        parts += [html.H3("Why"), html.Div(general, className="stack tight why")]
    if entry.wake is not None:
        parts.append(
            html.P(f"Next decision at {format_duration(entry.wake)} at the latest.", className="ink3 small")
        )
    return card(
        "Decided",
        html.Div(parts, className="stack close"),
        note=plural(len(actions), "action") if actions else None,
    )


def _workers(entry: Entry) -> html.Section:
    counts: dict[str, int] = {}
    for job in entry.observation.jobs:
        if job.worker is not None:
            counts[job.worker] = counts.get(job.worker, 0) + 1
    columns = (
        Column("id", "Worker"),
        Column("jobs", "Jobs", format_count, lambda worker: counts.get(worker.id, 0)),
        Column("cpu", "CPU", _used_cores, lambda worker: worker),
    )
    table = Table("workers", columns, entry.observation.workers[:_MAX_ROWS])
    return card(
        "Workers",
        html_table(table, "Workers", row_heads=True, table_class="plain ticks", fit="scroll"),
        flush=True,
    )


def _used_cores(worker: Worker) -> str:
    used = "–" if worker.used is None else format_number(worker.used)
    return f"{used} of {format_cores(worker.capacity)}"


def _history(series: dict[str, Any], job: str, tick: int) -> html.Section:
    changes = history(series, job)
    nearest = next((at for at, (number, _) in enumerate(changes) if number >= tick), len(changes))
    first = max(0, min(nearest - _MAX_MOMENTS // 2, len(changes) - _MAX_MOMENTS))
    items = [
        html.Button(
            [
                html.Span(f"{number:,}", className="n"),
                html.Span(format_duration(series["time"][number]), className="t"),
                description,
            ],
            type="button",
            className="moment on" if number == tick else "moment",
            **data(tick=number),
        )
        for number, description in changes[first : first + _MAX_MOMENTS]
    ]
    return card(
        f"Changes of {job}", html.Div(items, className="moments"), note=f"{len(changes):,}", flush=True
    )


# Jobs that wait after the tick.

_MAX_WAITING = 50


@dataclass(frozen=True, slots=True)
class WaitReason:
    """Why a job waits: the sentence, the rule behind it, and the time of the decision (s)."""

    text: str
    rule: str
    time: float


def wait_reasons(series: Mapping[str, Any] | None, number: int) -> dict[str, tuple[WaitReason, float | None]]:
    """The last reason of each job up to a tick, and the number of jobs behind it then, or None."""
    reasons: dict[str, tuple[WaitReason, float | None]] = {}
    for each in (series or {}).get("waits", ()):
        if each["number"] > number:
            break
        time = float((series or {})["time"][each["number"]])
        reasons.pop(each["job"], None)
        reasons[each["job"]] = WaitReason(each["text"], each["rule"], time), each["behind"]
    return reasons


def waiting(entry: Entry) -> list[Job]:
    """Jobs that wait or are paused after a tick's decision, in order of submission."""
    started_or_ended = {
        action.job for action in entry.actions if isinstance(action, Start | Resume | Refuse | Stop)
    }
    halted = {action.job for action in entry.actions if isinstance(action, Pause)}
    idle = (JobState.WAITING, JobState.PAUSED)
    return [
        job
        for job in entry.observation.jobs
        if (job.state in idle or job.id in halted) and job.id not in started_or_ended
    ]


def waiting_card(entry: Entry, series: Mapping[str, Any] | None, job: str | None) -> Node:
    """The jobs that wait after this tick, with durations and reasons; None without any."""
    every = waiting(entry)
    visible = [each for each in every if job in (None, each.id)]
    if not visible:
        return None
    reasons = wait_reasons(series, entry.observation.number)
    decided = {reason.job: reason for reason in entry.reasons}
    for each in visible:
        if (reason := decided.get(each.id)) is not None:
            reasons[each.id] = WaitReason(reason.text, reason.rule, entry.observation.time), None
    front = _front(reasons, every)
    now = entry.observation.time
    table = html_table(
        Table("waiting", _WAITING_COLUMNS, visible[:_MAX_WAITING]),
        "Jobs that wait",
        cells={
            "waits": lambda each: _waits_cell(each, now),
            "why": lambda each: _reason_cell(each, now, reasons, front),
        },
        css={"why": "why"},
        row_heads=True,
        table_class="plain ticks queue",
        fit="scroll",
    )
    paused = sum(each.state is not JobState.WAITING for each in every)
    note = f"{len(every) - paused:,} waiting" + (f", {paused:,} paused" if paused else "")
    return card("Waiting after this tick", table, note=note, flush=True)


def _front(reasons: Mapping[str, tuple[WaitReason, float | None]], every: Sequence[Job]) -> str | None:
    """The job that blocks all others, by the last reasons."""
    waiting_ids = {each.id for each in every}
    blocking = [
        (why.time, name)
        for name, (why, behind) in reasons.items()
        if behind is not None and name in waiting_ids
    ]
    return max(blocking)[1] if blocking else None


_WAITING_COLUMNS = (
    Column("id", "Job"),
    Column("waits", "Waits", value=lambda job: job.arrived),
    Column("request", "Request", lambda cores: f"{cores:g} cores"),
    Column("why", "Why", value=lambda job: job.id),
)


def _waits_cell(job: Job, now: float) -> Node:
    paused = job.state is not JobState.WAITING
    since = f"{'arrived at' if paused else 'since'} {format_duration(job.arrived)}"
    waits = "paused" if paused else format_duration(now - job.arrived)
    return [waits, html.Div(since, className="ink3 because")]


def _reason_cell(
    job: Job, now: float, reasons: Mapping[str, tuple[WaitReason, float | None]], front: str | None
) -> Node:
    reason = reasons.get(job.id)
    if reason is None:
        text = f"Behind {front}." if front not in (None, job.id) else "The policy gave no reason."
        return html.Span(text, className="ink2")
    why = reason[0]
    ago = "" if why.time >= now else f", decided at {format_duration(why.time)}"
    return [html.Div(why.text), html.Div(f"{why.rule}{ago}", className="ink3 because")]
