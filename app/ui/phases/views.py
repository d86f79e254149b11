"""The list of a labelled trace set's executions with their strips, and what an execution is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from app.cache import cached
from app.context import workspace
from core.errors import InputError
from core.phases import ApplicationSettings
from core.phases.drift.strangeness import MOST_STRANGE
from core.units import format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from core.workspace.phase_labels import Labelling

_NARROWEST = 6
"""The narrowest stretch of a strip, in thousandths of its length; less cannot be seen."""


def labelled(trace_set_id: str, model_id: str, dwell: float = 0.0) -> tuple[Labelling, tuple[str, ...]]:
    """The labelling of a trace set under a model, and the fingerprints of both, for cache keys."""
    space = workspace()
    prints = (space.traces.get(trace_set_id).fingerprint, space.models.get(model_id).fingerprint)
    return space.labels.get(trace_set_id, model_id, dwell), (*prints, f"{dwell:g}")


def shown_dwell(trace_set_id: str, model_id: str, asked: str | None) -> float:
    """The minimum dwell time of an address in seconds; the usual one where it says none, or says it wrong."""
    try:
        return ApplicationSettings.read(asked or "").minimum_dwell
    except InputError:
        return workspace().labels.default_dwell(trace_set_id, model_id)


def execution_rows(trace_set_id: str, model_id: str, dwell: float = 0.0) -> str:
    """The list of executions as JSON: one row each with name, length, what it is, and its strip.

    It travels as one text, because going through a million small numbers to find out that they are
    numbers takes longer than all the rest of the page. A strip is ``[width in thousandths, phase,
    width, phase, …]``.
    """
    labelling, prints = labelled(trace_set_id, model_id, dwell)
    space = workspace()
    table, strange = space.traces.summary(trace_set_id), space.labels.strange_shares(trace_set_id, model_id)
    return cached(lambda: orjson.dumps(_rows(table, labelling, strange.tolist())).decode(), "rows", *prints)


def execution_names(trace_set_id: str) -> list[str]:
    """The names of the executions, in their order."""
    names: list[str] = workspace().traces.summary(trace_set_id)["execution"].tolist()
    return names


def titles(names: Sequence[str]) -> list[tuple[str, str]]:
    """The part of each name that tells executions apart, and the rest of it.

    Of ``pod/container`` it is the container where each has another, else the pod, else the whole name.
    """
    parts = [name.rpartition("/") for name in names]
    for title, rest in ((2, 0), (0, 2)):
        if len({part[title] for part in parts}) == len(parts):
            return [(part[title], part[rest]) for part in parts]
    return [(name, "") for name in names]


def _rows(table: pd.DataFrame, labelling: Labelling, strange: Sequence[float]) -> list[dict[str, Any]]:
    groups = attributes(table)
    parts = [table[name].astype(str).tolist() for name in groups[:2]]
    notes = [" · ".join(said) for said in zip(*parts, strict=True)] if parts else [""] * len(table)
    seconds, runs = table["duration_s"].tolist(), np.diff(labelling.run_offsets).tolist()
    called = titles(table["execution"].tolist())
    rows = []
    for place, (name, note, strip) in enumerate(
        zip(table["execution"], notes, strips(labelling), strict=True)
    ):
        title, folder = called[place]
        said = f"{runs[place]:,} segment{'' if runs[place] == 1 else 's'}"
        share = strange[place]
        unfamiliar = f"unfamiliar, {format_share(share)}" if share > MOST_STRANGE else ""
        rows.append(
            {
                "name": name,
                "title": title,
                "length": format_duration(seconds[place]),
                "note": " · ".join(part for part in (unfamiliar, folder or note, said) if part),
                "strange": share,
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
