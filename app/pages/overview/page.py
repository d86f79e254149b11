"""What is here, what runs, and what to do next; on a fresh start, the ways in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import dash
from dash import Input, Output, State, dcc, html

from app.context import LOCATION, Choice, address, chosen, workspace
from app.pages.overview.cards import key_figures, task_rows, tasks_card, what_jobs_do
from app.pages.overview.fresh_start import fresh_start
from app.pages.overview.steps import next_steps
from app.ui import attached_runs
from app.ui.basics import Node, card, icon, link_button, page_head, state_badge, when_changed
from app.ui.errors import problem, safe_page
from app.ui.page import Page, Room
from app.ui.task_card import when
from core.errors import PhaseDockError
from core.traces.validation import many
from core.workspace.records import NO_EXPERIMENT, TaskState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from dash import Dash

    from core.workspace.records import ModelInfo, TaskInfo, TraceSetInfo


_MOST = 7


class News(NamedTuple):
    """Something that was made: when, its icon and kind, its name, what it is, and where."""

    at: datetime
    icon: str
    kind: str
    name: str
    words: str
    href: str
    sample: bool = False


def news_card(sets: Sequence[TraceSetInfo], models: Sequence[ModelInfo]) -> Node:
    """The card of all that is new."""
    found = sorted([*_sets(sets), *_models(models), *_experiments(), *_attached()], reverse=True)
    tools = [link_button(f"All {len(sets)} trace sets", "/traces", "arrow-right", "small quiet")]
    if len(sets) == 1:
        tools = [link_button("Traces", "/traces", "arrow-right", "small quiet")]
    return card("What is new", *(_row(each) for each in found[:_MOST]), tools=tools, flush=True)


def _sets(sets: Sequence[TraceSetInfo]) -> Iterable[News]:
    for info in sets[:_MOST]:
        words, href = many(info.n_executions, "execution"), address("/phases", Choice(info, None))
        yield News(info.created, "database", "Trace set", info.name, words, href, info.sample)


def _models(models: Sequence[ModelInfo]) -> Iterable[News]:
    for info in models[:_MOST]:
        href = address("/models", Choice(None, info))
        yield News(
            info.created, "stack-2", "Model", info.name, many(len(info.phases), "phase"), href, info.sample
        )


def _experiments() -> Iterable[News]:
    for info in workspace().runs.experiments(_MOST):
        policies = f"{len(info.experiment.policies)} policies"
        state = policies if info.report is not None else f"not finished: {policies}"
        yield News(
            info.created, "player-play", "Experiment", info.name, state, address("/runs", experiment=info.id)
        )


def _attached() -> Iterable[News]:
    for run in workspace().runs.list(_MOST, experiment=NO_EXPERIMENT):
        words = f"{many(run.ticks, 'decision')}, {attached_runs.state_words(run.state)[0]}"
        yield News(run.created, "activity", "Attached policy", run.name, words, attached_runs.address(run.id))


def _row(each: News) -> html.Div:
    return html.Div(
        [
            html.Span([icon(each.icon), html.Span(each.kind, className="sr")], title=each.kind),
            dcc.Link(each.name, href=each.href, className="strong truncate grow"),
            state_badge("sample") if each.sample else None,
            html.Span(each.words, className="ink2 truncate only-desktop"),
            html.Span(when(each.at), className="ink3 num"),
        ],
        className="item row",
        style={"gap": 12},
    )


_RUNNING = (TaskState.QUEUED, TaskState.RUNNING)
_POLL_MS = 1_500


@safe_page("Overview")
def layout(traces: str | None = None, model: str | None = None, **_query: str) -> Node:
    """Lay the page out."""
    space = workspace()
    sets = space.traces.list()
    watch = dcc.Interval(id="overview-poll", interval=_POLL_MS)
    loading = [task for task in space.tasks.list(20, list(_RUNNING)) if task.kind == "samples"]
    sample = dcc.Store(id="samples-task", data=loading[0].id if loading else None)
    if not sets:
        return [page_head("Overview"), watch, sample, *fresh_start(loading=bool(loading), failed=_failed())]
    choice, tasks, models = chosen(traces, model), space.tasks.list(20), space.models.list()
    return [
        page_head("Overview", None, _ways()),
        watch,
        sample,
        html.Div(
            [
                _safely(key_figures, choice, sets, models),
                html.Div(
                    [_safely(what_jobs_do, choice), _safely(next_steps, choice, tasks, sets)],
                    className="grid cols-main",
                ),
                html.Div(
                    [_safely(news_card, sets, models), tasks_card(tasks)],
                    className="grid cols-main",
                ),
            ],
            className="stack",
        ),
    ]


def _ways() -> list[Node]:
    return [
        link_button("Add traces", "/traces", "upload"),
        link_button("New run", "/runs?look=build", "plus", "primary"),
    ]


def _safely(part: Callable[..., Node], *given: Any) -> Node:
    """One part of the page, or what is wrong with it: the others are shown all the same."""
    try:
        return part(*given)
    except PhaseDockError as error:
        return card(None, problem(error))


def _failed() -> TaskInfo | None:
    """The last attempt to load the samples, if it failed."""
    last = next(iter(workspace().tasks.list(1, None, ["samples"])), None)
    return last if last is not None and last.state in (TaskState.FAILED, TaskState.INTERRUPTED) else None


def register(app: Dash) -> None:
    """Connect the callbacks."""

    @app.callback(
        Output("samples-task", "data"),
        Output("load-samples", "disabled"),
        Output("load-samples", "children"),
        Input("load-samples", "n_clicks"),
        prevent_initial_call=True,
    )
    def load_samples(_clicks: int) -> tuple[Any, ...]:
        task = workspace().tasks.submit("samples", "Load the samples and their model", {})
        return task, True, [icon("hourglass"), "Loading…"]

    @app.callback(
        Output("overview-tasks", "children"),
        Input("overview-poll", "n_intervals"),
        State("overview-tasks", "children"),
        prevent_initial_call=True,
    )
    def refresh(_ticks: int, before: Any) -> Any:
        rows = task_rows(workspace().tasks.list(5))
        return when_changed(rows, before)

    @app.callback(
        Output(LOCATION, "pathname", allow_duplicate=True),
        Output(LOCATION, "search", allow_duplicate=True),
        Output("changed", "data", allow_duplicate=True),
        Input("overview-poll", "n_intervals"),
        State("samples-task", "data"),
        prevent_initial_call=True,
    )
    def arrived(ticks: int, task_id: str | None) -> tuple[Any, ...]:
        if task_id is None or not workspace().tasks.get(task_id).state.ended:
            return dash.no_update, dash.no_update, dash.no_update
        return "/", f"?loaded={task_id}", ticks


PAGE = Page(
    "/",
    "Overview",
    "layout-dashboard",
    0,
    layout,
    register,
    outline=(
        Room((128,) * 4, "grid cols-4"),
        Room((380, 380), "grid cols-main"),
        Room((180, 180), "grid cols-main"),
    ),
)
