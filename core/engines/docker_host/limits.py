"""A container's resource limits, in Docker's own fields and as cores and bytes.

Docker says the same limit in several ways: cores as a quota per period or as billionths of a CPU, "no limit"
as 0, as −1 or as a number beyond any machine, weight 1 as 0 or as 1024 shares. `Limits` keeps the values as
they were found, so that they can be restored; `Limits.agrees` compares what they do.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from core.engines.values import MIN_CORES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.values import EngineKey

DEFAULT_PERIOD: Final = 100_000
"""Microseconds that a quota is counted over by default (CFS)."""

DEFAULT_SHARES: Final = 1024
"""CPU shares of a container that was given none."""

UNLIMITED_BYTES: Final = 1 << 60
"""Memory limits of this many bytes or more count as none; the kernel's own "no limit" is just below 2^63."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Values of a container's ``HostConfig``, as Docker gives them; 0 is "not set"."""

    #: Billionths of a core (``docker run --cpus``); Docker takes either this or a quota, never both.
    nano_cpus: int = 0
    #: Microseconds of processor time per period, and the period's microseconds; a quota of −1 is none.
    cpu_quota: int = 0
    cpu_period: int = 0
    #: Weight against others where cores are scarce; 1024 is usual.
    cpu_shares: int = 0
    #: Bytes at most.
    memory: int = 0
    #: Bytes of memory and swap together at most; −1 is no limit of swap.
    memory_swap: int = 0
    #: Bytes that it is pushed back to where memory is scarce.
    memory_reservation: int = 0

    @classmethod
    def of(cls, host_config: dict[str, Any]) -> Limits:
        """The limits in a ``HostConfig`` of Docker's API."""
        return cls(
            int(host_config.get("NanoCpus") or 0),
            int(host_config.get("CpuQuota") or 0),
            int(host_config.get("CpuPeriod") or 0),
            int(host_config.get("CpuShares") or 0),
            int(host_config.get("Memory") or 0),
            int(host_config.get("MemorySwap") or 0),
            int(host_config.get("MemoryReservation") or 0),
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Limits:
        """Return the limits that `to_dict` wrote."""
        return cls(**{name: int(value) for name, value in values.items()})

    def to_dict(self) -> dict[str, int]:
        """Names and values, for a database or a file."""
        return asdict(self)

    @property
    def cores(self) -> float | None:
        """Cores at most, or None without a limit."""
        if self.nano_cpus > 0:
            return self.nano_cpus / 1e9
        return self.cpu_quota / (self.cpu_period or DEFAULT_PERIOD) if self.cpu_quota > 0 else None

    @property
    def memory_bytes(self) -> int | None:
        """Bytes at most, or None without a limit."""
        return self.memory if 0 < self.memory < UNLIMITED_BYTES else None

    @property
    def swap_bytes(self) -> int | None:
        """Bytes of memory and swap together at most, or None without a limit."""
        return self.memory_swap if 0 < self.memory_swap < UNLIMITED_BYTES else None

    @property
    def reserved_bytes(self) -> int | None:
        """Bytes that it is pushed back to where memory is scarce, or None."""
        return self.memory_reservation if 0 < self.memory_reservation < UNLIMITED_BYTES else None

    @property
    def weight(self) -> float:
        """Its weight where cores are scarce; 1 is usual."""
        return (self.cpu_shares or DEFAULT_SHARES) / DEFAULT_SHARES

    def with_cores(self, cores: float | None) -> Limits:
        """These limits with at most `cores` (None: without a limit), in the field that they use now."""
        if self.nano_cpus > 0:
            return replace(self, nano_cpus=0 if cores is None else round(max(cores, MIN_CORES) * 100) * 10**7)
        if cores is None:
            return replace(self, cpu_quota=-1 if self.cpu_quota else 0)
        # a period that was not set is left unset: once sent, it could not be unset again
        period = self.cpu_period or DEFAULT_PERIOD
        return replace(self, cpu_quota=max(round(cores * period), 1000))

    def with_memory(self, memory: int | None) -> Limits:
        """These limits with at most `memory` bytes (None: without a limit); swap on top of it is kept."""
        if memory is None:
            return replace(self, memory=0, memory_swap=0)
        if self.memory_bytes is None:
            return replace(self, memory=memory, memory_swap=2 * memory)  # as Docker does when it creates
        swap = self.swap_bytes
        return replace(self, memory=memory, memory_swap=-1 if swap is None else memory + swap - self.memory)

    def with_weight(self, weight: float) -> Limits:
        """These limits with a weight, of which 1 is usual."""
        shares = max(round(DEFAULT_SHARES * weight), 2)
        return replace(self, cpu_shares=0 if shares == DEFAULT_SHARES and not self.cpu_shares else shares)

    def agrees(self, other: Limits, cores: float) -> bool:
        """True if both do the same on a machine of `cores` cores."""
        return self.effect(cores) == other.effect(cores)

    def effect(self, cores: float) -> tuple[object, ...]:
        """What these limits do on a machine of `cores` cores, in one canonical form.

        Billionths of a CPU at all the machine's cores count as no limit, because a container that was created
        with them can express it in no other way; a quota counts, however large, because it can be removed.
        """
        limit = self.cores
        most = None if limit is None or (self.nano_cpus > 0 and limit >= cores) else round(limit, 4)
        shares = self.cpu_shares or DEFAULT_SHARES
        period = (self.cpu_period if self.nano_cpus == 0 else 0) or DEFAULT_PERIOD
        swap = self.swap_bytes if self.memory_bytes is not None else None
        quota = None if most is None else (most, period)
        return (quota, shares, self.memory_bytes, swap, self.reserved_bytes)


class MemoryKeeper:
    """Keeps limits for as long as the process lives; for scripts and tests."""

    def __init__(self) -> None:
        self.kept_limits: dict[tuple[str, str], Mapping[str, Any]] = {}

    def keep(self, engine: EngineKey, container: str, limits: Mapping[str, Any]) -> None:
        """Save a container's limits, unless some are saved already."""
        self.kept_limits.setdefault((engine.id or engine.name, container), limits)

    def kept(self, engine: EngineKey, container: str) -> Mapping[str, Any] | None:
        """A container's saved limits, or None if there are none."""
        return self.kept_limits.get((engine.id or engine.name, container))

    def forget(self, engine: EngineKey, container: str) -> None:
        """Forget a container's saved limits."""
        self.kept_limits.pop((engine.id or engine.name, container), None)
