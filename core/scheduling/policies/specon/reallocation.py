"""SpeCon, Algorithm 4: the worker for a container that has converged, by weighted scores.

S(w) = 2|PC| + 1.5|WC| + 1|CC| over the containers on w, the one that asks included on its own worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.scheduling.actions import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from core.scheduling.model import Worker

_SHOWN = 16  # scores that a reason carries at most: of a thousand workers, those that decided


def scores(
    categories: Iterable[tuple[str, str]], workers: Sequence[Worker], weights: Mapping[str, float]
) -> dict[str, float]:
    """Lines 2 and 3: the weighted score of every worker."""
    score = {worker.id: 0.0 for worker in workers}
    for worker, category in categories:
        if worker in score:
            score[worker] += weights[category]
    return score


def candidates(score: Mapping[str, float]) -> list[str]:
    """Lines 4 to 7: the workers with the least score."""
    least = min(score.values())
    return [worker for worker, each in score.items() if each <= least + 1e-9]


def chosen(job: str, own: str, score: Mapping[str, float], workers: Sequence[Worker]) -> tuple[str, Reason]:
    """Lines 8 to 21: where the container shall run, which may be where it is.

    Parameters
    ----------
    job, own
        The container, and its worker.
    score
        Of every worker.
    workers
        With the cores in use on each, for ties.
    """
    targets = candidates(score)
    shown = score if len(score) <= _SHOWN else dict.fromkeys((own, *targets[:_SHOWN]))
    values = tuple((f"score of {name}", score[name]) for name in shown)
    if own in targets:
        text = f"{job} stays: no worker is scored below {own}."
        return own, Reason("Algorithm 4, lines 8–10", text, job, own, values)
    if len(targets) == 1:
        to, lines, why = targets[0], "11–16", "has the least score"
    else:
        used = {worker.id: worker.used for worker in workers}
        to = min(targets, key=lambda name: (used[name], name))
        lines, why = "17–21", f"uses least of the {len(targets)} with the least score"
    text = f"{job} moves from {own} to {to}, which {why}."
    return to, Reason(f"Algorithm 4, lines {lines}", text, job, own, values)
