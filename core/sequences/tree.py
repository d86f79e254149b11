"""The prefix tree over packed sequences, repetition counts dropped.

Every node stands for a beginning that executions share; an execution's path ends at the node of its last
element. The tree grows level by level: at each depth the executions that go on are grouped by the node
they stand at and their next element, all at once. Siblings are in the order of their counts, then of the
first execution that goes through them, so that the numbers of nodes do not depend on the phases' ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.sequences.packing import Element, PackedSequences
    from core.traces.model import IntArray


@dataclass(frozen=True, eq=False)
class PrefixTree:
    """A prefix tree; node 0 is the root, and parents come before their children."""

    #: What it was made from.
    packed: PackedSequences
    #: The parent of each node, −1 for the root, shape (n_nodes,).
    parent: IntArray
    #: Each node's element as an entry of ``packed.symbols``, −1 for the root.
    symbol: IntArray
    #: The number of elements from the root.
    depth: IntArray
    #: How many executions go through or end at each node.
    count: IntArray
    #: The node of each packed element, shape (n_elements,).
    node: IntArray

    @property
    def n_nodes(self) -> int:
        """The number of nodes, the root included."""
        return len(self.parent)

    @cached_property
    def end(self) -> IntArray:
        """The node at which each execution's path ends, shape (n_executions,)."""
        offsets = self.packed.offsets
        last = np.zeros(len(offsets) - 1, np.int64)
        some = np.diff(offsets) > 0
        last[some] = self.node[offsets[1:][some] - 1]
        return last

    @cached_property
    def ends(self) -> IntArray:
        """The number of paths that end at each node, shape (n_nodes,)."""
        return np.bincount(self.end, minlength=self.n_nodes)

    def path(self, node: int) -> tuple[Element, ...]:
        """The elements from the root to a node; ``repeats`` 2 stands for any number from 2."""
        elements: list[Element] = []
        while node > 0:
            elements.append(self.packed.symbols[self.symbol[node]])
            node = int(self.parent[node])
        return tuple(reversed(elements))

    def children(self, node: int) -> list[int]:
        """The nodes after a node, the most frequent first."""
        nodes: list[int] = np.flatnonzero(self.parent == node).tolist()
        return nodes

    def executions(self, node: int) -> IntArray:
        """The executions that go through or end at a node, in the order of the set."""
        if node == 0:
            return np.arange(len(self.packed.offsets) - 1)
        return np.asarray(self.packed.owner[self.node == node])


def prefix_tree(packed: PackedSequences) -> PrefixTree:
    """Grow the tree of all executions."""
    begin, sizes = packed.offsets[:-1], np.diff(packed.offsets)
    node_of = np.zeros(len(packed.start), np.int64)
    at = np.zeros(len(sizes), np.int64)
    root = np.array([-1])
    levels = [(root, root, np.array([len(sizes)]), np.array([0]))]
    depth, total, going = 0, 1, np.flatnonzero(sizes > 0)
    n_symbols = max(len(packed.symbols), 1)
    while len(going):
        element = begin[going] + depth
        key = at[going] * n_symbols + packed.symbol[element]
        keys, first, inverse, count = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
        parent = keys // n_symbols
        order = np.lexsort((first, -count, parent))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        at[going] = node_of[element] = total + rank[inverse]
        depth, total, all_alone = depth + 1, total + len(keys), len(keys) == len(going)
        levels.append((parent[order], keys[order] % n_symbols, count[order], np.full(len(keys), depth)))
        going = going[sizes[going] > depth]
        if all_alone:
            levels.append(_merge_chains(packed, node_of, going[np.argsort(at[going])], depth, total))
            break
    parent, symbol, count, depths = (np.concatenate(parts) for parts in zip(*levels, strict=True))
    return PrefixTree(packed, parent, symbol, depths, count, node_of)


def _merge_chains(
    packed: PackedSequences, node_of: IntArray, going: IntArray, depth: int, total: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The remaining nodes where every execution is alone: one chain each, numbered level by level.

    Parameters
    ----------
    node_of
        The node of each element; those of the chains are written into it.
    going
        The executions that go on, in the order of the nodes that they stand at.
    depth, total
        The depth of those nodes, and the number of nodes so far.
    """
    lengths = np.diff(packed.offsets)[going] - depth
    owner = np.repeat(np.arange(len(going)), lengths)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    element = packed.offsets[:-1][going][owner] + depth + place
    order = np.argsort(place, kind="stable")
    node_of[element[order]] = total + np.arange(len(order))
    element = element[order]
    return node_of[element - 1], packed.symbol[element], np.ones_like(element), depth + 1 + place[order]


COVERAGE = 0.9


# Paths and prototypes: the packed sequences that executions follow, the most frequent first.
#
# The *prototypes* are the fewest paths that together cover 90% of the executions (AI4DL's paper: 20 to 25
# paths, 6 of which cover about 90%). Each has its share, the median duration of its executions, and as an
# example the execution whose duration is nearest that median.


@dataclass(frozen=True, eq=False, slots=True)
class TreePath:
    """A packed sequence that executions follow from beginning to end."""

    #: The tree, and the node at which it ends.
    tree: PrefixTree
    node: int
    #: How many executions follow it, and their share of all.
    count: int
    share: float
    #: The share of executions that follow it or a more frequent one.
    covered: float
    #: The median duration of its executions.
    seconds: float
    #: The execution nearest that median, as its index in the set; of two, the shorter one.
    example: int

    @property
    def elements(self) -> tuple[Element, ...]:
        """Its elements; ``repeats`` 2 stands for any number from 2. Empty if they never leave warm-up."""
        return self.tree.path(self.node)

    def __str__(self) -> str:
        """The path as text: ``φ3 (φ5·φ1)×n``."""
        return " ".join(each.to_text("n") for each in self.elements) or "warm-up only"


def paths_of(tree: PrefixTree) -> tuple[TreePath, ...]:
    """All paths, the most frequent first; ties in the order of executions."""
    durations, end = tree.packed.sequences.durations, tree.end
    if not len(end):
        return ()
    node, first, count = np.unique(end, return_index=True, return_counts=True)
    by_duration = np.lexsort((np.arange(len(end)), durations, end))
    begin = np.concatenate([[0], np.cumsum(count)[:-1]])
    middle, upper = by_duration[begin + (count - 1) // 2], by_duration[begin + count // 2]
    median = (durations[middle] + durations[upper]) / 2
    order = np.lexsort((first, -count))
    covered = np.cumsum(count[order]) / len(end)
    return tuple(
        TreePath(
            tree=tree,
            node=int(node[i]),
            count=int(count[i]),
            share=int(count[i]) / len(end),
            covered=float(part),
            seconds=float(median[i]),
            example=int(middle[i]),
        )
        for i, part in zip(order.tolist(), covered, strict=True)
    )


def prototypes_of(paths: Sequence[TreePath], coverage: float = COVERAGE) -> tuple[TreePath, ...]:
    """The fewest paths that cover a share of the executions, from all paths in their order."""
    for number, path in enumerate(paths, 1):
        if path.covered >= coverage - 1e-12:
            return tuple(paths[:number])
    return tuple(paths)
