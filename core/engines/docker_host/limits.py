"""A container's resource limits, in Docker's fields and as cores and bytes.

Docker has several spellings of the same limit: cores as a quota per period or as billionths of a CPU, "no
limit" as 0, −1 or a number beyond any machine, weight 1 as 0 or as 1024 shares. `Limits` keeps the values
found, so that they can be restored; `Limits.agrees` compares their effect.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from core.engines.values import MIN_CORES

if TYPE_CHECKING:
    from collections.abc import Mapping


DEFAULT_PERIOD: Final = 100_000
"""Microseconds of a quota's default period (CFS)."""

DEFAULT_SHARES: Final = 1024
"""Default CPU shares of a container."""

UNLIMITED_BYTES: Final = 1 << 60
"""Memory limits of this many bytes or more count as none; the kernel's own "no limit" is just below 2^63."""


def parse_integer(value: object) -> int:
    """Return an integer of 64 bits; 0 for None.

    Raises ValueError if it is none.
    """
    number = 0 if value is None else value
    if isinstance(number, bool) or not isinstance(number, int) or not -(1 << 63) <= number < 1 << 63:
        raise ValueError(value)
    return number


@dataclass(frozen=True, slots=True)
class Limits:
    """Values of a container's ``HostConfig``, as Docker gives them; 0 is "not set"."""

    #: Billionths of a core (``docker run --cpus``); Docker takes either this or a quota, never both.
    nano_cpus: int = 0
    #: Microseconds of processor time per period, and the period's microseconds; a quota of −1 is none.
    cpu_quota: int = 0
    cpu_period: int = 0
    #: Weight against others while cores are scarce; the default is 1024.
    cpu_shares: int = 0
    #: Memory limit in bytes.
    memory: int = 0
    #: Limit of memory and swap together in bytes; −1 is no limit of swap.
    memory_swap: int = 0
    #: Soft memory limit in bytes, enforced while memory is scarce.
    memory_reservation: int = 0

    @classmethod
    def of(cls, host_config: dict[str, Any]) -> Limits:
        """Return the limits in a ``HostConfig`` of Docker's API.

        Raises ValueError if one is no integer.
        """
        fields = (
            *("NanoCpus", "CpuQuota", "CpuPeriod", "CpuShares"),
            *("Memory", "MemorySwap", "MemoryReservation"),
        )
        return cls(*(parse_integer(host_config.get(name)) for name in fields))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Limits:
        """Return the limits that `to_dict` wrote."""
        return cls(**{name: int(value) for name, value in values.items()})

    def to_dict(self) -> dict[str, int]:
        """Return names and values for a database or a file."""
        return asdict(self)

    @property
    def cores(self) -> float | None:
        """The limit of cores, or None without one."""
        if self.nano_cpus > 0:
            return self.nano_cpus / 1e9
        return self.cpu_quota / (self.cpu_period or DEFAULT_PERIOD) if self.cpu_quota > 0 else None

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit in bytes, or None without one."""
        return self.memory if 0 < self.memory < UNLIMITED_BYTES else None

    @property
    def swap_bytes(self) -> int | None:
        """The limit of memory and swap together in bytes, or None without one."""
        return self.memory_swap if 0 < self.memory_swap < UNLIMITED_BYTES else None

    @property
    def reserved_bytes(self) -> int | None:
        """The soft memory limit in bytes, or None without one."""
        return self.memory_reservation if 0 < self.memory_reservation < UNLIMITED_BYTES else None

    @property
    def weight(self) -> float:
        """The weight while cores are scarce; the default is 1."""
        return (self.cpu_shares or DEFAULT_SHARES) / DEFAULT_SHARES

    def with_cores(self, cores: float | None) -> Limits:
        """Return these limits with a limit of `cores` (None for no limit), in the field in use."""
        if self.nano_cpus > 0:
            return replace(self, nano_cpus=0 if cores is None else round(max(cores, MIN_CORES) * 100) * 10**7)
        if cores is None:
            return replace(self, cpu_quota=-1 if self.cpu_quota else 0)
        # an unset period stays unset, because it could not be unset again
        period = self.cpu_period or DEFAULT_PERIOD
        return replace(self, cpu_quota=max(round(cores * period), 1000))

    def with_memory(self, memory: int | None) -> Limits:
        """Return these limits with a memory limit in bytes (None for no limit), with the same swap on top."""
        if memory is None:
            return replace(self, memory=0, memory_swap=0)
        if self.memory_bytes is None:
            return replace(self, memory=memory, memory_swap=2 * memory)  # as Docker does when it creates
        swap = self.swap_bytes
        return replace(self, memory=memory, memory_swap=-1 if swap is None else memory + swap - self.memory)

    def with_weight(self, weight: float) -> Limits:
        """Return these limits with a weight; the default is 1."""
        shares = max(round(DEFAULT_SHARES * weight), 2)
        return replace(self, cpu_shares=0 if shares == DEFAULT_SHARES and not self.cpu_shares else shares)

    def agrees(self, other: Limits, cores: float) -> bool:
        """Whether both have the same effect on a machine of `cores` cores."""
        return self.effect(cores) == other.effect(cores)

    def effect(self, cores: float) -> tuple[object, ...]:
        """Return the effect of these limits on a machine of `cores` cores, in a canonical form.

        Billionths of a CPU for all the machine's cores count as no limit, because a container created with
        them has no other spelling of it; a quota counts, however large, because it can be removed.
        """
        limit = self.cores
        max_cores = None if limit is None or (self.nano_cpus > 0 and limit >= cores) else round(limit, 4)
        shares = self.cpu_shares or DEFAULT_SHARES
        period = (self.cpu_period if self.nano_cpus == 0 else 0) or DEFAULT_PERIOD
        swap = self.swap_bytes if self.memory_bytes is not None else None
        quota = None if max_cores is None else (max_cores, period)
        return (quota, shares, self.memory_bytes, swap, self.reserved_bytes)
