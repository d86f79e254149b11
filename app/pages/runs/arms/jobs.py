"""Completion times of every job under the drawn policies: grouped bars, rows, or a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash import html

from app.figures.runs import job_bars
from app.pages.runs.compare.differences import quantity
from app.pages.runs.query import BARS, MEASURES, QUANTITIES
from app.pages.runs.stored import change
from app.ui.basics import Node, aria, card, scrolling
from app.ui.export import download, export_menu
from app.ui.graph import graph
from app.ui.links import link, segments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.figures.runs.arm_lines import ArmStyle
    from app.pages.runs.compare.shown import Shown
    from app.pages.runs.query import View


def arm_keys(
    pairs: Iterable[tuple[Shown, ArmStyle]], view: View, kind: str = "swatch"
) -> list[html.Span | html.A]:
    """A key for each policy."""
    return [_key(each, style, view, kind) for each, style in pairs]


def _key(each: Shown, style: ArmStyle, view: View, kind: str) -> html.Span | html.A:
    label: list[Node] = [html.Span(className=f"{kind} {style.swatch}"), style.title]
    if style.swatch in ("lit", "base"):
        return html.Span(label, className="armkey")
    text = f"Highlight {style.title}"
    return link(label, view.query(lit=each.side.key), className="armkey", title=text, **aria(label=text))


if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from app.figures.runs.arm_lines import ArmStyle
    from app.pages.runs.compare.shown import Shown
    from app.pages.runs.query import View
    from core.experiments.published import Published

    Times = list[float | None]

_MOST_GROUPED, _MOST_OF_POLICY = 160, 6
_MOST_JOBS = 200
_WIDE = 1_100


def times(each: Shown, jobs: Sequence[str], measure: str) -> Times:
    """The seconds of each job; None where it was not done, or never got there."""
    known = {job.id: getattr(job, measure) for job in each.result.jobs if job.state == "done"}
    return [known.get(job) for job in jobs]


def usual(jobs: int, arms: int) -> str:
    """How so many jobs and policies are best drawn."""
    if jobs <= _MOST_OF_POLICY and arms > jobs:
        return "policy"
    return "job" if jobs * arms <= _MOST_GROUPED and arms <= _MOST_OF_POLICY else "rows"


def jobs_card(
    shown: Sequence[Shown],
    base: Shown | None,
    styles: Sequence[ArmStyle],
    view: View,
    csv: str,
    told: Sequence[Published],
) -> html.Section:
    """The card."""
    jobs = shown[0].jobs[:_MOST_JOBS]
    how = view.bars or usual(len(jobs), len(shown))
    arms = [(style, times(each, jobs, view.measure)) for each, style in zip(shown, styles, strict=True)]
    before: Times = times(base, jobs, view.measure) if base is not None else [None] * len(jobs)
    cut = f", the first {_MOST_JOBS:,}" if len(shown[0].jobs) > _MOST_JOBS else ""
    keys = arm_keys(zip(shown, styles, strict=True), view) if how == "job" else []
    tools: list[Node] = [_forms(view, how)]
    if how == "table":
        body: Node = _table(
            jobs, shown, styles, arms, before, base, told if view.measure == "completion" else ()
        )
        tools.append(download("completion per job", csv))
    else:
        body = _chart(how, jobs, arms, before, QUANTITIES[view.measure])
        tools.append(export_menu("jobs", f"{view.measure} per job", [("Times as shown, CSV", csv)]))
    ticks = [html.Span(f"tick: {base.side.title}", className="key tick")] if how == "rows" and base else []
    return card(
        "Completion per job",
        html.Div(
            [segments(view, "measure", MEASURES, view.measure, "Quantity per job"), *keys, *ticks],
            className="keys",
        ),
        body,
        note=f"one seed, by arrival{cut}",
        tools=tools,
    )


def _forms(view: View, how: str) -> html.Nav:
    """The ways to draw them; the one that is drawn is marked, chosen or not."""
    links = [
        link(title, view.query(bars=key), className="on" if key == how else "",
             **(aria(current="true") if key == how else {}))
        for key, title in BARS.items()
    ]  # fmt: skip
    return html.Nav(links, className="seg", **aria(label="How completion times are drawn"))


def _chart(how: str, jobs: Sequence[str], arms: Any, base: Times, quantity: str) -> Node:
    titles = " and ".join(style.title for style, _ in arms)
    label = f"{quantity} of each job under {titles}"
    if how == "rows":
        return _wide(job_bars.rows(jobs, arms, base, quantity), label, 60 + 16 * len(jobs))
    if how == "policy":
        figure = job_bars.by_policy(jobs, arms, quantity)
        return _wide(figure, label, max(job_bars.width_of(len(arms), len(jobs)), 60 + 74 * len(arms)))
    return _wide(job_bars.by_job(jobs, arms, quantity), label, job_bars.width_of(len(jobs), len(arms)))


def _wide(figure: go.Figure, label: str, width: int) -> Node:
    """A figure that scrolls where it needs more room than there is."""
    inner = html.Div(graph("jobs", figure, label), style={"minWidth": f"{width}px"})
    return html.Div(
        inner, className="widechart", tabIndex="0", role="region", **aria(label=f"{label}, scrolls")
    )


def _table(
    jobs: Sequence[str],
    shown: Sequence[Shown],
    styles: Sequence[ArmStyle],
    arms: Sequence[tuple[ArmStyle, Times]],
    before: Times,
    base: Shown | None,
    told: Sequence[Published],
) -> html.Div:
    """Seconds of each job under each policy, and the change against the baseline (table 6.2)."""
    published = {(each.policy, each.job): each for each in told if each.measure == "completion"}
    head = html.Tr(
        [
            html.Th("Job", scope="col"),
            *(html.Th(style.title, className="num", scope="col") for style in styles),
        ]
    )
    body = []
    for at, job in enumerate(jobs):
        cells = []
        for each, (_, seconds) in zip(shown, arms, strict=True):
            same = base is not None and each.side.key == base.side.key
            cells.append(
                _cell(seconds[at], None if same else before[at], published.get((each.side.key, job)))
            )
        body.append(html.Tr([html.Th(job, scope="row"), *cells]))
    table = html.Table(
        [html.Caption("Completion per job and policy", className="sr"), html.Thead(head), html.Tbody(body)],
        className="plain differences jobtable",
    )
    return scrolling(table, "Completion per job and policy", "tall")


def _cell(now: float | None, then: float | None, told: Published | None) -> html.Td:
    if now is None:
        return html.Td("–", className="num")
    parts: list[Node] = [quantity("mean", now)]
    if then:
        parts.append(html.Div(change(now / then - 1.0), className="small ink2"))
    if told is not None:
        parts.append(html.Div(f"published {change(told.change)}", className="small ink3", title=told.source))
    return html.Td(parts, className="num")
