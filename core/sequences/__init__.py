"""Sequences of phases: runs, packing, prefix tree, prototypes, transitions and what comes next."""

from core.sequences.dwell_times import DwellTimes, dwell_times_after
from core.sequences.forecast import Forecaster, NextPhase, Outlook, forecaster
from core.sequences.graph import END, MOST_MEMORY, Step, TransitionGraph, transition_graph
from core.sequences.packing import MOST_UNIT, Element, PackedSequences, pack, pack_sequences, unpack
from core.sequences.prototypes import Path, paths_of, prototypes_of
from core.sequences.runs import PhaseSequences, Warmup, phase_sequences
from core.sequences.tree import PrefixTree, prefix_tree

__all__ = [
    "END",
    "MOST_MEMORY",
    "MOST_UNIT",
    "DwellTimes",
    "Element",
    "Forecaster",
    "NextPhase",
    "Outlook",
    "PackedSequences",
    "Path",
    "PhaseSequences",
    "PrefixTree",
    "Step",
    "TransitionGraph",
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
