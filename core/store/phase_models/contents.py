"""What a file of our own format says of a model: its description and its arrays, and the way back."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.phases.describe import PhaseStatistics, described
from core.phases.encoders import ENCODERS
from core.phases.model import Expansion, PhaseModel, TrainingRecord
from core.phases.rows import Scaler
from core.phases.settings import PhaseSettings
from core.traces.model import Feature, Role
from core.units import Unit

MAX_EXPANSIONS = 256
AGAIN = "Export the model again, or get a fresh copy of the file."

Array = npt.NDArray[Any]


def features_of(model: PhaseModel) -> list[dict[str, str]]:
    """Name, role and unit of each feature."""
    return [{"name": f.name, "role": f.role.value, "unit": f.unit.value} for f in model.features]


def expansions_of(model: PhaseModel) -> list[dict[str, Any]]:
    """Which phase was expanded into which."""
    return [{"phase": each.phase, "ids": list(each.ids)} for each in model.expansions]


def arrays_of(model: PhaseModel) -> dict[str, Array]:
    """All numbers that a model predicts with, by name."""
    return {
        "scaler_mean": model.scaler.mean,
        "scaler_scale": model.scaler.scale,
        "centres": model.centres,
        **{f"expansion_{place}": each.centres for place, each in enumerate(model.expansions)},
        **{f"encoder_{name}": values for name, values in model.encoder.arrays().items()},
    }


def description_of(model: PhaseModel) -> dict[str, Any]:
    """All but the arrays, as JSON can hold it."""
    return {
        "origin": model.origin,
        "features": features_of(model),
        "settings": model.settings.to_dict(),
        "encoder": model.encoder.name,
        "expansions": expansions_of(model),
        "training": asdict(model.training),
        "statistics": [each.to_dict() for each in model.statistics],
    }


def model_of(facts: dict[str, Any], arrays: dict[str, Array]) -> PhaseModel:
    """The model that a description and arrays make.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError, IndexError
        If something is missing, or is not what it has to be.
    InputError
        If more phases are expanded than can be meant.
    """
    features = tuple(Feature(str(f["name"]), Role(f["role"]), Unit(f["unit"])) for f in facts["features"])
    own = {
        name.removeprefix("encoder_"): part for name, part in arrays.items() if name.startswith("encoder_")
    }
    scaler = Scaler(arrays["scaler_mean"].astype(np.float64), arrays["scaler_scale"].astype(np.float64))
    if scaler.mean.ndim != 1 or scaler.mean.shape != scaler.scale.shape or not (scaler.scale > 0).all():
        raise ValueError("scaler")
    model = PhaseModel(
        features=features,
        scaler=scaler,
        encoder=ENCODERS[str(facts["encoder"])].load(own, len(features)),
        centres=_centres(arrays["centres"]),
        settings=PhaseSettings.from_dict(facts["settings"]),
        training=_record(facts["training"]),
        statistics=described([PhaseStatistics.from_dict(each) for each in facts["statistics"]]),
        origin=str(facts["origin"]),
    )
    if len(facts["expansions"]) > MAX_EXPANSIONS:
        raise InputError(f"The model has more than {MAX_EXPANSIONS} expanded phases.", AGAIN)
    for place, each in enumerate(facts["expansions"]):
        model = _expanded(model, each, _centres(arrays[f"expansion_{place}"]))
    model.check()
    return model


def _centres(values: Array) -> npt.NDArray[np.float32]:
    if values.ndim != 2 or not 1 <= len(values) <= 1_024:
        raise ValueError("centres")
    return values.astype(np.float32)


def _expanded(model: PhaseModel, facts: dict[str, Any], centres: npt.NDArray[np.float32]) -> PhaseModel:
    ids = tuple(range(model.next_id, model.next_id + len(centres)))
    if facts["phase"] not in model.phases or tuple(facts["ids"]) != ids:
        raise ValueError("expansion")
    return replace(model, expansions=(*model.expansions, Expansion(int(facts["phase"]), ids, centres)))


def _record(values: dict[str, Any]) -> TrainingRecord:
    return TrainingRecord(
        errors=tuple(float(error) for error in values["errors"]),
        n_samples=int(values["n_samples"]),
        n_executions=int(values["n_executions"]),
        n_codes=int(values["n_codes"]),
        fingerprint=str(values["fingerprint"]),
        period=float(values["period"]),
        ranges=tuple((float(low), float(high)) for low, high in values.get("ranges", ())),
        limits=tuple(map(float, values.get("limits", ()))),
    )
