"""The tables and figures of the Provisioning page as CSV, and the verdict as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from flask import Blueprint, Response, request

from app.context import find_choice
from app.pages.provisioning import results
from app.pages.provisioning.paper import paper_table
from app.pages.provisioning.results import PRICES, Values, View
from app.pages.provisioning.table import policies_table, worst_table
from app.ui import evaluations
from app.ui.links import Query
from app.ui.tables import file_answer, page_export, table_route
from core.errors import ConflictError
from core.provisioning import manifests
from core.provisioning.policies import policy_title
from core.provisioning.verdict.table import workloads_table
from core.tables import Table

if TYPE_CHECKING:
    from app.context import Choice
    from app.ui.basics import Node
    from app.ui.evaluations import Result

blueprint = Blueprint("provisioning", __name__)
_BASE = "/api/provisioning/<evaluation_id>"
TABLES = {
    "workloads": "Table of workloads",
    "policies": "Table of policies",
    "frontier": "Frontier, every point",
    "totals": "Totals over time",
    "worst": "Worst containers",
    "paper": "Comparison with AI4DL",
}


def addresses(result: Result, view: View) -> dict[str, str]:
    """The address of each table, as it is shown."""
    view_state = {"resource": view.resource, "scale": view.scale, "sort": view.sort}
    prices = {name: view.query.get(name) for name in PRICES}
    query = Query("", view_state).search(**prices, **{view.takes: view.policy})
    return {name: f"/api/provisioning/{result.id}/{name}.csv?{query}" for name in TABLES}


def menu(result: Result, view: View, choice: Choice) -> Node:
    """The page's export menu: what to set, all tables, and the whole report."""
    files = [
        (f"All workloads, {form.title}", results.manifest_address(choice, result, view, name))
        for name, form in manifests.FORMATS.items()
    ]
    files += [(f"{label}, CSV", addresses(result, view)[name]) for name, label in TABLES.items()]
    files.append(("Everything, JSON", f"/api/provisioning/{result.id}/report.json"))
    return page_export(files)


def _request(evaluation_id: str) -> tuple[View, Values]:
    """The view that the request's address describes, and its values."""
    result = evaluations.get(evaluation_id)
    view = View.read(Query("", request.args.to_dict()))
    resources = result.report["resources"]
    view = view.looking_at(view.resource if view.resource in resources else next(iter(resources)))
    return view, results.values_of(result, view)


@table_route(blueprint, f"{_BASE}/workloads.csv")
def workloads(evaluation_id: str) -> Table:
    """The table of workloads, all of them."""
    result, view = evaluations.get(evaluation_id), View.read(Query("", request.args.to_dict()))
    answer = results.verdict_of(result, view)
    if answer is None:
        raise ConflictError("This comparison was made by an earlier version.", "Evaluate again.")
    return workloads_table(answer, float(result.report["settings"]["tolerance"]), view.prices.currency)


@table_route(blueprint, f"{_BASE}/policies.csv")
def policies(evaluation_id: str) -> Table:
    """The table of policies, in the order in which it is shown."""
    view, values = _request(evaluation_id)
    return policies_table(values, view)


@table_route(blueprint, f"{_BASE}/frontier.csv")
def frontier(evaluation_id: str) -> Table:
    """Every point of every policy's line."""
    view, values = _request(evaluation_id)
    names = ("target", "factor", "under_time_0", "over", "low", "high")
    keys = ("policy", "policy_title", "kind", *names[:-2], "over_low", "over_high")
    rows = [
        (each["policy"], policy_title(each["policy"]), each["kind"], *(point[name] for name in names))
        for each in values.part["policies"]
        for point in each["frontier"]
    ]
    return Table.file_only(f"frontier-{view.resource}", keys, rows)


@table_route(blueprint, f"{_BASE}/totals.csv")
def totals(evaluation_id: str) -> Table:
    """Demand and every policy's allocation over the containers' age, as published."""
    view, values = _request(evaluation_id)
    part = values.part["totals"]
    series = {"age_s": part["age_s"], f"demand_{values.part['unit']}": part["demand"], **part["policies"]}
    rows = zip(*series.values(), strict=True)
    return Table.file_only(f"totals-{view.resource}", series, rows)


@table_route(blueprint, f"{_BASE}/paper.csv")
def paper(evaluation_id: str) -> Table:
    """The paper's five policies and ours against its base."""
    view, values = _request(evaluation_id)
    return paper_table(values, view)


@table_route(blueprint, f"{_BASE}/worst.csv")
def worst(evaluation_id: str) -> Table:
    """The containers that fall short most, under the chosen policy or under each."""
    view, values = _request(evaluation_id)
    chosen_ones = [view.policy] if view.policy else list(values.part["worst"])
    return worst_table(values, chosen_ones, view.resource)


@blueprint.get(f"{_BASE}/report.json")
def export_report(evaluation_id: str) -> Response:
    """The whole report, from which all else on the page is made."""
    text = orjson.dumps(evaluations.get(evaluation_id).report, option=orjson.OPT_INDENT_2).decode()
    return file_answer([text], "evaluation.json", "application/json")


@blueprint.get(f"{_BASE}/verdict/<style>")
def export_verdict(evaluation_id: str, style: str) -> Response:
    """The verdict in one of its formats, with the policies and prices of the address."""
    result, view = evaluations.get(evaluation_id), View.read(Query("", request.args.to_dict()))
    choice = find_choice(request.args.get("traces"), request.args.get("model"))
    text = results.manifest(choice, result, view, style, request.args.get("workload"))
    form = manifests.FORMATS[style]
    name = choice.traces.name if choice.traces else "verdict"
    return file_answer([text], f"{name}-{style}.{form.ending}", form.mime)
