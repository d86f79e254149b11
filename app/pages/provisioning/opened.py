"""An open row of the table of workloads: a typical run, three reasons, and what to paste."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from dash import dcc, html

from app.context import address, workspace
from app.figures.provisioning.typical import Lines, typical
from app.pages.provisioning import results
from app.pages.provisioning.results import FORMATS, RESOURCES, often_resized
from app.ui.basics import Node, aria, data, icon, notice, phase_badge, strip
from app.ui.evaluations import policy_name
from app.ui.graph import graph
from app.ui.links import segments
from core.errors import PhaseDockError
from core.provisioning.fleet import Resource
from core.provisioning.policies import policy_title
from core.provisioning.verdict.savings import money
from core.provisioning.verdict.table import Evidence
from core.provisioning.verdict.verdict import KEEP, bounded_sentence
from core.traces.model import Role
from core.units import (
    format_duration,
    format_set_share,
    format_share,
    format_value,
    plural,
)

if TYPE_CHECKING:
    from app.context import Choice
    from app.pages.provisioning.results import View
    from app.ui.evaluations import Result
    from core.provisioning.verdict.table import WorkloadRow
    from core.provisioning.verdict.verdict import Card, Line, Option
    from core.traces.model import FloatArray

_SHOWN_LINES = 40
_PASTED = ("patch", "vpa", "helm", "docker")
"""The formats that are pasted; the others are files of the page's export."""


def opened(card: Card, row: WorkloadRow, result: Result, view: View, choice: Choice) -> html.Div:
    """The inside of a row."""
    tolerance = float(result.report["settings"]["tolerance"])
    reasons = [*_bounded(card), _cpu(card, row, tolerance), _memory(card, row), _steering(card, view, choice)]
    phases = _phases(card) if row.evidence is Evidence.NONE else None
    why = [html.H3("Why"), html.Ul([html.Li(each) for each in reasons if each is not None])]
    return html.Div(
        [
            html.Div(_run(card, result, choice), className="typical"),
            html.Div([phases, *why], className="why"),
            html.Div(_paste(card, result, view, choice), className="paste"),
        ],
        className="openrow",
    )


def _run(card: Card, result: Result, choice: Choice) -> list[Node]:
    """The run of median length: used, now, recommended and steered CPU, and its phases."""
    line = card.line(Resource.CPU) or card.lines[0]
    if choice.traces is None or line.fixed is None:
        return []
    name = _typical(line.fixed.evidence["made_from"], choice.traces.id)
    role, requested, limited = (
        (Role.CPU, Role.CPU_REQUEST, Role.CPU_LIMIT) if line.resource is Resource.CPU
        else (Role.MEMORY, Role.MEMORY_REQUEST, Role.MEMORY_LIMIT)
    )  # fmt: skip
    traces = workspace().traces.execution(choice.traces.id, name)
    feature = next(each for each in traces.features if each.role is role)
    used = traces.column(feature.name)
    recorded = next((f for r in (requested, limited) for f in traces.features if f.role is r), None)
    now = float(np.max(used)) if recorded is None else float(np.max(traces.column(recorded.name)))
    fixed = None if line.recommended is None or line.recommended.method == KEEP else line.recommended.amount
    lines = Lines(traces.time - traces.time[0], used, now, fixed, _steered(line, result, name), line.unit)
    title = "CPU" if line.resource is Resource.CPU else "Memory"
    figure = typical(lines, title)
    length = format_duration(float(traces.time[-1] - traces.time[0]))
    return [
        html.H3(["A typical run ", html.Span(f"{name} · {length}", className="ink3 truncate")]),
        graph("typical", figure, f"{title} of {name}: used, now, recommended and steered"),
        _strip(name, choice),
        html.Div(_keys(line, now, fixed), className="keys"),
    ]


def _typical(names: list[str], trace_set: str) -> str:
    table = workspace().traces.summary(trace_set)
    lengths = dict(zip(table["execution"], table["duration_s"], strict=True))
    ordered = sorted(names, key=lambda name: (float(lengths.get(name, 0.0)), name))
    return ordered[len(ordered) // 2]


def _steered(line: Line, result: Result, name: str) -> FloatArray | None:
    """The allocation of the policy that would steer, at matched violation."""
    if line.steered is None:
        return None
    policy, resource = line.steered.policy, line.resource.value
    stored = workspace().evaluations.get(result.id).allocation(resource, policy, name)
    rows = result.report["resources"][resource]["policies"]
    matched = next((row["matched"] for row in rows if row["policy"] == policy), None)
    if stored is None or matched is None:
        return None
    folds = result.report["split"].get("folds", ())
    factors = [
        factor for fold, factor in zip(folds, matched.get("factors", ()), strict=False) if name in fold
    ]
    return stored * float(factors[0] if factors else matched["factor"])


def _strip(name: str, choice: Choice) -> Node:
    """The run's phases as a strip; nothing without a model that fits."""
    pair = choice.pair()
    if pair is None:
        return None
    try:
        labelling = workspace().labels.get(pair[0].id, pair[1].id)
    except PhaseDockError:
        return None
    place = labelling.ids.index(name)
    part = slice(int(labelling.run_offsets[place]), int(labelling.run_offsets[place + 1]))
    seconds, phases = labelling.runs.seconds[part], labelling.runs.phase[part]
    total = float(seconds.sum()) or 1.0
    parts = [(float(length) / total, int(phase)) for length, phase in zip(seconds, phases, strict=True)]
    names = pair[1].phase_names
    badges = [phase_badge(phase, names.get(phase, "")) for phase in sorted({phase for _, phase in parts})]
    return html.Div([strip(parts, f"Phases of {name}"), html.Div(badges, className="row tight wrap")])


def _keys(line: Line, now: float, fixed: float | None) -> list[Node]:
    keys = [
        html.Span("used", className="key used"),
        html.Span(f"now, {format_value(now, line.unit)}", className="key static"),
    ]
    if fixed is not None:
        keys.append(html.Span(f"fixed request, {format_value(fixed, line.unit)}", className="key ours"))
    if line.steered is not None:
        amount = format_value(line.steered.amount, line.unit)
        text = f"steered by “{policy_title(line.steered.policy)}”, {amount} on average"
        keys.append(html.Span(text, className="key steered"))
    return keys


def _bounded(card: Card) -> list[Node]:
    """Which resources runs were bounded in by their own limits, so that more may be needed."""
    return [
        [html.B(f"{RESOURCES[line.resource.value]}. "), bounded_sentence(line.fixed.evidence)]
        for line in card.lines
        if line.fixed is not None and line.fixed.at_least
    ]


def _cpu(card: Card, row: WorkloadRow, tolerance: float) -> Node:
    line = card.line(Resource.CPU)
    if line is None or line.fixed is None:
        return None
    amount, evidence = format_value(line.fixed.amount, line.unit), line.fixed.evidence
    short = format_share(float(evidence["under_time_0"]))
    if not line.tested:
        runs = plural(card.containers, "run")
        return [
            html.B("Nothing was tested. "),
            f"{amount} were short {short} of the time in the {runs} they are from.",
        ]
    interval = ""
    if evidence.get("short_low") is not None:
        interval = f" ({format_share(evidence['short_low'])} to {format_share(evidence['short_high'])})"
    allowed = format_set_share(tolerance)
    keeps = " Too much: the present amount stays." if line.recommended is not line.fixed else ""
    return [
        html.B(f"{plural(row.held_out, 'run')}, each held out once. "),
        f"{amount} would have been short {short} of the time{interval}; you allow {allowed}.{keeps}",
    ]


def _memory(card: Card, row: WorkloadRow) -> Node:
    line = card.line(Resource.MEMORY)
    if line is None:
        return [html.B("Memory "), "is not recorded in these traces."]
    if line.fixed is None or line.fixed.at_least:  # then `_bounded` says why
        return None
    amount, killed = format_value(line.fixed.amount, line.unit), int(line.fixed.evidence["containers_short"])
    if not line.tested:
        return [html.B("Memory. "), f"{amount} is the highest use plus headroom."]
    if killed:
        out = (
            f"{killed:,} of {plural(row.held_out, 'held-out run')} would have been killed with a fixed limit"
        )
        return [html.B("Memory "), f"stays as it is: {out}."]
    return [
        html.B("Memory. "),
        f"{amount}, the highest use plus headroom; no held-out run would have been killed.",
    ]


def _steering(card: Card, view: View, choice: Choice) -> Node:
    """What steering by the compared policy would save beyond the fixed amount."""
    line = card.line(Resource.CPU)
    if line is None or line.steered is None or line.recommended is None:
        return None
    steered: Option = line.steered
    more = (steered.saved.money or 0.0) - (line.recommended.saved.money or 0.0)
    often = often_resized(float(steered.evidence["resizes_per_hour"]))
    short = format_share(float(steered.evidence["under_time_0"]))
    saves = f"would save another {money(more, view.prices)} a day" if more > 0 else "would save nothing more"
    parts: list[Node] = [
        html.B(["Steering with ", policy_name(steered.policy), " "]),
        f"{saves}, short {short} of the time. ",
        html.Span(f"It {often}. ", className="warn") if often else None,
    ]
    if more > 0:
        parts.append(dcc.Link("Try it in watch", href=address("/live", choice), className="link"))
    return parts


def _phases(card: Card) -> Node:
    """The plain request and that of each phase, for a workload without evidence."""
    line = next((each for each in card.lines if each.by_phase), None)
    if line is None or line.fixed is None:
        return None
    cells = [html.Li([html.Span("request and limit "), html.B(format_value(line.fixed.amount, line.unit))])]
    cells += [
        html.Li([phase_badge(each.phase, each.given_name), " ", html.B(format_value(each.amount, line.unit))])
        for each in line.by_phase
    ]
    return html.Div([html.H3("By phase"), html.Ul(cells, className="byphases")])


def _paste(card: Card, result: Result, view: View, choice: Choice) -> list[Node]:
    """The workload's manifest in the chosen format, to copy or download."""
    formats = {name: title for name, title in FORMATS.items() if name in _PASTED or name == view.form}
    tabs = segments(view, "format", formats, view.form, "Format of the export")
    try:
        text = results.manifest(choice, result, view, view.form, card.name)
    except PhaseDockError as error:
        return [tabs, notice("warn", error.hint, strong=error.message)]
    href = results.manifest_address(choice, result, view, view.form, card.name)
    lines = [
        line for line in text.splitlines() if line.strip() and not line.startswith("#") and line != "---"
    ]
    shown = "\n".join(lines[:_SHOWN_LINES] + ["…"] * (len(lines) > _SHOWN_LINES))
    label = f"{card.name or 'All containers'}, {FORMATS[view.form]}"
    return [
        tabs,
        html.Pre(shown, className="manifest wrap", tabIndex="0", role="region", **aria(label=label)),
        html.Div(
            [
                html.Button(
                    [icon("copy"), html.Span("Copy", **data(label="true"))],
                    type="button",
                    className="btn small",
                    **data(fetch=href),
                ),
                html.A([icon("download"), "Download"], href=href, className="btn small", download=""),
            ],
            className="row",
        ),
    ]
