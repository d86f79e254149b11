"""Comparisons of policies on stored traces: submitted as tasks, kept on disk, shown again at once.

A comparison depends on nothing but the samples, the phase model, the settings, the policies with theirs,
and the code of all these, so it is kept under the digest of them. One that was made before the code or a
default changed can still be read, and is never taken for a present result. Allocations are kept as
float32, one file per resource and policy, and read by slices.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from core.errors import InputError, NotFoundError
from core.provisioning.evaluation.comparison import settings_of
from core.provisioning.evaluation.evaluate import EvaluationSettings, evaluate
from core.provisioning.policies import POLICIES, chosen
from core.units import MIB
from core.workspace.cache import ByteCache
from core.workspace.code_version import code_digest
from core.workspace.files import disk_errors, publishing, sweep_older
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from core.progress_reporting import Progress
    from core.provisioning.evaluation.evaluate import Evaluation
    from core.traces.model import FloatArray
    from core.workspace.models import ModelLibrary
    from core.workspace.records import TaskQueue
    from core.workspace.trace_sets import TraceLibrary


_MAX_KEY = 64


@dataclass(frozen=True)
class StoredEvaluation:
    """A comparison that was made."""

    #: What it is kept under.
    key: str
    #: All results, as `core.provisioning.evaluation.evaluate` gives them. Shared: do not modify it.
    report: Mapping[str, Any]
    #: Where allocations are.
    folder: Path

    @cached_property
    def _offsets(self) -> FloatArray:
        offsets: FloatArray = np.load(self.folder / "offsets.npy", allow_pickle=False)
        return offsets

    def allocation(self, resource: str, policy: str, execution: str) -> FloatArray | None:
        """A policy's allocation of each sample of a held-out execution, or None where there is none."""
        names = self.report["split"]["held_out"]
        path = self.folder / allocation_file(resource, policy)
        if execution not in names or not path.exists():
            return None
        position = names.index(execution)
        values = np.load(path, mmap_mode="r", allow_pickle=False)
        return np.asarray(values[int(self._offsets[position]) : int(self._offsets[position + 1])], float)


def write_evaluation(evaluation: Evaluation, folder: Path) -> None:
    """Write a comparison into an empty folder."""
    (folder / "report.json").write_bytes(orjson.dumps(evaluation.report))
    for resource, allocations in evaluation.allocations.items():
        fleet = evaluation.held_out[resource].fleet
        np.save(folder / "offsets.npy", fleet.offsets, allow_pickle=False)
        for policy, values in allocations.items():
            path = folder / allocation_file(resource.value, policy)
            np.save(path, values.astype(np.float32), allow_pickle=False)


def allocation_file(resource: str, policy: str) -> str:
    """The name of the file with a policy's allocations; names from outside become a digest."""
    return f"{resource}-{hashlib.sha256(policy.encode()).hexdigest()[:16]}.npy"


_LOG = logging.getLogger(__name__)
_CACHE_BYTES = 64 * MIB
_MAX_AGE = 90 * 86_400.0
_FORMAT = 3
_CODE = ("core.provisioning", "core.phases", "core.traces", "core.settings_fields")
_KIND = "evaluate"
_MAX_TASKS = 200


@dataclass(frozen=True)
class Question:
    """The policies to compare, and the trace set to compare them on."""

    #: Its id.
    trace_set: str
    #: The phase model's id, or None to leave out policies that need phases.
    model: str | None
    #: How to compare.
    settings: EvaluationSettings = field(default_factory=EvaluationSettings)
    #: Names, or ``all``.
    policies: tuple[str, ...] = ("all",)
    #: Settings of single policies by name.
    own_settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The question as task parameters."""
        return {
            "trace_set": self.trace_set,
            "model": self.model,
            "settings": asdict(self.settings),
            "policies": list(self.policies),
            "own_settings": {name: dict(values) for name, values in self.own_settings.items()},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Question:
        """Read a task's parameters.

        Raises InputError if a setting is unknown or out of bounds.
        """
        return cls(
            trace_set=str(values["trace_set"]),
            model=str(values["model"]) if values.get("model") else None,
            settings=EvaluationSettings.from_dict(dict(values.get("settings") or {})),
            policies=tuple(values.get("policies") or ("all",)),
            own_settings=dict(values.get("own_settings") or {}),
        )


class Evaluations:
    """The comparisons of a workspace."""

    def __init__(
        self, traces: TraceLibrary, models: ModelLibrary, tasks: TaskQueue, folder: Path, scratch: Path
    ) -> None:
        self._traces = traces
        self._models = models
        self._tasks = tasks
        self._folder = folder
        self._scratch = scratch
        # sources are read now, while they are those that were imported
        code_digest(_CODE, (policy for _, policy in POLICIES.items()))
        self._kept: ByteCache[tuple[StoredEvaluation, int]] = ByteCache(_CACHE_BYTES, lambda entry: entry[1])

    def key(self, question: Question) -> str:
        """The digest of everything that a comparison depends on.

        Raises NotFoundError if the trace set, the model or a policy does not exist; InputError if a policy's
        own setting is unknown or out of bounds.
        """
        policies, settings = chosen(question.policies), question.settings
        settings_by_policy = {
            policy.name: asdict(
                settings_of(
                    policy, question.own_settings.get(policy.name, {}), settings.kappa, settings.tolerance
                )
            )
            for policy in policies
        }
        parts = [
            _FORMAT,
            self._traces.fingerprint(question.trace_set),
            self._models.fingerprint(question.model) if question.model else "",
            asdict(settings),
            list(settings_by_policy.items()),
            code_digest(_CODE, policies),
        ]
        return _digest(parts)

    def find(self, question: Question) -> StoredEvaluation | None:
        """The comparison if it was made already, or None."""
        return self._read(self.key(question))

    def find_earlier(self, question: Question) -> StoredEvaluation | None:
        """The last comparison for the same question by other code or defaults than today's, or None."""
        now = self.key(question)
        for task in self._tasks.list(_MAX_TASKS, [TaskState.DONE]):
            key = str((task.result or {}).get("evaluation", ""))
            if task.kind == _KIND and key != now and _asks(task.params, question):
                stored = self._read(key) if key.isalnum() else None
                if stored is not None:
                    return stored
        return None

    def get(self, key: str) -> StoredEvaluation:
        """A comparison by its key.

        Raises NotFoundError if it is not kept any more.
        """
        stored = self._read(key) if key.isalnum() and len(key) <= _MAX_KEY else None
        if stored is None:
            raise NotFoundError("This comparison of policies no longer exists.", "Run it again.")
        return stored

    def submit(self, question: Question, title: str | None = None, *, again: bool = False) -> str:
        """Submit a comparison; returns the task's id. Its result has the ``evaluation``'s key."""
        self.key(question)
        name = self._traces.get(question.trace_set).name
        params = question.to_dict() | ({"again": True} if again else {})
        return self._tasks.submit(_KIND, title or f"Compare policies on {name}", params)

    def make(
        self, question: Question, progress: Progress | None = None, *, again: bool = False
    ) -> StoredEvaluation:
        """Compare, or return the stored comparison; with `again`, compare in any case.

        Raises
        ------
        InputError, MismatchError, NotFoundError
            As `core.provisioning.evaluation.evaluate.evaluate`.
        """
        key = self.key(question)
        stored = None if again else self._read(key)
        if stored is not None:
            return stored
        traces = self._traces.load(question.trace_set)
        model = self._models.load(question.model) if question.model else None
        evaluation = evaluate(
            traces, model, question.settings, question.policies, question.own_settings, progress
        )
        with (
            disk_errors("the comparison"),
            publishing(self._folder / key, self._scratch, replace=True) as draft,
        ):
            write_evaluation(evaluation, draft)
        return self.get(key)

    def sweep(self) -> int:
        """Remove comparisons made long ago; they are made again when needed."""
        return sweep_older(self._folder, _MAX_AGE)

    def _read(self, key: str) -> StoredEvaluation | None:
        folder = self._folder / key
        try:
            evaluation = (folder / "report.json").stat().st_mtime_ns
        except FileNotFoundError:
            return None

        def load() -> tuple[StoredEvaluation, int]:
            data = (folder / "report.json").read_bytes()
            return StoredEvaluation(key, orjson.loads(data), folder), 4 * len(data)

        return self._kept.get((key, evaluation), load)[0]


def _asks(params: Mapping[str, Any], question: Question) -> bool:
    try:
        return Question.from_dict(params) == question
    except InputError:
        return False


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]
