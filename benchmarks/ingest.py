"""From a CSV to a set that can be browsed, against pyarrow's plain read of the same file.

The file has 5,500 executions of 240 samples with 8 features, about 130 MB. Both ways run in one
process alternately, so that caches, memory and neighbours are the same for both; the medians count.
*Browsable* means: stored with its summary and its fingerprint, opened again, the table of executions
read. Memory is the peak above what the process had before, in a process of its own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from core.files import open_trace_set, write_trace_set
from core.reading import read_with_report

EXECUTIONS, SAMPLES, REPEATS = 5_500, 240, 7
ROOT = Path(__file__).resolve().parent.parent


def make_csv(path: Path, executions: int = EXECUTIONS, samples: int = SAMPLES, seed: int = 0) -> None:
    """Write the file: clean, sorted, regular, numbers with as many digits as monitors print."""
    rng = np.random.default_rng(seed)
    n = executions * samples
    names = pa.array([f"job-{i:05d}" for i in range(executions)])
    codes = pa.array(np.repeat(np.arange(executions, dtype=np.int32), samples))
    columns = {
        "execution": pa.DictionaryArray.from_arrays(codes, names).cast(pa.string()),
        "timestamp": np.tile(1_700_000_000 + 10 * np.arange(samples), executions),
        "cpu_cores": np.round(4 * rng.random(n), 6),
        "memory_bytes": np.round(8e9 * rng.random(n)).astype(np.int64),
        "cpu_limit_cores": np.repeat(rng.integers(1, 9, executions) / 2, samples),
        "memory_limit_bytes": np.repeat(rng.integers(1, 33, executions) * 2**30, samples),
        "read_bytes_per_s": np.round(1e8 * rng.random(n), 6),
        "written_bytes_per_s": np.round(1e8 * rng.random(n), 6),
        "page_faults_per_s": np.round(1e4 * rng.random(n), 9),
        "loss": np.round(rng.random(n), 12),
    }
    pacsv.write_csv(pa.table(columns), path)


def make_json(path: Path, containers: int = 600, samples: int = 1_500, seed: int = 0) -> None:
    """Write a response of Prometheus with three metrics of each container, about 75 MB."""
    rng = np.random.default_rng(seed)
    times = (1_700_000_000 + 15 * np.arange(samples)).tolist()
    rows: dict[str, Any] = {
        "container_cpu_usage_seconds_total": lambda: np.round(np.cumsum(15 * rng.random(samples)), 9),
        "container_memory_working_set_bytes": lambda: np.round(8e9 * rng.random(samples)).astype(np.int64),
        "container_network_receive_bytes_total": lambda: np.cumsum(rng.integers(0, 10**6, samples)),
    }
    result = (
        {
            "metric": {"__name__": name, "namespace": "jobs", "pod": f"job-{i:05d}", "container": "main"},
            "values": [[time, str(value)] for time, value in zip(times, values().tolist(), strict=True)],
        }
        for name, values in rows.items()
        for i in range(containers)
    )
    series = ",".join(json.dumps(one, separators=(",", ":")) for one in result)
    path.write_text(f'{{"status":"success","data":{{"resultType":"matrix","result":[{series}]}}}}')


def ingest(csv: Path, directory: Path) -> None:
    """File to browsable: what an import does."""
    traces, report = read_with_report(csv)
    write_trace_set(directory, traces, report)
    open_trace_set(directory).summary()


def _timed(work: Any, *arguments: Any) -> float:
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


# VmHWM and not ru_maxrss: the latter starts with the parent's size, which a child inherits
_MEMORY = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from benchmarks.ingest import ingest, make_csv
small = Path({folder!r})
make_csv(small / "small.csv", 20, 240)
ingest(small / "small.csv", small / "warm")
def kib(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what))
before = kib("VmRSS")
ingest(Path({csv!r}), small / "whole")
print((kib("VmHWM") - before) * 1024)
"""


def peak_memory(csv: Path, folder: Path) -> int:
    """Bytes above the start at the worst moment of one import, in a process of its own."""
    folder.mkdir()
    code = _MEMORY.format(root=str(ROOT), folder=str(folder), csv=str(csv))
    process = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return int(process.stdout)


def run() -> list[dict[str, Any]]:
    """Measure; one row per target."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        csv = folder / "traces.csv"
        make_csv(csv)
        size = csv.stat().st_size
        pacsv.read_csv(csv)
        own_times, reference_times = [], []
        for i in range(REPEATS):
            reference_times.append(_timed(pacsv.read_csv, csv))
            own_times.append(_timed(ingest, csv, folder / f"set{i}"))
        single = _single(folder / "set0")
        memory = peak_memory(csv, folder / "memory")
        response = folder / "response.json"
        make_json(response)
        json_size, json_memory = response.stat().st_size, peak_memory(response, folder / "memory of JSON")
    own_median, reference = statistics.median(own_times), statistics.median(reference_times)
    return [
        _row("CSV to browsable, 5,500 × 240 × 8", own_median, "s", reference, own_median / reference, 3.0),
        _row("peak memory of that", memory / 2**20, "MiB", size / 2**20, memory / size, 1.6),
        _row(
            "peak memory of Prometheus JSON",
            json_memory / 2**20,
            "MiB",
            json_size / 2**20,
            json_memory / json_size,
            3.0,
        ),
        _row("one execution from the stored set, cold", single[0] * 1e3, "ms", 10.0, single[0] * 100, 1.0),
        _row("one execution from the stored set, warm", single[1] * 1e3, "ms", 10.0, single[1] * 100, 1.0),
    ]


def _single(directory: Path) -> tuple[float, float]:
    """Seconds for one execution: with opening the set, and once it is open."""
    names = [f"job-{i:05d}" for i in range(3, EXECUTIONS, 500)]
    cold = [_timed(lambda one=one: open_trace_set(directory).load_execution(one)) for one in names]
    stored = open_trace_set(directory)
    stored.load_execution(names[0])
    warm = [_timed(stored.load_execution, one) for one in names]
    return statistics.median(cold), statistics.median(warm)


def _row(name: str, value: float, unit: str, reference: float, ratio: float, target: float) -> dict[str, Any]:
    return {
        "name": name, "value": value, "unit": unit, "reference": reference, "ratio": ratio,
        "target": f"≤ {target:g}×", "met": ratio <= target,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(run(), indent=1, ensure_ascii=False))
