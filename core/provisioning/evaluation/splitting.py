"""Train/test split of containers, by container or by whole groups."""

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


def split(fleet: Fleet, holdout: float, seed: int, workloads: Integers | None = None) -> Split:
    """Hold whole groups out, chosen at random; single containers by their workload, where it is known.

    Parameters
    ----------
    fleet
        The containers and their groups; without groups each is its own.
    holdout
        The share of groups to hold out; at least one is held out and one is left.
    seed
        Seeds the choice.
    workloads
        The workload of each container, shape (n_containers,). Each that has two containers or more is in
        both parts, as near to the share as can be. It does not count where groups hold several containers.

    Raises
    ------
    InputError
        If there are fewer than two groups, or the share is not between 0 and 1.
    """
    numbers, n = group_numbers(fleet.groups)
    if not 0.0 < holdout < 1.0:
        raise InputError(f"A share of {holdout:g} cannot be held out.", "Choose between 0.05 and 0.95.")
    if n < 2:
        raise InputError(
            f"{n} group of {fleet.n_containers:,} containers cannot be split into training and held-out ones."
            if fleet.n_containers > 1
            else f"{fleet.n_containers} container cannot be split into training and held-out ones.",
            "Use traces of more containers, or group by another column.",
        )
    order = np.random.default_rng(seed).permutation(n)
    out = int(np.clip(round(holdout * n), 1, n - 1))
    if workloads is None or n < fleet.n_containers:
        chosen = order[:out]
    else:
        chosen = _of_each(order, workloads, holdout, out)
    is_held_out = np.isin(numbers, chosen)
    return Split(np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out))


def _of_each(order: Integers, workloads: Integers, share: float, out: int) -> Integers:
    """The first containers of each workload in an order: `out` by largest remainders, or one of each if more.

    Workloads of one container cannot be in both parts, and are drawn from as if they were one.
    """
    sizes = np.bincount(workloads)
    single = sizes[workloads] == 1
    _, stratum, counts = np.unique(
        np.where(single, len(sizes), workloads), return_inverse=True, return_counts=True
    )
    min_per_side = np.ones(len(counts), np.int64)
    min_per_side[-1] -= single.any()
    quotas = np.clip(np.floor(share * counts).astype(np.int64), min_per_side, counts - min_per_side)
    for _ in range(out - int(quotas.sum())):
        lacking = np.where(quotas < counts - min_per_side, share * counts - quotas, -np.inf)
        quotas[np.argmax(lacking)] += np.isfinite(lacking).any()
    stratum_of = stratum[order]
    place = np.empty(len(order), np.int64)
    for each in range(len(counts)):
        place[stratum_of == each] = np.arange(counts[each])
    chosen: Integers = order[place < quotas[stratum_of]]
    return chosen


def folds(fleet: Fleet, count: int, seed: int) -> list[Split]:
    """Divide containers into parts by whole groups, so that each can be predicted from the others.

    Returns nothing where there are fewer than two groups.
    """
    numbers, n = group_numbers(fleet.groups)
    if n < 2:
        return []
    part = np.empty(n, np.int64)
    part[np.random.default_rng(seed).permutation(n)] = np.arange(n) % min(count, n)
    part_of = part[numbers]
    return [Split(np.flatnonzero(part_of != k), np.flatnonzero(part_of == k)) for k in range(min(count, n))]
