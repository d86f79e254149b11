"""Use cases on files, without a workspace: compare provisioning policies, recommend."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from core.provisioning.evaluation.evaluate import EvaluationSettings, evaluate
from core.provisioning.evaluation.reporting import describe_split
from core.provisioning.recommendation.exports import Origin, export
from core.provisioning.recommendation.recommend import RecommendSettings, recommend
from core.runtime.offline.models import read
from core.store.allocation_csv import write_allocations
from core.store.phase_models.archive import load_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from core.progress_reporting import Progress
    from core.provisioning.evaluation.evaluate import Evaluation
    from core.traces.model import FloatArray


def compare(
    model: Path,
    file: Path,
    values: Mapping[str, object],
    policies: Sequence[str],
    *,
    mapping: Path | None = None,
    allocations: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compare policies on a trace file.

    Parameters
    ----------
    model, file
        The phase model and the traces.
    values
        Fields of `EvaluationSettings`; those left out have their defaults.
    policies
        Their names, or ``all``.
    mapping
        A JSON file with the mapping of the columns; as recognised when left out.
    allocations
        Where every policy's allocation of each held-out sample goes, as CSV.
    progress
        Called as the work goes on.

    Returns
    -------
    dict
        The report, with ``results``: one entry per policy and resource.

    Raises
    ------
    InputError, MismatchError, NotFoundError
        As `core.provisioning.evaluation.evaluate.evaluate`.
    """
    settings = EvaluationSettings.from_dict(values)
    loaded = load_model(model)
    made = evaluate(read(file, mapping), loaded, settings, policies, progress=progress)
    if allocations is not None:
        fleet = next(iter(made.held_out.values())).fleet
        write_allocations(allocations, fleet.ids, fleet.offsets, fleet.time, _series(made))
    return flat(made.report)


def flat(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report with one entry per policy and resource, and without what is only drawn."""
    results = [
        {**row, "resource": resource, "unit": part["unit"]}
        for resource, part in report["resources"].items()
        for row in part["policies"]
    ]
    best = {resource: part["best_reactive"] for resource, part in report["resources"].items()}
    rest = {key: value for key, value in report.items() if key != "resources"}
    return {"summary": describe_split(report), **rest, "best_reactive": best, "results": results}


def advise(
    model: Path, file: Path, style: str, values: Mapping[str, object], mapping: Path | None = None
) -> str:
    """Recommend request and limit for a trace file, in one of the export formats.

    Raises
    ------
    InputError
        If there is no such format or group column, or there is nothing to allocate.
    MismatchError
        If the model does not fit the traces.
    """
    settings = RecommendSettings.from_dict(values)
    rows = recommend(read(file, mapping), load_model(model), settings)
    return export(rows, Origin(model.name, file.name, datetime.now(UTC).date().isoformat()), style)


def _series(made: Evaluation) -> Iterator[tuple[str, str, FloatArray, FloatArray]]:
    for resource, allocations in made.allocations.items():
        for policy, values in allocations.items():
            yield policy, resource.value, values, made.held_out[resource].values
