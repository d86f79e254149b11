"""Provisioning policies fitted to steer by: made from a stored trace set and model, and kept on disk.

A fit depends on nothing but the samples, the phase model, what is learned and the code, so it is kept under
the digest of these. It is kept as plain values and arrays; loading one runs nothing that a file says.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from core.errors import ConflictError, InputError, NotFoundError
from core.progress_reporting import silent
from core.provisioning.advice import from_plain, to_plain
from core.provisioning.policies import POLICIES
from core.provisioning.policy import Need
from core.scheduling.policies.autopilot import AutopilotSettings, ReadySettings
from core.scheduling.policies.autopilot.fitting import Lesson, fit_to_steer
from core.scheduling.policies.autopilot.settings import FittedPolicy
from core.workspace.code_version import code_digest
from core.workspace.files import sweep_older, write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from core.progress_reporting import Progress
    from core.workspace.models import ModelLibrary
    from core.workspace.trace_sets import TraceLibrary

_LOG = logging.getLogger(__name__)
_FORMAT = 1
_MAX_AGE = 90 * 86_400.0
_CODE = (
    "core.provisioning", "core.phases", "core.traces", "core.settings_fields",
    "core.scheduling.policies.autopilot",
)  # fmt: skip
_POLICY_KEY = "what"


class FittedPolicies:
    """The fitted policies of a workspace."""

    def __init__(self, traces: TraceLibrary, models: ModelLibrary, folder: Path) -> None:
        self._traces = traces
        self._models = models
        self._folder = folder
        # sources are read now, while they are those that were imported
        code_digest(_CODE, (policy for _, policy in POLICIES.items()))

    def ready(self, settings: Any, progress: Progress = silent) -> Any:
        """The settings of a scheduling policy with its fitted policy, which is fitted at first use.

        Raises
        ------
        NotFoundError
            If the trace set, the model or the provisioning policy does not exist.
        ConflictError
            If nothing was chosen to learn from.
        InputError, MismatchError
            As `core.scheduling.policies.autopilot.fitting.fit_to_steer`.
        """
        if not isinstance(settings, AutopilotSettings):
            return settings
        model, traces = self.model_of(settings), self._learned_from(settings)
        lesson = Lesson(settings.policy, settings.cycle, settings.tolerance, settings.memory)
        path = self._folder / f"{self._key(traces, model, lesson)}.npz"
        fitted = _read(path)
        if fitted is None:
            loaded = self._models.load(model) if model else None
            fitted = fit_to_steer(self._traces.load(traces), loaded, lesson, progress)
            _write(path, fitted)
        return ReadySettings(**{**asdict(settings), "model": model, "traces": traces}, fitted=fitted)

    def check(self, settings: Any) -> None:
        """Refuse settings of a policy that could not be made ready, without fitting anything.

        Raises
        ------
        NotFoundError, ConflictError, InputError, MismatchError
            As `ready`.
        """
        if isinstance(settings, AutopilotSettings):
            self._learned_from(settings)
            policy = POLICIES[settings.policy]
            if policy.foresight:
                raise InputError(
                    f"{policy.name} looks into the future, so nothing can be steered by it.",
                    "Choose another policy.",
                )
            if Need.LABELS in policy.needs and not settings.model:
                raise InputError(f"{policy.name} needs phases.", "Choose a phase model.")

    def sweep(self) -> int:
        """Remove policies that were fitted long ago; they are fitted again when needed."""
        return sweep_older(self._folder, _MAX_AGE)

    def model_of(self, settings: AutopilotSettings) -> str:
        """The id of the phase model, which the settings may also name; empty for none."""
        if not settings.model:
            return ""
        for each in self._models.list():
            if settings.model in (each.name, each.id):
                return each.id
        raise NotFoundError(
            f"There is no phase model “{settings.model}”.",
            "Load the samples on Overview if it is the one that comes with them, or choose another model.",
        )

    def _learned_from(self, settings: AutopilotSettings) -> str:
        """The id of the trace set, which the settings may also name."""
        if settings.traces:
            named = next((each for each in self._traces.list() if each.name == settings.traces), None)
            return self._traces.get(settings.traces).id if named is None else named.id
        if not settings.model:
            raise ConflictError(
                "The autopilot has nothing to learn from.", "Choose a phase model, or a trace set."
            )
        model = self._models.get(self.model_of(settings))
        if model.trace_set_id is None:
            raise ConflictError(
                f"The trace set that “{model.name}” was trained on is not stored here.",
                "Choose a trace set to learn from.",
            )
        return model.trace_set_id

    def _key(self, traces: str, model: str, lesson: Lesson) -> str:
        parts = [
            _FORMAT,
            self._traces.fingerprint(traces),
            self._models.fingerprint(model) if model else "",
            asdict(lesson),
            code_digest(_CODE, [POLICIES[lesson.policy]]),
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _write(path: Path, fitted: FittedPolicy) -> None:
    """Keep it; where the disk does not take it, it is fitted again next time."""
    plain, arrays = to_plain(fitted)
    what, buffer = np.frombuffer(orjson.dumps(plain), np.uint8), io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **{_POLICY_KEY: what}, **arrays)
    try:
        write_atomically(path, buffer.getvalue())
    except OSError:
        _LOG.warning("a fitted policy could not be kept on the disk", exc_info=True)


def _read(path: Path) -> FittedPolicy | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        fitted = from_plain(orjson.loads(arrays.pop(_POLICY_KEY).tobytes()), arrays)
    except (OSError, ValueError, KeyError, InputError):
        return None
    return fitted if isinstance(fitted, FittedPolicy) else None
