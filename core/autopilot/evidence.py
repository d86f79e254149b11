"""What steering would have been worth, or was: cores and memory freed, time short, and who drives that."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.autopilot.held import Held
    from core.scheduling.model import Use


class Account(NamedTuple):
    """What was added up of one container.

    Parameters
    ----------
    seconds
        For how long.
    cores, bytes
        What it would have had, times seconds.
    kept_cores, kept_bytes
        What it has without being steered, times seconds.
    used
        Core-seconds used.
    short
        Seconds for which it wanted more than it would have had, or was held back.
    resizes, violations
        How often its limits would have changed, and how often one was too low.
    now
        What it would have now, and what it has without being steered: cores, cores, bytes, bytes.
    """

    seconds: float = 0.0
    cores: float = 0.0
    bytes: float = 0.0
    kept_cores: float = 0.0
    kept_bytes: float = 0.0
    used: float = 0.0
    short: float = 0.0
    resizes: int = 0
    violations: int = 0
    now: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    @property
    def short_share(self) -> float:
        """The share of its time that was short."""
        return self.short / self.seconds if self.seconds > 0 else 0.0

    def after(self, seconds: float, use: Use, wanted: Held, kept: Held, *, short: float) -> Account:
        """Also with a sample.

        Parameters
        ----------
        seconds
            The time that it stands for.
        use
            The sample.
        wanted
            What the container was to have for it; None where it stays without.
        kept
            What it has without being steered.
        short
            Seconds of these for which that was too little.
        """
        cores, memory = kept.cores or 0.0, kept.memory or 0.0
        mine = cores if wanted.cores is None else wanted.cores
        bytes_ = memory if wanted.memory is None else wanted.memory
        return self._replace(
            seconds=self.seconds + seconds,
            cores=self.cores + mine * seconds,
            bytes=self.bytes + bytes_ * seconds,
            kept_cores=self.kept_cores + cores * seconds,
            kept_bytes=self.kept_bytes + memory * seconds,
            used=self.used + use.cores * seconds,
            short=self.short + short,
            now=(mine, cores, bytes_, memory),
        )


class Evidence(NamedTuple):
    """What was added up of all containers.

    Parameters
    ----------
    seconds
        Container-seconds.
    freed_cores, freed_bytes
        The mean over time of what would be free, all containers together; below zero where they need more.
    freed_cores_now, freed_bytes_now
        The same now.
    short_share
        The share of container-seconds that was short.
    resizes_per_hour
        Per container.
    violations
        How often a limit was too low.
    worst
        The container that was short for the largest share of its time, and that share; None where none was.
    """

    seconds: float
    freed_cores: float
    freed_bytes: float
    freed_cores_now: float
    freed_bytes_now: float
    short_share: float
    resizes_per_hour: float
    violations: int
    worst: tuple[str, float] | None


def evidence_of(accounts: Mapping[str, Account], lasted: float) -> Evidence:
    """All containers together.

    Parameters
    ----------
    accounts
        By container, also of those that have ended.
    lasted
        Seconds since the first sample.
    """
    every = accounts.values()
    seconds = sum(each.seconds for each in every)
    worst = max(accounts, key=lambda name: accounts[name].short_share, default=None)
    found = worst is not None and accounts[worst].short > 0
    return Evidence(
        seconds,
        sum(each.kept_cores - each.cores for each in every) / lasted if lasted > 0 else 0.0,
        sum(each.kept_bytes - each.bytes for each in every) / lasted if lasted > 0 else 0.0,
        sum(each.now[1] - each.now[0] for each in every),
        sum(each.now[3] - each.now[2] for each in every),
        sum(each.short for each in every) / seconds if seconds > 0 else 0.0,
        3600.0 * sum(each.resizes for each in every) / seconds if seconds > 0 else 0.0,
        sum(each.violations for each in every),
        (worst, accounts[worst].short_share) if worst is not None and found else None,
    )
