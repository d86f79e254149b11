"""The bundled samples: a synthetic trace set with known phases, and a model trained on it.

They are made by ``data/make_synthetic.py`` and called synthetic wherever they appear.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import NotFoundError
from core.store import read_with_report
from core.store.models import load_model, model_fingerprint
from core.traces.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.runtime.infos import ModelInfo, TraceSetInfo
    from core.runtime.workspace import Workspace

DATA = Path(__file__).resolve().parents[2] / "data"
TRACES, MODEL = "synthetic_jobs.parquet", "synthetic_jobs_model"
_NAME, _MODEL_NAME = "Synthetic training jobs", "Synthetic training jobs, 5 phases"


def load_samples(
    workspace: Workspace, progress: Callable[[float, str], None] | None = None, task: str | None = None
) -> tuple[TraceSetInfo, ModelInfo]:
    """Put the samples into a workspace, once: what is there already is not added again.

    Raises
    ------
    NotFoundError
        If the samples are not beside the program, or are not those that were made.
    """
    say = progress or (lambda *_: None)
    verify(DATA)
    say(0.1, "Reading synthetic traces")
    traces, report = read_with_report(DATA / TRACES)
    mark = fingerprint(traces)
    found = next((info for info in workspace.traces.list() if info.fingerprint == mark), None)
    trace_set = found or workspace.traces.add(
        traces, report, name=_NAME, source=f"{TRACES} · synthetic", synthetic=True
    )
    say(0.7, "Reading the model trained on them")
    model = load_model(DATA / MODEL)
    mark = model_fingerprint(model)
    known = next((info for info in workspace.models.list() if info.fingerprint == mark), None)
    stored = known or workspace.models.add(
        model, name=_MODEL_NAME, trace_set=trace_set, synthetic=True, task=task
    )
    say(1.0, "Done")
    return trace_set, stored


def is_first_start(workspace: Workspace) -> bool:
    """True when nothing was ever put into a workspace."""
    sets = workspace.traces.list() or workspace.traces.list(trashed=True)
    return not sets and not workspace.tasks.list(1)


def verify(folder: Path) -> None:
    """Check the bundled files against ``checksums.txt``.

    Raises
    ------
    NotFoundError
        If one is missing or is not what it was.
    """
    try:
        lines = (folder / "checksums.txt").read_text(encoding="ascii").splitlines()
        wrong = [
            name
            for digest, name in (line.split("  ", 1) for line in lines)
            if _digest(folder / name) != digest
        ]
    except OSError as error:
        raise NotFoundError(
            "The bundled samples are not beside the program.", "Start PhaseDock from its own folder."
        ) from error
    if wrong:
        raise NotFoundError(
            f"The bundled sample “{wrong[0]}” is damaged.", "Get the folder “data” of PhaseDock anew."
        )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
