"""Everything that is recommended as JSON or as CSV."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.provisioning.recommendation.exports.origin import Origin
    from core.provisioning.recommendation.recommend import Advice

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_json(rows: Sequence[Advice], origin: Origin) -> str:
    """Everything, one object."""
    about = {"model": origin.model, "traces": origin.traces, "date": origin.date}
    document = {"comment": about, "recommendations": [row.to_dict() for row in rows]}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_csv(rows: Sequence[Advice], origin: Origin) -> str:
    """One line per group, phase and resource; cells that a spreadsheet would run are escaped."""
    names = [
        "group", "name", "phase", "resource", "unit", "request", "limit", "samples", "containers", "mean",
        "sd", "peak", "expected_violation", "given", "saving", "reason", "model", "traces", "date",
    ]  # fmt: skip
    text = _Text()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    about = {"model": origin.model, "traces": origin.traces, "date": origin.date}
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in {**row.to_dict(), **about}.items()})
    return "".join(text.parts)


class _Text:
    """What a CSV writer writes to: a list of lines."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, part: str) -> None:
        self.parts.append(part)


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
