"""Checks for policies from plugins: what every provisioning policy must satisfy, on small fleets.

Each question looks at a `Paper` and returns a sentence about what is wrong, or None. It is fast, not
thorough: what the port (`core.provisioning.policy`) promises is asked once each, so that a policy that
breaks it is refused before anything is compared with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import PhaseDockError
from core.provisioning.fleet import Demand, Fleet, Resource
from core.provisioning.policy import Need, Policy, PolicyKind, fit_policy
from core.settings_fields import check, describe
from core.traces.model import sample_seconds
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.provisioning.fleet import Floats
    from core.provisioning.policy import Allocate

NAME = re.compile(r"[a-z0-9][a-z0-9._+-]{0,59}")
_ODD = (((2.0,),), ((0.0,) * 20,), ((0.1,) * 20, (3.0,)), ((1e9, 2e9) * 9,))
_CLOSE = 1e-9


@dataclass(frozen=True)
class Paper:
    """A policy fitted twice with its defaults, and its training demand."""

    #: The policy.
    policy: Policy
    #: What it was fitted on.
    training: Demand
    #: What it gave, as it gave it.
    raw: Allocate
    #: What it gave the second time: complete, as `core.provisioning.policy.fit_policy` makes it.
    allocate: Allocate


def sit(policy: object) -> str | None:
    """Ask a policy every question; return the first thing that is wrong as a sentence, or None.

    An exception raised by a policy counts as a wrong answer and does not propagate.
    """
    if not isinstance(policy, Policy):
        return f"It is a {type(policy).__name__}, not a Policy."
    try:
        wrong = declaration(policy)
        if wrong is None:
            paper = paper_of(policy)
            wrong = next((fault for question in QUESTIONS if (fault := question(paper))), None)
    except PhaseDockError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - code from outside may raise anything
        return f"It raised {type(error).__name__}: {str(error)[:200]}."
    return wrong


def paper_of(policy: Policy) -> Paper:
    """Fit a policy for its exam."""
    training = example_demand(11, 8)
    raw = policy.fit(training, policy.chosen(), None)
    return Paper(policy, training, raw, fit_policy(policy, training))


def declaration(policy: Policy) -> str | None:
    """A policy's description of itself is complete, and its settings have valid defaults."""
    if not NAME.fullmatch(policy.name) or policy.name == "all":
        return f"“{policy.name}” is not a valid name. Use small letters, digits, dots and hyphens."
    if not policy.about.endswith("."):
        return "Its description is not a sentence that ends with a full stop."
    if not isinstance(policy.kind, PolicyKind) or not all(isinstance(need, Need) for need in policy.needs):
        return "Its kind is not a PolicyKind, or one of its needs is not a Need."
    return settings_wrong(policy.settings) or _defaults_wrong(policy)


def settings_wrong(cls: type[Any]) -> str | None:
    """A settings class is a frozen dataclass of fields made by `core.settings_fields.setting`."""
    if not is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return f"Its settings, {cls.__name__}, are not a frozen dataclass."
    specs = {spec.name: spec for spec in describe(cls)}
    for each in fields(cls):
        spec = specs.get(each.name)
        if spec is None:
            return f"Its setting “{each.name}” was not made by setting(…)."
        if not spec.label or not spec.help.endswith("."):
            return f"Its setting “{each.name}” has no label, or its help is not a sentence."
        if check(spec, spec.default) != spec.default:
            return f"The default of its setting “{each.name}” is not {spec.bounds}."
    return None


def _defaults_wrong(policy: Policy) -> str | None:
    return None if policy.chosen() == policy.chosen({}) else "The same settings are not equal to each other."


def gives_sane_amounts(paper: Paper) -> str | None:
    """One amount for each sample, finite and not negative, for odd containers too; NaN means unknown."""
    odd = [odd_demand(values) for values in _ODD]
    for demand in (example_demand(5, 5, 30), *odd):
        raw = paper.raw(demand)
        if np.shape(raw) != (demand.fleet.n_samples,):
            return f"Its allocations have the shape {np.shape(raw)} instead of ({demand.fleet.n_samples},)."
        if np.isinf(raw).any() or (raw < 0).any():
            return "Some of its allocations are infinite or below zero."
    for demand in odd[:2]:
        if not np.isfinite(fit_policy(paper.policy, demand)(demand)).all():
            return "Fitted on odd containers, some of its allocations are not finite."
    return None


def is_deterministic(paper: Paper) -> str | None:
    """Check that fitting or allocating again yields the same allocation."""
    demand = example_demand(5, 5, 30)
    first, second, completed = paper.raw(demand), paper.raw(demand), paper.allocate(demand)
    finite = np.isfinite(first)
    equal = np.array_equal(first, second, equal_nan=True)
    if equal and np.array_equal(first[finite], completed[finite]):
        return None
    return "A second fit or call allocates differently: take random seeds from a setting."


def leaves_demand_unchanged(paper: Paper) -> str | None:
    """Check that neither fitting nor allocating modifies its input."""
    training, demand = example_demand(11, 8), example_demand(5, 5, 30)
    before = [each.copy() for example in (training, demand) for each in _arrays(example)]
    fit_policy(paper.policy, training)(demand)
    after = [each for example in (training, demand) for each in _arrays(example)]
    unchanged = all(np.array_equal(old, new, equal_nan=True) for old, new in zip(before, after, strict=True))
    return None if unchanged else "It changes the demand that it is shown."


def looks_only_backwards(paper: Paper) -> str | None:
    """Check that later samples do not change earlier allocations, unless the policy declares foresight."""
    if paper.policy.foresight:
        return None
    for seed, share in ((1, 0.3), (2, 0.7)):
        demand = example_demand(seed, 4, 40)
        cut = int(share * (demand.fleet.n_samples - 1))
        other = with_other_future(demand, cut, np.random.default_rng(seed))
        if not _close(paper.allocate(other)[: cut + 1], paper.allocate(demand)[: cut + 1]):
            return "What comes later changes what it allocated before: it looks into the future."
    full, n_samples = example_demand(5, 1, 60), 8
    if not _close(paper.allocate(cut_off(full, n_samples)), paper.allocate(full)[:n_samples]):
        return "Where a container ends changes what it allocated before: it looks into the future."
    return None


def looks_at_one_container_at_a_time(paper: Paper) -> str | None:
    """Other containers, unless trained on, change nothing."""
    if paper.policy.foresight:
        return None
    demand, chosen = example_demand(3, 4, 40), [2, 0]
    alone = paper.allocate(demand.only(chosen))
    alike = _close(alone, paper.allocate(demand)[demand.fleet.samples_of(chosen)])
    return None if alike else "What it allocates to a container depends on others beside it."


QUESTIONS: tuple[Callable[[Paper], str | None], ...] = (
    gives_sane_amounts,
    is_deterministic,
    leaves_demand_unchanged,
    looks_only_backwards,
    looks_at_one_container_at_a_time,
)


def fleet_demand(
    containers: Sequence[Sequence[float] | Floats],
    times: Sequence[Floats],
    labels: np.ndarray,
    codes: np.ndarray,
    limits: Floats,
    cycle: float = 5.0,
) -> Demand:
    """CPU demand of some containers, with everything that a policy may need.

    Parameters
    ----------
    containers
        The demand of each, in cores.
    times
        The seconds of each one's samples.
    labels, codes, given
        The phase, the code and the limit of each sample, over all containers.
    cycle
        Seconds.
    """
    lengths = [len(values) for values in containers]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values, time = np.concatenate([np.asarray(each, float) for each in containers]), np.concatenate(times)
    fleet = Fleet(
        ids=tuple(f"c{place}" for place in range(len(containers))),
        groups=tuple(f"g{place % 3}" for place in range(len(containers))),
        time=time,
        seconds=sample_seconds(time, offsets, 1.0),
        offsets=offsets,
        cycle=cycle,
        period=1.0,
        labels=labels.astype(np.int16),
        codes=codes.astype(np.float32),
        columns={"cpu": values, "other": np.sqrt(np.abs(values))},
    )
    return Demand(fleet, Resource.CPU, values, Unit.CORES, np.asarray(limits, float))


def example_demand(seed: int, n_containers: int, longest: int = 60) -> Demand:
    """Containers of different lengths and irregular times whose demand follows their phases."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(longest // 3 + 1, longest + 1, n_containers)
    labels = [np.repeat(rng.integers(-1, 3, n // 4 + 1), 4)[:n] for n in lengths]
    scales = rng.lognormal(0, 0.5, n_containers)
    values = [
        scale * np.maximum(1 + each + rng.gamma(2, 0.3, len(each)), 0)
        for scale, each in zip(scales, labels, strict=True)
    ]
    times = [np.cumsum(rng.uniform(0.5, 1.6, n)) for n in lengths]
    codes = rng.random((int(lengths.sum()), 3))
    return fleet_demand(values, times, np.concatenate(labels), codes, np.repeat(3 * scales, lengths))


def odd_demand(containers: Sequence[Sequence[float]]) -> Demand:
    """Containers with very few, equal or very large values."""
    n = sum(len(values) for values in containers)
    times = [np.arange(len(values), dtype=float) for values in containers]
    return fleet_demand(containers, times, np.zeros(n, int), np.zeros((n, 3)), np.ones(n), cycle=4.0)


def with_other_future(demand: Demand, cut: int, rng: np.random.Generator) -> Demand:
    """The demand with other observations from sample `cut` on."""
    fleet, n = demand.fleet, demand.fleet.n_samples
    later = np.arange(n) >= cut
    changed: dict[str, Any] = {
        "columns": {
            name: np.where(later, rng.gamma(1.0, 2.0, n), values) for name, values in fleet.columns.items()
        }
    }
    if fleet.labels is not None:
        changed["labels"] = np.where(later, rng.integers(-1, 3, n), fleet.labels).astype(np.int16)
    if fleet.codes is not None:
        codes = np.where(later[:, None], rng.random(fleet.codes.shape), fleet.codes)
        changed["codes"] = codes.astype(np.float32)
    values = np.where(later, rng.gamma(1.0, 4.0, n), demand.values)
    return replace(demand, fleet=replace(fleet, **changed), values=values)


def cut_off(demand: Demand, n: int) -> Demand:
    """The first `n` samples of the first container."""
    fleet = demand.fleet
    labels = np.zeros(n, np.int16) if fleet.labels is None else fleet.labels[:n]
    codes = np.zeros((n, 3), np.float32) if fleet.codes is None else fleet.codes[:n]
    limits = np.ones(n) if demand.limits is None else demand.limits[:n]
    return fleet_demand([demand.values[:n]], [fleet.time[:n]], labels, codes, limits, fleet.cycle)


def _close(mine: Floats, theirs: Floats) -> bool:
    return mine.shape == theirs.shape and bool(np.allclose(mine, theirs, rtol=_CLOSE, atol=0.0))


def _arrays(demand: Demand) -> list[np.ndarray]:
    fleet = demand.fleet
    required = [demand.values, fleet.time, fleet.seconds, fleet.offsets, *fleet.columns.values()]
    return [each for each in (*required, demand.limits, fleet.labels, fleet.codes) if each is not None]
