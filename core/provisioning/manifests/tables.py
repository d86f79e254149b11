"""All that a verdict says of each workload and resource, as JSON or CSV."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from core.csv_export import csv_lines
from core.provisioning.manifests.evidence import can_be_written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.provisioning.manifests.evidence import About
    from core.provisioning.verdict.answer import Card, Line, Option, Verdict

_NAMES = (
    *(
        "workload",
        "containers",
        "learned_from",
        "held_out",
        "resource",
        "unit",
        "now",
        "now_is",
        "way",
        "policy",
    ),
    *("recommended", "exported", "amount", "request", "saved_per_container", "saved_low", "saved_high"),
    *("time_short_0", "time_short_05", "short_low", "short_high", "resizes_per_hour", "events"),
    *("containers_short", "saved_at_once", "saved_per_day", "saved_money_per_day", "state", "said"),
)


def rows(found: Verdict) -> Iterator[dict[str, Any]]:
    """One row per workload, resource and way to give it."""
    for card in found.cards:
        for line in card.lines:
            options = [
                each
                for each in (line.steered, line.fixed, line.exported, line.recommended)
                if each is not None
            ]
            for option in {each.way: each for each in options}.values():
                yield _row(card, line, option)


def _row(card: Card, line: Line, option: Option) -> dict[str, Any]:
    values, interval = option.found, option.interval or (None, None)
    return {
        "workload": card.name,
        "containers": card.containers,
        "learned_from": card.training,
        "held_out": card.held_out,
        "resource": line.resource.value,
        "unit": line.unit.value,
        "now": line.now,
        "now_is": line.now_is,
        "way": option.way,
        "policy": option.policy,
        "recommended": option is line.recommended,
        "exported": option is line.exported and can_be_written(card, line),
        "amount": option.amount,
        "request": values.get("request"),
        "saved_per_container": line.now - option.amount,
        "saved_low": interval[0],
        "saved_high": interval[1],
        "time_short_0": values["under_time_0"],
        "time_short_05": values["under_time_05"],
        "short_low": values.get("short_low"),
        "short_high": values.get("short_high"),
        "resizes_per_hour": values["resizes_per_hour"],
        "events": values["events"],
        "containers_short": values["containers_short"],
        "saved_at_once": option.saved.amount,
        "saved_per_day": option.saved.per_day,
        "saved_money_per_day": option.saved.money,
        "state": option.standing.state.value,
        "said": option.standing.sentence,
    }


def as_json(found: Verdict, about: About) -> str:
    """Everything, one object."""
    head = {
        "traces": about.traces,
        "model": about.model,
        "date": about.date,
        "workloads_by": found.by,
        "settings": dict(about.report["settings"]),
        "assumptions": list(about.assumptions),
        "policies": {
            resource.value: {"policy": each.policy, "why": each.sentence}
            for resource, each in found.picks.items()
        },
    }
    document = {"about": head, "workloads": list(rows(found))}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_csv(found: Verdict, about: About) -> str:
    """One line per workload, resource and way; cells that a spreadsheet would run are escaped."""
    source = (about.traces, about.model, about.date)
    cells = ([*(row[name] for name in _NAMES), *source] for row in rows(found))
    return "".join(csv_lines((*_NAMES, "traces", "model", "date"), cells, "\n"))
