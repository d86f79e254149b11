"""The register of engines: the only list of them, and the only place that knows any engine by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.engines.docker_host.kind import DOCKER
from core.engines.simulated import SIMULATOR
from core.engines.watch_only import WatchOnly
from core.experiments.spec import ENGINES as KNOWN
from core.experiments.spec import EngineFacts
from core.registry import Registry

if TYPE_CHECKING:
    from core.engines.ports import EngineKind

__all__ = ["ENGINES", "WatchOnly", "add"]

ENGINES: Final[Registry[EngineKind]] = Registry("engine")


def add(kind: EngineKind) -> None:
    """Register an engine: experiments may name it, its hosts are watched and steered.

    Raises
    ------
    ValueError
        If the name is taken.
    """
    ENGINES.add(kind.name, kind)
    # experiments are below engines and cannot look here
    KNOWN.setdefault(kind.name, EngineFacts(kind.title, kind.real))


add(SIMULATOR)
add(DOCKER)
