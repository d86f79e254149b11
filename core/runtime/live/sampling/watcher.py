"""Sampling engines once a second, as long as somebody wants it.

Every worker process has a watcher, with one thread for each engine; of all threads for one engine only the
one that has its lock samples. A killed process gives its lock back by dying.
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
from core.runtime.live.engines import lost, silent
from core.runtime.live.sampling.gpus import gpu_reader
from core.runtime.live.sampling.losses import LossReader
from core.runtime.live.sampling.phases import PhaseTracker
from core.runtime.live.sampling.ring_buffer import RingWriter
from core.runtime.live.sampling.sampler import Sampler
from core.runtime.live.view.snapshot import LiveFiles, write
from core.runtime.live.view.values import LiveView

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from core.engines.ports import WatchedHost
    from core.runtime.live.control.saved_limits import SavedLimitsStore
    from core.runtime.live.engines import Engines
    from core.runtime.storage.models import ModelLibrary

PERIOD = 1.0
_LOOK_EVERY = 0.5
_AGAIN_AFTER = 2.0
_LOG = logging.getLogger("phasedock.watcher")


class Watcher:
    """Samples the engines that are wanted.

    Parameters
    ----------
    home
        The home folder of the workspace.
    engines, saved_limits, models
        What there is to sample, which containers have saved limits or are picked, and where models are.
    """

    def __init__(
        self, home: Path, engines: Engines, saved_limits: SavedLimitsStore, models: ModelLibrary
    ) -> None:
        self._stopping = threading.Event()
        self._watches = [
            _Watch(LiveFiles(home, name), engines, saved_limits, models, self._stopping)
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
        """End, and wait up to this long for the present sample to be finished."""
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
    ) -> None:
        self.files = files
        self._engines = engines
        self._saved_limits = saved_limits
        self._models = models
        self._stopping = stopping
        self._phaser: tuple[str, PhaseTracker | None] | None = None
        self._seen = LiveView(silent(engines.address(files.engine)))

    def run(self) -> None:
        """Sample whenever it is wanted, whatever comes."""
        while not self._stopping.wait(_LOOK_EVERY):
            if not self.files.is_wanted():
                continue
            try:
                with locked(self.files.lock) as mine:
                    if mine:
                        self._sample_while_wanted()
            except HostLost as error:
                self._say_lost(error)
            except Exception:  # noqa: BLE001 - whatever it is, the next attempt may do better
                _LOG.exception("sampling %s failed", self.files.engine)
            self._stopping.wait(_AGAIN_AFTER - _LOOK_EVERY)

    def _sample_while_wanted(self) -> None:
        host = self._engines.host(self.files.engine)
        try:
            sampler = Sampler(host, self._saved_limits, LossReader(host), gpu_reader())
            self._follow(host, sampler)
        finally:
            host.close()

    def _follow(self, host: WatchedHost, sampler: Sampler) -> None:
        ring, due = RingWriter(self.files.ring), time.monotonic()
        while self.files.is_wanted() and not self._stopping.is_set():
            model, phaser = self._chosen()
            view, rows = sampler.sample(phaser, model)
            if view.at is not None:
                ring.append(view.at, rows)
            write(self.files.snapshot, view)
            self._seen = view
            due += PERIOD
            late = time.monotonic() - due
            # a moment that was missed is left out; nothing is caught up with
            due += max(0.0, late // PERIOD + 1.0) * PERIOD if late > 0 else 0.0
            self._stopping.wait(due - time.monotonic())
        _LOG.info("nobody looks at %s any more", host.name)

    def _chosen(self) -> tuple[str | None, PhaseTracker | None]:
        """The model that the page wants phases by, loaded once; an unusable one is not tried again."""
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
        self._seen = replace(self._seen, engine=lost(address, error))
        write(self.files.snapshot, self._seen)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a file's lock if nobody else does; tells whether that was so."""
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
