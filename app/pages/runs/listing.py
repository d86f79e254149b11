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
    scrolling,
    state_badge,
)
from app.ui.links import segments
from app.ui.task_card import when

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.pages.runs.builder import Bundled
    from app.pages.runs.query import View
    from core.experiments.spec import Experiment
    from core.runs.values import ExperimentInfo

_LOOK_BACK = 500
_STATES = {
    "any": "All",
    "running": "Running",
    "done": "Finished",
    "failed": "Failed",
    "cancelled": "Cancelled",
}


def list_page(view: View) -> list[Node]:
    """The page with both lists."""
    infos = workspace().runs.experiments(_LOOK_BACK)
    tasks = stored.tasks_by_experiment()
    states = {info.id: stored.state_of(info, tasks) for info in infos}
    matching = [info for info in infos if view.state is None or _matches_state(states[info.id], view.state)]
    lead = "policies compared on the same jobs, simulated or in real containers, with every decision recorded"
    mine = link_button("From my traces", f"{PATH}?look=build&traces=all", "timeline")
    new = link_button("New experiment", f"{PATH}?look=build", "plus", "primary" if infos else "")
    return [
        page_head("Runs", lead, [mine, new]),
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
    rows = [_row(info, states[info.id], view.text) for info in infos]
    heads = ("Experiment", "State", "Policies", "Jobs on machines", "Seeds", "When")
    made = _table("Experiments, newest first", (*heads, _unseen("Actions")), rows, id="runs-rows")
    none = html.Div("No experiment is in this state.", className="ink3 small", style={"padding": "10px 14px"})
    return card(
        "Experiments",
        scrolling(made, "Experiments"),
        *([] if rows else [none]),
        note=html.Span(f"{len(infos):,}", className="count"),
        tools=_filters(view),
        flush=True,
    )


def _no_runs_yet() -> html.Section:
    text = (
        "An experiment runs several policies on the same machines and jobs, over as many seeds as you "
        "like, and says which is better and by how much. Start a bundled one with one click."
    )
    first = next(iter(bundled()), None)
    acts: list[Node] = [link_button("Build your own", f"{PATH}?look=build", "plus")]
    if first is not None:
        acts.insert(0, _start(first, f"Run “{first.experiment.name}”", "primary"))
    return card(None, empty("player-play", "No runs yet", text, acts))


def _filters(view: View) -> list[Node]:
    """What the list is filtered by: state and text."""
    text = dmc.TextInput(
        id="runs-filter",
        value=view.text,
        placeholder="Filter",
        size="xs",
        leftSection=icon("search", "sm"),
        **aria(label="Filter experiments"),
    )
    return [segments(view, "state", _STATES, view.state or "any", "State"), text]


def _unseen(text: str) -> html.Span:
    """The head of a column of buttons, for assistive technology only."""
    return html.Span(text, className="sr")


def _table(
    caption: str, heads: Sequence[Node], rows: list[html.Tr], kind: str = "", **body: Any
) -> html.Table:
    """A table of experiments; `body` are properties of its rows' parent."""
    return html.Table(
        [
            html.Caption(caption, className="sr"),
            html.Thead(html.Tr([html.Th(head, scope="col") for head in heads])),
            html.Tbody(rows, **body),
        ],
        className=f"plain runlist {kind}".strip(),
    )


def _row(info: ExperimentInfo, state: str, text: str) -> html.Tr:
    word, kind, picture = attached_runs.state_words(state)
    experiment = info.experiment
    names = {
        name
        for arm in experiment.policies
        for name in (arm.label, stored.policy_title(arm.label, arm.policy))
    }
    searched = " ".join((info.name, *sorted(names), word)).lower()
    name = dcc.Link(info.name, href=f"{PATH}?experiment={info.id}", className="policy")
    return html.Tr(
        [
            html.Th(name, scope="row"),
            html.Td(state_badge(word, kind, picture)),
            *_about(experiment),
            html.Td(when(info.created), className="ink3"),
            html.Td(html.Div(_row_buttons(info), className="row")),
        ],
        hidden=bool(text) and text.lower() not in searched,
        **data(filter=searched),
    )


def _about(experiment: Experiment) -> list[html.Td]:
    """The policies, the jobs and machines, and the seeds of an experiment."""
    return [
        html.Td(stored.list_policies(experiment), className="truncate"),
        html.Td(f"{experiment.n_jobs:,} on {stored.describe_machines(experiment)}", className="num"),
        html.Td(f"{len(experiment.seeds):,}", className="num"),
    ]


def _row_buttons(info: ExperimentInfo) -> list[Node]:
    again = f"Run {info.name} again"
    return [
        dcc.Link(
            [icon("refresh"), html.Span(again, className="sr")],
            href=f"{PATH}?look=build&from={info.id}",
            className="iconbtn",
            title=again,
        ),
        icon_button("trash", f"Delete {info.name}", **data(act="ask", id=info.id, store=ACT)),
    ]


def _start(each: Bundled, label: str, kind: str = "small") -> html.Button:
    return button(label, "player-play", kind, **data(act="start", id=each.name, store=ACT))


def _bundled_card(found: Sequence[Bundled], anything: bool) -> Node:
    heads = ("Experiment", "Policies", "Jobs on machines", "Seeds", _unseen("Start"))
    rows = [_bundled_row(each) for each in found]
    made = _table("Experiments that come with PhaseDock", heads, rows, "bundled")
    return card(
        "Bundled experiments",
        scrolling(made, "Bundled experiments"),
        note="run them as they are or change them" if anything else "one click starts one",
        flush=True,
    )


def _bundled_row(each: Bundled) -> html.Tr:
    name = dcc.Link(each.experiment.name, href=f"{PATH}?look=build&from={each.name}", className="policy")
    about = html.Div(each.experiment.about, className="small ink3 about")
    return html.Tr(
        [html.Th([name, about], scope="row"), *_about(each.experiment), html.Td(_start(each, "Run"))]
    )


def plumbing() -> list[Node]:
    """The store of the lists' buttons, and the window that asks before something is deleted."""
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
    """The question before an experiment is deleted, and its buttons."""
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
