"""The demo as the register of engines has it: always there, and nothing on it is real."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core.engines.demo.engine import DemoEngine
from core.engines.demo.host import DemoHost
from core.engines.demo.recordings import bundled_plan
from core.engines.demo.world import DemoWorld
from core.engines.ports import EngineKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.engines.ports import Container, Keeper

TITLE: Final = "Demo: recorded jobs, replayed"


@dataclass(frozen=True, slots=True)
class DemoAddress:
    """Where the demo is: in a folder of the workspace."""

    #: The folder.
    folder: Path
    #: As `core.engines.ports.HostAddress` has them.
    name: str = "demo"
    url: str = ""
    shown: str = "bundled recordings, replayed on this machine"


def _hosts(folder: str) -> Sequence[DemoAddress]:
    return (DemoAddress(Path(folder)),) if folder else ()


def _connect(
    address: DemoAddress,
    keeper: Keeper | None,
    guard: Callable[[Container], bool],
    request_timeout: float | None = None,  # noqa: ARG001 - it answers at once
) -> DemoHost:
    return DemoHost(address, DemoWorld(address.folder, bundled_plan), keeper, guard)


def _adopt(
    host: DemoHost,
    folder: Path,  # noqa: ARG001 - replayed jobs have no folders
    adopt: Callable[[Container], bool],
    idle: Callable[[], None],
    reconnect_within: float,  # noqa: ARG001 - it is never lost
    logs_every: float,  # noqa: ARG001 - replayed jobs print nothing
) -> DemoEngine:
    return DemoEngine(host, adopt, idle)


ENGINE: Final = EngineKind(
    "demo",
    TITLE,
    setting="demo_folder",
    hosts=_hosts,
    connect=_connect,
    adopt=_adopt,
    takes_jobs=True,
    demo=True,
)
