"""The engines to choose from, as the bar on top and the page Live show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.context import workspace
from core.live.view import ATTACH
from core.sampling.values import EngineState
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from core.sampling.values import EngineInfo

STATE_WORDS = {
    EngineState.READY: "ready",
    EngineState.MISSING: "not found",
    EngineState.DENIED: "no permission",
    EngineState.LOST: "not responding",
}


def engine_named(name: str | None) -> EngineInfo | None:
    """The engine of this name, else the first ready one, else the first, else None.

    An unknown name falls back as well, so that an old address shows something. The
    demo comes last, so it is the default only where no real engine is ready.
    """
    engines = workspace().live.engines.all()
    requested = next((each for each in engines if each.name == name), None)
    ready = next((each for each in engines if each.state is EngineState.READY), None)
    return requested or ready or next(iter(engines), None)


def is_demo(engine: EngineInfo) -> bool:
    """Whether an engine is the demo, with simulated containers."""
    engines = workspace().live.engines
    return engine.name in engines.names and engines.is_demo(engine.name)


def title_of(engine: EngineInfo) -> str:
    """The title of an engine: its name, or the demo's title."""
    return workspace().live.engines.kind(engine.name).title if is_demo(engine) else engine.name


def real_engines_beside_demo(engine: EngineInfo) -> tuple[EngineInfo, ...] | None:
    """The real engines as they last answered, where the demo is shown; None where a real one is."""
    if not is_demo(engine):
        return None
    return tuple(each for each in workspace().live.engines.last() if not is_demo(each))


def state_sentence(engine: EngineInfo, *, alone: bool) -> str:
    """The state of an engine, such as ``Docker: not found``; its name where there are several."""
    return f"{'Docker' if alone else engine.name}: {STATE_WORDS[engine.state]}"


def engine_options() -> list[dict[str, str]]:
    """The engines to choose from, unavailable ones with their state."""
    engines = workspace().live.engines.all()
    alone = sum(not is_demo(each) for each in engines) == 1
    return [{"value": each.name, "label": _label(each, alone=alone)} for each in engines]


def _label(engine: EngineInfo, *, alone: bool) -> str:
    if is_demo(engine):
        return "Demo (replayed jobs)"  # its whole title has no room in a picker
    if engine.state is EngineState.READY:
        return f"{engine.name} ({workspace().live.engines.kind(engine.name).title})"
    return state_sentence(engine, alone=alone)


def dot(engine: EngineInfo | None) -> tuple[str, str]:
    """The class and the title of the dot beside the chosen engine."""
    if engine is None:
        return "enginedot", "No engine is configured"
    return f"enginedot {engine.state}", f"{engine.name}: {STATE_WORDS[engine.state]}"


def anything_attached() -> bool:
    """Whether a policy is attached to any engine, or about to be."""
    alive = workspace().tasks.list(50, [TaskState.QUEUED, TaskState.RUNNING])
    return any(task.kind == ATTACH for task in alive)
