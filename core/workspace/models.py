"""The stored phase models: list, load, rename, trash, export, and import of our own and of AI4DL's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InputError, MismatchError, NotFoundError
from core.files.phase_models.ai4dl import import_ai4dl
from core.files.phase_models.archive import MAX_NAME, load_model, model_archive, model_fingerprint, save_model
from core.files.trace_sets import features_from_json, features_to_json
from core.phases.drift import with_limits
from core.phases.matching import match_features
from core.traces.model import TraceSet
from core.units import phase_name
from core.workspace.cache import ByteCache
from core.workspace.database_schema import ModelRow
from core.workspace.records import ModelInfo
from core.workspace.repository import Library, Repository, to_datetime

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from core.phases import PhaseModel
    from core.traces.model import Feature
    from core.workspace.database import Database
    from core.workspace.records import TraceSetInfo
    from core.workspace.trace_sets import TraceLibrary

    Infos = list[ModelInfo]

_LOADED = 64


class ModelLibrary(Library[ModelRow, ModelInfo]):
    """The models of a workspace."""

    def __init__(self, database: Database, folder: Path, scratch: Path, traces: TraceLibrary) -> None:
        super().__init__(Repository(database, ModelRow, folder, scratch, what="model"))
        self._traces = traces
        self._loaded: ByteCache[PhaseModel] = ByteCache(_LOADED, lambda _: 1)

    def list(self, trashed: bool = False) -> list[ModelInfo]:
        """The models, the newest first; with `trashed`, those in the trash."""
        names = self._traces.names()
        return [_info(row, names) for row in self.repository.rows(trashed)]

    def get(self, thing: str) -> ModelInfo:
        """Look up a model.

        Raises NotFoundError if there is none of this id.
        """
        return _info(self.repository.row(thing), self._traces.names())

    def fingerprint(self, model: str) -> str:
        """The digest of a model's predictions."""
        return str(self.repository.row(model).facts["fingerprint"])

    def load(self, model: str) -> PhaseModel:
        """The model itself, with the names that people gave to its phases.

        Raises NotFoundError if there is none of this id.
        """
        names = _phase_names(self.repository.row(model))
        with self.repository.reading(model):
            loaded = self._loaded.get(model, lambda: load_model(self.repository.path(model)))
        return loaded if names == loaded.names else replace(loaded, names=names)

    def name_phase(self, model: str, phase: int, name: str) -> ModelInfo:
        """Give a phase a name that people know it by; an empty one takes it back.

        Raises InputError if the name is too long or another phase has it; NotFoundError without such a phase.
        """
        name = " ".join(name.split())
        info = self.get(model)
        if phase not in info.phases:
            raise NotFoundError(f"{info.name} has no {phase_name(phase)}.", "Reload the page.")
        if len(name) > MAX_NAME:
            message = f"The name of a phase has at most {MAX_NAME} characters; this one has {len(name)}."
            raise InputError(message, "Shorten it.")
        other = next((id_ for id_, given in info.phase_names.items() if given == name and id_ != phase), None)
        if name and other in info.phases:
            raise InputError(f"{phase_name(other)} is called “{name}” already.", "Choose another name.")
        names = {**info.phase_names, phase: name} if name else dict(info.phase_names)
        if not name:
            names.pop(phase, None)
        self.repository.change_facts(model, phase_names={str(id_): given for id_, given in names.items()})
        return self.get(model)

    def phase_names(self, model: object) -> Mapping[int, str]:
        """The names that people gave to phases of a model, by its id or name; none if it is not stored."""
        return next((each.phase_names for each in self.list() if model in (each.id, each.name)), {})

    def load_with_limits(self, model: str) -> PhaseModel:
        """A stored model with its limits of familiarity, computed for models stored without them.

        It is unchanged where the trace set that it was trained on is not stored here. Raises NotFoundError if
        it is not there.
        """
        loaded, trace_set = self.load(model), self.get(model).trace_set_id
        if loaded.training.limits or trace_set is None:
            return loaded
        return with_limits(loaded, self._traces.load(trace_set))

    def compatible(self, trace_set: str) -> Infos:
        """The models that fit a trace set, the newest first."""
        blank = _blank(self._traces.get(trace_set).features)
        names = self._traces.names()
        return [
            _info(row, names) for row in self.repository.rows(trashed=False) if _misfit(row, blank) is None
        ]

    def misfit(self, model: str, trace_set: str) -> MismatchError | None:
        """Why a model does not fit a trace set; None where it does. Reads no sample.

        Raises NotFoundError if one of them is not there.
        """
        return _misfit(self.repository.row(model), _blank(self._traces.get(trace_set).features))

    def add(
        self,
        model: PhaseModel,
        *,
        name: str,
        trace_set: TraceSetInfo | None = None,
        sample: bool = False,
        task: str | None = None,
    ) -> ModelInfo:
        """Store a model; it is listed when, and only when, all of it is on the disk."""

        def write(folder: Path) -> dict[str, Any]:
            save_model(model, folder)
            return _facts(model, trace_set, sample)

        return self.get(self.repository.add(name, write, task))

    def export(self, model: str) -> bytes:
        """The model as the bytes of a zip, which `import_archive` takes."""
        return model_archive(self.load(model))

    def import_archive(self, path: Path, name: str) -> ModelInfo:
        """Store a model that was exported, a zip or a folder.

        Raises InputError if it is no model, or damaged.
        """
        return self._adopt(load_model(path), name)

    def import_ai4dl(self, parts: Mapping[str, Path], name: str, base: str | None = None) -> ModelInfo:
        """Store a model of AI4DL; nothing in its files is executed.

        Raises RefusedError if a file holds anything but arrays and numbers; InputError if a part is missing
        or damaged.
        """
        base_model = None if base is None else self.load(base)
        model = import_ai4dl(
            parts.get("folder"),
            crbm=parts.get("crbm"),
            initializer=parts.get("initializer"),
            kmeans=parts.get("kmeans"),
            scaler=parts.get("scaler"),
            base=base_model,
        )
        return self._adopt(model, name)

    def _forget(self, thing: str) -> None:
        self._loaded.forget(lambda key: key == thing)

    def _adopt(self, model: PhaseModel, name: str) -> ModelInfo:
        mark = model.training.fingerprint
        origin = next((info for info in self._traces.list() if mark and info.fingerprint == mark), None)
        return self.add(model, name=name, trace_set=origin, sample=bool(origin and origin.sample))


def _facts(model: PhaseModel, trace_set: TraceSetInfo | None, sample: bool) -> dict[str, Any]:
    return {
        "origin": model.origin,
        "encoder": model.encoder.name,
        "phases": list(model.phases),
        "hidden": model.encoder.size,
        "history": model.history,
        "features": features_to_json(model.features),
        "final_error": model.training.final_error,
        "fingerprint": model_fingerprint(model),
        "trace_set": None if trace_set is None else trace_set.id,
        "trace_set_name": "" if trace_set is None else trace_set.name,
        "sample": sample,
        "phase_names": {str(phase): name for phase, name in model.names.items()},
    }


def _phase_names(row: ModelRow) -> dict[int, str]:
    """The names of a model's phases; models stored before phases had names have none."""
    return {int(phase): name for phase, name in row.facts.get("phase_names", {}).items()}


def _info(row: ModelRow, names: Mapping[str, str]) -> ModelInfo:
    facts = row.facts
    origin = facts["trace_set"]
    return ModelInfo(
        id=row.id,
        name=row.name,
        created=to_datetime(row.created),
        origin=facts["origin"],
        encoder=facts["encoder"],
        phases=tuple(facts["phases"]),
        hidden=facts["hidden"],
        history=facts["history"],
        trace_set_id=origin if origin in names else None,
        trace_set_name=names.get(origin, facts["trace_set_name"]),
        features=tuple(name for name, _, _ in facts["features"]),
        final_error=facts["final_error"],
        sample=bool(facts.get("sample")),
        fingerprint=facts["fingerprint"],
        trashed=None if row.trashed is None else to_datetime(row.trashed),
        phase_names=_phase_names(row),
    )


def _blank(features: tuple[Feature, ...]) -> TraceSet:
    """A trace set without samples: matching asks for names and units only."""
    nothing = np.empty(0)
    offsets = np.zeros(1, dtype=np.int64)
    return TraceSet(features, tuple(nothing for _ in features), nothing, (), offsets, 1.0)


def _misfit(row: ModelRow, traces: TraceSet) -> MismatchError | None:
    try:
        match_features(features_from_json(row.facts["features"]), traces)
    except MismatchError as error:
        return error
    return None
