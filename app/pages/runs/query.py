"""The address of the Runs pages as choices: experiment, policies, seed, tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from app.ui.links import PageState, Query, free_text, option, parameter, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable

PATH = "/runs"
ACT = "run-act"
"""The store that all buttons of the page fill (``assets/js/actions.js``)."""
EXPERIMENT, LEDGER, BUILD, LIST = "experiment", "ledger", "build", "list"
MEASURES = {
    "completion": "Completion",
    "t90": "To 90%",
    "t95": "To 95%",
    "t99": "To 99%",
}
QUANTITIES = {
    "completion": "Completion time",
    "t90": "Time to 90% of the loss reduction",
    "t95": "Time to 95% of the loss reduction",
    "t99": "Time to 99% of the loss reduction",
}
STATES = ("running", "done", "failed", "cancelled", "interrupted")
BY = {"lists": "By list", "loss": "By loss"}
JOBS_PER_PAGE = 6
BARS = {"job": "By job", "policy": "By policy", "rows": "Rows", "table": "Table"}
OVER = {
    "learning": "Loss and growth",
    "cpu": "CPU per job",
    "limits": "CPU and limits",
    "stages": "CPU by list",
    "workers": "Jobs per worker",
    "load": "CPU per worker",
    "lists": "Lists",
    "queue": "Queue",
}
COLUMNS = {
    "completion": "Completion",
    "spread": "Spread and overhead",
    "deadlines": "Deadlines",
    "steering": "Reserved and short",
    "queue": "Waiting and cores",
}
_KEY_SEPARATOR = "|"
LINES = {"loss": "Loss", "growth": "Growth efficiency"}


@dataclass(frozen=True, slots=True)
class View(PageState):
    """The choices of the pages."""

    #: The page: ``list``, ``build``, ``experiment`` or ``ledger``.
    subpage: str = LIST
    #: The id of the experiment, or of a run without one, or None.
    experiment: str | None = free_text()
    run: str | None = free_text()
    #: The seed of the drawn jobs and lines, or None for the first.
    seed: int | None = whole_number()
    #: The measure of the bars per job.
    measure: str = option(MEASURES, "completion")
    #: CPU is stacked by the policy's own lists, or by the fall of each job's loss.
    by: str = option(BY, "lists")
    #: The page of the jobs drawn in rows, from 0.
    page: int = whole_number(0)
    #: The ledger's policy key, tick and job.
    of: str | None = free_text()
    tick: int = whole_number(0)
    job: str | None = free_text()
    #: The filters of the list.
    state: str | None = option(STATES)
    text: str = free_text("")
    #: The first draft of a new experiment: a bundled one's name, or an experiment's id.
    source: str | None = free_text(name="from")
    #: The keys of the baseline, the drawn policies (`join_keys`) and the highlighted one;
    #: None for the default ones.
    base: str | None = free_text()
    arms: str | None = free_text()
    highlighted: str | None = free_text(name="lit")
    #: The sorting column of the leaderboard, with a minus if the largest is first.
    sort: str | None = free_text()
    #: Whether the leaderboard has a row for every policy, however many there are.
    all_rows: bool = parameter(lambda value: value == "all", "rows")
    #: The drawing of completion times, None for the default; the figures over time, and those per job.
    bars: str | None = option(BARS)
    over: str = option(OVER, "learning")
    line: str = option(LINES, "loss")
    #: The set of columns of the leaderboard, one of `COLUMNS`.
    columns: str = option(COLUMNS, "completion")

    @classmethod
    def upgrade(cls, query: Query) -> Query:
        """Convert an address of an earlier release, which named two policies: A is the baseline."""
        values = dict(query.values)
        first, second = values.pop("a", None), values.pop("b", None)
        values.pop("show", None)
        if first and second:
            values = {"arms": join_keys([first, second]), **values}
        chosen = {"base": first, "lit": second}
        return Query(query.path, {**{name: key for name, key in chosen.items() if key}, **values})

    @classmethod
    def derive(cls, query: Query) -> dict[str, Any]:
        """The page; a ledger needs an experiment or a run."""
        experiment = query.get("experiment")
        page = query.get("look")
        if page not in (BUILD, LEDGER):
            page = EXPERIMENT if experiment else LIST
        return {"subpage": LIST if page == LEDGER and not (experiment or query.get("run")) else page}


def join_keys(keys: Iterable[str]) -> str:
    """Join keys of policies for an address."""
    return _KEY_SEPARATOR.join(key.replace("%", "%25").replace(_KEY_SEPARATOR, "%7C") for key in keys)


def split_keys(text: str | None) -> list[str]:
    """Split the keys of policies in an address."""
    return [unquote(each) for each in (text or "").split(_KEY_SEPARATOR) if each]
