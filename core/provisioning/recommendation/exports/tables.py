"""Everything that is recommended as JSON or as CSV."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from core.csv_export import csv_lines
from core.units import phase_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.provisioning.recommendation.exports.origin import Origin
    from core.provisioning.recommendation.recommend import Advice


def as_json(rows: Sequence[Advice], origin: Origin) -> str:
    """Everything, one object."""
    about = {"model": origin.model, "traces": origin.traces, "date": origin.date}
    document = {"comment": about, "recommendations": [_called(row) for row in rows]}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_csv(rows: Sequence[Advice], origin: Origin) -> str:
    """One line per group, phase and resource; cells that a spreadsheet would run are escaped."""
    names = [
        "group", "phase", "phase_number", "resource", "unit", "request", "limit", "samples", "containers",
        "mean", "sd", "peak", "expected_violation", "given", "saving", "reason", "model", "traces", "date",
    ]  # fmt: skip
    about = {"model": origin.model, "traces": origin.traces, "date": origin.date}
    cells = ({**_called(row), **about} for row in rows)
    return "".join(csv_lines(names, ([each[name] for name in names] for each in cells), "\n"))


def _called(row: Advice) -> dict[str, Any]:
    """A recommendation whose phase is called as on the screen, not by its id."""
    values = row.to_dict()
    name, phase = values.pop("name"), values.pop("phase")
    return {**values, "phase": name, "phase_number": None if phase is None else phase_number(phase)}
