"""Server time for each page on 5,500 executions x 240 samples x 8 features.

The requests are those that a browser sends, answered by the real application in this process, so the
times are the server's alone. Warm is the 95th percentile of repeated requests; cold is the first one
of a process that has only just opened the workspace, labels not yet computed.
"""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from app.main import create_app, forget_start
from benchmarks.large_set import large_workspace

if TYPE_CHECKING:
    from flask.testing import FlaskClient

_REPEATS = 25
_WARM_MS, _COLD_MS = 150.0, 1_000.0
_PATHS = ("/", "/traces", "/models", "/phases", "/sequences", "/provisioning", "/tasks")


def _open(client: FlaskClient, path: str, search: str) -> float:
    """Ask for a page as the browser's router does; milliseconds."""
    body: dict[str, Any] = {
        "output": ".._pages_content.children..._pages_store.data..",
        "outputs": [
            {"id": "_pages_content", "property": "children"},
            {"id": "_pages_store", "property": "data"},
        ],
        "inputs": [
            {"id": "_pages_location", "property": "pathname", "value": path},
            {"id": "_pages_location", "property": "search", "value": search},
        ],
        "changedPropIds": ["_pages_location.pathname"],
    }
    start = time.perf_counter()
    answer = client.post("/_dash-update-component", json=body, base_url="http://127.0.0.1:8050")
    took = (time.perf_counter() - start) * 1000
    if answer.status_code != 200 or b"notice bad" in answer.data:
        raise AssertionError(f"{path}: {answer.status_code} {answer.text[:300]}")
    return took


def run() -> list[dict[str, object]]:
    """Measure every page, cold and warm."""
    rows: list[dict[str, object]] = []
    with large_workspace() as (place, trace_set_id, model_id):
        search = f"?traces={trace_set_id}&model={model_id}"
        for path in _PATHS:
            for folder in ("labels", "cache"):
                shutil.rmtree(place.settings.home / folder, ignore_errors=True)
                (place.settings.home / folder).mkdir()
            client = create_app(place.settings).server.test_client()
            client.get("/", base_url="http://127.0.0.1:8050")
            forget_start()
            cold = _open(client, path, search)
            warm = float(np.percentile([_open(client, path, search) for _ in range(_REPEATS)], 95))
            name = path.strip("/") or "overview"
            rows += [
                _row(f"page {name}, cold", cold, _COLD_MS),
                _row(f"page {name}, warm p95", warm, _WARM_MS),
            ]
    return rows


def _row(name: str, value: float, limit: float) -> dict[str, object]:
    return {"name": name, "value": value, "unit": "ms", "target": f"<= {limit:g} ms", "met": value <= limit}
