"""The tables and figures of the Provisioning page as CSV, and the verdict as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import orjson
from flask import Blueprint, Response, request

from app.context import chosen
from app.pages.provisioning import results
from app.pages.provisioning.paper import PaperRow, paper_rows
from app.pages.provisioning.results import Values, View, sorted_rows
from app.ui import evaluations
from app.ui.export import page_export
from app.ui.links import Query
from app.ui.tables import file_answer
from core.provisioning import manifests
from core.tables import csv_lines

if TYPE_CHECKING:
    from app.ui.basics import Node
    from app.ui.evaluations import Result

blueprint = Blueprint("provisioning", __name__)
_BASE = "/api/provisioning/<evaluation_id>"
TABLES = {
    "policies": "Table of policies",
    "frontier": "Frontier, every point",
    "totals": "Totals over time",
    "worst": "Worst containers",
    "paper": "Beside the paper",
}


def addresses(result: Result, view: View) -> dict[str, str]:
    """The address of each table, as it is shown."""
    query = urlencode(
        {
            key: value
            for key, value in {
                "resource": view.resource,
                "scale": view.scale,
                "sort": view.sort,
                view.takes: view.policy or "",
            }.items()
            if value
        }
    )
    return {name: f"/api/provisioning/{result.id}/{name}.csv?{query}" for name in TABLES}


def menu(result: Result, view: View) -> Node:
    """The page's export menu: all tables, and the whole report."""
    files = [(f"{label}, CSV", addresses(result, view)[name]) for name, label in TABLES.items()]
    files.append(("Everything, JSON", f"/api/provisioning/{result.id}/report.json"))
    return page_export(files)


def _asked(evaluation_id: str) -> tuple[Result, View, Values]:
    result = evaluations.get(evaluation_id)
    view = View.read(Query("", request.args.to_dict()))
    resource = (
        view.resource
        if view.resource in result.report["resources"]
        else next(iter(result.report["resources"]))
    )
    view = view.looking_at(resource)
    return result, view, results.values_of(result, view)


@blueprint.get(f"{_BASE}/policies.csv")
def export_policies(evaluation_id: str) -> Response:
    """The table of policies, in the order in which it is shown."""
    _, view, values = _asked(evaluation_id)
    head = (
        *("policy", "kind", "scale", "over", "over_low", "over_high", "under_time_0", "under_time_05"),
        *("resizes_per_cycle", "saved_against", "saved", "saved_low", "saved_high", "saved_group_low"),
        *(
            "saved_group_high",
            "worst_under_time",
            "share_of_containers_above_10",
            "cold_over",
            "cold_under_time_0",
        ),
        "gap_closed",
    )
    nothing = (None, None)
    rows = (
        (
            *(
                row.policy,
                row.kind,
                view.scale,
                row.over,
                *(row.interval or nothing),
                row.under,
                row.under_05,
            ),
            *(row.resizes, values.reference, row.saving, *(row.saving_interval or nothing)),
            *(*(row.group_interval or nothing), row.worst, row.above, row.cold_over, row.cold_under),
            row.gap_closed,
        )
        for row in sorted_rows(values.rows(), view.sort)
    )
    return file_answer(csv_lines(head, rows), f"policies-{view.resource}-{view.scale}.csv")


@blueprint.get(f"{_BASE}/frontier.csv")
def export_frontier(evaluation_id: str) -> Response:
    """Every point of every policy's line."""
    _, view, values = _asked(evaluation_id)
    head = ("policy", "kind", "target", "factor", "under_time_0", "over", "over_low", "over_high")
    rows = (
        (
            each["policy"],
            each["kind"],
            *(point[n] for n in ("target", "factor", "under_time_0", "over", "low", "high")),
        )
        for each in values.part["policies"]
        for point in each["frontier"]
    )
    return file_answer(csv_lines(head, rows), f"frontier-{view.resource}.csv")


@blueprint.get(f"{_BASE}/totals.csv")
def export_totals(evaluation_id: str) -> Response:
    """Demand and every policy's allocation over the containers' age, as published."""
    _, view, values = _asked(evaluation_id)
    part = values.part["totals"]
    names = list(part["policies"])
    columns = (part["age_s"], part["demand"], *(part["policies"][name] for name in names))
    rows = zip(*columns, strict=True)
    unit = values.part["unit"]
    return file_answer(csv_lines(("age_s", f"demand_{unit}", *names), rows), f"totals-{view.resource}.csv")


@blueprint.get(f"{_BASE}/paper.csv")
def export_paper(evaluation_id: str) -> Response:
    """The paper's five policies and ours against its base, raw and at matched violation."""
    _, view, values = _asked(evaluation_id)
    rows = [row.cells() for row in paper_rows(values, view.policy)]
    return file_answer(csv_lines(PaperRow.NAMES, rows), f"paper-{view.resource}.csv")


@blueprint.get(f"{_BASE}/worst.csv")
def export_worst(evaluation_id: str) -> Response:
    """The containers that fall short most, under every policy or the one that is looked at."""
    _, view, values = _asked(evaluation_id)
    fields = ("execution", "group", "under_time_0", "over", "oom_events")
    rows = (
        (policy, *(each[name] for name in fields))
        for policy, worst in values.part["worst"].items()
        if view.policy in (None, policy)
        for each in worst
    )
    return file_answer(csv_lines(("policy", *fields), rows), f"worst-{view.resource}.csv")


@blueprint.get(f"{_BASE}/report.json")
def export_report(evaluation_id: str) -> Response:
    """The whole report, from which all else on the page is made."""
    text = orjson.dumps(evaluations.get(evaluation_id).report, option=orjson.OPT_INDENT_2).decode()
    return file_answer([text], "evaluation.json", "application/json")


@blueprint.get(f"{_BASE}/verdict/<style>")
def export_verdict(evaluation_id: str, style: str) -> Response:
    """The verdict in one of its formats, with the policies and prices of the address."""
    result, view = evaluations.get(evaluation_id), View.read(Query("", request.args.to_dict()))
    choice = chosen(request.args.get("traces"), request.args.get("model"))
    text = results.manifest(choice, result, view, style)
    form = manifests.FORMATS[style]
    name = choice.traces.name if choice.traces else "verdict"
    return file_answer([text], f"{name}-{style}.{form.ending}", form.mime)
