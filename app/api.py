"""The routes that are not pages: health, streamed uploads, and files to download.

An upload is announced, then sent as the raw body of one PUT, which is written to disk as it comes:
hundreds of megabytes cost the server a few. A refusal is a sentence, as JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, jsonify, request

from app.context import workspace
from app.ui.tables import file_answer
from core.errors import ConflictError, InputError, NotFoundError, PhaseDockError

if TYPE_CHECKING:
    from collections.abc import Iterator

blueprint = Blueprint("api", __name__)
_CHUNK = 1 << 20


def explain(error: PhaseDockError) -> tuple[Response, int]:
    """Return an error as JSON with its HTTP status."""
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
    body: Any = request.get_json(silent=True)
    name, size = (body.get("name"), body.get("size")) if isinstance(body, dict) else (None, None)
    if not isinstance(name, str) or type(size) is not int or abs(size) >= 2**63:
        raise InputError("An upload needs a name and a size.", 'Send {"name": "traces.csv", "size": 1234}.')
    return jsonify(id=workspace().uploads.begin(name, size))


def _body() -> Iterator[bytes]:
    while chunk := _next_chunk():
        yield chunk


def _next_chunk() -> bytes:
    try:
        return request.stream.read(_CHUNK)
    except Exception as error:  # each server has errors of its own for a body that is not well-formed
        raise InputError("The file did not arrive whole.", "Send it again.") from error


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


@blueprint.get("/api/models/<model_id>/export")
def export_model(model_id: str) -> Response:
    """The model as one zip in PhaseDock's own format."""
    models = workspace().models
    return file_answer(models.export(model_id), f"{models.get(model_id).name}.zip", "application/zip")
