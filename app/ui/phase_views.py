"""Views of a labelled trace set: the list of executions, one timeline, cards, boxes, statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from dash import html

from app.cache import cached
from app.context import workspace
from app.figures.spread import Box, frequencies, spread
from app.ui.basics import Node, aria, card, phase_badge, plain_table
from core.traces.validation import many
from core.units import Unit, format_bytes, format_duration, format_number, format_share, format_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import plotly.graph_objects as go

    from core.phases import FeatureStatistics, PhaseStatistics
    from core.runtime.storage.phase_labels import Labelling

_NARROWEST = 6
"""The narrowest stretch of a strip, in thousandths of its length; less cannot be seen."""


def labelled(trace_set_id: str, model_id: str) -> tuple[Labelling, tuple[str, str]]:
    """The labelling of a trace set under a model, and the fingerprints of both, for cache keys."""
    space = workspace()
    prints = (space.traces.get(trace_set_id).fingerprint, space.models.get(model_id).fingerprint)
    return space.labels.get(trace_set_id, model_id), prints


def execution_rows(trace_set_id: str, model_id: str) -> str:
    """The list of executions as JSON: one row each with name, length, what it is, and its strip.

    It travels as one text, because going through a million small numbers to find out that they are
    numbers takes longer than all the rest of the page. A strip is ``[width in thousandths, phase,
    width, phase, …]``.
    """
    labelling, prints = labelled(trace_set_id, model_id)
    table = workspace().traces.summary(trace_set_id)
    return cached(lambda: orjson.dumps(_rows(table, labelling)).decode(), "rows", *prints)


def execution_names(trace_set_id: str) -> list[str]:
    """The names of the executions, in their order."""
    names: list[str] = workspace().traces.summary(trace_set_id)["execution"].tolist()
    return names


def _rows(table: pd.DataFrame, labelling: Labelling) -> list[dict[str, Any]]:
    groups = attributes(table)
    parts = [table[name].astype(str).tolist() for name in groups[:2]]
    notes = [" · ".join(said) for said in zip(*parts, strict=True)] if parts else [""] * len(table)
    seconds, runs = table["duration_s"].tolist(), np.diff(labelling.run_offsets).tolist()
    rows = []
    for place, (name, note, strip) in enumerate(
        zip(table["execution"], notes, strips(labelling), strict=True)
    ):
        folder, _, title = name.rpartition("/")
        said = f"{runs[place]:,} segment{'' if runs[place] == 1 else 's'}"
        rows.append(
            {
                "name": name,
                "title": title,
                "length": format_duration(seconds[place]),
                "note": " · ".join(part for part in (folder or note, said) if part),
                "strip": strip,
                "seconds": seconds[place],
                "runs": runs[place],
                "place": place,
            }
        )
    return rows


def strips(labelling: Labelling, places: Sequence[int] | None = None) -> list[list[int]]:
    """The strips of executions, all or some; a run that is too narrow to be seen joins the one before."""
    chosen = np.arange(len(labelling.ids)) if places is None else np.asarray(places, np.int64)
    offsets = labelling.run_offsets
    counts = (offsets[1:] - offsets[:-1])[chosen]
    first_run = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(chosen)), counts)
    at = np.arange(len(owner)) + (offsets[chosen] - first_run)[owner]
    begin, length, phase = (
        part[at] for part in (labelling.runs.start, labelling.runs.length, labelling.runs.phase)
    )
    samples = np.maximum(labelling.offsets[chosen + 1] - labelling.offsets[chosen], 1)
    first = np.zeros(len(owner), dtype=bool)
    first[first_run[counts > 0]] = True
    shown = first | (length * 1000 >= _NARROWEST * samples[owner])
    start = np.round((begin - labelling.offsets[chosen][owner]) * 1000 / samples[owner]).astype(int)[shown]
    ends = np.append(start[1:], 1000)
    ends[np.append(first[shown][1:], True)] = 1000
    flat = np.column_stack([ends - start, phase[shown]]).ravel().tolist()
    bounds = 2 * np.concatenate([[0], np.cumsum(np.bincount(owner[shown], minlength=len(counts)))])
    return [flat[low:high] for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]


def attributes(table: pd.DataFrame) -> list[str]:
    """The columns of a summary that say what an execution is, and not how much it used."""
    return [name for name in table.columns if name != "execution" and table[name].dtype.kind not in "fiub"]


def _main(each: PhaseStatistics) -> list[tuple[str, FeatureStatistics]]:
    pairs = [("CPU", each.cpu), ("Memory", each.memory)]
    found = [(title, feature) for title, feature in pairs if feature is not None]
    return found or [(feature.name, feature) for feature in each.features[:2]]


def _live(labelling: Labelling) -> list[PhaseStatistics]:
    return [each for each in labelling.statistics if each.phase >= 0]


def _range(feature: FeatureStatistics) -> tuple[str, str]:
    """A feature's median and its 5th to 95th percentile, in one unit."""
    low, high, median = feature.quantiles[0], feature.quantiles[4], feature.quantiles[2]
    if feature.unit is Unit.SHARE:
        return format_share(median, 0), f"{low * 100:.0f}–{high * 100:.0f}%"
    if feature.unit is Unit.BYTES:
        scale, unit = (2**30, "GiB") if high >= 2**30 else (2**20, "MiB")
        low, high, median = low / scale, high / scale, median / scale
        return format_number(median), f"{format_number(low, 1)}–{format_number(high, 1)} {unit}"
    unit = "cores" if feature.unit is Unit.CORES else ""
    return format_number(median), f"{format_number(low)}–{format_number(high)} {unit}".strip()


def _growth(each: PhaseStatistics) -> str:
    memory = each.memory
    if memory is None or memory.unit is not Unit.BYTES:
        return format_number(each.memory_growth)
    mib = each.memory_growth / 2**20
    return f"{'+' if mib > 0 else ''}{format_number(mib, 0 if abs(mib) >= 1 else 1)}"


def phase_card(each: PhaseStatistics) -> html.Div:
    """One phase: badge, share of time, what it is, and its figures."""
    lines: list[tuple[str, ...]] = [(title, *_range(feature)) for title, feature in _main(each)]
    if each.memory is not None:
        lines.append(("Growth", _growth(each), "MiB/min" if each.memory.unit is Unit.BYTES else "per min"))
    lines.append(("Median dwell time", *_split(format_duration(each.median_stay))))
    return html.Div(
        [
            html.Div(
                [
                    phase_badge(each.phase),
                    html.Span(f"{format_share(each.share, 0)} of time", className="ink3"),
                ],
                className="row between",
            ),
            html.H3(each.description),
            *(
                html.Div(
                    [html.Span(title), html.Span([html.B(value), " ", *rest], className="num")],
                    className="line",
                )
                for title, value, *rest in lines
            ),
        ],
        className="card phasecard",
        style={"borderTopColor": f"var(--p{each.phase % 8 + 1})"},
    )


def _split(text: str) -> tuple[str, str]:
    value, _, unit = text.rpartition(" ")
    return value, unit


def phase_cards(trace_set_id: str, model_id: str) -> html.Div:
    """A card per phase, in the order of their numbers."""
    labelling, _ = labelled(trace_set_id, model_id)
    return html.Div(
        [phase_card(each) for each in _live(labelling)],
        className="cards",
        tabIndex="0",
        role="region",
        **aria(label="Phases"),
    )


def spread_figures(trace_set_id: str, model_id: str) -> tuple[list[tuple[str, go.Figure]], str]:
    """Boxes of CPU and memory per phase and the phases' frequencies, each with a label; and a note."""
    labelling, prints = labelled(trace_set_id, model_id)
    figures = cached(lambda: _spread_figures(labelling), "spread", *prints)
    samples = sum(each.samples for each in _live(labelling))
    info = workspace().traces.get(trace_set_id)
    counts = f"{many(info.n_executions, 'execution')}, {many(samples, 'labelled sample')}"
    note = f"whiskers 5th to 95th percentile; {counts}"
    return figures, note


def _spread_figures(labelling: Labelling) -> list[tuple[str, go.Figure]]:
    live = _live(labelling)
    titles = [title for title, _ in _main(live[0])] if live else []
    figures = []
    for position, title in enumerate(titles):
        features = [_main(each)[position][1] for each in live]
        boxes = [Box(e.phase, f.quantiles, f.mean) for e, f in zip(live, features, strict=True) if e.samples]
        label = f"Spread of {title} in each phase"
        figures.append((label, spread(title, boxes, features[0].unit)))
    counts = [(each.phase, each.samples) for each in live]
    figures.append(("Share and number of samples of each phase", frequencies(counts)))
    return figures


BEFORE_A_WINDOW = "Before the first full window"
"""What warm-up is."""
PHASE_HEAD = (
    ("Phase", False),
    ("Description", False),
    ("Samples", True),
    ("Share", True),
    ("Segments", True),
    ("Median dwell time", True),
)


def statistics_table(trace_set_id: str, model_id: str) -> html.Section:
    """Every phase's statistics in a table, warm-up included."""
    labelling, _ = labelled(trace_set_id, model_id)
    titles = [title for title, _ in _main(labelling.statistics[0])] if labelling.statistics else []
    head = [*PHASE_HEAD]
    for title in titles:
        head += [(f"{title} mean", True), ("sd", True), ("5th", True), ("median", True), ("95th", True)]
    return card(
        "Statistics",
        plain_table(head, [_statistics_row(each) for each in labelling.statistics], "Statistics per phase"),
        note="over all samples of the trace set",
        tools=[
            html.A(
                [html.Span(className="icon i-download"), html.Span("CSV")],
                href=f"/api/traces/{trace_set_id}/statistics/{model_id}.csv",
                className="btn small",
                download="",
            )
        ],
        flush=True,
    )


def _statistics_row(each: PhaseStatistics) -> Sequence[Node]:
    description = each.description if each.phase >= 0 else BEFORE_A_WINDOW
    row: list[Node] = [
        phase_badge(each.phase),
        html.Div(description, className="description"),
        *phase_numbers(each),
    ]
    for _, feature in _main(each):
        low, _q1, median, _q3, high = feature.quantiles
        row += [_short(v, feature.unit) for v in (feature.mean, feature.sd, low, median, high)]
    return row


def phase_numbers(each: PhaseStatistics) -> tuple[str, str, str, str]:
    """Samples, share of time, runs and median dwell time of a phase, as tables have them."""
    return (
        f"{each.samples:,}",
        format_share(each.share),
        f"{each.runs:,}",
        format_duration(each.median_stay),
    )


def _short(value: float, unit: Unit) -> str:
    return format_bytes(value) if unit is Unit.BYTES else format_value(value, unit)
