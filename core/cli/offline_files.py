"""Use cases on files, without a workspace: check, train, import, expand, predict, sequences."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from core.errors import ConflictError, InputError
from core.files.phase_models.ai4dl import import_ai4dl
from core.files.phase_models.archive import load_model, save_model
from core.phases import (
    ApplicationSettings,
    PhaseSettings,
    expand,
    fit,
    phase_runs,
    predict,
    suggested_minimum_dwell,
    with_minimum_dwell,
)
from core.phases.drift import compare_with_training, drift_warning
from core.reading import inspect_file, read_with_report
from core.reading.formats.register import FORMATS
from core.reading.layouts import LAYOUTS
from core.reading.mapping import INTERVAL, ColumnMapping
from core.reading.questions import list_answers, list_questions, set_column
from core.sequences import END, Step, Warmup, phase_sequences
from core.traces.model import fingerprint, summarise
from core.units import format_duration, phase_name
from core.workspace.phase_labels import phases_by_execution
from core.workspace.sequences import SequenceAnalysis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from core.phases import PhaseModel
    from core.progress_reporting import Progress
    from core.reading import Inspection
    from core.reading.questions import Question
    from core.sequences import DwellTimes, TransitionGraph
    from core.traces.model import TraceSet
    from core.traces.validation import Report

    Notify = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked trace file: its recognised layout, its contents, and its problems."""

    inspection: Inspection
    traces: TraceSet
    report: Report
    summary: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """The check as a JSON object; ``mapping`` can be saved and passed as ``--mapping``."""
        mapping, traces = self.inspection.mapping, self.traces
        return {
            "layout": self.inspection.layout,
            "mapping": None if mapping is None else mapping.to_dict(),
            "executions": traces.n_executions,
            "samples": traces.n_samples,
            "period_s": traces.period,
            "resampling": traces.resampling.value,
            "features": [
                {"name": f.name, "role": f.role.value, "unit": f.unit.value} for f in traces.features
            ],
            "report": self.report.to_dict(),
        }


class OpenQuestionsError(InputError):
    """A question about a column has to be answered before a file is read."""

    def __init__(self, mapping: ColumnMapping, questions: Sequence[Question]) -> None:
        super().__init__(questions[0].sentence, f"Answer it: --set “{questions[0].column}=…”.")
        self.mapping, self.questions = mapping, questions

    def to_dict(self) -> dict[str, Any]:
        """The mapping so far, and each question with the answers that `--set` takes."""
        return {
            "mapping": self.mapping.to_dict(),
            "questions": [
                {
                    "column": one.column,
                    "question": one.sentence,
                    "answers": list(list_answers(one)),
                    "in_seconds": one.column == INTERVAL,
                }
                for one in self.questions
            ],
        }


def check(file: Path, mapping: Path | None = None, answers: Sequence[str] = ()) -> Checked:
    """Read a trace file, with columns set by `answers` (``COLUMN=cpu:millicores``), and list its problems.

    Raises
    ------
    OpenQuestionsError
        If the unit or role of a column is unknown.
    InputError
        If nothing of it can be used, or an answer is invalid.
    """
    inspection = inspect_file(existing(file))
    chosen = read_mapping(mapping)
    suggested = chosen or inspection.mapping
    if suggested is not None:
        header, rows = [column.name for column in inspection.columns], inspection.rows_preview
        for text in answers:
            column, equals, answer = text.rpartition("=")
            if not equals:
                raise InputError(f"“{text}” is not of the form COLUMN=ROLE:UNIT.", "Try value=memory:mib.")
            chosen = suggested = set_column(suggested, column, answer, header, rows)
        questions = inspection.questions if chosen is None else list_questions(suggested, header, rows)
        if questions:
            raise OpenQuestionsError(suggested, questions)
    traces, report = read_with_report(file, chosen)
    if chosen is not None:
        inspection = replace(inspection, mapping=chosen)
    return Checked(inspection, traces, report, summarise(traces))


def read(file: Path, mapping: Path | None = None) -> TraceSet:
    """Read the traces of a file.

    Raises
    ------
    InputError
        If nothing of it can be used.
    """
    return read_with_report(existing(file), read_mapping(mapping))[0]


@dataclass(frozen=True, slots=True)
class Trained:
    """A model that was saved, and how long its training took in seconds."""

    model: PhaseModel
    out: Path
    seconds: float


def applied(
    model: Path, file: Path, mapping: Path | None = None, notify: Notify | None = None
) -> tuple[PhaseModel, TraceSet]:
    """A model and the traces that it is shown; what has to be known before believing its phases is said.

    Raises
    ------
    MismatchError
        If the model does not fit the traces.
    """
    loaded, traces = load_model(model), read(file, mapping)
    warning = None if notify is None else drift_warning(compare_with_training(loaded, traces), model.name)
    if notify is not None and warning is not None and loaded.training.fingerprint != fingerprint(traces):
        notify(*warning)
    return loaded, traces


def train(
    file: Path,
    values: dict[str, object],
    out: Path,
    *,
    features: Sequence[str] | None = None,
    mapping: Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Trained:
    """Train a model on a trace file and save it.

    Raises
    ------
    InputError
        If the file or a setting cannot be used.
    ConflictError
        If there is something at `out` already.
    """
    settings = PhaseSettings.from_dict(values)
    room_for(out, force=force)
    traces = read(file, mapping)
    start = time.perf_counter()
    model = fit(traces, settings, features, progress)
    return Trained(model, save_model(model, out), time.perf_counter() - start)


def convert_ai4dl(folder: Path, out: Path, *, force: bool = False) -> PhaseModel:
    """Read a model of AI4DL without executing anything in it, and save it as one of ours."""
    room_for(out, force=force)
    model = import_ai4dl(folder)
    save_model(model, out)
    return model


def divide(
    model: Path,
    file: Path,
    phase: int,
    into: int,
    out: Path,
    *,
    seed: int = 0,
    mapping: Path | None = None,
    force: bool = False,
) -> PhaseModel:
    """Divide a phase of a saved model by the samples of a trace file, and save the result."""
    room_for(out, force=force)
    expanded = expand(load_model(model), read(file, mapping), phase, into, seed)
    save_model(expanded, out)
    return expanded


def label(
    model: Path,
    file: Path,
    mapping: Path | None = None,
    minimum_dwell: float = 0.0,
    notify: Notify | None = None,
) -> tuple[dict[str, list[int]], Mapping[int, str]]:
    """The phase of every sample by the numbers on the screen, by execution: 1 is φ1, and 0 is warm-up.

    Beside it the names that people gave to phases, by id.

    Raises
    ------
    MismatchError
        If the model does not fit the traces.
    InputError
        If the minimum dwell time is out of bounds.
    """
    loaded, traces = applied(model, file, mapping, notify)
    dwell = ApplicationSettings.read(minimum_dwell).minimum_dwell
    labels = with_minimum_dwell(traces, predict(loaded, traces), dwell)
    return {name: phases for name, _, (phases,) in phases_by_execution(traces, labels)}, loaded.names


def read_mapping(path: Path | None) -> ColumnMapping | None:
    """The mapping in a JSON file, or None without one.

    Raises
    ------
    InputError
        If the file holds none.
    """
    if path is None:
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"The mapping “{path.name}” cannot be read.",
            "Give a JSON file as printed by `traces check --json`.",
        ) from error
    return ColumnMapping.from_dict(data.get("mapping", data) if isinstance(data, dict) else {})


def existing(file: Path) -> Path:
    """The path of a file that exists, or of a folder of files that are joined.

    Raises
    ------
    InputError
        If it does not.
    """
    if not file.exists():
        raise InputError(f"There is no file “{file}”.", "Check the path.")
    return file


def room_for(out: Path, *, force: bool) -> None:
    """Make sure that nothing is overwritten by accident.

    Raises
    ------
    ConflictError
        If something is there, and it is not to be replaced.
    """
    exists = any(out.iterdir()) if out.is_dir() else out.exists()
    if exists and not force:
        raise ConflictError(f"“{out}” already exists.", "Choose another --out, or add --force.")
    if exists and out.is_dir() and not (out / "model.json").exists():
        raise ConflictError(f"“{out}” holds something that is not a model.", "Choose another --out.")


def readable() -> dict[str, Any]:
    """The formats of files and the layouts of columns that can be read."""
    return {
        "formats": [
            {"name": name, "title": entry.title, "endings": list(entry.suffixes)}
            for name, entry in FORMATS.items()
        ],
        "layouts": [{"name": name, "title": layout.label} for name, layout in LAYOUTS.items()],
    }


E = TypeVar("E", bound=StrEnum)
WITHIN = (30.0, 60.0, 120.0, 300.0)


@dataclass(frozen=True)
class SequenceReport:
    """The sequences of a file, and one graph over them."""

    #: What was found.
    analysis: SequenceAnalysis
    graph: TransitionGraph
    #: How warm-up was treated.
    warmup: Warmup
    #: The names that people gave to phases, by id.
    names: Mapping[int, str]
    #: Shorter segments joined a neighbour, in seconds; 0: phases as labelled.
    minimum_dwell: float
    #: Seconds for which the chance of leaving is given.
    within: tuple[float, ...] = WITHIN

    @property
    def dwell_times(self) -> dict[int, DwellTimes]:
        """The dwell times in each phase that occurs."""
        by_phase = {phase: self.analysis.dwell_times((phase,)) for phase in self.analysis.sequences.phases}
        return {phase: times for phase, times in by_phase.items() if times.n_runs}

    @property
    def sentence(self) -> str:
        """The number of paths, and how many of them cover most executions."""
        paths, prototypes = len(self.analysis.paths), len(self.analysis.prototypes)
        n = self.analysis.sequences.n_executions
        return (
            f"{paths:,} distinct path{'' if paths == 1 else 's'}; {prototypes:,} of them "
            f"cover{'s' if prototypes == 1 else ''} 90% of {n:,} execution{'' if n == 1 else 's'}"
            + (
                f"; segments shorter than {format_duration(self.minimum_dwell)} merged"
                if self.minimum_dwell
                else ""
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """The sequences as JSON takes them; phases go by their names: φ1, warm-up, end."""
        analysis, graph = self.analysis, self.graph
        ids, packed = analysis.sequences.ids, analysis.packed
        edges = zip(graph.source, graph.target, graph.count, graph.probability, strict=True)
        return {
            "executions": len(ids),
            "memory": graph.memory,
            "step": graph.step.value,
            "warmup": self.warmup.value,
            "minimum_dwell": self.minimum_dwell,
            "phase_names": {_name(phase): name for phase, name in self.names.items()},
            "prototypes": len(analysis.prototypes),
            "paths": [
                {
                    "path": str(path),
                    "elements": [
                        {"phases": _names(each.phases), "repeated": each.repeats > 1}
                        for each in path.elements
                    ],
                    "count": path.count,
                    "share": path.share,
                    "covered": path.covered,
                    "median_s": path.seconds,
                    "example": ids[path.example],
                }
                for path in analysis.paths
            ],
            "transitions": [
                {
                    "from": _names(graph.name(int(s))),
                    "to": _names(graph.name(int(t))),
                    "count": int(n),
                    "p": float(p),
                }
                for s, t, n, p in edges
            ],
            "matrix": {
                "columns": _names([*graph.phases, END]),
                "rows": [
                    {"after": _names(state), "seen": visits, "p": row}
                    for state, visits, row in zip(
                        graph.states, graph.visits.tolist(), graph.matrix()[0].tolist(), strict=True
                    )
                ],
            },
            "stays": [_dwell(phase, times, self.within) for phase, times in self.dwell_times.items()],
            "packed": {name: " ".join(map(str, packed.elements_of(place))) for place, name in enumerate(ids)},
        }


def _name(phase: int) -> str:
    return "end" if phase == END else phase_name(phase)


def _names(phases: Iterable[int]) -> list[str]:
    return [_name(phase) for phase in phases]


def _dwell(phase: int, times: DwellTimes, within: tuple[float, ...]) -> dict[str, Any]:
    chances = {f"{seconds:g}": times.leave_within(seconds) for seconds in within}
    return {
        "phase": _name(phase),
        "runs": times.n_runs,
        "median_s": times.median,
        "mean_s": times.mean,
        "left_within": {key: None if math.isnan(chance) else chance for key, chance in chances.items()},
    }


def sequences(
    model: Path,
    file: Path,
    memory: int = 1,
    step: str = Step.RUN,
    warmup: str = Warmup.SKIP,
    minimum_dwell: float | None = None,
    mapping: Path | None = None,
    notify: Notify | None = None,
) -> SequenceReport:
    """Find the sequences of a trace file; `notify` is as in `core.cli.offline_files.applied`.

    The minimum dwell time is in seconds; None is what the segments suggest, as on the Sequences page, and 0
    for a published AI4DL model.

    Raises
    ------
    InputError
        If a choice is none of those offered, the minimum dwell time is out of bounds, or nothing of the file
        can be used.
    MismatchError
        If the model does not fit the traces.
    """
    steps, treated = _choice(Step, step, "step"), _choice(Warmup, warmup, "warmup")
    loaded, traces = applied(model, file, mapping, notify)
    labels = predict(loaded, traces)
    if minimum_dwell is None:
        published = loaded.origin == "ai4dl"
        minimum_dwell = (
            0.0 if published else suggested_minimum_dwell(phase_runs(traces, labels), traces.period)
        )
    dwell = ApplicationSettings.read(minimum_dwell).minimum_dwell
    runs = phase_runs(traces, with_minimum_dwell(traces, labels, dwell))
    bounds = np.searchsorted(runs.start, traces.offsets)
    durations = summarise(traces)["duration_s"].to_numpy(dtype=float)
    by_execution = phase_sequences(
        runs, bounds, traces.ids, loaded.phases, durations=durations, warmup=treated
    )
    analysis = SequenceAnalysis(by_execution)
    return SequenceReport(analysis, analysis.graph(memory, steps), treated, loaded.names, dwell)


def _choice(kind: type[E], value: str, name: str) -> E:
    try:
        return kind(value)
    except ValueError:
        offered = ", ".join(str(each) for each in kind)
        raise InputError(f"--{name} cannot be “{value}”.", f"Choose one of: {offered}.") from None
