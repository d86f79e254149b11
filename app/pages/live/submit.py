"""Submission of a job from its form; errors appear next to their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
from dash import ALL, ClientsideFunction, Input, Output, State

from app.context import LOCATION, workspace
from app.pages.live import actions
from app.pages.live.queue import FORM
from app.ui.basics import Node, notice
from app.ui.forms import errors_for, field_id, read, values_of
from app.ui.page import notify, problem
from core.errors import PhaseDockError
from core.live.queue.deadline_previews import sentences
from core.live.queue.spec import JobNotAccepted, JobSettings
from core.settings_fields import describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from dash import Dash, html

    from core.sampling.values import LiveView

_FIELDS = field_id(FORM, ALL)


def register(app: Dash, view_of: Callable[[str | None], LiveView | None]) -> None:
    """Connect the form; `view_of` returns the engine of an address."""

    @app.callback(
        Output("live-job-problem", "children"),
        Output(_FIELDS, "error"),
        Input("live-job-ok", "n_clicks"),
        State(_FIELDS, "id"),
        State(_FIELDS, "value"),
        State(_FIELDS, "checked"),
        State(LOCATION, "search"),
        State("live-zone", "data"),
        prevent_initial_call=True,
        running=[(Output("live-job-ok", "disabled"), True, False)],
    )
    def submit(
        clicks: int | None,
        ids: list[dict[str, str]],
        values: list[Any],
        switches: list[bool | None],
        search: str | None,
        zone: str | None,
    ) -> tuple[Any, Any]:
        """Submit the form; returns the errors by field."""
        view = view_of(search)
        if not clicks or view is None:
            return dash.no_update, [dash.no_update] * len(ids)
        entered = values_of(ids, values, switches)
        messages, wrong = submitted(view.engine.name, entered, zone or "")
        return messages, errors_for(ids, wrong)

    @app.callback(
        Output("live-job-outlook", "children"),
        Input("live-job-asked", "data"),
        State(LOCATION, "search"),
        State("live-zone", "data"),
        prevent_initial_call=True,
    )
    def ask(request: dict[str, Any] | None, search: str | None, zone: str | None) -> Any:
        """Whether the deadline that was entered can be met."""
        view = view_of(search)
        if view is None or not request or not str(request.get("deadline") or "").strip():
            return None
        return outlook(view.engine.name, request, zone or "")

    # a moment after the last change, the page's script asks by filling the store
    app.clientside_callback(
        ClientsideFunction("live", "asking"),
        Output("live-zone", "data"),
        Input(_FIELDS, "value"),
        Input(_FIELDS, "checked"),
        State(_FIELDS, "id"),
    )


def outlook(engine: str, entered: dict[str, Any], zone: str) -> Node:
    """Whether a deadline can be met, with which cores and preemptions, or why that is unknown."""
    chosen, wrong = read(JobSettings, entered)
    if chosen is None:
        wrong_fields = ", ".join(spec.label for spec in describe(JobSettings) if spec.name in wrong)
        return notice("plain", f"Correct {wrong_fields} to see whether the deadline can be met.")
    try:
        answer = workspace().live.queue.ask(engine, entered, zone)
    except JobNotAccepted as refused:
        labels = {spec.name: spec.label for spec in describe(JobSettings)}
        text = " ".join(f"{labels[name]}: {sentence}" for name, sentence in refused.fields.items())
        return notice("plain", text)
    except PhaseDockError as error:
        return problem(error)
    first, *more = sentences(answer, zone)
    promised = answer.outlook.promised
    kind = "ok" if promised else "info" if not answer.outlook.known else "warn"
    return notice(kind, " ".join(more), strong=first)


def submitted(engine: str, entered: dict[str, Any], zone: str = "") -> tuple[Node, dict[str, str]]:
    """Submit a job; returns a message, and errors by field."""
    chosen, wrong = read(JobSettings, entered)
    if chosen is None:
        return _fix(), wrong
    try:
        job = workspace().live.queue.submit(engine, entered, zone)
    except JobNotAccepted as refused:
        return _fix(), refused.fields
    except PhaseDockError as error:
        return problem(error), {}
    actions.close()
    actions.poke()
    notify(job.why or "The attached policy decides when it starts.", "ok", title=f"{job.name} is submitted.")
    return None, {}


def _fix() -> html.Div:
    return notice("bad", "Fix the highlighted settings first.", strong="Nothing was submitted.")
