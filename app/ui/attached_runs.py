"""The runs of policies that were attached to running containers: a list whose rows lead to their ledgers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from app.context import address as page_address
from app.context import workspace
from app.ui.basics import card, scrolling, state_badge
from app.ui.task_card import when
from core.workspace.records import NO_EXPERIMENT

if TYPE_CHECKING:
    from core.runs.values import RunInfo

_MOST = 50
_STATES = {
    "queued": ("waiting", "", "clock"),
    "running": ("running", "accent", "loader-2"),
    "done": ("finished", "ok", "circle-check"),
    "failed": ("failed", "bad", "circle-x"),
    "cancelled": ("cancelled", "", "ban"),
    "interrupted": ("interrupted", "warn", "alert-triangle"),
}


def state_words(state: str) -> tuple[str, str, str]:
    """A state as a badge has it: word, kind, icon."""
    return _STATES.get(state, (state, "", "clock"))


def address(run: str) -> str:
    """Where the ledger of such a run is."""
    return page_address("/runs", look="ledger", run=run)


def attached_card() -> html.Section | None:
    """The newest of them, or None where no policy was attached yet."""
    found = workspace().runs.list(_MOST, experiment=NO_EXPERIMENT)
    if not found:
        return None
    heads = (("Policy", ""), ("State", ""), ("Decisions", "num"), ("When", ""))
    table = html.Table(
        [
            html.Caption("Policies attached to running containers, newest first", className="sr"),
            html.Thead(html.Tr([html.Th(head, scope="col", className=kind) for head, kind in heads])),
            html.Tbody([_row(info) for info in found]),
        ],
        className="plain runlist attached",
    )
    return card(
        "Attached policies",
        scrolling(table, "Attached policies"),
        note="on running containers, from Live",
        flush=True,
    )


def _row(info: RunInfo) -> html.Tr:
    return html.Tr(
        [
            html.Th(dcc.Link(info.name, href=address(info.id), className="policy"), scope="row"),
            html.Td(state_badge(*state_words(info.state))),
            html.Td(f"{info.ticks:,}", className="num"),
            html.Td(when(info.created), className="ink3"),
        ]
    )
