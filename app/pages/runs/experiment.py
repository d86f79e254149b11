"""The page of an experiment: its policies against a baseline, and each policy's run on one seed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import dcc, html

from app.figures.runs.job_lives import MAX_JOBS, Lives, job_lives
from app.figures.runs.series import spans
from app.pages.runs import stored
from app.pages.runs.board import board_card
from app.pages.runs.board_cells import published_for, rows
from app.pages.runs.completion import jobs_card, steps_card, times_card
from app.pages.runs.headline import headline_card, with_own_columns
from app.pages.runs.loads import loads_card
from app.pages.runs.measures import format_measure
from app.pages.runs.over_time import kinds, over_time_cards
from app.pages.runs.query import LEDGER, PATH
from app.pages.runs.selection import common_end, drawn_runs, drawn_seed, select
from app.pages.runs.stored import describe_experiment
from app.ui import task_card
from app.ui.attached_runs import state_words
from app.ui.basics import (
    Node,
    aria,
    card,
    data,
    empty,
    icon,
    link_button,
    page_head,
    state_badge,
)
from app.ui.graph import graph
from app.ui.links import Query, link
from app.ui.tables import html_table, page_export
from core.experiments.leaderboard import MEASURES
from core.tables import Column, Table
from core.units import format_change, format_duration, format_number, format_share, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.pages.runs.query import View
    from app.pages.runs.selection import DrawnRun, Selection
    from core.experiments.leaderboard import Standing
    from core.runs.values import ExperimentInfo
    from core.workspace.records import TaskInfo

_POLL_MS = 2_500


def experiment_page(info: ExperimentInfo, view: View) -> list[Node]:
    """The page of an experiment.

    The state is read before the results: a result in between is then shown twice, but never left out.
    """
    above = [
        html.Div(head(info, view), id="run-head"),
        html.Span(id="run-mark", hidden=True, **data(mark=results_mark(info, view), at=time.time())),
    ]
    selection = select(info, view)
    runs = drawn_runs(selection.drawn, drawn_seed(view, selection.seeds)) if selection.seeds else []
    actions: list[Node] = [
        _base_picker(selection),
        *_rival_picker(info, selection),
        link_button("Run again", f"{PATH}?look=build&from={info.id}", "refresh"),
        _export_menu(info, view, selection, runs),
    ]
    cards = _cards(info, view, selection, runs) if selection.seeds else [_nothing(info)]
    return [page_head(info.name, None, actions), *above, html.Div(cards, className="stack")]


def _base_picker(selection: Selection) -> Node:
    """The choice of the baseline."""
    options = [{"value": side.key, "label": side.title} for side in selection.sides]
    return dmc.Select(
        id={"type": "run-side", "name": "base"},
        data=options,
        value=selection.base.key,
        allowDeselect=False,
        searchable=len(options) > 8,
        size="xs",
        leftSection=html.Span("against", className="abside a"),
        leftSectionWidth=74,
        rightSection=icon("selector", "sm"),
        className="sidepick wide",
        **aria(label="Baseline"),
    )


def _rival_picker(info: ExperimentInfo, selection: Selection) -> list[Node]:
    """The choice of a policy of another experiment with the same machines, jobs and rules."""
    own_keys = {side.key for side in selection.sides}
    options = [
        {"value": key, "label": side.title}
        for key, side in stored.rivals(info).items()
        if key not in own_keys and set(side.runs) & set(selection.seeds)
    ]
    if not options:
        return []
    return [
        dmc.Select(
            id={"type": "run-side", "name": "rival"},
            data=options,
            placeholder="Add a policy",
            searchable=len(options) > 8,
            size="xs",
            rightSection=icon("plus", "sm"),
            className="sidepick",
            **aria(label="Add a policy of another experiment"),
        )
    ]


def _export_menu(info: ExperimentInfo, view: View, selection: Selection, runs: Sequence[DrawnRun]) -> Node:
    """The page's files."""
    files = [("Leaderboard, CSV", _table_address(info, view, "leaderboard"))] if selection.seeds else []
    files += [
        ("Jobs of every run, CSV", f"/api/experiments/{info.id}/jobs.csv"),
        ("Experiment, YAML", f"/api/experiments/{info.id}.yaml"),
        ("Comparison, JSON", f"/api/experiments/{info.id}/report.json"),
    ]
    return page_export(
        [*files, *((f"Run of {each.side.title}, JSON", f"/api/runs/{each.run}.json") for each in runs)]
    )


def _table_address(info: ExperimentInfo, view: View, name: str) -> str:
    """The address of a visible table of the page as a file."""
    return Query(f"/api/experiments/{info.id}/{name}.csv", view.query.values)(experiment=None)


# The state of the experiment.


def head(info: ExperimentInfo, view: View) -> list[Node]:
    """The state of an experiment, and its task while that runs or after it failed."""
    task = stored.task_of(info)
    return [_status(info, task), *_live(task, _shown_seeds(info, view))]


def results_mark(info: ExperimentInfo, view: View) -> str:
    """A mark of the shown results, from the state and the number of seeds."""
    return f"{stored.state_of(info)} {_shown_seeds(info, view)}"


def _status(info: ExperimentInfo, task: TaskInfo | None) -> html.Div:
    word, kind, picture = state_words(stored.state_of(info))
    words = describe_experiment(info.experiment)
    if task is not None and task.started is not None and task.finished is not None:
        took = max((task.finished - task.started).total_seconds(), 0.1)
        words += f", {format_duration(round(took, 1))} of computing"
    parts: list[Node] = [state_badge(word, kind, picture), html.Span(words, className="ink3")]
    if info.experiment.about:
        parts.append(html.Span(info.experiment.about, className="ink2 small"))
    return html.Div(parts, className="row wrap runstate")


def _live(task: TaskInfo | None, seeds: int) -> list[Node]:
    """The task's card while it runs, and after it failed.

    While it runs, the page polls for results, and is redrawn when their number has doubled.
    """
    if task is None or task.state.value == "done":
        return []
    parts: list[Node] = [html.Div(task_card.live(task), className="spaced")]
    if not task.state.ended:
        last_seen = [task.state.value, seeds]
        parts += [dcc.Interval(id="run-poll", interval=_POLL_MS), dcc.Store(id="run-seen", data=last_seen)]
    return parts


def is_polled(info: ExperimentInfo) -> bool:
    """Whether the page of an experiment polls for results."""
    task = stored.task_of(info)
    return task is not None and not task.state.ended


def has_new_seeds(info: ExperimentInfo, view: View, seeds_before: int) -> bool:
    """Whether there are enough new results to redraw the page."""
    return _shown_seeds(info, view) >= max(2 * seeds_before, 1)


def _shown_seeds(info: ExperimentInfo, view: View) -> int:
    """The number of seeds on the page."""
    return len(select(info, view).seeds)


def _nothing(info: ExperimentInfo) -> Node:
    if stored.state_of(info) in stored.UNDER_WAY:
        text = "The first results appear once every policy has run with the first seed."
        return card(None, empty("hourglass", "Nothing to compare yet", text))
    text = "None of its runs is stored any more. Run it again; runs that are still stored are reused."
    again_button = link_button("Run again", f"{PATH}?look=build&from={info.id}", "refresh", "primary")
    return card(None, empty("player-play", "No runs", text, [again_button]))


# The cards.


def _cards(info: ExperimentInfo, view: View, selection: Selection, runs: Sequence[DrawnRun]) -> list[Node]:
    """The result, the leaderboard and when each job ran; everything else folded below."""
    view = with_own_columns(view, rows(info, selection, view))
    board = _table_address(info, view, "leaderboard")
    standings = rows(info, selection, view)
    titles = {side.key: side.title for side in selection.sides}
    first = [
        headline_card(selection, standings),
        board_card(info, selection, view, board),
        lives_card(selection, runs, view),
    ]
    waits = times_card([(titles[row.label], row.measures) for row in standings], [("Table, CSV", board)])
    steps = steps_card(selection, _table_address(info, view, "steps"))
    loads = loads_card(info, selection, _table_address(info, view, "loads"))
    jobs, over_time = _one_seed(info, view, selection, runs)
    given = view.query.values
    folded = [
        fold("Jobs", "completion of each", jobs, is_open=bool({"bars", "measure"} & set(given))),
        fold("Over time", "loss, growth, CPU, queue", over_time, is_open=bool(_OVER_TIME & set(given))),
        fold("Waiting and steps", "service, paused, seconds per step", [waits, steps]),
        fold("Loads", "the same jobs, more or fewer", [loads]),
        fold(
            "Prediction", "the simulator beside the measurement", [predicted_card(info, selection, standings)]
        ),
    ]
    return [each for each in (*first, *folded) if each is not None]


_OVER_TIME = {"over", "line", "by", "page", "job", "seed"}
"""Parameters of the address that are about figures over time."""


def fold(title: str, what: str, cards: Sequence[Node], *, is_open: bool = False) -> html.Details | None:
    """Cards that are folded below the first screen; None without any."""
    present = [each for each in cards if each is not None]
    if not present:
        return None
    summary = html.Summary([icon("chevron-right", "sm"), html.B(title), html.Span(what, className="ink3")])
    return html.Details([summary, html.Div(present, className="stack")], className="runfold", open=is_open)


def lives_card(selection: Selection, runs: Sequence[DrawnRun], view: View) -> html.Section | None:
    """When each job ran under the baseline and the highlighted policy, on one seed."""
    styles = {side.key: style for side, style in zip(selection.drawn, selection.styles, strict=True)}
    shown = [
        each for each in runs if styles[each.side.key].swatch in ("base", "lit") and each.facts is not None
    ]
    if not shown:
        return None
    lives = [Lives(styles[each.side.key], each.jobs, spans(each.series, each.jobs)) for each in shown]
    figure = job_lives(lives, common_end(shown))
    more = max(len(each.jobs) for each in shown) - MAX_JOBS
    note = "full: running, pale: waiting, paused or moving"
    names = " and ".join(each.side.title for each in shown)
    last = shown[-1].side
    ledger = view.query(look=LEDGER, of=last.key, tick=None, job=None, page=None)
    return card(
        "When each job ran",
        graph("job-lives", figure, f"When each job ran under {names}"),
        note=f"{note}; the first {MAX_JOBS} jobs by arrival" if more > 0 else note,
        tools=[link_button("Step through the decisions", ledger, "player-track-next", "small")],
    )


def _one_seed(
    info: ExperimentInfo, view: View, selection: Selection, runs: Sequence[DrawnRun]
) -> tuple[list[Node], list[Node]]:
    """The jobs of the drawn policies on one seed, and their figures over time."""
    if not runs:
        return [], []
    seed = drawn_seed(view, selection.seeds)
    keys = {each.side.key for each in runs}
    styles = [
        style for side, style in zip(selection.drawn, selection.styles, strict=True) if side.key in keys
    ]
    base = next(iter(drawn_runs([selection.base], seed)), None)
    published = published_for(info, selection)
    jobs = jobs_card(runs, base, styles, view, _table_address(info, view, "completion"), published)
    over_time = [
        html.Div(
            [
                html.Div(_seeds(view, selection.seeds, seed), className="row wrap"),
                html.Div([*_highlighted(view, runs), *kinds(view)], className="row wrap"),
            ],
            className="seedline",
        ),
        *over_time_cards(runs, styles, view, _table_address(info, view, "learning")),
    ]
    return [jobs], over_time


def _seeds(view: View, seeds: Sequence[int], seed: int) -> list[Node]:
    """The drawn seed, with links to others."""
    at = list(seeds).index(seed)
    parts: list[Node] = [html.Span(f"Seed {seed}, {at + 1} of {len(seeds)}", className="num")]
    if at:
        label = aria(label="Previous seed")
        parts.insert(0, link("‹", view.query(seed=seeds[at - 1]), className="iconbtn", **label))
    if at + 1 < len(seeds):
        parts.append(
            link("›", view.query(seed=seeds[at + 1]), className="iconbtn", **aria(label="Next seed"))
        )
    return parts


def _highlighted(view: View, runs: Sequence[DrawnRun]) -> list[Node]:
    """The choice of the highlighted job where every job is a band."""
    if view.over != "cpu":
        return []
    return [
        dmc.Select(
            id={"type": "run-side", "name": "job"},
            data=runs[0].jobs,
            value=view.job if view.job in runs[0].jobs else None,
            placeholder="Highlight a job",
            clearable=True,
            clearButtonProps=aria(label="No job"),
            searchable=True,
            size="xs",
            className="sidepick",
            **aria(label="Highlighted job"),
        )
    ]


def predicted_card(
    info: ExperimentInfo, selection: Selection, standings: Sequence[Standing]
) -> html.Section | None:
    """The simulator's prediction for each policy next to the measurement; None without predictions."""
    predicted: Mapping[str, Any] = (info.report or {}).get("predicted") or {}
    measures = {row["label"]: row["measures"] for row in predicted.get("comparison", [])}
    both = [row for row in standings if row.label in measures]
    if not both:
        return None
    base = measures.get(selection.base.key, {})
    titles = {side.key: side.title for side in selection.sides}
    rows = [(name, row) for name in MEASURES for row in both]

    def real(pair: tuple[str, Standing]) -> float | None:
        name, row = pair
        return row.differences[name].value if name in row.differences else None

    def change(pair: tuple[str, Standing]) -> float | None:
        name, row = pair
        predicted_value, predicted_base = measures[row.label].get(name), base.get(name)
        return (
            predicted_value / predicted_base - 1
            if predicted_base and predicted_value is not None and row.differences
            else None
        )

    columns = (
        Column("measure", "Measure", value=lambda pair: MEASURES[pair[0]] if pair[1] is both[0] else ""),
        Column("policy", "Policy", value=lambda pair: titles[pair[1].label]),
        Column("real", "Real", right=True,
               value=lambda pair: format_measure(pair[0], pair[1].measures.get(pair[0]))),
        Column("predicted", "Predicted", right=True,
               value=lambda pair: format_measure(pair[0], measures[pair[1].label].get(pair[0]))),
        Column("change", "Difference, real", format_change, real),
        Column("predicted_change", "predicted", format_change, change),
    )  # fmt: skip
    values = [tuple(column.value_of(row) for column in columns) for row in rows]
    table = Table("predicted", columns, values)
    rendered = html_table(table, "Measured and predicted", row_heads=True, table_class="plain differences")
    note = _predicted_note(titles.get(info.experiment.baseline, info.experiment.baseline), predicted)
    return card("Simulator’s prediction", rendered, note=note, flush=True)


def _predicted_note(baseline: str, predicted: Mapping[str, Any]) -> str:
    fits = list((predicted.get("fits") or {}).values())
    gammas = [fit["gamma"] for fit in fits]
    errors = [fit["curve_error"] for fit in fits]
    span = format_number(min(gammas), 3)
    if max(gammas) > min(gammas):
        span += f" to {format_number(max(gammas), 3)}"
    words = f"fitted to {baseline} alone: contention {span}, losses within {format_share(max(errors), 1)}"
    missing = predicted.get("missing") or {}
    return f"{words}; {plural(len(missing), 'repeat')} could not be fitted" if missing else words
