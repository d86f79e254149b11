"""Kinds of work that tests need, and a worker process that knows them.

``python -m tests.runtime.kinds_for_tests HOME`` is a real worker process, to be killed.
"""

import sys
import time
from pathlib import Path

from core.application import Workspace
from core.config import Settings
from core.errors import InputError
from core.registry import Registry
from core.tasks.kind import Kind
from core.tasks.worker import Worker


def _count(context, params):
    """Go through `steps` steps of `pause` seconds, with a live curve."""
    steps = params["steps"]
    for step in range(1, steps + 1):
        context.progress(step / steps, f"step {step} of {steps}", step=step, error=1.0 / step)
        time.sleep(params.get("pause", 0.0))
    return {"counted": steps}


def _refuse(context, params):
    raise InputError("Row 7 has no time.", "Add a time to row 7.")


def _break(context, params):
    context.log("about to divide")
    return {"never": 1 / params["by"]}


def _fill_memory(context, params):
    raise MemoryError


def _fill_disk(context, params):
    raise OSError(28, "No space left on device")


def kind_for_tests(name, run, **more):
    """A kind that is shown like any other."""
    shown = {"title": name.capitalize(), "icon": "flask", "outcome": lambda _: "It is done."}
    return Kind(name=name, run=run, gives=(), **shown, **more)


def kinds_for_tests():
    kinds = Registry("kind of task")
    for name, run in {
        "count": _count,
        "refuse": _refuse,
        "break": _break,
        "memory": _fill_memory,
        "disk": _fill_disk,
    }.items():
        kinds.add(name, kind_for_tests(name, run))
    kinds.add("brief", kind_for_tests("brief", _count, brief=True))
    return kinds


def until(condition, seconds=20.0):
    """Wait for a condition; its value, or an error that shows it never came true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError("it did not become true in time")


if __name__ == "__main__":
    kinds = kinds_for_tests()
    Worker(Workspace(Settings(home=Path(sys.argv[1])), kinds), kinds=kinds).run()
