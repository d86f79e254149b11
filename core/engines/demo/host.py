"""The demo as a host: lists, measures and limits replayed jobs like containers of Docker."""

from __future__ import annotations

import contextlib
from hashlib import sha256
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, Final, Self

from core.engines.demo.containers import DemoContainer, DemoLimits, DemoReadings, make_container, make_id
from core.engines.errors import ChangeRefused, ContainerGone, NotOurs
from core.engines.run.keeper import MemoryKeeper
from core.engines.submitted import Outcome
from core.engines.values import JOB, MANAGED, SUBMISSION, Counters, EngineKey, HostInfo
from core.simulation.replay import DONE, KILLED, STOPPED, Replay, ReplayedJob, Submitted, is_short
from core.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from core.engines.demo.world import DemoWorld, ReplayMoment
    from core.engines.ports import Container, HostAddress, Keeper
    from core.engines.run.host import ContainerCreation, HostEvent
    from core.scheduling.model import Reading
    from core.simulation.replay import ReplayPlan

ENGINE_ID: Final = "phasedock-demo"
"""The demo's id, the same in every workspace; the ids of its containers differ between replays."""

ENDING_SENTENCES: Final = {
    DONE: "It finished.",
    KILLED: "It needed more memory than its limit, and was killed.",
    STOPPED: "It was stopped.",
}
"""The sentence for the end of a replayed job, by its outcome."""

NO_RESTART: Final = "The demo replays recorded jobs; a Docker engine can restart its containers."
"""Why no container of the demo can be restarted."""

_PERIODS: Final = 10.0
"""Periods of a quota per second, the kernel's default."""


class DemoHost:
    """The replay behind the ports of a host."""

    def __init__(
        self,
        address: HostAddress,
        world: DemoWorld,
        keeper: Keeper | None = None,
        guard: Callable[[Container], bool] = lambda _: False,
    ) -> None:
        self.address = address
        self.world = world
        self.keeper: Keeper = keeper or MemoryKeeper()
        self._guard = guard
        self._containers: dict[str, DemoContainer] = {}
        self._present: ReplayMoment | None = None

    @property
    def name(self) -> str:
        """Its name in the settings."""
        return self.address.name

    # ---- watched ----

    def info(self, within: float = inf) -> HostInfo:
        """Return its description."""
        plan = self.world.plan
        return HostInfo(self.name, plan.cores, int(plan.memory), "", 2, local=False, id=ENGINE_ID)

    def key(self) -> EngineKey:
        """Return the identity of its engine."""
        return self.info().key

    def ping(self) -> None:
        """Check that there is a replay; writes nothing, unlike `advance`."""
        self.info()

    def advance(self) -> ReplayMoment:
        """Advance the replay to the present and return it."""
        return self._update_containers(self.world.advance())

    @property
    def present(self) -> ReplayMoment:
        """The replay when it was last advanced."""
        return self._present or self.advance()

    def containers(self, running_only: bool = True) -> tuple[DemoContainer, ...]:
        """Return its containers, newest first; those that ended long ago only of submitted jobs."""
        present = self.advance()
        if running_only:
            return tuple(each for each in self._containers.values() if each.running)
        jobs = reversed(present.replay.jobs)
        return tuple(make_container(self.world.plan, job, present) for job in jobs)

    def stopped(self, wanted: Callable[[DemoContainer], bool], at_most: int) -> tuple[DemoContainer, ...]:
        """Return the newest wanted containers that have ended and are not forgotten yet."""
        ended = (each for each in self.containers(running_only=False) if not each.running)
        return tuple(islice(filter(wanted, ended), at_most))

    def inspect(self, container: str) -> DemoContainer:
        """Return the present state of a container."""
        self.advance()
        current = self._containers.get(container)
        if current is None:
            raise ContainerGone("This container of the demo has ended.", "Its place has another one soon.")
        return current

    def last_state(self, container: str) -> DemoContainer | None:
        """Return the last known state of a container."""
        return self._containers.get(container)

    def counters(self, containers: Sequence[DemoContainer]) -> dict[str, Counters]:
        """Return a reading of each running container, by id."""
        replay = self.advance().replay
        replayed_jobs = ((each.id, self.job(each)) for each in containers)
        return {key: self._count_usage(replay, job) for key, job in replayed_jobs if job is not None}

    def pressure(self) -> float:
        """Return 1 while the jobs want more cores than there are, within their limits, else 0."""
        return float(is_short(self.world.plan, self.present.replay))

    def _count_usage(self, replay: Replay, job: ReplayedJob) -> Counters:
        recording = self.world.plan.recording(job)
        return Counters(
            replay.at,
            job.used,
            int(job.memory(recording)),
            io_written=int(job.io_total(recording)),
            periods=int(job.limited * _PERIODS),
            throttled_periods=int(job.held_back * _PERIODS),
            throttled_seconds=job.withheld,
        )

    def logs_since(self, container: str, since: float, lines: int = 400) -> list[tuple[float, str]]:
        """Return Unix seconds and text of a container's log lines after `since`, one for each step."""
        listed = (each for each in self.containers(running_only=False) if each.id == container)
        job = _find(self.present, next(listed, None) or self.inspect(container))
        if job is None:
            return []
        present, recording = self.present, self.world.plan.recording(job)
        printed = dict(recording.values_at(job.left))
        texts = [
            (
                present.unix(at),
                f"step {step}/{recording.steps}" + (f" loss={printed[at]!r}" if at in printed else ""),
            )
            for step, at in enumerate(job.left, 1)
        ]
        return [(at, text) for at, text in texts if at > since][-lines:]

    def printed(self, container: DemoContainer) -> list[Reading]:
        """Return Unix seconds and losses of a job when it was last advanced."""
        present = self.present
        job = _find(present, container)
        if job is None:
            return []
        lines = self.world.plan.recording(job).values_at(job.left)
        return [(present.unix(at), value) for at, value in lines]

    def job(self, container: DemoContainer) -> ReplayedJob | None:
        """Return a container's running job when it was last advanced; None after its end."""
        job = _find(self.present, container)
        return None if job is None or job.ended is not None else job

    def readings(self, container: DemoContainer) -> DemoReadings:
        """Return the readings of a container's job."""
        return DemoReadings(lambda: self.printed(container))

    def close(self) -> None:
        """Do nothing: the host has no connection."""

    # ---- steered ----

    def read_limits(self, plain: Mapping[str, Any]) -> DemoLimits:
        """Return the limits that `DemoLimits.to_dict` wrote."""
        return DemoLimits(**plain)

    def set_limits(self, container: str, limits: DemoLimits, hold: bool = True) -> DemoLimits:
        """Change a container's limits; `hold`: save those that it had before."""
        now = self._require_selected(container)
        if now.limits != limits:
            self._refuse_too_little(now, limits)
            if hold:
                self.keeper.keep(self.key(), now.id, now.limits.to_dict(), limits.to_dict())
            try:
                self._give(now, limits)
            except ContainerGone:
                self.keeper.forget(self.key(), now.id)
                raise
        return limits

    def restore(self, container: str) -> bool:
        """Restore and forget the saved limits; only forget them if the container has ended."""
        saved_limits = self.keeper.saved_limits(self.key(), container)
        if saved_limits is None:
            return False
        try:
            self._give(self.inspect(container), self.read_limits(saved_limits))
        except ContainerGone:
            self.keeper.forget(self.key(), container)
            raise
        self.keeper.forget(self.key(), container)
        return True

    def pause(self, container: str) -> None:
        """Pause a container's job."""
        self._change_job(self._require_selected(container), paused=True)

    def unpause(self, container: str) -> None:
        """Resume a container's job."""
        self._change_job(self._require_selected(container), paused=False)

    def stop(self, container: str, grace: float = 0.0) -> None:
        """End a container's job."""
        self._change(self._require_selected(container), self._stop_job)

    def restart(self, container: str) -> None:
        """Refuse: what was recorded is replayed once."""
        raise ChangeRefused("The demo replays recorded jobs, and none of them twice.", NO_RESTART)

    def remove(self, container: str) -> None:
        """Stop a container by id or name and forget it; does nothing if it is gone."""
        self.advance()
        match = next((each for each in self._containers.values() if container in (each.id, each.name)), None)
        if match is None:
            return
        with contextlib.suppress(ContainerGone):
            self.stop(match.id)
        self._update_containers(self.world.change(lambda now: now.replay.without(match.number)))

    def new_limits(self, cores: float | None, weight: float, memory: int | None) -> DemoLimits:
        """Return limits of a job that is created here."""
        return DemoLimits(None, memory).with_cores(cores).with_weight(weight)

    def create(self, creation: ContainerCreation) -> str:
        """Begin to replay a recording for a submitted job; return its container's id.

        It runs at once, and `start` has nothing to do: what can be restored is saved in the same step.
        """
        submitted = choose_recording(creation, self.world.plan)
        first = self.new_limits(None, 1.0, creation.memory).to_dict()
        memory = None if creation.memory is None else float(creation.memory)

        def begin(now: ReplayMoment) -> Replay:
            self.keeper.keep(self.key(), make_id(now.world, now.replay.begun), first)
            return now.replay.with_submitted(submitted, creation.cores, creation.weight, memory)

        present = self._update_containers(self.world.change(begin))
        return make_id(present.world, present.replay.begun - 1)

    def start(self, container: str) -> None:
        """Do nothing: a created container runs."""

    def events(self, callback: Callable[[HostEvent], None]) -> Callable[[], None]:
        """Follow nothing: whoever looks sees what has happened."""
        return lambda: None

    def has_image(self, image: str) -> bool:
        """Return True: a recording is replayed for any image."""
        return True

    def outcome(self, container: str) -> Outcome | None:
        """Return how a container's job ended; None while it runs."""
        present = self.advance()
        job = next(
            (job for job in present.replay.jobs if make_id(present.world, job.number) == container), None
        )
        if job is None:
            raise ContainerGone("This container of the demo has ended.", "Its place has another one soon.")
        return Outcome(job.outcome == DONE, ENDING_SENTENCES[job.outcome]) if job.outcome else None

    def free_threads(self, container: DemoContainer) -> None:
        """Do nothing: replayed jobs have fixed threads."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _update_containers(self, present: ReplayMoment) -> ReplayMoment:
        plan, jobs = self.world.plan, reversed(present.replay.jobs)
        now = [
            make_container(plan, job, present)
            for job in jobs
            if job.ended is None or job.submitted is not None
        ]
        self._containers = {each.id: each for each in now}
        self._present = present
        return present

    def _give(self, container: DemoContainer, limits: DemoLimits) -> None:
        self._change_job(
            container, limit=limits.cores, memory_limit=limits.memory_bytes, weight=limits.weight
        )

    def _change_job(self, container: DemoContainer, **values: Any) -> None:
        self._change(container, lambda replay, number: replay.changed(number, **values))

    def _stop_job(self, replay: Replay, number: int) -> Replay:
        return replay.stopped(self.world.plan, number, STOPPED)

    def _change(self, container: DemoContainer, edit: Callable[[Replay, int], Replay]) -> None:
        """Change one job if its container still exists."""

        def change(now: ReplayMoment) -> Replay:
            job = _find(now, container)
            if job is None or job.ended is not None:
                raise ContainerGone(
                    "This container of the demo has ended.", "Its place has another one soon."
                )
            return edit(now.replay, container.number)

        self._update_containers(self.world.change(change))

    def _refuse_too_little(self, container: DemoContainer, limits: DemoLimits) -> None:
        job = self.job(container)
        if job is None or limits.memory_bytes is None:
            return
        holds = job.memory(self.world.plan.recording(job))
        if holds > limits.memory_bytes:
            raise ChangeRefused(
                f"{container.name} holds {format_bytes(holds)}, so it would be killed at once.",
                "Set a limit above the memory that it holds.",
            )

    def _require_selected(self, container: str) -> DemoContainer:
        selected = self.inspect(container)
        if not self._guard(selected):
            raise self._selection_error(selected)
        return selected

    def _selection_error(self, container: DemoContainer) -> NotOurs:
        return NotOurs(
            f"PhaseDock may not change the container {container.name} on {self.name}.",
            f"Select it on the Live page; it does not carry the label {MANAGED}.",
        )


def choose_recording(creation: ContainerCreation, plan: ReplayPlan) -> Submitted:
    """Choose what is replayed for a submitted job: its program's recording, else one by the job's id."""
    names, submission = [each.name for each in plan.recordings], creation.labels[SUBMISSION]
    program = next((names.index(word) for word in creation.command if word in names), None)
    any_of_them = int.from_bytes(sha256(submission.encode()).digest()[:4]) % len(names)
    return Submitted(
        submission, creation.labels[JOB], creation.name, any_of_them if program is None else program
    )


def _find(present: ReplayMoment, container: DemoContainer) -> ReplayedJob | None:
    """Return the job of a container, running or ended; None for containers of another replay."""
    if make_id(present.world, container.number) != container.id:
        return None
    return next((job for job in present.replay.jobs if job.number == container.number), None)
