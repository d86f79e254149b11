"""Use cases on files, without a workspace: check, train, import, expand, predict."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.errors import ConflictError, InputError
from core.phases import ApplicationSettings, PhaseSettings, expand, fit, predict, with_minimum_dwell
from core.phases.drift import familiarity, warning
from core.store import inspect_file, read_with_report
from core.store.formats.register import FORMATS
from core.store.phase_models.ai4dl import import_ai4dl
from core.store.phase_models.archive import load_model, save_model
from core.traces.layouts import LAYOUTS
from core.traces.mapping import ColumnMapping
from core.traces.model import fingerprint, summarise
from core.workspace.phase_labels import phases_by_execution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pandas as pd

    from core.phases import PhaseModel
    from core.progress_reporting import Progress
    from core.store import Inspection
    from core.traces.model import TraceSet
    from core.traces.validation import Report

    Notify = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Checked:
    """A trace file that was read: what it seemed to be, what it holds, and what was wrong with it."""

    inspection: Inspection
    traces: TraceSet
    report: Report
    summary: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """The check as JSON takes it; ``mapping`` may be saved and given back as ``--mapping``."""
        mapping, traces = self.inspection.mapping, self.traces
        return {
            "layout": self.inspection.layout,
            "mapping": None if mapping is None else mapping.to_dict(),
            "executions": traces.n_executions,
            "samples": traces.n_samples,
            "period_s": traces.period,
            "resampling": traces.resampling.value,
            "features": [
                {"name": f.name, "role": f.role.value, "unit": f.unit.value} for f in traces.features
            ],
            "report": self.report.to_dict(),
        }


def check(file: Path, mapping: Path | None = None) -> Checked:
    """Read a trace file and say what was wrong with it.

    Raises
    ------
    InputError
        If nothing of it can be used.
    """
    inspection = inspect_file(existing(file))
    traces, report = read_with_report(file, read_mapping(mapping))
    return Checked(inspection, traces, report, summarise(traces))


def read(file: Path, mapping: Path | None = None) -> TraceSet:
    """Read the traces of a file.

    Raises
    ------
    InputError
        If nothing of it can be used.
    """
    return read_with_report(existing(file), read_mapping(mapping))[0]


@dataclass(frozen=True, slots=True)
class Trained:
    """A model that was saved, and how long its training took in seconds."""

    model: PhaseModel
    out: Path
    seconds: float


def applied(
    model: Path, file: Path, mapping: Path | None = None, notify: Notify | None = None
) -> tuple[PhaseModel, TraceSet]:
    """A model and the traces that it is shown; what has to be known before believing its phases is said.

    Raises
    ------
    MismatchError
        If the model does not fit the traces.
    """
    loaded, traces = load_model(model), read(file, mapping)
    said = None if notify is None else warning(familiarity(loaded, traces), model.name)
    if notify is not None and said is not None and loaded.training.fingerprint != fingerprint(traces):
        notify(*said)
    return loaded, traces


def train(
    file: Path,
    values: dict[str, object],
    out: Path,
    *,
    features: Sequence[str] | None = None,
    mapping: Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Trained:
    """Train a model on a trace file and save it.

    Raises
    ------
    InputError
        If the file or a setting cannot be used.
    ConflictError
        If there is something at `out` already.
    """
    settings = PhaseSettings.from_dict(values)
    room_for(out, force=force)
    traces = read(file, mapping)
    begun = time.perf_counter()
    model = fit(traces, settings, features, progress)
    return Trained(model, save_model(model, out), time.perf_counter() - begun)


def convert_ai4dl(folder: Path, out: Path, *, force: bool = False) -> PhaseModel:
    """Read a model of AI4DL without executing anything in it, and save it as one of ours."""
    room_for(out, force=force)
    model = import_ai4dl(folder)
    save_model(model, out)
    return model


def divide(
    model: Path,
    file: Path,
    phase: int,
    into: int,
    out: Path,
    *,
    seed: int = 0,
    mapping: Path | None = None,
    force: bool = False,
) -> PhaseModel:
    """Divide a phase of a saved model by the samples of a trace file, and save the result."""
    room_for(out, force=force)
    expanded = expand(load_model(model), read(file, mapping), phase, into, seed)
    save_model(expanded, out)
    return expanded


def label(
    model: Path,
    file: Path,
    mapping: Path | None = None,
    minimum_dwell: float = 0.0,
    notify: Notify | None = None,
) -> dict[str, list[int]]:
    """The phase of every sample by the numbers on the screen, by execution: 1 is φ1, and 0 is warm-up.

    Raises
    ------
    MismatchError
        If the model does not fit the traces.
    InputError
        If the minimum dwell time is out of bounds.
    """
    loaded, traces = applied(model, file, mapping, notify)
    dwell = ApplicationSettings.read(minimum_dwell).minimum_dwell
    labels = with_minimum_dwell(traces, predict(loaded, traces), dwell)
    return {name: phases for name, _, (phases,) in phases_by_execution(traces, labels)}


def read_mapping(path: Path | None) -> ColumnMapping | None:
    """The mapping in a JSON file, or None without one.

    Raises
    ------
    InputError
        If the file holds none.
    """
    if path is None:
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"The mapping “{path.name}” cannot be read.",
            "Give a JSON file as printed by `traces check --json`.",
        ) from error
    return ColumnMapping.from_dict(data.get("mapping", data) if isinstance(data, dict) else {})


def existing(file: Path) -> Path:
    """The path of a file that exists, or of a folder of files that are joined.

    Raises
    ------
    InputError
        If it does not.
    """
    if not file.exists():
        raise InputError(f"There is no file “{file}”.", "Check the path.")
    return file


def room_for(out: Path, *, force: bool) -> None:
    """Make sure that nothing is overwritten by accident.

    Raises
    ------
    ConflictError
        If something is there, and it is not to be replaced.
    """
    taken = any(out.iterdir()) if out.is_dir() else out.exists()
    if taken and not force:
        raise ConflictError(f"“{out}” already exists.", "Choose another --out, or add --force.")
    if taken and out.is_dir() and not (out / "model.json").exists():
        raise ConflictError(f"“{out}” holds something that is not a model.", "Choose another --out.")


def readable() -> dict[str, Any]:
    """The formats of files and the layouts of columns that can be read."""
    return {
        "formats": [
            {"name": name, "title": entry.title, "endings": list(entry.suffixes)}
            for name, entry in FORMATS.items()
        ],
        "layouts": [{"name": name, "title": layout.label} for name, layout in LAYOUTS.items()],
    }
