"""``specon``: migrates each container that has nearly converged once, and rebalances when all have.

Settings and Algorithm 3: `monitor`; Algorithms 4 and 5, and pending migrations: here. Source: Zheng,
"Efficient resource management for deep learning applications", 4.2, 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling import lookup
from core.scheduling.actions import Migrate, Reason
from core.scheduling.fast_frozen_init import fast_frozen_init
from core.scheduling.lazy_tuple import PartlyLazyTuple
from core.scheduling.model import JobState
from core.scheduling.placement import Placer, place, placer
from core.scheduling.policies.specon.monitor import (
    CONVERGED,
    PRESETS,
    MonitorResult,
    SpeConSettings,
    WatchedContainer,
    run_monitor,
    watch_container,
)
from core.scheduling.ports import Decision, PolicyGroup, SchedulingPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from core.scheduling.actions import Action, Mark
    from core.scheduling.lookup import JobPosition
    from core.scheduling.model import Observation, Worker
    from core.scheduling.placement import PlacementDecision


MIGRATION_TIMEOUT = 300.0
"""Seconds after which a migration that neither began nor was refused is dropped."""


# Pending migrations.
#
# A failed migration leaves the container where it was, and its decision stands: it is not retried.


class PendingMigration(NamedTuple):
    """A requested migration."""

    #: The target.
    to: str
    #: When it was requested, seconds.
    since: float
    #: True once the container was observed migrating.
    is_migrating: bool = False


def update_migrations(
    moves: Mapping[str, PendingMigration], observation: Observation, jobs: Mapping[str, JobPosition]
) -> tuple[Mapping[str, PendingMigration], tuple[Reason, ...]]:
    """Return the pending migrations, and a reason for each that is over."""
    if not moves:
        return moves, ()
    failed = {
        (f.action.job, f.action.to): f.why for f in observation.failures if isinstance(f.action, Migrate)
    }
    open_, reasons = {}, []
    for name, move in moves.items():
        job = jobs.get(name)
        end = _migration_end(job, move, failed.get((name, move.to)), observation.time)
        if job is not None and end is None:
            open_[name] = move._replace(is_migrating=move.is_migrating or job.state is JobState.MIGRATING)
        elif end is not None:
            reasons.append(Reason(end[0], f"{name} {end[1]}", name, move.to))
    return open_, tuple(reasons)


def _migration_end(
    job: JobPosition | None, move: PendingMigration, why: str | None, now: float
) -> tuple[str, str] | None:
    """Return the rule and sentence of a migration that is over; None while it is pending."""
    if job is None:
        return "Migration, job ended", f"ended before it was on {move.to}."
    if why is not None:
        return "Migration failed", f"goes on on {job.worker}: {why}"
    if job.state is JobState.MIGRATING:
        return None
    if job.worker == move.to:
        return "Migration done", f"goes on on {move.to}."
    if move.is_migrating or now - move.since > MIGRATION_TIMEOUT:
        return "Migration failed", f"goes on on {job.worker}; it never came to {move.to}."
    return None


_MAX_SCORES_SHOWN = 16  # scores that a reason carries at most: of a thousand workers, those that decided


# Algorithm 4: the worker for a converged container, by weighted scores.
#
# S(w) = 2|PC| + 1.5|WC| + 1|CC| over the containers on w, including the requesting one on its own worker.


def score_workers(
    categories: Iterable[tuple[str, str]], workers: Sequence[Worker], weights: Mapping[str, float]
) -> dict[str, float]:
    """Return the weighted score of every worker (lines 2 and 3)."""
    score = {worker.id: 0.0 for worker in workers}
    for worker, category in categories:
        if worker in score:
            score[worker] += weights[category]
    return score


def least_scored(score: Mapping[str, float]) -> list[str]:
    """Return the workers with the least score (lines 4 to 7)."""
    lowest = min(score.values())
    return [worker for worker, each in score.items() if each <= lowest + 1e-9]


def choose_worker(
    job: str, current: str, score: Mapping[str, float], workers: Sequence[Worker]
) -> tuple[str, Reason]:
    """Return the container's worker, which may be its present one (lines 8 to 21), and the reason."""
    targets = least_scored(score)
    listed = (
        score if len(score) <= _MAX_SCORES_SHOWN else dict.fromkeys((current, *targets[:_MAX_SCORES_SHOWN]))
    )
    values = tuple((f"score of {name}", score[name]) for name in listed)
    if current in targets:
        text = f"{job} stays: no worker is scored below {current}."
        return current, Reason("Algorithm 4, lines 8–10", text, job, current, values)
    if len(targets) == 1:
        to, lines, why = targets[0], "11–16", "has the least score"
    else:
        used = _cores_in_use(workers)
        to = min(targets, key=lambda name: (used[name], name))
        lines, why = "17–21", f"uses least of the {len(targets)} with the least score"
    text = f"{job} moves from {current} to {to}, which {why}."
    return to, Reason(f"Algorithm 4, lines {lines}", text, job, current, values)


# SpeCon, Algorithm 5: spread containers again when all have converged; as resolved, and as printed.
#
# As printed it can move containers to and fro, never fire (bf is rounded down to 0 with fewer containers than
# workers) or move several at once. Resolved: bf = ⌈containers / workers⌉; the least-loaded worker below bf
# takes, from the most-loaded one that has at least two more, the container with the shortest time since its
# convergence; one move per interval, and each container once.


class PlacedContainer(NamedTuple):
    """A container in Algorithm 5."""

    #: The container, and its present or future worker.
    job: str
    worker: str
    #: Seconds since it converged.
    duration: float
    #: Whether it writes checkpoints and can migrate.
    can_migrate: bool = True
    #: Whether Algorithm 5 has moved it before.
    was_rebalanced: bool = False


class RebalanceMove(NamedTuple):
    """A migration for balance, and its reason."""

    job: str
    to: str
    reason: Reason


def count_containers(placed: Sequence[PlacedContainer], workers: Sequence[Worker]) -> dict[str, int]:
    """Return |w| of every worker (line 3)."""
    load = {worker.id: 0 for worker in workers}
    for each in placed:
        load[each.worker] += 1
    return load


def _cores_in_use(workers: Sequence[Worker]) -> dict[str, float]:
    """Return the cores in use of every worker; all of them where that is unknown."""
    return {worker.id: worker.capacity if worker.used is None else worker.used for worker in workers}


def rebalance_as_resolved(
    placed: Sequence[PlacedContainer], workers: Sequence[Worker]
) -> tuple[RebalanceMove, ...]:
    """Return at most one migration."""
    load = count_containers(placed, workers)
    used = _cores_in_use(workers)
    factor = -(-len(placed) // len(workers))
    target = min(load, key=lambda name: (load[name], used[name], name))
    if load[target] >= factor:
        return ()
    donors = _movable(placed, [name for name in load if load[name] >= load[target] + 2])
    if not donors:
        return ()
    donor = min(donors, key=lambda name: (-load[name], -used[name], name))
    mover = donors[donor]
    values = (
        ("jobs here", float(load[donor])),
        ("jobs there", float(load[target])),
        ("bf", float(factor)),
        ("seconds since convergence", mover.duration),
    )
    text = f"{mover.job} moves from {donor} ({load[donor]} jobs) to {target} ({load[target]})."
    return (
        RebalanceMove(mover.job, target, Reason("Algorithm 5 as resolved", text, mover.job, donor, values)),
    )


def _movable(placed: Sequence[PlacedContainer], donors: Sequence[str]) -> dict[str, PlacedContainer]:
    """Return the candidate of each donor: the one not yet rebalanced that converged last."""
    best: dict[str, PlacedContainer] = {}
    allowed = set(donors)
    for each in placed:
        if each.can_migrate and not each.was_rebalanced and each.worker in allowed:
            before = best.get(each.worker)
            if before is None or each.duration < before.duration:
                best[each.worker] = each
    return best


def rebalance_as_printed(
    placed: Sequence[PlacedContainer], workers: Sequence[Worker]
) -> tuple[RebalanceMove, ...]:
    """Run Algorithm 5 as printed, with a guard against no workers."""
    if not workers:
        return ()
    load = count_containers(placed, workers)  # lines 2 to 8
    factor = len(placed) // len(workers)  # line 9
    empty = [name for name, count in load.items() if count == 0]
    if empty:
        return _to_empty(placed, empty, factor)
    return _to_light(placed, load, factor)


def _to_empty(
    placed: Sequence[PlacedContainer], empty: Sequence[str], factor: int
) -> tuple[RebalanceMove, ...]:
    """Give each idle worker the remaining container that converged last (lines 10 to 18)."""
    durations = [each for each in placed if each.can_migrate]
    moves = []
    for worker in empty:
        if factor > 0 and durations:
            mover = min(durations, key=lambda each: each.duration)
            durations.remove(mover)
            moves.append(_printed_move(mover, worker, factor, "10–16"))
    return tuple(moves)


def _to_light(
    placed: Sequence[PlacedContainer], load: Mapping[str, int], factor: int
) -> tuple[RebalanceMove, ...]:
    """Give one container to every worker below bf − 1 (lines 19 to 31)."""
    light = [name for name, count in load.items() if count < factor - 1]
    others = [each for each in placed if each.can_migrate and each.worker not in light]
    if not light or not others:
        return ()
    mover = min(others, key=lambda each: each.duration)
    return tuple(_printed_move(mover, worker, factor, "19–29") for worker in light)


def _printed_move(mover: PlacedContainer, to: str, factor: int, lines: str) -> RebalanceMove:
    values = (("bf", float(factor)), ("seconds since convergence", mover.duration))
    text = f"{mover.job} moves from {mover.worker} to {to}."
    return RebalanceMove(
        mover.job, to, Reason(f"Algorithm 5 as printed, lines {lines}", text, mover.job, mover.worker, values)
    )


REBALANCE = {"resolved": rebalance_as_resolved, "as-printed": rebalance_as_printed}


_TIME_TOLERANCE = 1e-9


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class SpeConState:
    """The state of SpeCon."""

    #: As configured.
    settings: SpeConSettings
    #: The default scheduler.
    placer: Placer
    #: The number of the last observation.
    number: int = -1
    #: The observation up to which printed values were read, and the unread ones.
    read: Observation | None = None
    unread: tuple[Observation, ...] = ()
    #: Every started container.
    watched: Mapping[str, WatchedContainer] = field(default_factory=dict)
    #: Pending migrations; requests are served one at a time.
    moves: Mapping[str, PendingMigration] = field(default_factory=dict)
    #: Containers with waiting requests.
    queue: tuple[str, ...] = ()
    #: The next time at which every E is read: a multiple of the interval.
    tick: float | None = None
    #: The last requested wake-up time.
    wake: float | None = None
    #: The marks of the last decision.
    marks: tuple[Mark, ...] = ()


class _SpeConRound:
    """One decision; it leaves the previous state unchanged."""

    def __init__(self, state: SpeConState, observation: Observation, placing: PlacementDecision) -> None:
        self.state, self.observation, self.placing = state, observation, placing
        self.read, self.unread = state.read, (*state.unread, observation)
        self.jobs: dict[str, JobPosition] = {job.id: job for job in lookup.job_positions(observation)}
        self.soon = placing.starting_workers
        self.watched = _update_watched(state.watched, self)
        self.moves, over = update_migrations(state.moves, observation, self.jobs)
        self.queue = state.queue
        self.actions: list[Action] = list(placing.actions)
        self.reasons: list[Reason | Callable[[], Reason]] = [*placing.reasons, *over]

    def worker_of(self, name: str) -> str | None:
        """Return the worker where a container is, goes to, or starts."""
        move = self.moves.get(name)
        return move.to if move else self.jobs[name].worker or self.soon.get(name)

    def migrate(self, name: str, to: str, why: Reason) -> None:
        """Request a migration."""
        self.actions.append(Migrate(name, to))
        self.reasons.append(why)
        if name not in self.moves:
            self.moves = {**self.moves, name: PendingMigration(to, self.observation.time)}


def begin(settings: SpeConSettings, seed: int) -> SpeConState:
    """Return the initial state."""
    return SpeConState(settings, placer(settings.placement, seed))


def decide(state: SpeConState, observation: Observation) -> Decision[SpeConState]:
    """Start waiting jobs; at a tick classify, serve requests and rebalance."""
    if observation.number <= state.number:
        return Decision(state, wake=state.wake)
    round_ = _SpeConRound(state, observation, place(state.placer, observation))
    ticks = state.tick is not None and observation.time >= state.tick - _TIME_TOLERANCE
    if ticks:
        _classify_all(round_)
    if round_.queue and not round_.moves:
        _serve_requests(round_)
    if ticks:
        _rebalance(round_)
    return _make_decision(round_)


def _update_watched(
    watched: Mapping[str, WatchedContainer], round_: _SpeConRound
) -> Mapping[str, WatchedContainer]:
    """Return the watched containers: ended ones dropped, new ones in PC.

    A container that waits again (a failed start, a lost worker) stays watched: it is decided once only.
    """
    if watched.keys() == round_.jobs.keys():
        return watched
    new = [
        name
        for name, job in round_.jobs.items()
        if name not in watched and (job.worker or name in round_.soon)
    ]
    ended = [name for name in watched if name not in round_.jobs]
    if not new and not ended:
        return watched
    after = {**watched, **{name: watch_container(name) for name in new}}
    for name in ended:
        del after[name]
    return after


def _classify_all(round_: _SpeConRound) -> None:
    undecided = {name for name, each in round_.watched.items() if not each.is_decided}
    printed = lookup.values_since(round_.read, round_.unread, undecided)
    round_.read, round_.unread = round_.observation, ()
    result: MonitorResult = run_monitor(
        round_.watched, round_.jobs, printed, round_.observation.time, round_.state.settings
    )
    round_.watched = result.watched
    round_.queue += result.requests
    round_.reasons += result.reasons


def _serve_requests(round_: _SpeConRound) -> None:
    """Run Algorithm 4 for the requests in order, until one needs a migration."""
    watched, workers = dict(round_.watched), round_.observation.workers
    on = [(worker, each.category) for name, each in watched.items() if (worker := round_.worker_of(name))]
    score, queue = score_workers(on, workers, round_.state.settings.weights), list(round_.queue)
    while queue and not round_.moves:
        name = queue.pop(0)
        each, job = watched.get(name), round_.jobs.get(name)
        if each is None or job is None or job.worker not in score:
            continue
        if each.category != CONVERGED:
            watched[name] = each._replace(has_requested=False)
            round_.reasons.append(Reason("Request dropped", f"{name} progresses again.", name, job.worker))
            continue
        watched[name] = each._replace(
            is_decided=True, has_requested=False, converged_at=round_.observation.time
        )
        to, why = choose_worker(name, job.worker, score, workers)
        if to == job.worker:
            round_.reasons.append(why)
        elif not job.can_migrate:
            text = f"{name} stays on {job.worker}: it writes no checkpoints."
            round_.reasons.append(Reason("Algorithm 4, cannot migrate", text, name, job.worker, why.values))
        else:
            round_.migrate(name, to, why)
    round_.watched, round_.queue = watched, tuple(queue)


def _rebalance(round_: _SpeConRound) -> None:
    """Run Algorithm 5 once every running container is decided or in CC and no migration is pending."""
    if round_.moves or round_.queue or not round_.watched or not round_.observation.workers:
        return
    if any(
        not each.is_settled and round_.worker_of(name) is not None for name, each in round_.watched.items()
    ):
        return
    workers = round_.observation.workers
    worker_ids = {worker.id for worker in workers}
    here = [(round_.jobs[name], each, round_.worker_of(name)) for name, each in round_.watched.items()]
    placed = [
        PlacedContainer(
            job.id,
            worker,
            round_.observation.time - (each.converged_at or 0.0),
            job.can_migrate,
            each.was_rebalanced,
        )
        for job, each, worker in here
        if worker is not None and worker in worker_ids
    ]
    for move in REBALANCE[round_.state.settings.rebalance](placed, workers):
        round_.migrate(move.job, move.to, move.reason)
        changed = round_.watched[move.job]._replace(was_rebalanced=True)
        round_.watched = {**round_.watched, move.job: changed}


def _make_decision(round_: _SpeConRound) -> Decision[SpeConState]:
    """Return the decision; it requests ticks only while containers are undecided."""
    state, observation, interval = round_.state, round_.observation, round_.state.settings.interval
    tick = (floor(observation.time / interval + _TIME_TOLERANCE) + 1) * interval
    marks = state.marks
    if round_.watched is not state.watched:
        marks = tuple([each.mark for each in round_.watched.values()])
    wake = round_.placing.wake
    if round_.watched and (wake is None or tick < wake):
        wake = tick
    after = SpeConState(
        state.settings,
        round_.placing.placer,
        observation.number,
        round_.read,
        round_.unread,
        round_.watched,
        round_.moves,
        round_.queue,
        tick,
        wake,
        marks,
    )
    reasons = PartlyLazyTuple(round_.reasons) if round_.reasons else ()
    return Decision(after, tuple(round_.actions), reasons, marks, wake)


SPECON = SchedulingPolicy(
    name="specon",
    about="Moves jobs that have nearly converged to other workers, so that jobs that still learn have room.",
    begin=begin,
    decide=decide,
    settings=SpeConSettings,
    title="SpeCon",
    group=PolicyGroup.PROGRESS,
)


__all__ = ["POLICIES", "PRESETS", "SPECON", "SpeConSettings"]

POLICIES = (SPECON,)
