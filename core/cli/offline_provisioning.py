"""Use cases on files, without a workspace: compare provisioning policies, write the verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from core.cli.offline_files import applied
from core.errors import InputError
from core.experiments.spec_values import SpecError, read_marked, refuse_unknown, require_mapping
from core.files.allocation_csv import write_allocations
from core.provisioning.evaluation.evaluate import EvaluationSettings, describe_split, evaluate, proposed_for
from core.provisioning.fleet import Resource
from core.provisioning.manifests import write
from core.provisioning.manifests.manifest_comments import About
from core.provisioning.policies import checked_settings, chosen
from core.provisioning.verdict.savings import PriceSettings, assumptions
from core.provisioning.verdict.verdict import verdict
from core.settings_fields import parse_assignments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from core.cli.offline_files import Notify
    from core.progress_reporting import Progress
    from core.provisioning.evaluation.evaluate import Evaluation
    from core.traces.model import FloatArray, TraceSet


@dataclass(frozen=True, slots=True)
class Listener:
    """Callbacks for progress and warnings of a long comparison."""

    #: Called as the work proceeds.
    progress: Progress | None = None
    #: Called as by `core.cli.offline_files.applied`.
    notify: Notify | None = None


def compare(
    model: Path,
    file: Path,
    values: Mapping[str, object],
    policies: Sequence[str],
    *,
    policy_settings: Mapping[str, Mapping[str, object]] | None = None,
    mapping: Path | None = None,
    allocations: Path | None = None,
    listener: Listener | None = None,
) -> dict[str, Any]:
    """Compare policies on a trace file.

    Raises
    ------
    InputError, MismatchError, NotFoundError
        As `core.provisioning.evaluation.evaluate.evaluate`.
    """
    settings, policy_settings = EvaluationSettings.from_dict(values), checked_settings(policy_settings or {})
    left_out = next(
        (name for name in policy_settings if name not in [each.name for each in chosen(policies)]), None
    )
    if left_out is not None:
        raise InputError(
            f"There are settings for “{left_out}”, which is not compared.", "Add it to --policies."
        )
    listener = listener or Listener()
    loaded, traces = applied(model, file, mapping, None if settings.refit else listener.notify)
    settings = _with_cycle(settings, values, traces)
    evaluation = evaluate(traces, loaded, settings, policies, policy_settings, listener.progress)
    if allocations is not None:
        fleet = next(iter(evaluation.held_out.values())).fleet
        write_allocations(allocations, fleet.ids, fleet.offsets, fleet.time, _series(evaluation))
    return flat(evaluation.report)


def _with_cycle(
    settings: EvaluationSettings, values: Mapping[str, object], traces: TraceSet
) -> EvaluationSettings:
    """The settings with the cycle that the page would propose, unless one is given."""
    return settings if "cycle" in values else replace(settings, cycle=proposed_for(traces))


def gathered(
    path: Path | None, options: Mapping[str, object], changes: Sequence[str]
) -> tuple[dict[str, object], dict[str, dict[str, object]]]:
    """Merge the settings of a file with the options of the command line, which win.

    Raises
    ------
    InputError
        If the file cannot be read, or a change sets nothing.
    """
    comparison, by_policy = ({}, {}) if path is None else read_settings(path)
    for name, values in parse_assignments(changes).items():
        by_policy[name] = {**by_policy.get(name, {}), **values}
    return {**comparison, **options}, by_policy


def read_settings(path: Path) -> tuple[dict[str, object], dict[str, dict[str, object]]]:
    """The settings of a comparison and of single policies from a YAML or JSON file.

    Such a file has up to two parts::

        comparison: {cycle: 300, tolerance: 0.05}
        policies:
          event: {tries: 20}

    Raises
    ------
    InputError
        If the file cannot be read, is no YAML, or has other parts.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"“{path}” cannot be read.", "Name a YAML or JSON file with settings.") from None
    try:
        values = require_mapping(read_marked(text).values or {}, (), "The file")
        refuse_unknown(values, ("comparison", "policies"), (), "The file")
        comparison = require_mapping(values.get("comparison") or {}, ("comparison",), "comparison")
        by_policy = require_mapping(values.get("policies") or {}, ("policies",), "policies")
        return dict(comparison), {
            str(name): dict(require_mapping(each or {}, ("policies", name), str(name)))
            for name, each in by_policy.items()
        }
    except SpecError as error:
        raise InputError(f"{path.name}: {error.message}", error.hint) from None
    except InputError as error:
        hint = "Write YAML with “comparison” and “policies”."
        raise InputError(f"{path.name} cannot be read. {error.message}", hint) from None


def flat(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report with one entry per policy and resource, without the parts that only charts use."""
    results = [
        {**row, "resource": resource, "unit": part["unit"]}
        for resource, part in report["resources"].items()
        for row in part["policies"]
    ]
    best = {resource: part["best_reactive"] for resource, part in report["resources"].items()}
    other_entries = {key: value for key, value in report.items() if key != "resources"}
    return {"summary": describe_split(report), **other_entries, "best_reactive": best, "results": results}


@dataclass(frozen=True, slots=True)
class VerdictFile:
    """The format, prices and choices of an exported verdict."""

    #: ``patch``, ``vpa``, ``docker``, ``json`` or ``csv``.
    style: str = "json"
    #: The policy for a resource, such as ``"cpu=phase.rule"``; the others are chosen.
    take: Sequence[str] = ()
    #: Fields of `PriceSettings`, such as ``"core_hour=0.05"``.
    prices: Sequence[str] = ()
    #: An ISO date; today when left out.
    date: str | None = None


def verdict_text(
    model: Path,
    file: Path,
    values: Mapping[str, object],
    policies: Sequence[str],
    output: VerdictFile,
    *,
    mapping: Path | None = None,
    listener: Listener | None = None,
) -> str:
    """Compare policies on a trace file and write the verdict in one of the formats of manifests.

    Raises
    ------
    InputError, MismatchError, NotFoundError
        As `compare`, and where there is nothing that can be set.
    """
    chosen_prices = PriceSettings.from_dict(dict(_pair(each) for each in output.prices))
    overrides = _policy_overrides(output.take, policies)
    settings = EvaluationSettings.from_dict(values)
    listener = listener or Listener()
    loaded, traces = applied(model, file, mapping, None if settings.refit else listener.notify)
    settings = _with_cycle(settings, values, traces)
    report = evaluate(traces, loaded, settings, policies, progress=listener.progress).report
    result = verdict(report, overrides, chosen_prices, loaded.names)
    if result is None:
        raise AssertionError("a new report has a verdict")
    today = output.date or datetime.now(UTC).date().isoformat()
    basis = tuple(assumptions(report["recorded"], chosen_prices))
    return write(result, About(file.name, model.name, today, report, basis), output.style)


def _policy_overrides(take: Sequence[str], policies: Sequence[str]) -> dict[Resource, str]:
    """The policy that is taken for each resource that is named."""
    compared, policy_of_resource = {each.name for each in chosen(policies)}, {}
    for text in take:
        resource, name = _pair(text)
        if resource not in list(Resource):
            raise InputError(f"There is no resource “{resource}”.", "Name cpu or memory.")
        if name not in compared:
            raise InputError(f"“{name}” is not compared.", "Add it to --policies.")
        policy_of_resource[Resource(resource)] = name
    return policy_of_resource


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (sign and name.strip() and value.strip()):
        raise InputError(f"“{text}” is not of the form name=value.", "Try cpu=phase.rule or core_hour=0.05.")
    return name.strip(), value.strip()


def _series(evaluation: Evaluation) -> Iterator[tuple[str, str, FloatArray, FloatArray]]:
    for resource, allocations in evaluation.allocations.items():
        for policy, values in allocations.items():
            yield policy, resource.value, values, evaluation.held_out[resource].values
