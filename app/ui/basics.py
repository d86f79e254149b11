"""The small pieces of every page: icons, cards, key figures, badges, buttons, notices, empty states."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

import dash
from dash import dcc, html
from plotly.utils import PlotlyJSONEncoder

from app.figures.theme import phase_name
from core.scheduling.actions import list_word
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from app.figures.provisioning.frontier import Mark, Track


Node = Any
"""A child of a Dash component: a component, a string, a number, or a list of them."""


def aria(**values: object) -> dict[str, Any]:
    """Attributes for assistive technology: ``aria(label="Phases")`` is ``aria-label="Phases"``."""
    return {f"aria-{name}": str(value) for name, value in values.items()}


def data(**values: object) -> dict[str, Any]:
    """Attributes for scripts of the page: ``data(file="a")`` is ``data-file="a"``."""
    return {f"data-{name}": str(value) for name, value in values.items()}


_NOTICE_ICONS = {
    "bad": "circle-x",
    "warn": "alert-triangle",
    "ok": "circle-check",
    "info": "info-circle",
    "plain": "info-circle",
}


class _Sized(Protocol):
    @property
    def n_executions(self) -> int: ...

    @property
    def n_samples(self) -> int: ...


def contents(counted: _Sized, between: str = ", ") -> str:
    """The contents of a trace set: ``1 execution, 1,200 samples``."""
    return f"{plural(counted.n_executions, 'execution')}{between}{plural(counted.n_samples, 'sample')}"


def icon(name: str, size: str = "") -> html.Span:
    """A Tabler icon in the colour of the text around it; `size` may be ``"sm"`` or ``"lg"``."""
    return html.Span(className=f"icon i-{name} {size}".strip(), **aria(hidden="true"))


def card(
    title: Node = None,
    *body: Node,
    note: Node = None,
    tools: Sequence[Node] = (),
    flush: bool = False,
    class_name: str = "",
    **more: Any,
) -> html.Section:
    """A surface with a title, a note next to it, tools at the right, and a body."""
    head: list[Node] = []
    if title is not None:
        head.append(html.H2(title))
    if note is not None:
        head.append(html.Span(note, className="note"))
    if tools:
        head.append(html.Div(list(tools), className="tools"))
    children: list[Node] = [html.Div(head, className="head")] if head else []
    if body:
        kind = "body flush" if flush else "body" if head else "body first"
        children.append(html.Div(list(body), className=kind))
    return html.Section(children, className=f"card {class_name}".strip(), **more)


def kpi(label: str, value: Node, unit: Node = "", sub: Node = "") -> html.Div:
    """One key figure with its unit and its meaning."""
    return html.Div(
        [
            html.Div(label, className="label"),
            html.Div([value, " ", html.Small(unit)], className="value"),
            html.Div(sub, className="sub"),
        ],
        className="card kpi",
    )


def page_head(title: str, lead: Node = None, actions: Sequence[Node] = ()) -> html.Div:
    """The page's H1 with a lead, and its controls at the right."""
    children: list[Node] = [html.H1(title)]
    if lead is not None:
        children.append(html.Span(lead, className="lead"))
    if actions:
        children.append(html.Div(list(actions), className="actions"))
    return html.Div(children, className="pagehead")


def button(label: Node, icon_name: str | None = None, kind: str = "", **more: Any) -> html.Button:
    """A button; `kind` is any of ``primary``, ``danger``, ``quiet`` and ``small``."""
    children = [icon(icon_name), label] if icon_name else [label]
    return html.Button(children, className=f"btn {kind}".strip(), type="button", **more)


def link_button(
    label: Node, href: str, icon_name: str | None = None, kind: str = "", **more: Any
) -> dcc.Link:
    """A link to another page that looks like a button."""
    children = [icon(icon_name), label] if icon_name else [label]
    return dcc.Link(children, href=href, className=f"btn {kind}".strip(), **more)


def icon_button(icon_name: str, label: str, **more: Any) -> html.Button:
    """A button that is only an icon; its label is for assistive technology and the tooltip."""
    class_name = f"iconbtn {more.pop('class_name', '')}".strip()
    return html.Button(
        icon(icon_name), className=class_name, type="button", title=label, **aria(label=label), **more
    )


def opener(label: str) -> dict[str, Any]:
    """Properties that turn the box that Mantine puts around a menu's target into the button itself.

    A button inside that box would leave the box's own attributes on something that is no control.
    """
    shape = {"component": "button", "type": "button", "className": "iconbtn", "w": "", "title": label}
    return shape | aria(label=label)


def phase_badge(phase: int, name: str = "") -> html.Span:
    """A phase's number on its colour, followed by the name that people gave to it."""
    number = 0 if phase < 0 else phase % 8 + 1
    hatch = " again" if phase >= 8 else ""
    badge = html.Span(phase_name(phase), className=f"phase p{number}{hatch}")
    return html.Span([badge, html.B(name)], className="namedphase") if name else badge


_HEAVY = {
    **dict.fromkeys(("NL", "PC", "to 90%", "to 95%", "to 99%"), "heavy"),
    **dict.fromkeys(("WL", "WC", "to the end"), "middle"),
}


def list_weight(label: str) -> str:
    """How strongly the badge of a list is drawn: lists differ by shade, not by hue."""
    return _HEAVY.get(label, "light")


def with_symbol(word: str, symbol: str) -> Node:
    """A word with its letter in the thesis as its tooltip; the word alone if it has none."""
    return html.Span(word, title=f"{symbol} in the paper") if symbol and symbol != word else word


def list_badge(label: str) -> html.Span:
    """A badge with the list that a policy has a job in, in words."""
    return html.Span(with_symbol(list_word(label), label), className=f"listbadge {list_weight(label)}")


def state_badge(word: str, kind: str = "", icon_name: str | None = None) -> html.Span:
    """A state as icon and word; `kind` is ``ok``, ``warn``, ``bad``, ``accent`` or nothing."""
    children: list[Node] = [icon(icon_name)] if icon_name else []
    return html.Span([*children, word], className=f"state {kind}".strip())


def notice(kind: str, text: Node, strong: str = "", actions: Sequence[Node] = ()) -> html.Div:
    """A message in place; `kind` is ``bad``, ``warn``, ``ok``, ``info`` or, in grey, ``plain``."""
    body: list[Node] = [html.B([strong, " "])] if strong else []
    content: list[Node] = [*body, text]
    if actions:
        content.append(html.Div(list(actions), className="acts"))
    return html.Div(
        [icon(_NOTICE_ICONS[kind]), html.Div(content, className="text")],
        className=f"notice {kind}",
        role="alert" if kind == "bad" else "status",
    )


def empty(icon_name: str, title: str, text: Node, actions: Sequence[Node] = ()) -> html.Div:
    """An empty state: what is missing, and buttons that fix it."""
    return html.Div(
        [icon(icon_name), html.H2(title), html.P(text), html.Div(list(actions), className="acts")],
        className="empty",
    )


def strip(parts: Iterable[tuple[float, int]], label: str) -> html.Div:
    """An execution's phases as one thin bar."""
    return html.Div(className="strip", style={"background": gradient(parts)}, role="img", **aria(label=label))


def bar(share: float, kind: str = "", label: str = "progress") -> html.Div:
    """A thin bar of progress, `share` between 0 and 1."""
    percent = round(min(max(share, 0.0), 1.0) * 100, 1)
    return html.Div(
        html.I(style={"width": f"{percent}%"}),
        className=f"bar {kind}".strip(),
        role="progressbar",
        **aria(valuenow=percent, valuemin=0, valuemax=100, label=label),
    )


def gain_dot(mark: Mark, on: Track, kind: str, label: str) -> html.Div:
    """A dot with its whisker on a table's track; `kind` is ``better``, ``worse`` or ``open``."""
    parts: list[Node] = [html.Span(className="zero", style={"left": f"{on.place(0.0)}%"})]
    if mark.dot is None:
        arrow = "◂ off scale" if mark.off == "left" else "off scale ▸"
        parts.append(html.Span(arrow, className=f"off {kind} {mark.off}"))
    else:
        whisker = {"left": f"{mark.start}%", "width": f"{max(mark.end - mark.start, 0.0):.1f}%"}
        parts += [html.Span(className=f"whisker {kind}", style=whisker)] if mark.end > mark.start else []
        parts.append(html.Span(className=f"dot {kind}", style={"left": f"{mark.dot}%"}))
    return html.Div(parts, className="gain", role="img", title=label, **aria(label=label))


def unseen(text: str) -> html.Span:
    """Text for screen readers only."""
    return html.Span(text, className="sr")


def scrolling(table: Node, label: str, kind: str = "") -> html.Div:
    """A table in a region that scrolls, also by keyboard; `kind` is a class such as ``tall``."""
    return html.Div(
        table, className=f"tablewrap {kind}".strip(), tabIndex="0", role="region", **aria(label=label)
    )


def when_changed(now: Node, before: Any) -> Any:
    """The new component, or `no_update` when the browser already shows the same."""
    return dash.no_update if _written(now) == _written(before) else now


def _written(piece: Any) -> Any:
    """A piece as JSON has it, without the properties that are None (the browser leaves them out)."""
    return _without_none(json.loads(json.dumps(piece, cls=PlotlyJSONEncoder)))


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list):
        return [_without_none(entry) for entry in value]
    return value


# Phase strips: an execution's whole life as one thin bar, drawn by CSS alone.
#
# A strip is a list of (share of the length, phase) pairs and becomes a ``linear-gradient`` over the
# colour variables of the page, so a list of thousands of executions costs no plot at all.


def phase_variable(phase: int) -> str:
    """The CSS variable of a phase id; warm-up is 0."""
    return "var(--p0)" if phase < 0 else f"var(--p{phase % 8 + 1})"


def gradient(strip: Iterable[tuple[float, int]]) -> str:
    """The strip as a CSS background."""
    stops, at = [], 0.0
    for share, phase in strip:
        end = at + share * 100
        stops.append(f"{phase_variable(phase)} {at:.4g}% {end:.4g}%")
        at = end
    return f"linear-gradient(90deg,{','.join(stops)})" if stops else "none"
