"""What a stored trace set says of itself, and the names of its files and columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.traces.model import Feature, Resampling, Role
from core.units import Unit

FORMAT = 1
INFO, REPORT, SAMPLES, EXECUTIONS, BREAKS = (
    "info.json", "report.json", "samples.parquet", "executions.parquet", "breaks.npy",
)  # fmt: skip
START, GROUP = "first_sample", "row_group"
SUMMARY_COLUMNS = frozenset(
    ("execution", "samples", "start_s", "duration_s", "gaps", "cpu_mean", "cpu_peak", "memory_mean",
     "memory_peak", START, GROUP)
)  # fmt: skip


def attribute_column(key: str) -> str:
    """The column of the table of executions in which an attribute is kept."""
    return f"{key} (attribute)" if key in SUMMARY_COLUMNS else key


@dataclass(frozen=True, slots=True)
class StoredInfo:
    """What is known of a stored set without reading its samples."""

    features: tuple[Feature, ...]
    attributes: tuple[str, ...]
    period: float
    resampling: Resampling
    n_executions: int
    n_samples: int
    fingerprint: str


def info_to_dict(info: StoredInfo) -> dict[str, Any]:
    """The description as JSON holds it."""
    return {
        "format": FORMAT,
        "features": [[one.name, one.role.value, one.unit.value] for one in info.features],
        "attributes": list(info.attributes),
        "period": info.period,
        "resampling": info.resampling.value,
        "n_executions": info.n_executions,
        "n_samples": info.n_samples,
        "fingerprint": info.fingerprint,
    }


def info_from_dict(data: dict[str, Any]) -> StoredInfo:
    """The description that `info_to_dict` wrote."""
    return StoredInfo(
        features=tuple(Feature(name, Role(role), Unit(unit)) for name, role, unit in data["features"]),
        attributes=tuple(data["attributes"]),
        period=float(data["period"]),
        resampling=Resampling(data["resampling"]),
        n_executions=int(data["n_executions"]),
        n_samples=int(data["n_samples"]),
        fingerprint=str(data["fingerprint"]),
    )
