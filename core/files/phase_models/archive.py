"""Our own file format of a model: its description and its arrays, both ways."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import uuid
import zipfile
import zlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import InputError, NotFoundError
from core.files.phase_models.pickle_values import fits_float32
from core.phases.describe import PhaseStatistics, with_descriptions
from core.phases.encoders import ENCODERS
from core.phases.model import Expansion, PhaseModel, TrainingRecord
from core.phases.rows import Scaler
from core.phases.settings import PhaseSettings
from core.reading.readers import guard_reader
from core.traces.model import Feature, Role
from core.units import Unit

MAX_EXPANSIONS = 256
MAX_NAME = 40
"""The largest number of characters in the name of a phase."""
REMEDY = "Export the model again, or get a fresh copy of the file."

ArrayMember = npt.NDArray[Any]


def features_of(model: PhaseModel) -> list[dict[str, str]]:
    """Name, role and unit of each feature."""
    return [{"name": f.name, "role": f.role.value, "unit": f.unit.value} for f in model.features]


def expansions_of(model: PhaseModel) -> list[dict[str, Any]]:
    """The phase that each expansion divides."""
    return [{"phase": each.phase, "ids": list(each.ids)} for each in model.expansions]


def arrays_of(model: PhaseModel) -> dict[str, ArrayMember]:
    """All arrays that a model predicts with, by name."""
    return {
        "scaler_mean": model.scaler.mean,
        "scaler_scale": model.scaler.scale,
        "centres": model.centres,
        **{f"expansion_{place}": each.centres for place, each in enumerate(model.expansions)},
        **{f"encoder_{name}": values for name, values in model.encoder.arrays().items()},
    }


def description_of(model: PhaseModel) -> dict[str, Any]:
    """The model without its arrays, as a JSON object."""
    return {
        "origin": model.origin,
        "features": features_of(model),
        "settings": model.settings.to_dict(),
        "encoder": model.encoder.name,
        "expansions": expansions_of(model),
        "training": asdict(model.training),
        "statistics": [each.to_dict() for each in model.statistics],
        **({"phase_names": {str(phase): name for phase, name in model.names.items()}} if model.names else {}),
    }


def model_of(facts: dict[str, Any], arrays: dict[str, ArrayMember]) -> PhaseModel:
    """The model that a description and arrays make.

    Raises KeyError or TypeError or ValueError or AttributeError or IndexError if something is missing, or is
    not what it has to be; InputError if more phases are expanded than can be meant.
    """
    features = tuple(Feature(str(f["name"]), Role(f["role"]), Unit(f["unit"])) for f in facts["features"])
    encoder_arrays = {
        name.removeprefix("encoder_"): part for name, part in arrays.items() if name.startswith("encoder_")
    }
    scaler = Scaler(arrays["scaler_mean"].astype(np.float64), arrays["scaler_scale"].astype(np.float64))
    if scaler.mean.ndim != 1 or scaler.mean.shape != scaler.scale.shape or not (scaler.scale > 0).all():
        raise ValueError("scaler")
    model = PhaseModel(
        features=features,
        scaler=scaler,
        encoder=ENCODERS[str(facts["encoder"])].load(encoder_arrays, len(features)),
        centres=_centres(arrays["centres"]),
        settings=PhaseSettings.from_dict(facts["settings"]),
        training=_record(facts["training"]),
        statistics=with_descriptions([PhaseStatistics.from_dict(each) for each in facts["statistics"]]),
        origin=str(facts["origin"]),
        names={int(phase): str(name)[:MAX_NAME] for phase, name in facts.get("phase_names", {}).items()},
    )
    if len(facts["expansions"]) > MAX_EXPANSIONS:
        raise InputError(f"The model has more than {MAX_EXPANSIONS} expanded phases.", REMEDY)
    for place, each in enumerate(facts["expansions"]):
        model = _expanded(model, each, _centres(arrays[f"expansion_{place}"]))
    model.check()
    return model


def _centres(values: ArrayMember) -> npt.NDArray[np.float32]:
    if values.ndim != 2 or not 1 <= len(values) <= 1_024:
        raise ValueError("centres")
    return values.astype(np.float32)


def _expanded(model: PhaseModel, facts: dict[str, Any], centres: npt.NDArray[np.float32]) -> PhaseModel:
    ids = tuple(range(model.next_id, model.next_id + len(centres)))
    if facts["phase"] not in model.phases or tuple(facts["ids"]) != ids:
        raise ValueError("expansion")
    return replace(model, expansions=(*model.expansions, Expansion(int(facts["phase"]), ids, centres)))


def _record(values: dict[str, Any]) -> TrainingRecord:
    record = TrainingRecord(
        errors=tuple(float(error) for error in values["errors"]),
        n_samples=int(values["n_samples"]),
        n_executions=int(values["n_executions"]),
        n_codes=int(values["n_codes"]),
        fingerprint=str(values["fingerprint"]),
        period=float(values["period"]),
        ranges=tuple((float(low), float(high)) for low, high in values.get("ranges", ())),
        limits=tuple(map(float, values.get("limits", ()))),
    )
    if min(record.n_samples, record.n_executions, record.n_codes) < 0 or record.period < 0:
        raise ValueError("training")
    return record


FORMAT, VERSION = "phasedock-model", 1
FACTS, ARRAYS = "model.json", "arrays.npz"
MAX_PART = 64 * 2**20
MAX_FACTS = 16 * 2**20
MAX_VALUES = 1_000_000
MAX_FEATURES = 4_096
MAX_NUMBERS = 8_000_000

Array = npt.NDArray[Any]
_HEADER = re.compile(
    rb"\{'descr': '(?P<dtype>[<>|][fi][1248])', 'fortran_order': False, "
    rb"'shape': \((?P<shape>[\d, ]{0,64})\), \} *\n"
)


def save_model(model: PhaseModel, path: str | Path) -> Path:
    """Write a model to a folder, or to one file where the path ends in ``.zip``.

    Each file appears whole or not at all. Raises InputError if the path cannot be written to.
    """
    target = Path(path)
    try:
        if target.suffix == ".zip":
            target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, model_archive(model))
            return target
        target.mkdir(parents=True, exist_ok=True)
        facts, arrays = _parts(model)
        _replace(target / ARRAYS, arrays)
        _replace(target / FACTS, facts)
    except OSError as error:
        raise InputError(
            f"The model cannot be saved to “{target.name}”.", "Choose a place that can be written to."
        ) from error
    return target


def _replace(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def model_archive(model: PhaseModel) -> bytes:
    """A model as the bytes of a zip; the same model gives the same bytes."""
    facts, arrays = _parts(model)
    return _zipped({FACTS: facts, ARRAYS: arrays})


def _zipped(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def model_fingerprint(model: PhaseModel) -> str:
    """A fingerprint of what a model predicts, 64 hexadecimal digits; equal ones mean equal labels."""
    facts = {"features": features_of(model), "warmup": model.warmup, "expansions": expansions_of(model)}
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, values in sorted(arrays_of(model).items()):
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def _parts(model: PhaseModel) -> tuple[bytes, bytes]:
    arrays = _zipped({f"{name}.npy": _npy(values) for name, values in arrays_of(model).items()})
    facts = {
        "format": FORMAT,
        "version": VERSION,
        **description_of(model),
        "arrays_sha256": hashlib.sha256(arrays).hexdigest(),
    }
    return json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False).encode(), arrays


def _npy(values: Array) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(values), allow_pickle=False)
    return buffer.getvalue()


def load_model(path: str | Path) -> PhaseModel:
    """Read a model from a folder or a zip.

    Raises InputError if it is not a PhaseDock model, is damaged or was changed, or is of a newer version.
    """
    with guard_reader(path):
        return _load(Path(path))


def _load(source: Path) -> PhaseModel:
    try:
        if source.is_dir():
            parts = {name: _bounded((source / name).open("rb")) for name in (FACTS, ARRAYS)}
            return _assembled(parts)
        with source.open("rb") as file:
            return read_model_archive(file.read(2 * MAX_PART + 1))
    except OSError as error:
        raise InputError(
            f"There is no model at “{source.name}”.", "Choose a model's folder or zip."
        ) from error


def _bounded(file: Any) -> bytes:
    with file:
        data: bytes = file.read(MAX_PART + 1)
    if len(data) > MAX_PART:
        raise InputError(f"A part of the model is larger than {MAX_PART // 2**20} MiB.", REMEDY)
    return data


def read_model_archive(data: bytes) -> PhaseModel:
    """Read a model from the bytes of a zip.

    Raises
    ------
    InputError
        As `load_model`.
    """
    with guard_reader(None):
        return _assembled(_unzipped(data, (FACTS, ARRAYS)))


def _unzipped(data: bytes, allowed: tuple[str, ...] | None) -> dict[str, bytes]:
    """The members of a zip, each bounded; with `allowed`, exactly those. Nothing is written anywhere."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if allowed is not None and sorted(names) != sorted(allowed):
                listing = ", ".join(f"“{name[:60]}”" for name in names[:5])
                raise InputError(
                    f"This is not a PhaseDock model: the zip holds {listing or 'nothing'}.", REMEDY
                )
            if len(names) > MAX_FEATURES or sum(info.file_size for info in archive.infolist()) > MAX_PART:
                raise InputError(f"The model is larger than {MAX_PART // 2**20} MiB.", REMEDY)
            return {name: _bounded(archive.open(name)) for name in names}
    # zipfile has a RuntimeError for members that are encrypted, and one of its kind for unknown compression
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise InputError("The model's zip is damaged.", REMEDY) from error


def _assembled(parts: dict[str, bytes]) -> PhaseModel:
    try:
        facts = _facts(parts[FACTS])
        _check_version(facts)
        _check_digest(facts, parts[ARRAYS])
        members = _unzipped(parts[ARRAYS], None)
        arrays = {name.removesuffix(".npy"): _array(part) for name, part in members.items()}
        # a one-byte number takes four and eight bytes later on
        if sum(array.size for array in arrays.values()) > MAX_NUMBERS:
            raise InputError(f"The model's arrays have more than {MAX_NUMBERS:,} numbers.", REMEDY)
        return model_of(facts, arrays)
    except NotFoundError as error:
        raise InputError(error.message, REMEDY) from error
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        RecursionError,
        OverflowError,
    ) as error:
        raise InputError("The model's description is damaged.", REMEDY) from error


def _facts(data: bytes) -> Any:
    """The description, counted before it is built: three bytes of JSON can become a hundred of memory."""
    values = sum(data.count(mark) for mark in (b",", b"[", b"{"))
    if len(data) > MAX_FACTS or values > MAX_VALUES:
        raise InputError(
            f"The model's description has more than {MAX_VALUES:,} values or {MAX_FACTS // 2**20} MiB.",
            REMEDY,
        )
    facts = json.loads(data, parse_constant=_finite, parse_float=_finite)
    json.dumps(
        facts, ensure_ascii=False
    ).encode()  # a lone surrogate could not be shown or stored: ValueError
    return facts


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _check_version(facts: Any) -> None:
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise InputError("This is not a PhaseDock model.", "Choose a folder or zip that PhaseDock saved.")
    if facts.get("version") != VERSION:
        raise InputError(
            f"The model is of format version {str(facts.get('version'))[:12]}; this program reads {VERSION}.",
            "Open it with the version of PhaseDock that saved it, or train it again.",
        )


def _check_digest(facts: dict[str, Any], arrays: bytes) -> None:
    if hashlib.sha256(arrays).hexdigest() != facts["arrays_sha256"]:
        raise InputError("The model's arrays are not the ones it was saved with.", REMEDY)


def _array(data: bytes) -> Array:
    """An array of an ``.npy`` part, its size checked before memory is allocated.

    NumPy evaluates a header as Python; ours has one form only, so a pattern reads it. Raises ValueError if it
    is not a whole array of plain finite numbers.
    """
    start = 10 + int.from_bytes(data[8:10], "little")
    header = _HEADER.fullmatch(data[10:start])
    if not data.startswith(b"\x93NUMPY\x01\x00") or header is None:
        raise ValueError("not a plain array")
    shape = tuple(int(size) for size in header["shape"].split(b",") if size.strip())
    dtype = np.dtype(header["dtype"].decode())
    if math.prod(shape) * dtype.itemsize != len(data) - start:
        raise ValueError("not of its shape")
    array = np.frombuffer(data, dtype, offset=start).reshape(shape)
    if not fits_float32(array):
        raise ValueError("not finite")
    return array.astype(dtype.newbyteorder("="))
