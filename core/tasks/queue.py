"""The queue between the web process and the workers: huey, on SQLite or on Redis.

The queue carries nothing but the id of a task; what is to be done, and how far it is, stands in the
database. Losing or repeating a message is therefore harmless: a task starts only by the one update
that takes it from *queued* to *running*, and what waits without a message is put back by a worker.

It has two lanes, so that an import of seconds does not wait until trainings of minutes have ended.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from huey import RedisHuey, SqliteHuey
from huey.registry import Message
from huey.serializer import Serializer

from core.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.config import Settings

_NAME = "phasedock"


class PlainSerializer(Serializer):  # type: ignore[misc]
    """Messages as JSON: what comes out of a queue is data and is never executed."""

    def _serialize(self, data: Any) -> bytes:
        return json.dumps(list(data) if isinstance(data, tuple) else data).encode()

    def _deserialize(self, data: bytes) -> Any:
        value = json.loads(data)
        return Message(*value) if isinstance(value, list) else value


class WorkQueue:
    """Hands ids of tasks from those who submit to those who work.

    Parameters
    ----------
    settings
        Redis is used where `redis_url` is set, else a SQLite file in the home folder.
    work
        What a worker does with an id; processes that only submit leave it out.
    """

    def __init__(self, settings: Settings, work: Callable[[str], None] | None = None) -> None:
        common: dict[str, Any] = {"results": False, "serializer": PlainSerializer()}
        if settings.redis_url:
            make: Any = partial(RedisHuey, url=settings.redis_url, **common)
        else:
            file = settings.home / "queue.db"
            make = partial(SqliteHuey, filename=str(file), fsync=True, timeout=15, **common)
        self.ordinary, self.brief = make(_NAME), make(f"{_NAME}-brief")

        # huey names a task by the module of its function, which must be the same in all processes
        def do(task: str) -> None:
            (work or _nobody)(task)

        self._put = {lane: lane.task(name="work")(do) for lane in (self.ordinary, self.brief)}

    def put(self, task: str, *, brief: bool = False) -> None:
        """Add the id of a task; those that are brief have a lane of their own."""
        self._put[self.brief if brief else self.ordinary](task)

    def waiting(self) -> set[str]:
        """The ids that are in the queue now."""
        return {str(message.args[0]) for lane in self._put for message in lane.pending()}

    def check(self) -> None:
        """Make sure that the queue can be reached.

        Raises
        ------
        SettingsError
            If it cannot.
        """
        try:
            self.ordinary.pending_count()
        except Exception as error:
            raise SettingsError(
                f"The task queue cannot be reached: {error}.",
                "Check REDIS_URL and that Redis runs; without REDIS_URL none is needed.",
            ) from error

    def close(self) -> None:
        """Close the connection of this thread."""
        for lane in self._put:
            lane.storage.close()


def _nobody(task: str) -> None:
    raise RuntimeError(f"task {task} was given to a process that does no work")
