"""The configured engines, and whether each can be reached.

An engine that does not answer must not delay a page: a separate thread sends the request, the page waits only
briefly, and an answer is reused for a few seconds.
"""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLong
from typing import TYPE_CHECKING

from core.engines.errors import HostLost
from core.engines.registry import ENGINES
from core.engines.values import EngineKey
from core.errors import ConflictError, NotFoundError, SettingsError
from core.sampling.values import EngineInfo, EngineState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from core.config import Settings
    from core.engines.ports import Container, EngineKind, HostAddress, Keeper, LiveEngine, SteeredHost
    from core.engines.values import FollowOptions, HostInfo

_MAX_AGE = 5.0
_WAIT = 2.0
_REQUEST_TIMEOUT = 5.0


class Engines:
    """The engines by name.

    Raises SettingsError if a setting such as PHASEDOCK_DOCKER is not a list of names and addresses, or a name
    comes twice.
    """

    def __init__(self, settings: Settings) -> None:
        self.control = settings.control
        addresses: dict[str, tuple[EngineKind, HostAddress]] = {}
        for kind in map(ENGINES.__getitem__, ENGINES):
            for address in _addresses(kind, settings) if kind.connect is not None else ():
                if kind.demo and address.name in addresses:
                    continue  # the name was given to a real one
                if address.name in addresses:
                    raise SettingsError(f"Two engines are called “{address.name}”.", "Rename one of them.")
                addresses[address.name] = (kind, address)
        self._probes = {name: _Probe(*each) for name, each in addresses.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of the settings."""
        return tuple(self._probes)

    def of_kind(self, kind: str) -> tuple[str, ...]:
        """Return the names of the engines of one kind, in the order of the settings."""
        return tuple(name for name, probe in self._probes.items() if probe.kind.name == kind)

    def adopt(
        self,
        host: SteeredHost,
        folder: Path,
        adopt: Callable[[Container], bool],
        idle: Callable[[], None],
        options: FollowOptions,
    ) -> LiveEngine:
        """Follow containers of a host that `host` opened, for a policy; see `core.engines.ports.Adopt`."""
        begin = self._probe(host.name).kind.adopt
        if begin is None:
            raise LookupError(host.name)
        return begin(host, folder, adopt, idle, options)

    def all(self) -> tuple[EngineInfo, ...]:
        """Return every engine with its state, in the order of the settings."""
        for probe in self._probes.values():
            probe.begin()
        return tuple(probe.answer() for probe in self._probes.values())

    def last(self) -> tuple[EngineInfo, ...]:
        """Return every engine as it last answered; old answers are renewed in the background."""
        for probe in self._probes.values():
            probe.begin()
        return tuple(probe.last for probe in self._probes.values())

    def get(self, name: str) -> EngineInfo:
        """One engine with its state.

        Raises NotFoundError if the settings name no such engine.
        """
        return self._probe(name).answer()

    def check_ready(self, name: str) -> None:
        """Check that an engine answers.

        Raises NotFoundError if the settings name no such engine; ConflictError if it does not answer.
        """
        info = self.get(name)
        if info.state is not EngineState.READY:
            raise ConflictError(info.message, info.hint)

    def kind(self, name: str) -> EngineKind:
        """Return the kind of an engine, with its capabilities.

        Raises NotFoundError if the settings name no such engine.
        """
        return self._probe(name).kind

    def is_demo(self, name: str) -> bool:
        """Whether nothing on an engine is real.

        Raises NotFoundError if the settings name no such engine.
        """
        return self._probe(name).kind.demo

    def may_change(self, name: str) -> bool:
        """Whether an engine's containers may be changed; always true for the demo.

        Raises NotFoundError if the settings name no such engine.
        """
        return self.control or self.is_demo(name)

    def key(self, name: str) -> EngineKey:
        """Return the key of the engine behind a name; without an id while it does not answer.

        Raises NotFoundError if the settings name no such engine.
        """
        return EngineKey(name, self.get(name).id)

    def aliases(self, name: str) -> tuple[str, ...]:
        """Return all names of the settings that mean the same engine as this one, which comes first."""
        this = self.key(name)
        others = (each for each in self.all() if this.id and each.id == this.id and each.name != name)
        return (name, *(each.name for each in others))

    def address(self, name: str) -> HostAddress:
        """Return the address of an engine.

        Raises NotFoundError if the settings name no such engine.
        """
        return self._probe(name).address

    def host(
        self, name: str, keeper: Keeper | None = None, guard: Callable[[Container], bool] | None = None
    ) -> SteeredHost:
        """Open a host for the caller alone, which has to close it; without a guard it changes nothing.

        Raises NotFoundError if the settings name no such engine.
        """
        return self._probe(name).open(keeper, guard or (lambda _: False))

    def close(self) -> None:
        """Close the connections."""
        for probe in self._probes.values():
            probe.close()

    def _probe(self, name: str) -> _Probe:
        if name not in self._probes:
            raise NotFoundError(
                f"There is no engine called “{name}”.", f"Choose one of: {', '.join(self._probes)}."
            )
        return self._probes[name]


class _Probe:
    """Checks now and then whether an engine can be reached."""

    def __init__(self, kind: EngineKind, address: HostAddress) -> None:
        self.kind, self.address = kind, address
        self._lock = threading.Lock()
        self._host = self.open(None, lambda _: False, _REQUEST_TIMEOUT)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"probe-{address.name}")
        self._asking: Future[EngineInfo] | None = None
        self._last: EngineInfo | None = None
        self._at = 0.0

    def open(
        self, keeper: Keeper | None, guard: Callable[[Container], bool], request_timeout: float | None = None
    ) -> SteeredHost:
        if self.kind.connect is None:
            raise LookupError(self.kind.name)
        return self.kind.connect(self.address, keeper, guard, request_timeout)

    def begin(self) -> Future[EngineInfo] | None:
        """Ask, unless the last answer still holds or one is on its way."""
        with self._lock:
            if self._last is not None and time.monotonic() - self._at < _MAX_AGE:
                return None
            if self._asking is None:
                self._asking = self._pool.submit(self._ask)
            return self._asking

    @property
    def last(self) -> EngineInfo:
        return self._last or silent_engine(self.address)

    def answer(self) -> EngineInfo:
        asking = self.begin()
        with contextlib.suppress(TooLong):
            if asking is not None:
                asking.result(_WAIT)
        return self.last

    def close(self) -> None:
        self._pool.shutdown(wait=False)
        self._host.close()

    def _ask(self) -> EngineInfo:
        try:
            self._host.ping()
            info = ready_engine(self.address, self._host.info(0.0))
        except HostLost as error:
            info = lost_engine(self.address, error)
        with self._lock:
            self._last, self._at, self._asking = info, time.monotonic(), None
        return info


def _addresses(kind: EngineKind, settings: Settings) -> Sequence[HostAddress]:
    try:
        return kind.hosts(getattr(settings, kind.setting, ""))
    except SettingsError as error:
        variable = f"PHASEDOCK_{kind.setting.upper()}"
        raise SettingsError(f"{variable} cannot be used: {error.message}", error.hint) from error


def ready_engine(address: HostAddress, info: HostInfo) -> EngineInfo:
    """Return an engine that answers."""
    return EngineInfo(
        address.name,
        address.url,
        EngineState.READY,
        cores=info.cores,
        memory=float(info.memory),
        version=info.version,
        id=info.id,
    )


def lost_engine(address: HostAddress, error: HostLost) -> EngineInfo:
    """Return an engine that does not answer, and why."""
    return EngineInfo(address.name, address.url, EngineState(error.kind), error.message, error.hint)


def silent_engine(address: HostAddress) -> EngineInfo:
    """Return an engine that takes too long to answer."""
    return EngineInfo(
        address.name,
        address.url,
        EngineState.LOST,
        f"The engine {address.name} ({address.shown}) has not answered yet.",
        "Wait a moment; if it still does not, check that Docker is running there.",
    )
