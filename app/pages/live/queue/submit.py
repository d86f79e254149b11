"""Submitting what was entered into the form of a job; what is wrong stands beside its field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
from dash import ALL, Input, Output, State

from app.context import LOCATION, workspace
from app.pages.live import actions
from app.pages.live.queue.form import FORM
from app.ui.basics import Node, notice
from app.ui.errors import notify, problem
from app.ui.forms import errors_for, field_id, read, values_of
from core.errors import PhaseDockError
from core.runtime.live.queue.settings import JobSettings
from core.runtime.live.queue.spec import JobNotAccepted

if TYPE_CHECKING:
    from collections.abc import Callable

    from dash import Dash, html

    from core.runtime.live.view.values import LiveView

_FIELDS = field_id(FORM, ALL)


def register(app: Dash, view_of: Callable[[str | None], LiveView | None]) -> None:
    """Connect the form; `view_of` gives the engine that an address is about."""

    @app.callback(
        Output("live-job-problem", "children"),
        Output(_FIELDS, "error"),
        Input("live-job-ok", "n_clicks"),
        State(_FIELDS, "id"),
        State(_FIELDS, "value"),
        State(_FIELDS, "checked"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
        running=[(Output("live-job-ok", "disabled"), True, False)],
    )
    def submit(
        clicks: int | None,
        ids: list[dict[str, str]],
        values: list[Any],
        switches: list[bool | None],
        search: str | None,
    ) -> tuple[Any, Any]:
        """Submit what was entered; returns what is wrong, field by field."""
        view = view_of(search)
        if not clicks or view is None:
            return dash.no_update, [dash.no_update] * len(ids)
        entered = values_of(ids, values, switches)
        said, wrong = submitted(view.engine.name, entered)
        return said, errors_for(ids, wrong)


def submitted(engine: str, entered: dict[str, Any]) -> tuple[Node, dict[str, str]]:
    """Submit a job and say so; what is wrong otherwise, and by field."""
    chosen, wrong = read(JobSettings, entered)
    if chosen is None:
        return _fix(), wrong
    try:
        job = workspace().live.queue.submit(engine, entered)
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
