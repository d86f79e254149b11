"""Phases as pages show them: cards, statistics, and the list of executions with their strips."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import dcc, html

from app.context import cached, workspace
from app.figures.spread import Box, frequencies, spread
from app.ui.basics import Node, aria, icon, icon_button, phase_badge
from app.ui.links import PageState, Query, free_text
from core.errors import InputError
from core.phases import ApplicationSettings
from core.phases.describe import scale_for
from core.phases.drift import MAX_STRANGE_SHARE
from core.tables import Column
from core.traces.lanes import Lane, default_lanes, list_lanes
from core.traces.model import Feature, Role, Scale, scale_of
from core.units import (
    MINUS,
    NO_NAMES,
    format_count,
    format_duration,
    format_number,
    format_share,
    phase_name,
    phase_number,
    plural,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    import pandas as pd
    import plotly.graph_objects as go

    from core.phases import FeatureStatistics, PhaseStatistics
    from core.traces.lanes import Lane
    from core.traces.model import FloatArray, IntArray
    from core.workspace.phase_labels import Labelling


BEFORE_A_WINDOW = "Before the first full window"
"""The description of warm-up."""


def spread_figures(
    statistics: Sequence[PhaseStatistics], lanes: Sequence[Lane], names: Mapping[int, str] = NO_NAMES
) -> list[tuple[str, str, go.Figure]]:
    """Boxes of each quantity per phase, and the phases' shares of time, each with its title and a label."""
    phases = [each for each in live(statistics) if each.samples]
    figures = []
    for lane in lanes:
        scale = scale_for(statistics, lane.role, lane.unit)
        for name, feature in zip(lane.names, lane.features, strict=True):
            features = [(each.phase, each.feature(feature.name)) for each in phases]
            boxes = [Box(phase, one.quantiles, one.mean) for phase, one in features if one is not None]
            figures.append((name, f"Spread of {name} in each phase", spread(name, boxes, scale, names)))
    counts = [(each.phase, each.samples, each.share) for each in live(statistics)]
    label = "Share of time and number of samples of each phase"
    return [*figures, ("Share of time", label, frequencies(counts, names))]


def described(each: PhaseStatistics) -> str:
    """The description of a phase."""
    return each.description if each.phase >= 0 else BEFORE_A_WINDOW


PHASE_COLUMNS = (
    Column(
        "phase_number",
        "Phase",
        lambda number: phase_name(number - 1),
        lambda each: phase_number(each.phase),
        right=False,
    ),
    Column("description", "Description", value=described),
    Column("samples", "Samples", format_count),
    Column("share", "Share of time", format_share),
    Column("segments", "Segments", format_count, lambda each: each.runs),
    Column("median_dwell_s", "Median dwell time", format_duration, lambda each: each.median_stay),
)


def phase_cells(names: Mapping[int, str]) -> dict[str, Callable[[PhaseStatistics], Node]]:
    """The cells of a table of phases that are more than text, with given names of phases."""
    return {
        "phase_number": lambda each: phase_badge(each.phase, names.get(each.phase, "")),
        "description": lambda each: html.Div(described(each), className="description"),
    }


MAX_IN_A_ROW = 5


def live(statistics: Sequence[PhaseStatistics]) -> list[PhaseStatistics]:
    """The phases without warm-up."""
    return [each for each in statistics if each.phase >= 0]


def usual_lanes(statistics: Sequence[PhaseStatistics]) -> tuple[Lane, ...]:
    """The default lanes of phases whose traces are not loaded."""
    features = statistics[0].features if statistics else ()
    return default_lanes(list_lanes([Feature(each.name, each.role, each.unit) for each in features]))


def balanced(count: int, max_columns: int = MAX_IN_A_ROW) -> int:
    """The number of cards per row, at most `max_columns`, with rows of about equal length."""
    rows = -(-count // max_columns)
    return -(-count // max(rows, 1))


def phase_cards(
    statistics: Sequence[PhaseStatistics],
    lanes: Sequence[Lane],
    expand: Callable[[int], str] | None = None,
    max_columns: int = MAX_IN_A_ROW,
    names: Mapping[int, str] | None = None,
    can_rename: bool = False,
) -> html.Div:
    """The cards in the order of the phases' numbers; `names` are those that people gave to phases."""
    phases = live(statistics)
    growth = _growth_scale(phases)
    cards = [
        _card(each, phases, lanes, growth, expand, (names or {}).get(each.phase, ""), can_rename)
        for each in phases
    ]
    return html.Div(
        cards,
        className="cards",
        style={"--columns": str(balanced(len(cards), max_columns))},
        tabIndex="0",
        role="region",
        **aria(label="Phases"),
    )


def _card(
    each: PhaseStatistics,
    phases: Sequence[PhaseStatistics],
    lanes: Sequence[Lane],
    growth: Scale,
    expand: Callable[[int], str] | None,
    given: str,
    can_rename: bool,
) -> html.Div:
    lines: list[tuple[str, ...]] = []
    for lane in lanes:
        scale = scale_for(phases, lane.role, lane.unit)
        for name, feature in zip(lane.names, lane.features, strict=True):
            quantity = each.feature(feature.name)
            if quantity is not None and each.samples:
                lines.append((name, *_range(quantity, scale)))
                if quantity.is_at_least:
                    lines.append((f"{name} bounded", format_share(quantity.censored, 0), "of time"))
        if lane.role is Role.MEMORY and each.samples:
            lines.append(("Growth", _signed(each.memory_growth, growth), f"{growth.label}/min".lstrip("/")))
    lines.append(("Median dwell time", *_split(format_duration(each.median_stay))))
    head = [phase_badge(each.phase), html.Span(f"{format_share(each.share)} of time", className="ink3")]
    return html.Div(
        [
            html.Div([*head, _expander(each.phase, expand)], className="row cardhead"),
            *_titles(each, given, can_rename),
            *(
                html.Div(
                    [html.Span(title), html.Span([html.B(value), " ", *units], className="num")],
                    className="line",
                )
                for title, value, *units in lines
            ),
        ],
        className="card phasecard",
        style={"borderTopColor": f"var(--p{each.phase % 8 + 1})"},
    )


NAME_BUTTON = "name-phase"
"""The type in the ids of the buttons that name a phase."""


def _titles(each: PhaseStatistics, name: str, can_rename: bool) -> list[Node]:
    """The name that people gave to a phase above its description, or the description alone."""
    label = f"Name {phase_name(each.phase)}"
    rename = (
        icon_button("pencil", label, id={"type": NAME_BUTTON, "phase": each.phase}) if can_rename else None
    )
    title = html.Div(
        [html.H3(name or each.description), rename],
        className=f"row between phasename{' named' if name else ''}",
    )
    return [title, html.Div(each.description, className="small ink3")] if name else [title]


def _expander(phase: int, expand: Callable[[int], str] | None) -> Node:
    if expand is None:
        return None
    label = f"Expand {phase_name(phase)}"
    inside = [icon("git-branch", "sm"), html.Span(label, className="sr")]
    return dcc.Link(inside, href=expand(phase), className="iconbtn", title=label)


def _range(feature: FeatureStatistics, scale: Scale) -> tuple[str, str]:
    """A feature's median and its 5th to 95th percentile, in one unit."""
    low, high, median = feature.quantiles[0], feature.quantiles[4], feature.quantiles[2]
    sign = "%" if scale.label == "%" else ""
    unit = "" if sign else scale.label
    top = high / scale.size
    digits = 0 if top >= (10 if sign else 100) else 1 if top >= 1 or sign else 2
    ends = [format_number(end / scale.size, digits) for end in (low, high)]
    least = "≥ " if feature.is_at_least else ""
    return f"{least}{_short(median, scale)}{sign}", f"{'–'.join(ends)}{sign} {unit}".strip()


def _short(value: float, scale: Scale) -> str:
    """Three digits, or whole percent from 10 on."""
    scaled = value / scale.size
    if scale.label == "%":
        return format_number(scaled, 0 if abs(scaled) >= 10 or scaled == 0 else 1)
    return format_number(scaled, 1 if abs(scaled) >= 10 else 2)


def _growth_scale(phases: Sequence[PhaseStatistics]) -> Scale:
    memory = next((each.memory for each in phases if each.memory is not None), None)
    fastest = max((abs(each.memory_growth) for each in phases), default=0.0)
    return Scale(1.0, "") if memory is None else scale_of(memory.unit, fastest)


def _signed(value: float, scale: Scale) -> str:
    text = _short(value, scale)
    return text if text.startswith(MINUS) or not value else f"+{text}"


def _split(text: str) -> tuple[str, str]:
    value, _, unit = text.rpartition(" ")
    return value, unit


_NARROWEST = 6
"""The narrowest visible segment of a strip, in thousandths of its length."""


def load_labelling(trace_set_id: str, model_id: str, dwell: float = 0.0) -> tuple[Labelling, tuple[str, ...]]:
    """The labelling of a trace set under a model, and the fingerprints of both, for cache keys."""
    labelling = workspace().labels.get(trace_set_id, model_id, dwell)
    return labelling, _prints(trace_set_id, model_id, dwell)


def _prints(trace_set_id: str, model_id: str, dwell: float) -> tuple[str, ...]:
    space = workspace()
    return space.traces.get(trace_set_id).fingerprint, space.models.get(model_id).fingerprint, f"{dwell:g}"


@dataclass(frozen=True, slots=True)
class LabelledTraces(PageState):
    """A trace set under a model, as a page shows it."""

    #: Ids of the trace set and the model.
    traces: str = free_text("")
    model: str = free_text("")
    #: The minimum dwell time in seconds, the usual one unless given; 0 takes phases as labelled.
    dwell: float = 0.0

    @classmethod
    def of(cls, trace_set_id: str, model_id: str, values: Mapping[str, str]) -> Self:
        """The choices of an address about a trace set and a model, which it need not name."""
        return cls.read(Query("", {**values, "traces": trace_set_id, "model": model_id}))

    @classmethod
    def derive(cls, query: Query) -> dict[str, Any]:
        """The minimum dwell time."""
        try:
            return {"dwell": ApplicationSettings.read(query.get("dwell") or "").minimum_dwell}
        except InputError:
            pair = query.values["traces"], query.values["model"]
            return {"dwell": workspace().labels.default_dwell(*pair)}

    def phase_names(self) -> Mapping[int, str]:
        """The names that people gave to the model's phases."""
        return workspace().models.get(self.model).phase_names

    def prints(self) -> tuple[str, ...]:
        """What the phases of every sample depend on, for keys of caches."""
        return _prints(self.traces, self.model, self.dwell)


@dataclass(frozen=True, slots=True)
class ExecutionList:
    """The executions of a labelled trace set in the order of the file, as lists show and sort them."""

    #: The name of each, and its title, the part that tells it apart.
    names: list[str]
    titles: list[str]
    #: What is known of each besides: a warning, its group, the number of its segments.
    notes: list[str]
    #: Its seconds, the number of its segments, and its share of unfamiliar samples, each (n_executions,).
    seconds: FloatArray
    segments: IntArray
    strange: FloatArray

    def find(self, text: str, order: str = "file") -> IntArray:
        """Return the places of the executions whose names or notes have all words of a text, sorted."""
        words = text.lower().split()
        found = np.arange(len(self.names))
        if words:
            lines = (f"{name} {note}".lower() for name, note in zip(self.names, self.notes, strict=True))
            found = np.flatnonzero([all(word in line for word in words) for line in lines])
        if order == "name":
            return np.array(sorted(found.tolist(), key=lambda place: _natural(self.names[place])), np.int64)
        keys = {"seconds": self.seconds, "runs": self.segments, "strange": self.strange}
        return found[np.argsort(-keys[order][found], kind="stable")] if order in keys else found


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts numbers in names by their value."""
    parts = re.split(r"(\d+)", name.lower())
    return [(int(part) if part.isdecimal() else -1, part) for part in parts]


def list_executions(trace_set_id: str, model_id: str, dwell: float = 0.0) -> ExecutionList:
    """The executions of a trace set under a model."""
    labelling, prints = load_labelling(trace_set_id, model_id, dwell)
    space = workspace()
    table = space.traces.summary(trace_set_id)
    strange_shares = space.labels.strange_shares(trace_set_id, model_id)
    return cached(lambda: _list(table, labelling, strange_shares), "executions", *prints)


def execution_rows(
    trace_set_id: str, model_id: str, dwell: float, places: Sequence[int]
) -> list[dict[str, Any]]:
    """Rows of a list of executions: name, length, note and strip of those at some places.

    A strip is ``[width in thousandths, phase, width, phase, …]``.
    """
    labelling, _ = load_labelling(trace_set_id, model_id, dwell)
    executions = list_executions(trace_set_id, model_id, dwell)
    return [
        {
            "name": executions.names[place],
            "title": executions.titles[place],
            "length": format_duration(float(executions.seconds[place])),
            "note": executions.notes[place],
            "strip": strip,
        }
        for place, strip in zip(places, strips(labelling, places), strict=True)
    ]


def execution_names(trace_set_id: str) -> list[str]:
    """The names of the executions, in their order."""
    names: list[str] = workspace().traces.summary(trace_set_id)["execution"].tolist()
    return names


def titles(names: Sequence[str]) -> list[tuple[str, str]]:
    """Split each name into the part that tells executions apart and the other part.

    The first part of ``pod/container`` is the container if all differ, else the pod, else the whole name.
    """
    parts = [name.rpartition("/") for name in names]
    for title, folder in ((2, 0), (0, 2)):
        if len({part[title] for part in parts}) == len(parts):
            return [(part[title], part[folder]) for part in parts]
    return [(name, "") for name in names]


def _list(table: pd.DataFrame, labelling: Labelling, strange_shares: FloatArray) -> ExecutionList:
    groups = attributes(table)
    parts = [table[name].astype(str).tolist() for name in groups[:2]]
    groups_of_each = (
        [" · ".join(values) for values in zip(*parts, strict=True)] if parts else [""] * len(table)
    )
    names, segments = table["execution"].tolist(), np.diff(labelling.run_offsets)
    split_names, notes = titles(names), []
    for (_, folder), group, n_segments, share in zip(
        split_names, groups_of_each, segments.tolist(), strange_shares.tolist(), strict=True
    ):
        unfamiliar = f"unfamiliar, {format_share(share)}" if share > MAX_STRANGE_SHARE else ""
        facts = (unfamiliar, folder or group, plural(n_segments, "segment"))
        notes.append(" · ".join(fact for fact in facts if fact))
    seconds = table["duration_s"].to_numpy(np.float64)
    return ExecutionList(names, [title for title, _ in split_names], notes, seconds, segments, strange_shares)


def strips(labelling: Labelling, places: Sequence[int] | None = None) -> list[list[int]]:
    """The strips of executions, all or some; a run too narrow to see is merged into the one before."""
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
    visible = first | (length * 1000 >= _NARROWEST * samples[owner])
    start = np.round((begin - labelling.offsets[chosen][owner]) * 1000 / samples[owner]).astype(int)[visible]
    ends = np.append(start[1:], 1000)
    ends[np.append(first[visible][1:], True)] = 1000
    flat = np.column_stack([ends - start, phase[visible]]).ravel().tolist()
    bounds = 2 * np.concatenate([[0], np.cumsum(np.bincount(owner[visible], minlength=len(counts)))])
    return [flat[low:high] for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]


def attributes(table: pd.DataFrame) -> list[str]:
    """The columns of a summary that describe an execution rather than its usage."""
    return [name for name in table.columns if name != "execution" and table[name].dtype.kind not in "fiub"]
