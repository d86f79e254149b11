"""Containers that people start themselves: earlier runs of their kind tell how fast they are.

Their kind is their image, their command, and the label ``phasedock.data`` where the command does not say
what they train on; they teach it in turn. They are followed from when a policy finds them running, so how
long they took to start is not known.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.engines.registry import WatchOnly
from core.engines.values import DATA, LOGS_EVERY, RUN, SUBMISSION
from core.errors import Cancelled, ConflictError, PhaseDockError
from core.live.attach.activity import ActivityLog
from core.live.attach.attached_run import AttachedRun
from core.live.control.by_hand import ours, switched_off
from core.live.control.restore import LimitRestorer
from core.live.queue.feed import FedEngine
from core.live.view.snapshot import LiveFiles
from core.live.watcher import locked
from core.sampling.sources import RingSamples
from core.sampling.usage_wrapper import showing_use
from core.sampling.values import Attached, Mode
from core.scheduling.actions import Pause, Resume
from core.scheduling.engine_wrapper import OverEngine
from core.scheduling.loop import drive
from core.scheduling.policies import POLICIES
from core.traces.validation import many
from core.workspace.earlier_runs import Kind, LearningEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from core.application import Workspace
    from core.engines.ports import Container, LiveEngine, SteeredHost
    from core.live.control.saved_limits import SavedLimitsKeeper
    from core.scheduling.actions import Action
    from core.scheduling.model import Failure, Job, Observation
    from core.scheduling.ports import Engine
    from core.workspace.earlier_runs import EarlierRuns


class OwnContainers(LearningEngine):
    """Tells a policy how fast containers are that nobody submitted, and remembers how fast they were.

    Parameters
    ----------
    engine
        The engine.
    containers
        The id of the container that each of its jobs is in.
    known
        A container as it was last seen, by id; None if it never was.
    earlier
        Where runs are remembered.
    """

    def __init__(
        self,
        engine: Engine,
        containers: Callable[[], Mapping[str, str]],
        known: Callable[[str], Container | None],
        earlier: EarlierRuns,
    ) -> None:
        super().__init__(engine, {}, {}, earlier)
        self._containers, self._known = containers, known

    def observe(self) -> Observation:
        """Show what the engine shows, with what earlier runs say."""
        seen, containers = self._engine.observe(), self._containers()
        for job in seen.jobs:
            if job.id not in self._kinds:
                self._follow(job, self._known(containers.get(job.id, "")))
        self._learn(seen)
        return replace(seen, jobs=tuple(map(self._told, seen.jobs)))

    def close(self) -> None:
        """Remember what was seen of containers that go on without a policy."""
        for job in list(self._kinds):
            self._remember(job)
        super().close()

    def _follow(self, job: Job, container: Container | None) -> None:
        if container is not None and SUBMISSION not in container.labels:
            kind = Kind(container.image, container.command, container.labels.get(DATA, "").strip())
            self._kinds[job.id] = kind
            self._courses.follow(job.id, self._earlier.profile(kind), whole=False)

    def _told(self, job: Job) -> Job:
        profile = self._courses.profile(job.id) if job.id in self._kinds else None
        return job if profile is None else replace(job, terms=replace(job.said, profile=profile))


RECONNECT_WITHIN = 30.0
"""Seconds for which a lost engine is waited for; Docker takes a few to start again."""

_LOGS_SELDOM = 10.0
"""Seconds between two reads of a container's log, where a policy goes by use and needs no loss."""

_NOT_BACK = "Its original limits are saved and are restored as soon as the engine answers."


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked for, from a task's parameters."""

    engine: str
    policy: str
    settings: Mapping[str, Any]
    mode: Mode
    seed: int

    @property
    def name(self) -> str:
        """What is done, for people."""
        return self.mode.called(self.policy, self.engine)

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> _Asked:
        settings = dict(params.get("settings") or {})
        mode = Mode(str(params["mode"]))
        return cls(str(params["engine"]), str(params["policy"]), settings, mode, int(params.get("seed", 1)))


class RecordsPauses(OverEngine):
    """An engine that writes down that it pauses a container before it does so.

    Parameters
    ----------
    engine
        The engine.
    host
        Where its containers are.
    keeper
        Where it is written down.
    """

    def __init__(self, engine: LiveEngine, host: SteeredHost, keeper: SavedLimitsKeeper) -> None:
        super().__init__(engine)
        self._live = engine
        self._host = host
        self._keeper = keeper

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Write down what has to be undone beside limits, then do it."""
        self._note(actions, Pause, paused=True)
        failures = self._engine.apply(actions)
        self._note(actions, Resume, paused=False)
        return failures

    def _note(self, actions: Sequence[Action], kind: type[Action], *, paused: bool) -> None:
        containers = self._live.containers
        for job in [action.job for action in actions if isinstance(action, kind)]:
            container = self._host.known(containers.get(job, ""))
            if container is not None:
                self._keeper.keep_paused(
                    self._host.info().key, container.id, container.limits.to_dict(), paused
                )


def attach(
    workspace: Workspace,
    params: Mapping[str, Any],
    task: str,
    say: Callable[[str], None],
    log: Callable[[str], None],
) -> dict[str, Any]:
    """Let a policy watch or control an engine until somebody detaches it.

    Parameters
    ----------
    workspace
        Everything that is stored.
    params
        ``engine``, ``policy``, ``settings``, ``mode`` and ``seed``.
    task
        The task that this runs in.
    say
        Called several times a second with what it is doing; ends it by raising `Cancelled`.
    log
        Called with lines that people should find later.

    Returns
    -------
    dict
        ``run``, the id of its run; ``decisions`` and ``resizes``, how many there were.

    Raises
    ------
    ConflictError
        If control is off, a policy is attached already, the engine was lost, or the policy failed.
    """
    asked = _Asked.of(params)
    if asked.mode is Mode.CONTROL and not workspace.live.may_change(asked.engine):
        raise switched_off()
    files = LiveFiles(workspace.settings.home, asked.engine)
    with locked(files.lock.with_suffix(".attach")) as mine:
        if not mine:
            raise ConflictError(f"A policy is already attached to {asked.engine}.", "Detach it first.")
        run = AttachedRun(
            workspace.database, asked.name, asked.engine, asked.policy, asked.settings, asked.seed, task
        )
        with run, _put_back_after(workspace, asked.engine, task, log):
            minutes = _follow(workspace, asked, task, files, run, say)
    return {"run": run.id, "decisions": minutes.decisions, "resizes": minutes.resizes}


def _follow(
    workspace: Workspace,
    asked: _Asked,
    task: str,
    files: LiveFiles,
    run: AttachedRun,
    say: Callable[[str], None],
) -> ActivityLog:
    """Drive the policy until it is detached."""
    live, policy = workspace.live, POLICIES[asked.policy]
    settings = _ready(workspace, asked, say)
    keeper, begun = live.saved_limits.keeper(task), time.time()
    with live.engine_registry.host(asked.engine, keeper, ours(live.saved_limits, asked.engine)) as host:
        attached = Attached(task, asked.policy, asked.mode, asked.settings, begun, run=run.id)
        minutes = ActivityLog(files, attached, begun)

        def mine(container: Container) -> bool:
            """Whether the policy may steer a container; those of a run are steered by that run."""
            return RUN not in container.labels and may(container)

        def idle() -> None:
            if isinstance(engine, FedEngine):
                engine.poll()
            minutes.alive()
            say(f"{asked.name}: {many(minutes.decisions, 'decision')}, {many(minutes.resizes, 'limit')}")

        may = ours(live.saved_limits, asked.engine)
        folder = workspace.settings.home / "live"
        engine: Engine | None = None
        try:
            logs = _LOGS_SELDOM if policy.sees_use else LOGS_EVERY
            with live.engine_registry.adopt(host, folder, mine, idle, RECONNECT_WITHIN, logs) as real:
                steers = asked.mode is Mode.CONTROL
                engine = RecordsPauses(real, host, keeper) if steers else WatchOnly(real)
                earlier = live.queue.earlier_on(asked.engine)
                engine = OwnContainers(engine, lambda: real.containers, host.known, earlier)
                samples = RingSamples(files.ring)
                engine = showing_use(engine, lambda: real.containers, samples, settings, workspace.models)
                engine = live.queue.fed(asked.engine, engine, real, starts=steers)
                with _policy_errors(asked.policy):
                    for entry in drive(engine, policy, settings, asked.seed):
                        run.add(entry)
                        if isinstance(engine, FedEngine):
                            engine.explain(entry)
                        minutes.take(entry, real.containers)
        except Cancelled:
            return minutes
        finally:
            minutes.close()
            if isinstance(engine, OverEngine):
                engine.close()
    return minutes


def _ready(workspace: Workspace, asked: _Asked, say: Callable[[str], None]) -> Any:
    """The policy's settings, with what it steers by where it does so by something that is fitted."""

    def progress(_fraction: float, message: str, /, **_metrics: float) -> None:
        say(f"{asked.name}: {message}" if message else asked.name)

    return workspace.fitted.ready(POLICIES[asked.policy].chosen(asked.settings), progress)


@contextlib.contextmanager
def _policy_errors(policy: str) -> Iterator[None]:
    """Say in a sentence that a policy failed; its details are in the log."""
    try:
        yield
    except PhaseDockError:
        raise
    except Exception as error:
        raise ConflictError(
            f"The policy {policy} failed and was detached: {type(error).__name__}.",
            "Every limit was restored; the details are in the task's log.",
        ) from error


@contextlib.contextmanager
def _put_back_after(
    workspace: Workspace, engine: str, task: str, log: Callable[[str], None]
) -> Iterator[None]:
    """Restore what the engine could not, whatever happened; and log what could not be restored."""
    try:
        yield
    finally:
        live = workspace.live
        left = [saved for saved in live.saved_limits.all() if saved.owner == task]
        done = LimitRestorer(live.engine_registry, live.saved_limits).put_back(left)
        for name, why in done.failed:
            log(f"The limits of {name} could not be restored: {why} {_NOT_BACK}")
        live.queue.let_go(engine)
