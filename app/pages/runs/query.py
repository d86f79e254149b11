"""What the Runs pages show, as their address says it: which experiment, which two policies, which tick."""

from __future__ import annotations

from dataclasses import dataclass

from app.ui.links import Query, one_of

PATH = "/runs"
ACT = "run-act"
"""The store that all buttons of the page fill (``assets/js/actions.js``)."""
COMPARE, LEDGER, BUILD, LIST = "compare", "ledger", "build", "list"
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
SHOWS = ("all", "two")
BARS = {"job": "By job", "policy": "By policy", "rows": "Rows", "table": "Table"}
OVER = {
    "learning": "Loss and growth",
    "cpu": "CPU per job",
    "stages": "CPU by list",
    "workers": "Jobs per worker",
    "lists": "Lists",
    "queue": "Queue",
}
COLUMNS = {
    "completion": "Completion",
    "deadlines": "Deadlines",
    "steering": "Reserved and short",
    "queue": "Waiting and cores",
}
LINES = {"loss": "Loss", "growth": "Growth efficiency"}


@dataclass(frozen=True, slots=True)
class View:
    """The choices of the pages; a missing or invalid parameter of the address has its default."""

    #: The address itself.
    query: Query
    #: Which of the pages: ``list``, ``build``, ``compare`` or ``ledger``.
    look: str
    #: The id of the experiment, or of a run that belongs to none, or None.
    experiment: str | None
    run: str | None
    #: The two policies by their keys, or None for the first ones.
    a: str | None
    b: str | None
    #: The seed whose jobs and lines are drawn, or None for the first.
    seed: int | None
    #: What the bars per job show.
    measure: str
    #: Stack CPU by: the policy's own lists, or how far each job's loss had fallen.
    by: str
    #: Which page of the jobs that are drawn in rows, from 0.
    page: int
    #: Of the ledger: the policy's key, the tick, and the job that is looked at.
    of: str | None
    tick: int
    job: str | None
    #: What the list is filtered by.
    state: str | None
    text: str
    #: What a new experiment begins with: a bundled one's name, or an experiment's id.
    source: str | None
    #: ``all`` policies or ``two``; None: by how many there are.
    show: str | None = None
    #: Of all policies: the baseline's key, those that are drawn (`app.pages.runs.arms.choice.named`), and the
    #: one in the accent; None for the usual ones.
    base: str | None = None
    arms: str | None = None
    lit: str | None = None
    #: The column that the leaderboard is sorted by, with a minus where the largest is first.
    sort: str | None = None
    #: How completion times are drawn, None for what suits them; what is drawn over time; and what of jobs.
    bars: str | None = None
    over: str = "learning"
    line: str = "loss"
    #: Which columns the leaderboard has, one of `COLUMNS`.
    columns: str = "completion"

    @classmethod
    def read(cls, query: Query) -> View:
        """Read the choices of an address."""
        experiment = query.get("experiment")
        look = one_of(query.get("look"), (BUILD, LEDGER), COMPARE if experiment else LIST)
        return cls(
            query=query,
            look=LIST if look == LEDGER and not (experiment or query.get("run")) else look,
            experiment=experiment,
            run=query.get("run"),
            a=query.get("a"),
            b=query.get("b"),
            seed=_whole(query.get("seed")),
            measure=one_of(query.get("measure"), MEASURES, "completion"),
            by=one_of(query.get("by"), BY, "lists"),
            page=_whole(query.get("page")) or 0,
            of=query.get("of"),
            tick=_whole(query.get("tick")) or 0,
            job=query.get("job"),
            state=query.get("state") if query.get("state") in STATES else None,
            text=query.get("text") or "",
            source=query.get("from"),
            show=query.get("show") if query.get("show") in SHOWS else None,
            base=query.get("base"),
            arms=query.get("arms"),
            lit=query.get("lit"),
            sort=query.get("sort"),
            bars=query.get("bars") if query.get("bars") in BARS else None,
            over=one_of(query.get("over"), OVER, "learning"),
            line=one_of(query.get("line"), LINES, "loss"),
            columns=one_of(query.get("columns"), COLUMNS, "completion"),
        )


def _whole(value: str | None) -> int | None:
    return int(value) if value is not None and value.isdecimal() and len(value) < 12 else None
