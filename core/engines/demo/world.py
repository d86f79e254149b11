"""The replay that all processes share: a file that each reader advances to the present.

The web process, workers and commands open the demo like a Docker Engine, and find the same jobs and limits
there. So the replay is a file of the workspace; each access locks it, advances it by the time since the
last access, and writes it back within a millisecond. No process runs for it, and a killed one leaves either
the old file or the new one. A replay without access for a minute stood still meanwhile, like a closed laptop:
no jobs have come and gone, and a limit of a killed process can be restored to the same job.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import orjson

from core.engines.errors import HostLost
from core.simulation.replay import Replay, ReplayedJob, Submitted, advance_replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from core.simulation.replay import ReplayPlan

MAX_AWAKE: Final = 60.0
"""Seconds without a look after which the host stood still."""

_BEFORE: Final = 400.0
"""Seconds that a new replay has behind it, so that there is something to see at once."""
_VERSION: Final = 1
_FILE, _LOCK = "world.json", "world.lock"


@dataclass(frozen=True, slots=True)
class ReplayMoment:
    """The replay at one look."""

    #: What is there.
    replay: Replay
    #: A random name that no other replay has.
    world: str
    #: The time of the last access, seconds since 1970.
    seen: float

    def unix(self, at: float) -> float:
        """Return the seconds since 1970 of a time of the replay."""
        return self.seen - (self.replay.at - at)


class DemoWorld:
    """The replay of one workspace."""

    def __init__(
        self,
        folder: Path,
        plan: Callable[[], ReplayPlan],
        clock: Callable[[], float] = time.time,
        before: float = _BEFORE,
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._clock = clock
        self._before = before

    @property
    def plan(self) -> ReplayPlan:
        """The jobs, places and resources that are replayed.

        Raises HostLost if there is nothing to replay.
        """
        return self._plan()

    @cached_property
    def _digest(self) -> str:
        """A digest of the plan; a replay of another plan cannot be continued."""
        return sha256(repr(self.plan).encode()).hexdigest()

    def advance(self) -> ReplayMoment:
        """Advance the replay to the present and return it.

        Raises HostLost if there is nothing to replay, or its file cannot be written.
        """
        return self.change(lambda now: now.replay)

    def change(self, edit: Callable[[ReplayMoment], Replay]) -> ReplayMoment:
        """Change the replay as it is now; whatever `edit` raises, nothing is changed.

        Raises HostLost if its file cannot be written.
        """
        try:
            with self._lock_file():
                now = self._advance_saved()
                after = ReplayMoment(edit(now), now.world, now.seen)
                self._write(after)
                return after
        except OSError as error:
            raise HostLost(
                f"The demo cannot be replayed: {self._folder} cannot be written ({error.strerror}).",
                "Make room there, or let this user write to it.",
            ) from error

    def _advance_saved(self) -> ReplayMoment:
        saved, clock = self._read(), self._clock()
        if saved is None:
            replay = advance_replay(self.plan, Replay.start(self.plan), self._before)
            return ReplayMoment(replay, secrets.token_hex(8), clock)
        passed = clock - saved.seen
        passed = passed if 0.0 <= passed <= MAX_AWAKE else 0.0
        return ReplayMoment(
            advance_replay(self.plan, saved.replay, saved.replay.at + passed), saved.world, clock
        )

    def _read(self) -> ReplayMoment | None:
        """Read the replay in the file; None if this version and plan cannot continue it."""
        try:
            plain = orjson.loads((self._folder / _FILE).read_bytes())
            replay = _parse_replay(plain["replay"])
            saved = ReplayMoment(replay, str(plain["world"]), float(plain["seen"]))
            fits = (plain["version"], plain["plan"]) == (_VERSION, self._digest)
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return None
        return saved if fits else None

    def _write(self, present: ReplayMoment) -> None:
        due = [None if at == float("inf") else at for at in present.replay.due]
        plain = {"version": _VERSION, "plan": self._digest, "world": present.world, "seen": present.seen}
        data = orjson.dumps({**plain, "replay": {**asdict(present.replay), "due": due}})
        draft = self._folder / f".{_FILE}"
        draft.write_bytes(data)
        draft.replace(self._folder / _FILE)

    @contextlib.contextmanager
    def _lock_file(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _parse_replay(plain: dict[str, Any]) -> Replay:
    jobs = tuple(_parse_job(job) for job in plain["jobs"])
    due = tuple(float("inf") if at is None else float(at) for at in plain["due"])
    return Replay(float(plain["at"]), due, jobs, int(plain["begun"]))


def _parse_job(plain: dict[str, Any]) -> ReplayedJob:
    submission = plain.get("submitted")
    submitted = None if submission is None else Submitted(**submission)
    return ReplayedJob(**{**plain, "left": tuple(plain["left"]), "submitted": submitted})
