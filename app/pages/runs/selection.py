"""The selection of a page: its policies, its baseline, and their runs on the drawn seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from app.context import cached
from app.figures.runs import timelines
from app.figures.runs.comparison import arm_styles
from app.figures.runs.series import label_names, queues, used_share
from app.pages.runs import stored
from app.pages.runs.query import join_keys, split_keys
from app.ui.graph import graph
from core.errors import ConflictError, NotFoundError
from core.experiments.leaderboard import shared_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import plotly.graph_objects as go
    from dash import html

    from app.figures.runs.comparison import ArmStyle
    from app.pages.runs.query import View
    from app.pages.runs.stored import Side
    from core.experiments.outcome import RunResult
    from core.runs.values import ExperimentInfo

MAX_DRAWN = 8
_FEW = 6


@dataclass(frozen=True, slots=True)
class Selection:
    """The policies that a page shows."""

    #: All policies of the experiment with runs, in its order, and the chosen ones of other experiments.
    sides: tuple[Side, ...]
    #: The baseline.
    base: Side
    #: The policies in the figures, in order, and their styles.
    drawn: tuple[Side, ...]
    styles: tuple[ArmStyle, ...]
    #: The seeds common to all of them.
    seeds: tuple[int, ...]


def select(info: ExperimentInfo, view: View) -> Selection:
    """The policies of an address, with defaults for whatever it leaves out."""
    own_sides = stored.sides(info)
    keys = [view.base or "", view.highlighted or "", *split_keys(view.arms)]
    others = stored.rivals(info) if any(key and key not in own_sides for key in keys) else {}
    every = own_sides | {key: side for key, side in others.items() if key in keys}
    ran = [side for side in every.values() if side.runs] or list(own_sides.values())
    base = every.get(view.base or "") or own_sides[info.experiment.baseline]
    if base not in ran:
        base = ran[0]
    requested = [every[key] for key in split_keys(view.arms) if key in every and every[key] in ran]
    drawn_sides = (requested or _usual(ran, base))[:MAX_DRAWN]
    highlighted = every.get(view.highlighted or "")
    others_drawn = [side for side in drawn_sides if side is not base]
    last = highlighted if highlighted in drawn_sides else others_drawn[-1] if others_drawn else None
    styles = arm_styles(
        [side.title for side in drawn_sides],
        _place(drawn_sides, base),
        _place(drawn_sides, last) if last is not None else -1,
    )
    seeds = shared_seeds({side.key: side.runs for side in ran})
    return Selection(tuple(ran), base, tuple(drawn_sides), tuple(styles), tuple(seeds))


def _usual(ran: Sequence[Side], base: Side) -> list[Side]:
    """The default policies: the first ones, the baseline, and the last, which is ours."""
    if len(ran) <= _FEW:
        return list(ran)
    keys = {base.key, *(side.key for side in ran[: _FEW - 1]), ran[-1].key}
    return [side for side in ran if side.key in keys]


def _place(sides: Sequence[Side], side: Side) -> int:
    return next((at for at, each in enumerate(sides) if each.key == side.key), -1)


def toggle_policy(selection: Selection, side: Side) -> str | None:
    """The keys of the drawn policies with one added or removed; None if that is not possible."""
    keys = [each.key for each in selection.drawn]
    if side.key in keys:
        return join_keys(key for key in keys if key != side.key) if len(keys) > 1 else None
    if len(keys) >= MAX_DRAWN:
        return None
    order = [each.key for each in selection.sides if each.key in (*keys, side.key)]
    return join_keys(order)


def drawn_seed(view: View, seeds: Sequence[int]) -> int:
    """The seed of the drawn jobs and lines."""
    return view.seed if view.seed in seeds and view.seed is not None else seeds[0]


_STYLE_VERSION = 3
"""The version of the figures' style, so that cached ones of an earlier release are not shown."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a run's time series, cached so that the series need not be read."""

    #: The labels of its policy, from heavy to light.
    names: tuple[str, ...]
    #: The number of machines, their total cores, and the cores of the largest.
    workers: int
    cores: float
    largest: float
    #: The used share of the cores until the last end, or None.
    used: float | None
    #: The height of the bars of all workers in pixels.
    height: int
    #: Whether the run is small enough for one bar per stay.
    bars: bool
    #: The number of migrations that evened out the number of jobs.
    rebalanced: int = 0
    #: Whether jobs queue.
    queues: bool = False
    #: Whether the number of threads of jobs is recorded.
    threads: bool = False


def facts_of(run: str) -> Facts | None:
    """The facts of a run; None if its series is not stored, or not yet."""
    try:
        return cached(lambda: _facts(run), "run-facts", _STYLE_VERSION, run)
    except NotFoundError:
        return None


def _facts(run: str) -> Facts:
    series = stored.recent_series(run)
    if series is None:
        raise NotFoundError("The lines over time of this run were not saved.", "Choose the first seed.")
    cores = [float(lines["capacity"]) for lines in series["workers"].values()]
    return Facts(
        label_names(series),
        len(cores),
        sum(cores),
        max(cores, default=1.0),
        used_share(series),
        timelines.lanes_height(series),
        timelines.has_bars(series),
        timelines.count_rebalanced(series),
        queues(series),
        any(each is not None for lines in series["jobs"].values() for each in lines.get("threads", ())),
    )


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """One policy's run on the drawn seed."""

    #: The number of the policy among the drawn ones.
    place: str
    #: The policy, and the run's id.
    side: Side
    run: str
    #: Its result.
    result: RunResult
    #: The facts about its time series; None if it is not stored.
    facts: Facts | None

    @property
    def series(self) -> Mapping[str, Any]:
        """Its time series; read only when a figure has to be redrawn."""
        return stored.recent_series(self.run) or {"time": [], "jobs": {}, "workers": {}, "moves": []}

    def names(self) -> tuple[str, ...]:
        """The lists of its policy, from heavy to light."""
        return self.facts.names if self.facts is not None else ()

    @property
    def last(self) -> float:
        """The end of the last job, on the run's clock."""
        return max((job.ended for job in self.result.jobs), default=1.0)

    @property
    def jobs(self) -> list[str]:
        """Its jobs by arrival."""
        return [job.id for job in self.result.jobs]


def drawn_runs(sides: Sequence[Side], seed: int) -> list[DrawnRun]:
    """The stored runs of the policies on one seed."""
    runs = []
    for at, side in enumerate(sides):
        try:
            run = side.runs[seed]
            runs.append(DrawnRun(str(at), side, run, stored.result(run), facts_of(run)))
        except (KeyError, NotFoundError, ConflictError):
            continue
    return runs


def common_end(runs: Sequence[DrawnRun]) -> float:
    """The common end of all time axes."""
    return max(each.last for each in runs) * 1.04


def run_graph(run: DrawnRun, kind: str, label: str, make: Callable[[], go.Figure], *key: object) -> html.Div:
    """A figure of one run, cached; it depends on the run and on `key`."""
    figure_dict = cached(
        lambda: orjson.loads(make().to_json()), "run-figure", _STYLE_VERSION, kind, run.run, *key
    )
    return graph(f"{kind}-{run.place}", figure_dict, label)
