"""The answer, before all else: what is saved, what is recommended for each workload, and at which risk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.pages.provisioning.query import RESOURCES
from app.pages.provisioning.workload import (
    STATES,
    amount_of,
    badge,
    change,
    now_and_then,
    within,
    workload_card,
)
from app.ui.basics import Node, aria, card, icon
from app.ui.export import download
from core.provisioning.evaluation.intervals import LEAST_UNITS
from core.provisioning.fleet import Resource
from core.provisioning.verdict.answer import FIXED, KEEP, STEERED
from core.provisioning.verdict.savings import assumptions, money
from core.provisioning.verdict.standing import State, ran_out
from core.provisioning.verdict.verdict import mean_over
from core.units import (
    Unit,
    format_number,
    format_set_share,
    format_share,
    format_value,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from app.pages.provisioning.query import View
    from core.provisioning.verdict.answer import Line, Verdict
    from core.provisioning.verdict.savings import Saved
    from core.provisioning.verdict.standing import Standing

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


def _box(label: str, value: str, said: str) -> html.Div:
    number, _, unit = value.partition(" ")
    return html.Div(
        [
            html.Div(label, className="ink3 small"),
            html.Div([number, " ", html.Small(unit)], className="value"),
            html.Div(said, className="small ink2"),
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
        said = next(iter(found.risk.values())).sentence
        items.append(_reason("alert-triangle", "warn", [html.B("Nothing was tested."), " ", said]))
    if (report.get("model") or {}).get("trained_on") == "held_out":
        said = "Its phase model was trained on these very containers, so it may do worse on others."
        items.append(_reason("info-circle", "info", [html.B("Seen before."), " ", said]))
    items += [
        _reason("info-circle", "info", [html.B(f"{RESOURCES[missing]}."), " Not recorded in these traces."])
        for missing in RESOURCES
        if missing not in report["resources"]
    ]
    if found.untested and found.whole.held_out:
        names = _named(found.untested)
        said = f" No container of {names} was held out, so nothing was tested for them; no total counts them."
        items.append(_reason("alert-triangle", "warn", [html.B("Not tested."), said]))
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
    said = [instead.strip()] * bool(fixed) + [stay] * bool(keep)
    text = f" Too little memory kills, so {'; '.join(said)}.{policy}"
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
