"""The panel of the attached policy with its decisions and reasons, or the form that attaches one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import dcc, html

from app.context import workspace
from app.figures.live import freed_figure
from app.pages.live.state import does, is_control, phase_names
from app.ui import attached_runs
from app.ui.basics import Node, aria, button, card, data, icon, list_badge, notice, state_badge
from app.ui.forms import controls, referenced_name
from app.ui.graph import graph
from app.ui.tables import html_table
from core.live.view import ends_too_often, is_reattached
from core.sampling.values import Mode
from core.scheduling.policies import POLICIES, display_name, group_policies
from core.settings_fields import describe
from core.tables import Column, Table
from core.units import (
    NO_NAMES,
    format_bytes,
    format_cores,
    format_duration,
    format_list,
    format_number,
    format_share,
    plural,
    with_phase_names,
)
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.ui.basics import Node
    from core.sampling.values import ActivityEntry, AttachedPolicy, LiveView
    from core.scheduling.policies.autopilot.steering_evidence import Evidence
    from core.workspace.records import TaskInfo


def decisions(entries: tuple[ActivityEntry, ...], names: Mapping[int, str] = NO_NAMES) -> html.Ol:
    """A list of all decisions."""
    if not entries:
        waiting = html.Li("No decisions yet.", className="ink3 small")
        return html.Ol([waiting], className="decisions")
    return html.Ol(
        [_decision(each, names) for each in entries],
        className="decisions",
        tabIndex="0",
        **aria(label="Decisions, newest first"),
    )


def _decision(entry: ActivityEntry, names: Mapping[int, str]) -> html.Li:
    details = [
        html.Span(_what(entry), className="what"),
        list_badge(with_phase_names(entry.label, names)) if entry.label else None,
        html.Time(clock(entry.at), className="num"),
    ]
    name = html.Span(entry.container or "All containers", className="strong truncate")
    line = html.Div([name, html.Span(details, className="done")], className="line")
    return html.Li([line, html.P(with_phase_names(entry.text, names))])


def _what(entry: ActivityEntry) -> str:
    if entry.before is None and entry.after is None:
        return ""
    if entry.before == entry.after and entry.after is not None:
        return f"kept at {format_cores(entry.after)}"
    before = "no limit" if entry.before is None else format_number(entry.before)
    return f"{before} → {'no limit' if entry.after is None else format_cores(entry.after)}"


def clock(seconds: float) -> str:
    """A time as the clock of this machine shows it."""
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def _hour(seconds: float) -> str:
    return time.strftime("%H:%M", time.localtime(seconds))


_LISTED = 4
_RATE_AFTER = 60.0
"""Seconds after which resizes per hour are shown."""


def evidence(attached: AttachedPolicy) -> list[Node]:
    """The savings in the policy's card; empty while unknown."""
    savings = attached.evidence
    if savings is None:
        return []
    if not savings.containers:
        return [html.P("Waiting for the first samples.", className="small ink3")]
    memory = bool(attached.settings.get("memory"))
    in_control = attached.mode is Mode.CONTROL
    parts: list[Node] = [_figures(savings, memory=memory, in_control=in_control)]
    if len(attached.course) > 1:
        parts.append(graph("live-freed", freed_figure(attached.course), "Cores freed over time"))
    parts.append(_drivers(savings, memory=memory))
    if savings.unfamiliar:
        text = (
            f"{format_list(savings.unfamiliar)}: unlike the model's training data, so a reactive rule steers."
        )
        ways = [button("Train the model further", "stack-2", "small", **does("teach"))]
        parts.append(notice("warn", text, strong="Unfamiliar.", actions=ways))
    if savings.left:
        text = f"{format_list(savings.left)}: the original limits are restored and stay."
        parts.append(notice("warn", text, strong="Out of memory."))
    return [html.Section(parts, className="evidence stack close")]


def savings_sentence(attached: AttachedPolicy | None) -> str:
    """The savings while watching, in a sentence; empty before the first sample."""
    savings = None if attached is None else attached.evidence
    if savings is None or savings.seconds <= 0:
        return ""
    freed, covered = format_number(savings.freed_cores), format_number(savings.kept_cores)
    words = (
        f"In the last {format_duration(savings.lasted)} it would have freed {freed} of {covered} cores on "
        f"average, and containers would have been short for {format_share(savings.short_share)} of the time."
    )
    return f"{words} {savings.worst.name} would have been short most often." if savings.worst else words


def _figures(savings: Evidence, *, memory: bool, in_control: bool) -> html.Dl:
    figures = [
        (
            "Cores freed" if in_control else "Cores it would free",
            format_number(savings.freed_cores_now),
            f"mean {format_number(savings.freed_cores)} of {format_number(savings.kept_cores)}",
        ),
        (
            "Time short",
            format_share(savings.short_share),
            f"over {format_duration(savings.lasted)}",
        ),
        _rate(savings),
    ]
    if memory:
        freed = (
            "Memory freed" if in_control else "Memory it would free",
            format_bytes(savings.freed_bytes_now),
            f"mean {format_bytes(savings.freed_bytes)} of {format_bytes(savings.kept_bytes)}",
        )
        figures.insert(1, freed)
    return html.Dl(
        [
            html.Div([html.Dt(name), html.Dd(value, className="num"), html.Dd(note, className="small ink3")])
            for name, value, note in figures
        ],
        className="evidence-figures",
    )


def _rate(savings: Evidence) -> tuple[str, str, str]:
    """Resizes per hour; the first minute is too short for a rate."""
    if savings.lasted < _RATE_AFTER:
        return "Resizes per hour", "–", "after a minute"
    note = "per container" + (f", {savings.violations:,} too low" if savings.violations else "")
    return "Resizes per hour", format_number(savings.resizes_per_hour), note


_DRIVERS = (
    Column("name", "Container"),
    Column("freed_cores", "Freed", format_cores),
    Column("freed_bytes", "Memory", format_bytes),
    Column("short_share", "Short", format_share),
)


def _drivers(savings: Evidence, *, memory: bool) -> html.Div:
    """A table of the containers that are short, then of those that free most."""
    short = [each for each in savings.containers if each.short_share > 0]
    others = [each for each in savings.containers if not each.short_share]
    listed = [*short, *sorted(others, key=lambda each: -each.freed_cores)][:_LISTED]
    columns = [column for column in _DRIVERS if memory or column.key != "freed_bytes"]
    return html_table(
        Table("drivers", columns, listed),
        "Containers",
        css={"name": "truncate"},
        table_class="evidence-table",
    )


FORM = "live-policy"
FIRST, WITHOUT_MODEL = "autopilot", "flowcon"
"""The policies that a form begins with: the first one with a phase model, the second one without."""
_FACTS = 3
"""Settings that are shown of an attached policy."""


def panel(
    view: LiveView, *, control: bool, follows: bool = True, waiting: bool = False, model: str | None = None
) -> Node:
    """The card of the policy."""
    if view.attached:
        return _attached(view.attached, phase_names(view), control=control)
    if not follows:
        return _unable(view)
    return _form(bool(view.rows) or waiting, model, view.failed, control=control)


def _attached(attached: AttachedPolicy, names: Mapping[int, str], *, control: bool) -> html.Section:
    steering = attached.mode is Mode.CONTROL
    tools: list[Node] = [
        _unfold("list-check", "Decisions"),
        state_badge(str(attached.mode), "ok" if steering else "accent", "activity" if steering else "eye"),
        _detach("only-desktop"),
    ]
    next_ = html.Span([", next ", html.Span(**data(moving="wake"))])
    parts: list[Node] = [_facts(attached)]
    if attached.worker_ended_at is not None and attached.reattached_at is not None:
        ended, again = _hour(attached.worker_ended_at), _hour(attached.reattached_at)
        words = f"It ended with its worker at {ended}; attached again at {again}."
        parts.append(html.P(words, className="small ink2"))
    parts += evidence(attached)
    if not steering:
        parts.append(_watching(attached, control=control))
    parts.append(html.Div(_ways(attached), className="row wrap between"))
    return card(
        [display_name(attached.policy), html.Span(next_, className="only-phone when-next")],
        html.Div(parts, className="pad"),
        decisions(attached.entries, names),
        tools=tools,
        flush=True,
        class_name="policycard",
        id="live-policy-card",
    )


def _detach(where: str) -> html.Span:
    return html.Span(button("Detach", "plug", "small", **does("detach")), className=where)


def _ways(attached: AttachedPolicy) -> list[Node]:
    """The card's link to the ledger, if one is saved, and on a phone the button that detaches."""
    if not attached.run:
        return [_detach("only-phone")]
    ledger = f"/api/runs/{attached.run}.json"
    return [
        _detach("only-phone"),
        dcc.Link("Step through the ledger", href=attached_runs.address(attached.run), className="link small"),
        html.A([icon("download", "sm"), " Ledger so far, JSON"], href=ledger, className="link small"),
    ]


def _unfold(picture: str, label: str) -> html.Button:
    """The button that opens the card on a phone, where it is closed at first."""
    return html.Button(
        [icon(picture), label],
        type="button",
        className="btn small only-phone",
        **data(unfold="live-policy-card"),
        **aria(expanded="false", controls="live-policy-card"),
    )


def _facts(attached: AttachedPolicy) -> html.Dl:
    facts: list[tuple[str, Node]] = []
    if attached.policy in POLICIES:
        policy = POLICIES[attached.policy]
        chosen = {**policy.defaults, **attached.settings}
        for spec in describe(policy.settings)[:_FACTS]:
            value = chosen.get(spec.name, spec.default)
            if value in (None, ""):
                continue
            facts.append(
                (spec.label, referenced_name(spec, value) or _value(value, dict(spec.choices), spec.unit))
            )
    resizes = f"{attached.resizes:,}" + ("" if attached.mode is Mode.CONTROL else " not applied")
    facts += [
        ("Next", html.Span(**data(moving="wake"))),
        ("Resizes", resizes),
        ("Since", clock(attached.since)),
    ]
    return html.Dl(
        [html.Div([html.Dt(name), html.Dd(value)]) for name, value in facts], className="policyfacts"
    )


def _value(value: Any, choices: Mapping[str, str], unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = choices.get(str(value)) or (f"{value:g}" if isinstance(value, float) else str(value))
    return f"{text} {unit}".strip()


def _watching(attached: AttachedPolicy, *, control: bool) -> html.Div:
    n = attached.resizes
    would = f"{display_name(attached.policy)} would have set {n:,} limit{'s' if n != 1 else ''}."
    ways = [button("Let it control", "activity", "small", **does("take-control"))] if control else []
    return notice("info", f"{would} Nothing was changed.", strong="Watch mode:", actions=ways)


def _unable(view: LiveView) -> html.Section:
    """A note that policies cannot be attached to this engine; unfolded on a phone, too."""
    return card(
        "Policy",
        notice("info", "Set limits by hand, or choose another engine.", strong="Policies cannot follow it."),
        note=view.engine.name,
        id="live-policy-card",
    )


def _interrupted(task: TaskInfo, *, control: bool) -> html.Div:
    """A note that a policy ended with its worker, and the way to let it go on, or to prevent that."""
    name = display_name(str(task.params.get("policy", "")))
    may = control or task.params.get("mode") != Mode.CONTROL
    text = "A worker restores the limits that it had set."
    if may and is_reattached(task):
        text += " Then it is attached again."
        ways = [button("Do not attach it again", "x", "small", **does("not-again"))]
    else:
        if ends_too_often(task):
            text += " It ended so three times within ten minutes, so it is not attached again by itself."
        ways = [button("Attach it again", "plug", "small", **does("attach-again", task.id))] if may else []
    when = "" if task.finished is None else f" at {_hour(task.finished.timestamp())}"
    return notice("warn", text, strong=f"{name} ended with its worker{when}.", actions=ways)


def _form(is_ready: bool, model: str | None, failed: TaskInfo | None, *, control: bool) -> html.Section:
    first = FIRST if model else WITHOUT_MODEL
    words = mode_words(str(Mode.WATCH), control=control)
    is_interrupted = failed is not None and failed.state is TaskState.INTERRUPTED
    parts = [
        _interrupted(failed, control=control) if failed is not None and is_interrupted else None,
        _policy_choice(first),
        html.Div(POLICIES[first].about, id="live-policy-about", className="small ink2"),
        _mode_choice(control=control),
        html.Div(words, id="live-mode-words", className="small ink3"),
        _settings(first, model),
        _reattach_choice(),
        html.Div(id="live-attach-problem"),
        button("Attach", "plug", "primary", id="live-attach", disabled=not is_ready),
    ]
    return card(
        "Policy",
        html.Div(parts, className="stack close"),
        note="none attached",
        tools=[_unfold("plug", "Attach a policy")],
        class_name="policycard",
        id="live-policy-card",
    )


def _policy_choice(first: str) -> dmc.Select:
    return dmc.Select(
        id="live-policy-name",
        label="Policy",
        data=[
            {"group": group, "items": [{"value": name, "label": display_name(name)} for name in names]}
            for group, names in group_policies(oracles=False).items()
        ],
        renderOption={"function": "renderWithIdentifier"},
        value=first,
        allowDeselect=False,
        size="xs",
        rightSection=icon("selector", "sm"),
    )


def _mode_choice(*, control: bool) -> dmc.SegmentedControl:
    modes: list[dict[str, Any]] = [{"value": str(Mode.WATCH), "label": "Watch"}]
    modes.append({"value": str(Mode.CONTROL), "label": "Control", "disabled": not control})
    return dmc.SegmentedControl(
        id="live-mode",
        value=str(Mode.WATCH),
        data=modes,
        size="xs",
        fullWidth=True,
        **aria(label="Watch or control"),
    )


REATTACH = "live-reattach"
"""The box that lets a policy be attached again after its worker ended."""


def _reattach_choice() -> dmc.Checkbox:
    return dmc.Checkbox(
        id=REATTACH,
        checked=True,
        size="xs",
        label="Attach it again after a restart",
        description="If its worker ends and one is back, the policy goes on with what it knew.",
    )


def _settings(first: str, model: str | None) -> html.Details:
    return html.Details(
        [
            html.Summary([icon("chevron-right", "sm"), "Settings"]),
            html.Div(settings_form(first, model), id="live-settings", className="settings stack close"),
        ],
        className="unfold",
    )


def mode_words(mode: str, *, control: bool) -> str:
    """A mode's effect, in a sentence."""
    if mode == Mode.CONTROL:
        return (
            "It sets the CPU limits of labelled and selected containers and starts submitted jobs; detaching "
            "restores every limit."
        )
    words = "It shows its decisions and changes nothing."
    return words if control else f"{words} Control needs PHASEDOCK_CONTROL=on."


def settings_form(policy: str, model: str | None = None) -> list[Node]:
    """The controls of a policy's settings; a policy by phases starts with the model of the page."""
    chosen = POLICIES[policy]
    models = [spec.name for spec in describe(chosen.settings) if spec.kind == "model"]
    form = controls(FORM, chosen.settings, {**chosen.defaults, **dict.fromkeys(models, model or "")})
    return form or [html.Div("This policy has no settings.", className="small ink3")]


MAY_RAISE = "live-may-raise"
"""The box that lets a policy raise limits that it found."""

_RAISABLE = (
    Column("container", "Container"),
    Column("limit", "Its limit"),
    Column("raised", "May become"),
)


def _raisable(view: LiveView, *, memory: bool) -> list[dict[str, str]]:
    """The limits that a policy may raise only where it is allowed to, by container and resource."""
    cores, total = view.engine.cores, view.engine.memory
    rows = []
    for row in sorted(view.rows, key=lambda each: each.name):
        most = min((each for each in (cores, row.max_cores) if each is not None), default=None)
        if row.cpu_limit is not None and most is not None and row.cpu_limit < most:
            rows.append((row.name, format_cores(row.cpu_limit), format_cores(most)))
        if memory and row.memory_limit is not None and total is not None and row.memory_limit < total:
            rows.append((row.name, format_bytes(row.memory_limit), format_bytes(total)))
    return [dict(zip(("container", "limit", "raised"), each, strict=True)) for each in rows]


def _permission(view: LiveView, *, memory: bool) -> list[Node]:
    """The box that allows higher limits than the present ones, above the containers that it concerns."""
    rows = _raisable(view, memory=memory)
    if not rows:
        return []
    box = dmc.Checkbox(
        id=MAY_RAISE,
        checked=False,
        size="xs",
        label="It may raise these limits",
        description="Otherwise no container gets more than the limit that it has now.",
    )
    table = html_table(
        Table("raisable", _RAISABLE, rows), "Limits that it may raise", css={"container": "truncate"}
    )
    return [box, table]


def confirmation(
    view: LiveView, policy: str, waiting: Sequence[str] = (), *, memory: bool = False
) -> list[Node]:
    """The effects of attaching in control mode, the waiting jobs it may start, and its savings so far.

    `memory`: whether the policy sets memory, too.
    """
    names = sorted(row.name for row in view.rows)
    n = len(names)
    now = f"of {plural(n, 'container')} on {view.engine.name}, and of" if n else f"on {view.engine.name} of"
    text = (
        f"{display_name(policy)} will set the CPU limits {now} labelled containers that start later. "
        "Their original limits are saved first and restored when the policy is detached."
    )
    evidence = savings_sentence(view.attached)
    return [
        html.P(evidence) if evidence else None,
        html.P(text),
        html.Ul([html.Li(name) for name in names], className="names"),
        *_permission(view, memory=memory),
        html.P(f"Jobs that wait, which it may start: {', '.join(waiting)}.") if waiting else None,
        html.Div(
            [
                button("Cancel", None, "", **does("close")),
                button("Attach in control mode", "plug", "primary", **does("attach-now")),
            ],
            className="row ends",
        ),
    ]


def detached_words(view: LiveView) -> str:
    """The effect of detaching, for the message after it."""
    attached = view.attached
    if attached is None or not is_control(attached):
        return "It was in watch mode, so nothing changed."
    limited = sum(row.held for row in view.rows)
    return f"The original limits of {plural(limited, 'container')} are restored."


def start(
    engine: str,
    policy: str,
    settings: Mapping[str, Any],
    mode: str,
    *,
    instead: bool = False,
    may_raise: bool = False,
    reattach: bool = True,
) -> str:
    """Attach a policy, or let it take the place of the one that is attached; returns its task's id."""
    policies = workspace().live.policies
    return policies.attach(
        engine, policy, settings, Mode(mode), instead=instead, may_raise=may_raise, reattach=reattach
    )
