"""Measurements of earlier runs by kind of job, kept between runs."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from core.scheduling.deadline_planning.run_history import KindHistory, RunMeasurement, RunMeasurements
from core.scheduling.engine_wrapper import EngineWrapper
from core.workspace.database_schema import EarlierRunsRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.actions import Action
    from core.scheduling.model import Failure, Observation, Profile
    from core.scheduling.ports import Engine
    from core.workspace.database import Database


_BUNDLED: Final = ("python3", "-m", "phasedock_jobs")
_STEPS_OPTION: Final = "--steps"
_OPTIONS: Final = (_STEPS_OPTION, "--seed")
"""Options of the bundled programs that do not change how fast a step is,"""
_USUAL: Final = ("--threads", "follow")
"""what they do unless they are told,"""
_STEPS: Final = 200
"""and the steps that they take then."""


class Kind(NamedTuple):
    """A kind of job."""

    #: What it runs.
    image: str
    command: tuple[str, ...]
    #: What it trains on, in a word; empty where the command says that.
    data: str = ""

    @property
    def key(self) -> str:
        """The key that all jobs of a kind share.

        Jobs of a bundled program that differ in nothing but their number of steps or their seed are of one.
        """
        words, _ = self._split()
        about = json.dumps([self.image, words, self.data])
        return hashlib.sha256(about.encode()).hexdigest()[:32]

    @property
    def steps(self) -> int | None:
        """The training steps in a bundled program's options; None for other programs."""
        if self.command[: len(_BUNDLED)] != _BUNDLED:
            return None
        _, options = self._split()
        steps = options.get(_STEPS_OPTION, str(_STEPS))
        return int(steps) if steps.isdecimal() else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, readable in the database."""
        return {"image": self.image, "command": list(self.command), "data": self.data}

    def _split(self) -> tuple[list[str], dict[str, str]]:
        """The words of a command without the options that set no kind apart, and those."""
        if self.command[: len(_BUNDLED)] != _BUNDLED:
            return list(self.command), {}
        words_left: list[str] = []
        options: dict[str, str] = {}
        words = iter(self.command)
        for word in words:
            name, sign, value = word.partition("=")
            if name in (*_OPTIONS, _USUAL[0]):
                text = value if sign else next(words, "")
                if name in _OPTIONS:
                    options[name] = text
                elif text != _USUAL[1]:
                    words_left += [name, text]
            else:
                words_left.append(word)
        return words_left, options


_NOTHING = KindHistory()


class EarlierRuns:
    """Stored measurements of all kinds of jobs."""

    def __init__(self, database: Database, *, replayed: bool = False) -> None:
        self._database, self._replayed = database, replayed

    def replayed(self) -> EarlierRuns:
        """Those of jobs in whose place recordings are replayed."""
        return EarlierRuns(self._database, replayed=True)

    def of(self, kind: Kind) -> KindHistory:
        """The history of a kind."""
        with self._database.read() as session:
            row = session.get(EarlierRunsRow, self._key(kind))
            return _NOTHING if row is None else KindHistory.from_dict(row.found)

    def profile(self, kind: Kind) -> Profile | None:
        """The expected profile of a job of a kind; None where none has run."""
        return self.of(kind).profile(None if self._replayed else kind.steps)

    def add(self, kind: Kind, run: RunMeasurement) -> None:
        """Remember a run that is over, if anything was seen of its speed."""
        with self._database.write() as session:
            row = session.get(EarlierRunsRow, self._key(kind))
            before = _NOTHING if row is None else KindHistory.from_dict(row.found)
            after = before.with_run(run)
            if after is not before:
                values = {"about": kind.to_dict(), "found": after.to_dict(), "updated": time.time()}
                session.merge(EarlierRunsRow(kind=self._key(kind), **values))

    def _key(self, kind: Kind) -> str:
        return kind._replace(image=f"replayed {kind.image}").key if self._replayed else kind.key


class LearningEngine(EngineWrapper):
    """Passes everything on, and remembers each run that is over."""

    def __init__(
        self,
        engine: Engine,
        kinds: Mapping[str, Kind],
        profiles: Mapping[str, Profile | None],
        earlier: EarlierRuns,
    ) -> None:
        super().__init__(engine)
        self._kinds, self._earlier = dict(kinds), earlier
        self._measurements = RunMeasurements()
        for job in kinds:
            self._measurements.follow(job, profiles.get(job))

    def observe(self) -> Observation:
        """The engine's observation."""
        observation = super().observe()
        self._learn(observation)
        return observation

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Perform actions."""
        failures = super().apply(actions)
        self._measurements.add_actions(actions, failures)
        return failures

    def _learn(self, observation: Observation) -> None:
        self._measurements.add_observation(observation)
        for job in observation.ended:
            self._remember(job.id)

    def _remember(self, job: str) -> None:
        if job in self._kinds:
            self._earlier.add(self._kinds.pop(job), self._measurements.stop_following(job))
