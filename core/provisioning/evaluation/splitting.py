"""Folds of containers, by container or by whole groups: what is learned from, and what is judged on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.bootstrap_intervals import group_numbers
from core.errors import InputError

if TYPE_CHECKING:
    from core.provisioning.fleet import Fleet, Integers


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of containers in the fleet: to learn from, and to be judged on. They share no group."""

    #: The positions.
    training: Integers
    held_out: Integers
    #: False where both are the same container because there is no other, so that nothing is tested.
    tested: bool = True


MAX_FOLDS = 10
MANY_CONTAINERS = 1000
"""With more containers half of them are enough to learn from, so there are two folds."""


def held_out_once(
    fleet: Fleet, holdout: float, seed: int, workloads: Integers | None = None
) -> tuple[Split, ...]:
    """Folds of which each holds out about a share of all containers, so that each is held out once.

    Parameters
    ----------
    fleet
        The containers and their groups; without groups each is its own.
    holdout
        The share of containers that a fold holds out; there are 2 to `MAX_FOLDS` folds, and 2 where there are
        more than `MANY_CONTAINERS`.
    seed
        Seeds the order in which containers are dealt out.
    workloads
        The workload of each container, shape (n_containers,). Each that has two containers or more is in
        both parts of a fold. It does not count where groups hold several containers.

    Raises
    ------
    InputError
        If there are fewer than two groups, or the share is not between 0 and 1.
    """
    if not 0.0 < holdout < 1.0:
        raise InputError(f"A share of {holdout:g} cannot be held out.", "Choose between 0.05 and 0.95.")
    count = min(max(round(1.0 / holdout), 2), MAX_FOLDS)
    parts = folds(fleet, 2 if fleet.n_containers > MANY_CONTAINERS else count, seed, workloads)
    if not parts:
        raise InputError(
            f"1 group of {fleet.n_containers:,} containers cannot be split into training and held-out ones."
            if fleet.n_containers > 1
            else f"{fleet.n_containers} container cannot be split into training and held-out ones.",
            "Use traces of more containers, or group by another column.",
        )
    return tuple(parts)


def folds(fleet: Fleet, count: int, seed: int, workloads: Integers | None = None) -> list[Split]:
    """Divide containers into parts by whole groups, so that each can be predicted from the others.

    Single containers are dealt out workload by workload. Nothing where there are fewer than two groups.
    """
    numbers, n = group_numbers(fleet.groups)
    if n < 2:
        return []
    order = np.random.default_rng(seed).permutation(n)
    if workloads is not None and n == fleet.n_containers:
        order = order[np.argsort(workloads[order], kind="stable")]
    part = np.empty(n, np.int64)
    part[order] = np.arange(n) % min(count, n)
    part_of = part[numbers]
    return [Split(np.flatnonzero(part_of != k), np.flatnonzero(part_of == k)) for k in range(min(count, n))]
