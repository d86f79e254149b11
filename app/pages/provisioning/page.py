"""Provisioning: policies compared on traces by over-allocation at the same risk, and a manifest.

The address names the comparison and the view of it. A comparison runs as a task and is stored, so
the same address shows the same figures again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import Input, Output, State, html

from app.context import LOCATION, Choice, find_choice, own_path
from app.figures.provisioning.frontier import frontier
from app.pages.provisioning import exports, results
from app.pages.provisioning.by_phase import phases_card
from app.pages.provisioning.form import form, prices, proposed
from app.pages.provisioning.form import register as register_form
from app.pages.provisioning.paper import paper_card
from app.pages.provisioning.results import PATH, RESOURCES, SCALES, View, resources_of
from app.pages.provisioning.table import policies_card, worst_card
from app.pages.provisioning.workloads import tiles, workloads_card
from app.ui import task_card
from app.ui.basics import Node, aria, card, icon, notice, page_head
from app.ui.evaluations import address_values
from app.ui.graph import graph
from app.ui.links import Query, link, segments
from app.ui.nothing_yet import drift_notice, misfit, no_traces
from app.ui.page import Page, Room, refused_policies, safe_page
from app.ui.tables import download, export_menu
from core.bootstrap_intervals import MIN_UNITS
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.provisioning.policies import POLICIES, policy_title
from core.provisioning.verdict.table import Evidence, rows_of
from core.settings_fields import describe
from core.units import format_duration, format_set_share, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dash import Dash

    from app.pages.provisioning.results import Values
    from app.ui.evaluations import Result
    from core.provisioning.verdict.verdict import Verdict
    from core.workspace.records import TaskInfo, TraceSetInfo


def frontier_card(values: Values, view: View, tolerance: float, held_out: int, csv: str) -> html.Section:
    """Over-allocation against time short, for every policy."""
    resource = RESOURCES[view.resource]
    figure = frontier(values.curves(view.policy), tolerance, resource)
    return card(
        "Frontier",
        graph("frontier", figure, f"Over-allocation of {resource} against time short, for each policy"),
        note=f"lower left is better; {_whiskers(held_out)}",
        tools=[export_menu("frontier", f"frontier {resource}", [("Every point, CSV", csv)])],
    )


def _whiskers(held_out: int) -> str:
    """A note on the whiskers, or why there are none."""
    if held_out >= MIN_UNITS:
        return "bars are 95% intervals"
    if not held_out:
        return "a replay of one container, without intervals"
    return f"{held_out} held-out container{'s' if held_out != 1 else ''}: too few for intervals"


def _nothing_yet() -> Node:
    text = "Policies are compared on traces of containers: CPU and memory over time."
    return no_traces("adjustments-horizontal", text)


def _lead(report: Mapping[str, Any], verdict: Verdict | None) -> str:
    split = report["split"]
    n = len(split["held_out"])
    words = [plural(len(verdict.cards), "workload")] if verdict is not None and verdict.by else []
    words.append(plural(n, "run"))
    words.append(
        "each held out once"
        if split.get("folds")
        else "none held out"
        if not split.get("tested", True)
        else f"{n:,} held out"
    )
    words.append(f"cycle {format_duration(report['settings']['cycle'])}")
    return ", ".join(words)  # fmt: skip


def _notes(report: Mapping[str, Any]) -> Node:
    """The comparison's caveats, and the policies that could not be compared."""
    notes = [*report["notes"]]
    groups = report["split"]["held_out_groups"]
    if 0 < len(groups) < MIN_UNITS:
        which = (
            f"Only one group, “{groups[0]}”, was" if len(groups) == 1 else f"Only {len(groups)} groups were"
        )
        notes.append(
            f"{which} held out, so intervals cover containers, not other groups. Hold out a larger share."
        )
    by_reason: dict[str, list[str]] = {}
    for each in report["unavailable"]:
        by_reason.setdefault(each["reason"], []).append(each["policy"])
    notes += [
        f"Not compared: {', '.join(map(policy_title, names))}. {reason}"
        for reason, names in by_reason.items()
    ]
    if not notes:
        return None
    return card("Caveats", html.Ul([html.Li(each) for each in notes], className="notes"))


def _result_cards(result: Result, view: View, choice: Choice) -> list[Node]:
    """The tiles, the table of workloads, and the parts below it, of which one may be unfolded."""
    tolerance = float(result.report["settings"]["tolerance"])
    files, verdict = exports.addresses(result, view), results.verdict_of(result, view, choice.model)
    part = view.part or (None if verdict is not None else "policies")
    if verdict is None:
        return [_folded(result, view, part), *_unfolded(part, result, view, choice, None)]
    rows = rows_of(verdict, tolerance)
    is_untested = all(row.evidence is Evidence.NONE for row in rows)
    first = phases_card(verdict, view, tolerance) if is_untested and part != "phases" else None
    return [
        tiles(verdict, rows, result.report, view),
        first,
        workloads_card(verdict, rows, result, view, choice, files["workloads"]),
        _folded(result, view, part),
        *_unfolded(part, result, view, choice, verdict),
    ]


def _folded(result: Result, view: View, part: str | None) -> html.Nav:
    """The parts below the table, as links that unfold them."""
    n = len(resources_of(result.report)) and len(results.values_of(result, view).names())
    parts = {
        "policies": ("How policies compare", f"{n:,} polic{'y' if n == 1 else 'ies'}, frontier, intervals"),
        "paper": ("Beside the paper", "figure 4 of AI4DL on these traces"),
        "phases": ("By phase", "request and limit of each phase"),
    }
    links = [
        link(
            [html.B(title), html.Span(f" · {words}", className="ink2"), icon("chevron-right", "sm")],
            view.query(part=None if part == name else name),
            className="card fold",
            **aria(expanded=str(part == name).lower()),
        )
        for name, (title, words) in parts.items()
    ]
    return html.Nav(links, className="folds", **aria(label="More of this comparison"))


def _unfolded(
    part: str | None, result: Result, view: View, choice: Choice, verdict: Verdict | None
) -> list[Node]:
    """The unfolded part."""
    split, tolerance = result.report["split"], float(result.report["settings"]["tolerance"])
    held_out = len(split["held_out"]) if split.get("tested", True) else 0
    values, files = results.values_of(result, view), exports.addresses(result, view)
    controls = html.Div(_view_controls(result, view), className="row wrap")
    match part:
        case "policies":
            return [
                controls,
                policies_card(values, view, [download("policies", files["policies"])]),
                frontier_card(values, view, tolerance, held_out, files["frontier"]),
                worst_card(values, view, choice, result.id, [download("containers", files["worst"])]),
                _notes(result.report),
            ]
        case "paper":
            return [controls, paper_card(values, view, held_out, files)]
        case "phases":
            phases = None if verdict is None else phases_card(verdict, view, tolerance)
            nothing = notice("info", "Choose a phase model at the top, and evaluate.", strong="No phases.")
            return [controls, phases if phases is not None else nothing]
        case _:
            return []


def _view_controls(result: Result, view: View) -> list[Node]:
    options = {key: title for key, title in RESOURCES.items() if key in resources_of(result.report)}
    return [
        segments(view, "resource", options, view.resource, "Resource"),
        segments(view, "scale", SCALES, view.scale, "How policies are compared"),
    ]


def _waiting(recent: list[TaskInfo], view: View, *, has_result: bool) -> list[Node]:
    """Tasks under way, or an empty state."""
    tasks = results.relevant_tasks(recent, view.query.get("task"), has_result=has_result)
    if has_result and not tasks:
        return []
    text = (
        "What each workload has, should have and would save, with manifests to set it. Start with “Evaluate”."
    )
    return task_card.panel(tasks, "adjustments-horizontal", "Not evaluated yet", text)


def body(query: Query) -> list[Node]:
    """The page for an address."""
    view = View.read(query)
    choice = find_choice(query.get("traces"), query.get("model"))
    if choice.traces is None:
        return [page_head("Provisioning"), _nothing_yet()]
    # read before the result: a task that is done by now has one, and one that is not is followed
    tasks = results.tasks(choice, query.get("task"))
    result = results.find(choice, view)
    resources = resources_of(result.report) if result else list(RESOURCES)
    if view.resource not in resources:
        view = view.looking_at(resources[0])
    view = view if result is None else view.among(result.report)
    live = _waiting(tasks, view, has_result=result is not None)
    settings = _form(choice, choice.traces, view, result)
    cards = html.Div(_result_cards(result, view, choice) if result else [], className="stack")
    return [
        _head(result, view, choice),
        html.Div([_of_model(choice, view, result), refused_policies()], className="spaced stack"),
        None if result else settings,
        _outdated() if result and result.earlier and not results.running(choice) else None,
        html.Div(live, id="evaluate-live", className="stack spaced"),
        cards,
        html.Div(settings, className="below") if result else None,
    ]


def _of_model(choice: Choice, view: View, result: Result | None) -> Node:
    """A notice that the model does not fit, or was trained on other data and is not refitted."""
    pair, wrong = choice.pair(), misfit(choice, PATH)
    if pair is None or wrong is not None:
        return wrong
    settings = result.report["settings"] if result else {}
    refitted = view.settings.refit if view.settings else bool(settings.get("refit"))
    return None if refitted else drift_notice(*pair)


def _head(result: Result | None, view: View, choice: Choice) -> Node:
    """The title, the comparison, and the export."""
    if result is None:
        return page_head(
            "Provisioning", f"requests and limits for {choice.traces.name}" if choice.traces else ""
        )
    lead = _lead(result.report, results.verdict_of(result, view))
    actions = [_tolerances(result, view), _prices(view), exports.menu(result, view, choice)]
    return page_head("Provisioning", lead, actions)


_TOLERANCES = (0.01, 0.02, 0.05, 0.1)


def _tolerances(result: Result, view: View) -> dmc.Popover:
    """The share of time that may be short; another one is another comparison."""
    settings = EvaluationSettings.from_dict(result.report["settings"])
    links = [
        link(
            format_set_share(each),
            view.query(**address_values(replace(settings, tolerance=each), result.policies)),
            className="btn quiet small menu",
        )
        for each in _TOLERANCES
        if each != settings.tolerance
    ]
    return _popover(f"{format_set_share(settings.tolerance)} may be short", links)


def _prices(view: View) -> dmc.Popover:
    return _popover("Prices", [prices(view)])


def _popover(label: str, content: list[Node]) -> dmc.Popover:
    """A button of the page's head that opens its choices."""
    target = {"component": "button", "type": "button", "className": "btn", "w": ""}
    return dmc.Popover(
        [
            dmc.PopoverTarget([label, icon("chevron-down", "sm")], boxWrapperProps=target),
            dmc.PopoverDropdown(content, p=8, maw=360),
        ],
        position="bottom-end",
    )


def _form(choice: Choice, traces: TraceSetInfo, view: View, result: Result | None) -> Node:
    """The form with the settings of the address, else of the result, else suggested for the traces."""
    if view.settings is not None:
        settings = view.settings
    elif result is not None:
        settings = EvaluationSettings.from_dict(result.report["settings"])
    else:
        settings = proposed(traces, results.typical_seconds(traces.id))
    source = view if view.settings or result is None else result
    own_settings = {name: dict(values) for name, values in source.own_settings.items()}
    is_open = view.problem is not None or view.part == "settings"
    return form(choice, settings, source.policies, own_settings, view, is_open=is_open, fresh=result is None)


def _outdated() -> Node:
    return html.Div(
        notice(
            "warn",
            "The policies’ code or defaults have changed since. To compare them as they are now, choose "
            "“Evaluate”.",
            strong="This comparison was made by an earlier version.",
        ),
        className="spaced",
    )


@safe_page("Provisioning")
def layout(**values: str) -> Node:
    """Lay the page out."""
    return [*body(Query(PATH, values)), *task_card.plumbing()]


def register(app: Dash) -> None:
    """Connect the callbacks."""
    register_form(app)
    app.callback(
        Output(LOCATION, "search", allow_duplicate=True),
        Input("workloads-find", "value"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )(find_workloads)

    @app.callback(
        Output(LOCATION, "search", allow_duplicate=True),
        Input("changed", "data"),
        State(LOCATION, "pathname"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )
    def finished(task_id: str | None, pathname: str, search: str | None) -> Any:
        """Show the result in place when the task of this page has ended well."""
        query = Query.parse(PATH, search)
        if own_path(pathname) != PATH or not task_id or query.get("task") != task_id:
            return dash.no_update
        return f"?{query.search(task=None)}" if results.is_done(task_id) else dash.no_update


def find_workloads(text: str | None, search: str | None) -> Any:
    """Filter the table of workloads by the text that was entered."""
    query = Query.parse(PATH, search)
    if (text or "") == (query.get("find") or ""):
        return dash.no_update
    return f"?{query.search(find=text or None, start=None)}"


def findable() -> list[tuple[str, str, dict[str, str]]]:
    """Policies by title and identifier, and their settings, which open the form that has them."""
    form = {"part": "settings"}
    found: list[tuple[str, str, dict[str, str]]] = []
    for name, policy in POLICIES.items():
        title = policy_title(name)
        found.append((f"{title} · {name}", "provisioning policy", form))
        found += [(f"{spec.label} of {title}", "setting", form) for spec in describe(policy.settings)]
    return found


PAGE = Page(
    PATH,
    "Provisioning",
    "adjustments-horizontal",
    2,
    layout,
    register,
    routes=(exports.blueprint,),
    findable=findable,
    outline=(Room((44,)), Room((110,) * 4, "grid cols-4"), Room((380,))),
)
