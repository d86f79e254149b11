"""What a person sees before there is anything: the samples, three ways in, and what was found here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.context import workspace
from app.ui.basics import Node, button, card, icon, link_button, notice, strip
from app.ui.engines import is_demo, state_sentence, title_of
from core.sampling.values import EngineState
from core.units import format_number

if TYPE_CHECKING:
    from core.sampling.values import EngineInfo
    from core.workspace.records import TaskInfo

_ENGINES = 4
"""Docker hosts that are listed."""

_EXAMPLES: tuple[tuple[tuple[float, int], ...], ...] = (
    ((0.04, -1), (0.34, 2), (0.04, 4), (0.05, 1), (0.33, 2), (0.08, 4), (0.12, 2)),
    ((0.03, -1), (0.07, 2), (0.30, 0), (0.20, 1), (0.30, 0), (0.10, 2)),
    ((0.06, -1), (0.14, 2), (0.40, 1), (0.02, 2), (0.38, 1)),
    ((0.03, -1), (0.12, 2), (0.20, 4), (0.10, 2), (0.25, 4), (0.30, 2)),
    ((0.02, -1), (0.05, 3), (0.25, 1), (0.08, 2), (0.60, 0)),
    ((0.05, -1), (0.50, 2), (0.15, 0), (0.15, 1), (0.15, 0)),
)
"""Strips of made-up containers, to show what a colour means."""


_WAYS_IN: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, str, str]], ...] = (
    (
        "timeline",
        "Understand what jobs need",
        "For a cluster or a set of traces: which phases there are, and what each of them really uses.",
        (
            "Add traces (CSV, Parquet, Prometheus …)",
            "Train a model, often in seconds",
            "Read the phases of each execution",
        ),
        ("Add traces", "/traces", "upload"),
    ),
    (
        "adjustments-horizontal",
        "Stop over-allocating",
        "Compare every policy on your own traces, with its risk, and take the manifest with you.",
        (
            "Choose traces and a tolerance",
            "See the frontier with the lower bound",
            "Export for Kubernetes or Docker",
        ),
        ("Compare policies", "/provisioning", "adjustments-horizontal"),
    ),
    (
        "activity",
        "Steer running containers",
        "Let jobs that still learn go first. Begin by watching; nothing is touched until you say so.",
        (
            "Open your Docker host, or the demo without one",
            "Attach a policy in watch mode",
            "Switch to control, undo at any time",
        ),
        ("Open Live", "/live", "activity"),
    ),
)  # fmt: skip


def fresh_start(*, loading: bool = False, failed: TaskInfo | None = None) -> list[Node]:
    """The page before there is anything."""
    ways = html.Div([_way(*each) for each in _WAYS_IN], className="grid cols-3")
    hero = card(None, html.Div([_start_with_samples(loading=loading), _example_strips()], className="hero"))
    said = [] if failed is None or loading else [_problem(failed)]
    return [*said, hero, _heading("Three ways in"), ways, _heading("Found on this machine"), _machine()]


def _problem(failed: TaskInfo) -> html.Div:
    """Why the samples could not be loaded."""
    message, hint = failed.error or ("It was interrupted.", "Try again.")
    see = link_button("See the task", f"/tasks?task={failed.id}", "list-check", "small")
    return notice("bad", f"{message} {hint}", strong="The samples were not loaded.", actions=[see])


def _start_with_samples(*, loading: bool) -> html.Div:
    shown = ("Loading…", "hourglass") if loading else ("Load samples and model", "player-play")
    ways = [
        button(*shown, "primary", id="load-samples", disabled=loading),
        link_button("Add your own traces", "/traces", "upload"),
    ]
    return html.Div(
        [
            html.H2("Start with the sample traces", style={"fontSize": 18, "lineHeight": "26px"}),
            html.P(
                "40 recorded training jobs with CPU, memory, I/O and loss, and a model that was trained on "
                "them. They load in seconds and can be removed at any time.",
                className="ink2",
                style={"maxWidth": 430, "margin": "6px 0 14px"},
            ),
            html.Div(ways, className="row wrap"),
        ]
    )


def _example_strips() -> html.Div:
    return html.Div(
        [
            *(strip(parts, "Phases of a container") for parts in _EXAMPLES),
            html.P("An example: one bar is one container; a colour is a phase.", className="small ink3"),
        ],
        className="stack close hero-strips",
    )


def _way(picture: str, title: str, text: str, steps: tuple[str, ...], way: tuple[str, str, str]) -> Node:
    return card(
        None,
        html.Div(icon(picture, "lg"), style={"color": "var(--accent)"}),
        html.H3(title, style={"margin": "10px 0 4px", "fontSize": 14}),
        html.P(text, className="ink2"),
        html.Ol([html.Li(step) for step in steps], className="ink2"),
        link_button(*way),
        class_name="way",
    )


def _heading(text: str) -> html.H2:
    return html.H2(text, style={"margin": "16px 0 10px"})


def _machine() -> Node:
    engines = workspace().live.engines.all()
    real = [each for each in engines if not is_demo(each)]
    found = [
        _found("Simulator", "Ready. Needs nothing."),
        *(_docker(each, alone=len(real) == 1, demo=len(engines) > len(real)) for each in real[:_ENGINES]),
        *(_found(title_of(each), "Ready. Nothing on it is real.") for each in engines if is_demo(each)),
        _worker(),
    ]
    return card(None, html.Div(found, className="grid cols-4"))


def _docker(engine: EngineInfo, *, alone: bool, demo: bool) -> html.Div:
    """A Docker host: what it is, or that it was not found, which is nothing to worry about."""
    if engine.state is EngineState.READY:
        control = "on" if workspace().live.engines.control else "off"
        name = f"{'Docker' if alone else engine.name} {engine.version}".strip()
        return _found(name, f"{format_number(engine.cores or 0, 0)} cores. Control is {control}.")
    said = state_sentence(engine, alone=alone)
    if engine.state is not EngineState.MISSING:
        return _found(said, engine.hint, "alert-triangle", "warn")
    text = "Live opens the demo instead." if demo else engine.hint
    return _found(said, text, "circle-dashed", "ink3")


def _worker() -> html.Div:
    space = workspace()
    worker = space.tasks.worker()
    if not worker.alive:
        text = "No worker is running, so tasks do not start. Start one: phasedock worker"
        return _found("Worker", text, "alert-triangle", "warn")
    busy = f"{worker.queued} queued, {worker.running} running"
    waiting = busy if worker.queued + worker.running else "queue is empty"
    return _found("Worker", f"{space.settings.task_threads} tasks at a time, {waiting}.")


def _found(name: str, text: str, picture: str = "circle-check", kind: str = "ok") -> html.Div:
    return html.Div(
        [
            html.Span(icon(picture), className=kind),
            html.Div([html.Div(name, className="strong"), html.Div(text, className="ink2 small")]),
        ],
        className="row",
        style={"alignItems": "flex-start"},
    )
