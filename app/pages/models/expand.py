"""Divide a phase of a model into finer ones; the other phases stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, set_props

from app.context import workspace
from app.pages.models.detail import expansions
from app.ui import task_card
from app.ui.basics import Node, button, card
from app.ui.forms import select
from app.ui.page import problem
from core.errors import InputError, PhaseDockError
from core.phases.describe import WARM_UP
from core.units import phase_name

if TYPE_CHECKING:
    from core.phases import PhaseModel
    from core.workspace.records import ModelInfo

MAX_PARTS = 16


def _option(model: PhaseModel, phase: int) -> tuple[str, str]:
    return str(phase), f"{phase_name(phase, model.names)}  {model.description(phase)}".strip()


def _fields(info: ModelInfo, model: PhaseModel, chosen: str | None, number: int | None) -> list[Node]:
    sets = workspace().traces.list()
    preset_phase = None if number is None else number - 1
    ids = [each.id for each in sets]
    first = next((each for each in (info.trace_set_id, chosen) if each in ids), None)
    return [
        select(
            "expand-phase",
            [_option(model, phase) for phase in model.phases],
            str(preset_phase if preset_phase in model.phases else _longest_phase(model)),
            label="Phase to divide",
            className="field",
        ),
        dmc.NumberInput(
            id="expand-into",
            label="Into",
            value=2,
            min=2,
            max=MAX_PARTS,
            size="xs",
            className="field",
            clampBehavior="none",
        ),
        select(
            "expand-traces",
            [(each.id, each.name) for each in sets],
            first,
            label="Using samples from",
            placeholder="Choose a trace set",
            className="field",
        ),
        dmc.TextInput(
            id="expand-name",
            label="Name of the new model",
            value=f"{info.name} expanded",
            size="xs",
            className="field",
        ),
    ]


def _longest_phase(model: PhaseModel) -> int:
    """The phase with the largest share of time, the default to divide."""
    busiest = max(
        model.statistics, key=lambda each: each.share if each.phase != WARM_UP else -1, default=None
    )
    return busiest.phase if busiest is not None and busiest.phase in model.phases else model.phases[0]


def expansion(
    info: ModelInfo, model: PhaseModel, chosen: str | None, number: int | None = None
) -> html.Section:
    """The form, the expansions so far, and the task if one is under way."""
    tree = expansions(model)
    tasks = [task for task in task_card.tasks_of("expand", {"model": info.id}) if not task.state.ended]
    return card(
        "Expand a phase",
        html.Div(
            [
                *([tree] if tree is not None else []),
                html.Div(_fields(info, model, chosen, number), className="formgrid"),
                html.Div(id="expand-problem"),
                html.Div(button("Expand", "git-branch", id="expand-start"), className="row"),
                task_card.place("expand-live", task_card.panel(tasks, "", "", "") if tasks else []),
                dcc.Store(id="expand-model", data=info.id),
                dcc.Store(id="expand-asked", data=number),
            ],
            className="stack",
        ),
        note="creates a new model; this one stays",
    )


def submit(model_id: str, phase: str | None, into: Any, trace_set_id: str | None, name: str) -> str:
    """Submit an expansion; returns the id of its task.

    Raises
    ------
    InputError
        If something is not chosen or out of bounds.
    """
    if trace_set_id is None or phase is None:
        raise InputError("No trace set is chosen.", "Choose the traces whose samples define the new phases.")
    if not isinstance(into, int) or not 2 <= into <= MAX_PARTS:
        raise InputError(
            f"A phase cannot be divided into “{into}”.", f"Enter a whole number from 2 to {MAX_PARTS}."
        )
    space = workspace()
    info = space.models.get(model_id)
    new_name = name.strip() or f"{info.name} expanded"
    params = {
        "model": model_id,
        "trace_set": trace_set_id,
        "phase": int(phase),
        "into": into,
        "name": new_name,
    }
    title = f"Expand {phase_name(int(phase), info.phase_names)} of {info.name} into {into}"
    return space.tasks.submit("expand", title, params)


def register(app: Dash) -> None:
    """Connect the form."""
    app.clientside_callback(
        ClientsideFunction("models", "goToExpand"),
        Output("expand-start", "title"),
        Input("expand-asked", "data"),
    )

    @app.callback(
        Output("expand-problem", "children"),
        Output("expand-live", "children"),
        Input("expand-start", "n_clicks"),
        State("expand-model", "data"),
        State("expand-phase", "value"),
        State("expand-into", "value"),
        State("expand-traces", "value"),
        State("expand-name", "value"),
        prevent_initial_call=True,
        running=[(Output("expand-start", "disabled"), True, False)],
    )
    def start(
        clicks: int | None, model_id: str, phase: str, into: Any, trace_set_id: str | None, name: str | None
    ) -> tuple[Any, Any]:
        if not clicks:
            return dash.no_update, dash.no_update
        try:
            task = submit(model_id, phase, into, trace_set_id, name or "")
        except PhaseDockError as error:
            return problem(error), dash.no_update
        set_props("changed", {"data": task})
        panel: list[Node] = task_card.panel([workspace().tasks.get(task)], "", "", "")
        return None, panel
