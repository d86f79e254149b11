"""The bundled samples: recordings of real training jobs in containers, and a phase model trained on them.

They are made by ``data/record_jobs.py``, which says how; ``data/README.md`` tells what they are.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import NotFoundError
from core.files.phase_models.archive import load_model, model_fingerprint
from core.reading import read_with_report
from core.traces.model import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.workspace.models import ModelLibrary
    from core.workspace.records import ModelInfo, TraceSetInfo
    from core.workspace.trace_sets import TraceLibrary

DATA = Path(__file__).resolve().parents[2] / "data"
CHECKSUMS = "checksums.txt"


@dataclass(frozen=True, slots=True)
class Sample:
    """A trace set and a model of it, as files in one folder with their checksums."""

    #: Where they are.
    folder: Path
    #: The file and the folder in there.
    traces: str
    model: str
    #: What they are called in a workspace.
    name: str
    model_name: str


RECORDED = Sample(
    DATA,
    "recorded_jobs.parquet",
    "recorded_jobs_model",
    "Recorded training jobs",
    "Recorded training jobs, 4 phases",
)


def load_samples(
    traces: TraceLibrary,
    models: ModelLibrary,
    progress: Callable[[float, str], None] | None = None,
    task: str | None = None,
    sample: Sample = RECORDED,
) -> tuple[TraceSetInfo, ModelInfo]:
    """Put a sample into a workspace, unless it is there already.

    Raises NotFoundError if the samples are not beside the program, or are not those that were made.
    """
    say = progress or (lambda *_: None)
    verify(sample.folder)
    say(0.1, "Reading traces")
    read, report = read_with_report(sample.folder / sample.traces)
    mark = fingerprint(read)
    stored_traces = next((info for info in traces.list() if info.fingerprint == mark), None)
    trace_set = stored_traces or traces.add(read, report, name=sample.name, source=sample.traces, sample=True)
    say(0.7, "Reading the model trained on them")
    model = load_model(sample.folder / sample.model)
    mark = model_fingerprint(model)
    present = next((info for info in models.list() if info.fingerprint == mark), None)
    stored = present or models.add(model, name=sample.model_name, trace_set=trace_set, sample=True, task=task)
    say(1.0, "Done")
    return trace_set, stored


def verify(folder: Path) -> None:
    """Check the bundled files against ``checksums.txt``.

    Raises NotFoundError if one is missing or is not what it was.
    """
    try:
        lines = (folder / CHECKSUMS).read_text(encoding="ascii").splitlines()
        wrong = [
            name
            for digest, name in (line.split("  ", 1) for line in lines)
            if _digest(folder / name) != digest
        ]
    except OSError as error:
        raise NotFoundError(
            "The bundled samples were not found beside the program.",
            "Start PhaseDock from its project folder.",
        ) from error
    if wrong:
        raise NotFoundError(
            f"The bundled sample “{wrong[0]}” is damaged.", "Download PhaseDock's folder “data” again."
        )


def write_checksums(sample: Sample) -> None:
    """Write the checksums of a sample's files, for `verify`."""
    files = [sample.folder / sample.traces, *sorted((sample.folder / sample.model).iterdir())]
    lines = [f"{_digest(path)}  {path.relative_to(sample.folder).as_posix()}\n" for path in files]
    (sample.folder / CHECKSUMS).write_text("".join(lines), encoding="ascii")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
