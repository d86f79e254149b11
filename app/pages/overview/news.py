"""What is new: the newest trace sets, models and runs in one list, the newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dash import dcc, html

from app.context import Choice, address, workspace
from app.ui import attached_runs
from app.ui.basics import Node, card, icon, link_button, state_badge
from app.ui.tasks.words import when
from core.traces.validation import many
from core.workspace.records import NO_EXPERIMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from core.workspace.records import ModelInfo, TraceSetInfo

_MOST = 7


class News(NamedTuple):
    """Something that was made: when, its icon and kind, its name, what it is, and where."""

    at: datetime
    icon: str
    kind: str
    name: str
    words: str
    href: str
    sample: bool = False


def news_card(sets: Sequence[TraceSetInfo], models: Sequence[ModelInfo]) -> Node:
    """The card of all that is new."""
    found = sorted([*_sets(sets), *_models(models), *_experiments(), *_attached()], reverse=True)
    tools = [link_button(f"All {len(sets)} trace sets", "/traces", "arrow-right", "small quiet")]
    if len(sets) == 1:
        tools = [link_button("Traces", "/traces", "arrow-right", "small quiet")]
    return card("What is new", *(_row(each) for each in found[:_MOST]), tools=tools, flush=True)


def _sets(sets: Sequence[TraceSetInfo]) -> Iterable[News]:
    for info in sets[:_MOST]:
        words, href = many(info.n_executions, "execution"), address("/phases", Choice(info, None))
        yield News(info.created, "database", "Trace set", info.name, words, href, info.sample)


def _models(models: Sequence[ModelInfo]) -> Iterable[News]:
    for info in models[:_MOST]:
        href = address("/models", Choice(None, info))
        yield News(
            info.created, "stack-2", "Model", info.name, many(len(info.phases), "phase"), href, info.sample
        )


def _experiments() -> Iterable[News]:
    for info in workspace().runs.experiments(_MOST):
        policies = f"{len(info.experiment.policies)} policies"
        state = policies if info.report is not None else f"not finished: {policies}"
        yield News(
            info.created, "player-play", "Experiment", info.name, state, address("/runs", experiment=info.id)
        )


def _attached() -> Iterable[News]:
    for run in workspace().runs.list(_MOST, experiment=NO_EXPERIMENT):
        words = f"{many(run.ticks, 'decision')}, {attached_runs.state_words(run.state)[0]}"
        yield News(run.created, "activity", "Attached policy", run.name, words, attached_runs.address(run.id))


def _row(each: News) -> html.Div:
    return html.Div(
        [
            html.Span([icon(each.icon), html.Span(each.kind, className="sr")], title=each.kind),
            dcc.Link(each.name, href=each.href, className="strong truncate grow"),
            state_badge("sample") if each.sample else None,
            html.Span(each.words, className="ink2 truncate only-desktop"),
            html.Span(when(each.at), className="ink3 num"),
        ],
        className="item row",
        style={"gap": 12},
    )
