"""The engines that the settings name, and whether they can be used.

An engine that does not answer must not hold up a page: it is asked in a thread of its own, for a few seconds
at most, and its answer holds for a few seconds more.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from core.errors import NotFoundError
from core.runtime.live.values import EngineInfo, EngineState

if TYPE_CHECKING:
    from core.config import Settings

_DEFAULT = "unix:///var/run/docker.sock"


class Engines:
    """The engines by name.

    Parameters
    ----------
    settings
        What the environment decided.
    """

    def __init__(self, settings: Settings) -> None:
        pairs = (part.partition("=") for part in settings.docker.split(";"))
        self._addresses = {name.strip(): address.strip() for name, _, address in pairs}

    def all(self) -> tuple[EngineInfo, ...]:
        """Every engine with its state, in the order of the settings."""
        return tuple(self.get(name) for name in self._addresses)

    def get(self, name: str) -> EngineInfo:
        """One engine with its state.

        Raises
        ------
        NotFoundError
            If the settings name no such engine.
        """
        if name not in self._addresses:
            raise NotFoundError(
                f"There is no engine called “{name}”.", f"Choose one of: {', '.join(self._addresses)}."
            )
        return _probed(name, self._addresses[name])


def _probed(name: str, address: str) -> EngineInfo:
    parts = urlsplit(address or _DEFAULT)
    if parts.scheme != "unix":
        return EngineInfo(name, address, EngineState.READY)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(parts.path)
        except PermissionError:
            return EngineInfo(
                name,
                address,
                EngineState.DENIED,
                f"Docker at {parts.path} does not let this user in.",
                "Add the user who runs PhaseDock to the group docker and log in again.",
            )
        except OSError:
            return EngineInfo(
                name,
                address,
                EngineState.MISSING,
                f"No Docker Engine answers at {parts.path}.",
                "Install and start Docker, or name another address in PHASEDOCK_DOCKER.",
            )
    return EngineInfo(name, address, EngineState.READY, cores=float(os.cpu_count() or 1))
