"""FlowCon, Algorithm 1, lines 2 to 13: growth efficiency, and the list that each container is in.

P = |E(t_i) − E(t_{i−1})| / (t_i − t_{i−1}) (equation 4.1) is progress per second; R the mean share of the
node's processor over the interval; G = P / R (equation 4.2). A container that was not yet there at the
previous run has no growth and stays where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.actions import Mark, Reason

if TYPE_CHECKING:
    from core.scheduling.growth import Track
    from core.scheduling.model import Job
    from core.scheduling.policies.flowcon.settings import FlowConSettings

NEW, WATCHING, COMPLETING = "NL", "WL", "CL"
LEAST_USAGE = 0.01
_FULL = 0.95


class Container(NamedTuple):
    """What FlowCon remembers of one container."""

    #: Its list and growth, as shown.
    mark: Mark
    #: L, share of the node by the rule of its list.
    limit: float = 1.0
    #: What it was given: L, or more where the limits were raised.
    share: float = 1.0
    #: (limit in cores or None, weight) as last asked of the engine; None when that failed.
    given: tuple[float | None, float] | None = None
    #: E at the algorithm's previous run (raw), or None if it had printed nothing.
    level: float | None = None
    #: The counters at that run: core-seconds, sum and number of printed values.
    cpu_seconds: float = 0.0
    total: float = 0.0
    printed: int = 0
    #: The largest growth so far.
    peak: float = 0.0
    #: Share of the node that it could use, as far as is known.
    demand: float = 1.0

    @property
    def list(self) -> str:
        """``"NL"``, ``"WL"`` or ``"CL"``; a container is in exactly one."""
        return self.mark.label

    @property
    def growth(self) -> float | None:
        """G, or None before it was first computed."""
        return self.mark.growth


def entered(job: Job, track: Track | None) -> Container:
    """A container at the run that first sees it: in NL, limit 1, growth unknown (Algorithm 2, line 7)."""
    fresh = Container(Mark(job.id, NEW), cpu_seconds=job.cpu_seconds)
    if track is None:
        return fresh
    return fresh._replace(level=track.last, total=track.total, printed=track.printed)


def progress(container: Container, track: Track, seconds: float, means: bool) -> tuple[float, float]:
    """P of equation 4.1, per second, and the value of E that the next run compares with.

    A container that had printed nothing at the previous run is taken to have stood at its first value then:
    every job starts at 1.
    """
    level = track.mean_since(container.total, container.printed) if means else track.last
    before = track.first if container.level is None else container.level
    return track.change(before, level) / seconds, level


def usage(container: Container, job: Job, seconds: float, capacity: float) -> float:
    """R: mean share of the node over the interval, from the cumulative counter, at least 0.01."""
    return max(LEAST_USAGE, (job.cpu_seconds - container.cpu_seconds) / (seconds * capacity))


def following_list(container: Container, growth: float, threshold: float) -> tuple[str, str]:
    """Algorithm 1, lines 4 to 13: the container's next list, and the lines that say so."""
    if growth >= threshold:
        return NEW, "10–13"
    if container.list == NEW:
        return WATCHING, "4–6"
    return COMPLETING, "7–9" if container.list == WATCHING else "7–9 (stays)"


def classified(
    container: Container,
    job: Job,
    track: Track | None,
    seconds: float,
    capacity: float,
    settings: FlowConSettings,
) -> tuple[Container, Reason | None]:
    """A container after lines 3 to 13, and why; unchanged while it has printed nothing."""
    if track is None:
        return container._replace(cpu_seconds=job.cpu_seconds), None
    per_second, level = progress(container, track, seconds, settings.growth == "means")
    used = usage(container, job, seconds, capacity)
    growth = per_second / used
    peak = max(container.peak, growth)
    threshold = settings.alpha * (peak if settings.threshold == "peak" else 1.0)
    name, lines = following_list(container, growth, threshold)
    values = (("G", growth), ("P", per_second), ("R", used), ("threshold", threshold))
    compared = "at least" if growth >= threshold else "below"
    text = f"{job.id} grows {growth:.3g} per second, {compared} {threshold:.3g}: {container.list} → {name}."
    after = container._replace(
        mark=Mark(job.id, name, growth),
        level=level,
        cpu_seconds=job.cpu_seconds,
        total=track.total,
        printed=track.printed,
        peak=peak,
    )
    return after, Reason(f"Algorithm 1, lines {lines}", text, job.id, job.worker, values)


def demanded(container: Container, used: float, idle: bool) -> float:
    """What a container could use of the node: what it used, if nothing held it back, else all."""
    held = used >= _FULL * container.share
    return 1.0 if held or not idle else used


def has_spare_time(used: float) -> bool:
    """True if the containers together left a part of the node idle."""
    return used < _FULL
