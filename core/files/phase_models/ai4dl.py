"""Importing AI4DL's published files: CRBM, k-means and scaler, without running anything in them.

A CRBM is a folder with ``model_initializer.json`` and ``model_dict.pickle``; k-means and scaler are joblib
files made by scikit-learn 0.22. The files do not name the features, so AI4DL's own eight are assumed where
there are eight; otherwise the caller names them. Values in the files are in the units of the traces' files;
the scaler is brought to canonical units here. Phases keep the authors' numbers.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InputError, MismatchError
from core.files.phase_models.pickle_values import Array, Bag, fits_float32
from core.files.phase_models.safe_pickle import MAX_BYTES, read_pickle
from core.phases.encoders import CrbmEncoder
from core.phases.model import PhaseModel, TrainingRecord
from core.phases.rows import Scaler
from core.phases.settings import PhaseSettings
from core.reading.known_tables import AI4DL_FEATURES
from core.reading.readers import guard_reader
from core.settings_fields import build
from core.traces.model import Feature
from core.units import file_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.phases.encoders import Codes
    from core.reading.mapping import MappedColumn

INITIALIZER, PARAMETERS = "model_initializer.json", "model_dict.pickle"
SETTING_NAMES = {
    "n_epochs": "epochs",
    "learning_rate": "learning_rate",
    "random_state": "seed",
    "patience": "patience",
}


def import_ai4dl(
    folder: str | Path | None = None,
    *,
    crbm: str | Path | None = None,
    initializer: str | Path | None = None,
    kmeans: str | Path | None = None,
    scaler: str | Path | None = None,
    base: PhaseModel | None = None,
    features: Sequence[MappedColumn] | None = None,
) -> PhaseModel:
    """Import an AI4DL model, whole or in parts.

    Raises RefusedError if a file asks for anything but arrays and numbers; nothing was run; InputError if a
    part is missing or damaged; MismatchError if the parts do not fit together.
    """
    named = next((each for each in (folder, crbm, kmeans, scaler) if each is not None), None)
    with guard_reader(named):
        files = _find(Path(folder)) if folder is not None else {}
        chosen_files = {k: Path(p) for k, p in (("crbm", crbm), ("kmeans", kmeans), ("scaler", scaler)) if p}
        parts = {**files, **chosen_files}
        _need_all(parts, base)
        return _imported(parts, initializer, base, features)


def _imported(
    parts: dict[str, Path],
    initializer: str | Path | None,
    base: PhaseModel | None,
    features: Sequence[MappedColumn] | None,
) -> PhaseModel:
    if "scaler" in parts:
        plain = read_scaler(parts["scaler"])
        columns = _columns(len(plain.mean), features)
        chosen, scale = _features(columns), _canonical(plain, columns)
    elif base is not None:
        chosen, scale = base.features, base.scaler
    encoder = read_crbm(parts["crbm"]) if "crbm" in parts else base.encoder if base else None
    centres = read_kmeans(parts["kmeans"]) if "kmeans" in parts else base.centres if base else None
    if encoder is None or centres is None:
        raise AssertionError
    expansions = base.expansions if base is not None and "kmeans" not in parts else ()
    stored_settings = _initializer(initializer, parts.get("crbm"))
    settings = _settings(stored_settings, len(centres), encoder.size, encoder.history, base)
    record = TrainingRecord(read_errors(parts["crbm"])) if "crbm" in parts else TrainingRecord()
    model = PhaseModel(chosen, scale, encoder, centres, settings, expansions, record, origin="ai4dl")
    model.check()
    return model


def _need_all(parts: dict[str, Path], base: PhaseModel | None) -> None:
    missing = [name for name in ("crbm", "kmeans", "scaler") if name not in parts]
    if missing and (base is None or not parts):
        names = {"crbm": f"CRBM ({PARAMETERS})", "kmeans": "k-means", "scaler": "scaler"}
        raise InputError(
            f"There is no {' and no '.join(names[each] for each in missing)} file.",
            "Give the folder that AI4DL saved, with its CRBM folder and its two joblib files.",
        )


def _find(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise InputError(f"There is no folder “{folder.name}”.", "Give the folder that AI4DL saved.")
    parts: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        name = path.name.lower()
        if name == PARAMETERS:
            parts.setdefault("crbm", path)
        elif name.endswith(".joblib"):
            key = "kmeans" if "kmeans" in name else "scaler" if "scaler" in name else ""
            if key:
                parts.setdefault(key, path)
    return parts


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"“{path.name}” is too large for a phase model.", "Choose the model's own file.")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"“{path.name}” cannot be read.", "Check that the file is there.") from error


def _attributes(path: Path, kind: str) -> dict[str, Any]:
    content = read_pickle(_read(path))
    if not isinstance(content, Bag) or content.name.short != kind:
        raise InputError(f"“{path.name}” is not a scikit-learn {kind}.", f"Choose the file of the {kind}.")
    return content.attributes


def _array(values: dict[str, Any], key: str, dimensions: int, path: Path) -> Array:
    array = values.get(key)
    if not isinstance(array, np.ndarray) or array.ndim != dimensions or not fits_float32(array):
        raise InputError(f"“{path.name}” has no usable “{key}”.", "Get the file from its authors again.")
    return array


def read_crbm(path: str | Path) -> CrbmEncoder:
    """The CRBM of a folder or of its ``model_dict.pickle``.

    Raises
    ------
    RefusedError, InputError
        As `import_ai4dl`.
    """
    file = Path(path) / PARAMETERS if Path(path).is_dir() else Path(path)
    with guard_reader(file):
        return _crbm(file)


def _crbm(file: Path) -> CrbmEncoder:
    values = read_pickle(_read(file))
    if not isinstance(values, dict):
        raise InputError(f"“{file.name}” is not an AI4DL CRBM.", f"Choose its {PARAMETERS}.")
    W, A, B = (_array(values, key, 2, file) for key in ("W", "A", "B"))
    visible, hidden = (_array(_flattened(values, key), key, 1, file) for key in ("v_bias", "h_bias"))
    features = int(W.shape[1])
    arrays = {"W": W, "A": _by_time(A, features), "B": _by_time(B, features)}
    return CrbmEncoder.load({**arrays, "visible_bias": visible, "hidden_bias": hidden}, features)


def read_errors(path: str | Path) -> tuple[float, ...]:
    """The reconstruction errors per epoch that a CRBM file records, or nothing.

    Raises
    ------
    RefusedError, InputError
        As `import_ai4dl`.
    """
    file = Path(path) / PARAMETERS if Path(path).is_dir() else Path(path)
    with guard_reader(file):
        values = read_pickle(_read(file))
    errors = values.get("rec_error_per_epoch", []) if isinstance(values, dict) else []
    usable = isinstance(errors, list) and all(
        isinstance(each, float) and np.isfinite(each) for each in errors
    )
    return tuple(errors) if usable else ()


def _by_time(matrix: Array, features: int) -> Array:
    """The authors flatten a history feature by feature; here it is row by row, oldest first."""
    if not features or matrix.shape[1] % features:
        return matrix
    return matrix.reshape(len(matrix), features, -1).swapaxes(1, 2).reshape(matrix.shape)


def _flattened(values: dict[str, Any], key: str) -> dict[str, Any]:
    """Biases may be columns of shape (size, 1)."""
    array = values.get(key)
    return {key: array.ravel()} if isinstance(array, np.ndarray) and "bias" in key else values


def read_kmeans(path: str | Path) -> Codes:
    """The centres of a k-means file, float32 of shape (k, size).

    Raises
    ------
    RefusedError, InputError
        As `import_ai4dl`.
    """
    file = Path(path)
    with guard_reader(file):
        return np.asarray(_array(_attributes(file, "KMeans"), "cluster_centers_", 2, file), np.float32)


def read_scaler(path: str | Path) -> Scaler:
    """Mean and scale of a scaler file, in the units of the traces' files.

    Raises
    ------
    RefusedError, InputError
        As `import_ai4dl`.
    """
    file = Path(path)
    with guard_reader(file):
        return _scaler(file)


def _scaler(file: Path) -> Scaler:
    values = _attributes(file, "StandardScaler")
    mean, scale = (_array(values, key, 1, file).astype(np.float64) for key in ("mean_", "scale_"))
    if mean.shape != scale.shape or not (scale > 0).all():
        raise InputError(f"“{file.name}” has no usable scale.", "Get the file from its authors again.")
    return Scaler(mean, scale)


def _columns(n: int, features: Sequence[MappedColumn] | None) -> Sequence[MappedColumn]:
    columns = AI4DL_FEATURES if features is None else features
    if len(columns) != n:
        raise MismatchError(
            f"The model reads {n} features, but {len(columns)} are named.",
            "Name the columns it was trained on, in their order.",
        )
    return columns


def _features(columns: Sequence[MappedColumn]) -> tuple[Feature, ...]:
    return tuple(Feature(each.column, each.role, file_unit(each.unit_key).unit) for each in columns)


def _canonical(scaler: Scaler, columns: Sequence[MappedColumn]) -> Scaler:
    factors = np.array([file_unit(each.unit_key).factor for each in columns])
    return replace(scaler, mean=scaler.mean * factors, scale=scaler.scale * factors)


def _settings(
    stored_settings: dict[str, Any], phases: int, hidden: int, history: int, base: PhaseModel | None
) -> PhaseSettings:
    start = base.settings.to_dict() if base is not None else PhaseSettings(solver="online").to_dict()
    from_arrays = {
        "phases": phases,
        "hidden": hidden,
        "history": history,
        "warmup": "zeros",
        "encoder": "crbm",
    }
    return build(PhaseSettings, {**start, **stored_settings, **from_arrays})


def _beside(crbm: Path | None) -> Path | None:
    return None if crbm is None else (crbm if crbm.is_dir() else crbm.parent) / INITIALIZER


def _initializer(path: str | Path | None, crbm: Path | None) -> dict[str, Any]:
    file = Path(path) if path is not None else _beside(crbm)
    if file is None or not file.exists():
        return {}
    try:
        values = json.loads(_read(file))
        return {name: values[key] for key, name in SETTING_NAMES.items() if key in values}
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"“{file.name}” is not JSON.", "Get the file from its authors again.") from error
