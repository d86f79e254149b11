"""The register of engines: the only list of them, and the only place that knows any engine by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.engines import simulated
from core.engines.demo import kind as demo
from core.engines.docker_host import kind as docker_host
from core.engines.watch_only import WatchOnly
from core.errors import InputError
from core.experiments.spec import ENGINES as KNOWN
from core.experiments.spec import EngineFacts
from core.registry import Registry

if TYPE_CHECKING:
    from core.engines.ports import EngineKind, RunRequest
    from core.scheduling.ports import Engine

__all__ = ["ENGINES", "WatchOnly", "add", "begin"]

ENGINES: Final[Registry[EngineKind]] = Registry("engine")


def add(kind: EngineKind) -> None:
    """Register an engine: experiments may name it, its hosts are watched and steered.

    Raises ValueError if the name is taken.
    """
    ENGINES.add(kind.name, kind)
    if kind.open is not None:  # experiments are below engines and cannot import this
        KNOWN.setdefault(kind.name, EngineFacts(kind.title, kind.real))


def begin(name: str, request: RunRequest) -> Engine:
    """Begin a run of an experiment on the engine of that name.

    Raises NotFoundError if there is no such engine; InputError if experiments cannot run on it.
    """
    kind = ENGINES[name]
    if kind.open is None:
        able = ", ".join(each for each, one in ENGINES.items() if one.open is not None)
        raise InputError(f"Experiments cannot run on {kind.title}.", f"Choose one of: {able}.")
    return kind.open(request)


for _kind in (
    simulated.ENGINE,
    docker_host.ENGINE,
    demo.ENGINE,
):
    add(_kind)
