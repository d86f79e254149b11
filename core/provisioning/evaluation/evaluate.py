"""Evaluating policies on the same traces: which allocates least at the same risk, on held-out containers.

Containers are split by group. Policies learn from the training containers, which also fix the
factor that makes each fall short for the same share of time (5%); they are judged on the others. The report
says what it rests on: the split, the phase model, and what that was trained on.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InputError
from core.phases import encode, fit, predict
from core.phases.matching import match_features
from core.provisioning.evaluation.comparison import Comparison, settings_of, sit
from core.provisioning.evaluation.splitting import Split, split
from core.provisioning.fleet import prepare, require_past
from core.provisioning.policies import chosen
from core.provisioning.policy import WHY_NOT, Need
from core.provisioning.verdict.savings import workloads_of
from core.provisioning.verdict.workload_evidence import Side, present_amount, workload_evidence
from core.settings_fields import build, setting
from core.traces.model import fingerprint
from core.units import format_duration, format_set_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.phases import PhaseModel
    from core.progress_reporting import Progress
    from core.provisioning.evaluation.comparison import Exam
    from core.provisioning.fleet import Demand, Fleet, Floats, Integers, Provisioning, Resource
    from core.provisioning.policy import Policy
    from core.provisioning.verdict.savings import Workloads
    from core.traces.model import TraceSet


_TRAINED_ON_HELD_OUT = (
    "The phase model was trained on these very traces, the held-out containers included: what it calls a "
    "phase is not independent of them. Policies still learn from training containers only."
)
ITSELF = "With a single container it would be judged on what it learned from."
_ALONE = (
    "There is only one container, so none can be held out. What is shown is a replay on that container: what "
    "rules that learn nothing would have given it. It describes the past of one container and promises "
    "nothing for others."
)


def only_itself(*, tested: bool) -> list[str]:
    """The note for a single container that is both training and test data."""
    return [] if tested else [_ALONE]


def recorded(fleet: Fleet, by: str | None) -> dict[str, Any]:
    """Duration and clock of the recordings, and the attribute that distinguishes workloads.

    ``span_s`` lasts from the first sample of any container to the end of the last one;
    ``same_start`` says that all begin at one time, as where a file has times but no dates.
    """
    begins, ends = fleet.time[fleet.offsets[:-1]], fleet.time[fleet.offsets[1:] - 1]
    return {
        "by": by,
        "span_s": float(ends.max() - begins.min()) + fleet.period,
        "same_start": bool(np.ptp(begins) <= fleet.period),
        "containers": fleet.n_containers,
        "container_seconds": float(fleet.seconds.sum()),
    }


def split_report(data: Provisioning, divided: Split, grouped_by: str) -> dict[str, Any]:
    """The containers and groups on each side of the split."""
    fleet = data.fleet
    names = [[fleet.ids[i] for i in part] for part in (divided.training, divided.held_out)]
    groups = [
        list(dict.fromkeys(fleet.groups[i] for i in part)) if grouped_by else []
        for part in (divided.training, divided.held_out)
    ]
    return {
        "by": grouped_by or None,
        "tested": divided.tested,
        "training": names[0],
        "held_out": names[1],
        "training_groups": groups[0],
        "held_out_groups": groups[1],
    }


def trained_on(model: PhaseModel, traces: TraceSet, fleet: Fleet, divided: Split) -> str:
    """The part of the containers that the model was trained on: ``held_out``, ``training`` or ``unknown``."""
    if not model.training.fingerprint:
        return "unknown"
    if model.training.fingerprint == fingerprint(traces):
        return "held_out"
    only = traces.only([fleet.ids[i] for i in divided.training])
    return "training" if model.training.fingerprint == fingerprint(only) else "unknown"


def model_report(model: PhaseModel, training_set: str) -> dict[str, Any]:
    """The phase model in short."""
    return {
        "phases": list(model.phases),
        "encoder": model.settings.encoder,
        "origin": model.origin,
        "trained_on": training_set,
    }


def model_notes(training_set: str | None) -> list[str]:
    """Notes about the phase model, in sentences."""
    if training_set is None:
        return ["No phase model was given: policies that need phases are left out."]
    match training_set:
        case "held_out":
            return [_TRAINED_ON_HELD_OUT]
        case "unknown":
            return ["It is not known whether the phase model was trained on the held-out containers."]
        case _:
            return []


def finite(value: Any) -> Any:
    """Replace NaN and infinities, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def describe_split(report: Mapping[str, Any]) -> str:
    """Describe in one sentence how the comparison was made."""
    split, settings = report["split"], report["settings"]
    if not split.get("tested", True):
        return (
            f"1 execution, so none is held out: policies are replayed on itself, "
            f"cycle {format_duration(settings['cycle'])}."
        )
    unit = f"whole groups of “{split['by']}”" if split["by"] else "containers"
    n_held_out, n_training = len(split["held_out"]), len(split["training"])
    return (
        f"{n_held_out:,} of {n_held_out + n_training:,} executions held out "
        f"({unit}, seed {settings['seed']}), cycle {format_duration(settings['cycle'])}, "
        f"{format_set_share(settings['tolerance'])} of the time may fall short."
    )


BINS = 240
_SLACK = 1e-4


# Totals over time: what all held-out containers used together and what policies gave (AI4DL, Figure 4).
#
# Containers ran at different times, so they are laid over each other by age: seconds since the first sample.


def age_bins(fleet: Fleet, bins: int = BINS) -> tuple[Floats, Integers]:
    """Starts of the bins of age in seconds, and the bin of each sample, shape (n,)."""
    age = fleet.time - np.repeat(fleet.time[fleet.offsets[:-1]], fleet.lengths)
    # whole periods, or bins would hold one sample of a container here and two there, and totals would jump
    periods = np.ceil(float(age.max(initial=0.0)) / fleet.period / bins - _SLACK)
    width = max(float(periods), 1.0) * fleet.period
    place = np.floor(age / width + _SLACK).astype(np.int64)
    n = int(place.max(initial=0)) + 1
    return np.arange(n).astype(np.float64) * width, place


def total_over_age(values: Floats, fleet: Fleet, starts: Floats, place: Integers) -> Floats:
    """The mean over each bin of the sum over all containers, in the values' unit."""
    width = float(starts[1] - starts[0]) if len(starts) > 1 else float(max(fleet.seconds.max(), 1e-9))
    return np.bincount(place, values * fleet.seconds, minlength=len(starts)) / width


_READY, _DONE = 0.05, 0.97


@dataclass(frozen=True)
class EvaluationSettings:
    """Settings of a comparison of policies."""

    cycle: float = setting(
        600.0, label="Cycle", low=1.0, high=30 * 86_400.0, unit="s", help="Time between two allocations, T."
    )
    tolerance: float = setting(
        0.05, label="Tolerance", low=0.001, high=0.5,
        help="The share of time that may fall short in the matched comparison.",
    )  # fmt: skip
    kappa: float = setting(
        20.0, label="Prior weight", low=0.0, high=1e6, unit="samples",
        help="How many of a container’s own samples weigh as much as the training set.",
    )  # fmt: skip
    group_by: str = setting(
        "", label="Group by", help="The column whose groups are held out whole; containers when left empty."
    )
    headroom: float = setting(
        0.1, label="Memory headroom", low=0.0, high=5.0,
        help="What a fixed memory limit has above the highest use of training containers.",
    )  # fmt: skip
    holdout: float = setting(
        0.3, label="Held out", low=0.05, high=0.95, help="The share of containers or groups to be judged on."
    )
    seed: int = setting(0, label="Seed", low=0, high=2**31 - 1, help="The same seed gives the same result.")
    refit: bool = setting(
        False, label="Refit phases",
        help="Fit a phase model with the same settings on the training containers only, and use it.",
    )  # fmt: skip
    draws: int = setting(
        2000, label="Bootstrap samples", low=100, high=20_000, help="Bootstrap samples behind each interval."
    )

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> EvaluationSettings:
        """Read settings.

        Raises
        ------
        InputError
            If a name is unknown or a value is out of bounds.
        """
        return build(cls, values)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The report, and the held-out demand and allocations behind it."""

    #: All figures, as JSON takes them.
    report: dict[str, Any]
    #: The held-out containers' demand for each resource.
    held_out: Mapping[Resource, Demand]
    #: Each policy's allocation of each held-out sample, by resource and policy.
    allocations: Mapping[Resource, Mapping[str, Floats]]


def evaluate(
    traces: TraceSet,
    model: PhaseModel | None,
    settings: EvaluationSettings,
    policies: Sequence[str] = ("all",),
    own_settings: Mapping[str, Mapping[str, object]] | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Compare policies on a trace set.

    Raises
    ------
    NotFoundError
        If there is no such policy.
    InputError
        If the traces cannot be used (`prepare`), or their only group cannot be split.
    MismatchError
        If the model does not fit the traces.
    """
    say = progress or (lambda _fraction, _message: None)
    selected = chosen(policies)
    overrides = {name: dict(values) for name, values in (own_settings or {}).items()}
    say(0.0, "Finding phases")
    data = prepare(traces, settings.cycle, settings.group_by)
    require_past(data.fleet)
    workloads = workloads_of(traces, settings.group_by)
    divided = _divided(data.fleet, settings, workloads)
    unavailable = {} if divided.tested else {each.name: ITSELF for each in selected if each.kind.learns}
    selected = [each for each in selected if each.name not in unavailable]
    if model is not None and settings.refit:
        model = _refitted(model, traces, data, divided, _part(progress, 0.0, _READY))
    training_set = None if model is None else trained_on(model, traces, data.fleet, divided)
    data = _with_phases(data, traces, model, selected)
    held_out = {r: d.only(divided.held_out) for r, d in data.demands.items()}
    train = {r: d.only(divided.training) for r, d in data.demands.items()}
    resources, allocations = {}, {}
    for number, resource in enumerate(data.demands):
        share = (_DONE - _READY) / len(data.demands)
        begin, end = _READY + share * number, _READY + share * (number + 1)
        exams = _exams(
            selected,
            train[resource],
            held_out[resource],
            settings,
            overrides,
            unavailable,
            _part(progress, begin, end),
        )
        compared = Comparison(exams, held_out[resource].fleet.groups, settings.draws, settings.seed)
        resources[resource.value] = _resource(compared, held_out[resource]) | {
            "workloads": _workloads(
                compared, (train[resource], held_out[resource]), divided, workloads, traces, settings
            )
        }
        allocations[resource] = {exam.policy.name: exam.allocation for exam in exams}
    say(_DONE, "Adding up")
    report = {
        "settings": asdict(settings),
        "policy_settings": {
            policy.name: asdict(_settings(policy, overrides, settings)) for policy in selected
        },
        "split": split_report(data, divided, grouped_by=settings.group_by),
        "model": None if model is None else model_report(model, str(training_set)),
        "recorded": recorded(data.fleet, workloads.by),
        "notes": [*only_itself(tested=divided.tested), *data.notes, *model_notes(training_set)],
        "unavailable": [{"policy": name, "reason": reason} for name, reason in unavailable.items()],
        "resources": resources,
    }
    return Evaluation(finite(report), held_out, allocations)


def _divided(fleet: Fleet, settings: EvaluationSettings, workloads: Workloads) -> Split:
    """Training and held-out containers; a container that is alone is replayed on itself instead."""
    if fleet.n_containers == 1:
        return Split(np.zeros(1, np.int64), np.zeros(1, np.int64), tested=False)
    return split(fleet, settings.holdout, settings.seed, workloads.of if workloads.by else None)


def _workloads(
    compared: Comparison,
    sides: tuple[Demand, Demand],
    divided: Split,
    workloads: Workloads,
    traces: TraceSet,
    settings: EvaluationSettings,
) -> dict[str, Any]:
    """The current amount of each workload, and the amounts of every policy and of a fixed limit."""
    training, held_out = (
        Side(
            demand,
            *present_amount(demand, traces.features),
            workloads.of[part],
            settings.tolerance,
            settings.headroom,
        )
        for demand, part in zip(sides, (divided.training, divided.held_out), strict=True)
    )
    return workload_evidence(compared, training if divided.tested else held_out, held_out, workloads)


def _with_phases(
    data: Provisioning, traces: TraceSet, model: PhaseModel | None, policies: Sequence[Policy]
) -> Provisioning:
    if model is None:
        return data
    with_codes = any(Need.CODES in policy.needs for policy in policies)
    return data.with_phases(predict(model, traces), encode(model, traces) if with_codes else None)


def _refitted(
    model: PhaseModel, traces: TraceSet, data: Provisioning, divided: Split, progress: Progress
) -> PhaseModel:
    """A model with the same settings and features, fitted on training containers alone."""
    training = traces.only([data.fleet.ids[i] for i in divided.training])
    return fit(training, model.settings, match_features(model.features, training, model.scaler), progress)


def _exams(
    policies: Sequence[Policy],
    training: Demand,
    held_out: Demand,
    settings: EvaluationSettings,
    overrides: Mapping[str, Mapping[str, object]],
    unavailable: dict[str, str],
    progress: Progress,
) -> tuple[Exam, ...]:
    exams = []
    for number, policy in enumerate(policies):
        part = _part(progress, number / len(policies), (number + 1) / len(policies))
        part(0.0, f"{policy.name}, {training.resource.value}")
        need = policy.missing(training)
        if need is not None:
            unavailable[policy.name] = WHY_NOT[need]
            continue
        values = _settings(policy, overrides, settings)
        exams.append(sit(policy, training, held_out, values, settings.tolerance, settings.seed, part))
    if not exams:
        raise InputError(
            "None of the chosen policies can be used on these traces.",
            next(iter(unavailable.values()), "Choose at least one policy."),
        )
    return tuple(exams)


def _settings(
    policy: Policy, overrides: Mapping[str, Mapping[str, object]], settings: EvaluationSettings
) -> Any:
    """A policy's settings with everything resolved: its own, the comparison's and the defaults."""
    return settings_of(policy, overrides.get(policy.name, {}), settings.kappa, settings.tolerance)


def _part(progress: Progress | None, begin: float, end: float) -> Progress:
    def say(fraction: float, message: str, /, **_metrics: float) -> None:
        if progress is not None:
            progress(begin + (end - begin) * fraction, message)

    return say


def _resource(compared: Comparison, held_out: Demand) -> dict[str, Any]:
    fleet = held_out.fleet
    starts, place = age_bins(fleet)
    totals = {
        exam.policy.name: total_over_age(exam.allocation, fleet, starts, place).tolist()
        for exam in compared.exams
    }
    return {
        "unit": held_out.unit.value,
        "best_reactive": compared.best,
        "policies": [compared.row(exam) for exam in compared.exams],
        "totals": {
            "age_s": starts.tolist(),
            "demand": total_over_age(held_out.values, fleet, starts, place).tolist(),
            "policies": totals,
        },
        "worst": {exam.policy.name: compared.worst(exam, fleet.ids) for exam in compared.exams},
    }
