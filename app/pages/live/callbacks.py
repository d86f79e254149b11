"""The callbacks of the page of running containers: panels, buttons, and the forms."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import dash
from dash import ALL, ClientsideFunction, Input, Output, State, html, set_props

from app.context import LOCATION, workspace
from app.pages.live import actions, deadlines, submit
from app.pages.live import limit as live_limit
from app.pages.live import policy as live_policy
from app.pages.live import queue as live_queue
from app.pages.live import record as live_record
from app.pages.live.layout import PANELS
from app.pages.live.state import ACT, PATH, LiveAddress, Queue, does, notices
from app.ui.basics import Node, button, card, notice, unseen
from app.ui.engines import is_demo, real_engines_beside_demo
from app.ui.forms import errors_for, field_id, read, values_of
from app.ui.graph import figure_id
from app.ui.links import Query
from app.ui.page import notify, problem
from app.ui.tables import html_table
from core.errors import PhaseDockError
from core.sampling.values import Mode
from core.scheduling.policies import POLICIES, display_name
from core.tables import Column, Table
from core.units import GIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash import Dash

    from core.sampling.values import ContainerRow, LiveView


_MAX_ROWS = 100


def panel(view: LiveView, *, control: bool) -> Node:
    """The card of containers that PhaseDock leaves alone, and of those that a person picked; None without."""
    picked = [row for row in view.rows if row.picked and not row.labelled]
    if not view.foreign and not picked:
        return None
    return html.Div(
        [
            part
            for part in (_picked(picked, control) if picked else None, _foreign(view, control))
            if part is not None
        ],
        className="stack",
    )


def _picked(picked: Sequence[ContainerRow], control: bool) -> Node:
    table = Table("picked", (*_CONTAINER, _BUTTON), picked)
    return card(
        "Selected by hand",
        _containers(table, "Selected by hand", "unpick", control),
        note="managed without the label",
        flush=True,
        class_name="live-others",
    )


def _foreign(view: LiveView, control: bool) -> Node:
    if not view.foreign:
        return None
    table = Table("others", (*_CONTAINER, Column("state", "State"), _BUTTON), view.foreign[:_MAX_ROWS])
    parts: list[Node] = [_containers(table, "Other containers on this host", "pick", control)]
    if len(view.foreign) > _MAX_ROWS:
        parts.append(html.Div(f"and {len(view.foreign) - _MAX_ROWS:,} more", className="inset small ink3"))
    return card(
        "Other containers on this host",
        *parts,
        note="left alone because they do not carry the label",
        flush=True,
        class_name="live-others",
    )


_CONTAINER = (Column("name", "Container"), Column("image", "Image"))
_BUTTON = Column("act", " ", value=lambda _: "")


def _containers(table: Table, label: str, act: str, control: bool) -> html.Div:
    word, picture = ("Select", "plus") if act == "pick" else ("Deselect", "x")

    def act_button(row: ContainerRow) -> Node:
        more = {} if control else {"disabled": True}
        title = f"{word} {row.name}" if control else "PHASEDOCK_CONTROL is off"
        return button(word, picture, "quiet small", title=title, **does(act, row.id), **more)

    return html_table(table, label, cells={"act": act_button}, heads={"act": unseen("Actions")})


_FIELDS = field_id(live_policy.FORM, ALL)


def _address(search: str | None) -> LiveAddress:
    return LiveAddress.read(Query.parse(PATH, search))


def view_of(search: str | None) -> LiveView | None:
    """The engine that an address is about, as it is now."""
    address = _address(search)
    live = workspace().live.view
    return None if address.engine is None else live.request_view(address.engine.name, address.model)


def render_panel(view: LiveView, name: str, model: str | None = None) -> Any:
    """One panel that the server draws; `model` is the one that the page chose."""
    space = workspace()
    control = space.live.engines.may_change(view.engine.name)
    match name:
        case "notice":
            working = space.tasks.worker().alive
            beside, queue = real_engines_beside_demo(view.engine), Queue.of(view.engine.name)
            return notices(view, control=control, working=working, beside=beside, queue=queue)
        case "policy":
            follows = space.live.engines.kind(view.engine.name).adopt is not None
            waiting = Queue.of(view.engine.name).active
            return live_policy.panel(
                view, control=control, follows=follows, waiting=bool(waiting), model=model
            )
        case "queue":
            queue = Queue.of(view.engine.name)
            return live_queue.panel(view, queue, control=control, demo=is_demo(view.engine))
        case "deadlines":
            return deadlines.panel(Queue.of(view.engine.name), time.time())
        case "record":
            return live_record.panel(view)
        case _:
            return panel(view, control=control)


def _register_panels(app: Dash) -> None:
    @app.callback(
        *(Output(f"live-{name}", "children") for name in PANELS),
        Output("live-drawn", "data"),
        Input("live-panels", "data"),
        State("live-drawn", "data"),
        prevent_initial_call=True,
    )
    def redraw(panels: dict[str, str] | None, had: dict[str, str] | None) -> tuple[Any, ...]:
        """Redraw the panels whose signature changed."""
        if not panels:
            return (*(dash.no_update for _ in PANELS), dash.no_update)
        view = workspace().live.view.request_view(panels["engine"], panels.get("model") or None)
        same = had or {}
        parts = [
            dash.no_update
            if same.get(name) == panels[name]
            else render_panel(view, name, panels.get("model") or None)
            for name in PANELS
        ]
        return (*parts, {name: panels[name] for name in PANELS})

    app.clientside_callback(
        ClientsideFunction("live", "poke"),
        Input("live-poke", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("live", "every"),
        Input("live-every", "value"),
        prevent_initial_call=True,
    )


def _register_buttons(app: Dash) -> None:
    app.callback(
        Output("live-window-what", "children"),
        Input(ACT, "data"),
        State(LOCATION, "search"),
        State("live-draft", "data"),
        State(live_policy.MAY_RAISE, "checked", allow_optional=True),
        prevent_initial_call=True,
    )(act)
    app.callback(
        Output("live-limit-problem", "children"),
        Input("live-limit-ok", "n_clicks"),
        State("live-limit-cores", "value"),
        State("live-limit-memory", "value"),
        State("live-draft", "data"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
        running=[(Output("live-limit-ok", "disabled"), True, False)],
    )(set_limit)


def _register_past(app: Dash) -> None:
    app.callback(
        Output(figure_id(live_limit.GRAPH), "data"),
        Input("live-past-range", "value"),
        State("live-draft", "data"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )(show_past)
    app.callback(
        Output("live-past-keep", "disabled"),
        Input("live-past-keep", "n_clicks"),
        State("live-past-range", "value", allow_optional=True),
        State("live-draft", "data"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )(save_history)


def show_past(seconds: str | None, draft: dict[str, Any] | None, search: str | None) -> Any:
    """The chart of the window's container over the chosen time."""
    view = view_of(search)
    if view is None or not draft or not seconds:
        return dash.no_update
    name = live_limit.row_of(view, draft["container"]).name
    figure = live_record.figure(view.engine.name, draft["container"], name, int(seconds))
    return dash.no_update if figure is None else figure


def save_history(
    clicks: int | None, seconds: str | None, draft: dict[str, Any] | None, search: str | None
) -> Any:
    """Make a trace set of what the window's chart shows."""
    view = view_of(search)
    if not clicks or view is None or not draft:
        return dash.no_update
    name = live_limit.row_of(view, draft["container"]).name
    back = int(seconds or live_record.MINUTES)
    task = live_record.keep(view.engine.name, live_record.called(name, back), back, draft["container"])
    notify(live_record.stopped(task), "ok", title=f"A trace set of {name} is being made.")
    return False


def act(
    request: dict[str, Any] | None,
    search: str | None,
    draft: dict[str, Any] | None,
    may_raise: bool | None = None,
) -> Any:
    """Perform a button's action; returns the window's content."""
    if not request:
        return dash.no_update
    if request["act"] == "close":
        actions.close()
    elif request["act"] == "attach-now" and draft:
        actions.close()
        _attach(**draft, may_raise=bool(may_raise))
    elif request["act"] in actions.ACTIONS and (view := view_of(search)) is not None:
        if request["act"] != "take-control":  # which leaves a draft of its own
            set_props("live-draft", {"data": {"container": request.get("id")}})
        return actions.act(view, request) or dash.no_update
    return dash.no_update


def set_limit(
    clicks: int | None, cores: str | None, memory: str | None, draft: dict[str, Any], search: str | None
) -> Any:
    """Set the limits that were entered for the window's container; returns their errors."""
    view = view_of(search)
    if not clicks or view is None:
        return dash.no_update
    try:
        allowed = live_limit.quantity(cores, "CPU")
        room = live_limit.quantity(memory, "Memory")
        actions.set_limit(view.engine.name, draft["container"], allowed, None if room is None else room * GIB)
    except PhaseDockError as error:
        return problem(error)
    actions.poke()
    return None


def _attach(
    engine: str,
    policy: str,
    settings: dict[str, Any],
    mode: str,
    *,
    instead: bool = False,
    may_raise: bool = False,
    reattach: bool = True,
) -> None:
    live_policy.start(engine, policy, settings, mode, instead=instead, may_raise=may_raise, reattach=reattach)
    words = (
        "It sets limits from now on."
        if mode == Mode.CONTROL
        else "It shows its decisions and changes nothing."
    )
    notify(words, "ok", title=f"{display_name(policy)} is attached in {mode} mode.")
    set_props("changed", {"data": f"attached {engine} {policy}"})
    actions.poke()


def _register_policy(app: Dash) -> None:
    app.callback(
        Output("live-settings", "children"),
        Output("live-policy-about", "children"),
        Input("live-policy-name", "value"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )(show_policy)
    app.callback(
        Output("live-mode-words", "children"),
        Input("live-mode", "value"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )(show_mode)
    app.callback(
        Output("live-attach-problem", "children"),
        Output(_FIELDS, "error"),
        Input("live-attach", "n_clicks"),
        State("live-policy-name", "value"),
        State("live-mode", "value"),
        State(_FIELDS, "id"),
        State(_FIELDS, "value"),
        State(_FIELDS, "checked"),
        State(live_policy.REATTACH, "checked"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
        running=[(Output("live-attach", "disabled"), True, False)],
    )(attach)


def show_policy(policy: str | None, search: str | None = None) -> tuple[Any, Any]:
    """The settings of the chosen policy, and its description."""
    if policy is None or policy not in POLICIES:
        return dash.no_update, dash.no_update
    return live_policy.settings_form(policy, _address(search).model), POLICIES[policy].about


def show_mode(mode: str, search: str | None = None) -> str:
    """The chosen mode's effect on the engine of an address, in words."""
    engine, live = _address(search).engine, workspace().live
    control = live.engines.control if engine is None else live.engines.may_change(engine.name)
    return live_policy.mode_words(mode, control=control)


def attach(
    clicks: int | None,
    policy: str,
    mode: str,
    ids: list[dict[str, str]],
    values: list[Any],
    switches: list[bool | None],
    reattach: bool | None,
    search: str | None,
) -> tuple[Any, Any]:
    """Attach the form's policy, in control only once confirmed; returns the errors by field."""
    view = view_of(search)
    if not clicks or view is None:
        return dash.no_update, [dash.no_update] * len(ids)
    entered = values_of(ids, values, switches)
    _, wrong = read(POLICIES[policy].settings, entered)
    if wrong:
        message = notice("bad", "Fix the highlighted settings first.", strong="Nothing was attached.")
        return message, errors_for(ids, wrong)
    draft: dict[str, Any] = {"engine": view.engine.name, "policy": policy, "mode": mode, "settings": entered}
    draft["reattach"] = bool(reattach)
    try:
        if mode == Mode.CONTROL:
            _ask(view, draft)
        else:
            _attach(**draft)
    except PhaseDockError as error:
        return problem(error), [None] * len(ids)
    return None, [None] * len(ids)


def _ask(view: LiveView, draft: dict[str, Any]) -> None:
    """Open the window that lists the containers that control will change."""
    set_props("live-draft", {"data": draft})
    title = f"Attach {display_name(draft['policy'])} in control mode?"
    waiting = [job.name for job in Queue.of(view.engine.name).waiting]
    memory = bool(draft["settings"].get("memory"))
    dialog = actions.show(title, live_policy.confirmation(view, draft["policy"], waiting, memory=memory))
    set_props("live-window-what", {"children": dialog})


def _register_recording(app: Dash) -> None:
    @app.callback(
        Output("live-record-name", "error"),
        Input("live-record-start", "n_clicks"),
        State("live-record-name", "value"),
        State("live-record-model", "value"),
        State("live-record-from", "value"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
        running=[(Output("live-record-start", "disabled"), True, False)],
    )
    def record(
        clicks: int | None, name: str | None, model: str | None, back: str | None, search: str | None
    ) -> Any:
        view = view_of(search)
        if not clicks or view is None:
            return dash.no_update
        if not (name or "").strip():
            return "Enter a name for the recording."
        try:
            if back and back != live_record.NOW:
                task = live_record.keep(view.engine.name, (name or "").strip(), int(back))
                notify(live_record.stopped(task), "ok", title="The history becomes a trace set.")
                return None
            workspace().live.recordings.record(view.engine.name, (name or "").strip(), None, model)
        except PhaseDockError as error:
            return f"{error.message} {error.hint}"
        set_props("changed", {"data": f"recording {view.engine.name}"})
        actions.poke()
        return None


def register(app: Dash) -> None:
    """Connect the page."""
    _register_panels(app)
    _register_buttons(app)
    _register_past(app)
    _register_policy(app)
    _register_recording(app)
    submit.register(app, view_of)
