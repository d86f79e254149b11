"""What a person sees before there is anything: the samples, three ways in, and what was found here."""

from __future__ import annotations

from dash import html

from app.context import workspace
from app.ui.basics import Node, button, card, icon, link_button, strip

_EXAMPLES: tuple[tuple[tuple[float, int], ...], ...] = (
    ((0.04, -1), (0.34, 2), (0.04, 4), (0.05, 1), (0.33, 2), (0.08, 4), (0.12, 2)),
    ((0.03, -1), (0.07, 2), (0.30, 0), (0.20, 1), (0.30, 0), (0.10, 2)),
    ((0.06, -1), (0.14, 2), (0.40, 1), (0.02, 2), (0.38, 1)),
    ((0.03, -1), (0.12, 2), (0.20, 4), (0.10, 2), (0.25, 4), (0.30, 2)),
    ((0.02, -1), (0.05, 3), (0.25, 1), (0.08, 2), (0.60, 0)),
    ((0.05, -1), (0.50, 2), (0.15, 0), (0.15, 1), (0.15, 0)),
)
"""Strips of made-up containers, to show what a colour means."""


def _samples_button(kind: str = "primary") -> Node:
    return button("Load samples and model", "player-play", kind, id="load-samples")


_WAYS_IN: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, str, str]], ...] = (
    (
        "timeline",
        "Understand what jobs need",
        "See which phases a cluster or a set of traces has, and what each of them really uses.",
        (
            "Add traces (CSV, Parquet, Prometheus JSON …)",
            "Train a model, often in seconds",
            "Read the phases of each execution",
        ),
        ("Add traces", "/traces", "upload"),
    ),
    (
        "stack-2",
        "Bring your own model",
        "Import the published AI4DL model or one from a colleague, without executing anything in it.",
        ("Import its files", "Choose traces that have its features", "Compare it with one of your own"),
        ("Import a model", "/models?view=import", "file-import"),
    ),
    (
        "list-check",
        "Run long tasks here",
        "Imports, training and searches continue without the page. Close it, come back, share the address.",
        ("See progress and time left", "Cancel, or retry what failed", "Read what was done, and why"),
        ("Open tasks", "/tasks", "list-check"),
    ),
)  # fmt: skip


def fresh_start() -> list[Node]:
    """The page before there is anything."""
    ways = html.Div([_way(*each) for each in _WAYS_IN], className="grid cols-3")
    hero = card(None, html.Div([_start_with_samples(), _example_strips()], className="hero"))
    return [hero, _heading("Three ways to start"), ways, _heading("This installation"), _machine()]


def _start_with_samples() -> html.Div:
    ways = [_samples_button(), link_button("Add your own traces", "/traces", "upload")]
    return html.Div(
        [
            html.H2("Start with the sample traces", style={"fontSize": 18, "lineHeight": "26px"}),
            html.P(
                "Real training jobs, recorded in containers: CPU, memory, I/O and loss, and a "
                "model of them. They load in seconds and can be removed at any time.",
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
            html.P("One bar is one container; a colour is a phase.", className="small ink3"),
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
    settings = workspace().settings
    store = "PostgreSQL" if settings.database_url.startswith("postgres") else "SQLite"
    listens = "Only this machine can open it" if settings.loopback else "Open to the network, with a password"
    found = [
        _worker(),
        _found("Store", f"{store} and Parquet in {settings.home}."),
        _found("Address", f"{settings.address}. {listens}."),
    ]
    return card(None, html.Div(found, className="grid cols-3"))


def _worker() -> html.Div:
    space = workspace()
    worker = space.tasks.worker()
    if not worker.alive:
        text = "No worker is running, so tasks do not start. Start one: phasedock worker"
        return _found("Worker", text, ok=False)
    busy = f"{worker.queued} queued, {worker.running} running"
    waiting = busy if worker.queued + worker.running else "queue is empty"
    return _found("Worker", f"{space.settings.task_threads} tasks at a time, {waiting}.")


def _found(name: str, text: str, *, ok: bool = True) -> html.Div:
    picture = icon("circle-check" if ok else "alert-triangle")
    return html.Div(
        [
            html.Span(picture, className="ok" if ok else "warn"),
            html.Div([html.Div(name, className="strong"), html.Div(text, className="ink2 small")]),
        ],
        className="row",
        style={"alignItems": "flex-start"},
    )
