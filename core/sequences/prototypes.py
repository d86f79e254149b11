"""Paths and prototypes: the packed sequences that executions follow, the most frequent first.

The *prototypes* are the fewest paths that together cover 90% of the executions (AI4DL's paper: 20 to 25
paths, 6 of which cover about 90%). Each has its share, the median duration of its executions, and as an
example the execution whose duration is nearest that median.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.sequences.packing import Element
    from core.sequences.tree import PrefixTree

COVERAGE = 0.9


@dataclass(frozen=True, eq=False, slots=True)
class Path:
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
        """As people read it: ``φ3 (φ5·φ1)×n``."""
        return " ".join(each.written("n") for each in self.elements) or "warm-up only"


def paths_of(tree: PrefixTree) -> tuple[Path, ...]:
    """All paths, the most frequent first; of two equally frequent, that of the earlier execution."""
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
        Path(
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


def prototypes_of(paths: Sequence[Path], coverage: float = COVERAGE) -> tuple[Path, ...]:
    """The fewest paths that cover a share of the executions, from all paths in their order."""
    for number, path in enumerate(paths, 1):
        if path.covered >= coverage - 1e-12:
            return tuple(paths[:number])
    return tuple(paths)
