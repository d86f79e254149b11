"""The form by which a job is submitted, made from its settings."""

from __future__ import annotations

from typing import Final

from dash import html

from app.pages.live.state import does
from app.ui.basics import Node, button, icon, notice
from app.ui.forms import controls
from core.jobs.catalogue import CATALOGUE
from core.live.queue.spec import JobSettings
from core.settings_fields import describe

FORM: Final = "live-job"
_FIRST: Final = ("program", "image", "command", "name", "deadline")
"""What a job is and by when; below it stands whether that can be met."""
_THEN: Final = ("request", "min", "max", "memory", "priority", "environment")


def form(*, demo: bool) -> list[Node]:
    """The contents of the window; `demo` tells whether nothing on the engine is real."""
    others = [spec.name for spec in describe(JobSettings) if spec.name not in _FIRST + _THEN]
    parts: list[Node] = []
    if demo:
        text = (
            "The recording of its program is replayed, or for an image of your own one of the recorded jobs."
        )
        parts.append(notice("info", text, strong="This is the demo."))
    parts += [
        html.Div(
            controls(FORM, JobSettings, {"program": next(iter(CATALOGUE))} if demo else {}, _FIRST),
            className="jobform",
        ),
        html.Div(id="live-job-outlook", role="status"),
        html.Div(controls(FORM, JobSettings, only=_THEN), className="jobform"),
        html.Details(
            [
                html.Summary([icon("chevron-right", "sm"), "Threads, data, volumes, ports"]),
                html.Div(controls(FORM, JobSettings, only=others), className="jobform"),
            ],
            className="unfold",
        ),
        html.Div(id="live-job-problem"),
        html.Div(
            [
                button("Cancel", None, "", **does("close")),
                button("Submit", "plus", "primary", id="live-job-ok"),
            ],
            className="row ends",
        ),
    ]
    return parts
