"""A policy on running containers: the same loop as every run, over the containers that are there.

In *watch* nothing is ever changed. In *control* every limit is saved before it is first changed, and
restored when the policy is detached, fails, or loses its engine; if the process is killed, the next worker
restores it.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

from core.engines.registry import WatchOnly
from core.engines.values import DATA, LOGS_EVERY, RUN, SUBMISSION, FollowOptions
from core.errors import Cancelled, ConflictError, InputError, PhaseDockError
from core.live.attach.activity import ActivityLog, AttachedRun
from core.live.attach.continued_run import ContinuedRun
from core.live.control.by_hand import ours, switched_off
from core.live.control.restore import LimitRestorer
from core.live.history.reader import samples_since
from core.live.queue.feed import FedEngine
from core.live.view import ATTACH, LiveFiles, is_reattached
from core.live.watcher import hold_lock
from core.sampling.phases import PhaseTracker
from core.sampling.usage_wrapper import with_usage
from core.sampling.values import AttachedPolicy, EngineState, Mode
from core.scheduling.actions import Pause, Resume
from core.scheduling.engine_wrapper import EngineWrapper
from core.scheduling.loop import drive
from core.scheduling.policies import POLICIES
from core.scheduling.policies.autopilot import AutopilotSettings
from core.units import plural
from core.workspace.earlier_runs import Kind, LearningEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from core.engines.ports import Container, LiveEngine, SteeredHost
    from core.live.control.saved_limits import SavedLimitsKeeper, SavedLimitsStore
    from core.live.history.reader import Samples
    from core.live.queue.service import JobQueue
    from core.live.view import Sessions
    from core.sampling.engines import Engines
    from core.scheduling.actions import Action
    from core.scheduling.model import Failure, Job, Observation
    from core.scheduling.ports import Engine
    from core.workspace.database import Database
    from core.workspace.earlier_runs import EarlierRuns
    from core.workspace.fitted_policies import FittedPolicies
    from core.workspace.models import ModelLibrary
    from core.workspace.records import TaskInfo, TaskQueue


# Containers that people start themselves: earlier runs of their kind tell how fast they are.
#
# Their kind is their image, their command, and the label ``phasedock.data`` where the command does not say
# what they train on; they teach it in turn. They are followed from when a policy finds them running, so how
# long they took to start is not known.


class UnsubmittedContainers(LearningEngine):
    """Tells a policy how fast containers are that were not submitted, and remembers how fast they were."""

    def __init__(
        self,
        engine: Engine,
        containers: Callable[[], Mapping[str, str]],
        find_container: Callable[[str], Container | None],
        earlier: EarlierRuns,
    ) -> None:
        super().__init__(engine, {}, {}, earlier)
        self._containers, self._find_container = containers, find_container

    def observe(self) -> Observation:
        """Return the engine's observation with profiles from earlier runs."""
        observation, containers = self._engine.observe(), self._containers()
        for job in observation.jobs:
            if job.id not in self._kinds:
                self._follow(job, self._find_container(containers.get(job.id, "")))
        self._learn(observation)
        return replace(observation, jobs=tuple(map(self._with_profile, observation.jobs)))

    def close(self) -> None:
        """Store the measurements of containers that go on without a policy."""
        for job in list(self._kinds):
            self._remember(job)
        super().close()

    def _follow(self, job: Job, container: Container | None) -> None:
        if container is not None and SUBMISSION not in container.labels:
            kind = Kind(container.image, container.command, container.labels.get(DATA, "").strip())
            self._kinds[job.id] = kind
            self._measurements.follow(job.id, self._earlier.profile(kind), whole=False)

    def _with_profile(self, job: Job) -> Job:
        profile = self._measurements.profile(job.id) if job.id in self._kinds else None
        return job if profile is None else replace(job, terms=replace(job.terms_or_default, profile=profile))


RECONNECT_WITHIN = 30.0
"""Seconds for which a lost engine is waited for; Docker takes a few to start again."""

_RARE_LOG_INTERVAL = 10.0
"""Seconds between two reads of a container's log, where a policy goes by use and needs no loss."""

_NOT_RESTORED = "Its original limits are saved and are restored as soon as the engine answers."


@dataclass(frozen=True, slots=True)
class _AttachRequest:
    """The request to attach a policy, from a task's parameters."""

    engine: str
    policy: str
    settings: Mapping[str, Any]
    mode: Mode
    seed: int
    #: Whether limits that owners set are no bounds.
    may_raise: bool = False
    #: Whether it is attached again by itself after its worker ended; when that happened, oldest first.
    reattach: bool = False
    worker_ends: tuple[float, ...] = ()
    #: The id of the run that goes on; empty for a new one.
    run: str = ""

    @property
    def name(self) -> str:
        """The title of the task."""
        return self.mode.called(self.policy, self.engine)

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> _AttachRequest:
        settings = dict(params.get("settings") or {})
        mode = Mode(str(params["mode"]))
        engine, policy = str(params["engine"]), str(params["policy"])
        return cls(
            engine,
            policy,
            settings,
            mode,
            int(params.get("seed", 1)),
            may_raise=bool(params.get("may_raise", False)),
            reattach=bool(params.get("reattach", False)),
            worker_ends=tuple(params.get("worker_ends", ())),
            run=str(params.get("run", "")),
        )


class PauseRecorder(EngineWrapper):
    """An engine that writes down that it pauses a container before it does so."""

    def __init__(self, engine: LiveEngine, host: SteeredHost, keeper: SavedLimitsKeeper) -> None:
        super().__init__(engine)
        self._live = engine
        self._host = host
        self._keeper = keeper

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Save each pause before it happens, since it must be undone like a limit."""
        self._note(actions, Pause, paused=True)
        failures = self._engine.apply(actions)
        self._note(actions, Resume, paused=False)
        return failures

    def _note(self, actions: Sequence[Action], kind: type[Action], *, paused: bool) -> None:
        containers = self._live.containers
        for job in [action.job for action in actions if isinstance(action, kind)]:
            container = self._host.last_state(containers.get(job, ""))
            if container is not None:
                self._keeper.keep_paused(
                    self._host.info().key, container.id, container.limits.to_dict(), paused
                )


class PolicyLoop:
    """Lets an attached policy watch or control an engine; used by the worker's task."""

    def __init__(
        self,
        home: Path,
        database: Database,
        engines: Engines,
        saved_limits: SavedLimitsStore,
        queue: JobQueue,
        models: ModelLibrary,
        fitted: FittedPolicies,
    ) -> None:
        self._home = home
        self._database = database
        self._engines = engines
        self._saved_limits = saved_limits
        self._queue = queue
        self._models = models
        self._fitted = fitted

    def run(
        self,
        params: Mapping[str, Any],
        task: str,
        say: Callable[[str], None],
        log: Callable[[str], None],
    ) -> dict[str, Any]:
        """Let a policy watch or control an engine until it is detached.

        Raises ConflictError if control is off, a policy is attached already, the engine was lost, or the
        policy failed.
        """
        request = _AttachRequest.of(params)
        if request.mode is Mode.CONTROL and not self._engines.may_change(request.engine):
            raise switched_off()
        files = LiveFiles(self._home, request.engine)
        with hold_lock(files.lock.with_suffix(".attach")) as mine:
            if not mine:
                raise ConflictError(f"A policy is already attached to {request.engine}.", "Detach it first.")
            run = AttachedRun(
                self._database,
                request.run or task,
                request.name,
                request.engine,
                request.policy,
                request.settings,
                request.seed,
                task,
            )
            with run, self._put_back_after(request.engine, task, log):
                activity = self._follow(request, task, files, run, say)
        return {"run": run.id, "decisions": activity.decisions, "resizes": activity.resizes}

    def _follow(
        self,
        request: _AttachRequest,
        task: str,
        files: LiveFiles,
        run: AttachedRun,
        say: Callable[[str], None],
    ) -> ActivityLog:
        """Drive the policy until it is detached."""
        policy, settings = POLICIES[request.policy], self._build_settings(request, say)
        keeper = self._saved_limits.keeper(task)
        may = ours(self._saved_limits, request.engine)
        with self._engines.host(request.engine, keeper, may) as host:
            attached = AttachedPolicy(
                task,
                request.policy,
                request.mode,
                request.settings,
                run.since,
                run=run.id,
                reattach=request.reattach,
                worker_ended_at=request.worker_ends[-1] if request.worker_ends else None,
                reattached_at=time.time() if request.worker_ends else None,
            )
            activity = ActivityLog(files, attached, run.since)
            continued = ContinuedRun(run, activity, say)

            def mine(container: Container) -> bool:
                """Whether the policy may steer a container; a run steers its own containers."""
                return RUN not in container.labels and may(container)

            def idle() -> None:
                if isinstance(engine, FedEngine):
                    engine.poll()
                activity.alive()
                limits = plural(activity.resizes, "limit")
                say(f"{request.name}: {plural(activity.decisions, 'decision')}, {limits}")

            engine: Engine | None = None
            try:
                logs = _RARE_LOG_INTERVAL if policy.sees_use else LOGS_EVERY
                folder = self._home / "live"
                with _translate_errors(request.policy):
                    begin = continued.recall(policy, settings, request.seed)
                options = FollowOptions(RECONNECT_WITHIN, logs, request.may_raise, continued.part)
                with self._engines.adopt(host, folder, mine, idle, options) as real:
                    if not run.entries:
                        run.begin(time.time() - real.time)
                    engine = self._wrap(real, host, keeper, request, settings, continued)
                    with _translate_errors(request.policy):
                        for entry in drive(engine, policy, settings, request.seed, begin=begin):
                            jobs = {container: job for job, container in real.containers.items()}
                            if isinstance(engine, FedEngine):
                                jobs |= engine.jobs
                            run.add(entry, jobs)
                            if isinstance(engine, FedEngine):
                                engine.explain(entry)
                            activity.take(entry, real.containers)
            except Cancelled:
                return activity
            finally:
                activity.close()
                if isinstance(engine, EngineWrapper):
                    engine.close()
        return activity

    def _wrap(
        self,
        real: LiveEngine,
        host: SteeredHost,
        keeper: SavedLimitsKeeper,
        request: _AttachRequest,
        settings: Any,
        continued: ContinuedRun,
    ) -> Engine:
        """Return the policy's engine in its wrappers; each wraps the ones listed before it.

        The innermost wrapper decides whether the engine is changed at all, so that no other acts past it: in
        control, pauses are stored before they are done; else nothing is done. What earlier runs say and what
        containers use come next; each adds its part to the jobs of containers and leaves the other's alone. A
        run that goes on is then as the policy left it. The queue stands around them all: the jobs that wait
        in it have no containers yet.
        """
        steers, samples = (
            request.mode is Mode.CONTROL,
            _Samples(LiveFiles(self._home, request.engine).history),
        )
        earlier = self._queue.earlier_on(request.engine)

        def containers() -> Mapping[str, str]:
            return real.containers

        wrappers: list[Callable[[Engine], Engine]] = [
            lambda _: PauseRecorder(real, host, keeper) if steers else WatchOnly(real),
            lambda engine: UnsubmittedContainers(engine, containers, host.last_state, earlier),
            lambda engine: with_usage(engine, containers, samples, settings, self._models),
            lambda engine: continued.wrap(engine, host),
            lambda engine: self._queue.fed(request.engine, engine, real, starts=steers),
        ]
        return reduce(lambda engine, wrap: wrap(engine), wrappers, cast("Engine", real))

    def _build_settings(self, request: _AttachRequest, say: Callable[[str], None]) -> Any:
        """Return the policy's settings, with the fitted policy if it needs one."""

        def progress(_fraction: float, message: str, /, **_metrics: float) -> None:
            say(f"{request.name}: {message}" if message else request.name)

        return self._fitted.ready(POLICIES[request.policy].build_settings(request.settings), progress)

    @contextlib.contextmanager
    def _put_back_after(self, engine: str, task: str, log: Callable[[str], None]) -> Iterator[None]:
        """Restore limits that the engine could not restore, and log those that stay."""
        try:
            yield
        finally:
            unrestored = [saved for saved in self._saved_limits.all() if saved.owner == task]
            result = LimitRestorer(self._engines, self._saved_limits).put_back(unrestored)
            for name, why in result.failed:
                log(f"The limits of {name} could not be restored: {why} {_NOT_RESTORED}")
            self._queue.let_go(engine)


class _Samples:
    """The samples that the watcher writes from now on."""

    def __init__(self, history: Path) -> None:
        self._history, self._since = history, time.time()

    def __call__(self) -> Samples:
        """Return the samples since the last call; a clock that was set back delays none."""
        self._since = min(self._since, time.time())
        samples = samples_since(self._history, self._since)
        if samples:
            self._since = samples[-1][0]
        return samples


@contextlib.contextmanager
def _translate_errors(policy: str) -> Iterator[None]:
    """Turn a policy's error into one sentence; its details are in the log."""
    try:
        yield
    except PhaseDockError:
        raise
    except Exception as error:
        raise ConflictError(
            f"The policy {policy} failed and was detached: {type(error).__name__}.",
            "Every limit was restored; the details are in the task's log.",
        ) from error


_RELEASE_TIMEOUT = 20.0
"""Seconds for which an attached policy is waited for until it has restored its containers."""


class Policies:
    """Checks requests to attach and detach policies and submits them to a worker."""

    def __init__(
        self,
        engines: Engines,
        sessions: Sessions,
        tasks: TaskQueue,
        models: ModelLibrary,
        fitted: FittedPolicies,
    ) -> None:
        self._engines = engines
        self._sessions = sessions
        self._tasks = tasks
        self._models = models
        self._fitted = fitted

    def attach(
        self,
        engine: str,
        policy: str,
        settings: Mapping[str, Any],
        mode: Mode | str,
        seed: int = 1,
        *,
        instead: bool = False,
        may_raise: bool = False,
        reattach: bool = True,
    ) -> str:
        """Let a policy watch or control the labelled and picked containers; returns the task's id.

        With `may_raise` it may give a container more than the limits that it was found with, though never
        more than the ``phasedock.max`` of its owner. With `reattach` it is attached again by itself, and its
        run goes on, if its worker ends and one is back.

        Raises ConflictError if a policy is attached already, or does not let go, or `mode` is control and
        control is off; NotFoundError if there is no such engine or policy; InputError if a setting is unknown
        or out of bounds, or no policy can follow this engine's containers.
        """
        self._engines.check_ready(engine)
        if self._engines.kind(engine).adopt is None:
            raise InputError(
                f"Policies cannot follow the containers of {engine}.",
                "Set limits by hand, or choose another engine.",
            )
        entry = POLICIES[policy]
        if entry.oracle:
            raise InputError(
                f"{policy} needs what only a simulator knows, so it cannot be attached.",
                "Choose another policy.",
            )
        checked = entry.build_settings(settings)
        self._fitted.check(checked)
        if isinstance(checked, AutopilotSettings) and checked.model:
            PhaseTracker(self._models.load(self._fitted.model_of(checked)))
        if mode not in list(Mode):
            raise InputError(f"“{mode}” is not a mode.", f"Choose one of: {', '.join(Mode)}.")
        if mode == Mode.CONTROL and not self._engines.may_change(engine):
            raise switched_off()
        present = self._sessions.of(engine).get(ATTACH)
        if instead and present is not None:
            self._sessions.end([present.id], _RELEASE_TIMEOUT)
        if any(ATTACH in self._sessions.of(name) for name in self._engines.aliases(engine)):
            raise ConflictError(f"A policy is already attached to {engine}.", "Detach it first.")
        params: dict[str, Any] = {"engine": engine, "policy": policy, "settings": dict(settings)}
        params |= {"mode": str(mode), "seed": int(seed), "may_raise": may_raise, "reattach": reattach}
        return self._tasks.submit(ATTACH, Mode(mode).called(policy, engine), params)

    def reattach(self, task: str) -> str:
        """Let a policy that ended with its worker go on with its run; returns the new task's id.

        Raises ConflictError if it was attached again already, or detached.
        """
        resumed = self._sessions.resume(task)
        if resumed is None:
            raise ConflictError("This policy was attached again already, or detached.", "Refresh to see it.")
        return resumed

    def reattach_interrupted(self, unrestored: Collection[str] = ()) -> tuple[str, ...]:
        """Attach the policies again that ended with their worker, where that was asked for; their titles.

        Those wait for the next call whose engine does not answer now, or whose tasks are in `unrestored`: not
        all limits that they had set are restored. Called by workers.
        """
        last = {engine: self._sessions.interrupted(engine) for engine in self._engines.names}
        return tuple(
            task.title
            for engine, task in last.items()
            if task is not None
            and is_reattached(task)
            and task.id not in unrestored
            and self._may_go_on(engine, task)
            and self._sessions.resume(task.id) is not None
        )

    def _may_go_on(self, engine: str, task: TaskInfo) -> bool:
        """Whether an engine answers, may be changed if the policy does so, and has no other policy."""
        controls = task.params.get("mode") == Mode.CONTROL
        return (
            self._engines.get(engine).state is EngineState.READY
            and (not controls or self._engines.may_change(engine))
            and not any(ATTACH in self._sessions.of(name) for name in self._engines.aliases(engine))
        )

    def detach(self, engine: str) -> str:
        """End the attached policy; its task restores every limit. Returns the task's id.

        One that ended with its worker is not attached again. Raises ConflictError if none is attached;
        NotFoundError if the settings name no such engine.
        """
        self._engines.address(engine)
        ended = self._sessions.interrupted(engine)
        if ended is not None and is_reattached(ended) and self._sessions.withdraw(engine):
            return ended.id
        return self._sessions.cancel(engine, ATTACH, "No policy is attached", "Attach one first.")
