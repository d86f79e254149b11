"""The files of one comparison: its results as JSON, and each policy's allocations, read by slices."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from core.provisioning.evaluation.evaluate import Evaluation
    from core.traces.model import FloatArray


@dataclass(frozen=True)
class StoredEvaluation:
    """A comparison that was made.

    Parameters
    ----------
    key
        What it is kept under.
    report
        All results, as `core.provisioning.evaluation.evaluate` gives them. Shared: do not modify it.
    folder
        Where allocations are.
    """

    key: str
    report: Mapping[str, Any]
    folder: Path

    @cached_property
    def _offsets(self) -> FloatArray:
        offsets: FloatArray = np.load(self.folder / "offsets.npy", allow_pickle=False)
        return offsets

    def allocation(self, resource: str, policy: str, execution: str) -> FloatArray | None:
        """A policy's allocation of each sample of a held-out execution, or None where there is none.

        Parameters
        ----------
        resource
            ``"cpu"`` or ``"memory"``.
        policy
            The policy's name.
        execution
            The execution's name; those that policies learned from have no allocations.
        """
        names = self.report["split"]["held_out"]
        path = self.folder / allocation_file(resource, policy)
        if execution not in names or not path.exists():
            return None
        position = names.index(execution)
        values = np.load(path, mmap_mode="r", allow_pickle=False)
        return np.asarray(values[int(self._offsets[position]) : int(self._offsets[position + 1])], float)


def write_evaluation(made: Evaluation, folder: Path) -> None:
    """Write a comparison into an empty folder."""
    (folder / "report.json").write_bytes(orjson.dumps(made.report))
    for resource, allocations in made.allocations.items():
        fleet = made.held_out[resource].fleet
        np.save(folder / "offsets.npy", fleet.offsets, allow_pickle=False)
        for policy, values in allocations.items():
            path = folder / allocation_file(resource.value, policy)
            np.save(path, values.astype(np.float32), allow_pickle=False)


def allocation_file(resource: str, policy: str) -> str:
    """The name of the file with a policy's allocations; names from outside become a digest."""
    return f"{resource}-{hashlib.sha256(policy.encode()).hexdigest()[:16]}.npy"
