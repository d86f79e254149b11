"""Sequences of phases: runs, packing, prefix tree, prototypes, transitions and what comes next."""

from core.sequences.forecast import Forecaster, NextPhase, Outlook, forecaster
from core.sequences.graph import END, MOST_MEMORY, Step, TransitionGraph, transition_graph
from core.sequences.packing import MOST_UNIT, Element, PackedSequences, pack, pack_sequences, unpack
from core.sequences.prototypes import Path, paths_of, prototypes_of
from core.sequences.runs import PhaseSequences, Warmup, phase_sequences
from core.sequences.stays import Stays, stays_after
from core.sequences.tree import PrefixTree, prefix_tree

__all__ = [
    "END",
    "MOST_MEMORY",
    "MOST_UNIT",
    "Element",
    "Forecaster",
    "NextPhase",
    "Outlook",
    "PackedSequences",
    "Path",
    "PhaseSequences",
    "PrefixTree",
    "Stays",
    "Step",
    "TransitionGraph",
    "Warmup",
    "forecaster",
    "pack",
    "pack_sequences",
    "paths_of",
    "phase_sequences",
    "prefix_tree",
    "prototypes_of",
    "stays_after",
    "transition_graph",
    "unpack",
]
