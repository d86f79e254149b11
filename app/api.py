"""The routes that are not pages: health, streamed uploads, and files to download.

An upload is announced, then sent as the raw body of one PUT, which is written to disk as it comes:
hundreds of megabytes cost the server a few. A refusal is a sentence, as JSON.
"""

from __future__ import annotations

import re
from itertools import repeat
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, jsonify, request, stream_with_context

from app.context import workspace
from core.csv_export import csv_lines
from core.errors import ConflictError, InputError, NotFoundError, PhaseDockError
from core.phases import ApplicationSettings
from core.units import phase_number
from core.workspace.phase_labels import phases_by_execution

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

blueprint = Blueprint("api", __name__)
_CHUNK = 1 << 20


def explain(error: PhaseDockError) -> tuple[Response, int]:
    """What went wrong, as JSON, with the status that says whose fault it was."""
    kinds = ((NotFoundError, 404), (ConflictError, 409), (InputError, 422))
    status = next((code for kind, code in kinds if isinstance(error, kind)), 500)
    return jsonify(error={"message": error.message, "hint": error.hint}), status


@blueprint.get("/healthz")
def healthz() -> Response:
    """Answer when the web process serves."""
    return jsonify(status="ok")


@blueprint.post("/api/uploads")
def begin_upload() -> Response:
    """Announce a file by name and size; the answer has the id to send it to."""
    asked: Any = request.get_json(silent=True) or {}
    name, size = asked.get("name"), asked.get("size")
    if not isinstance(name, str) or not isinstance(size, int):
        raise InputError("An upload needs a name and a size.", 'Send {"name": "traces.csv", "size": 1234}.')
    return jsonify(id=workspace().uploads.begin(name, size))


def _body() -> Iterator[bytes]:
    while chunk := request.stream.read(_CHUNK):
        yield chunk


@blueprint.put("/api/uploads/<upload_id>")
def receive_upload(upload_id: str) -> Response:
    """Take the announced file as the raw body of the request."""
    info = workspace().uploads.receive(upload_id, _body())
    return jsonify(id=info.id, name=info.name, size=info.size)


@blueprint.delete("/api/uploads/<upload_id>")
def discard_upload(upload_id: str) -> Response:
    """Forget an upload, finished or not."""
    workspace().uploads.discard(upload_id)
    return jsonify(id=upload_id)


def file_answer(content: Iterable[str] | bytes, name: str, mimetype: str = "text/csv") -> Response:
    """A file to be saved; text is sent as it is made."""
    quoted = re.sub(r"[^\w.\-]+", "_", name, flags=re.ASCII)
    body: Any = content if isinstance(content, bytes) else stream_with_context(iter(content))
    return Response(
        body, mimetype=mimetype, headers={"Content-Disposition": f'attachment; filename="{quoted}"'}
    )


@blueprint.get("/api/models/<model_id>/export")
def export_model(model_id: str) -> Response:
    """The model as one zip in PhaseDock's own format."""
    models = workspace().models
    return file_answer(models.export(model_id), f"{models.get(model_id).name}.zip", "application/zip")


@blueprint.get("/api/traces/<trace_set_id>/executions.csv")
def export_executions(trace_set_id: str) -> Response:
    """The table of executions as CSV."""
    traces = workspace().traces
    table = traces.summary(trace_set_id)
    rows = table.itertuples(index=False, name=None)
    return file_answer(
        csv_lines(list(table.columns), rows), f"{traces.get(trace_set_id).name}.csv", "text/csv"
    )


def asked_dwell() -> float:
    """The minimum dwell time of the address in seconds; 0, as labelled, without one; of several the last.

    Raises
    ------
    InputError
        If it is no such time.
    """
    given = request.args.getlist("dwell")
    return ApplicationSettings.read(given[-1] if given else "0").minimum_dwell


@blueprint.get("/api/traces/<trace_set_id>/phases/<model_id>.csv")
def export_phases(trace_set_id: str, model_id: str) -> Response:
    """The phase of every sample as CSV, as shown and as labelled, by the numbers on the screen."""
    space = workspace()
    traces, found = space.traces.load(trace_set_id), space.labels.get(trace_set_id, model_id, asked_dwell())

    def rows() -> Iterator[tuple[str, float, int, int]]:
        for name, time, (shown, plain) in phases_by_execution(traces, found.labels, found.as_labelled):
            yield from zip(repeat(name), time, shown, plain)

    name = f"{space.traces.get(trace_set_id).name}-phases.csv"
    head = ("execution", "time_s", "phase_number", "phase_number_as_labelled")
    return file_answer(csv_lines(head, rows()), name, "text/csv")


@blueprint.get("/api/traces/<trace_set_id>/statistics/<model_id>.csv")
def export_statistics(trace_set_id: str, model_id: str) -> Response:
    """Every phase's statistics of every feature as CSV, in canonical units."""
    space = workspace()
    head = [
        "phase_number",
        "description",
        "samples",
        "share",
        "segments",
        "median_dwell_s",
        "feature",
        "unit",
    ]
    head += ["mean", "sd", "p5", "p25", "p50", "p75", "p95"]
    rows = [
        (
            *(phase_number(each.phase), each.description, each.samples, each.share),
            *(each.runs, each.median_stay),
            *(feature.name, feature.unit.value, feature.mean, feature.sd, *feature.quantiles),
        )
        for each in space.labels.get(trace_set_id, model_id, asked_dwell()).statistics
        for feature in each.features
    ]
    name = f"{space.traces.get(trace_set_id).name}-statistics.csv"
    return file_answer(csv_lines(head, rows), name, "text/csv")
