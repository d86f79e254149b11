"""Beginning and ending policies and recordings: what is asked for is checked here, a worker does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import ConflictError, InputError, NotFoundError
from core.runtime.live.control.by_hand import switched_off
from core.runtime.live.history.reader import oldest
from core.runtime.live.recording.unfinished import unfinished
from core.runtime.live.sampling.phases import PhaseTracker
from core.runtime.live.sessions import ATTACH, KEEP_PAST, RECORD, TEACH
from core.runtime.live.view.snapshot import LiveFiles
from core.runtime.live.view.values import EngineState, Mode
from core.runtime.storage.files import new_id
from core.runtime.storage.repository import checked_name
from core.scheduling.policies import POLICIES
from core.scheduling.policies.autopilot import AutopilotSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from core.runtime.live.engines import Engines
    from core.runtime.live.sessions import Sessions
    from core.runtime.live.view.values import Recording
    from core.runtime.storage.fitted_policies import FittedPolicies
    from core.runtime.storage.models import ModelLibrary
    from core.runtime.tasks.store import Tasks


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
        """See `core.runtime.live.service.Live.attach`."""
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
        """See `core.runtime.live.service.Live.detach`."""
        return self._end(engine, ATTACH, "No policy is attached", "Attach one first.")

    def record(self, engine: str, name: str, ids: Sequence[str] | None, model: str | None) -> str:
        """See `core.runtime.live.service.Live.record`."""
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
        """See `core.runtime.live.service.Live.stop_recording`."""
        return self._end(engine, RECORD, "Nothing is being recorded", "Start a recording first.")

    def keep_past(self, engine: str, name: str, start: float, end: float, ids: Sequence[str] | None) -> str:
        """See `core.runtime.live.service.Live.keep_past`."""
        self._check_remembered(engine, end)
        name = checked_name(name, "trace set")
        containers = None if ids is None else list(ids)
        params = {"engine": engine, "name": name, "start": start, "end": end, "containers": containers}
        return self._tasks.submit(KEEP_PAST, f"Keep “{name}” from {engine}", params)

    def teach(self, engine: str, model: str, ids: Sequence[str], start: float, end: float) -> str:
        """See `core.runtime.live.service.Live.teach`."""
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
        """See `core.runtime.live.service.Live.unfinished`."""
        going_on = self._going_on()
        return tuple(each.shown for each in unfinished(self._home) if each.recording not in going_on)

    def finish(self, recording: str) -> str:
        """See `core.runtime.live.service.Live.finish_recording`."""
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
