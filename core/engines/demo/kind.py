"""The demo's engine kind: the bundled recordings of jobs that finished, and the host that replays them.

None of them had a limit of cores, and processors were free when they needed them, so what was recorded is
their full usage: 0.95 of a core while they decode, 0.4 while they train, next to none while they import and
upload. Twelve of them use four cores on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.parquet as pq

from core.engines.demo.host import NO_RESTART, DemoHost
from core.engines.demo.world import DemoWorld
from core.engines.errors import HostLost
from core.engines.ports import EngineKind
from core.engines.run import Node, RunEngine
from core.simulation.replay import Recording, ReplayPlan, StartingPlace
from core.units import GIB, MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from core.engines.ports import Container, Keeper
    from core.engines.values import FollowOptions


RECORDED: Final = Path(__file__).resolve().parents[3] / "data" / "recorded_jobs.parquet"
"""The samples that come with PhaseDock (``data/README.md``)."""

CORES: Final = 8.0
MEMORY: Final = 24 * GIB

_PAUSE: Final = 5.0
_FINISHED: Final = "finished"
_COLUMNS: Final = ("cpu_cores", "memory_bytes", "loss", "io_bytes_per_second")
_ALLOWED: Final = 2560 * MIB
_PLACES: Final = tuple(
    StartingPlace(cores=1.0 if at in (2, 7) else None, memory=_ALLOWED, first=30.0 * at, labelled=at != 11)
    for at in range(12)
)
"""Two places have a limit of one core from their owner; the containers of the last are unlabelled."""


@lru_cache(maxsize=1)
def bundled_plan() -> ReplayPlan:
    """Return the host with the bundled recordings, read once.

    Raises HostLost if the samples are not beside the program, or are others.
    """
    try:
        table = pq.read_table(RECORDED, columns=["execution", "workload", "ended", "timestamp", *_COLUMNS])
    except (OSError, ValueError) as error:
        raise HostLost(
            "The demo has nothing to replay: the bundled samples were not found beside the program.",
            "Start PhaseDock from its project folder, or use another engine.",
            "missing",
        ) from error
    columns = {name: np.array(table[name].to_pylist()) for name in ("execution", "workload", "ended")}
    numbers = {name: table[name].to_numpy().astype(float) for name in ("timestamp", *_COLUMNS)}
    names = _in_turns(columns)
    recorded = tuple(_recording(columns, numbers, columns["execution"] == name) for name in names)
    return ReplayPlan(CORES, MEMORY, recorded, _PLACES, _PAUSE)


def _in_turns(columns: dict[str, NDArray[np.str_]]) -> list[str]:
    """Return the executions that finished, one of each workload after the other."""
    finished = columns["ended"] == _FINISHED
    workloads = dict(
        zip(columns["execution"][finished].tolist(), columns["workload"][finished].tolist(), strict=True)
    )
    groups: dict[str, list[str]] = {}
    for name, workload in workloads.items():
        groups.setdefault(workload, []).append(name)
    return [name for turn in zip_longest(*groups.values()) for name in turn if name is not None]


def _recording(
    texts: dict[str, NDArray[np.str_]], numbers: dict[str, NDArray[np.float64]], mine: NDArray[np.bool_]
) -> Recording:
    period = float(np.median(np.diff(numbers["timestamp"][mine])))
    lines = (tuple(np.nan_to_num(numbers[name][mine]).tolist()) for name in ("cpu_cores", "memory_bytes"))
    cores, memory = lines
    loss = tuple(numbers["loss"][mine].tolist())
    moved = tuple(np.nan_to_num(numbers["io_bytes_per_second"][mine]).tolist())
    return Recording(str(texts["workload"][mine][0]), round(period, 2), cores, memory, loss, moved)


TITLE: Final = "Demo: recorded jobs, replayed"


@dataclass(frozen=True, slots=True)
class DemoAddress:
    """The address of the demo: a folder of the workspace."""

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
    folder: Path,
    adopt: Callable[[Container], bool],
    idle: Callable[[], None],
    options: FollowOptions,
) -> RunEngine:
    return RunEngine([Node(host.name, host)], folder=folder, idle=idle, adopt=adopt, options=options)


ENGINE: Final = EngineKind(
    "demo",
    TITLE,
    setting="demo_folder",
    hosts=_hosts,
    connect=_connect,
    adopt=_adopt,
    takes_jobs=True,
    no_restart=NO_RESTART,
    demo=True,
)
