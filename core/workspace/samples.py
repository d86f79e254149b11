"""The bundled samples: recordings of real training jobs in containers, and a phase model trained on them.

They are made by ``data/record_jobs.py``, which says how; ``data/README.md`` tells what they are.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.errors import NotFoundError
from core.files.phase_models.archive import load_model, model_fingerprint
from core.phases import phase_runs, predict, suggested_minimum_dwell, with_minimum_dwell
from core.reading import read_with_report
from core.traces.model import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.phases import PhaseModel
    from core.traces.model import TraceSet
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
    #: The file with a preview (`Preview`), or empty.
    preview: str = ""


RECORDED = Sample(
    DATA,
    "recorded_jobs.parquet",
    "recorded_jobs_model",
    "Recorded training jobs",
    "Recorded training jobs, 5 phases",
    "recorded_jobs_preview.json",
)


@dataclass(frozen=True, slots=True)
class Preview:
    """A sample at a glance, to be shown before it is loaded."""

    #: How many executions it has.
    executions: int
    #: Number, name, median cores and median bytes of each phase.
    phases: tuple[tuple[int, str, float, float], ...]
    #: One execution of each workload: its workload, seconds, and phases as (share of its length, phase).
    jobs: tuple[tuple[str, float, tuple[tuple[float, int], ...]], ...]


def make_preview(traces: TraceSet, model: PhaseModel) -> Preview:
    """Return the preview of traces with CPU, memory and workloads, under a model with names."""
    raw = predict(model, traces)
    minimum = suggested_minimum_dwell(phase_runs(traces, raw), traces.period)
    labels = with_minimum_dwell(traces, raw, minimum)
    cpu, memory = (np.asarray(traces.column(feature.name)) for feature in model.features)
    phases = tuple(
        (phase, name, float(np.nanmedian(cpu[labels == phase])), float(np.nanmedian(memory[labels == phase])))
        for phase, name in model.names.items()
    )
    firsts = {workload: at for at, workload in reversed([*enumerate(traces.attributes["workload"])])}
    jobs = []
    for workload, at in sorted(firsts.items()):
        part = slice(int(traces.offsets[at]), int(traces.offsets[at + 1]))
        begins = np.flatnonzero(np.diff(labels[part], prepend=-9))
        shares = np.diff([*begins.tolist(), part.stop - part.start]) / (part.stop - part.start)
        parts = zip(np.round(shares, 4).tolist(), labels[part][begins].tolist(), strict=True)
        jobs.append((workload, float(traces.time[part][-1] - traces.time[part][0]), tuple(parts)))
    return Preview(traces.n_executions, phases, tuple(jobs))


def read_preview(sample: Sample = RECORDED) -> Preview | None:
    """Return a sample's preview, or None where it is missing or damaged."""
    try:
        facts = json.loads((sample.folder / sample.preview).read_text(encoding="utf-8"))
        phases = tuple((int(a), str(b), float(c), float(d)) for a, b, c, d in facts["phases"])
        jobs = tuple(
            (str(workload), float(seconds), tuple((float(share), int(phase)) for share, phase in parts))
            for workload, seconds, parts in facts["jobs"]
        )
        return Preview(int(facts["executions"]), phases, jobs)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_preview(sample: Sample, preview: Preview) -> None:
    """Write the preview of a sample."""
    (sample.folder / sample.preview).write_text(json.dumps(asdict(preview)) + "\n", encoding="utf-8")


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
    files += [sample.folder / sample.preview] if sample.preview else []
    lines = [f"{_digest(path)}  {path.relative_to(sample.folder).as_posix()}\n" for path in files]
    (sample.folder / CHECKSUMS).write_text("".join(lines), encoding="ascii")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
