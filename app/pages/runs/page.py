"""Runs: experiments that compare policies are built, started, watched, compared and stepped through.

One path has all of it, and the address says what: nothing is the list, ``look=build`` the form,
``experiment`` its page, and ``look=ledger`` the ledger of one of its runs, or of an attached policy's.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import dash
from dash import ALL, ClientsideFunction, Input, Output, State, dcc, html, set_props

from app.context import LOCATION, own_path, workspace
from app.pages.runs import builder, exports, ledger, listing, loads, stored
from app.pages.runs.builder import build_page, find
from app.pages.runs.experiment import experiment_page, has_new_seeds, head, is_polled, results_mark
from app.pages.runs.ledger import ledger_page, run_page
from app.pages.runs.listing import list_page
from app.pages.runs.query import ACT, BUILD, EXPERIMENT, LEDGER, PATH, View, join_keys
from app.pages.runs.selection import MAX_DRAWN, select
from app.ui import task_card
from app.ui.links import Query
from app.ui.page import Page, Room, notify, safe_page
from core.scheduling.policies import POLICIES, display_name
from core.settings_fields import describe
from core.units import plural

if TYPE_CHECKING:
    from dash import Dash

    from app.ui.basics import Node


def body(query: Query) -> list[Node]:
    """The page for an address."""
    view = View.read(query)
    if view.subpage == BUILD:
        return build_page(view)
    if view.subpage == LEDGER and view.experiment is None and view.run is not None:
        return run_page(workspace().runs.get(view.run), view)
    if view.experiment is None:
        return list_page(view)
    info = workspace().runs.experiment(view.experiment)
    return ledger_page(info, view) if view.subpage == LEDGER else experiment_page(info, view)


@safe_page("Runs")
def layout(**values: str) -> Node:
    """Lay the page out."""
    return [
        html.Div(body(Query(PATH, values)), id="runs-page"),
        dcc.Store(id="run-fresh"),
        *listing.plumbing(),
        *task_card.plumbing(),
    ]


def _register_list(app: Dash) -> None:
    app.callback(
        Output(LOCATION, "href", allow_duplicate=True),
        Output("runs-page", "children", allow_duplicate=True),
        Input(ACT, "data"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )(act)


def act(request: dict[str, Any] | None, search: str | None) -> tuple[Any, Any]:
    """Carry out a button's action on the lists; returns the next address, or the page redrawn."""
    keep = dash.no_update
    match (request or {}).get("act"):
        case "start":
            return builder.start_experiment(find((request or {})["id"]).experiment), keep
        case "loads":
            _start_at_loads((request or {})["id"])
        case "ask":
            set_props("run-delete-what", {"children": listing.confirm_delete((request or {})["id"])})
            set_props("run-delete", {"opened": True})
        case "delete":
            set_props("run-delete", {"opened": False})
            removed = stored.delete((request or {})["id"])
            notify(f"The experiment and {plural(removed, 'run')} were deleted.")
            set_props("changed", {"data": None})
            return keep, body(Query.parse(PATH, search))
        case "close":
            set_props("run-delete", {"opened": False})
    return keep, keep


def _start_at_loads(experiment: str) -> None:
    """Start the same experiment at the missing loads."""
    space = workspace()
    info = space.runs.experiment(experiment)
    more = loads.missing_loads(info, loads.experiments_at_loads(info))
    for each in more:
        task = space.runs.submit(each)
        set_props("changed", {"data": task})
    text = "They are in the list of runs. Reload this page for their results."
    notify(text, "ok", title=f"{plural(len(more), 'experiment')} started.")


def _register_compare(app: Dash) -> None:
    app.callback(
        Output(LOCATION, "search", allow_duplicate=True),
        Input({"type": "run-side", "name": ALL}, "value"),
        State({"type": "run-side", "name": ALL}, "id"),
        State(LOCATION, "search"),
        State(LOCATION, "pathname"),
        prevent_initial_call=True,
    )(choose)
    app.clientside_callback(
        ClientsideFunction("runs", "draw"),
        Output("runs-page", "children", allow_duplicate=True),
        Input("run-fresh", "data"),
        prevent_initial_call=True,
    )
    app.callback(
        Output("run-fresh", "data"),
        Input("changed", "data"),
        Input("run-poll", "n_intervals", allow_optional=True),
        State(LOCATION, "pathname"),
        State(LOCATION, "search"),
        State("run-seen", "data", allow_optional=True),
        prevent_initial_call=True,
    )(follow)


def choose(values: list[str | None], ids: list[dict[str, str]], search: str | None, pathname: str) -> Any:
    """Put the chosen baseline, policy or job into the address, unless it is there already."""
    view = View.read(Query.parse(PATH, search))
    if own_path(pathname) != PATH or not ids or view.experiment is None:
        return dash.no_update
    selection = select(workspace().runs.experiment(view.experiment), view)
    chosen = {each["name"]: value for each, value in zip(ids, values, strict=True)}
    current = {"base": selection.base.key, "job": view.job}
    changes = {name: value for name, value in chosen.items() if name in current and value != current[name]}
    if rival := chosen.get("rival"):
        keys = [side.key for side in selection.drawn][: MAX_DRAWN - 1]
        changes |= {"arms": join_keys([*keys, rival]), "lit": rival}
    return f"?{view.query.search(**changes)}" if changes else dash.no_update


def follow(
    _changed: str | None, _ticks: int | None, pathname: str, search: str | None, last_seen: list[Any] | None
) -> Any:
    """Show results as they come, and in place when the experiment's task has ended.

    An answer may come when the page shows its results already or newer ones, because another one overtook it,
    or when a person has gone on to another address: the browser compares and leaves it out (``runs.js``), so
    that a menu that is open stays open and a choice stays made.
    """
    query = Query.parse(PATH, search)
    view = View.read(query)
    if own_path(pathname) != PATH or view.subpage != EXPERIMENT or view.experiment is None:
        return dash.no_update
    at, info = time.time(), workspace().runs.experiment(view.experiment)
    runs = is_polled(info)
    if runs != (last_seen is not None) or (last_seen is not None and last_seen[0] != stored.state_of(info)):
        set_props("run-head", {"children": head(info, view)})
    if last_seen is None or (runs and not has_new_seeds(info, view, last_seen[1])):
        return dash.no_update
    return {"mark": results_mark(info, view), "at": at, "address": search, "page": body(query)}


def register(app: Dash) -> None:
    """Connect the callbacks."""
    _register_list(app)
    _register_compare(app)
    builder.register(app)
    ledger.register(app)


def findable() -> list[tuple[str, str, dict[str, str]]]:
    """Actions, bundled experiments, and policies and their settings, which open the form that has them."""
    found: list[tuple[str, str, dict[str, str]]] = [
        ("New experiment", "action", {"look": BUILD}),
        ("My traces as jobs", "action", {"look": BUILD, "traces": "all"}),
    ]
    forms = {arm.policy: each.name for each in builder.bundled() for arm in each.experiment.policies}
    found += [
        (each.experiment.name, "bundled experiment", {"look": BUILD, "from": each.name})
        for each in builder.bundled()
    ]
    for name, policy in POLICIES.items():
        form = {"look": BUILD, **({"from": forms[name]} if name in forms else {})}
        title = display_name(name)
        found.append((title if title == name else f"{title} · {name}", "scheduling policy", form))
        found += [(f"{spec.label} of {title}", "setting", form) for spec in describe(policy.settings)]
    return found


def _count_experiments() -> int:
    return workspace().runs.count()


PAGE = Page(
    PATH,
    "Runs",
    "player-play",
    2,
    layout,
    register,
    routes=(exports.blueprint,),
    count=_count_experiments,
    keys=(("← →", "On a ledger: previous or next tick"),),
    findable=findable,
    outline=(Room((110,)), Room((480,))),
)
