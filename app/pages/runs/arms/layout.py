"""The page of an experiment with all its policies: leaderboard, completion per job, and figures over time."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import dash_mantine_components as dmc
from dash import html

from app.pages.runs import stored
from app.pages.runs.arms import jobs, over_time
from app.pages.runs.arms.board import board_card
from app.pages.runs.arms.choice import chosen
from app.pages.runs.arms.loads import loads_card
from app.pages.runs.arms.standings import rows
from app.pages.runs.arms.steps import steps_card
from app.pages.runs.compare.differences import times_card
from app.pages.runs.compare.shown import Shown, facts_of
from app.ui.basics import Node, aria, icon
from app.ui.export import export_menu
from app.ui.links import link
from core.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.pages.runs.arms.choice import Chosen
    from app.pages.runs.query import View
    from app.pages.runs.stored import Side
    from core.runs.values import ExperimentInfo


def base_picker(asked: Chosen) -> Node:
    """The choice of the baseline."""
    return dmc.Select(
        id={"type": "run-side", "name": "base"},
        data=[{"value": side.key, "label": side.title} for side in asked.sides],
        value=asked.base.key,
        allowDeselect=False,
        searchable=len(asked.sides) > 8,
        size="xs",
        leftSection=html.Span("against", className="abside a"),
        leftSectionWidth=74,
        rightSection=icon("selector", "sm"),
        className="sidepick wide",
        **aria(label="Baseline"),
    )


def table_address(info: ExperimentInfo, view: View, name: str) -> str:
    """Where a table of the page is as a file, as it is shown."""
    kept = {key: value for key, value in view.query.values.items() if key != "experiment"}
    search = "&".join(f"{key}={quote(value, safe='')}" for key, value in kept.items())
    return f"/api/experiments/{info.id}/{name}.csv{f'?{search}' if search else ''}"


def seed_of(view: View, seeds: Sequence[int]) -> int:
    """The seed that is drawn."""
    return view.seed if view.seed in seeds and view.seed is not None else seeds[0]


def shown_runs(sides: Sequence[Side], seed: int) -> list[Shown]:
    """The runs of some policies on one seed, those that are stored."""
    made = []
    for at, side in enumerate(sides):
        try:
            run = side.runs[seed]
            made.append(Shown(str(at), side, run, stored.result(run), facts_of(run)))
        except (KeyError, NotFoundError, ConflictError):
            continue
    return made


def arms_cards(info: ExperimentInfo, view: View) -> list[Node]:
    """The cards of the page; nothing where no seed has been run with every policy."""
    asked = chosen(info, view)
    if not asked.seeds:
        return []
    seed = seed_of(view, asked.seeds)
    shown = shown_runs(asked.drawn, seed)
    styles = [style for side, style in zip(asked.drawn, asked.styles, strict=True)
              if any(each.side.key == side.key for each in shown)]  # fmt: skip
    base = next((each for each in shown_runs([asked.base], seed)), None)
    made: list[Node] = [board_card(info, asked, view, _files(info, view))]
    titles = {side.key: side.title for side in asked.sides}
    means = [(titles[row.label], row.measures) for row in rows(info, asked, view)]
    times = times_card(means, [("Table, CSV", table_address(info, view, "leaderboard"))])
    steps = steps_card(asked, table_address(info, view, "steps"))
    against = loads_card(info, asked, table_address(info, view, "loads"))
    made += [each for each in (against, times, steps) if each is not None]
    if not shown:
        return made
    told = info.experiment.published if asked.base.key == info.experiment.baseline else ()
    where = table_address(info, view, "completion")
    return [
        *made,
        jobs.jobs_card(shown, base, styles, view, where, told),
        html.Div(
            [
                html.Div(_seeds(view, asked, seed), className="row wrap"),
                html.Div([*_followed(view, shown), over_time.kinds(view)], className="row wrap"),
            ],
            className="seedline",
        ),
        *over_time.over_time(shown, styles, view, table_address(info, view, "learning")),
    ]


def _followed(view: View, shown: Sequence[Shown]) -> list[Node]:
    """The choice of a job that is in the accent where every job is a band."""
    if view.over != "cpu":
        return []
    return [
        dmc.Select(
            id={"type": "run-side", "name": "job"},
            data=shown[0].jobs,
            value=view.job if view.job in shown[0].jobs else None,
            placeholder="Highlight a job",
            clearable=True,
            clearButtonProps=aria(label="No job"),
            searchable=True,
            size="xs",
            className="sidepick",
            **aria(label="Highlighted job"),
        )
    ]


def _files(info: ExperimentInfo, view: View) -> list[Node]:
    """The leaderboard as a file: a picture or a table."""
    table = [("Table, CSV", table_address(info, view, "leaderboard"))]
    return [export_menu("board", f"leaderboard {info.name}", table)]


def _seeds(view: View, asked: Chosen, seed: int) -> list[Node]:
    """Which seed is drawn, and the ways to the next ones."""
    seeds = asked.seeds
    at = seeds.index(seed)
    near: list[Node] = []
    if at:
        near.append(
            link("‹", view.query(seed=seeds[at - 1]), className="iconbtn", **aria(label="Previous seed"))
        )
    near.append(html.Span(f"Seed {seed}, {at + 1} of {len(seeds)}", className="num"))
    if at + 1 < len(seeds):
        near.append(link("›", view.query(seed=seeds[at + 1]), className="iconbtn", **aria(label="Next seed")))
    return near
