"""The list of trace sets and the trash, the actions on a set, and the state of the page in its address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import dcc, html

from app.context import Choice, address, chosen_or_newest, find_choice, workspace
from app.ui.basics import (
    Node,
    aria,
    button,
    card,
    contents,
    data,
    empty,
    icon,
    link_button,
    opener,
    state_badge,
    unseen,
)
from app.ui.links import PageState, free_text, parameter
from app.ui.tables import html_table
from app.ui.task_card import when
from core.tables import Column, Table
from core.traces.model import Resampling
from core.units import format_bytes, format_count, format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.workspace.records import TraceSetInfo

_RULES = {Resampling.HOLD: "last value held", Resampling.MEAN: "mean", Resampling.NONE: "as recorded"}


ACTIONS = "traces-act"


@dataclass(frozen=True, slots=True)
class View(PageState):
    """The choices of the page."""

    #: The set whose executions are listed, and the model that its links name.
    traces: str | None = free_text()
    model: str | None = free_text()
    #: The file whose form is open, and whether it is read as it is written.
    upload: str | None = free_text()
    as_written: bool = parameter(lambda value: value == "table", "as")
    #: The import that is followed.
    task: str | None = free_text()
    #: Whether the trash is open.
    is_trash: bool = parameter(lambda value: value == "trash", "show")

    def choice(self) -> Choice:
        """The set and the model; a set that is gone or in the trash falls back to the newest."""
        choice = chosen_or_newest(self.traces, self.model)
        return find_choice() if choice.traces is not None and choice.traces.trashed else choice


def does(act: str, target: str = "") -> dict[str, Any]:
    """Attributes that give a control an action on a set, upload or task (``assets/js/actions.js``)."""
    return data(act=act, id=target, store=ACTIONS)


def sampling(info: TraceSetInfo) -> str:
    """The sampling period of a set and how its samples were brought to it."""
    return f"every {format_duration(info.period)}, {_RULES[info.resampling]}"


def sample_badge(info: TraceSetInfo) -> Node:
    """The badge of a bundled sample; None for other sets."""
    return state_badge("sample", "", "flask") if info.sample else None


_COLUMNS = (
    Column("name", "Name"),
    Column("n_executions", "Executions", format_count),
    Column("n_samples", "Samples", format_count),
    Column("n_bytes", "Size", format_bytes),
    Column("sampling", "Sampling", value=sampling),
    Column("source", "Source"),
    Column("created", "Created"),
    Column("menu", " ", value=lambda _: ""),
)


FIND, MORE, FOUND, COUNT = "find-set", "more-sets", "found-sets", "sets-count"
_FEW = 5
"""The number of sets that are found without searching."""
_PAGE = 30
"""The number of sets that are listed at once."""


def doubt_badge(info: TraceSetInfo) -> Node:
    """A button that opens the report of a set whose import dropped or estimated numbers; None for others."""
    if workspace().traces.report(info.id).faultless:
        return None
    label = f"Check the import of {info.name}"
    return button("check", "alert-triangle", "state warn", title=label, **aria(label=label),
                  **does("report", info.id))  # fmt: skip


def set_list(chosen: str | None) -> html.Section:
    """The newest trace sets that are not in the trash, and ways to the others; the chosen one is marked."""
    find = dmc.TextInput(
        id=FIND,
        placeholder="Find a trace set",
        leftSection=icon("search"),
        debounce=150,
        size="xs",
        className="findbox",
        style=None if len(workspace().traces.list()) > _FEW else {"display": "none"},
        **aria(label="Find a trace set"),
    )
    table, count, is_whole = found_sets("", 0, chosen)
    more = button(
        f"Show {_PAGE} more", "chevron-down", "small quiet more", id=MORE, n_clicks=0, hidden=is_whole
    )
    return card(
        "Trace sets",
        html.Div(table, id=FOUND),
        more,
        note=html.Span(count, id=COUNT),
        tools=[find],
        flush=True,
    )


def found_sets(words: str, clicks: int, chosen: str | None) -> tuple[Node, str, bool]:
    """The table of sets whose name or source has the words, 30 more with each click; the chosen one is in it.

    Also their number in words, and whether these are all.
    """
    sets, wanted = workspace().traces.list(), words.casefold().strip()
    found = [info for info in sets if wanted in f"{info.name} {info.source}".casefold()]
    listed = _PAGE * (clicks + 1)
    shown = [info for info in found[listed:] if info.id == chosen] + found[:listed]
    count = f"{len(found):,} of {len(sets):,}" if wanted else f"{len(sets):,}"
    if not shown:
        return html.Div("No trace set has these words.", className="item ink3 small"), count, True
    return _set_table(shown, chosen), count, len(shown) == len(found)


def _set_table(sets: Sequence[TraceSetInfo], chosen: str | None) -> html.Div:
    return html_table(
        Table("trace-sets", _COLUMNS, sets),
        "Trace sets",
        heads={"menu": html.Th(unseen("Actions"), className="menu", scope="col")},
        cells={
            "name": _name,
            "source": lambda info: html.Div(info.source, className="truncate", title=info.source),
            "created": lambda info: when(info.created),
            "menu": _menu,
        },
        css={"sampling": "ink2", "source": "ink2 source", "created": "ink2", "menu": "menu"},
        attributes=lambda info: {"className": "on", **aria(current="true")} if info.id == chosen else {},
        table_class="plain sets",
        fit="tall",
    )


def _name(info: TraceSetInfo) -> Node:
    link = dcc.Link(
        info.name,
        href=address("/traces", Choice(info, None)),
        className="name truncate",
        title=info.name,
    )
    short = f"{contents(info, ' · ')} · {format_bytes(info.n_bytes)}"
    return [
        html.Div([link, sample_badge(info), doubt_badge(info)], className="row"),
        html.Div(short, className="meta"),
    ]


def _menu(info: TraceSetInfo) -> dmc.Menu:
    choice = Choice(info, None)

    def acts(label: str, act: str, icon_name: str, **more: Any) -> dmc.MenuItem:
        return dmc.MenuItem(label, leftSection=icon(icon_name), **does(act, info.id), **more)

    def leads(label: str, href: str, icon_name: str, **more: Any) -> dmc.MenuItem:
        return dmc.MenuItem(label, href=href, leftSection=icon(icon_name), **more)

    return dmc.Menu(
        [
            dmc.MenuTarget(icon("dots-vertical"), boxWrapperProps=opener(f"Actions on {info.name}")),
            dmc.MenuDropdown(
                [
                    leads("See its phases", address("/phases", choice), "timeline", refresh=False),
                    leads(
                        "Train a model", address("/models", choice, view="train"), "stack-2", refresh=False
                    ),
                    dmc.MenuDivider(),
                    acts("Rename", "rename", "pencil"),
                    acts("Import report", "report", "file-text"),
                    leads("Executions as CSV", executions_csv(info.id), "download", target="_blank"),
                    dmc.MenuDivider(),
                    acts("Move to trash", "trash", "trash", color="var(--bad)"),
                ]
            ),
        ],
        position="bottom-end",
        width=190,
    )


def executions_csv(trace_set_id: str) -> str:
    """The address of a set's table of executions as CSV."""
    return f"/api/traces/{trace_set_id}/executions.csv"


def nothing_yet() -> html.Section:
    """The empty state before the first import."""
    return card(
        None,
        empty(
            "database",
            "No traces yet",
            "Drop a file above, or start with the sample: recordings of real training jobs and a model "
            "that was trained on them. It can be removed at any time.",
            [button("Load the sample", "flask", "primary", **does("samples"))],
        ),
        class_name="nothing",
    )


def trash_list() -> html.Section:
    """The sets in the trash, with buttons to restore and delete them."""
    trashed_sets = workspace().traces.list(trashed=True)
    if not trashed_sets:
        back = [link_button("Back to trace sets", "/traces", "arrow-back-up")]
        return card(
            None,
            empty(
                "trash",
                "The trash is empty",
                "Deleted trace sets stay here until you delete them for good.",
                back,
            ),
        )
    rows: Sequence[Node] = [_trash_row(info) for info in trashed_sets]
    return card("Trash", *rows, note=f"{len(trashed_sets):,}, until you delete them", flush=True)


def _trash_row(info: TraceSetInfo) -> html.Div:
    facts = f"{contents(info, ' · ')} · {format_bytes(info.n_bytes)}"
    thrown: list[Node] = [" · deleted ", when(info.trashed)] if info.trashed else []
    return html.Div(
        [
            icon("database"),
            html.Div(
                [
                    html.Div(
                        [html.Span(info.name, className="strong truncate"), sample_badge(info)],
                        className="row",
                    ),
                    html.Div([facts, *thrown], className="small ink3"),
                ],
                className="grow",
            ),
            button("Restore", "arrow-back-up", "small", **does("restore", info.id)),
            button("Delete for good", "trash", "small danger", **does("delete", info.id)),
        ],
        className="item row wrap",
    )
