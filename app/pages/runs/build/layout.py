"""Building an experiment: a form or its YAML on the left, its preview on the right, and the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import dcc, html

from app.context import workspace
from app.pages.runs.build.bundled import NEW, find
from app.pages.runs.build.draft import checked, field_of, from_fields, gapped
from app.pages.runs.build.form import form
from app.pages.runs.build.from_traces import traces_part
from app.pages.runs.build.pieces import FORM_ACT
from app.pages.runs.build.yaml import written
from app.pages.runs.query import PATH
from app.pages.runs.words import about
from app.ui.basics import Node, aria, button, card, link_button, notice, page_head
from app.ui.errors import refused_policies
from app.ui.forms import values_of
from core.errors import NotFoundError
from core.runs.values import Keep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.pages.runs.build.draft import Problem
    from app.pages.runs.query import View

_MOST_LINES = 400
_KEEP = [
    {"value": Keep.FIRST.value, "label": "First seed"},
    {"value": Keep.ALL.value, "label": "All seeds"},
    {"value": Keep.NONE.value, "label": "No seed"},
]


def begun(source: str | None) -> dict[str, Any]:
    """What the form begins with: a bundled experiment, one that was run, or a small new one.

    Raises
    ------
    NotFoundError
        If there is none of this name or id.
    """
    if not source or source == "new":
        return dict(NEW)
    try:
        return find(source).experiment.to_dict()
    except NotFoundError:
        return workspace().runs.experiment(source).experiment.to_dict()


def build_page(view: View) -> list[Node]:
    """The page of the form."""
    draft = begun(view.source)
    text = written(draft)
    as_text = gapped(draft)
    mode = dmc.SegmentedControl(
        id="run-mode",
        value="yaml" if as_text else "form",
        data=[{"value": "form", "label": "Form"}, {"value": "yaml", "label": "YAML"}],
        size="xs",
        **aria(label="Edit as a form or as YAML"),
    )
    yaml_area = dmc.Textarea(
        id="run-yaml",
        value=text,
        autosize=True,
        minRows=20,
        maxRows=60,
        debounce=300,
        className="monotext",
        label="Experiment as YAML or JSON",
        description="Paste a file here; errors are shown with their line.",
    )
    return [
        page_head("New experiment", "several policies on the same machines and jobs",
                  [mode, link_button("Back to runs", PATH, "chevron-left")]),
        refused_policies(),
        html.Div(
            [
                html.Div(
                    [
                        html.Div(
                            [
                                traces_part(view.query.get("traces")),
                                html.Div(form(draft), id="run-form", className="stack"),
                            ],
                            id="run-fields",
                            className="stack",
                            hidden=as_text,
                        ),
                        html.Div(card(None, yaml_area), id="run-text", hidden=not as_text),
                    ]
                ),
                html.Div(_right(text), className="stack side"),
            ],
            className="runs-build",
        ),
        dcc.Store(id=FORM_ACT),
    ]  # fmt: skip


def _right(text: str) -> list[Node]:
    keep = dmc.Select(
        id="run-keep",
        label="Save ledgers for",
        data=_KEEP,
        value=Keep.FIRST.value,
        allowDeselect=False,
        size="xs",
    )
    start = button("Start", "player-play", "primary", id="run-start")
    return [
        card(
            "Preview",
            html.Div(preview(text), id="run-preview", className="stack"),
            html.Div([keep, start], className="row ends startline"),
            html.Div(id="run-problem"),
        )
    ]


def preview(text: str) -> list[Node]:
    """The text with numbered lines, the wrong one marked, and what is wrong or what will be run."""
    experiment, problem = checked(text)
    if experiment is not None:
        said = notice(
            "ok", f"{about(experiment)}.", strong=_runs(len(experiment.policies), len(experiment.seeds))
        )
    elif problem is not None:
        said = notice("bad", problem.hint, strong=problem.message)
    return [said, numbered(text, problem.line if problem else None)]


def _runs(policies: int, seeds: int) -> str:
    n = policies * seeds
    return f"{n:,} run{'s' if n != 1 else ''}."


def numbered(text: str, wrong: int | None) -> html.Div:
    """A text with numbered lines, one of them marked as wrong; a long one is cut around it."""
    lines = text.splitlines()
    first = max(0, (wrong or 1) - _MOST_LINES // 2) if len(lines) > _MOST_LINES else 0
    made = [
        html.Div(
            [html.Span(str(at), className="n"), html.Code(line or " ")],
            className="line bad" if at == wrong else "line",
            **(aria(label=f"Line {at} is wrong") | {"role": "group"} if at == wrong else {}),
        )
        for at, line in enumerate(lines[first : first + _MOST_LINES], first + 1)
    ]
    return html.Div(
        made, className="yaml", tabIndex="0", role="region", **aria(label="The experiment as YAML")
    )


def problems(problem: Problem | None, values: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong, at the field that shows it."""
    if problem is None:
        return {}
    kinds = list(from_fields(values)["kinds"])
    name = field_of(problem.path, kinds, list(values))
    return {name: f"{problem.message.partition(': ')[2] or problem.message} {problem.hint}"} if name else {}


def fields(
    ids: Sequence[Mapping[str, str]],
    values: Sequence[Any],
    checked_: Sequence[bool | None],
    policy_ids: Sequence[Mapping[str, str]],
    policies: Sequence[Any],
) -> dict[str, Any]:
    """All fields of the form by name; switches have theirs in `checked_`."""
    switches = values_of(ids, checked_)
    made = {
        name: bool(switches[name]) if value is None and isinstance(switches[name], bool) else value
        for name, value in values_of(ids, values).items()
    }
    return made | values_of(policy_ids, policies)
