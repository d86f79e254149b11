"""FlowCon on one worker: the listener (Algorithm 2), and Algorithm 1 at its events and intervals."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import floor, inf
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.actions import Mark, Reason, SetLimit, Start, list_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from core.scheduling.actions import Action
    from core.scheduling.growth import Track, Tracks
    from core.scheduling.model import Job, Worker
    from core.scheduling.policies.flowcon.settings import FlowConSettings


NEW, WATCHING, COMPLETING = "NL", "WL", "CL"
MIN_USAGE = 0.01
_FULL_USAGE = 0.95


# FlowCon, Algorithm 1, lines 2 to 13: growth efficiency, and the list that each container is in.
#
# P = |E(t_i) − E(t_{i−1})| / (t_i − t_{i−1}) (equation 4.1) is progress per second; R the mean share of the
# node's processor over the interval; G = P / R (equation 4.2). A container that was not yet there at the
# previous run has no growth and stays where it is.


class Container(NamedTuple):
    """The state of one container."""

    #: Its list and growth, as shown.
    mark: Mark
    #: L, share of the node by the rule of its list.
    limit: float = 1.0
    #: Its share: L, or more where limits were raised.
    share: float = 1.0
    #: (limit in cores or None, weight) as last requested; None after a failure.
    enforced: tuple[float | None, float] | None = None
    #: E at the algorithm's previous run (raw), or None if it had printed nothing.
    level: float | None = None
    #: The counters at that run: core-seconds (None: not measured), sum and number of printed values.
    cpu_seconds: float | None = 0.0
    total: float = 0.0
    n_printed: int = 0
    #: The largest growth so far.
    peak: float = 0.0
    #: Share of the node that it could use, as far as known.
    demand: float = 1.0

    @property
    def list(self) -> str:
        """``"NL"``, ``"WL"`` or ``"CL"``; a container is in exactly one."""
        return self.mark.label

    @property
    def growth(self) -> float | None:
        """G, or None before it was first computed."""
        return self.mark.growth


def new_container(job: Job, track: Track | None) -> Container:
    """Return a new container: in NL, limit 1, growth unknown (Algorithm 2, line 7)."""
    fresh = Container(Mark(job.id, NEW), cpu_seconds=job.cpu_seconds)
    if track is None:
        return fresh
    return fresh._replace(level=track.last, total=track.total, n_printed=track.n_printed)


def measure_progress(container: Container, track: Track, seconds: float, means: bool) -> tuple[float, float]:
    """Return P of equation 4.1 per second, and the value of E for the next run.

    A container without earlier values starts at its first one: every job starts at 1.
    """
    level = track.mean_since(container.total, container.n_printed) if means else track.last
    before = track.first if container.level is None else container.level
    return track.change(before, level) / seconds, level


def measure_usage(container: Container, job: Job, seconds: float, capacity: float) -> float | None:
    """Return R: the mean share of the node over the interval, at least 0.01; None if it was not measured."""
    if job.cpu_seconds is None or container.cpu_seconds is None:
        return None
    return max(MIN_USAGE, (job.cpu_seconds - container.cpu_seconds) / (seconds * capacity))


def next_list(container: Container, growth: float, threshold: float) -> tuple[str, str]:
    """Return a container's next list and its lines (Algorithm 1, lines 4 to 13)."""
    if growth >= threshold:
        return NEW, "10–13"
    if container.list == NEW:
        return WATCHING, "4–6"
    return COMPLETING, "7–9" if container.list == WATCHING else "7–9 (stays)"


def classify_container(
    container: Container,
    job: Job,
    track: Track | None,
    seconds: float,
    capacity: float,
    settings: FlowConSettings,
) -> tuple[Container, Reason | None]:
    """Return a container after lines 3 to 13 with the reason; unchanged without printed values or usage."""
    used = measure_usage(container, job, seconds, capacity)
    if track is None or used is None:
        return container._replace(cpu_seconds=job.cpu_seconds), None
    per_second, level = measure_progress(container, track, seconds, settings.growth == "means")
    growth = per_second / used
    peak = max(container.peak, growth)
    threshold = settings.alpha * (peak if settings.threshold == "peak" else 1.0)
    name, lines = next_list(container, growth, threshold)
    values = (("G", growth), ("P", per_second), ("R", used), ("threshold", threshold))
    compared = "at least" if growth >= threshold else "below"
    moved = f"{list_word(container.list)} → {list_word(name)}"
    text = f"{job.id} grows {growth:.3g} per second, {compared} {threshold:.3g}: {moved}."
    after = container._replace(
        mark=Mark(job.id, name, growth),
        level=level,
        cpu_seconds=job.cpu_seconds,
        total=track.total,
        n_printed=track.n_printed,
        peak=peak,
    )
    return after, Reason(f"Algorithm 1, lines {lines}", text, job.id, job.worker, values)


def estimate_demand(container: Container, used: float | None, idle: bool) -> float:
    """Return the share that a container could use: its usage if known and nothing limited it, else all."""
    if used is None:
        return 1.0
    is_limited = used >= _FULL_USAGE * container.share
    return 1.0 if is_limited or not idle else used


def has_spare_time(used: float) -> bool:
    """Return whether the containers left a part of the node idle."""
    return used < _FULL_USAGE


MIN_CORES = 0.01
MIN_WEIGHT = 0.01


def quota_cores(share: float, capacity: float) -> float:
    """Return a share of a node in cores: two decimals, at least 0.01 core, at most the node."""
    whole = min(capacity, floor(capacity * 100.0 + 1e-9) / 100.0)
    return max(MIN_CORES, min(round(share * capacity, 2), whole))


def share_weight(share: float) -> float:
    """Return a share of a node as a weight: three decimals, at least 0.01."""
    return max(MIN_WEIGHT, round(share, 3))


def common_factor(limits: Sequence[float], demands: Sequence[float]) -> float:
    """Return the least factor ≥ 1 for all limits that fills the node or meets every demand."""
    if sum(map(min, limits, demands)) >= min(1.0, sum(demands)):
        return 1.0
    remaining, open_ = 1.0, sum(limits)
    factor = 1.0
    for ratio, limit, demand in sorted(
        (d / limit, limit, d) for limit, d in zip(limits, demands, strict=True)
    ):
        factor = remaining / open_ if open_ > 0.0 else ratio
        if factor <= ratio:
            return max(1.0, factor)
        remaining, open_, factor = remaining - demand, open_ - limit, ratio
    return max(1.0, factor)


def all_completing(containers: Mapping[str, Container]) -> bool:
    """True if all containers are in CL (line 14)."""
    return all(each.list == COMPLETING for each in containers.values())


def limit_of(container: Container, total: float, n: int, lower: bool, settings: FlowConSettings) -> float:
    """Return L of one container while not all are in CL (lines 19 to 26)."""
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
    """Return the line that set a container's limit."""
    if container.list == COMPLETING:
        return "line 22" if limit <= bound else "line 21"
    return "line 24" if container.list == WATCHING else "line 26"


def assign_limits(
    containers: Mapping[str, Container], worker: str, settings: FlowConSettings
) -> tuple[dict[str, Container], list[Reason]]:
    """Give every container its limit, with the line as its reason."""
    if all_completing(containers):
        return _release_limits(containers, worker)
    n = len(containers)
    growths = [each.growth for each in containers.values() if each.growth is not None]
    total, lower = sum(growths), settings.unknown == "unknown-inf" and len(growths) < n
    bound, after, reasons = 1.0 / (settings.beta * n), {}, []
    for name, each in containers.items():
        limit = limit_of(each, total, n, lower, settings)
        after[name] = each._replace(limit=limit, share=limit)
        values = (("limit", limit), ("sum of G", total), ("jobs", float(n)), ("bound", bound))
        growth = () if each.growth is None else (("G", each.growth),)
        text = f"{name}, {list_word(each.list)}, may use {limit:.1%} of host {worker}."
        rule = f"Algorithm 1, {line_of(each, limit, bound)}"
        reasons.append(Reason(rule, text, name, worker, (*values, *growth)))
    return after, reasons


def _release_limits(
    containers: Mapping[str, Container], worker: str
) -> tuple[dict[str, Container], list[Reason]]:
    """Release all limits, since all containers are in CL (lines 14 to 17)."""
    text = f"All {len(containers)} on {worker} complete: every limit is 1, the interval doubles."
    after = {name: each._replace(limit=1.0, share=1.0) for name, each in containers.items()}
    return after, [Reason("Algorithm 1, lines 14–17", text, worker=worker)]


def raise_limits(
    containers: Mapping[str, Container], worker: str
) -> tuple[dict[str, Container], tuple[Reason, ...]]:
    """Raise all limits by a common factor where Σ min(limit, demand) is below 1 (`work_conserving`)."""
    limits = [each.limit for each in containers.values()]
    demands = [each.demand for each in containers.values()]
    factor = common_factor(limits, demands) if limits else 1.0
    if factor <= 1.0:
        return dict(containers), ()
    after = {name: each._replace(share=min(1.0, each.limit * factor)) for name, each in containers.items()}
    text = f"{worker} would idle: all limits rise by {factor:.3g}."
    return after, (Reason("Work-conserving", text, worker=worker, values=(("factor", factor),)),)


def enforce_share(container: Container, capacity: float, limits: str) -> tuple[float | None, float]:
    """Return a share as the engine applies it: (limit in cores or None, weight).

    `hard`: a quota. `soft`: a weight. `hybrid`: a weight, and a quota in CL only.
    """
    if limits == "hard":
        return quota_cores(container.share, capacity), 1.0
    cap = (
        quota_cores(container.share, capacity)
        if limits == "hybrid" and container.list == COMPLETING
        else None
    )
    return cap, share_weight(container.share)


def order_changes(
    changes: Mapping[str, tuple[Container, tuple[float | None, float]]],
) -> tuple[list[SetLimit], list[SetLimit]]:
    """Split the changes into those that shrink a limit and those that grow one."""
    shrinks: list[SetLimit] = []
    grows: list[SetLimit] = []
    for name, (container, target) in changes.items():
        before = container.enforced
        smaller = before is not None and _size(target) < _size(before)
        (shrinks if smaller else grows).append(SetLimit(name, *target))
    return shrinks, grows


def _size(setting: tuple[float | None, float]) -> tuple[float, float]:
    limit, weight_ = setting
    return (float("inf") if limit is None else limit, weight_)


TIME_TOLERANCE = 1e-9
"""Times closer than this, in seconds, are equal."""


@dataclass(frozen=True, slots=True)
class NodeState:
    """The state of one worker."""

    #: Its containers at the last run, by job, in order of arrival.
    containers: Mapping[str, Container] = field(default_factory=dict)
    #: The interval until the next run, seconds; doubles while all complete.
    itval: float = 0.0
    #: When the algorithm last ran, runs next, and when refused limits are requested again.
    last: float = -inf
    due: float = inf
    retry: float = inf
    #: The marks of its containers.
    marks: tuple[Mark, ...] = ()


class NodeSnapshot(NamedTuple):
    """One worker at one time."""

    #: The machine.
    worker: Worker
    #: Its jobs, with those that start now.
    jobs: Mapping[str, Job]
    #: Names of the jobs that start now.
    starting: frozenset[str]
    #: The printed values of all jobs.
    tracks: Tracks
    #: Seconds of the run's clock.
    now: float


class NodeDecision(NamedTuple):
    """The decision for one worker."""

    node: NodeState
    actions: tuple[Action, ...] = ()
    reasons: tuple[Reason, ...] = ()


def mark_refused(node: NodeState, jobs: frozenset[str], now: float, settings: FlowConSettings) -> NodeState:
    """Mark refused limits as unknown; they are requested again one interval later."""
    hit = {name: each._replace(enforced=None) for name, each in node.containers.items() if name in jobs}
    if not hit:
        return node
    return replace(node, containers={**node.containers, **hit}, retry=min(node.retry, now + settings.itval))


def advance(node: NodeState, snapshot: NodeSnapshot, settings: FlowConSettings) -> NodeDecision:
    """Run the algorithm if the listener or the interval says so, or retry refused limits."""
    if snapshot.jobs.keys() != node.containers.keys():
        changed, reasons = listen(node, snapshot, settings)
        staying = node.containers.keys() & snapshot.jobs.keys()
        return run_algorithm(changed, snapshot, settings, staying, reasons)
    if node.containers and snapshot.now >= node.due - TIME_TOLERANCE:
        return run_algorithm(node, snapshot, settings, node.containers.keys(), [])
    if snapshot.now >= node.retry - TIME_TOLERANCE:
        actions, containers = _plan_actions(node.containers, snapshot, settings)
        return NodeDecision(replace(node, containers=containers, retry=inf), actions)
    return NodeDecision(node)


def listen(
    node: NodeState, snapshot: NodeSnapshot, settings: FlowConSettings
) -> tuple[NodeState, list[Reason]]:
    """Algorithm 2: put new containers into NL, release those that left, and reset the interval.

    Sets of ids are compared: the count of lines 2 to 5 misses an arrival paired with a departure.
    """
    worker = snapshot.worker.id
    arrivals = [name for name in snapshot.jobs if name not in node.containers]
    departures = [name for name in node.containers if name not in snapshot.jobs]
    staying = {name: each for name, each in node.containers.items() if name in snapshot.jobs}
    new = {name: new_container(snapshot.jobs[name], snapshot.tracks.get(name)) for name in arrivals}
    reasons = [
        Reason(
            "Algorithm 2, lines 5–9",
            f"{name} is new on {worker}: in the list of new jobs, limit 1.",
            name,
            worker,
        )
        for name in arrivals
    ]
    reasons += [
        Reason("Algorithm 2, lines 10–17", f"{name} left {worker}: its share is released.", name, worker)
        for name in departures
    ]
    return replace(node, containers={**staying, **new}, itval=settings.itval), reasons


def run_algorithm(
    node: NodeState,
    snapshot: NodeSnapshot,
    settings: FlowConSettings,
    previous: AbstractSet[str],
    reasons: list[Reason],
) -> NodeDecision:
    """Run Algorithm 1 on one worker; `previous` are the containers of the previous run."""
    if not node.containers:
        return NodeDecision(NodeState(itval=node.itval), reasons=tuple(reasons))
    containers = dict(node.containers)
    if snapshot.now - node.last > TIME_TOLERANCE:
        containers, why = _classify_all(node, previous, snapshot, settings)
        reasons = [*reasons, *why]
    containers, why = assign_limits(containers, snapshot.worker.id, settings)
    extra: tuple[Reason, ...] = ()
    if settings.work_conserving:
        containers, extra = raise_limits(containers, snapshot.worker.id)
    itval = node.itval
    if all_completing(containers):
        itval = min(2.0 * itval, settings.back_off * settings.itval)
    actions, containers = _plan_actions(containers, snapshot, settings)
    marks = tuple(each.mark for each in containers.values())
    after = NodeState(containers, itval, snapshot.now, snapshot.now + itval, inf, marks)
    return NodeDecision(after, actions, (*reasons, *why, *extra))


def _classify_all(
    node: NodeState, previous: AbstractSet[str], snapshot: NodeSnapshot, settings: FlowConSettings
) -> tuple[dict[str, Container], list[Reason]]:
    """Classify the containers of the previous run (lines 2 to 13)."""
    seconds, capacity = snapshot.now - node.last, snapshot.worker.capacity
    containers = dict(node.containers)
    old = {name: each for name, each in containers.items() if name in previous}
    used = {name: measure_usage(each, snapshot.jobs[name], seconds, capacity) for name, each in old.items()}
    known = [each for each in used.values() if each is not None]
    idle = len(known) == len(used) and has_spare_time(sum(known))
    reasons = []
    for name, each in old.items():
        job, track = snapshot.jobs[name], snapshot.tracks.get(name)
        after, why = classify_container(each, job, track, seconds, capacity, settings)
        containers[name] = after._replace(demand=estimate_demand(each, used[name], idle))
        if why is not None:
            reasons.append(why)
    return containers, reasons


def _plan_actions(
    containers: Mapping[str, Container], snapshot: NodeSnapshot, settings: FlowConSettings
) -> tuple[tuple[Action, ...], dict[str, Container]]:
    """Return the actions (shrink, start, grow) and the containers after them."""
    targets = {
        name: enforce_share(each, snapshot.worker.capacity, settings.limits)
        for name, each in containers.items()
    }
    changed = {
        name: (each, targets[name])
        for name, each in containers.items()
        if each.enforced != targets[name] and name not in snapshot.starting
    }
    shrinks, grows = order_changes(changed)
    starts = tuple(
        Start(name, snapshot.worker.id, *targets[name]) for name in containers if name in snapshot.starting
    )
    after = {name: each._replace(enforced=targets[name]) for name, each in containers.items()}
    return (*shrinks, *starts, *grows), after
