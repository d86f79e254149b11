"""The page of an experiment: all policies, or two with their differences and every figure twice."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import dcc, html

from app.figures.runs.arm_lines import arm_styles
from app.pages.runs import stored
from app.pages.runs.arms import over_time
from app.pages.runs.arms.choice import chosen, compares_all, named
from app.pages.runs.arms.layout import arms_cards, base_picker, table_address
from app.pages.runs.compare import charts, exports
from app.pages.runs.compare.differences import differences_card, quantity, times_card
from app.pages.runs.compare.shown import Shown, ends, facts_of
from app.pages.runs.query import BY, LEDGER, PATH
from app.pages.runs.stored import about, titled
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
    notice,
    page_head,
    scrolling,
    state_badge,
    unseen,
)
from app.ui.export import download
from app.ui.links import link, segments
from core.errors import ConflictError, NotFoundError
from core.experiments.compare import MEASURES
from core.units import format_change, format_duration, format_number, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.pages.runs.query import View
    from app.pages.runs.stored import Row, Side
    from core.runs.values import ExperimentInfo
    from core.workspace.records import TaskInfo


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


_POLL_MS = 2_500


def compare_page(info: ExperimentInfo, view: View) -> list[Node]:
    """The page of an experiment: all its policies, or two of them.

    How the experiment stands is read before its results: what comes in between is then shown once more, and
    never left out.
    """
    above = [
        html.Div(head(info, view), id="run-head"),
        html.Span(id="run-mark", hidden=True, **data(mark=mark(info, view), at=time.time())),
    ]
    return _all_page(info, view, above) if compares_all(info, view) else _two_page(info, view, above)


def _all_page(info: ExperimentInfo, view: View, above: list[Node]) -> list[Node]:
    asked = chosen(info, view)
    files = [("Leaderboard, CSV", table_address(info, view, "leaderboard"))] if asked.seeds else []
    actions: list[Node] = [
        *_switch(info, view, "all"),
        base_picker(asked),
        link_button("Run again", f"{PATH}?look=build&from={info.id}", "refresh"),
        exports.menu(info, [], None, files),
    ]
    return [
        page_head(info.name, None, actions),
        *above,
        html.Div(arms_cards(info, view) or [_nothing(info)], className="stack"),
    ]


def _switch(info: ExperimentInfo, view: View, shown: str) -> list[Node]:
    """The way between all policies and two of them; nothing where there are no more than two."""
    n = len(info.experiment.policies)
    if n <= 2:
        return []
    ways = (("all", f"All {n} policies", view.query(show="all", a=None, b=None)),
            ("two", "Two policies", view.query(show="two", a=None, b=None)))  # fmt: skip
    links = [
        link(
            title,
            to,
            className="on" if name == shown else "",
            **(aria(current="true") if name == shown else {}),
        )
        for name, title, to in ways
    ]
    return [html.Nav(links, className="seg", **aria(label="All policies or two"))]


def _seen(info: ExperimentInfo, view: View) -> int:
    """How many seeds the page shows."""
    if compares_all(info, view):
        return len(chosen(info, view).seeds)
    first, second, _ = stored.pair(info, view.a, view.b)
    return len(stored.shared_seeds(first, second))


def _two_page(info: ExperimentInfo, view: View, above: list[Node]) -> list[Node]:
    first, second, every = stored.pair(info, view.a, view.b)
    seeds = stored.shared_seeds(first, second)
    shown = _shown(first, second, _seed(view, seeds)) if seeds else []
    differences = exports.differences_address(info, first.key, second.key) if second and seeds else None
    actions: list[Node] = [
        *_switch(info, view, "two"),
        *_pickers(view, first, second, every),
        link_button("Run again", f"{PATH}?look=build&from={info.id}", "refresh"),
        exports.menu(info, shown, differences),
    ]
    return [
        page_head(info.name, None, actions),
        *above,
        html.Div(_cards(info, view, shown, seeds, differences), className="stack"),
    ]


def head(info: ExperimentInfo, view: View) -> list[Node]:
    """How the experiment stands, and its task while that runs or after it failed."""
    task = stored.task_of(info)
    return [_status(info, task), *_live(task, _seen(info, view))]


def mark(info: ExperimentInfo, view: View) -> str:
    """How an experiment stands and how many seeds are shown: with one mark, pages show the same results."""
    return f"{stored.state_of(info)} {_seen(info, view)}"


def _status(info: ExperimentInfo, task: TaskInfo | None) -> html.Div:
    word, kind, picture = state_words(stored.state_of(info))
    words = about(info.experiment)
    if task is not None and task.started is not None and task.finished is not None:
        taken = max((task.finished - task.started).total_seconds(), 0.1)
        words += f", {format_duration(round(taken, 1))} of computing"
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
    made: list[Node] = [html.Div(task_card.live(task), className="spaced")]
    if not task.state.ended:
        seen = [task.state.value, seeds]
        made += [dcc.Interval(id="run-poll", interval=_POLL_MS), dcc.Store(id="run-seen", data=seen)]
    return made


def polls(info: ExperimentInfo) -> bool:
    """Whether the page of an experiment asks for results again and again."""
    task = stored.task_of(info)
    return task is not None and not task.state.ended


def more_seeds(info: ExperimentInfo, view: View, seen: int) -> bool:
    """Whether there are enough new results to redraw the page."""
    return _seen(info, view) >= max(2 * seen, 1)


def _pickers(view: View, first: Side, second: Side | None, every: Mapping[str, Side]) -> list[Node]:
    options = [{"value": side.key, "label": side.title} for side in every.values()]
    made: list[Node] = [_picker("a", options, first.key)]
    if second is not None:
        swap = {"a": second.key, "b": first.key}
        made.append(
            link(
                icon("switch-horizontal"),
                view.query(**swap),
                className="iconbtn",
                title="Swap A and B",
                **aria(label="Swap A and B"),
            )
        )
        made.append(_picker("b", options, second.key))
    return made


def _picker(place: str, options: list[dict[str, str]], value: str) -> Node:
    return dmc.Select(
        id={"type": "run-side", "name": place},
        data=options,
        value=value,
        allowDeselect=False,
        searchable=len(options) > 8,
        size="xs",
        leftSection=html.Span(place.upper(), className=f"abside {place}"),
        leftSectionWidth=42,
        rightSection=icon("selector", "sm"),
        className="sidepick",
        **aria(label=f"Policy {place.upper()}"),
    )


def _seed(view: View, seeds: Sequence[int]) -> int:
    return view.seed if view.seed in seeds and view.seed is not None else seeds[0]


def _shown(first: Side, second: Side | None, seed: int) -> list[Shown]:
    made = []
    for place, side in (("a", first), ("b", second)):
        if side is None:
            continue
        try:
            run = side.runs[seed]
            made.append(Shown(place, side, run, stored.result(run), facts_of(run)))
        except (KeyError, NotFoundError, ConflictError):
            continue
    return made


def _cards(
    info: ExperimentInfo, view: View, shown: Sequence[Shown], seeds: Sequence[int], differences: str | None
) -> list[Node]:
    if not shown:
        return [_nothing(info)]
    top: list[Node] = []
    if len(shown) == 2 and differences:
        a, b = shown
        top.append(
            differences_card(
                _rows(a, b),
                (a.side.title, b.side.title),
                len(seeds),
                [_copy(differences), download("differences", differences)],
            )
        )
    top.append(charts.bars_card(shown, view, f"/api/experiments/{info.id}/jobs.csv"))
    return [
        html.Div(top, className="grid runs-top" if len(top) == 2 else "grid"),
        *_times(shown, differences),
        *_predicted(info, shown),
        _seed_line(view, shown, seeds),
        *_lines(view, shown),
    ]


def _times(shown: Sequence[Shown], differences: str | None) -> list[Node]:
    """Where jobs' time goes under both, over the seeds that both have."""
    if len(shown) != 2:
        return []
    a, b = shown
    rows = stored.differences(a.side, b.side)
    means = [{row.name: value for row in rows if (value := getattr(row, side)) is not None} for side in "ab"]
    files = [("Differences, CSV", differences)] if differences else []
    made = times_card([(a.side.title, means[0]), (b.side.title, means[1])], files)
    return [] if made is None else [made]


def _predicted(info: ExperimentInfo, shown: Sequence[Shown]) -> list[Node]:
    if len(shown) != 2:
        return []
    a, b = shown
    labels, titles = (a.side.label, b.side.label), (a.side.title, b.side.title)
    made = predicted_card(info, stored.differences(a.side, b.side), labels, titles)
    return [] if made is None else [made]


def _rows(a: Shown, b: Shown) -> list[stored.Row]:
    """The differences; how much of the machines was used is that of the drawn seed where no other is told."""
    rows = stored.differences(a.side, b.side)
    if a.facts is None or b.facts is None or any(row.name == "used" for row in rows):
        return rows
    return [*rows, stored.Row("used_seed", "CPU used, this seed", a.facts.used, b.facts.used)]


def _copy(address: str) -> html.Button:
    return html.Button(
        [icon("copy"), html.Span("Copy", className="sr", **data(label="true"))],
        type="button",
        className="iconbtn",
        title="Copy the table",
        **data(fetch=address),
        **aria(label="Copy the table"),
    )


def _nothing(info: ExperimentInfo) -> Node:
    if stored.state_of(info) in stored.UNDER_WAY:
        text = "The first results appear once every policy has run with the first seed."
        return card(None, empty("hourglass", "Nothing to compare yet", text))
    text = "None of its runs is stored any more. Run it again; runs that are still stored are reused."
    again = link_button("Run again", f"{PATH}?look=build&from={info.id}", "refresh", "primary")
    return card(None, empty("player-play", "No runs", text, [again]))


def _seed_line(view: View, shown: Sequence[Shown], seeds: Sequence[int]) -> html.Div:
    """Which seed is drawn, the ways to others, and to the ledgers."""
    seed = _seed(view, seeds)
    at = list(seeds).index(seed)
    near: list[Node] = []
    if at:
        near.append(
            link("‹", view.query(seed=seeds[at - 1]), className="iconbtn", **aria(label="Previous seed"))
        )
    near.append(html.Span(f"Seed {seed}, {at + 1} of {len(seeds)}", className="num"))
    if at + 1 < len(seeds):
        near.append(link("›", view.query(seed=seeds[at + 1]), className="iconbtn", **aria(label="Next seed")))
    steps: list[Node] = [
        link_button(
            f"Step through {each.side.title}",
            view.query.only("experiment", "a", "b", look=LEDGER, of=each.side.key, seed=seed),
            "player-track-next",
            "small",
        )
        for each in shown
        if each.facts is not None
    ]
    by = segments(view, "by", BY, view.by, "Stack CPU by")
    return html.Div(
        [html.Div([*near, by], className="row wrap"), html.Div(steps, className="row wrap")],
        className="seedline",
    )


def _lines(view: View, shown: Sequence[Shown]) -> list[Node]:
    """The figures over time."""
    kept = [each for each in shown if each.facts is not None]
    if not kept:
        return [notice("info", "Choose the first seed, or run it again and save ledgers for all seeds.",
                       strong="Time series were not saved for this seed.")]  # fmt: skip
    end = ends(kept)
    cores = max(each.facts.cores for each in kept if each.facts)
    jobs = shown[0].jobs
    height = max(each.facts.height for each in kept if each.facts)
    rows: list[list[Any]] = [
        [charts.areas_card(each, view, end, cores, f"/api/runs/{each.run}/lines.csv") for each in kept],
        [charts.queue_card(each, end) for each in kept] if _queues(kept) else [],
        [charts.lanes_card(each, end, height) for each in kept],
        [made for each in kept if (made := charts.bands_card(each, end)) is not None],
        [charts.rows_card(each, view, end, jobs) for each in kept],
        [charts.workers_card(each, end) for each in kept],
    ]
    grids = [html.Div(row, className=f"grid {'cols-2' if len(row) > 1 else ''} pairs") for row in rows if row]
    above = 3 if _queues(kept) else 2
    return [*grids[:above], *_learned(view, kept), *grids[above:]]


def _queues(kept: Sequence[Shown]) -> bool:
    return any(each.facts is not None and each.facts.queues for each in kept)


def _seed_of(each: Shown) -> int:
    return next(seed for seed, run in each.side.runs.items() if run == each.run)


def _learned(view: View, kept: Sequence[Shown]) -> list[Node]:
    """Growth and loss of both, and of their jobs."""
    places = [each.place for each in kept]
    styles = arm_styles([each.side.title for each in kept], places.index("a") if "a" in places else -1,
                        places.index("b") if "b" in places else -1)  # fmt: skip
    own = len({each.side.experiment for each in kept}) == 1
    address = f"/api/experiments/{kept[0].side.experiment}/learning.csv?" + urlencode(
        {"arms": named(each.side.key for each in kept), "seed": _seed_of(kept[0])}
    )
    return over_time.learning_cards(list(zip(kept, styles, strict=True)), view, address if own else None)
