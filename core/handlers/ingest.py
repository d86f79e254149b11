"""Taking a file into the store: read, check, store; the upload is removed once a faultless set is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.progress_reporting import scale_progress
from core.reading import read_with_report
from core.reading.mapping import ColumnMapping
from core.tasks.kind import Kind
from core.traces.validation import UnusableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.kind import TaskContext
    from core.traces.validation import Report
    from core.workspace.records import TaskInfo

_READING = 0.75


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Ingest an upload."""
    workspace, upload = context.workspace, str(params["upload"])
    path = workspace.uploads.path(upload)
    context.progress(0.0, f"Reading {path.name}")
    mapping = None if params.get("mapping") is None else ColumnMapping.from_dict(params["mapping"])
    try:
        traces, report = read_with_report(path, mapping, scale_progress(context.progress, 0.0, _READING))
    except UnusableError as error:
        _log(context, error.report)
        raise
    _log(context, report)
    stored = workspace.traces.add(
        traces,
        report,
        name=str(params["name"]),
        source=f"{path.name} · {params['layout']}" if params.get("layout") else path.name,
        task=context.task,
        progress=scale_progress(context.progress, _READING, 1.0),
    )
    if report.faultless:
        workspace.uploads.discard(upload)  # else a person may choose other columns for the same file
    result: dict[str, Any] = {"trace_set": stored.id}
    if params.get("find_phases"):
        title = f"Find phases of {stored.name}"
        result["next"] = workspace.tasks.submit("find_phases", title, {"trace_set": stored.id})
    return result


def _log(context: TaskContext[Workspace], report: Report) -> None:
    for sentence in report.sentences():
        context.log(sentence)


def _outcome(_task: TaskInfo) -> str:
    return "The trace set is stored."


KIND = Kind(
    name="ingest",
    title="Import traces",
    icon="file-import",
    run=_run,
    outcome=_outcome,
    gives=("trace_set",),
    brief=True,
)
