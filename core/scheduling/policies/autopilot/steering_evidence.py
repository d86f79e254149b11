"""The effect of steering, real or simulated in watch mode: freed cores and memory, and time short."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from core.scheduling.actions import SetLimit, SetMemory
from core.scheduling.policies.autopilot.cpu import MAX_GAP_PERIODS, ROLLBACK, estimate_unlimited_use
from core.scheduling.policies.autopilot.policy import (
    OUT_OF_MEMORY_RULE,
    SAMPLE_SECONDS,
    UNFAMILIAR_MARK,
    is_same_limit,
)
from core.scheduling.policies.autopilot.settings import Limits

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from core.scheduling.actions import Action
    from core.scheduling.loop import Entry
    from core.scheduling.model import Job, Use


class ContainerAccount(NamedTuple):
    """The sums over one container."""

    #: Its observed time.
    seconds: float = 0.0
    #: Its allocation by the policy, times seconds.
    cores: float = 0.0
    bytes: float = 0.0
    #: Its allocation without steering, times seconds.
    kept_cores: float = 0.0
    kept_bytes: float = 0.0
    #: Core-seconds used.
    used: float = 0.0
    #: Seconds for which its use exceeded the policy's allocation.
    short: float = 0.0
    #: Its throttled share of periods, times seconds.
    held_back: float = 0.0
    #: Changes of its limits, and limits that were too low.
    resizes: int = 0
    violations: int = 0
    #: Processes killed for lack of memory.
    killed: int = 0
    #: Whether it is left alone after running out of memory.
    left: bool = False
    #: Whether a reactive rule steers it, because its phases mean nothing.
    unfamiliar: bool = False
    #: Its present allocation with and without steering: cores, cores, bytes, bytes.
    current: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    @property
    def short_share(self) -> float:
        """The share of its time that was short."""
        return self.short / self.seconds if self.seconds > 0 else 0.0

    def after(
        self, seconds: float, use: Use, target: Limits, unsteered: Limits, *, short: float
    ) -> ContainerAccount:
        """Return the account with one more sample."""
        cores, memory = unsteered.cores or 0.0, unsteered.memory or 0.0
        mine = cores if target.cores is None else target.cores
        bytes_ = memory if target.memory is None else target.memory
        return self._replace(
            seconds=self.seconds + seconds,
            cores=self.cores + mine * seconds,
            bytes=self.bytes + bytes_ * seconds,
            kept_cores=self.kept_cores + cores * seconds,
            kept_bytes=self.kept_bytes + memory * seconds,
            used=self.used + use.cores * seconds,
            short=self.short + short,
            held_back=self.held_back + use.throttled * seconds,
            current=(mine, cores, bytes_, memory),
        )


@dataclass
class _FollowedContainer:
    """One container: its initial, unsteered and target limits, its last use, and its kills at first."""

    initial_limits: Limits
    unsteered: Limits
    target: Limits
    last_use: Use
    kills: int
    account: ContainerAccount = field(default_factory=ContainerAccount)


class EvidenceBook:
    """Adds up the evidence of a policy's run, entry by entry, from a recorded ledger or a running one.

    An unsteered container would have its limit at the first sample; without one its owner's request; without
    that its peak usage so far. It is short while its unlimited usage exceeds its target, in watch as in
    control; the unlimited usage is the usage plus the cores withheld by a quota of this policy. More than
    three periods without a sample are a gap; two samples less than a second apart make no period shorter.
    """

    def __init__(self) -> None:
        self._period = inf
        self._followed: dict[str, _FollowedContainer] = {}
        self._started: float | None = None
        self._now = 0.0
        self._alive: frozenset[str] = frozenset()
        self._capacity: dict[str, float] = {}

    def add_entry(self, entry: Entry) -> None:
        """Add the next entry."""
        self._alive = frozenset(job.id for job in entry.observation.jobs)
        self._capacity = {worker.id: worker.capacity for worker in entry.observation.workers}
        for job in entry.observation.jobs:
            if job.use is not None:
                self._add_use(job, job.use)
        refused = {failure.action for failure in entry.failures}
        for action in entry.actions:
            if action not in refused and action.job in self._followed:
                self._add_decision(self._followed[action.job], action)
        for mark in entry.marks:
            each = self._followed.get(mark.job)
            if each is not None and each.account.unfamiliar != (mark.label == UNFAMILIAR_MARK):
                each.account = each.account._replace(unfamiliar=mark.label == UNFAMILIAR_MARK)
        for reason in entry.reasons:
            each = self._followed.get(reason.job or "")
            if each is not None and reason.rule == ROLLBACK:
                each.account = each.account._replace(violations=each.account.violations + 1)
            elif each is not None and reason.rule == OUT_OF_MEMORY_RULE:
                each.account = each.account._replace(left=True)

    def evidence(self) -> Evidence | None:
        """Return the evidence so far; None without any usage."""
        if self._started is None:
            return None
        accounts = {name: each.account for name, each in self._followed.items()}
        return sum_evidence(accounts, self._now - self._started, self._alive)

    def _add_use(self, job: Job, use: Use) -> None:
        self._started, self._now = use.time if self._started is None else self._started, use.time
        each = self._followed.get(job.id)
        if each is None:
            initial = Limits(job.limit, job.memory_limit)
            self._followed[job.id] = _FollowedContainer(
                initial, _unsteered_limits(job, use), initial, use, job.kills
            )
            return
        if use.time <= each.last_use.time:
            return
        passed = use.time - each.last_use.time
        self._period = max(SAMPLE_SECONDS, min(self._period, passed))
        seconds = passed if passed <= MAX_GAP_PERIODS * self._period else self._period
        unlimited_cores = self._estimate_use(job, use, each.target.cores)
        short = seconds if each.target.cores is not None and unlimited_cores > each.target.cores else 0.0
        if each.initial_limits.cores is None and job.request is None:
            each.unsteered = each.unsteered._replace(cores=max(each.unsteered.cores or 0.0, unlimited_cores))
        is_unlimited = each.initial_limits.memory is None and job.terms_or_default.memory is None
        if is_unlimited and use.memory is not None:
            each.unsteered = each.unsteered._replace(memory=max(each.unsteered.memory or 0.0, use.memory))
        account = each.account.after(seconds, use, each.target, each.unsteered, short=short)
        each.account = account._replace(killed=max(account.killed, job.kills - each.kills))
        each.last_use = use

    def _estimate_use(self, job: Job, use: Use, target: float | None) -> float:
        if not is_same_limit(job.limit, target):
            return use.cores
        return estimate_unlimited_use(use.cores, use.withheld, self._capacity.get(job.worker or "", inf))

    def _add_decision(self, each: _FollowedContainer, action: Action) -> None:
        account = each.account
        if isinstance(action, SetLimit):
            each.target = each.target._replace(cores=action.limit)
        elif isinstance(action, SetMemory):
            each.target = each.target._replace(memory=action.limit)
        else:
            return
        each.account = account._replace(resizes=account.resizes + 1)


def _unsteered_limits(job: Job, use: Use) -> Limits:
    cores = job.limit or job.request or use.cores
    return Limits(cores, job.memory_limit or job.terms_or_default.memory or use.memory)


@dataclass(frozen=True, slots=True)
class ContainerEvidence:
    """The evidence of one container."""

    #: The name of its job.
    name: str
    #: Its observed time.
    seconds: float
    #: The mean of freed cores and bytes; negative where it needs more.
    freed_cores: float
    freed_bytes: float
    #: The share of that time that was short.
    short_share: float
    #: Changes of its limits, and limits that were too low.
    resizes: int
    violations: int
    #: Whether it is left alone after running out of memory.
    left: bool = False
    #: Whether a reactive rule steers it, because its phases mean nothing.
    unfamiliar: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of all containers."""

    #: Seconds since the first sample.
    lasted: float = 0.0
    #: Container-seconds.
    seconds: float = 0.0
    #: The mean of freed cores and bytes, all containers together; negative where they need more.
    freed_cores: float = 0.0
    freed_bytes: float = 0.0
    #: The same at present.
    freed_cores_now: float = 0.0
    freed_bytes_now: float = 0.0
    #: The mean allocation without steering.
    kept_cores: float = 0.0
    kept_bytes: float = 0.0
    #: The share of container-seconds that was short.
    short_share: float = 0.0
    #: Resizes per container.
    resizes_per_hour: float = 0.0
    #: Limits that were too low.
    violations: int = 0
    #: The throttled share of periods.
    held_back_share: float = 0.0
    #: Processes killed for lack of memory.
    killed: int = 0
    #: The containers, the largest share of short time first.
    containers: tuple[ContainerEvidence, ...] = ()

    @property
    def worst(self) -> ContainerEvidence | None:
        """The container with the largest share of short time, or None."""
        return self.containers[0] if self.containers and self.containers[0].short_share > 0 else None

    @property
    def left(self) -> tuple[str, ...]:
        """Containers that are left alone after running out of memory."""
        return tuple(each.name for each in self.containers if each.left)

    @property
    def unfamiliar(self) -> tuple[str, ...]:
        """Containers that are out of distribution for the phase model."""
        return tuple(each.name for each in self.containers if each.unfamiliar)


def sum_evidence(accounts: Mapping[str, ContainerAccount], lasted: float, alive: Collection[str]) -> Evidence:
    """Sum up the evidence of all containers."""
    every = accounts.values()
    seconds = sum(each.seconds for each in every)
    if seconds <= 0:
        return Evidence(lasted)
    now = [each.current for name, each in accounts.items() if name in alive]
    evidence = [_container_evidence(name, each) for name, each in accounts.items() if each.seconds > 0]
    return Evidence(
        lasted=lasted,
        seconds=seconds,
        freed_cores=sum(each.kept_cores - each.cores for each in every) / lasted,
        freed_bytes=sum(each.kept_bytes - each.bytes for each in every) / lasted,
        freed_cores_now=sum(unsteered - cores for cores, unsteered, _, _ in now),
        freed_bytes_now=sum(unsteered - bytes_ for _, _, bytes_, unsteered in now),
        kept_cores=sum(each.kept_cores for each in every) / lasted,
        kept_bytes=sum(each.kept_bytes for each in every) / lasted,
        short_share=sum(each.short for each in every) / seconds,
        resizes_per_hour=3600.0 * sum(each.resizes for each in every) / seconds,
        violations=sum(each.violations for each in every),
        held_back_share=sum(each.held_back for each in every) / seconds,
        killed=sum(each.killed for each in every),
        containers=tuple(
            sorted(evidence, key=lambda each: (-each.short_share, -each.freed_cores, each.name))
        ),
    )


def _container_evidence(name: str, account: ContainerAccount) -> ContainerEvidence:
    return ContainerEvidence(
        name,
        account.seconds,
        (account.kept_cores - account.cores) / account.seconds,
        (account.kept_bytes - account.bytes) / account.seconds,
        account.short_share,
        account.resizes,
        account.violations,
        account.left,
        account.unfamiliar,
    )


def evidence_from_dict(plain: Mapping[str, Any] | None) -> Evidence | None:
    """Read evidence from the plain values of `dataclasses.asdict`."""
    if plain is None:
        return None
    containers = tuple(ContainerEvidence(**each) for each in plain["containers"])
    return Evidence(**{**plain, "containers": containers})
