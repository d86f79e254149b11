"""The state of the Sequences page in its address, and the texts of that address.

A state is written as its phases' ids, separated by dots (``2.4``), the end as ``end``. What was picked
is ``node:2.4``, ``edge:2.4:1``, ``path:17`` or ``tree:17``; the last two are nodes of the prefix tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from app.context import workspace
from app.ui.links import free_text, parameter
from app.ui.phases import LabelledTraces
from core.errors import NotFoundError
from core.sequences import END, Step, Warmup
from core.units import NO_NAMES, format_share, phase_name, with_phase_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.sequences import Element
    from core.traces.model import IntArray
    from core.workspace.sequences import SequenceAnalysis

HIDE = ("0", "0.02", "0.05", "0.10", "0.20", "0.30")
AHEAD = ("1", "2", "3", "5", "10")
STEPS = {Step.RUN: "per segment", Step.SAMPLE: "per sample", Step.WINDOW: "last samples"}
State = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class View(LabelledTraces):
    """The choices of the page."""

    #: Of the graph, and what becomes of warm-up.
    memory: int = parameter(lambda value: int(value) if value in {"1", "2", "3"} else 1)
    step: Step = parameter(lambda value: Step(value) if value in list(Step) else Step.RUN)
    warmup: Warmup = parameter(lambda value: Warmup(value) if value in list(Warmup) else Warmup.SKIP)
    #: Edges with a smaller probability are hidden.
    hide: float = parameter(lambda value: float(value) if value in HIDE else 0.1)
    #: How many phases ahead the forecast looks.
    ahead: int = parameter(lambda value: int(value) if value in AHEAD else 1)
    #: The state whose future is forecast, and what is picked, both as the address writes them.
    after: str | None = free_text()
    pick: str | None = free_text()

    def analysis(self) -> SequenceAnalysis:
        """The sequences of the trace set under the model."""
        return workspace().sequences.get(self.traces, self.model, self.warmup, self.dwell)

    def depends(self) -> dict[str, str]:
        """What its sequences depend on beside traces and model, as an address has it."""
        return {"warmup": self.warmup.value, "dwell": f"{self.dwell:g}"}


def written(state: Sequence[int]) -> str:
    """A state in the format of an address."""
    return ".".join("end" if phase == END else str(phase) for phase in state)


def state_of(text: str | None) -> State:
    """Parse a state of an address; empty if invalid."""
    try:
        return tuple(END if part == "end" else int(part) for part in (text or "").split("."))[-3:]
    except ValueError:
        return ()


def name_of(phase: int, names: Mapping[int, str] = NO_NAMES) -> str:
    """The name of a phase or of the end: ``φ3``, ``φ3 validation``, ``end``."""
    return "end" if phase == END else phase_name(phase, names)


def state_name(state: Sequence[int], names: Mapping[int, str] = NO_NAMES) -> str:
    """The name of a state: ``φ3 validation › φ5``."""
    return " › ".join(name_of(phase, names) for phase in state)


def written_path(elements: Sequence[Element], names: Mapping[int, str]) -> str:
    """The name of a path: ``φ3 validation (φ5·φ1)×n``."""
    return with_phase_names(" ".join(each.to_text("n") for each in elements), names) or "warm-up only"


def default_after(analysis: SequenceAnalysis, memory: int) -> State:
    """The most frequent state of this memory."""
    graph = analysis.graph(memory)
    full = [number for number, state in enumerate(graph.states) if len(state) == memory]
    candidates = full or list(range(len(graph.states)))
    if not candidates:
        return ()
    return graph.states[max(candidates, key=lambda number: int(graph.visits[number]))]


@dataclass(frozen=True, slots=True)
class MatchingExecutions:
    """The executions behind a selection: its title, a note, and the occurrences in each."""

    title: str
    note: str
    executions: IntArray
    times: IntArray


def matching_executions(view: View, pick: str) -> MatchingExecutions:
    """Find the executions behind a node, edge or path.

    Raises
    ------
    NotFoundError
        If the address names something that does not exist.
    """
    kind, _, target = pick.partition(":")
    selection = (
        _executions_of_state(view, kind, target)
        if kind in {"node", "edge"}
        else _executions_of_node(view, kind, target)
    )
    if selection is None:
        raise NotFoundError(
            "The selection in this address is not in these sequences.", "Click something else."
        )
    return selection


def _executions_of_state(view: View, kind: str, states: str) -> MatchingExecutions | None:
    text, _, target = states.partition(":")
    state, to = state_of(text), state_of(target) if kind == "edge" else ()
    if not state or (kind == "edge" and len(to) != 1):
        return None
    graph, analysis = view.analysis().graph(view.memory, view.step), view.analysis()
    if state == (END,):
        last = np.flatnonzero(np.diff(analysis.sequences.offsets) > 0)
        return MatchingExecutions(
            "The end", _describe_counts(len(last), len(last), analysis), last, np.ones_like(last)
        )
    executions, times = graph.executions(state, to[0] if to else None)
    names = view.phase_names()
    title = " → ".join([state_name(state, names), *(name_of(phase, names) for phase in to)])
    return MatchingExecutions(
        title, _describe_counts(len(executions), int(times.sum()), analysis), executions, times
    )


def _executions_of_node(view: View, kind: str, number: str) -> MatchingExecutions | None:
    analysis = view.analysis()
    tree = analysis.tree
    if kind not in {"path", "tree"} or not number.isdigit() or int(number) >= tree.n_nodes:
        return None
    node = int(number)
    executions = np.flatnonzero(tree.end == node) if kind == "path" else tree.executions(node)
    title = written_path(tree.path(node), view.phase_names()) if node or kind == "path" else "All executions"
    more = " and what follows" if kind == "tree" and node else ""
    return MatchingExecutions(
        f"{title}{more}",
        _describe_counts(len(executions), len(executions), analysis),
        executions,
        np.ones_like(executions),
    )


def _describe_counts(executions: int, times: int, analysis: SequenceAnalysis) -> str:
    share = format_share(executions / max(analysis.sequences.n_executions, 1))
    often = f", {times:,} times" if times > executions else ""
    return f"{executions:,} execution{'' if executions == 1 else 's'} ({share}){often}"
