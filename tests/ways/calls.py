"""Which files of app and core a piece of work enters: those in which one of their functions runs."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ROOT = Path(__file__).resolve().parents[2]
OURS = tuple(f"{ROOT / name}/" for name in ("app", "core"))
BOUNDS = {"csv_to_figure": 97, "flowcon_decision": 35, "train": 41, "live_sample": 30}
"""The most files that each way may enter: the present count, and two that caches may add."""
_NOT_HERE = ("core.jobs.programs", "core.workspace.migrations", "core.jobs.__main__", "core.cli.__main__")


def import_everything() -> None:
    """Import all modules, so that what runs at import counts nowhere."""
    for name in ("app", "core"):
        for found in pkgutil.walk_packages([str(ROOT / name)], f"{name}."):
            if not found.name.startswith(_NOT_HERE):
                importlib.import_module(found.name)


def file_of(frame: FrameType) -> str | None:
    """The file of a function of ours; None for a module's or a class's body, and for functions of others."""
    code = frame.f_code
    if not code.co_filename.startswith(OURS) or not code.co_flags & inspect.CO_OPTIMIZED:
        return None
    return str(Path(code.co_filename).relative_to(ROOT))


class Calls:
    """The files that were entered while it listened, in the order of their first function."""

    def __init__(self) -> None:
        self._seen: dict[str, None] = {}
        self._of_code: dict[Any, str | None] = {}

    @property
    def files(self) -> list[str]:
        """The files so far."""
        return list(self._seen)

    def clear(self) -> None:
        """Begin anew."""
        self._seen = {}

    def take(self, frame: FrameType, event: str, _: Any) -> None:
        """Hear of a call, as `sys.setprofile` tells it."""
        if event != "call":
            return
        code = frame.f_code
        if code not in self._of_code:
            self._of_code[code] = file_of(frame)
        if (name := self._of_code[code]) is not None:
            self._seen[name] = None

    @contextmanager
    def here(self) -> Iterator[Calls]:
        """Listen to this thread, and to the threads that are begun meanwhile."""
        with listening(self.take), beginning(self.take):
            yield self


@contextmanager
def listening(take: Any) -> Iterator[None]:
    """Let a function hear of this thread's calls."""
    sys.setprofile(take)
    try:
        yield
    finally:
        sys.setprofile(None)


@contextmanager
def beginning(take: Any) -> Iterator[None]:
    """Let a function hear of the calls in threads that are begun meanwhile, as long as they live."""
    threading.setprofile(take)
    try:
        yield
    finally:
        threading.setprofile(None)


class Rounds:
    """The loop that observes, decides and applies, up to and with the first round that changes something.

    The loop is known by the name of its function, and the parts of a round by that function calling them.
    The rounds before are taken along: what a round reads of a log depends on when it happens to look.
    """

    parts = ("observe", "decide", "apply")

    def __init__(self, loop: str, over: threading.Event) -> None:
        self.calls = {part: Calls() for part in self.parts}
        self._loop = loop
        self._over = over
        self._now: tuple[str, FrameType] | None = None
        self._acts = False

    def take(self, frame: FrameType, event: str, value: Any) -> None:
        """Hear of a call or a return, as `sys.setprofile` tells it."""
        if self._over.is_set():
            return
        if self._now is None:
            self._begin(frame, event)
        if self._now is None:
            return
        part, outermost = self._now
        self.calls[part].take(frame, event, value)
        if event == "return" and frame is outermost:
            self._now = None
            if part == "decide":
                self._acts = bool(value is not None and value.actions)
            elif part == "apply" and self._acts:
                self._over.set()

    def _begin(self, frame: FrameType, event: str) -> None:
        name, caller = frame.f_code.co_name, frame.f_back
        if event != "call" or name not in self.parts or caller is None:
            return
        if caller.f_code.co_name == self._loop and file_of(caller) is not None:
            self._now = name, frame
