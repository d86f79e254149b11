"""The runs of policies that were attached to running containers: a list whose rows lead to their ledgers."""

from __future__ import annotations

from dash import dcc, html

from app.context import address as page_address
from app.context import workspace
from app.ui.basics import card, state_badge
from app.ui.tables import html_table
from app.ui.task_card import when
from core.tables import Column, Table
from core.units import format_count
from core.workspace.records import NO_EXPERIMENT

_MAX_RUNS = 50
_STATES = {
    "queued": ("waiting", "", "clock"),
    "running": ("running", "accent", "loader-2"),
    "done": ("finished", "ok", "circle-check"),
    "failed": ("failed", "bad", "circle-x"),
    "cancelled": ("cancelled", "", "ban"),
    "interrupted": ("interrupted", "warn", "alert-triangle"),
}


def state_words(state: str) -> tuple[str, str, str]:
    """Word, kind and icon of a state's badge."""
    return _STATES.get(state, (state, "", "clock"))


def address(run: str) -> str:
    """The address of the ledger of an attached policy."""
    return page_address("/runs", look="ledger", run=run)


def attached_card() -> html.Section | None:
    """A card of the newest attached policies, or None without any."""
    attached_runs = workspace().runs.list(_MAX_RUNS, experiment=NO_EXPERIMENT)
    if not attached_runs:
        return None
    table = html_table(
        Table("attached", _COLUMNS, attached_runs),
        "Policies attached to running containers, newest first",
        cells={
            "name": lambda info: dcc.Link(info.name, href=address(info.id), className="policy"),
            "state": lambda info: state_badge(*state_words(info.state)),
            "created": lambda info: when(info.created),
        },
        css={"created": "ink3"},
        row_heads=True,
        table_class="plain runlist attached",
    )
    return card("Attached policies", table, note="on running containers, from Live", flush=True)


_COLUMNS = (
    Column("name", "Policy"),
    Column("state", "State", value=lambda info: state_words(info.state)[0]),
    Column("ticks", "Decisions", format_count),
    Column("created", "When"),
)
