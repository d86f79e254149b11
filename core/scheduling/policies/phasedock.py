"""PhaseDock's own policy: first what is nearly there, as long as nobody waits much longer than fair.

On each worker jobs are ordered by what is gained per core-second: the larger of goal weight / work left to
90% of the loss reduction, and what ending is worth / work left to the end (shortest remaining work, but for
two goals). The order is followed only while every job can still keep its promise, to finish within
(1 + delta) times what fair sharing would take it, and while no job that cannot use a whole worker would end
after all others. Jobs that are not needed to fill the worker pause, so that they do not contend. A job that
does not say how many steps it has cannot be predicted: it keeps its fair share.

Jobs are placed where they delay the sum of completion times least, and move only if that saves more than
three times what moving costs (`core.scheduling.queueing`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from core.scheduling.actions import Action, Mark, Migrate, Pause, Reason, Resume, SetLimit, Start
from core.scheduling.fair_share import Fair, advance, finishes, slack
from core.scheduling.forecast import Known, Left, learn, left
from core.scheduling.model import Job, JobState, Observation, Worker
from core.scheduling.ports import Decision, SchedulingPolicy
from core.scheduling.queueing import best_move, best_place
from core.settings_fields import setting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BEHIND = 32.0
_LEAST_WEIGHT = 0.001
_MOST_MOVES = 2
_SOON = 1.0
"""Seconds between two looks while a job is new and its size not known yet."""


@dataclass(frozen=True)
class Settings:
    """What can be chosen."""

    delta: float = setting(
        0.3,
        label="Patience",
        low=0.0,
        high=10.0,
        help="How much longer than under fair sharing a job may take.",
    )
    goal: float = setting(
        1.5, label="Weight of 90%", low=0.0, high=100.0,
        help="Worth of reaching 90% of the loss reduction, against 1 for ending.",
    )  # fmt: skip
    stretch: float = setting(
        0.02,
        label="Stretch",
        low=0.0,
        high=10.0,
        help="How much later than possible everything may be finished.",
    )
    interval: float = setting(
        10.0, label="Interval", low=0.1, high=3600.0, unit="s", help="How often the order is looked at again."
    )
    pause: bool = setting(True, label="Pause", help="Pause jobs that are not needed to fill their worker.")
    migrate: bool = setting(True, label="Migrate", help="Move jobs between workers where that pays.")
    cost: float = setting(
        6.0, label="Cost of moving", low=0.0, high=3600.0, unit="s", help="What one migration takes."
    )


@dataclass(frozen=True, slots=True)
class State:
    """What it remembers between two observations."""

    settings: Settings
    number: int = -1
    time: float = 0.0
    known: Mapping[str, Known] = field(default_factory=dict)
    fair: Mapping[str, Mapping[str, Fair]] = field(default_factory=dict)
    totals: Mapping[str, float] = field(default_factory=dict)
    promised: Mapping[str, float] = field(default_factory=dict)
    home: Mapping[str, str] = field(default_factory=dict)
    begun: float = 0.0


@dataclass(frozen=True, slots=True)
class _View:
    """One observation with what is predicted from it."""

    seen: Observation
    state: State
    lefts: Mapping[str, Left | None]

    def demand(self, name: str, capacity: float) -> float:
        fastest = self.state.known[name].fastest if name in self.state.known else 0.0
        return min(fastest, capacity) if fastest > 0 else capacity

    def typical(self) -> float:
        """Work of a job of which nothing is known: the mean of those that are."""
        totals = list(self.state.totals.values())
        return sum(totals) / len(totals) if totals else 1.0


def decide(state: State, seen: Observation) -> Decision[State]:
    """Order, place and move."""
    if seen.number <= state.number:
        return Decision(state)
    view = _look(state, seen)
    state = view.state
    here: dict[str, list[Job]] = {worker.id: [] for worker in seen.workers}
    for job in seen.jobs:
        if job.worker in here and job.state in (JobState.RUNNING, JobState.PAUSED):
            here[job.worker].append(job)
    starts = _place(view, here)
    moves, reasons, state = _move(view, here, bool(starts))
    going = {move.job for move in moves if isinstance(move, Migrate)}
    actions = [*starts, *moves]
    wait, last = state.settings.interval, _last_end(view, here)
    for worker in seen.workers:
        staying = [job for job in here[worker.id] if job.id not in going]
        done, why, seconds = _share(view, worker, staying, last)
        actions += done
        reasons += why
        wait = min(wait, seconds)
    marks = tuple(Mark(job.id, _label(view.lefts.get(job.id))) for job in seen.jobs)
    wake = seen.time + wait if seen.jobs else None
    return Decision(state, tuple(actions), tuple(reasons), marks, wake)


def _label(known: Left | None) -> str:
    if known is None:
        return "unknown"
    return "to 90%" if known.knee is not None else "to the end"


def _look(state: State, seen: Observation) -> _View:
    """Take in an observation: what is left of each job, and what it would have had under fair sharing."""
    known = {
        job.id: learn(state.known.get(job.id) or Known(time=job.started or seen.time), job, seen.time)
        for job in seen.jobs
    }
    lefts = {job.id: left(job, known[job.id]) for job in seen.jobs}
    totals = dict(state.totals) | {name: each.total for name, each in lefts.items() if each}
    totals |= {job.id: job.cpu_seconds for job in seen.ended}
    view = _View(seen, replace(state, known=known, totals=totals), lefts)
    fair: dict[str, Mapping[str, Fair]] = {}
    promised = {job.id: state.promised[job.id] for job in seen.jobs if job.id in state.promised}
    for worker in seen.workers:
        on_it = _virtual(view, worker)
        fair[worker.id] = on_it
        needs = {name: view.state.totals.get(name, view.typical()) for name in on_it}
        demands = {name: view.demand(name, worker.capacity) for name in on_it}
        for name, end in finishes(on_it, needs, demands, worker.capacity, seen.time).items():
            came = on_it[name].arrived
            if name in known and not (known[name].moves and name in promised):
                promised[name] = came + (1 + state.settings.delta) * (end - came)
    home = {job.id: job.worker for job in seen.jobs if job.worker is not None}
    begun = state.begun if seen.jobs and state.known else seen.time
    state = replace(
        view.state,
        number=seen.number,
        time=seen.time,
        fair=fair,
        promised=promised,
        home=home,
        begun=begun,
    )
    return _View(seen, state, lefts)


def _virtual(view: _View, worker: Worker) -> dict[str, Fair]:
    """The virtual machine of a worker as it is now: those that were on it, and those that came."""
    before = view.state.fair.get(worker.id, {})
    here = {job.id: job for job in view.seen.jobs if job.worker == worker.id and job.state.placed}
    elsewhere = {job.id for job in view.seen.jobs if job.worker != worker.id}
    on_it = {name: each for name, each in before.items() if name not in elsewhere}
    needs = {name: view.state.totals.get(name, view.typical()) for name in on_it}
    demands = {name: view.demand(name, worker.capacity) for name in on_it}
    after = advance(on_it, needs, demands, worker.capacity, view.seen.time - view.state.time)
    came = {
        name: Fair(job.arrived, job.cpu_seconds)
        for name, job in here.items()
        if view.state.home.get(name) != worker.id
    }
    return after | came


def _place(view: _View, here: Mapping[str, list[Job]]) -> list[Action]:
    """Start each waiting job where it delays the sum of completion times least."""
    loads = {
        name: [each.end if (each := view.lefts[job.id]) else view.typical() for job in jobs]
        for name, jobs in here.items()
    }
    for job in view.seen.jobs:
        if job.state is JobState.MIGRATING and job.worker in loads:
            loads[job.worker].append(each.end if (each := view.lefts[job.id]) else view.typical())
    starts: list[Action] = []
    for job in view.seen.jobs:
        if job.state is JobState.WAITING:
            worker = best_place(view.typical(), loads, {each.id: each.capacity for each in view.seen.workers})
            loads[worker].append(view.typical())
            starts.append(Start(job.id, worker))
    return starts


def _share(
    view: _View, worker: Worker, jobs: Sequence[Job], last: float
) -> tuple[list[Action], list[Reason], float]:
    """Divide one worker among its jobs; also the seconds after which to look again."""
    settings = view.state.settings
    sure = {job.id: each for job in jobs if (each := view.lefts[job.id]) is not None}
    new = [job.id for job in jobs if job.id not in sure and job.total_steps]
    blind = [job.id for job in jobs if job.id not in sure and not job.total_steps]
    ends = {name: each.end for name, each in sure.items()}
    caps = {name: view.demand(name, worker.capacity) for name in sure}
    spare = slack(view.state.promised, ends, caps, worker.capacity, view.seen.time)
    tight = next((k for k, (_, seconds) in enumerate(spare) if seconds <= settings.interval), None)
    urgent = [name for name, _ in spare[: tight + 1]] if tight is not None else []
    soonest = {name: view.seen.time + ends[name] / caps[name] for name in sure}
    long = [name for name in sure if name not in urgent and soonest[name] >= last - settings.interval]
    long.sort(key=lambda name: (-soonest[name], name))
    rest = (name for name in sure if name not in urgent and name not in long)
    front = new + urgent + long + sorted(rest, key=lambda name: (-_index(sure[name], settings.goal), name))
    weights = _weights(view, worker, front, blind)
    reasons = [
        Reason("guard", "Its promise leaves no time for others.", spare[tight][0], worker.id,
               (("slack", spare[tight][1]),))
    ] if tight is not None else []  # fmt: skip
    actions = [act for job in jobs for act in _steer(job, weights.get(job.id), settings.pause)]
    return actions, reasons, _SOON if new else settings.interval


def _last_end(view: _View, here: Mapping[str, list[Job]]) -> float:
    """When everything may be finished at the latest: the soonest end of the fullest worker, stretched."""
    now, state = view.seen.time, view.state
    loads = [
        sum(each.end for job in here[worker.id] if (each := view.lefts[job.id])) / worker.capacity
        for worker in view.seen.workers
    ]
    end = now + max(loads, default=0.0)
    return end + state.settings.stretch * (end - state.begun)


def _index(known: Left, goal: float) -> float:
    """What a core-second for this job is worth."""
    if known.knee is None:
        return 1.0 / known.end
    return max(goal / known.knee, (1.0 + goal) / known.end)


def _weights(view: _View, worker: Worker, front: Sequence[str], blind: Sequence[str]) -> dict[str, float]:
    """Weights of those that run: in their order, as many as fill the worker, and everyone unpredictable."""
    weights = dict.fromkeys(blind, 1.0)
    filled, weight = 0.0, float(max(len(front), 1))
    for name in front:
        if filled >= worker.capacity * 0.999 and name in view.lefts:
            break
        weights[name] = max(weight, _LEAST_WEIGHT)
        weight /= _BEHIND
        filled += view.demand(name, worker.capacity)
    return weights


def _steer(job: Job, weight: float | None, pause: bool) -> list[Action]:
    """Bring one job from what it has to what it should have."""
    if weight is None and pause:
        return [Pause(job.id)] if job.state is JobState.RUNNING else []
    wanted = _LEAST_WEIGHT if weight is None else weight
    actions: list[Action] = [Resume(job.id)] if job.state is JobState.PAUSED else []
    if job.weight != wanted or job.limit is not None:
        actions.append(SetLimit(job.id, None, wanted))
    return actions


def _move(view: _View, here: Mapping[str, list[Job]], busy: bool) -> tuple[list[Action], list[Reason], State]:
    """Move at most one job, if the sum of completion times falls by more than three times the cost."""
    state, seen = view.state, view.seen
    in_flight = any(job.state is JobState.MIGRATING for job in seen.jobs)
    if not state.settings.migrate or busy or in_flight or len(seen.workers) == 1:
        return [], [], state
    lefts = {
        name: {job.id: each.end for job in jobs if (each := view.lefts[job.id])}
        for name, jobs in here.items()
    }
    able = {
        job.id for job in seen.jobs
        if job.can_migrate and job.id in state.known and state.known[job.id].moves < _MOST_MOVES
    }  # fmt: skip
    move = best_move(lefts, {each.id: each.capacity for each in seen.workers}, able)
    if move is None or move.gain <= 3 * state.settings.cost:
        return [], [], state
    known = dict(state.known)
    known[move.job] = replace(known[move.job], moves=known[move.job].moves + 1)
    why = Reason(
        "move",
        "Moving it saves more than three times its cost.",
        move.job,
        move.to,
        (("saved", move.gain), ("cost", state.settings.cost)),
    )
    paused = any(job.id == move.job and job.state is JobState.PAUSED for job in seen.jobs)
    wakes: list[Action] = [Resume(move.job)] if paused else []  # it cannot write a checkpoint while it sleeps
    return [*wakes, Migrate(move.job, move.to)], [why], replace(state, known=known)


PHASEDOCK = SchedulingPolicy(
    "phasedock",
    "First what is nearly there, as long as nobody waits much longer than fair.",
    begin=lambda settings, _seed: State(settings),
    decide=decide,
    settings=Settings,
)
