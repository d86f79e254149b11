"""Evaluating policies on the same traces: which allocates least at the same risk, on held-out containers.

Containers, or whole groups of them, are dealt into folds. Policies learn from all folds but one, which also
fix the factor that makes each fall short for the same share of time (5%), and are judged on the one; so every
container is held out once. The report says what it rests on: the folds, the phase model, and what that was
trained on.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InputError
from core.phases import encode, fit, predict
from core.phases.matching import match_features
from core.provisioning.evaluation.comparison import Comparison, joined, settings_of, sit
from core.provisioning.evaluation.splitting import Split, held_out_once
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


def split_report(data: Provisioning, parts: Sequence[Split], grouped_by: str) -> dict[str, Any]:
    """The containers that were held out, fold by fold; a single container is both training and test data."""
    fleet, tested = data.fleet, parts[0].tested
    return {
        "by": grouped_by or None,
        "tested": tested,
        "training": [] if tested else list(fleet.ids),
        "held_out": list(fleet.ids),
        "folds": [[fleet.ids[i] for i in part.held_out] for part in parts] if tested else [],
        "training_groups": [],
        "held_out_groups": list(dict.fromkeys(fleet.groups)) if grouped_by else [],
    }


def trained_on(model: PhaseModel, traces: TraceSet) -> str:
    """The containers that the model was trained on: ``held_out`` if these, or ``unknown``."""
    same = bool(model.training.fingerprint) and model.training.fingerprint == fingerprint(traces)
    return "held_out" if same else "unknown"


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
    n_held_out, n_training, folds = (
        len(split["held_out"]),
        len(split["training"]),
        len(split.get("folds", ())),
    )
    once = f"Each of {n_held_out:,} executions held out once, in {folds} folds"
    out = once if folds else f"{n_held_out:,} of {n_held_out + n_training:,} executions held out"
    return (
        f"{out} ({unit}, seed {settings['seed']}), cycle {format_duration(settings['cycle'])}, "
        f"{format_set_share(settings['tolerance'])} of the time may fall short."
    )


BINS = 240
_SLACK = 1e-4


# Totals over time: what all containers used together and what policies gave (AI4DL, Figure 4).
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
        0.3,
        label="Held out",
        low=0.05,
        high=0.95,
        help="The share of containers or groups that a fold holds out. Each is held out once.",
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


_CYCLES_PER_EXECUTION = 10
_CYCLES = (10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0)


def proposed_cycle(period: float, typical_seconds: float) -> float:
    """The paper's cycle, or a shorter one where executions are too short for ten cycles.

    Parameters
    ----------
    period
        The sampling period, seconds; a cycle has two samples at least.
    typical_seconds
        The median length of the executions.
    """
    default = EvaluationSettings().cycle
    if typical_seconds >= _CYCLES_PER_EXECUTION * default:
        return default
    fitting = [c for c in _CYCLES if c * _CYCLES_PER_EXECUTION <= typical_seconds and c >= 2 * period]
    return max(fitting, default=max(2 * period, 1.0))


def proposed_for(traces: TraceSet) -> float:
    """`proposed_cycle` of a trace set; empty executions do not count."""
    alive = np.flatnonzero(np.diff(traces.offsets) > 0)
    if not len(alive):
        return EvaluationSettings().cycle
    lengths = traces.time[traces.offsets[alive + 1] - 1] - traces.time[traces.offsets[alive]] + traces.period
    return proposed_cycle(traces.period, float(np.median(lengths)))


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
    parts = _folds(data.fleet, settings, workloads)
    tested = parts[0].tested
    unavailable = {} if tested else {each.name: ITSELF for each in selected if each.kind.learns}
    selected = [each for each in selected if each.name not in unavailable]
    training_set = None if model is None else trained_on(model, traces)
    views = [_with_phases(data, traces, model, selected)] * len(parts)
    data = views[0]
    if model is not None and settings.refit:
        training_set = "training"
        for number, part in enumerate(parts):
            say_part = _part(progress, _READY * number / len(parts), _READY * (number + 1) / len(parts))
            refitted = _refitted(model, traces, data, part, say_part)
            views[number] = _with_phases(data, traces, refitted, selected)
    resources, allocations = {}, {}
    for number, (resource, demand) in enumerate(data.demands.items()):
        share = (_DONE - _READY) / len(data.demands)
        begin, end = _READY + share * number, _READY + share * (number + 1)
        demands = [view.demands[resource] for view in views]
        exams = _exams(
            selected, demands, parts, settings, overrides, unavailable, _part(progress, begin, end)
        )
        compared = Comparison(exams, data.fleet.groups, settings.draws, settings.seed)
        side = Side(
            demand,
            *present_amount(demand, traces.features),
            workloads.of,
            _fold_numbers(data.fleet, parts),
            settings.tolerance,
            settings.headroom,
        )
        evidence = workload_evidence(compared, side, workloads)
        resources[resource.value] = _resource(compared, demand) | {"workloads": evidence}
        allocations[resource] = {exam.policy.name: exam.allocation for exam in exams}
    say(_DONE, "Adding up")
    report = {
        "settings": asdict(settings),
        "policy_settings": {
            policy.name: asdict(_settings(policy, overrides, settings)) for policy in selected
        },
        "split": split_report(data, parts, settings.group_by),
        "model": None if model is None else model_report(model, str(training_set)),
        "recorded": recorded(data.fleet, workloads.by),
        "notes": [*only_itself(tested=tested), *data.notes, *model_notes(training_set)],
        "unavailable": [{"policy": name, "reason": reason} for name, reason in unavailable.items()],
        "resources": resources,
    }
    return Evaluation(finite(report), data.demands, allocations)


def _folds(fleet: Fleet, settings: EvaluationSettings, workloads: Workloads) -> tuple[Split, ...]:
    """Folds that hold each container out once; a container that is alone is replayed on itself instead."""
    if fleet.n_containers == 1:
        return (Split(np.zeros(1, np.int64), np.zeros(1, np.int64), tested=False),)
    return held_out_once(fleet, settings.holdout, settings.seed, workloads.of if workloads.by else None)


def _fold_numbers(fleet: Fleet, parts: Sequence[Split]) -> Integers | None:
    """The fold that holds each container out, shape (n_containers,); None where nothing is tested."""
    if not parts[0].tested:
        return None
    numbers = np.empty(fleet.n_containers, np.int64)
    for number, part in enumerate(parts):
        numbers[part.held_out] = number
    return numbers


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
    demands: Sequence[Demand],
    parts: Sequence[Split],
    settings: EvaluationSettings,
    overrides: Mapping[str, Mapping[str, object]],
    unavailable: dict[str, str],
    progress: Progress,
) -> tuple[Exam, ...]:
    """Each policy's exam over all folds; `demands` has the demand as each fold sees it."""
    usable = []
    for policy in policies:
        need = policy.missing(demands[0])
        if need is None:
            usable.append(policy)
        else:
            unavailable[policy.name] = WHY_NOT[need]
    if not usable:
        raise InputError(
            "None of the chosen policies can be used on these traces.",
            next(iter(unavailable.values()), "Choose at least one policy."),
        )
    exams: dict[str, list[tuple[Split, Exam]]] = {policy.name: [] for policy in usable}
    total = len(parts) * len(usable)
    for fold, (demand, part) in enumerate(zip(demands, parts, strict=True)):
        training, held_out = demand.only(part.training), demand.only(part.held_out)
        for number, policy in enumerate(usable, fold * len(usable)):
            say = _part(progress, number / total, (number + 1) / total)
            say(0.0, f"{policy.name}, {demand.resource.value}")
            values = _settings(policy, overrides, settings)
            exam = sit(policy, training, held_out, values, settings.tolerance, settings.seed, say)
            exams[policy.name].append((part, exam))
    return tuple(joined(each, demands[0]) for each in exams.values())


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
