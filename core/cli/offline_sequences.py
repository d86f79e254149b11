"""The sequences of a trace file under a saved model, without a workspace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from core.cli.offline_models import applied
from core.errors import InputError
from core.phases import phase_runs, predict
from core.sequences import END, Step, Warmup, phase_sequences
from core.traces.model import summarise
from core.units import phase_name
from core.workspace.sequences import SequenceAnalysis

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from core.cli.offline_models import Notify
    from core.sequences import DwellTimes, TransitionGraph

E = TypeVar("E", bound=StrEnum)
WITHIN = (30.0, 60.0, 120.0, 300.0)


@dataclass(frozen=True)
class FoundSequences:
    """The sequences of a file, and one graph over them."""

    #: What was found.
    analysis: SequenceAnalysis
    graph: TransitionGraph
    #: How warm-up was treated.
    warmup: Warmup
    #: Seconds for which the chance of leaving is given.
    within: tuple[float, ...] = WITHIN

    @property
    def dwell_times(self) -> dict[int, DwellTimes]:
        """The dwell times in each phase that occurs."""
        found = {phase: self.analysis.dwell_times((phase,)) for phase in self.analysis.sequences.phases}
        return {phase: times for phase, times in found.items() if times.n_runs}

    @property
    def sentence(self) -> str:
        """How many paths there are, and how many cover most executions."""
        paths, prototypes = len(self.analysis.paths), len(self.analysis.prototypes)
        n = self.analysis.sequences.n_executions
        return (
            f"{paths:,} distinct path{'' if paths == 1 else 's'}; {prototypes:,} of them "
            f"cover{'s' if prototypes == 1 else ''} 90% of {n:,} execution{'' if n == 1 else 's'}"
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
                    {"after": _names(state), "seen": seen, "p": row}
                    for state, seen, row in zip(
                        graph.states, graph.visits.tolist(), graph.matrix()[0].tolist(), strict=True
                    )
                ],
            },
            "stays": [_dwell(phase, times, self.within) for phase, times in self.dwell_times.items()],
            "packed": {
                name: " ".join(str(each) for each in packed.of(place)) for place, name in enumerate(ids)
            },
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
    mapping: Path | None = None,
    notify: Notify | None = None,
) -> FoundSequences:
    """Find the sequences of a trace file; `notify` is as in `core.cli.offline_models.applied`.

    Raises
    ------
    InputError
        If a choice is none of those offered, or nothing of the file can be used.
    MismatchError
        If the model does not fit the traces.
    """
    steps, treated = _choice(Step, step, "step"), _choice(Warmup, warmup, "warmup")
    loaded, traces = applied(model, file, mapping, notify)
    runs = phase_runs(traces, predict(loaded, traces))
    bounds = np.searchsorted(runs.start, traces.offsets)
    durations = summarise(traces)["duration_s"].to_numpy(dtype=float)
    found = phase_sequences(runs, bounds, traces.ids, loaded.phases, durations=durations, warmup=treated)
    analysis = SequenceAnalysis(found)
    return FoundSequences(analysis, analysis.graph(memory, steps), treated)


def _choice(kind: type[E], value: str, name: str) -> E:
    try:
        return kind(value)
    except ValueError:
        offered = ", ".join(str(each) for each in kind)
        raise InputError(f"--{name} cannot be “{value}”.", f"Choose one of: {offered}.") from None
