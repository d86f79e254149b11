"""Changing running containers by hand: limits, undo, release, and which containers may be changed at all."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from core.engines.values import MIN_CORES, has_label, why_not_restarted
from core.errors import ConflictError, InputError, PhaseDockError
from core.live.control.restore import LimitRestorer
from core.live.control.saved_limits import BY_HAND, SavedLimits, SavedLimitsStore, UndoStep
from core.live.view import ATTACH, Sessions
from core.sampling.values import ContainerAllowance, LimitChange, ReleaseResult
from core.scheduling.policies import display_name
from core.units import MIB, format_bytes, format_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.engines.ports import Container, Limits, SteeredHost
    from core.engines.values import HostInfo
    from core.sampling.engines import Engines

_MIN_MEMORY = 6 * MIB
"""The smallest limit that Docker accepts."""

_RELEASE_TIMEOUT = 20.0


class ManualControl:
    """Changes containers that carry PhaseDock's label or were picked, and no others."""

    def __init__(self, engines: Engines, saved_limits: SavedLimitsStore, sessions: Sessions) -> None:
        self._engines = engines
        self._saved_limits = saved_limits
        self._sessions = sessions

    def set_limit(
        self, engine: str, container: str, cores: float | None, memory: float | None = None
    ) -> LimitChange:
        """Change the limits of one container by hand; `undo` takes it back. The same limits change nothing.

        Raises ConflictError if control is off, the container is neither labelled nor picked, or a policy
        controls the engine; NotFoundError if there is no such engine or container; InputError if a limit is
        below what Docker takes, or above the host.
        """
        self._check(engine)
        self._check_free(engine)
        self._put_back_orphans_of(container)
        with self._open_host(engine) as host:
            _check_bounds(host.info(), cores, memory)
            now = host.inspect(container)
            limits = now.limits.with_cores(cores)
            limits = limits if memory is None else limits.with_memory(int(memory))
            before = allowed(now.limits)
            if allowed(limits) == before:
                return LimitChange(now.name, before, before)
            after = host.set_limits(now.id, limits)
            self._saved_limits.push_undo(host.key(), now.id, now.name, UndoStep(now.limits.to_dict(), before))
        return LimitChange(now.name, before, allowed(after))

    def last_undo(self, engine: str, container: str) -> UndoStep | None:
        """Return what `undo` would go back to; None if no change by hand is left to take back."""
        saved = self._find_manual(engine, container)
        return saved.undo[-1] if saved is not None and saved.undo else None

    def undo(self, engine: str, container: str) -> LimitChange:
        """Take back the last change by hand that was not taken back yet.

        Raises ConflictError if control is off, or there is nothing to take back; NotFoundError if there is no
        such engine or container.
        """
        self._check(engine)
        self._check_free(engine)
        saved = self._find_manual(engine, container)
        if saved is None or not saved.undo:
            raise ConflictError(
                "No change by hand is left on this container, so there is nothing to undo.",
                "Change a limit first; “Release” restores what a policy changed.",
            )
        with self._open_host(engine) as host:
            now = host.inspect(container)
            before = saved.undo[-1].limits
            if len(saved.undo) == 1 and before == saved.limits:
                host.restore(now.id)
            else:
                host.set_limits(now.id, host.read_limits(before))
                self._saved_limits.pop_undo(host.key(), now.id)
            after = host.inspect(container).limits
        return LimitChange(now.name, allowed(now.limits), allowed(after))

    def restart(self, engine: str, container: str) -> str:
        """Stop a container if it runs, and start it again with the same limits; return its name.

        Limits that were saved stay saved, so they can be restored as before. Raises ConflictError if control
        is off, the engine cannot do it, the container belongs to a run or to the queue, runs while a policy
        controls the engine, or does not start;
        RefusedError if it is neither labelled nor picked; NotFoundError if there is no such engine or
        container.
        """
        self._check(engine)
        if why := self._engines.kind(engine).no_restart:
            raise ConflictError(f"Containers of {engine} cannot be restarted.", why)
        with self._open_host(engine) as host:
            now = host.inspect(container)
            if why := why_not_restarted(now.labels):
                raise ConflictError(f"{now.name} cannot be restarted by hand.", why)
            if now.running or now.state == "restarting":
                self._check_free(engine)
            host.restart(now.id)
        return now.name

    def release(self, engine: str | None = None) -> ReleaseResult:
        """End control and restore every limit exactly, on one engine or on all; works with control off, too.

        Policies that ended with their worker are not attached again.

        Raises ConflictError if a policy does not let go of its containers; NotFoundError if the settings name
        no such engine.
        """
        releaser = LimitRestorer(self._engines, self._saved_limits)
        releaser.tie_old()
        key = None if engine is None else self._engines.key(engine)
        names = self._engines.names if engine is None else self._engines.aliases(engine)
        before = self._saved_limits.all(key)
        tasks = {saved.owner for saved in before} - {BY_HAND}
        for name in names:
            self._sessions.withdraw(name)
        tasks |= {task.id for name in names if (task := self._sessions.of(name).get(ATTACH)) is not None}
        self._sessions.end(self._sessions.alive(tasks), _RELEASE_TIMEOUT)
        remaining = self._saved_limits.all(key)
        result = releaser.put_back(remaining)
        # what the policies themselves have restored as they ended
        let_go = [self._name(saved) for saved in before if saved not in remaining]
        return replace(result, restored=tuple(dict.fromkeys([*let_go, *result.restored])))

    def pick(self, engine: str, container: str) -> None:
        """Let PhaseDock change a container that does not carry its label.

        Raises ConflictError if control is off; NotFoundError if there is no such engine or container.
        """
        self._check(engine)
        with self._open_host(engine) as host:
            selected = host.inspect(container)
        self._saved_limits.pick(engine, selected.id, selected.name)

    def unpick(self, engine: str, container: str) -> None:
        """Undo `pick`, after restoring the container's limits.

        Raises ConflictError if control is off, or a policy controls the engine; NotFoundError if there is no
        such engine.
        """
        self._check(engine)
        self._check_free(engine)
        saved = [each for each in self._saved_on(engine) if each.container == container]
        result = LimitRestorer(self._engines, self._saved_limits).put_back(saved)
        if result.failed:
            raise ConflictError(
                f"The limits of {result.failed[0][0]} could not be restored, so it stays selected.",
                result.failed[0][1],
            )
        self._saved_limits.unpick(engine, [container])

    def put_back_orphans(self) -> ReleaseResult:
        """Restore the limits that were changed by tasks that are no longer alive."""
        restorer = LimitRestorer(self._engines, self._saved_limits)
        result = restorer.put_back(self._saved_limits.orphans())
        restorer.forget_ended()
        return result

    def _put_back_orphans_of(self, container: str) -> None:
        """Restore what a policy changed whose worker ended, so that it is not taken for the original."""
        orphans = [each for each in self._saved_limits.orphans() if each.container == container]
        LimitRestorer(self._engines, self._saved_limits).put_back(orphans)

    def _name(self, saved: SavedLimits) -> str:
        """Return the name of a container with saved limits, or the beginning of its id."""
        with contextlib.suppress(PhaseDockError), self._open_host(saved.engine.name) as host:
            return host.inspect(saved.container).name
        return saved.name[:12]

    def _find_manual(self, engine: str, container: str) -> SavedLimits | None:
        mine = (saved for saved in self._saved_on(engine) if saved.owner == BY_HAND)
        return next((saved for saved in mine if saved.container == container), None)

    def _saved_on(self, engine: str) -> tuple[SavedLimits, ...]:
        """Return the saved limits of an engine's containers, under any name of the engine."""
        LimitRestorer(self._engines, self._saved_limits).tie_old()
        return self._saved_limits.all(self._engines.key(engine))

    @contextlib.contextmanager
    def _open_host(self, engine: str) -> Iterator[SteeredHost]:
        with self._engines.host(
            engine, self._saved_limits.keeper(BY_HAND), ours(self._saved_limits, engine)
        ) as host:
            yield host

    def _check(self, engine: str) -> None:
        if not self._engines.may_change(engine):
            raise switched_off()

    def _check_free(self, engine: str) -> None:
        tasks = [self._sessions.controlled(name) for name in self._engines.aliases(engine)]
        task = next((each for each in tasks if each is not None), None)
        if task is not None:
            raise ConflictError(
                f"The policy {display_name(str(task.params.get('policy', '')))} controls this engine.",
                "Detach it before you change limits by hand.",
            )


def ours(saved_limits: SavedLimitsStore, engine: str) -> Callable[[Container], bool]:
    """Whether PhaseDock may change a container: it carries the label, or a person picked it."""
    return lambda container: has_label(container) or container.id in saved_limits.picked(engine)


def switched_off() -> ConflictError:
    """Return the error for a change while control is off."""
    return ConflictError(
        "PhaseDock may not change containers: PHASEDOCK_CONTROL is off.",
        "Set PHASEDOCK_CONTROL=on and restart PhaseDock.",
    )


def allowed(limits: Limits) -> ContainerAllowance:
    """Limits in cores and bytes."""
    return ContainerAllowance(limits.cores, limits.memory_bytes)


def _check_bounds(info: HostInfo, cores: float | None, memory: float | None) -> None:
    if cores is not None and not MIN_CORES <= cores <= info.cores:
        raise InputError(
            f"A limit of {format_cores(cores)} is not possible here.",
            f"Choose from {MIN_CORES} to {info.cores:g} cores, or no limit.",
        )
    if memory is not None and not _MIN_MEMORY <= memory <= info.memory:
        raise InputError(
            f"A memory limit of {format_bytes(memory)} is not possible here.",
            f"Choose from {format_bytes(_MIN_MEMORY)} to {format_bytes(info.memory)}.",
        )
