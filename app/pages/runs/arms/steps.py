"""Time per step at each number of cores, under every policy that leads jobs through such numbers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dash import html

from app.context import cached
from app.pages.runs import stored
from app.pages.runs.compare.differences import in_words
from app.ui.basics import Node, card, scrolling
from app.ui.export import export_menu
from core.experiments.compare import difference
from core.experiments.measures.step_times import StageRow, stage_rows
from core.scheduling.policies import POLICIES
from core.units import format_cores, format_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.pages.runs.arms.choice import Chosen
    from app.pages.runs.stored import Side

CSV_HEAD = (
    "job",
    "stage",
    "limit",
    "policy",
    "seed",
    "threads",
    "steps",
    "seconds",
    "step_seconds",
    "cores_used",
)


def compared(asked: Chosen) -> list[Side]:
    """The drawn policies, if all of them lead jobs through numbers of cores; else none."""
    staged = all(side.policy in POLICIES and POLICIES[side.policy].staged for side in asked.drawn)
    return list(asked.drawn) if staged else []


def rows(sides: Sequence[Side], seeds: Sequence[int]) -> tuple[list[int], tuple[StageRow, ...]]:
    """The seeds of which series were kept, and the stages that all runs of these policies on them have."""
    ids = {side.key: {seed: side.runs[seed] for seed in seeds} for side in sides}

    def make() -> tuple[list[int], tuple[StageRow, ...]]:
        found = {key: {seed: stored.series(run) for seed, run in runs.items()} for key, runs in ids.items()}
        kept = [seed for seed in seeds if all(of[seed] is not None for of in found.values())]
        return kept, stage_rows({key: [of[seed] or {} for seed in kept] for key, of in found.items()})

    made: tuple[list[int], tuple[StageRow, ...]] = cached(make, "run-stages", ids)
    return made


def steps_card(asked: Chosen, where: str) -> Node:
    """The card; None where the policies are no such ones, or their series were not kept."""
    sides = compared(asked)
    seeds, made = rows(sides, asked.seeds) if sides else ([], ())
    if not made:
        return None
    titles = [html.Th(name, scope="col") for name in ("Job", "Cores", *(side.title for side in sides))]
    base = asked.base.key if asked.base in sides else sides[0].key
    of = Counter(row.job for row in made)
    table = html.Table(
        [
            html.Caption("Time per step at each number of cores", className="sr"),
            html.Thead(html.Tr(titles)),
            html.Tbody([_row(row, of[row.job], sides, base) for row in made]),
        ],
        className="plain ticks stages",
    )
    n = len(seeds)
    means = f"means of {n} repeats, with 95% intervals" if n > 1 else "one repeat"
    return card(
        "Time per step by cores",
        scrolling(table, "Time per step by cores"),
        note=f"{means}; cores used and threads below",
        tools=[export_menu((), "time per step by cores", [("Table, CSV", where)])],
        flush=True,
    )


def _row(row: StageRow, of: int, sides: Sequence[Side], base: str) -> html.Tr:
    cores = "no limit" if row.limit is None else format_cores(row.limit)
    job = [html.Th(row.job, scope="rowgroup", rowSpan=of)] if row.number == 1 else []
    return html.Tr([*job, html.Td(cores), *(_cell(row, side.key, base) for side in sides)])


def _cell(row: StageRow, key: str, base: str) -> html.Td:
    """Seconds per step with the difference from the baseline; below, cores used and threads."""
    mine = [stage.step_seconds for stage in row.of[key]]
    known = [value for value in mine if value is not None]
    if not known:
        return html.Td("no step")
    apart = in_words("mean", difference(mine, [stage.step_seconds for stage in row.of[base]]))
    said = f"{format_number(sum(known) / len(known), 3)} s"
    change: list[Node] = [] if key == base or apart is None else [" ", html.B(apart[0]), f" ({apart[1]})"]
    used = sum(stage.used for stage in row.of[key]) / len(row.of[key])
    threads = sorted({stage.threads for stage in row.of[key] if stage.threads is not None})
    with_ = f", {' or '.join(map(str, threads))} thread{'' if threads == [1] else 's'}" if threads else ""
    return html.Td([said, *change, html.Div(f"{format_cores(used)} used{with_}", className="ink3 because")])


def csv_rows(made: Sequence[StageRow], seeds: Sequence[int]) -> Iterator[tuple[object, ...]]:
    """The rows of the file: one for each stage, policy and seed."""
    for row in made:
        for label, stages in row.of.items():
            for seed, each in zip(seeds, stages, strict=True):
                figures = (each.threads, each.steps, each.seconds, each.step_seconds, each.used)
                yield row.job, row.number, row.limit, label, seed, *figures
