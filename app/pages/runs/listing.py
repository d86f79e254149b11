"""The list of experiments, filtered by text and state, and the bundled ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import dcc, html

from app.context import workspace
from app.pages.runs import stored
from app.pages.runs.builder import bundled
from app.pages.runs.query import ACT, PATH
from app.ui import attached_runs
from app.ui.attached_runs import attached_card
from app.ui.basics import (
    Node,
    aria,
    button,
    card,
    data,
    empty,
    icon,
    icon_button,
    link_button,
    page_head,
    state_badge,
    unseen,
)
from app.ui.links import segments
from app.ui.page import sentences
from app.ui.tables import html_table
from app.ui.task_card import when
from core.errors import PhaseDockError
from core.tables import Column, Table
from core.units import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.pages.runs.builder import Bundled
    from app.pages.runs.query import View
    from core.experiments.spec import Experiment
    from core.runs.values import ExperimentInfo

_LOOK_BACK = 500
FIRST = "flowcon-3-fixed"
"""The bundled experiment that is suggested first: it takes about three seconds."""
_STATES = {
    "any": "All",
    "running": "Running",
    "done": "Finished",
    "failed": "Failed",
    "cancelled": "Cancelled",
}


# The columns that both lists have.
_ABOUT = (
    Column("policies", "Policies", value=lambda each: stored.list_policies(each.experiment)),
    Column("jobs", "Jobs on machines", value=lambda each: _describe_jobs(each.experiment), right=True),
    Column("seeds", "Seeds", format_count, lambda each: len(each.experiment.seeds)),
)
_BUTTONS = Column("buttons", " ", value=lambda _: "")


def _describe_jobs(experiment: Experiment) -> str:
    return f"{experiment.n_jobs:,} on {stored.describe_machines(experiment)}"


def list_page(view: View) -> list[Node]:
    """The page with both lists."""
    infos = workspace().runs.experiments(_LOOK_BACK)
    tasks = stored.tasks_by_experiment()
    states = {info.id: stored.state_of(info, tasks) for info in infos}
    matching = [info for info in infos if view.state is None or _matches_state(states[info.id], view.state)]
    lead = "policies compared on the same jobs, simulated or in real containers, with every decision recorded"
    from_traces = link_button("From my traces", f"{PATH}?look=build&traces=all", "timeline")
    new = link_button("New experiment", f"{PATH}?look=build", "plus", "primary" if infos else "")
    return [
        page_head("Runs", lead, [from_traces, new]),
        html.Div(
            [
                _experiments(matching, states, view, any_at_all=bool(infos)),
                attached_card(),
                _bundled_card(bundled(), bool(infos)),
            ],
            className="stack",
        ),
    ]


def _matches_state(state: str, filter_state: str) -> bool:
    """Whether an experiment is in a state; a queued one counts as running."""
    return state == filter_state or (filter_state == "running" and state in stored.UNDER_WAY)


def _experiments(
    infos: Sequence[ExperimentInfo], states: dict[str, str], view: View, *, any_at_all: bool
) -> html.Section:
    if not any_at_all:
        return _no_runs_yet()
    words = {info.id: attached_runs.state_words(states[info.id]) for info in infos}
    name, state = Column("name", "Experiment"), Column("state", "State", value=lambda info: words[info.id][0])
    table = html_table(
        Table("experiments", (name, state, *_ABOUT, Column("created", "When"), _BUTTONS), infos),
        "Experiments, newest first",
        cells={
            "name": lambda info: dcc.Link(info.name, href=f"{PATH}?experiment={info.id}", className="policy"),
            "state": lambda info: state_badge(*words[info.id]),
            "created": lambda info: when(info.created),
            "buttons": lambda info: html.Div(_row_buttons(info), className="row"),
        },
        heads={"buttons": unseen("Actions")},
        css={"policies": "truncate", "created": "ink3"},
        attributes=lambda info: _filter_attributes(info, words[info.id][0], view.text),
        row_heads=True,
        table_class="plain runlist",
    )
    none = html.Div("No experiment is in this state.", className="ink3 small", style={"padding": "10px 14px"})
    return card(
        "Experiments",
        table,
        *([] if infos else [none]),
        note=html.Span(f"{len(infos):,}", className="count"),
        tools=_filters(view),
        flush=True,
    )


def _no_runs_yet() -> html.Section:
    text = (
        "An experiment runs several policies on the same machines and jobs, over any number of seeds, "
        "and compares them with intervals. Start a bundled one with one click."
    )
    first = next((each for each in bundled() if each.name == FIRST), None)
    acts: list[Node] = [link_button("Build your own", f"{PATH}?look=build", "plus")]
    if first is not None:
        acts.insert(0, _start(first, f"Run “{first.experiment.name}”", "primary"))
    return card(None, empty("player-play", "No runs yet", text, acts))


def _filters(view: View) -> list[Node]:
    """The filters of the list: state and text."""
    text = dmc.TextInput(
        id="runs-filter",
        value=view.text,
        placeholder="Filter",
        size="xs",
        leftSection=icon("search", "sm"),
        **aria(label="Filter experiments"),
    )
    return [segments(view, "state", _STATES, view.state or "any", "State"), text]


def _filter_attributes(info: ExperimentInfo, word: str, text: str) -> dict[str, Any]:
    """What the filter finds an experiment by, and whether `text` hides it."""
    arms = info.experiment.policies
    names = {arm.label for arm in arms} | {stored.policy_title(arm.label, arm.policy) for arm in arms}
    searched = " ".join((info.name, *sorted(names), word)).lower()
    return {"hidden": bool(text) and text.lower() not in searched, **data(filter=searched)}


def _row_buttons(info: ExperimentInfo) -> list[Node]:
    again_label = f"Run {info.name} again"
    return [
        dcc.Link(
            [icon("refresh"), html.Span(again_label, className="sr")],
            href=f"{PATH}?look=build&from={info.id}",
            className="iconbtn",
            title=again_label,
        ),
        icon_button("trash", f"Delete {info.name}", **data(act="ask", id=info.id, store=ACT)),
    ]


def _start(each: Bundled, label: str, kind: str = "small") -> html.Button:
    return button(label, "player-play", kind, **data(act="start", id=each.name, store=ACT))


def obstacle(experiment: Experiment) -> str:
    """Why an experiment cannot be run here; empty if it can."""
    try:
        workspace().runs.check(experiment)
    except PhaseDockError as error:
        return " ".join(sentences(error))
    return ""


def _run_or_reason(each: Bundled, reason: str) -> Node:
    """The button that starts a bundled experiment, or why that is not possible."""
    return html.Span("Not here", className="ink3 small", title=reason) if reason else _start(each, "Run")


def _bundled_card(experiments: Sequence[Bundled], anything: bool) -> Node:
    reasons = {each.name: obstacle(each.experiment) for each in experiments}
    experiments = sorted(experiments, key=lambda each: (bool(reasons[each.name]), each.name != FIRST))
    name = Column("name", "Experiment", value=lambda each: each.experiment.name)
    table = html_table(
        Table("bundled", (name, *_ABOUT, _BUTTONS), experiments),
        "Experiments that come with PhaseDock",
        cells={
            "name": _bundled_name,
            "buttons": lambda each: _run_or_reason(each, reasons[each.name]),
        },
        attributes=lambda each: {"className": "cannot"} if reasons[each.name] else {},
        heads={"buttons": unseen("Start")},
        css={"policies": "truncate"},
        row_heads=True,
        table_class="plain runlist bundled",
    )
    note = "run them as they are or change them" if anything else "one click starts one"
    why = [
        html.P([html.B("Grey: "), reason], className="small ink2 boardfoot")
        for reason in dict.fromkeys(filter(None, reasons.values()))
    ]
    return card("Bundled experiments", table, *why, note=note, flush=True)


def _bundled_name(each: Bundled) -> Node:
    name = dcc.Link(each.experiment.name, href=f"{PATH}?look=build&from={each.name}", className="policy")
    return [name, html.Div(each.experiment.about, className="small ink3 about")]


def plumbing() -> list[Node]:
    """The store of the lists' buttons, and the window that confirms a deletion."""
    return [
        dcc.Store(id=ACT),
        dmc.Modal(
            id="run-delete",
            title="Delete for good?",
            closeButtonProps={"aria-label": "Close"},
            children=html.Div(id="run-delete-what", className="stack"),
        ),
    ]


def confirm_delete(experiment: str) -> list[Node]:
    """The confirmation before an experiment is deleted, with its buttons."""
    info = workspace().runs.experiment(experiment)
    n_runs = len(workspace().runs.list(100_000, experiment=experiment))
    text = (
        f"“{info.name}” and its {n_runs:,} run{'s' if n_runs != 1 else ''} with their ledgers are deleted. "
        "Comparisons of other experiments that used these runs keep their results."
    )
    return [
        html.P(text),
        html.Div(
            [
                button("Keep it", None, "", **data(act="close", id="", store=ACT)),
                button("Delete", "trash", "danger", **data(act="delete", id=experiment, store=ACT)),
            ],
            className="row ends",
        ),
    ]
