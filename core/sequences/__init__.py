"""Sequences of phases: runs, packing, prefix tree, prototypes, transitions and what comes next."""

from core.sequences.forecast import (
    DwellTimes,
    Forecaster,
    NextPhase,
    PhaseForecast,
    dwell_times_after,
    forecaster,
)
from core.sequences.graph import END, MAX_MEMORY, Step, TransitionGraph, transition_graph
from core.sequences.packing import MAX_UNIT_LENGTH, Element, PackedSequences, pack, pack_sequences, unpack
from core.sequences.runs import PhaseSequences, Warmup, phase_sequences
from core.sequences.tree import PrefixTree, TreePath, paths_of, prefix_tree, prototypes_of

__all__ = [
    "END",
    "MAX_MEMORY",
    "MAX_UNIT_LENGTH",
    "DwellTimes",
    "Element",
    "Forecaster",
    "NextPhase",
    "PackedSequences",
    "PhaseForecast",
    "PhaseSequences",
    "PrefixTree",
    "Step",
    "TransitionGraph",
    "TreePath",
    "Warmup",
    "dwell_times_after",
    "forecaster",
    "pack",
    "pack_sequences",
    "paths_of",
    "phase_sequences",
    "prefix_tree",
    "prototypes_of",
    "transition_graph",
    "unpack",
]
