"""The service for running containers: view, change limits, attach policies, record, release.

Nothing here takes long. A worker's watcher samples the engines that somebody looks at and leaves what it saw
in files; looking reads these. Policies and recordings are tasks. What changes containers is refused unless
``PHASEDOCK_CONTROL`` is on, touches only containers that carry PhaseDock's label or were picked, and writes
down what was there before it changes anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.runtime.earlier_runs.store import EarlierRuns
from core.runtime.live.control.by_hand import ManualControl
from core.runtime.live.control.restore import LimitRestorer
from core.runtime.live.control.saved_limits import SavedLimitsStore
from core.runtime.live.engines import Engines
from core.runtime.live.queue.service import JobQueue
from core.runtime.live.queue.spec import Mounts
from core.runtime.live.queue.store import SubmittedJobs
from core.runtime.live.sampling.watcher import Watcher
from core.runtime.live.sessions import Sessions
from core.runtime.live.start import Starter
from core.runtime.live.view.builder import ViewBuilder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.config import Settings
    from core.runtime.database.engine import Database
    from core.runtime.live.view.values import Change, EngineInfo, Mode, Recording, Released
    from core.runtime.storage.fitted_policies import FittedPolicies
    from core.runtime.storage.models import ModelLibrary
    from core.runtime.tasks.store import Tasks


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
