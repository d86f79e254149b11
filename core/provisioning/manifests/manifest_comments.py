"""Comments of every manifest: its source, its promise, and the evidence for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.errors import InputError
from core.plain_text import without_controls
from core.provisioning.fleet import Resource
from core.provisioning.verdict.savings import has_name
from core.provisioning.verdict.standing import State
from core.units import Unit, format_duration, format_share, format_value, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.provisioning.verdict.verdict import Card, Line, Option, Verdict

ABSOLUTE = (Unit.CORES, Unit.BYTES)


@dataclass(frozen=True, slots=True)
class About:
    """The source of a verdict."""

    #: Their names; the model's is None where no phases were used.
    traces: str
    model: str | None
    #: An ISO date.
    date: str
    #: The comparison's report, for its settings.
    report: Mapping[str, Any]
    #: What the figures per day rest on, in sentences.
    assumptions: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The comment that every file begins with."""
        split, settings = self.report["split"], self.report["settings"]
        n, held_out = len(set(split["training"]) | set(split["held_out"])), len(split["held_out"])
        once = f"each of {n:,} containers held out once" if split.get("folds") else ""
        tested = (
            once or f"{held_out:,} of {n:,} containers held out" if split["tested"] else "nothing held out"
        )
        short = format_share(settings["tolerance"])
        settings_text = f"cycle {format_duration(settings['cycle'])}, {short} of the time may fall short"
        return [
            "Made by PhaseDock from a comparison of policies",
            f"traces: {one_line(self.traces)}",
            f"model: {one_line(self.model or 'none')}",
            f"date: {one_line(self.date)}",
            f"comparison: {settings_text}, seed {settings['seed']}, {tested}",
            "Request and limit are the same: an amount that a container has and cannot exceed was judged.",
        ]


def one_line(text: str) -> str:
    """Without control characters, so that a name cannot end a comment."""
    return without_controls(text)


def can_be_written(card: Card, line: Line) -> bool:
    """Whether a manifest can set this: the workload has a name, and the amount is no share of a machine."""
    return has_name(card.name) and line.settable and line.unit in ABSOLUTE


def exportable(verdict: Verdict) -> list[tuple[Card, list[Line]]]:
    """The workloads that have a name, each with the lines that can be set.

    Raises
    ------
    InputError
        If there are none; the sentence says why.
    """
    cards = [
        (card, [line for line in card.lines if can_be_written(card, line)])
        for card in verdict.cards
        if has_name(card.name)
    ]
    usable = [(card, lines) for card, lines in cards if lines]
    if usable:
        return usable
    if not any(has_name(card.name) for card in verdict.cards):
        raise InputError(
            "These traces do not name workloads, so a manifest has no target.",
            "Import them with a column such as “workload” or “service”; JSON and CSV have the figures.",
        )
    if any(line.unit in ABSOLUTE for line in verdict.whole.lines):
        raise InputError(
            "No fixed amount kept its promise on the held-out containers.",
            "The workloads differ too much between containers: steer them on Live, or record more of them.",
        )
    raise InputError(
        "These traces have CPU and memory only as shares of a machine of unknown size.",
        "Import the file again with the machine’s cores and memory in the mapping.",
    )


def omission_comments(verdict: Verdict) -> list[str]:
    """Comments that name what has no manifest."""
    lines = []
    nameless = sum(card.containers for card in verdict.cards if not has_name(card.name))
    if nameless and verdict.by is not None:
        lines.append(f"# Left out: {nameless:,} containers whose “{one_line(verdict.by)}” is missing.")
    lines += [
        f"# {line.resource.value} is left out: the traces have it as a share of a machine of unknown size."
        for line in verdict.whole.lines
        if line.unit not in ABSOLUTE
    ]
    return lines


def sentences(card: Card, lines: Sequence[Line]) -> list[str]:
    """The promise for one workload, its reason, and how far it can be trusted."""
    texts = [f"workload: {one_line(card.name)}", *_withheld(card)]
    for line in lines:
        option = line.fixed
        if option is not None:
            texts += [
                _how(line, option),
                _promise(line, option, card),
                f"  {one_line(option.standing.sentence)}",
            ]
            if option.standing.state is not State.SAFE:
                texts.append("  Nothing here is recommended as safe.")
            if line.by_phase:
                texts.append(f"  By phase, by the same rule: {_phases(line)}.")
    return texts


def _phases(line: Line) -> str:
    """The amount of each phase, in a line."""
    return ", ".join(
        f"{each.name} {format_value(each.amount, line.unit)}"
        + ("" if each.time_short is None else f" (short {format_share(each.time_short)})")
        for each in line.by_phase
    )


def _withheld(card: Card) -> list[str]:
    """The reason why an amount is withheld: it broke its promise on held-out containers."""
    texts, n = [], card.held_out
    for line in card.lines:
        if line.fixed is None or line.fixed.keeps_promise:
            continue
        amount = format_value(line.fixed.amount, line.unit)
        short = format_share(line.fixed.evidence["under_time_0"])
        sample = f"{n:,} held-out container{'s' if n != 1 else ''}"
        texts.append(
            f"{line.resource.value} is left out: {amount} is not enough. On {sample} it was short "
            f"for {short} of the time."
        )
    return texts


def _how(line: Line, option: Option) -> str:
    what = (
        "their highest use plus headroom" if line.resource is Resource.MEMORY
        else "what none of them exceeds for more than the tolerated share of its time"
    )  # fmt: skip
    return f"{line.resource.value}: {what}, of {plural(len(option.evidence['made_from']), 'container')}."


def _promise(line: Line, option: Option, card: Card) -> str:
    evidence, tested = option.evidence, option.evidence["tested"]
    sample = (
        f"each of {plural(card.held_out, 'container')} judged with the amount of the others"
        if tested
        else "on the containers that it was made from"
    )
    amount, now = format_value(evidence["request"], line.unit), format_value(line.now, line.unit)
    short, by_five = (format_share(evidence[name], 2) for name in ("under_time_0", "under_time_05"))
    promise = (
        f"  With {amount}, {sample}: short {short} of the time, {by_five} by more than 5%, never resized; "
        f"current: {now}, {line.now_is}."
    )
    if line.resource is Resource.MEMORY:
        containers = plural(evidence["containers_short"], "container")
        promise += f" Runs out of memory {plural(evidence['events'], 'time')}, in {containers}."
    return promise


def facts(card: Card, lines: Sequence[Line]) -> list[str]:
    """The evidence as YAML for programs: amounts, containers, and every promised figure."""
    tested = any(line.fixed is not None and line.fixed.evidence["tested"] for line in lines)
    texts = [
        "evidence:",
        f"  workload: {_json(card.name)}",
        f"  tested_on: {_json(list(card.tested_on) if tested else [])}",
    ]
    for line in lines:
        if line.fixed is None:
            continue
        evidence = line.fixed.evidence
        values = {
            "way": line.fixed.method,
            "request": evidence["request"],
            "tested": evidence["tested"],
            "time_short_0": evidence["under_time_0"],
            "time_short_05": evidence["under_time_05"],
            "resizes_per_hour": evidence["resizes_per_hour"],
            "events": evidence["events"],
            "containers_short": evidence["containers_short"],
            "now": line.now,
            "saved_per_container": line.now - evidence["amount"],
            "state": line.fixed.standing.state.value,
            "by_phase": {each.name: each.amount for each in line.by_phase},
        }
        texts += [
            f"  {line.resource.value}:",
            *(f"    {name}: {_json(value)}" for name, value in values.items()),
        ]
        texts += [
            f"    {name}: {_json(evidence[name])}"
            for name in ("made_from", "folds", "on_all")
            if name in evidence
        ]
    return texts


def comments(card: Card, lines: Sequence[Line]) -> list[str]:
    """All sentences and facts as comments."""
    return [f"# {each}" for each in (*sentences(card, lines), *facts(card, lines))]


def _json(value: object) -> str:
    return one_line(json.dumps(value, ensure_ascii=False))
