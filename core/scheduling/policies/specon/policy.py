"""SpeCon's `decide`: place what waits, look at every tick, serve one request after the other, rebalance."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor
from typing import TYPE_CHECKING

from core.scheduling import lookup
from core.scheduling.actions import Migrate, Reason
from core.scheduling.fast_frozen_init import filled_by_slot
from core.scheduling.lazy_tuple import Deferred
from core.scheduling.placement import Placer, place, placer
from core.scheduling.policies.specon.monitor import CONVERGED, Looked, SpeConSettings, Watched, joined, look
from core.scheduling.policies.specon.rebalancing import REBALANCE, Move, Placed, chosen, followed, scores
from core.scheduling.ports import Decision, SchedulingPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.scheduling.actions import Action, Mark
    from core.scheduling.lookup import Standing
    from core.scheduling.model import Observation
    from core.scheduling.placement import Placing

_NOW = 1e-9


@filled_by_slot
@dataclass(frozen=True, slots=True)
class SpeConState:
    """What SpeCon remembers."""

    #: As chosen.
    settings: SpeConSettings
    #: The default scheduler.
    placer: Placer
    #: The number of the last observation.
    number: int = -1
    #: The observation up to which what containers print was taken in, and those since then.
    read: Observation | None = None
    unread: tuple[Observation, ...] = ()
    #: Every container that was started.
    watched: Mapping[str, Watched] = field(default_factory=dict)
    #: Migrations under way; requests are served one at a time.
    moves: Mapping[str, Move] = field(default_factory=dict)
    #: Containers whose requests wait.
    queue: tuple[str, ...] = ()
    #: When every E is looked at next: multiples of the interval.
    tick: float | None = None
    #: When it last asked to be woken.
    wake: float | None = None
    #: As last shown.
    marks: tuple[Mark, ...] = ()


class _Turn:
    """One decision while it is made; what it begins with is never changed."""

    def __init__(self, state: SpeConState, seen: Observation, placing: Placing) -> None:
        self.state, self.seen, self.placing = state, seen, placing
        self.read, self.unread = state.read, (*state.unread, seen)
        self.jobs: dict[str, Standing] = {job.id: job for job in lookup.standing(seen)}
        self.soon = placing.soon
        self.watched = _known(state.watched, self)
        self.moves, over = followed(state.moves, seen, self.jobs)
        self.queue = state.queue
        self.actions: list[Action] = list(placing.actions)
        self.reasons: list[Reason | Callable[[], Reason]] = [*placing.reasons, *over]

    def worker_of(self, name: str) -> str | None:
        """Where a container is, goes to, or starts."""
        move = self.moves.get(name)
        return move.to if move else self.jobs[name].worker or self.soon.get(name)

    def migrate(self, name: str, to: str, why: Reason) -> None:
        """Ask for a migration."""
        self.actions.append(Migrate(name, to))
        self.reasons.append(why)
        if name not in self.moves:
            self.moves = {**self.moves, name: Move(to, self.seen.time)}


def begin(settings: SpeConSettings, seed: int) -> SpeConState:
    """The state before the first observation."""
    return SpeConState(settings, placer(settings.placement, seed))


def decide(state: SpeConState, seen: Observation) -> Decision[SpeConState]:
    """Start what waits; at a tick classify, then serve requests, then rebalance."""
    if seen.number <= state.number:
        return Decision(state, wake=state.wake)
    turn = _Turn(state, seen, place(state.placer, seen))
    ticks = state.tick is not None and seen.time >= state.tick - _NOW
    if ticks:
        _look(turn)
    if turn.queue and not turn.moves:
        _serve(turn)
    if ticks:
        _rebalance(turn)
    return _answer(turn)


def _known(watched: Mapping[str, Watched], turn: _Turn) -> Mapping[str, Watched]:
    """The watched containers: those that ended are forgotten, those that start or run join in PC.

    One that must wait again (a start that failed, a lost worker) stays known: it is decided on only once.
    """
    if watched.keys() == turn.jobs.keys():
        return watched
    new = [
        name for name, job in turn.jobs.items() if name not in watched and (job.worker or name in turn.soon)
    ]
    gone = [name for name in watched if name not in turn.jobs]
    if not new and not gone:
        return watched
    after = {**watched, **{name: joined(name) for name in new}}
    for name in gone:
        del after[name]
    return after


def _look(turn: _Turn) -> None:
    undecided = {name for name, each in turn.watched.items() if not each.decided}
    printed = lookup.printed_after(turn.read, turn.unread, undecided)
    turn.read, turn.unread = turn.seen, ()
    looked: Looked = look(turn.watched, turn.jobs, printed, turn.seen.time, turn.state.settings)
    turn.watched = looked.watched
    turn.queue += looked.requests
    turn.reasons += looked.reasons


def _serve(turn: _Turn) -> None:
    """Algorithm 4 for the requests in order, until one needs a migration; scored as things are now."""
    watched, workers = dict(turn.watched), turn.seen.workers
    on = [(worker, each.category) for name, each in watched.items() if (worker := turn.worker_of(name))]
    score, queue = scores(on, workers, turn.state.settings.weights), list(turn.queue)
    while queue and not turn.moves:
        name = queue.pop(0)
        each, job = watched.get(name), turn.jobs.get(name)
        if each is None or job is None or job.worker not in score:
            continue
        if each.category != CONVERGED:
            watched[name] = each._replace(asked=False)
            turn.reasons.append(Reason("Request dropped", f"{name} progresses again.", name, job.worker))
            continue
        watched[name] = each._replace(decided=True, asked=False, converged=turn.seen.time)
        to, why = chosen(name, job.worker, score, workers)
        if to == job.worker:
            turn.reasons.append(why)
        elif not job.can_migrate:
            text = f"{name} stays on {job.worker}: it writes no checkpoints."
            turn.reasons.append(Reason("Algorithm 4, cannot migrate", text, name, job.worker, why.values))
        else:
            turn.migrate(name, to, why)
    turn.watched, turn.queue = watched, tuple(queue)


def _rebalance(turn: _Turn) -> None:
    """Algorithm 5, while every running container is decided or in CC and nothing is on its way."""
    if turn.moves or turn.queue or not turn.watched or not turn.seen.workers:
        return
    if any(not each.settled and turn.worker_of(name) is not None for name, each in turn.watched.items()):
        return
    workers = turn.seen.workers
    known = {worker.id for worker in workers}
    here = [(turn.jobs[name], each, turn.worker_of(name)) for name, each in turn.watched.items()]
    placed = [
        Placed(
            job.id,
            worker,
            turn.seen.time - (each.converged or 0.0),
            job.can_migrate,
            each.rebalanced,
        )
        for job, each, worker in here
        if worker is not None and worker in known
    ]
    for move in REBALANCE[turn.state.settings.rebalance](placed, workers):
        turn.migrate(move.job, move.to, move.reason)
        changed = turn.watched[move.job]._replace(rebalanced=True)
        turn.watched = {**turn.watched, move.job: changed}


def _answer(turn: _Turn) -> Decision[SpeConState]:
    """The decision; ticks are asked for only while something is there to look at."""
    state, seen, interval = turn.state, turn.seen, turn.state.settings.interval
    tick = (floor(seen.time / interval + _NOW) + 1) * interval
    marks = state.marks
    if turn.watched is not state.watched:
        marks = tuple([each.mark for each in turn.watched.values()])
    wake = turn.placing.wake
    if turn.watched and (wake is None or tick < wake):
        wake = tick
    after = SpeConState(
        state.settings,
        turn.placing.placer,
        seen.number,
        turn.read,
        turn.unread,
        turn.watched,
        turn.moves,
        turn.queue,
        tick,
        wake,
        marks,
    )
    reasons = Deferred(turn.reasons) if turn.reasons else ()
    return Decision(after, tuple(turn.actions), reasons, marks, wake)


SPECON = SchedulingPolicy(
    name="specon",
    about="Moves jobs that have nearly converged to other workers, so that jobs that still learn have room.",
    begin=begin,
    decide=decide,
    settings=SpeConSettings,
    title="SpeCon",
)
