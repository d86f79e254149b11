"""Beginning and ending policies and recordings: what is asked for is checked here, a worker does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import ConflictError, InputError, NotFoundError
from core.live.control.by_hand import ManualControl, switched_off
from core.live.control.restore import LimitRestorer
from core.live.control.saved_limits import SavedLimitsStore
from core.live.history.reader import oldest
from core.live.queue.service import JobQueue
from core.live.queue.spec import Mounts
from core.live.queue.store import SubmittedJobs
from core.live.recording.recording_file import unfinished
from core.live.sessions import ATTACH, KEEP_PAST, RECORD, TEACH, Sessions
from core.live.view.builder import ViewBuilder
from core.live.view.snapshot import LiveFiles
from core.live.watcher import Watcher
from core.sampling.engines import Engines
from core.sampling.phases import PhaseTracker
from core.sampling.values import EngineState, Mode
from core.scheduling.policies import POLICIES
from core.scheduling.policies.autopilot import AutopilotSettings
from core.workspace.earlier_runs import EarlierRuns
from core.workspace.files import new_id
from core.workspace.repository import checked_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from core.config import Settings
    from core.sampling.values import Change, EngineInfo, Recording, Released
    from core.tasks.store import Tasks
    from core.workspace.database import Database
    from core.workspace.fitted_policies import FittedPolicies
    from core.workspace.models import ModelLibrary


_LETS_GO_WITHIN = 20.0
"""Seconds for which an attached policy is waited for until it has restored its containers."""


class Starter:
    """Submits the tasks of running containers.

    Parameters
    ----------
    home
        The home folder of the workspace.
    engines, sessions, tasks, models, fitted
        The engines, their policies and recordings, and where tasks, models and fitted policies are.
    control
        Whether anything that is real may be changed.
    """

    def __init__(
        self,
        home: Path,
        engines: Engines,
        sessions: Sessions,
        tasks: Tasks,
        models: ModelLibrary,
        fitted: FittedPolicies,
        control: bool,
    ) -> None:
        self._home = home
        self._engines = engines
        self._sessions = sessions
        self._tasks = tasks
        self._models = models
        self._fitted = fitted
        self._control = control

    def attach(
        self,
        engine: str,
        policy: str,
        settings: Mapping[str, Any],
        mode: str,
        seed: int,
        *,
        instead: bool = False,
    ) -> str:
        """See `core.live.service.Live.attach`."""
        self._check_ready(engine)
        if self._engines.kind(engine).adopt is None:
            raise InputError(
                f"Policies cannot follow the containers of {engine}.",
                "Set limits by hand, or choose another engine.",
            )
        chosen = POLICIES[policy]
        if chosen.oracle:
            raise InputError(
                f"{policy} needs what only a simulator knows, so it cannot be attached.",
                "Choose another policy.",
            )
        wanted = chosen.chosen(settings)
        self._fitted.check(wanted)
        if isinstance(wanted, AutopilotSettings) and wanted.model:
            PhaseTracker(self._models.load(self._fitted.model_of(wanted)))
        if mode not in list(Mode):
            raise InputError(f"“{mode}” is not a mode.", f"Choose one of: {', '.join(Mode)}.")
        if mode == Mode.CONTROL and not (self._control or self._engines.is_demo(engine)):
            raise switched_off()
        present = self._sessions.of(engine).get(ATTACH)
        if instead and present is not None:
            self._sessions.end([present.id], _LETS_GO_WITHIN)
        if any(ATTACH in self._sessions.of(name) for name in self._engines.aliases(engine)):
            raise ConflictError(f"A policy is already attached to {engine}.", "Detach it first.")
        params = {"engine": engine, "policy": policy, "settings": dict(settings), "mode": str(mode)}
        return self._tasks.submit(ATTACH, Mode(mode).called(policy, engine), {**params, "seed": int(seed)})

    def detach(self, engine: str) -> str:
        """See `core.live.service.Live.detach`."""
        return self._end(engine, ATTACH, "No policy is attached", "Attach one first.")

    def record(self, engine: str, name: str, ids: Sequence[str] | None, model: str | None) -> str:
        """See `core.live.service.Live.record`."""
        self._check_ready(engine)
        name = checked_name(name, "trace set")
        if ids is not None and not ids:
            raise InputError("No container was chosen for recording.", "Choose one, or record all.")
        if model is not None:
            PhaseTracker(self._models.load(model))
        if RECORD in self._sessions.of(engine):
            raise ConflictError(f"A recording is already running on {engine}.", "Stop that first.")
        return self._submit(engine, name, ids, model, new_id(), finish=False)

    def stop_recording(self, engine: str) -> str:
        """See `core.live.service.Live.stop_recording`."""
        return self._end(engine, RECORD, "Nothing is being recorded", "Start a recording first.")

    def keep_past(self, engine: str, name: str, start: float, end: float, ids: Sequence[str] | None) -> str:
        """See `core.live.service.Live.keep_past`."""
        self._check_remembered(engine, end)
        name = checked_name(name, "trace set")
        containers = None if ids is None else list(ids)
        params = {"engine": engine, "name": name, "start": start, "end": end, "containers": containers}
        return self._tasks.submit(KEEP_PAST, f"Keep “{name}” from {engine}", params)

    def teach(self, engine: str, model: str, ids: Sequence[str], start: float, end: float) -> str:
        """See `core.live.service.Live.teach`."""
        self._check_remembered(engine, end)
        info = self._models.get(model)
        if info.trace_set_id is None:
            raise ConflictError(
                f"What “{info.name}” was trained on is not here.", "Train a new model on a recording."
            )
        params = {"engine": engine, "model": model, "containers": list(ids), "start": start, "end": end}
        return self._tasks.submit(TEACH, f"Train “{info.name}” further", params)

    def _check_remembered(self, engine: str, end: float) -> None:
        self._engines.address(engine)
        since = oldest(LiveFiles(self._home, engine).history)
        if since is None or end < since:
            raise NotFoundError(
                f"Nothing is remembered of {engine} at that time.",
                "Choose a later time, or record from now on.",
            )

    def unfinished(self) -> tuple[Recording, ...]:
        """See `core.live.service.Live.unfinished`."""
        going_on = self._going_on()
        return tuple(each.shown for each in unfinished(self._home) if each.recording not in going_on)

    def finish(self, recording: str) -> str:
        """See `core.live.service.Live.finish_recording`."""
        for each in unfinished(self._home):
            if each.recording == recording and recording not in self._going_on():
                about = each.about
                return self._submit(about["engine"], about["name"], None, about["model"], recording, True)
        raise NotFoundError("There is no unfinished recording with this id.", "Choose one from the list.")

    def _going_on(self) -> set[str]:
        """The recordings that a task is working on."""
        return {str(task.params.get("recording")) for task in self._sessions.all()}

    def _submit(
        self,
        engine: str,
        name: str,
        ids: Sequence[str] | None,
        model: str | None,
        recording: str,
        finish: bool,
    ) -> str:
        params = {
            "engine": engine,
            "name": name,
            "containers": None if ids is None else list(ids),
            "model": model,
            "recording": recording,
            "finish": finish,
        }
        verb = "Finish the recording" if finish else "Record"
        return self._tasks.submit(RECORD, f"{verb} “{name}” from {engine}", params)

    def _end(self, engine: str, kind: str, nothing: str, hint: str) -> str:
        self._engines.address(engine)
        task = self._sessions.of(engine).get(kind)
        if task is None:
            raise ConflictError(f"{nothing} on {engine}.", hint)
        self._tasks.cancel(task.id)
        return task.id

    def _check_ready(self, engine: str) -> None:
        info = self._engines.get(engine)
        if info.state is not EngineState.READY:
            raise ConflictError(info.message, info.hint)


class Live(ViewBuilder):
    """The running containers of the engines that the settings name.

    Parameters
    ----------
    settings
        The settings from the environment: the engines, and whether they may be changed.
    database
        Where the saved limits and the picked containers are.
    tasks
        Policies and recordings are tasks.
    models
        Phase models, to label samples with.
    fitted
        What policies steer by.

    Attributes
    ----------
    queue
        Submitted jobs.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        tasks: Tasks,
        models: ModelLibrary,
        fitted: FittedPolicies,
    ) -> None:
        super().__init__(settings.home, Engines(settings), Sessions(tasks))
        self._control = settings.control
        self._remembers = settings.history
        self._models = models
        self.saved_limits = SavedLimitsStore(database)
        self._beginning = Starter(
            settings.home, self.engine_registry, self._sessions, tasks, models, fitted, settings.control
        )
        self.queue = JobQueue(
            settings.home,
            SubmittedJobs(database),
            EarlierRuns(database),
            self.engine_registry,
            self._sessions,
            self.may_change,
            Mounts(settings.allowed_volumes, settings.allowed_ports),
        )
        self._steering = ManualControl(
            self.engine_registry, self.saved_limits, self._sessions, settings.control
        )

    @property
    def control(self) -> bool:
        """Whether real containers may be changed (``PHASEDOCK_CONTROL``)."""
        return self._control

    def may_change(self, engine: str) -> bool:
        """Whether an engine's containers may be changed; those of the demo always may.

        Raises
        ------
        NotFoundError
            If the settings name no such engine.
        """
        return self._control or self.engine_registry.is_demo(engine)

    def engines(self) -> tuple[EngineInfo, ...]:
        """The engines that the settings name, each with its state; without Docker the state says so."""
        return self.engine_registry.all()

    def set_limit(
        self, engine: str, container: str, cores: float | None, memory: float | None = None
    ) -> Change:
        """Change the limits of one container by hand; `undo` takes it back.

        Parameters
        ----------
        engine, container
            The engine's name and the container's full id.
        cores
            Cores that it may use at most, or None for no limit.
        memory
            Bytes that it may use at most; None leaves it as it is.

        Raises
        ------
        ConflictError
            If control is off, the container is neither labelled nor picked, or a policy controls the engine.
        NotFoundError
            If there is no such engine or container.
        InputError
            If a limit is below what Docker takes, or above the host.
        """
        return self._steering.set_limit(engine, container, cores, memory)

    def undo(self, engine: str, container: str) -> Change:
        """Take back the last change by hand.

        Raises
        ------
        ConflictError
            If control is off, or there is nothing to take back.
        NotFoundError
            If there is no such engine or container.
        """
        return self._steering.undo(engine, container)

    def release(self, engine: str | None = None) -> Released:
        """End control and restore every limit exactly, on one engine or on all; works with control off, too.

        Raises
        ------
        ConflictError
            If a policy does not let go of its containers.
        NotFoundError
            If the settings name no such engine.
        """
        return self._steering.release(engine)

    def pick(self, engine: str, container: str) -> None:
        """Let PhaseDock change a container that does not carry its label.

        Raises
        ------
        ConflictError
            If control is off.
        NotFoundError
            If there is no such engine or container.
        """
        self._steering.pick(engine, container)

    def unpick(self, engine: str, container: str) -> None:
        """Undo `pick`, after restoring the container's limits.

        Raises
        ------
        ConflictError
            If control is off, or a policy controls the engine.
        NotFoundError
            If there is no such engine.
        """
        self._steering.unpick(engine, container)

    def attach(
        self,
        engine: str,
        policy: str,
        settings: Mapping[str, Any],
        mode: Mode | str,
        seed: int = 1,
        *,
        instead: bool = False,
    ) -> str:
        """Let a policy watch or control the labelled and picked containers; returns the task's id.

        Parameters
        ----------
        engine
            Its name.
        policy, settings
            A scheduling policy and what was chosen of its settings.
        mode
            ``"watch"`` changes nothing and says what it would do; ``"control"`` does it.
        seed
            Seeds the policy's own random choices.
        instead
            Whether a policy that is attached is detached first, its limits restored.

        Raises
        ------
        ConflictError
            If a policy is attached already, or does not let go, or `mode` is control and control is off.
        NotFoundError
            If there is no such engine or policy.
        InputError
            If a setting is unknown or out of bounds, or no policy can follow this engine's containers.
        """
        return self._beginning.attach(engine, policy, settings, str(mode), seed, instead=instead)

    def detach(self, engine: str) -> str:
        """End the attached policy; its task restores every limit. Returns the task's id.

        Raises
        ------
        ConflictError
            If none is attached.
        NotFoundError
            If the settings name no such engine.
        """
        return self._beginning.detach(engine)

    def record(
        self, engine: str, name: str, ids: Sequence[str] | None = None, model: str | None = None
    ) -> str:
        """Record containers into a trace set, once a second, until stopped; returns the task's id.

        Parameters
        ----------
        engine, name
            The engine, and what the trace set is to be called.
        ids
            The containers; all that are labelled or picked, later ones too, when left out.
        model
            The id of a phase model whose labels are recorded as well.

        Raises
        ------
        ConflictError
            If something is being recorded on this engine already.
        NotFoundError
            If there is no such engine or model.
        """
        return self._beginning.record(engine, name, ids, model)

    def stop_recording(self, engine: str) -> str:
        """End the recording; its trace set is in the library once the task, whose id is returned, is done.

        Raises
        ------
        ConflictError
            If nothing is being recorded.
        NotFoundError
            If the settings name no such engine.
        """
        return self._beginning.stop_recording(engine)

    def keep_past(
        self, engine: str, name: str, start: float, end: float, ids: Sequence[str] | None = None
    ) -> str:
        """Make a trace set of what is remembered of a stretch of time; returns the task's id.

        Parameters
        ----------
        engine, name
            The engine, and what the trace set is to be called.
        start, end
            Seconds since 1970.
        ids
            The containers; all of that time when left out.

        Raises
        ------
        NotFoundError
            If there is no such engine, or nothing is remembered of that time.
        """
        return self._beginning.keep_past(engine, name, start, end, ids)

    def teach(self, engine: str, model: str, ids: Sequence[str], start: float, end: float) -> str:
        """Train a model further on what is remembered of containers that it does not know; the task's id.

        Parameters
        ----------
        engine
            The engine's name.
        model
            The id of the model, which stays as it is.
        ids
            The containers.
        start, end
            Seconds since 1970.

        Raises
        ------
        NotFoundError
            If there is no such engine or model, or nothing is remembered of that time.
        ConflictError
            If what the model was trained on is not here.
        """
        return self._beginning.teach(engine, model, ids, start, end)

    def unfinished(self) -> tuple[Recording, ...]:
        """Recordings whose worker ended before they became trace sets."""
        return self._beginning.unfinished()

    def finish_recording(self, recording: str) -> str:
        """Make a trace set of what an unfinished recording has; returns the task's id.

        Raises
        ------
        NotFoundError
            If there is no such recording, or it is still running.
        """
        return self._beginning.finish(recording)

    def close(self) -> None:
        """Close all connections."""
        self.engine_registry.close()

    def watcher(self) -> Watcher:
        """The sampler of engines, to be started by a long-running process."""
        return Watcher(
            self._home, self.engine_registry, self.saved_limits, self._models, history=self._remembers
        )

    def put_back_orphans(self) -> Released:
        """Restore the limits that were changed by tasks that are no longer alive."""
        restorer = LimitRestorer(self.engine_registry, self.saved_limits)
        done = restorer.put_back(self.saved_limits.orphans())
        restorer.forget_ended()
        return done
