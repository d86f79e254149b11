"""The recorded history of 50 containers over a week: bytes on disk, and the slowest chart.

The containers repeat what the bundled recordings used, each from another second on, with a little noise, so
that packing does not find the same numbers twice. Six of the days come in samples ten seconds apart, as only
minutes are left of them; the last day comes second by second. A chart is read and drawn as on Live.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from app.figures.live import history_figure
from app.pages.live.record import RANGES
from core.live.history.chunks import RecordedContainer, size
from core.live.history.reader import read_points
from core.live.history.writer import HistoryWriter
from core.reading import read_traces
from core.sampling.values import FIELDS, History
from core.workspace.samples import RECORDED

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

_CONTAINERS, _DAYS, _DAY = 50, 7, 86_400
_TRIES = 5
_LINES = ("cpu", "cpu_limit", "memory", "memory_limit", "loss", "throttled")
_RECORDED = {"cpu": "cpu_cores", "memory": "memory_bytes", "loss": "loss"}


def _used() -> npt.NDArray[np.float32]:
    """The usage of the recorded jobs, one after the other; shape (samples, len(FIELDS))."""
    traces = read_traces(RECORDED.folder / RECORDED.traces)
    used = np.full((traces.n_samples, len(FIELDS)), np.nan, np.float32)
    for line, feature in _RECORDED.items():
        used[:, FIELDS.index(line)] = traces.column(feature)
    return used


def _remember(folder: Path, until: float) -> list[RecordedContainer]:
    rng, used = np.random.default_rng(1), _used()
    containers = [
        RecordedContainer(f"{at:064x}", f"job-{at:02}", "phasedock-jobs:torch") for at in range(_CONTAINERS)
    ]
    by_id = {each.id: each for each in containers}
    places = rng.integers(len(used), size=_CONTAINERS)
    writer = HistoryWriter(folder)
    since = until - _DAYS * _DAY
    for second in range(_DAYS * _DAY):
        if second < (_DAYS - 1) * _DAY and second % 10:
            continue
        rows = used[(places + second) % len(used)] * rng.normal(1.0, 0.01, (_CONTAINERS, 1))
        writer.add(since + second, dict(zip(by_id, rows, strict=True)), by_id)
    return containers


def _chart(folder: Path, container: RecordedContainer, seconds: float, now: float) -> float:
    start = time.perf_counter()
    past = read_points(folder, [container.id], now - seconds, now, now)[container.id]
    lines: dict[str, Any] = {line: past.values[:, FIELDS.index(line)] for line in _LINES}
    history_figure(History(past.time, **lines), container.name).to_json()
    return time.perf_counter() - start


def _row(name: str, value: float, unit: str, limit: float) -> dict[str, Any]:
    what = f"{_CONTAINERS} containers for {_DAYS} days, {name}"
    return {
        "name": what, "value": value, "unit": unit, "target": f"<= {limit:g} {unit}", "met": value <= limit
    }  # fmt: skip


def run() -> Iterator[dict[str, Any]]:
    """Write the week, weigh it, and draw every range of some of the containers."""
    with tempfile.TemporaryDirectory() as home:
        folder, now = Path(home), float(int(time.time()))
        containers = _remember(folder, now)
        yield _row("on disk", size(folder) / 1e6, "MB", 300)
        _chart(folder, containers[0], 3600.0, now)
        slowest = max(
            float(np.median([_chart(folder, each, seconds, now) for each in containers[:_TRIES]]))
            for seconds in RANGES.values()
        )
        yield _row("the slowest chart", 1000 * slowest, "ms", 300)
