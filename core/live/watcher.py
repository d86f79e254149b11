"""Sampling engines once a second, as long as samples are wanted or remembered.

Every worker process has a watcher, with one thread for each engine; of all threads for one engine only the
one that has its lock samples. The system releases the lock of a killed process.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from core.engines.errors import HostLost
from core.errors import PhaseDockError
from core.live.history.chunks import RecordedContainer
from core.live.history.pins import pins_of
from core.live.history.writer import HistoryWriter
from core.live.view import LiveFiles, write
from core.sampling.engines import lost_engine, silent_engine
from core.sampling.gpus import gpu_reader
from core.sampling.phases import PhaseTracker
from core.sampling.sampler import LossReader, Sampler
from core.sampling.values import LiveView
from core.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from core.engines.ports import WatchedHost
    from core.live.control.saved_limits import SavedLimitsStore
    from core.live.history.chunks import Span
    from core.sampling.engines import Engines
    from core.sampling.sampler import Rows
    from core.workspace.models import ModelLibrary

PERIOD = 1.0
_CHECK_INTERVAL = 0.5
_IDLE_PERIOD = 5.0
"""Seconds between two samples of an engine without labelled containers that no page shows."""
_RETRY_DELAY = 2.0
_IDLE_RETRY_DELAY = 60.0
MAX_BYTES = 2 * GIB
"""The maximum bytes of one engine's history, beside pinned chunks."""
_LOG = logging.getLogger("phasedock.watcher")


class Watcher:
    """Samples the engines that are wanted."""

    def __init__(
        self,
        home: Path,
        engines: Engines,
        saved_limits: SavedLimitsStore,
        models: ModelLibrary,
        *,
        history: bool,
    ) -> None:
        self._stopping = threading.Event()
        self._watches = [
            _Watch(
                LiveFiles(home, name),
                engines,
                saved_limits,
                models,
                self._stopping,
                remembers=history and not engines.is_demo(name),
            )
            for name in engines.names
        ]
        self._threads = [
            threading.Thread(target=watch.run, name=f"watch-{watch.files.engine}", daemon=True)
            for watch in self._watches
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float = 5.0) -> None:
        """Stop, and wait up to this long for the present sample."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(seconds)


class _Watch:
    """The thread of one engine."""

    def __init__(
        self,
        files: LiveFiles,
        engines: Engines,
        saved_limits: SavedLimitsStore,
        models: ModelLibrary,
        stopping: threading.Event,
        *,
        remembers: bool,
    ) -> None:
        self.files = files
        self._remembers = remembers
        self._engines = engines
        self._saved_limits = saved_limits
        self._models = models
        self._stopping = stopping
        self._phaser: tuple[str, PhaseTracker | None] | None = None
        self._view = LiveView(silent_engine(engines.address(files.engine)))

    def run(self) -> None:
        """Sample whenever it is wanted or remembered, whatever fails."""
        due = 0.0
        while not self._stopping.wait(_CHECK_INTERVAL):
            is_wanted = self.files.is_wanted()
            if not is_wanted and not (self._remembers and time.monotonic() >= due):
                continue
            try:
                with hold_lock(self.files.lock) as mine:
                    if mine:
                        self._sample_while_wanted()
            except HostLost as error:
                self._say_lost(error)
            except Exception:  # noqa: BLE001 - whatever it is, the next attempt may do better
                _LOG.exception("sampling %s failed", self.files.engine)
            # request an unanswering engine that no page shows less often
            due = time.monotonic() + _IDLE_RETRY_DELAY
            self._stopping.wait(_RETRY_DELAY - _CHECK_INTERVAL)

    def _sample_while_wanted(self) -> None:
        host = self._engines.host(self.files.engine)
        try:
            sampler = Sampler(host, self._saved_limits, LossReader(host), gpu_reader())
            self._follow(host, sampler)
        finally:
            host.close()

    def _follow(self, host: WatchedHost, sampler: Sampler) -> None:
        self.files.remove_earlier()
        history, due = _History(self.files, remembers=self._remembers), time.monotonic()
        while (self._remembers or self.files.is_wanted()) and not self._stopping.is_set():
            model, phaser = self._chosen_model()
            view, rows = sampler.sample(phaser, model)
            if view.at is not None:
                history.add(view.at, view, rows)
            write(self.files.snapshot, view)
            self._view = view
            period = PERIOD if view.rows or self.files.is_wanted() else _IDLE_PERIOD
            due += period
            late = time.monotonic() - due
            # missed samples are left out, not caught up with
            due += max(0.0, late // period + 1.0) * period if late > 0 else 0.0
            self._pause(due, period)
        _LOG.info("samples of %s are not wanted any more", host.name)

    def _pause(self, due: float, period: float) -> None:
        """Wait until then, or until samples become wanted."""
        while not self._stopping.wait(min(max(due - time.monotonic(), 0.0), PERIOD)):
            if time.monotonic() >= due or (period > PERIOD and self.files.is_wanted()):
                return

    def _chosen_model(self) -> tuple[str | None, PhaseTracker | None]:
        """Return the model that the page requests, loaded once; an unusable one is not retried."""
        model = self.files.model()
        if model is None:
            self._phaser = None
        elif self._phaser is None or self._phaser[0] != model:
            try:
                self._phaser = (model, PhaseTracker(self._models.load(model)))
            except PhaseDockError as error:
                _LOG.warning("no phases by model %s: %s", model, error)
                self._phaser = (model, None)
        if self._phaser is None or self._phaser[1] is None:
            return None, None
        return self._phaser

    def _say_lost(self, error: HostLost) -> None:
        address = self._engines.address(self.files.engine)
        self._view = replace(self._view, engine=lost_engine(address, error))
        write(self.files.snapshot, self._view)


class _History:
    """Writes samples to the history; a disk that fails costs the past, never the present."""

    def __init__(self, files: LiveFiles, *, remembers: bool) -> None:
        self._files, self._remembers = files, remembers
        self._writer: HistoryWriter | None = None
        self._failed = False

    def add(self, at: float, view: LiveView, rows: Rows) -> None:
        containers = {row.id: RecordedContainer(row.id, row.name, row.image) for row in view.rows}
        try:
            if self._writer is None:
                self._writer = HistoryWriter(
                    self._files.history, MAX_BYTES, remembers=self._remembers, pins=self._read_pins
                )
            self._writer.add(at, rows, containers)
            self._failed = False
        except OSError:
            self._writer = None
            if not self._failed:
                _LOG.exception("samples of %s cannot be stored", view.engine.name)
            self._failed = True

    def _read_pins(self) -> list[Span]:
        return [pin.span for pin in pins_of(self._files.home, self._files.engine)]


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[bool]:
    """Hold a file's lock if it is free; yields whether it was."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
