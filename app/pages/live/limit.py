"""One container in detail: what it is, its last minutes, and its limits, which may be set by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import html

from app.context import workspace
from app.figures.live import history_figure
from app.pages.live import record
from app.pages.live.state import does, is_control, phase_names
from app.ui.basics import Node, aria, button, data, list_badge, notice, phase_badge, state_badge
from app.ui.forms import ORDER
from app.ui.graph import graph
from app.ui.tables import export_menu
from core.errors import InputError, NotFoundError
from core.units import GIB, format_bytes, format_cores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.live.control.saved_limits import UndoStep
    from core.sampling.values import ContainerRow, LiveView

GRAPH = "live-one"


def row_of(view: LiveView, container: str) -> ContainerRow:
    """The row of a container.

    Raises NotFoundError if it no longer exists.
    """
    match = next((row for row in (*view.rows, *view.stopped) if row.id == container), None)
    if match is None:
        raise NotFoundError(
            "This container is no longer there.", "It may have ended; the table is up to date."
        )
    return match


def window(view: LiveView, container: str, *, control: bool) -> list[Node]:
    """The content of the window about one container."""
    row = row_of(view, container)
    history = workspace().live.view.history(view.engine.name, [row.id]).get(row.id)
    parts: list[Node] = [html.Dl(_facts(row, phase_names(view)), className="live-facts")]
    if history is not None and len(history.time):
        files = [("Last ten minutes, CSV", f"/api/live/{view.engine.name}/history.csv?ids={row.id}")]
        figure = history_figure(history, row.name)
        label = f"CPU, memory and loss of {row.name} over its last minutes"
        tools = [record.save_button(view.engine.name), export_menu(GRAPH, f"{row.name} live", files)]
        sides = [record.choice(view.engine.name), html.Div(tools, className="row")]
        menu = html.Div(sides, className="row wrap between")
        parts += [menu, graph(GRAPH, figure, label)]
    parts += [_log(view, row), _restart(view, row, control=control)]
    if row.is_running or not workspace().live.engines.kind(view.engine.name).no_restart:
        parts.append(_limits(view, row, control=control))
    return parts


def _log(view: LiveView, row: ContainerRow) -> html.Div:
    """The last lines of its log, which the page's script fetches and renews."""
    lines = html.Pre(
        "Loading …",
        id="live-log",
        tabIndex="0",
        role="log",
        **data(engine=view.engine.name, container=row.id),
        **aria(label=f"Last lines of the log of {row.name}"),
    )
    return html.Div([html.H3("Log"), lines], className="stack close")


def _restart(view: LiveView, row: ContainerRow, *, control: bool) -> html.Div:
    """The button that restarts it, grey with the reason where that is not possible."""
    why = workspace().live.engines.kind(view.engine.name).no_restart or row.no_restart
    if not control:
        why = "Set PHASEDOCK_CONTROL=on and restart PhaseDock to restart containers."
    elif is_control(view.attached) and (row.is_running or row.state == "restarting"):
        why = "A policy controls it; detach that first."
    more = {"disabled": True} if why else {}
    ask = button(f"Restart {row.name} …", "refresh", "", **does("restart", row.id), **more)
    return html.Div([ask, html.Span(why, className="small ink2") if why else None], className="row wrap")


def ask_restart(row: ContainerRow) -> list[Node]:
    """The question before a container is restarted."""
    stops = "It is stopped, and killed if it has not ended after 10 s. Then it" if row.is_running else "It"
    saved = " Its original limits stay saved; Undo and Release everything restore them." if row.held else ""
    buttons = [
        button("Cancel", None, "", **does("close")),
        button(f"Restart {row.name}", "refresh", "danger", **does("restart-now", row.id)),
    ]
    words = f"{stops} starts again with the same limits.{saved}"
    return [html.P(words), html.Div(buttons, className="row ends wrap")]


def _facts(row: ContainerRow, names: Mapping[int, str]) -> list[Node]:
    why = "by its label" if row.labelled else "by hand"
    follows = {True: "yes", False: "no, the number is fixed", None: None}[row.malleable]
    facts: list[tuple[str, Node]] = [
        ("Image", row.image or "–"),
        ("Selected", why),
        ("Id", html.Code(row.id[:12])),
    ]
    if (state := row.trouble) is not None:
        kind, word, details = state
        facts.append(("State", [state_badge(word, kind), f" {details}"]))
    if row.error:
        facts.append(("Docker says", row.error))
    if row.label:
        facts.append(("List", list_badge(row.label)))
    if row.phase is not None:
        facts.append(("Phase", phase_badge(row.phase, names.get(row.phase, ""))))
    if follows:
        facts.append(("Threads follow cores", follows))
    if row.unreadable:
        facts.append(("Not readable", row.unreadable))
    if row.wrong:
        facts.append(("Labels", row.wrong))
    if row.loss is None and row.loss_why:
        facts.append(("Loss", row.loss_why))
    return [part for name, value in facts for part in (html.Dt(name), html.Dd(value))]


def _limits(view: LiveView, row: ContainerRow, *, control: bool) -> Node:
    if not control:
        return notice(
            "info",
            "Set PHASEDOCK_CONTROL=on and restart PhaseDock.",
            strong="Limits cannot be set here now.",
        )
    if is_control(view.attached):
        return notice("info", "Detach it to set limits by hand.", strong="A policy sets the limits.")
    kept = f"{row.name} keeps running. " if row.is_running else ""
    what = f"{kept}Its original limits are saved first; Undo and Release everything restore them."
    return html.Div(
        [
            html.H3("Limits"),
            _limit_fields(view, row),
            html.P(what, className="small ink2"),
            html.Div(id="live-limit-problem"),
            html.Div(_limit_buttons(view, row), className="row ends wrap"),
        ],
        className="stack close",
    )


def _limit_fields(view: LiveView, row: ContainerRow) -> html.Div:
    """Fields with the present limits of CPU and memory, to be edited."""
    cores = view.engine.cores or view.totals.cores
    host = f", {format_cores(cores)} at most" if cores else ""
    return html.Div(
        [
            dmc.TextInput(
                id="live-limit-cores",
                label="CPU, cores",
                description=f"Leave empty for no limit{host}.",
                value="" if row.cpu_limit is None else f"{row.cpu_limit:g}",
                size="xs",
                inputWrapperOrder=ORDER,
            ),
            dmc.TextInput(
                id="live-limit-memory",
                label="Memory, GiB",
                description=_memory_words(row),
                value="" if row.memory_limit is None else f"{row.memory_limit / GIB:.4g}",
                size="xs",
                inputWrapperOrder=ORDER,
            ),
        ],
        className="limitform",
    )


def _limit_buttons(view: LiveView, row: ContainerRow) -> list[Node]:
    step = workspace().live.limits.last_undo(view.engine.name, row.id) if row.held else None
    undo = (
        [] if step is None else [button(_undo_words(step, row), "arrow-back-up", "", **does("undo", row.id))]
    )
    return [
        *undo,
        button("Cancel", None, "", **does("close")),
        button(f"Set the limits of {row.name}", "adjustments-horizontal", "primary", id="live-limit-ok"),
    ]


def _undo_words(step: UndoStep, row: ContainerRow) -> str:
    """Name the limits that Undo goes back to, as far as they differ from the present ones."""
    back = step.allowance
    if back is None:
        return "Undo"
    parts = [back.cores_text] if back.cores != row.cpu_limit else []
    if back.memory != row.memory_limit:
        parts.append(f"{back.memory_text} of memory" if back.memory is not None else "no memory limit")
    return f"Undo: back to {' and '.join(parts)}" if parts else "Undo"


def _memory_words(row: ContainerRow) -> str:
    words = "Leave empty to keep it."
    if row.memory is not None:
        words += f" It uses {format_bytes(row.memory)}; below that it may be killed."
    return words


def quantity(text: str | None, label: str) -> float | None:
    """A number that a person typed, or None for an empty field.

    Raises InputError if it is not a number above 0.
    """
    entered = (text or "").strip().replace(",", ".")
    if not entered:
        return None
    try:
        value = float(entered)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise InputError(f"{label} cannot be “{text}”.", "Enter a number above 0, such as 1.5.")
    return value
