"""What the simulator says of real runs, beside them: two policies, measured and predicted, in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash import html

from app.pages.runs.compare.differences import quantity
from app.pages.runs.words import titled
from app.ui.basics import card, scrolling, unseen
from core.experiments.compare import MEASURES
from core.units import format_change, format_number, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.pages.runs.stored import Row
    from core.runs.values import ExperimentInfo


def predicted_card(
    info: ExperimentInfo, rows: Sequence[Row], labels: tuple[str, str], titles: tuple[str, str] | None = None
) -> html.Section | None:
    """The card, or None where nothing was predicted of these two."""
    found: Mapping[str, Any] = (info.report or {}).get("predicted") or {}
    said = {row["label"]: row["measures"] for row in found.get("comparison", [])}
    if not all(label in said for label in labels):
        return None
    head = html.Tr(
        [
            html.Th(unseen("Quantity"), scope="col"),
            *(
                html.Th(f"{title}, {kind}", className="num", scope="col")
                for title in titles or labels
                for kind in _KINDS
            ),
            html.Th("Difference, real", className="num", scope="col"),
            html.Th("predicted", className="num", scope="col"),
        ]
    )
    body = [_row(row, said[labels[0]], said[labels[1]]) for row in rows if row.name in MEASURES]
    table = html.Table(
        [html.Caption("Measured and predicted", className="sr"), html.Thead(head), html.Tbody(body)],
        className="plain differences",
    )
    wrap = scrolling(table, "Measured and predicted")
    return card("Simulator’s prediction", wrap, note=_note(_baseline(info), found), flush=True)


def _baseline(info: ExperimentInfo) -> str:
    arm = info.experiment.arm(info.experiment.baseline)
    return titled(arm.label, arm.policy)


_KINDS = ("real", "predicted")


def _row(row: Row, first: Mapping[str, float | None], second: Mapping[str, float | None]) -> html.Tr:
    a, b = first.get(row.name), second.get(row.name)
    change = b / a - 1 if a and b is not None else None
    values = (
        quantity(row.name, row.a),
        quantity(row.name, a),
        quantity(row.name, row.b),
        quantity(row.name, b),
        "–" if row.value is None else format_change(row.value),
        "–" if change is None else format_change(change),
    )
    cells = [html.Th(row.label, scope="row"), *(html.Td(value, className="num") for value in values[:-2])]
    return html.Tr([*cells, *(html.Td(value, className="num strong") for value in values[-2:])])


def _note(baseline: str, found: Mapping[str, Any]) -> str:
    fits = list((found.get("fits") or {}).values())
    gammas = [fit["gamma"] for fit in fits]
    errors = [fit["curve_error"] for fit in fits]
    span = format_number(min(gammas), 3)
    if max(gammas) > min(gammas):
        span += f" to {format_number(max(gammas), 3)}"
    words = f"fitted to {baseline} alone: γ {span}, losses within {format_share(max(errors), 1)}"
    missing = found.get("missing") or {}
    return f"{words}; {len(missing)} {_repeats(len(missing))} could not be fitted" if missing else words


def _repeats(n: int) -> str:
    return "repeat" if n == 1 else "repeats"
