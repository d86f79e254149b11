"""FlowCon, Algorithm 1, lines 14 to 26: the limit of each container, as a share of the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.scheduling.actions import Reason, SetLimit
from core.scheduling.policies.flowcon.lists import COMPLETING, WATCHING
from core.scheduling.shares.limits import common_factor, quota, weight

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.policies.flowcon.lists import Container
    from core.scheduling.policies.flowcon.settings import FlowConSettings


def all_completing(containers: Mapping[str, Container]) -> bool:
    """True if all containers are in CL (line 14)."""
    return all(each.list == COMPLETING for each in containers.values())


def limit_of(container: Container, total: float, n: int, lower: bool, settings: FlowConSettings) -> float:
    """Lines 19 to 26: L of one container while not all are in CL."""
    growth = container.growth
    part = growth / total if growth is not None and total > 0.0 else 0.0
    if container.list == COMPLETING:
        bound = 1.0 / (settings.beta * n)
        return bound if lower else max(part, bound)
    if container.list == WATCHING:
        return container.limit
    if settings.new_limit == "one" or growth is None:
        return 1.0
    if settings.new_limit == "ratio":
        return max(part, 1.0 / n)
    return min(1.0, container.limit * (1.0 + part))


def line_of(container: Container, limit: float, bound: float) -> str:
    """Which line gave a container its limit."""
    if container.list == COMPLETING:
        return "line 22" if limit <= bound else "line 21"
    return "line 24" if container.list == WATCHING else "line 26"


def assign(
    containers: Mapping[str, Container], worker: str, settings: FlowConSettings
) -> tuple[dict[str, Container], list[Reason]]:
    """Give every container its limit, and say by which line."""
    if all_completing(containers):
        return _free(containers, worker)
    n = len(containers)
    known = [each.growth for each in containers.values() if each.growth is not None]
    total, lower = sum(known), settings.unknown == "unknown-inf" and len(known) < n
    bound, after, reasons = 1.0 / (settings.beta * n), {}, []
    for name, each in containers.items():
        limit = limit_of(each, total, n, lower, settings)
        after[name] = each._replace(limit=limit, share=limit)
        values = (("limit", limit), ("sum of G", total), ("jobs", float(n)), ("bound", bound))
        growth = () if each.growth is None else (("G", each.growth),)
        text = f"{name} in {each.list} may use {limit:.1%} of host {worker}."
        rule = f"Algorithm 1, {line_of(each, limit, bound)}"
        reasons.append(Reason(rule, text, name, worker, (*values, *growth)))
    return after, reasons


def _free(containers: Mapping[str, Container], worker: str) -> tuple[dict[str, Container], list[Reason]]:
    """Lines 14 to 17: all in CL compete freely."""
    text = f"All {len(containers)} on {worker} complete: every limit is 1, the interval doubles."
    after = {name: each._replace(limit=1.0, share=1.0) for name, each in containers.items()}
    return after, [Reason("Algorithm 1, lines 14–17", text, worker=worker)]


def raised(
    containers: Mapping[str, Container], worker: str
) -> tuple[dict[str, Container], tuple[Reason, ...]]:
    """The variant `work_conserving`: one common factor where Σ min(limit, demand) is below 1."""
    limits = [each.limit for each in containers.values()]
    demands = [each.demand for each in containers.values()]
    factor = common_factor(limits, demands) if limits else 1.0
    if factor <= 1.0:
        return dict(containers), ()
    after = {name: each._replace(share=min(1.0, each.limit * factor)) for name, each in containers.items()}
    text = f"{worker} would idle: all limits rise by {factor:.3g}."
    return after, (Reason("Work-conserving", text, worker=worker, values=(("factor", factor),)),)


def enforced(container: Container, capacity: float, limits: str) -> tuple[float | None, float]:
    """A share as the engine takes it: (limit in cores or None, weight).

    `hard`: a quota. `soft`: a weight. `hybrid`: a weight, and a quota in CL only.
    """
    if limits == "hard":
        return quota(container.share, capacity), 1.0
    cap = quota(container.share, capacity) if limits == "hybrid" and container.list == COMPLETING else None
    return cap, weight(container.share)


def ordered(
    changes: Mapping[str, tuple[Container, tuple[float | None, float]]],
) -> tuple[list[SetLimit], list[SetLimit]]:
    """The changes to ask for: those that shrink, and those that grow, which come after them."""
    shrinks: list[SetLimit] = []
    grows: list[SetLimit] = []
    for name, (container, wanted) in changes.items():
        before = container.given
        smaller = before is not None and _size(wanted) < _size(before)
        (shrinks if smaller else grows).append(SetLimit(name, *wanted))
    return shrinks, grows


def _size(given: tuple[float | None, float]) -> tuple[float, float]:
    limit, weight_ = given
    return (float("inf") if limit is None else limit, weight_)
