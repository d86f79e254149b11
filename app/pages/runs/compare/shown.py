"""One policy's run on the seed that is drawn: what is known of it, and its figures, kept between visits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from app.context import cached
from app.figures.runs import lanes, lives
from app.figures.runs.steps import label_names, used_share
from app.pages.runs import stored
from app.ui.graph import graph
from core.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import plotly.graph_objects as go
    from dash import html

    from app.pages.runs.stored import Side
    from core.experiments.outcome import RunResult

_LOOK = 3
"""Changed with the look of figures of runs, so that cached ones of an earlier release are not shown."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a run's time series without reading them again."""

    #: The lists of its policy, from heavy to light.
    names: tuple[str, ...]
    #: How many machines there are, their cores together, and those of the largest.
    workers: int
    cores: float
    largest: float
    #: The share of the cores that was used until the last end, or None.
    used: float | None
    #: The pixels that the jobs of all workers need.
    height: int
    #: Whether each job can be drawn as a bar of its own.
    bars: bool
    #: How many migrations were to even out the number of jobs.
    rebalanced: int = 0
    #: Whether some job waits, is paused or is refused.
    queues: bool = False
    #: Whether it is known how many threads jobs compute with.
    threads: bool = False


def facts_of(run: str) -> Facts | None:
    """The facts of a run; None where its lines were not kept, or not yet."""
    try:
        return cached(lambda: _facts(run), "run-facts", _LOOK, run)
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
        lanes.lanes_height(series),
        lanes.has_bars(series),
        lanes.rebalanced(series),
        lives.queues(series),
        any(each is not None for lines in series["jobs"].values() for each in lines.get("threads", ())),
    )


def drawn(each: Shown, what: str, label: str, make: Callable[[], go.Figure], *key: object) -> html.Div:
    """A figure of one run, kept between visits; `key` is everything it depends on beside the run."""
    plain = cached(lambda: orjson.loads(make().to_json()), "run-figure", _LOOK, what, each.run, *key)
    return graph(f"{what}-{each.place}", plain, label)


@dataclass(frozen=True, slots=True)
class Shown:
    """One policy's run on the seed that is drawn."""

    #: ``a`` or ``b``, or the number of the policy among all that are drawn.
    place: str
    #: The policy, and the run's id.
    side: Side
    run: str
    #: Its result.
    result: RunResult
    #: What its figures need to know of its time series; None where they were not kept.
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
        """When its last job ended, on the run's clock."""
        return max((job.ended for job in self.result.jobs), default=1.0)

    @property
    def jobs(self) -> list[str]:
        """Its jobs by arrival."""
        return [job.id for job in self.result.jobs]


def ends(shown: Sequence[Shown]) -> float:
    """The common end of all time axes."""
    return max(each.last for each in shown) * 1.04
