"""The panel of the attached policy: what it is, what it did and why, or the form that attaches one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import dcc, html

from app.context import workspace
from app.pages.live.state import does, is_control
from app.pages.live.steering.decisions import clock, decisions
from app.pages.live.steering.evidence import evidence, worth
from app.ui import attached_runs
from app.ui.basics import Node, aria, button, card, data, icon, notice, state_badge
from app.ui.forms import controls, named
from core.sampling.values import Mode
from core.scheduling.policies import POLICIES, spelt
from core.settings_fields import describe
from core.traces.validation import many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.sampling.values import Attached, LiveView

FORM = "live-policy"
FIRST = "flowcon"
_FACTS = 3
"""Settings that are shown of an attached policy."""


def panel(view: LiveView, *, control: bool, follows: bool = True, waiting: bool = False) -> Node:
    """The card of the policy."""
    if view.attached:
        return _attached(view.attached, control=control)
    return _form(bool(view.rows) or waiting, control=control) if follows else _unable(view)


def _attached(attached: Attached, *, control: bool) -> html.Section:
    steering = attached.mode is Mode.CONTROL
    tools: list[Node] = [
        _unfold("list-check", "Decisions"),
        state_badge(str(attached.mode), "ok" if steering else "accent", "activity" if steering else "eye"),
        _detach("only-desktop"),
    ]
    next_ = html.Span([", next ", html.Span(**data(moving="wake"))])
    parts: list[Node] = [_facts(attached)]
    parts += evidence(attached)
    if not steering:
        parts.append(_watching(attached, control=control))
    parts.append(html.Div(_ways(attached), className="row wrap between"))
    return card(
        [spelt(attached.policy), html.Span(next_, className="only-phone when-next")],
        html.Div(parts, className="pad"),
        decisions(attached.said),
        tools=tools,
        flush=True,
        class_name="policycard",
        id="live-policy-card",
    )


def _detach(where: str) -> html.Span:
    return html.Span(button("Detach", "plug", "small", **does("detach")), className=where)


def _ways(attached: Attached) -> list[Node]:
    """The card's links to the ledger, if one is kept, and on a phone the button that detaches."""
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


def _facts(attached: Attached) -> html.Dl:
    facts: list[tuple[str, Node]] = []
    if attached.policy in POLICIES:
        policy = POLICIES[attached.policy]
        chosen = {**policy.defaults, **attached.settings}
        for spec in describe(policy.settings)[:_FACTS]:
            value = chosen.get(spec.name, spec.default)
            if value in (None, ""):
                continue
            facts.append((spec.label, named(spec, value) or _value(value, dict(spec.choices), spec.unit)))
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


def _watching(attached: Attached, *, control: bool) -> html.Div:
    n = attached.resizes
    would = f"{spelt(attached.policy)} would have set {n:,} limit{'s' if n != 1 else ''}."
    ways = [button("Let it control", "activity", "small", **does("take-control"))] if control else []
    return notice("info", f"{would} Nothing has been touched.", strong="Watch mode:", actions=ways)


def _unable(view: LiveView) -> html.Section:
    """What stands here for an engine whose containers no policy can follow; on a phone, too, unfolded."""
    return card(
        "Policy",
        notice("info", "Set limits by hand, or choose another engine.", strong="Policies cannot follow it."),
        note=view.engine.name,
        id="live-policy-card",
    )


def _form(able: bool, *, control: bool) -> html.Section:
    words = mode_words(str(Mode.WATCH), control=control)
    parts = [
        _policy_choice(),
        html.Div(POLICIES[FIRST].about, id="live-policy-about", className="small ink2"),
        _mode_choice(control=control),
        html.Div(words, id="live-mode-words", className="small ink3"),
        _settings(),
        html.Div(id="live-attach-problem"),
        button("Attach", "plug", "primary", id="live-attach", disabled=not able),
    ]
    return card(
        "Policy",
        html.Div(parts, className="stack close"),
        note="none attached",
        tools=[_unfold("plug", "Attach a policy")],
        class_name="policycard",
        id="live-policy-card",
    )


def _policy_choice() -> dmc.Select:
    return dmc.Select(
        id="live-policy-name",
        label="Policy",
        data=[{"value": name, "label": spelt(name)} for name in POLICIES if not POLICIES[name].oracle],
        value=FIRST,
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


def _settings() -> html.Details:
    return html.Details(
        [
            html.Summary([icon("chevron-right", "sm"), "Settings"]),
            html.Div(settings_form(FIRST), id="live-settings", className="settings stack close"),
        ],
        className="unfold",
    )


def mode_words(mode: str, *, control: bool) -> str:
    """What a mode does, in a sentence."""
    if mode == Mode.CONTROL:
        return (
            "It sets the CPU limits of labelled and selected containers and starts submitted jobs; detaching "
            "restores every limit."
        )
    words = "It shows what it would do and touches nothing."
    return words if control else f"{words} Control needs PHASEDOCK_CONTROL=on."


def settings_form(policy: str, model: str | None = None) -> list[Node]:
    """The controls of a policy's settings; one that goes by phases begins with those that the page shows."""
    chosen = POLICIES[policy]
    models = [spec.name for spec in describe(chosen.settings) if spec.kind == "model"]
    made = controls(FORM, chosen.settings, {**chosen.defaults, **dict.fromkeys(models, model or "")})
    return made or [html.Div("This policy has no settings.", className="small ink3")]


def confirmation(view: LiveView, policy: str, waiting: Sequence[str] = ()) -> list[Node]:
    """What attaching in control touches, which waiting jobs it may start, and what speaks for it."""
    names = sorted(row.name for row in view.rows)
    n = len(names)
    now = f"of {many(n, 'container')} on {view.engine.name}, and of" if n else f"on {view.engine.name} of"
    text = (
        f"{spelt(policy)} will set the CPU limits {now} labelled containers that start later. Their original "
        "limits are saved first and restored when the policy is detached."
    )
    shown = worth(view.attached)
    return [
        html.P(shown) if shown else None,
        html.P(text),
        html.Ul([html.Li(name) for name in names], className="names"),
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
    """What detaching does, for the message after it."""
    attached = view.attached
    if attached is None or not is_control(attached):
        return "It was in watch mode, so nothing was touched."
    held = sum(row.held for row in view.rows)
    return f"The original limits of {many(held, 'container')} are restored."


def start(engine: str, policy: str, settings: Mapping[str, Any], mode: str, *, instead: bool = False) -> str:
    """Attach a policy, or let it take the place of the one that is attached; returns its task's id."""
    return workspace().live.attach(engine, policy, settings, Mode(mode), instead=instead)
