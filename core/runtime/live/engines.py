"""The engines that the settings name, and whether they can be used.

An engine that does not answer must not hold up a page: it is asked in a thread of its own, waited for only a
moment, and its answer holds for a few seconds.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLong
from typing import TYPE_CHECKING

from core.engines.docker_host import Host, HostLost, parse_addresses
from core.errors import NotFoundError, SettingsError
from core.runtime.live.view.values import EngineInfo, EngineState

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from core.config import Settings
    from core.engines.docker_host import Address, Container, HostInfo, Keeper

_HOLDS_FOR = 5.0
_WAIT = 2.0
_REQUEST_TIMEOUT = 5.0


class Engines:
    """The engines by name.

    Parameters
    ----------
    settings
        What the environment decided.

    Raises
    ------
    SettingsError
        If PHASEDOCK_DOCKER is not a list of names and addresses.
    """

    def __init__(self, settings: Settings) -> None:
        try:
            addresses = parse_addresses(settings.docker)
        except SettingsError as error:
            raise SettingsError(f"PHASEDOCK_DOCKER cannot be used: {error.message}", error.hint) from error
        self._probes = {address.name: _Probe(address) for address in addresses}

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of the settings."""
        return tuple(self._probes)

    def all(self) -> tuple[EngineInfo, ...]:
        """Every engine with its state, in the order of the settings."""
        for probe in self._probes.values():
            probe.begin()
        return tuple(probe.answer() for probe in self._probes.values())

    def get(self, name: str) -> EngineInfo:
        """One engine with its state.

        Raises
        ------
        NotFoundError
            If the settings name no such engine.
        """
        return self._probe(name).answer()

    def address(self, name: str) -> Address:
        """Where an engine is.

        Raises
        ------
        NotFoundError
            If the settings name no such engine.
        """
        return self._probe(name).address

    def host(
        self, name: str, keeper: Keeper | None = None, guard: Callable[[Container], bool] | None = None
    ) -> Host:
        """A host of one's own, to be closed by who asked for it; without a guard it changes nothing.

        Parameters
        ----------
        name
            The engine's name.
        keeper
            Remembers limits before they are changed.
        guard
            Which containers may be changed.

        Raises
        ------
        NotFoundError
            If the settings name no such engine.
        """
        return Host(self._probe(name).address, keeper, guard or (lambda _: False))

    def close(self) -> None:
        """Close what is open."""
        for probe in self._probes.values():
            probe.close()

    def _probe(self, name: str) -> _Probe:
        if name not in self._probes:
            raise NotFoundError(
                f"There is no engine called “{name}”.", f"Choose one of: {', '.join(self._probes)}."
            )
        return self._probes[name]


class _Probe:
    """Asks one engine whether it is there, now and then."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._host = Host(address, guard=lambda _: False, request_timeout=_REQUEST_TIMEOUT)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"probe-{address.name}")
        self._asking: Future[EngineInfo] | None = None
        self._last: EngineInfo | None = None
        self._at = 0.0

    def begin(self) -> Future[EngineInfo] | None:
        """Ask, unless the last answer still holds or one is on its way."""
        with self._lock:
            if self._last is not None and time.monotonic() - self._at < _HOLDS_FOR:
                return None
            if self._asking is None:
                self._asking = self._pool.submit(self._ask)
            return self._asking

    def answer(self) -> EngineInfo:
        asking = self.begin()
        try:
            if asking is not None:
                asking.result(_WAIT)
        except TooLong:
            return self._last or silent(self.address)
        return self._last or silent(self.address)

    def close(self) -> None:
        self._pool.shutdown(wait=False)
        self._host.close()

    def _ask(self) -> EngineInfo:
        try:
            self._host.ping()
            found = ready(self.address, self._host.info())
        except HostLost as error:
            found = lost(self.address, error)
        with self._lock:
            self._last, self._at, self._asking = found, time.monotonic(), None
        return found


def ready(address: Address, info: HostInfo) -> EngineInfo:
    """An engine that answers."""
    return EngineInfo(
        address.name,
        address.url,
        EngineState.READY,
        cores=info.cores,
        memory=float(info.memory),
        version=info.version,
    )


def lost(address: Address, error: HostLost) -> EngineInfo:
    """An engine that does not answer, and why."""
    return EngineInfo(address.name, address.url, EngineState(error.kind), error.message, error.hint)


def silent(address: Address) -> EngineInfo:
    """An engine that takes too long to answer."""
    return EngineInfo(
        address.name,
        address.url,
        EngineState.LOST,
        f"The engine {address.name} ({address.shown}) has not answered yet.",
        "Wait a moment; if it stays so, see that Docker is alive there.",
    )
