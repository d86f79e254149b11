"""The card of one workload: what it has now, what is recommended, what that does, and how far to trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.pages.provisioning.query import RESOURCES
from app.ui.basics import Node, card, icon, state_badge
from core.provisioning.evaluation.intervals import LEAST_UNITS
from core.provisioning.fleet import Resource
from core.provisioning.verdict.answer import KEEP, STEERED
from core.provisioning.verdict.savings import money
from core.provisioning.verdict.standing import State, ran_out
from core.units import Unit, format_bytes, format_change, format_number, format_share, format_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.pages.provisioning.query import View
    from core.provisioning.verdict.answer import Card, Line, Option
    from core.provisioning.verdict.savings import PriceSettings

_SAME = 0.005
_NO_MONEY = 0.00005
"""What is written as zero."""
STATES = {
    State.UNTESTED: ("not tested", "warn", "alert-triangle"),
    State.FEW: ("too few to tell", "warn", "alert-triangle"),
    State.BROKEN: ("falls short", "bad", "circle-x"),
    State.OPEN: ("not certain", "", "info-circle"),
    State.SAFE: ("safe", "ok", "circle-check"),
}
"""How each standing looks: the words of its badge, its kind, and its icon."""
_WORST = (State.UNTESTED, State.FEW, State.BROKEN, State.OPEN, State.SAFE)


def workload_card(found: Card, view: View) -> html.Section:
    """The card."""
    tested = f"{found.held_out:,} of {found.containers:,} held out"
    head = found.name or "without a name"
    worth = _worth(found, view.prices)
    return card(
        html.Span(head, className="truncate", title=head),
        now_and_then(found, view),
        html.P([html.B(worth)], className="worth") if worth else None,
        html.P(_said(found), className="small ink2"),
        note=tested,
        tools=[badge([each.recommended.standing.state for each in found.lines if each.recommended])],
        class_name="workload",
    )


def _worth(found: Card, prices: PriceSettings) -> str:
    """What it comes to per day: of what was tested, and while few were held out only if others are alike."""
    value = found.worth
    if value is None or abs(value) < _NO_MONEY:
        return ""
    if not found.held_out:
        how = "saved" if value >= 0 else "cost more"
        return f"Would have {how}: {money(abs(value), prices)} per day, on what it was made from"
    if value < 0:
        return f"Costs {money(-value, prices)} per day more: leave it as it is"
    said = f"Saves {money(value, prices)} per day"
    if found.held_out >= LEAST_UNITS:
        return said
    alike = "the one" if found.held_out == 1 else f"the {found.held_out}"
    return f"{said}, if all are like {alike} held out"


def _said(found: Card) -> str:
    """How far the recommendation can be trusted: once where that is the same for each resource."""
    options = [line.recommended for line in found.lines if line.recommended is not None]
    sentences = [each.standing.sentence for each in options]
    memory = found.line(Resource.MEMORY)
    if len(options) > 1 and options[0].standing.state in (State.UNTESTED, State.FEW):
        risk = ""
        if memory is not None and memory.recommended is not None and found.held_out:
            killed = memory.fixed if memory.recommended.way == KEEP and memory.fixed else memory.recommended
            title = "A fixed memory limit: " if killed is memory.fixed else ""
            said = ran_out(killed.found, found.held_out)
            said = within(said) if title else said
            if killed.standing.state is State.UNTESTED:
                said = "it was made from the very container that was held out, so nothing was tested."
            risk = f" {title}{said}"
        return sentences[0] + risk
    return " ".join(sentences)


def badge(states: Sequence[State]) -> Node:
    """The worst standing of what is recommended."""
    if not states:
        return None
    return state_badge(*STATES[min(states, key=_WORST.index)])


def now_and_then(found: Card, view: View) -> html.Div:
    """One row per resource: what it has now, what is recommended, and what that does."""
    return html.Div([_line(line, view) for line in found.lines], className="nowthen")


def _line(line: Line, view: View) -> html.Div:
    option, name = line.recommended, RESOURCES[line.resource.value]
    if option is None:
        return html.Div(
            [html.Span(name, className="ink3"), html.Div("Nothing to recommend.")], className="res"
        )
    if option.way == KEEP:
        amount = html.Span(amount_of(line.now, line.unit), className="num strong")
        why = html.Div(f"Now: {line.now_is}. {_once(line, line.exported)}", className="small ink3")
        stays = html.Div([html.Div([amount, ": leave it as it is"]), why])
        return html.Div([html.Span(name, className="ink3"), stays], className="res")
    now, then = amount_of(line.now, line.unit), amount_of(option.amount, line.unit)
    head = html.Div(
        [
            html.Span(now, className="num"),
            icon("arrow-right", "sm"),
            html.Span(then, className="num strong"),
            html.Span(change(option), className="num ink2"),
        ],
        className="row tight",
    )
    body = [head, html.Div(_does(line, option), className="small ink2")]
    body.append(html.Div(_saves(option, line.unit, view), className="small ink2"))
    once = _once(line, line.exported) if option.way == STEERED and line.exported is not None else ""
    body.append(html.Div(f"Now: {line.now_is}. {once}", className="small ink3"))
    return html.Div([html.Span(name, className="ink3"), html.Div(body)], className="res")


def change(option: Option) -> str:
    """How much less or more than now, with its interval where there is one."""
    if option.saved_share is None:
        return ""
    text = format_change(-option.saved_share, 0)
    if option.interval is None:
        return text
    low, high = (format_change(-each, 0) for each in reversed(option.interval))
    return f"{text} (95%: {low} to {high})"


def _does(line: Line, option: Option) -> str:
    """How often it is too little, and how often it is resized."""
    values = option.found
    steered = option.way == STEERED
    often = (
        f"resized {format_number(values['resizes_per_hour'], 1)}× per hour" if steered else "never resized"
    )
    kills = ""
    if line.resource is Resource.MEMORY:
        kills = f", out of memory\u00a0{values['events']:,}×"
    return (
        f"{option.policy if steered else 'Fixed'}: short {format_share(values['under_time_0'])} of the time "
        f"({format_share(values['under_time_05'])} by more than 5%), {often}{kills}"
    )


def _saves(option: Option, unit: Unit, view: View) -> str:
    """What that is worth, for all containers of the workload."""
    hours = {Unit.CORES: "core-hours", Unit.BYTES: "GiB-hours"}.get(unit)
    if hours is None:
        return ""
    worth = option.saved
    if option.saved_share is not None and abs(option.saved_share) < _SAME:
        return "About what it has now"
    text = f"{amount_of(abs(worth.amount), unit)}, {format_number(abs(worth.per_day), 1)} {hours} per day"
    if worth.money is not None:
        text += f", {money(abs(worth.money), view.prices)}"
    if option.standing.state is State.UNTESTED:
        return f"Would have saved {text}" if worth.amount >= 0 else f"Would have needed {text} more"
    return f"Saves {text}" if worth.amount >= 0 else f"Needs {text} more"


def within(sentence: str) -> str:
    """A sentence as it goes on after a colon."""
    return sentence[:1].lower() + sentence[1:]


def _once(line: Line, option: Option | None) -> str:
    """What the export sets in place of a policy that changes what it gives."""
    if option is None:
        return ""
    values = option.found
    tested = "" if values["tested"] else " (not tested)"
    short = format_share(values["under_time_0"])
    if not option.kept:
        return f"Not to be set once: {amount_of(option.amount, line.unit)} was short {short} of the time."
    return f"Set once: {amount_of(option.amount, line.unit)}, short {short} of the time{tested}."


def amount_of(value: float, unit: Unit) -> str:
    """An amount with its unit; bytes as people say them."""
    return format_bytes(value) if unit is Unit.BYTES else format_value(value, unit)
