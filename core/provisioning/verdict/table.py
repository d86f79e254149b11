"""The table of workloads: now, recommended, what that risks and saves, and how good the evidence is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from core.bootstrap_intervals import MIN_UNITS
from core.provisioning.fleet import Resource
from core.provisioning.verdict.standing import State, more_needed, unseen
from core.provisioning.verdict.verdict import KEEP
from core.tables import Column, Table
from core.units import format_count, format_number, format_share, format_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.provisioning.verdict.verdict import Card, Line, Verdict
    from core.units import Unit


class Evidence(StrEnum):
    """Levels of evidence for what is recommended for a workload, from none to strong."""

    NONE = "none"
    FAIR = "fair"
    GOOD = "good"
    STRONG = "strong"


AT_LEAST = "≥ "
"""Before an amount that runs at their own limit need at least."""

MIN_RUNS = 4
_KILLED = {Evidence.STRONG: 0.125, Evidence.GOOD: 1 / 3}
"""The share of runs that may yet run out of memory, at most, with 95% confidence."""
RULES = {
    Evidence.NONE: f"Fewer than {MIN_RUNS} held-out runs.",
    Evidence.FAIR: f"{MIN_RUNS} held-out runs or more; the 95% interval of the time short is not known, or "
    "what is allowed lies inside it, or runs were at their own limit.",
    Evidence.GOOD: "What is allowed lies outside the 95% interval of the time short; at most a third of runs "
    "may be killed (95% bound).",
    Evidence.STRONG: "What is allowed lies outside the 95% interval of the time short; at most one run in "
    "eight may be killed (95% bound).",
}
"""The rule of each level."""


@dataclass(frozen=True, slots=True)
class Amount:
    """One resource of a row."""

    #: What a container has now, and whether that is recorded; else it is the observed peak.
    now: float
    is_recorded: bool
    #: What it should have; the same where the present amount is kept.
    recommended: float
    unit: Unit
    #: Whether no fixed amount held, so that the present one stays.
    keeps: bool
    #: Whether runs were at their own limit, so that at least the recommended amount is needed.
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """One workload of the table."""

    name: str
    #: Its namespace and kind; empty where the traces do not tell.
    place: str
    #: How many runs there are, and how many were held out.
    runs: int
    held_out: int
    #: None where the resource is not recorded.
    cpu: Amount | None
    memory: Amount | None
    #: The share of time that the recommended CPU is short on held-out runs, and its 95% interval.
    time_short: float | None
    short_interval: tuple[float, float] | None
    #: How many held-out runs the recommended memory kills; None where it was not tested or is kept.
    killed: int | None
    #: How many runs were killed for lack of memory while they were recorded.
    kills_seen: int
    #: The saving per day; None where nothing was tested, or nothing has a price.
    saved: float | None
    evidence: Evidence
    #: How many more runs it takes for an interval; 0 where there are enough.
    missing: int

    @property
    def out_of_memory(self) -> str | None:
        """What recommended memory would do, in a word or two."""
        if self.memory is None or not self.held_out:
            return None
        if self.memory.keeps:
            return "keeps limit"
        if self.killed is None:
            return None
        return "none" if not self.killed else f"{self.killed:,} of {self.held_out:,} runs"


def rows_of(verdict: Verdict, tolerance: float) -> tuple[WorkloadRow, ...]:
    """One row per workload, in the verdict's order."""
    return tuple(_row(card, tolerance) for card in verdict.cards)


def _row(card: Card, tolerance: float) -> WorkloadRow:
    cpu, memory = card.line(Resource.CPU), card.line(Resource.MEMORY)
    fixed = [None if line is None or line.fixed is None else line.fixed.evidence for line in (cpu, memory)]
    evidence = evidence_of(fixed[0], fixed[1], _judged(card, cpu, memory), tolerance)
    short, kills = _tested(cpu), _tested(memory)
    short = None if evidence is Evidence.NONE else short
    interval = None
    if short is not None and short.get("short_low") is not None:
        interval = (float(short["short_low"]), float(short["short_high"]))
    return WorkloadRow(
        name=card.name,
        place=card.place,
        runs=card.containers,
        held_out=card.held_out,
        cpu=_amount(cpu),
        memory=_amount(memory),
        time_short=None if short is None else float(short["under_time_0"]),
        short_interval=interval,
        killed=None if kills is None else int(kills["containers_short"]),
        kills_seen=0 if memory is None or memory.fixed is None else memory.fixed.evidence.get("kills", 0),
        saved=card.tested_money if evidence is not Evidence.NONE else None,
        evidence=evidence,
        missing=more_needed(card.held_out or card.containers),
    )


def _amount(line: Line | None) -> Amount | None:
    option = None if line is None else line.recommended
    if line is None or option is None:
        return None
    is_recorded, keeps = line.with_limit == line.of, option.method == KEEP
    return Amount(line.now, is_recorded, option.amount, line.unit, keeps, option.at_least)


def _tested(line: Line | None) -> Mapping[str, Any] | None:
    """The figures of a recommended fixed amount on held-out runs."""
    return line.recommended.evidence if line and line.recommended and line.settable and line.tested else None


def _judged(card: Card, *lines: Line | None) -> int:
    """How many runs judged the fixed amounts; none where one was made from the run that judges it."""
    options = [line.fixed for line in lines if line is not None and line.fixed is not None]
    tested = options and all(option.standing.state is not State.UNTESTED for option in options)
    return card.held_out if tested else 0


def evidence_of(
    short: Mapping[str, Any] | None, kills: Mapping[str, Any] | None, runs: int, tolerance: float
) -> Evidence:
    """The level of evidence.

    Parameters
    ----------
    short, kills
        The held-out figures of a fixed amount of CPU and memory, whether it is recommended or because of them
        not; None where that is not recorded.
    runs
        The number of held-out runs.
    tolerance
        The share of time that may be short.
    """
    if runs < MIN_RUNS:
        return Evidence.NONE
    if runs < MIN_UNITS or (kills is not None and kills["events"]):
        return Evidence.FAIR
    if any(figures is not None and figures.get("at_least") for figures in (short, kills)):
        return Evidence.FAIR
    if short is not None and short["short_low"] <= tolerance < short["short_high"]:
        return Evidence.FAIR
    bound = unseen(runs)
    return next((level for level, most in _KILLED.items() if bound <= most), Evidence.FAIR)


def workloads_table(verdict: Verdict, tolerance: float, currency: str) -> Table:
    """The table of workloads; files have bare values, screens texts."""
    rows = rows_of(verdict, tolerance)
    columns = (
        Column("workload", "Workload", value=lambda row: row.name or "all containers"),
        *([Column("place", "Place")] if any(row.place for row in rows) else []),
        Column("runs", "Runs", format_count),
        *_amounts(Resource.CPU, "CPU"),
        *_amounts(Resource.MEMORY, "Memory"),
        Column("time_short", "Time short", format_share),
        Column("short_interval", parts=("short_low", "short_high")),
        Column("out_of_memory", "Out of memory"),
        *([Column("kills_seen", "Kills seen", format_count)] if any(row.kills_seen for row in rows) else []),
        Column("saved_per_day", f"Saves per day, {currency}", _money, lambda row: row.saved),
        Column("evidence", "Evidence", value=lambda row: row.evidence.value),
    )
    return Table("workloads", columns, rows)


_RECOMMENDED = ("recommended", "recommended_unit", "at_least")


def _amounts(resource: Resource, title: str) -> tuple[Column, Column]:
    """What a container has now and should have."""

    def part(name: str, row: WorkloadRow) -> tuple[float, Unit] | None:
        amount: Amount | None = getattr(row, resource.value)
        return None if amount is None else (getattr(amount, name), amount.unit)

    def recommended(row: WorkloadRow) -> tuple[float, Unit, bool] | None:
        amount: Amount | None = getattr(row, resource.value)
        return None if amount is None else (amount.recommended, amount.unit, amount.at_least)

    def show(value: tuple[float, Unit]) -> str:
        return format_value(*value)

    def show_recommended(value: tuple[float, Unit, bool]) -> str:
        return f"{AT_LEAST if value[2] else ''}{format_value(*value[:2])}"

    return (
        Column(
            f"{resource.value}_now", f"{title} now", show, lambda row: part("now", row),
            parts=(f"{resource.value}_now", f"{resource.value}_unit"),
        ),
        Column(
            f"{resource.value}", f"{title} recommended", show_recommended, recommended,
            parts=tuple(f"{resource.value}_{name}" for name in _RECOMMENDED),
        ),
    )  # fmt: skip


def _money(value: float) -> str:
    return format_number(value, 2)
