"""The answer, before all else: what is saved, what is recommended for each workload, and at which risk."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dash import html

from app.pages.provisioning import results
from app.pages.provisioning.results import FORMATS, RESOURCES
from app.ui.basics import Node, aria, card, data, icon, notice, phase_badge, state_badge
from app.ui.links import segments
from app.ui.tables import download, html_table
from core.bootstrap_intervals import LEAST_UNITS
from core.errors import PhaseDockError
from core.provisioning.fleet import Resource
from core.provisioning.verdict.savings import assumptions, money
from core.provisioning.verdict.standing import State, ran_out
from core.provisioning.verdict.verdict import FIXED, KEEP, STEERED, mean_over
from core.tables import Column, Table
from core.units import (
    Unit,
    format_bytes,
    format_change,
    format_number,
    format_set_share,
    format_share,
    format_value,
    phase_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from app.context import Choice
    from app.pages.provisioning.results import View
    from app.ui.evaluations import Result
    from core.provisioning.verdict.savings import PriceSettings, Saved
    from core.provisioning.verdict.standing import Standing
    from core.provisioning.verdict.verdict import Card, Line, Option, PhaseAmount, Verdict


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
        html.P(_trust_text(found), className="small ink2"),
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
    saves = f"Saves {money(value, prices)} per day"
    if found.held_out >= LEAST_UNITS:
        return saves
    alike = "the one" if found.held_out == 1 else f"the {found.held_out}"
    return f"{saves}, if all are like {alike} held out"


def _trust_text(found: Card) -> str:
    """How far the recommendation can be trusted: once where that is the same for each resource."""
    options = [line.recommended for line in found.lines if line.recommended is not None]
    sentences = [each.standing.sentence for each in options]
    memory = found.line(Resource.MEMORY)
    if len(options) > 1 and options[0].standing.state in (State.UNTESTED, State.FEW):
        risk = ""
        if memory is not None and memory.recommended is not None and found.held_out:
            killed = memory.fixed if memory.recommended.way == KEEP and memory.fixed else memory.recommended
            title = "A fixed memory limit: " if killed is memory.fixed else ""
            outcome = ran_out(killed.found, found.held_out)
            outcome = within(outcome) if title else outcome
            if killed.standing.state is State.UNTESTED:
                outcome = "it was made from the very container that was held out, so nothing was tested."
            risk = f" {title}{outcome}"
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
        why = html.Div(f"Current: {line.now_is}. {_fixed_limit(line, line.exported)}", className="small ink3")
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
    fixed = _fixed_limit(line, line.exported) if option.way == STEERED and line.exported is not None else ""
    body.append(html.Div(f"Current: {line.now_is}. {fixed}", className="small ink3"))
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


def _fixed_limit(line: Line, option: Option | None) -> str:
    """What the export sets in place of a policy that changes what it gives."""
    if option is None:
        return ""
    values = option.found
    tested = "" if values["tested"] else " (not tested)"
    short = format_share(values["under_time_0"])
    if not option.kept:
        amount = amount_of(option.amount, line.unit)
        return f"No fixed limit is good enough: {amount} is short {short} of the time."
    return f"Fixed limit: {amount_of(option.amount, line.unit)}, short {short} of the time{tested}."


def amount_of(value: float, unit: Unit) -> str:
    """An amount with its unit; bytes as people say them."""
    return format_bytes(value) if unit is Unit.BYTES else format_value(value, unit)


SHOWN, MOST = 6, 60


def verdict_cards(found: Verdict, report: Mapping[str, Any], view: View, csv: str) -> list[Node]:
    """The card of all containers together, then one per workload."""
    whole = card(
        "Verdict",
        html.Div(
            [
                html.Div(_headline(found, view), className="headline four"),
                *([now_and_then(found.whole, view)] if found.by is None else []),
                html.Ul(_reasons(found, report), className="reasons"),
                html.P(
                    " ".join([found.against, *assumptions(report["recorded"], view.prices)]).strip(),
                    className="small ink3",
                ),
            ],
            className="stack",
        ),
        note=_basis(found, report),
        tools=[badge([each.state for each in found.risk.values()]), download("verdict", csv)],
        class_name="verdict",
    )
    if found.by is None:
        return [whole]
    cards = [workload_card(each, view) for each in found.cards[:MOST]]
    shown, folded = cards[:SHOWN], cards[SHOWN:]
    return [whole, _in_a_row(shown, "Workloads"), _folded(folded, len(found.cards) - SHOWN)]


def _in_a_row(cards: Sequence[Node], label: str) -> html.Div:
    """Cards of workloads, which a phone shows in one row to swipe through, by keyboard as well."""
    return html.Div(list(cards), className="workloads", tabIndex="0", role="region", **aria(label=label))


def _folded(cards: Sequence[Node], count: int) -> Node:
    """The other workloads, folded away; the CSV has them all."""
    if not cards:
        return None
    cut = html.P(f"The first {MOST} of them; the CSV has all.", className="small ink3")
    title = f"{count:,} more workload{'s' if count != 1 else ''}"
    return html.Details(
        [
            html.Summary([icon("chevron-right", "sm"), html.Span(title)]),
            _in_a_row(cards, title),
            cut if count > len(cards) else None,
        ],
        className="own",
    )


def _basis(found: Verdict, report: Mapping[str, Any]) -> str:
    n, held_out = found.whole.containers, found.whole.held_out
    of = f"{held_out:,} of {n:,} containers held out" if held_out else "1 container, replayed on itself"
    n = len(found.cards)
    workloads = f", {n:,} workload{'s' if n != 1 else ''} by “{found.by}”" if found.by else ""
    share = format_set_share(report["settings"]["tolerance"])
    return f"{of}{workloads}; scaled to {share} time short"


def _headline(found: Verdict, view: View) -> list[Node]:
    """Money, cores, memory, and how often that is too little."""
    boxes = []
    if found.money is not None:
        label = "Saved per day" if found.money >= 0 else "Costs more per day"
        boxes.append(_box(label, money(abs(found.money), view.prices), _certainty(found)))
    for line in found.whole.lines:
        total = found.total(line.resource)
        if total is not None:
            boxes.append(
                _amount_box(
                    line,
                    total,
                    now=_now_total(found, line.resource),
                    instead=bool(_instead(found, line)),
                )
            )
    first = next((line for line in found.whole.lines if line.steered is not None), None)
    if first is not None:
        boxes.append(_short_box(found, first))
    return boxes


def _short_box(found: Verdict, line: Line) -> html.Div:
    """How often what is recommended is too little, over all workloads that were tested."""
    cards = [card for card in found.cards if card.held_out] or [found.whole]
    taken = [
        (card, each.recommended)
        for card in cards
        if (each := card.line(line.resource)) is not None and each.recommended is not None
    ]
    short, by_five, resizes = (
        mean_over(taken, name) for name in ("under_time_0", "under_time_05", "resizes_per_hour")
    )
    ways = dict.fromkeys(option.policy if option.way == STEERED else option.way for _, option in taken)
    how = " or ".join("as they are" if way == KEEP else way for way in ways)
    often = f"resized {format_number(resizes, 1)} times per hour" if resizes else "never resized"
    return _box(
        f"{RESOURCES[line.resource.value]} time short",
        format_share(short),
        f"{format_share(by_five)} by more than 5%; {often}; {how}",
    )


def _certainty(found: Verdict) -> str:
    """How much of the money was tested."""
    if not found.whole.held_out:
        return "on the past of one container; no promise"
    if found.money is not None and found.money < 0:
        return "no way of those compared saves anything: leave the containers as they are"
    few = found.whole.held_out
    if few < LEAST_UNITS:
        return f"measured on {few} held-out container{'s' if few != 1 else ''}: nothing to rely on"
    if found.untested:
        n = len(found.untested)
        return f"without {n:,} workload{'s' if n != 1 else ''} that had no container held out"
    return "as recommended below, under the assumptions named"


def _now_total(found: Verdict, resource: Resource) -> float | None:
    """What all workloads that were tested have now, per container on average."""
    line = found.whole.line(resource)
    return None if line is None else line.now


def _amount_box(line: Line, total: Saved, now: float | None, *, instead: bool) -> html.Div:
    what = RESOURCES[line.resource.value]
    inside = what if what.isupper() else what.lower()
    hours = {Unit.CORES: "core-hours", Unit.BYTES: "GiB-hours"}.get(line.unit)
    day = f"{format_number(abs(total.per_day), 1)} {hours} per day" if hours else "share of the machine"
    has = "" if now is None else f"; now {format_value(now, line.unit)} per container"
    if not instead and line.recommended is not None and line.recommended.interval is not None:
        has += f"; with {line.recommended.policy} {change(line.recommended)}"
    return _box(
        f"{f'{what} saved' if total.amount >= 0 else f'More {inside} needed'}, at any time",
        amount_of(abs(total.amount), line.unit),
        f"{day}{has}",
    )


def _box(label: str, value: str, note: str) -> html.Div:
    number, _, unit = value.partition(" ")
    return html.Div(
        [
            html.Div(label, className="ink3 small"),
            html.Div([number, " ", html.Small(unit)], className="value"),
            html.Div(note, className="small ink2"),
        ]
    )


def _reasons(found: Verdict, report: Mapping[str, Any]) -> list[html.Li]:
    """Which policy and why, how far it can be trusted, and what the traces do not have."""
    items = []
    for line in found.whole.lines:
        choice, name = found.picks[line.resource], RESOURCES[line.resource.value]
        instead = _instead(found, line)
        risk = found.risk.get(line.resource)
        sure = choice.better and not instead and risk is not None and risk.state is State.SAFE
        title = f"{name}: {choice.policy}." if choice.policy else f"{name}."
        if instead and choice.policy:
            title = f"If {name if name.isupper() else name.lower()} were steered: {choice.policy}."
        kind = ("circle-check", "ok") if sure else ("info-circle", "info")
        items += [*instead, _reason(*kind, [html.B(title), " ", choice.sentence])]
        if line.resource in found.risk and found.whole.held_out:
            items.append(_trust(line.resource, found.risk[line.resource]))
    if not found.whole.held_out and found.risk:
        sentence = next(iter(found.risk.values())).sentence
        items.append(_reason("alert-triangle", "warn", [html.B("Nothing was tested."), " ", sentence]))
    if (report.get("model") or {}).get("trained_on") == "held_out":
        sentence = "Its phase model was trained on these very containers, so it may do worse on others."
        items.append(_reason("info-circle", "info", [html.B("Seen before."), " ", sentence]))
    items += [
        _reason("info-circle", "info", [html.B(f"{RESOURCES[missing]}."), " Not recorded in these traces."])
        for missing in RESOURCES
        if missing not in report["resources"]
    ]
    if found.untested and found.whole.held_out:
        names = _named(found.untested)
        sentence = f" No container of {names} was held out: not tested, and in no total."
        items.append(_reason("alert-triangle", "warn", [html.B("Not tested."), sentence]))
    return items


def _named(names: Sequence[str]) -> str:
    """The first five of some workloads."""
    if len(names) > 5:
        return f"{', '.join(names[:5])} …"
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _trust(resource: Resource, risk: Standing) -> html.Li:
    words, kind, picture = STATES[risk.state]
    text = [html.B(f"{RESOURCES[resource.value]}, {words}."), " ", risk.sentence]
    return _reason(picture, kind or "info", text)


def _instead(found: Verdict, line: Line) -> list[html.Li]:
    """That a fixed amount is recommended where the policy would run out of memory, or takes more."""
    lines = [card.line(line.resource) for card in found.cards]
    ways = [each.recommended.way for each in lines if each is not None and each.recommended is not None]
    fixed, keep = ways.count(FIXED), ways.count(KEEP)
    if not fixed + keep:
        return []
    if line.resource is not Resource.MEMORY:
        return [_fixed_instead(found, line, fixed, len(lines))]
    policy = ""
    if line.steered is not None and found.whole.held_out:
        killed = within(ran_out(line.steered.found, found.whole.held_out))
        policy = f" With {line.steered.policy}: {killed}"
    which = f" for {fixed:,} of {len(lines):,} workloads" if len(lines) > 1 else ""
    how = f"recommended{which}"
    if found.whole.held_out < LEAST_UNITS:
        how = f"proposed{which}, though not shown to be safe"
    instead = f" a fixed limit is {how}: the highest use in training, plus headroom"
    stay = f"{keep:,} of {len(lines):,} workloads keep what they have, as a fixed limit would kill, too"
    if len(lines) == 1:
        stay = "the containers keep what they have, as a fixed limit would kill, too"
    parts = [instead.strip()] * bool(fixed) + [stay] * bool(keep)
    text = f" Too little memory kills, so {'; '.join(parts)}.{policy}"
    title = "Memory: fixed limits." if fixed else "Memory: leave it as it is."
    return [_reason("info-circle", "info", [html.B(title), text])]


def _fixed_instead(found: Verdict, line: Line, fixed: int, n: int) -> html.Li:
    """That a fixed amount does better than the policy."""
    which = f" for {fixed:,} of {n:,} workloads" if n > 1 else ""
    how = "recommended" if found.whole.held_out >= LEAST_UNITS else "proposed, though not shown to be safe,"
    policy = found.picks[line.resource].policy
    text = (
        f" Where {policy} falls short, or takes more than a fixed amount that does not, the fixed amount is "
        f"{how}{which}. It is never resized."
    )
    return _reason("info-circle", "info", [html.B(f"{RESOURCES[line.resource.value]}: fixed amounts."), text])


def _reason(picture: str, kind: str, text: list[Node]) -> html.Li:
    return html.Li([html.Span(icon(picture), className=kind), html.Span(text)])


def phases_card(found: Verdict, view: View, tolerance: float) -> html.Section | None:
    """The fixed amount of every phase, a row per workload; None without phases."""
    resource = Resource(view.resource)
    lines = [(each, line) for each in found.cards if (line := each.line(resource)) is not None]
    phases = sorted({each.phase for _, line in lines for each in line.by_phase}, key=lambda n: (n < 0, n))
    if not phases:
        return None
    unit, keys = lines[0][1].unit, [phase_name(phase) for phase in phases]
    show = partial(amount_of, unit=unit)
    columns = [Column("workload", "Workload"), Column("all", "All phases", show)]
    columns += [Column(key, key, lambda each: show(each.amount)) for key in keys]
    rows = [
        (each.name or "all containers", line.fixed and line.fixed.amount, *_by_phase(line, phases))
        for each, line in lines[:MOST]
    ]
    table = html_table(
        Table("phases", columns, rows),
        "Fixed amount of each workload in each phase",
        cells={
            "workload": lambda row: html.B(row[0]),
            "all": lambda row: html.Span(columns[1].text(row[1]), className="strong"),
            **{key: partial(_phase_cell, at, unit, tolerance) for at, key in enumerate(keys, 2)},
        },
        heads=dict(zip(keys, map(phase_badge, phases), strict=True)),
    )
    cut = f"; the first {MOST} of {len(lines):,} workloads" if len(lines) > MOST else ""
    return card(
        "Fixed amounts by phase",
        html.Div(table, className="byphase"),
        note=f"{RESOURCES[view.resource]}, made and tested like the fixed amount of all phases{cut}",
        flush=True,
    )


def _by_phase(line: Line, phases: Sequence[int]) -> list[PhaseAmount | None]:
    amounts = {each.phase: each for each in line.by_phase}
    return [amounts.get(phase) for phase in phases]


def _phase_cell(at: int, unit: Unit, tolerance: float, row: Sequence[Any]) -> Node:
    """The amount, with how often it fell short, in red where that is more than tolerated."""
    each: PhaseAmount | None = row[at]
    if each is None:
        return "–"
    made = f"from {each.made_from:,} container{'s' if each.made_from != 1 else ''}"
    if each.time_short is None:
        short, title = "not tested", f"{made}; no held-out container was in this phase"
    else:
        short = f"short {format_share(each.time_short)}"
        title = f"{made}; {'tested on held-out containers' if each.tested else 'not tested on others'}"
    bad = each.tested and each.time_short is not None and each.time_short > tolerance
    return html.Span(
        [amount_of(each.amount, unit), html.Span(short, className=f"small {'bad' if bad else 'ink3'}")],
        title=title,
    )


_SHOWN_CHARACTERS = 12_000


def manifest_card(found: Verdict, result: Result, view: View, choice: Choice) -> html.Section:
    """The tabs of formats, and the file in the chosen one."""
    tabs = segments(view, "format", FORMATS, view.form, "Format of the export")
    body = html.Div([_what(found), *_export(tabs, result, view, choice)], className="stack")
    return card("Set it", body, class_name="setit")


def _what(found: Verdict) -> Node:
    """Which policies are exported."""
    chosen = [
        f"{RESOURCES[resource.value]}: {each.policy}" for resource, each in found.picks.items() if each.policy
    ]
    text = (
        ". A manifest holds one amount for a container’s whole life. Where a policy changes what it gives, "
        "that is a fixed amount with the same promise, judged on its own."
    )
    return html.P([html.B(", ".join(chosen)), text], className="small ink2") if chosen else None


def _export(tabs: Node, result: Result, view: View, choice: Choice) -> list[Node]:
    try:
        text = results.manifest(choice, result, view, view.form)
    except PhaseDockError as error:
        return [tabs, notice("warn", error.hint, strong=error.message)]
    tools = _file_tools(results.manifest_address(choice, result, view, view.form))
    long = len(text) > _SHOWN_CHARACTERS
    cut = "The file is longer than what is shown here; download it for the rest."
    return [
        html.Div([tabs, tools], className="row between wrap"),
        _manifest(text[:_SHOWN_CHARACTERS] + "\n…" if long else text, view.form),
        html.P(cut, className="small ink3") if long else None,
    ]


def _file_tools(address: str) -> html.Div:
    """The buttons that copy and download the file."""
    return html.Div(
        [
            html.Button(
                [icon("copy"), html.Span("Copy", **data(label="true"))],
                type="button",
                className="btn small",
                **data(fetch=address),
            ),
            html.A([icon("download"), "Download"], href=address, className="btn small", download=""),
        ],
        className="row",
    )


def _manifest(text: str, form: str) -> html.Pre:
    return html.Pre(
        text,
        className="manifest" if form in ("json", "csv") else "manifest wrap",
        tabIndex="0",
        role="region",
        **aria(label=f"Verdict, {FORMATS[form]}"),
    )
