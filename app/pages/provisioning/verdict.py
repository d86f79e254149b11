"""The verdict: the saving, the recommendation for each workload, and its risk."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dash import html

from app.pages.provisioning import results
from app.pages.provisioning.results import FORMATS, RESOURCES
from app.ui.basics import Node, aria, card, data, icon, notice, phase_badge, state_badge
from app.ui.links import segments
from app.ui.tables import download, html_table
from core.bootstrap_intervals import MIN_UNITS
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
"""Amounts below this are written as zero."""
STATES = {
    State.UNTESTED: ("not tested", "warn", "alert-triangle"),
    State.FEW: ("too few to tell", "warn", "alert-triangle"),
    State.BROKEN: ("falls short", "bad", "circle-x"),
    State.OPEN: ("not certain", "", "info-circle"),
    State.SAFE: ("safe", "ok", "circle-check"),
}
"""The badge of each standing: its words, its kind, and its icon."""
_WORST = (State.UNTESTED, State.FEW, State.BROKEN, State.OPEN, State.SAFE)


def workload_card(workload: Card, view: View) -> html.Section:
    """The card of one workload: present and recommended amounts, saving, and risk."""
    tested = f"{workload.held_out:,} of {workload.containers:,} held out"
    head = workload.name or "without a name"
    worth = _saving_text(workload, view.prices)
    return card(
        html.Span(head, className="truncate", title=head),
        amounts_table(workload, view),
        html.P([html.B(worth)], className="worth") if worth else None,
        html.P(_trust_text(workload), className="small ink2"),
        note=tested,
        tools=[badge([each.recommended.standing.state for each in workload.lines if each.recommended])],
        class_name="workload",
    )


def _saving_text(workload: Card, prices: PriceSettings) -> str:
    """The saving per day, with a condition while few containers were held out."""
    value = workload.worth
    if value is None or abs(value) < _NO_MONEY:
        return ""
    if not workload.held_out:
        verb = "saved" if value >= 0 else "cost more"
        return f"Would have {verb}: {money(abs(value), prices)} per day, on its training data"
    if value < 0:
        return f"Costs {money(-value, prices)} per day more: keep the present amounts"
    saves = f"Saves {money(value, prices)} per day"
    if workload.held_out >= MIN_UNITS:
        return saves
    alike = "the one" if workload.held_out == 1 else f"the {workload.held_out}"
    return f"{saves}, if all are like {alike} held out"


def _trust_text(workload: Card) -> str:
    """The risk of the recommendation, once if it is the same for each resource."""
    options = [line.recommended for line in workload.lines if line.recommended is not None]
    sentences = [each.standing.sentence for each in options]
    memory = workload.line(Resource.MEMORY)
    if len(options) > 1 and options[0].standing.state in (State.UNTESTED, State.FEW):
        risk = ""
        if memory is not None and memory.recommended is not None and workload.held_out:
            killed = (
                memory.fixed if memory.recommended.method == KEEP and memory.fixed else memory.recommended
            )
            title = "A fixed memory limit: " if killed is memory.fixed else ""
            outcome = ran_out(killed.evidence, workload.held_out)
            outcome = lower_first(outcome) if title else outcome
            if killed.standing.state is State.UNTESTED:
                outcome = "the held-out container was also the training data, so nothing was tested."
            risk = f" {title}{outcome}"
        return sentences[0] + risk
    return " ".join(sentences)


def badge(states: Sequence[State]) -> Node:
    """The badge of the worst standing."""
    if not states:
        return None
    return state_badge(*STATES[min(states, key=_WORST.index)])


def amounts_table(workload: Card, view: View) -> html.Div:
    """One row per resource: present amount, recommended amount, and its effect."""
    return html.Div([_line(line, view) for line in workload.lines], className="nowthen")


def _line(line: Line, view: View) -> html.Div:
    option, name = line.recommended, RESOURCES[line.resource.value]
    if option is None:
        return html.Div(
            [html.Span(name, className="ink3"), html.Div("Nothing to recommend.")], className="res"
        )
    if option.method == KEEP:
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
    fixed = (
        _fixed_limit(line, line.exported) if option.method == STEERED and line.exported is not None else ""
    )
    body.append(html.Div(f"Current: {line.now_is}. {fixed}", className="small ink3"))
    return html.Div([html.Span(name, className="ink3"), html.Div(body)], className="res")


def change(option: Option) -> str:
    """The relative change from now, with its interval if there is one."""
    if option.saved_share is None:
        return ""
    text = format_change(-option.saved_share, 0)
    if option.interval is None:
        return text
    low, high = (format_change(-each, 0) for each in reversed(option.interval))
    return f"{text} (95%: {low} to {high})"


def _does(line: Line, option: Option) -> str:
    """Time short, resizes and out-of-memory events of an option."""
    values = option.evidence
    steered = option.method == STEERED
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
    """The saving of an option over all containers of the workload."""
    hours = {Unit.CORES: "core-hours", Unit.BYTES: "GiB-hours"}.get(unit)
    if hours is None:
        return ""
    worth = option.saved
    if option.saved_share is not None and abs(option.saved_share) < _SAME:
        return "About the present amount"
    text = f"{amount_of(abs(worth.amount), unit)}, {format_number(abs(worth.per_day), 1)} {hours} per day"
    if worth.money is not None:
        text += f", {money(abs(worth.money), view.prices)}"
    if option.standing.state is State.UNTESTED:
        return f"Would have saved {text}" if worth.amount >= 0 else f"Would have needed {text} more"
    return f"Saves {text}" if worth.amount >= 0 else f"Needs {text} more"


def lower_first(sentence: str) -> str:
    """A sentence that starts in lower case, for after a colon."""
    return sentence[:1].lower() + sentence[1:]


def _fixed_limit(line: Line, option: Option | None) -> str:
    """The fixed limit that the export sets in place of a policy."""
    if option is None:
        return ""
    values = option.evidence
    tested = "" if values["tested"] else " (not tested)"
    short = format_share(values["under_time_0"])
    if not option.keeps_promise:
        amount = amount_of(option.amount, line.unit)
        return f"No fixed limit is good enough: {amount} is short {short} of the time."
    return f"Fixed limit: {amount_of(option.amount, line.unit)}, short {short} of the time{tested}."


def amount_of(value: float, unit: Unit) -> str:
    """An amount with its unit; bytes in KiB, MiB or GiB."""
    return format_bytes(value) if unit is Unit.BYTES else format_value(value, unit)


MAX_OPEN, MAX_WORKLOADS = 6, 60


def verdict_cards(verdict: Verdict, report: Mapping[str, Any], view: View, csv: str) -> list[Node]:
    """The card of all containers together, then one per workload."""
    whole = card(
        "Verdict",
        html.Div(
            [
                html.Div(_headline(verdict, view), className="headline four"),
                *([amounts_table(verdict.whole, view)] if verdict.by is None else []),
                html.Ul(_reasons(verdict, report), className="reasons"),
                html.P(
                    " ".join([verdict.against, *assumptions(report["recorded"], view.prices)]).strip(),
                    className="small ink3",
                ),
            ],
            className="stack",
        ),
        note=_basis(verdict, report),
        tools=[badge([each.state for each in verdict.risk.values()]), download("verdict", csv)],
        class_name="verdict",
    )
    if verdict.by is None:
        return [whole]
    cards = [workload_card(each, view) for each in verdict.cards[:MAX_WORKLOADS]]
    open_cards, folded = cards[:MAX_OPEN], cards[MAX_OPEN:]
    return [whole, _in_a_row(open_cards, "Workloads"), _folded(folded, len(verdict.cards) - MAX_OPEN)]


def _in_a_row(cards: Sequence[Node], label: str) -> html.Div:
    """Cards of workloads, on a phone in one row to swipe through, also by keyboard."""
    return html.Div(list(cards), className="workloads", tabIndex="0", role="region", **aria(label=label))


def _folded(cards: Sequence[Node], count: int) -> Node:
    """The other workloads, folded away; the CSV has them all."""
    if not cards:
        return None
    cut = html.P(f"The first {MAX_WORKLOADS} of them; the CSV has all.", className="small ink3")
    title = f"{count:,} more workload{'s' if count != 1 else ''}"
    return html.Details(
        [
            html.Summary([icon("chevron-right", "sm"), html.Span(title)]),
            _in_a_row(cards, title),
            cut if count > len(cards) else None,
        ],
        className="own",
    )


def _basis(verdict: Verdict, report: Mapping[str, Any]) -> str:
    n, held_out = verdict.whole.containers, verdict.whole.held_out
    held_out_text = (
        f"{held_out:,} of {n:,} containers held out" if held_out else "1 container, replayed on itself"
    )
    n = len(verdict.cards)
    workloads = f", {n:,} workload{'s' if n != 1 else ''} by “{verdict.by}”" if verdict.by else ""
    share = format_set_share(report["settings"]["tolerance"])
    return f"{held_out_text}{workloads}; scaled to {share} time short"


def _headline(verdict: Verdict, view: View) -> list[Node]:
    """The boxes of money, cores, memory and time short."""
    boxes = []
    if verdict.money is not None:
        label = "Saved per day" if verdict.money >= 0 else "Costs more per day"
        boxes.append(_box(label, money(abs(verdict.money), view.prices), _certainty(verdict)))
    for line in verdict.whole.lines:
        total = verdict.total(line.resource)
        if total is not None:
            boxes.append(
                _amount_box(
                    line,
                    total,
                    now=_now_total(verdict, line.resource),
                    instead=bool(_instead(verdict, line)),
                )
            )
    first = next((line for line in verdict.whole.lines if line.steered is not None), None)
    if first is not None:
        boxes.append(_time_short_box(verdict, first))
    return boxes


def _time_short_box(verdict: Verdict, line: Line) -> html.Div:
    """The time short under the recommendations, over all tested workloads."""
    cards = [card for card in verdict.cards if card.held_out] or [verdict.whole]
    recommended = [
        (card, each.recommended)
        for card in cards
        if (each := card.line(line.resource)) is not None and each.recommended is not None
    ]
    short, by_five, resizes = (
        mean_over(recommended, name) for name in ("under_time_0", "under_time_05", "resizes_per_hour")
    )
    actions = dict.fromkeys(
        option.policy if option.method == STEERED else option.method for _, option in recommended
    )
    actions_text = " or ".join("as they are" if action == KEEP else action for action in actions)
    often = f"resized {format_number(resizes, 1)} times per hour" if resizes else "never resized"
    return _box(
        f"{RESOURCES[line.resource.value]} time short",
        format_share(short),
        f"{format_share(by_five)} by more than 5%; {often}; {actions_text}",
    )


def _certainty(verdict: Verdict) -> str:
    """A note on how far the saved money was tested."""
    if not verdict.whole.held_out:
        return "on one container’s own past; not tested"
    if verdict.money is not None and verdict.money < 0:
        return "no compared policy saves anything: keep the present amounts"
    held_out = verdict.whole.held_out
    if held_out < MIN_UNITS:
        return f"measured on {held_out} held-out container{'s' if held_out != 1 else ''}: too few to rely on"
    if verdict.untested:
        n = len(verdict.untested)
        return f"excludes {n:,} workload{'s' if n != 1 else ''} without held-out containers"
    return "as recommended below, under the listed assumptions"


def _now_total(verdict: Verdict, resource: Resource) -> float | None:
    """The present amount per container, averaged over all tested workloads."""
    line = verdict.whole.line(resource)
    return None if line is None else line.now


def _amount_box(line: Line, total: Saved, now: float | None, *, instead: bool) -> html.Div:
    resource = RESOURCES[line.resource.value]
    inside = resource if resource.isupper() else resource.lower()
    hours = {Unit.CORES: "core-hours", Unit.BYTES: "GiB-hours"}.get(line.unit)
    day = f"{format_number(abs(total.per_day), 1)} {hours} per day" if hours else "share of the machine"
    has = "" if now is None else f"; now {format_value(now, line.unit)} per container"
    if not instead and line.recommended is not None and line.recommended.interval is not None:
        has += f"; with {line.recommended.policy} {change(line.recommended)}"
    return _box(
        f"{f'{resource} saved' if total.amount >= 0 else f'More {inside} needed'}, at any time",
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


def _reasons(verdict: Verdict, report: Mapping[str, Any]) -> list[html.Li]:
    """The reasons for the policies, their risks, and what the traces lack."""
    items = []
    for line in verdict.whole.lines:
        choice, name = verdict.picks[line.resource], RESOURCES[line.resource.value]
        instead = _instead(verdict, line)
        risk = verdict.risk.get(line.resource)
        is_certain = choice.better and not instead and risk is not None and risk.state is State.SAFE
        title = f"{name}: {choice.policy}." if choice.policy else f"{name}."
        if instead and choice.policy:
            title = f"If {name if name.isupper() else name.lower()} were steered: {choice.policy}."
        kind = ("circle-check", "ok") if is_certain else ("info-circle", "info")
        items += [*instead, _reason(*kind, [html.B(title), " ", choice.sentence])]
        if line.resource in verdict.risk and verdict.whole.held_out:
            items.append(_trust(line.resource, verdict.risk[line.resource]))
    if not verdict.whole.held_out and verdict.risk:
        sentence = next(iter(verdict.risk.values())).sentence
        items.append(_reason("alert-triangle", "warn", [html.B("Nothing was tested."), " ", sentence]))
    if (report.get("model") or {}).get("trained_on") == "held_out":
        sentence = "Its phase model was trained on these containers, so it may perform worse on others."
        items.append(_reason("info-circle", "info", [html.B("Trained on these."), " ", sentence]))
    items += [
        _reason("info-circle", "info", [html.B(f"{RESOURCES[missing]}."), " Not recorded in these traces."])
        for missing in RESOURCES
        if missing not in report["resources"]
    ]
    if verdict.untested and verdict.whole.held_out:
        names = _list_first(verdict.untested)
        sentence = f" No container of {names} was held out: not tested, and not in the totals."
        items.append(_reason("alert-triangle", "warn", [html.B("Not tested."), sentence]))
    return items


def _list_first(names: Sequence[str]) -> str:
    """The first five names as a list."""
    if len(names) > 5:
        return f"{', '.join(names[:5])} …"
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _trust(resource: Resource, risk: Standing) -> html.Li:
    words, kind, picture = STATES[risk.state]
    text = [html.B(f"{RESOURCES[resource.value]}, {words}."), " ", risk.sentence]
    return _reason(picture, kind or "info", text)


def _instead(verdict: Verdict, line: Line) -> list[html.Li]:
    """The reason to set a fixed amount where the policy runs out of memory or allocates more."""
    lines = [card.line(line.resource) for card in verdict.cards]
    ways = [each.recommended.method for each in lines if each is not None and each.recommended is not None]
    fixed, keep = ways.count(FIXED), ways.count(KEEP)
    if not fixed + keep:
        return []
    if line.resource is not Resource.MEMORY:
        return [_fixed_instead(verdict, line, fixed, len(lines))]
    policy = ""
    if line.steered is not None and verdict.whole.held_out:
        killed = lower_first(ran_out(line.steered.evidence, verdict.whole.held_out))
        policy = f" With {line.steered.policy}: {killed}"
    scope = f" for {fixed:,} of {len(lines):,} workloads" if len(lines) > 1 else ""
    how = f"recommended{scope}"
    if verdict.whole.held_out < MIN_UNITS:
        how = f"proposed{scope}, though not shown to be safe"
    instead = f" a fixed limit is {how}: the peak in training plus headroom"
    stay = f"{keep:,} of {len(lines):,} workloads keep their limits, as a fixed limit would kill, too"
    if len(lines) == 1:
        stay = "the containers keep their limits, as a fixed limit would kill, too"
    parts = [instead.strip()] * bool(fixed) + [stay] * bool(keep)
    text = f" Too little memory kills, so {'; '.join(parts)}.{policy}"
    title = "Memory: fixed limits." if fixed else "Memory: leave it as it is."
    return [_reason("info-circle", "info", [html.B(title), text])]


def _fixed_instead(verdict: Verdict, line: Line, fixed: int, n: int) -> html.Li:
    """The reason to set a fixed amount where it performs better than the policy."""
    scope = f" for {fixed:,} of {n:,} workloads" if n > 1 else ""
    how = "recommended" if verdict.whole.held_out >= MIN_UNITS else "proposed, though not shown to be safe"
    policy = verdict.picks[line.resource].policy
    text = (
        f" A fixed amount is {how}{scope}, where {policy} falls short or allocates more than a fixed amount "
        "that does not. It is never resized."
    )
    return _reason("info-circle", "info", [html.B(f"{RESOURCES[line.resource.value]}: fixed amounts."), text])


def _reason(picture: str, kind: str, text: list[Node]) -> html.Li:
    return html.Li([html.Span(icon(picture), className=kind), html.Span(text)])


def phases_card(verdict: Verdict, view: View, tolerance: float) -> html.Section | None:
    """The fixed amount of every phase, a row per workload; None without phases."""
    resource = Resource(view.resource)
    lines = [(each, line) for each in verdict.cards if (line := each.line(resource)) is not None]
    phases = sorted({each.phase for _, line in lines for each in line.by_phase}, key=lambda n: (n < 0, n))
    if not phases:
        return None
    unit, keys = lines[0][1].unit, [phase_name(phase) for phase in phases]
    show = partial(amount_of, unit=unit)
    columns = [Column("workload", "Workload"), Column("all", "All phases", show)]
    columns += [Column(key, key, lambda each: show(each.amount)) for key in keys]
    rows = [
        (each.name or "all containers", line.fixed and line.fixed.amount, *_by_phase(line, phases))
        for each, line in lines[:MAX_WORKLOADS]
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
    cut = f"; the first {MAX_WORKLOADS} of {len(lines):,} workloads" if len(lines) > MAX_WORKLOADS else ""
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
    """The amount with its time short, in red above the tolerance."""
    each: PhaseAmount | None = row[at]
    if each is None:
        return "–"
    basis = f"from {each.made_from:,} container{'s' if each.made_from != 1 else ''}"
    if each.time_short is None:
        short, title = "not tested", f"{basis}; no held-out container was in this phase"
    else:
        short = f"short {format_share(each.time_short)}"
        title = f"{basis}; {'tested on held-out containers' if each.tested else 'not tested on others'}"
    bad = each.tested and each.time_short is not None and each.time_short > tolerance
    return html.Span(
        [amount_of(each.amount, unit), html.Span(short, className=f"small {'bad' if bad else 'ink3'}")],
        title=title,
    )


_SHOWN_CHARACTERS = 12_000


def manifest_card(verdict: Verdict, result: Result, view: View, choice: Choice) -> html.Section:
    """The tabs of formats, and the file in the chosen one."""
    tabs = segments(view, "format", FORMATS, view.form, "Format of the export")
    body = html.Div([_exported_policies(verdict), *_export(tabs, result, view, choice)], className="stack")
    return card("Set it", body, class_name="setit")


def _exported_policies(verdict: Verdict) -> Node:
    """The exported policies."""
    chosen = [
        f"{RESOURCES[resource.value]}: {each.policy}"
        for resource, each in verdict.picks.items()
        if each.policy
    ]
    text = (
        ". A manifest has one amount for a container’s whole life. For a policy that resizes, it is a fixed "
        "amount with the same risk target, tested separately."
    )
    return html.P([html.B(", ".join(chosen)), text], className="small ink2") if chosen else None


def _export(tabs: Node, result: Result, view: View, choice: Choice) -> list[Node]:
    try:
        text = results.manifest(choice, result, view, view.form)
    except PhaseDockError as error:
        return [tabs, notice("warn", error.hint, strong=error.message)]
    tools = _file_tools(results.manifest_address(choice, result, view, view.form))
    long = len(text) > _SHOWN_CHARACTERS
    cut_note = "This is the beginning of the file; download it for all."
    return [
        html.Div([tabs, tools], className="row between wrap"),
        _manifest(text[:_SHOWN_CHARACTERS] + "\n…" if long else text, view.form),
        html.P(cut_note, className="small ink3") if long else None,
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
