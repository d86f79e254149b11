"""Putting limits back, exactly, whoever changed them and whether or not that process still lives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.engines.docker_host import ContainerGone, HostLost
from core.engines.docker_host.agent.files import AgentFolder
from core.engines.docker_host.host.containers import AGENT
from core.errors import PhaseDockError
from core.runtime.live.view.values import Released

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.engines.docker_host import Container
    from core.runtime.live.control.saved_limits import SavedLimits, SavedLimitsStore
    from core.runtime.live.engines import Engines


class LimitRestorer:
    """Puts back what was held.

    Parameters
    ----------
    engines, holds
        Where containers are, and what their limits were.
    """

    def __init__(self, engines: Engines, holds: SavedLimitsStore) -> None:
        self._engines = engines
        self._holds = holds

    def put_back(self, holds: Sequence[SavedLimits]) -> Released:
        """Put limits back in this order, and forget each hold once that was verified.

        What could not be put back stays held, and whoever comes next tries again.
        """
        outcome: dict[str, list[str]] = {"restored": [], "gone": []}
        failed: list[tuple[str, str]] = []
        lost: dict[str, str] = {}
        for hold in holds:
            if hold.engine in lost:
                failed.append((hold.name, lost[hold.engine]))
                continue
            try:
                kind, name = self._one(hold)
                outcome[kind].append(name)
            except PhaseDockError as error:
                failed.append((hold.name, str(error)))
                if isinstance(error, HostLost) or hold.engine not in self._engines.names:
                    lost[hold.engine] = str(error)
        restored, gone = (tuple(dict.fromkeys(outcome[kind])) for kind in ("restored", "gone"))
        return Released(restored, gone, tuple(failed))

    def _one(self, hold: SavedLimits) -> tuple[str, str]:
        keeper = self._holds.keeper(hold.owner)
        # what is held was ours to change, whether or not it is picked still
        with self._engines.host(hold.engine, keeper, lambda each: each.id == hold.container) as host:
            try:
                seen = host.inspect(hold.container)
                if hold.paused and seen.state == "paused":
                    host.unpause(hold.container)
                host.restore(hold.container)
            except ContainerGone:
                keeper.forget(hold.engine, hold.container)
                return "gone", hold.name
            _free_threads(seen, host.info().local)
            return "restored", seen.name


def _free_threads(container: Container, local: bool) -> None:
    """Let a job that followed its cores choose its threads again."""
    folder = container.labels.get(AGENT, "")
    if local and folder and Path(folder).is_dir():
        agent = AgentFolder(Path(folder))
        if agent.wants.threads is not None:
            agent.want(threads=None)
