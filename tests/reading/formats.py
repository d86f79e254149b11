"""One small whole file of every format that is read: what the damaged ones are made from.

A format knows how its content becomes a file (or a folder with the other parts of a model), and by which
doors that file is read.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zipfile
import zlib
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.files import import_ai4dl, load_model, model_archive
from core.phases.crbm import Layout, initial_parameters
from core.phases.encoders import CrbmEncoder
from core.phases.model import Expansion, PhaseModel
from core.phases.rows import Scaler
from core.phases.settings import PhaseSettings
from core.reading import inspect_file, read_with_report
from core.reading.cleaning.rows import BESIDE, OPTIONAL_ROLES
from core.reading.mapping import INTERVAL, ColumnMapping, MappedColumn
from core.traces.model import Feature, Role
from core.units import Unit
from tests.reading.foreign_files import crbm_pickle, kmeans_joblib, scaler_joblib, write_folder
from tests.reading.format_examples import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Format:
    """A format: a whole file's content, how it is written, and how the file is read."""

    name: str
    content: bytes
    write: Callable[[Path, bytes], Path]
    read: Callable[[Path], object]


def formats() -> dict[str, Format]:
    """Every format by its name."""
    return {one.name: one for one in (*_traces(), *_models())}


# ── traces ──


MAPPING = ColumnMapping(
    execution="execution",
    time="timestamp",
    features=(MappedColumn("cpu", Role.CPU, "cores"), MappedColumn("memory", Role.MEMORY, "bytes")),
)
N = 9
TABLE = "execution,timestamp,cpu,memory\n" + "".join(
    f"{name},{1_700_000_000 + 10 * i},{0.25 * i},{10**9 + i}\n" for name in ("a", "bé") for i in range(N)
)
DATES = "pod;time;cpu;mem_mib;kind\n" + "".join(
    f'"p;{p}";2026-01-31T12:00:{10 + i}Z;{i},25;{100 + i},5;"x ""y"""\n' for p in range(2) for i in range(N)
)
INDEXED = '"timestamp","pod.id","cpu.usage","mem.current"\n' + "".join(
    f'"{i}",{1_565_962_220 + 30 * i},"e{i // 5}",{i},{1000 + i}\n' for i in range(N)
)
AI4DL = (
    '"timestamp","service","pod.id","cpu.num.cores","cpu.usage","cpu.usage.cores","cpu.usage.pct",'
    '"cpu.usage.pct.container.requested","mem.current","mem.limit","mem.usage.pct","mem.working.set"\n'
) + "".join(
    f'{1_565_962_220 + 30 * i},"s1","e{p}",4,{7 * i},0.0{i},1.0{i},1,{2 + i},52,0.0{i},{3 + i}\n'
    for p in range(2)
    for i in range(N)
)
RECORDER = (
    "execution,timestamp,cpu_cores,memory_bytes,cpu_limit_cores,memory_limit_bytes,read_bytes,loss,workload\n"
) + "".join(
    f"a,{1.7e9 + 5 * i:.1f},{0.5 + i},{2**20 * (i + 1)},2,{2**30},{i},{'' if i < 2 else 0.5},v\n"
    for i in range(N)
)
BATCH = "execution,timestamp,cpu,mem,cpu_iowait,disk_read,disk_write,workload\n" + "".join(
    f"{name},{step * i},{i},1024,0,0,0,sort\n" for name, step in (("fast", 1), ("slow", 5)) for i in range(N)
)
INFLUX = "\n".join(
    "#group,false,false,false,false,true,true\n#datatype,string,long,dateTime:RFC3339,double,string,string\n"
    "#default,_result,,,,,\n,result,table,_time,_value,_field,container_name\n"
    + "".join(f",,{n},2026-01-31T12:00:{10 + i}Z,{i}.5,{field},web\n" for i in range(N))
    for n, field in enumerate(("cpu_cores", "memory_mib"))
)
BITBRAINS = (
    "Timestamp [ms];\tCPU cores;\tCPU capacity provisioned [MHZ];\tCPU usage [MHZ];\tCPU usage [%];"
    "\tMemory capacity provisioned [KB];\tMemory usage [KB]\n"
) + "".join(
    f"{1376314846 + 300 * i};\t4;\t11703.9;\t10912.02;\t{50.0 + i};\t6.7E7;\t6129274.4\n" for i in range(N)
)
ALIBABA = "".join(
    f"c_{c},m_25{c},{600 + 10 * i},{12.5 + i},{30 + c},1.1,,0.2,0.1,0.2,5\n" for i in range(N) for c in (1, 2)
)
LONG = "timestamp,__name__,pod,container,value\n" + "".join(
    f"{1_700_000_000 + 10 * i},{metric},{pod},main,{5 * i}\n"
    for i in range(N)
    for pod in "ab"
    for metric in ("container_cpu_usage_seconds_total", "container_memory_working_set_bytes")
)
SADF = (
    "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n"
    + "".join(f"n;10;2024-01-31 00:00:1{i} UTC;-1;20.00;0.00;5.00;1.00;0.00;{70 + i}.00\n" for i in range(N))
    + "n;-1;2024-01-31 00:00:25 UTC;LINUX-RESTART\t(4 CPU)\n"
    + "# hostname;interval;timestamp;kbmemfree;kbavail;kbmemused;%memused\n"
    + "".join(f"n;10;2024-01-31 00:00:1{i} UTC;1000;2000;{4096 + i};40.00\n" for i in range(N))
)
SAR = (
    "Linux 5.15.0-91 (node1) \t01/31/2024 \t_x86_64_\t(4 CPU)\n\n"
    "11:59:50 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    + "".join(
        f"11:59:5{i} PM     all     20.00      0.00      5.00      1.00    0.00   7{i}.00\n" for i in range(N)
    )
    + "12:00:10 AM     all     45.00      0.00      5.00      1.00      0.00     50.00\n"
    "Average:        all     32.50      0.00      5.00      1.00      0.00     62.50\n\n"
    "11:59:40 PM kbmemfree   kbavail kbmemused  %memused\n"
    + "".join(f"11:59:5{i} PM      1000      2000      409{i}     40.00\n" for i in range(N))
)
DOCKER_JSON = "".join(
    json.dumps(
        {"Name": name, "CPUPerc": f"{10 * i + 5}.30%", "MemUsage": "1.5GiB / 4GiB", "MemPerc": "37%",
         "NetIO": "1.2kB / 0B", "BlockIO": "-- / --", "PIDs": "7", "timestamp": f"2024-01-31T10:00:0{i}Z"}
    ) + "\n"
    for i in range(N) for name in ("web", "train")
)  # fmt: skip
JSON_LINES = "".join(
    json.dumps({"ts": 1_700_000_000 + 5 * i, "container": {"name": name, "cpu": {"cores": 0.5 * i}},
                "gpus": [{"util": 0.5}, {"util": None}], "memory_bytes": 10**9 + i}) + "\n"
    for i in range(N) for name in ("web", "train")
)  # fmt: skip
DOCKER_TABLE = "".join(
    "\x1b[2J\x1b[HCONTAINER ID  NAME   CPU %   MEM USAGE / LIMIT  MEM %  NET I/O   BLOCK I/O  PIDS\n"
    f"0123456789ab  train  {100 + i}.5%  1.2GiB / 4GiB  30%  1.2kB / 0B  0B / 12MB  12\n"
    "0123456789ac   idle      --        -- / --\n"
    for i in range(N)
)
PROMETHEUS = json.dumps(
    {
        "status": "success",
        "data": {
            "resultType": "matrix",
            "result": [
                {
                    "metric": {"__name__": metric, "pod": pod, "container": "main"},
                    "values": [[1.7e9 + 15 * i, str(5 * i)] for i in range(N)],
                }
                for pod in "ab"
                for metric in ("container_cpu_usage_seconds_total", "container_memory_working_set_bytes")
            ],
        },
    }
)


def _parquet(compression: str) -> bytes:
    buffer = io.BytesIO()
    table = pa.table(
        {
            "execution": ["exec-a"] * N + ["exec-b"] * N,
            "timestamp": pa.array([*range(N), *range(N)], pa.timestamp("s")),
            "cpu": pa.array([0.25 * i for i in range(2 * N)], pa.float32()),
            "memory": [str(10**9 + i) for i in range(2 * N)],
            "kind": pa.array(["x", "y"] * N).dictionary_encode(),
        }
    )
    pq.write_table(table, buffer, compression=compression, use_dictionary=compression != "none")
    return buffer.getvalue()


def usable(path: Path, mapping: ColumnMapping | None = None) -> None:
    """Read a trace file: what comes back must be whole."""
    found = inspect_file(path).mapping
    if mapping is None and found is not None and found.unknown == (INTERVAL,):
        mapping = replace(found, period=1.0)
    traces, report = read_with_report(path, mapping)
    assert report.executions_kept == traces.n_executions > 0
    assert 0 < report.rows_kept <= report.rows_read
    assert all(0 < len(one) <= 800 for one in report.sentences())
    for execution in traces.executions():
        assert (np.diff(execution.time) > 0).all()
    for feature, values in zip(traces.features, traces.columns, strict=True):
        assert len(values) == traces.n_samples
        there = (
            values[~np.isnan(values)] if feature.role in (*OPTIONAL_ROLES, *BESIDE, Role.OTHER) else values
        )
        assert np.isfinite(there).all()
        assert feature.role in (Role.OTHER, Role.LOSS) or (there >= 0).all()


def _plain(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _gzipped(path: Path, content: bytes) -> Path:
    return _plain(path, gzip.compress(content, 1))


def _traces() -> list[Format]:
    texts = {
        "table": TABLE, "semicolons": DATES, "unnamed-index": INDEXED, "ai4dl": AI4DL, "recorder": RECORDER,
        "batch-jobs": BATCH, "bitbrains": BITBRAINS, "alibaba": ALIBABA, "prometheus-csv": LONG, "sadf": SADF,
        "sar": SAR, "docker-json": DOCKER_JSON, "docker-table": DOCKER_TABLE, "prometheus-json": PROMETHEUS,
        "json-lines": JSON_LINES, "influx": INFLUX,
    }  # fmt: skip
    plain = [Format(name, text.encode(), _plain, usable) for name, text in texts.items()]
    mapped = partial(usable, mapping=MAPPING)
    examples = {name: text if isinstance(text, bytes) else text.encode() for name, text in EXAMPLES.items()}
    return [
        *plain,
        *(Format(f"example-{name}", content, _plain, usable) for name, content in examples.items()),
        Format("mapped-table", TABLE.encode(), _plain, mapped),
        Format("utf-16", TABLE.encode("utf-16"), _plain, mapped),
        Format("in-gzip", TABLE.encode(), _gzipped, mapped),
        Format("gzip", gzip.compress(TABLE.encode()), _plain, mapped),
        Format("parquet", _parquet("none"), _plain, usable),
        Format("parquet-snappy", _parquet("snappy"), _plain, usable),
        Format("nothing", b"", _plain, usable),
    ]


# ── models ──


def _theirs() -> tuple[Any, ...]:
    """CRBM, centres, mean and scale of a model of AI4DL's eight features."""
    rng = np.random.default_rng(0)
    return (
        initial_parameters(Layout(8, 2, 3), rng),
        rng.uniform(size=(3, 3)),
        rng.uniform(10, 20, 8),
        rng.uniform(1, 3, 8),
    )


@cache
def small_model() -> PhaseModel:
    """A model with an expansion, two features and three phases."""
    rng = np.random.default_rng(1)
    features = (Feature("cpu", Role.CPU, Unit.CORES), Feature("memory", Role.MEMORY, Unit.BYTES))
    centres = rng.uniform(size=(3, 3)).astype(np.float32)
    model = PhaseModel(
        features,
        Scaler(np.zeros(2), np.ones(2)),
        CrbmEncoder(initial_parameters(Layout(2, 1, 3), rng)),
        centres,
        PhaseSettings(phases=3, hidden=3, history=1),
    )
    return replace(model, expansions=(Expansion(0, (3, 4), centres[:2] + 1),))


def unzipped(data: bytes) -> dict[str, bytes]:
    """The parts of a zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts: dict[str, bytes]) -> bytes:
    """A zip of parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def archive_with(facts: bytes | None = None, arrays: bytes | None = None) -> bytes:
    """A model's zip with another description, or with other arrays and an honest digest of them."""
    parts = unzipped(model_archive(small_model()))
    if arrays is not None:
        told = {**json.loads(parts["model.json"]), "arrays_sha256": hashlib.sha256(arrays).hexdigest()}
        parts = {"model.json": json.dumps(told).encode(), "arrays.npz": arrays}
    return zipped(parts if facts is None else {**parts, "model.json": facts})


def _with_array(content: bytes) -> bytes:
    arrays = unzipped(unzipped(model_archive(small_model()))["arrays.npz"])
    return archive_with(arrays=zipped({**arrays, "centres.npy": content}))


def _as_archive(make: Callable[[bytes], bytes]) -> Callable[[Path, bytes], Path]:
    return lambda path, content: _plain(path, make(content))


def _as_folder(path: Path, content: bytes) -> Path:
    folder = path.with_suffix(".model")
    folder.mkdir(exist_ok=True)
    (folder / "arrays.npz").write_bytes(unzipped(model_archive(small_model()))["arrays.npz"])
    (folder / "model.json").write_bytes(content)
    return folder


def _among_theirs(part: str, pack: Callable[[bytes], bytes] = bytes) -> Callable[[Path, bytes], Path]:
    """A folder as AI4DL saves it, one part of which is the content."""

    def write(path: Path, content: bytes) -> Path:
        folder = path.with_suffix(".ai4dl")
        if not folder.exists():
            write_folder(folder, *_theirs())
        (folder / part).write_bytes(pack(content))
        return folder

    return write


def _models() -> list[Format]:
    parts = unzipped(model_archive(small_model()))
    arrays = unzipped(parts["arrays.npz"])
    crbm, centres, mean, scale = _theirs()
    pickled, initializer = "crbm1/model_dict.pickle", "crbm1/model_initializer.json"
    kmeans, scaler = "our_kmeans1.joblib", "our_scaler1.joblib"
    facts = json.dumps({"n_epochs": 1000, "learning_rate": 0.001, "random_state": 1234, "patience": 3})
    return [
        Format("model-zip", model_archive(small_model()), _plain, load_model),
        Format("model-folder", parts["model.json"], _as_folder, load_model),
        Format(
            "model-facts", parts["model.json"], _as_archive(lambda data: archive_with(facts=data)), load_model
        ),
        Format(
            "model-npz", parts["arrays.npz"], _as_archive(lambda data: archive_with(arrays=data)), load_model
        ),
        Format("model-npy", arrays["centres.npy"], _as_archive(_with_array), load_model),
        Format("crbm-pickle", crbm_pickle(crbm), _among_theirs(pickled), import_ai4dl),
        Format(
            "crbm-gzip",
            crbm_pickle(crbm),
            _among_theirs(pickled, partial(gzip.compress, compresslevel=1)),
            import_ai4dl,
        ),
        Format("crbm-facts", facts.encode(), _among_theirs(initializer), import_ai4dl),
        Format("kmeans-joblib", kmeans_joblib(centres), _among_theirs(kmeans), import_ai4dl),
        Format("scaler-joblib", scaler_joblib(mean, scale), _among_theirs(scaler), import_ai4dl),
        Format("scaler-zlib", zlib.compress(scaler_joblib(mean, scale)), _among_theirs(scaler), import_ai4dl),
    ]
