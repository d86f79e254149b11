"""SpeCon, Algorithm 3: which containers still progress, and which ask for another worker.

G(t_m) = |E(t_m) − E(t_{m−1})| on normalised E, at ticks of the whole cluster; E is first read at the first
tick after a container's start, and nothing is decided before two G exist. Lines 10 to 12 are misprinted
(they do in WC what lines 7 to 9 do in PC, so that CC would never be reached); the prose is followed:
WC → CC. All categories of a tick are settled first; then line 15 counts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from core.scheduling.actions import Mark, Reason, list_word
from core.scheduling.growth import keep_finite, max_magnitude
from core.scheduling.model import JobState
from core.scheduling.placement import placement_setting
from core.settings_fields import setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from core.scheduling.lookup import JobPosition


REBALANCES = {
    "resolved": "One move per interval, from the fullest worker to the emptiest",
    "as-printed": "Algorithm 5 word by word",
}
PRESETS = {
    "Thesis 6.2.2": {"alpha": 0.01, "interval": 30.0},
    "Figure 6.17, 20 s": {"alpha": 0.05, "interval": 20.0},
    "Figure 6.17, 25 s": {"alpha": 0.05, "interval": 25.0},
    "Figure 6.18, threshold 0.05": {"alpha": 0.05, "interval": 30.0},
    "Figure 6.18, threshold 0.1": {"alpha": 0.1, "interval": 30.0},
}
"""The settings of the thesis' experiments, by their names."""


@dataclass(frozen=True)
class SpeConSettings:
    """SpeCon's parameters and variants."""

    alpha: float = setting(
        0.01,
        label="Threshold",
        symbol="α",
        low=0.0001,
        high=1.0,
        help="Growth of the loss per interval that counts as slow.",
    )
    interval: float = setting(
        30.0, label="Interval", low=1.0, high=3600.0, unit="s", help="Time between two looks at every loss."
    )
    weight_pc: float = setting(
        2.0,
        label="Weight, progressing",
        symbol="PC",
        low=0.0,
        high=100.0,
        help="What a progressing job counts in a score.",
    )
    weight_wc: float = setting(
        1.5,
        label="Weight, watched",
        symbol="WC",
        low=0.0,
        high=100.0,
        help="What a watched job counts in a score.",
    )
    weight_cc: float = setting(
        1.0,
        label="Weight, converged",
        symbol="CC",
        low=0.0,
        high=100.0,
        help="What a converged job counts in a score.",
    )
    rebalance: str = setting(
        "resolved", label="Rebalancing", choices=REBALANCES, help="How Algorithm 5 is read."
    )
    placement: str = placement_setting()

    @property
    def weights(self) -> dict[str, float]:
        """The weight of a job in a score, by category."""
        return {"PC": self.weight_pc, "WC": self.weight_wc, "CC": self.weight_cc}


PROGRESSING, WATCHING, CONVERGED = "PC", "WC", "CC"
_RUNNING = (JobState.RUNNING, JobState.PAUSED)
_SLOWER_STILL = "13–14"
"""In CC, and its growth has fallen again."""
_NEXT_LOWER = {
    PROGRESSING: (WATCHING, "6–9"),
    WATCHING: (CONVERGED, "10–12"),
    CONVERGED: (CONVERGED, _SLOWER_STILL),
}


class WatchedContainer(NamedTuple):
    """The state of one container."""

    #: Its category and growth, as shown.
    mark: Mark
    #: E (raw) at the last tick, or None.
    level: float | None = None
    #: The last printed E (raw), or None.
    last: float | None = None
    #: The largest magnitude that it has printed.
    largest: float = 0.0
    #: When it entered CC or was decided, seconds; None in PC and WC.
    converged_at: float | None = None
    #: Whether Algorithm 4 has decided on it (the thesis' ``migrated``).
    is_decided: bool = False
    #: Whether its request waits.
    has_requested: bool = False
    #: Whether Algorithm 5 has moved it.
    was_rebalanced: bool = False

    @property
    def category(self) -> str:
        """``"PC"``, ``"WC"`` or ``"CC"``; a container is in exactly one."""
        return self.mark.label

    @property
    def is_settled(self) -> bool:
        """Whether it is decided or in CC."""
        return self.is_decided or self.mark.label == CONVERGED


def watch_container(job: str) -> WatchedContainer:
    """Return a new container: in PC, undecided (Algorithm 3, line 2)."""
    return WatchedContainer(Mark(job, PROGRESSING))


class MonitorResult(NamedTuple):
    """The result of a tick."""

    #: All containers after it.
    watched: dict[str, WatchedContainer]
    #: Containers that request a migration, in order of submission.
    requests: tuple[str, ...]
    #: The reasons, or functions that build them.
    reasons: Sequence[Reason | Callable[[], Reason]]


def run_monitor(
    watched: Mapping[str, WatchedContainer],
    jobs: Mapping[str, JobPosition],
    printed: Mapping[str, Sequence[float]],
    now: float,
    settings: SpeConSettings,
) -> MonitorResult:
    """Run Algorithm 3 for every running container that is not decided (line 3)."""
    after, slowing, alpha = dict(watched), [], settings.alpha
    reasons: list[Reason | Callable[[], Reason]] = []
    for name, job in jobs.items():
        before = watched.get(name)
        if before is None or before.is_decided:
            continue
        last, magnitude = before.last, before.largest
        if name in printed and (values := keep_finite(printed[name])):
            last, magnitude = values[-1], max_magnitude(magnitude, values)
        if last is None:
            continue
        if job.state not in _RUNNING:
            after[name] = before._replace(last=last, largest=magnitude)
            continue
        classified, lines = classify_container(before, last, magnitude, now, alpha)
        after[name] = classified
        if lines is not None:
            reasons.append(partial(_classification_reason, before, classified, lines, alpha, job.worker))
            if lines == _SLOWER_STILL and not before.has_requested:
                slowing.append((name, job.worker))
    asking = _choose_requests(slowing, _count_active(after, jobs)) if slowing else {}
    for name in asking:
        after[name] = after[name]._replace(has_requested=True)
    return MonitorResult(after, tuple(asking), (*reasons, *asking.values()))


def classify_container(
    before: WatchedContainer, level: float, magnitude: float, now: float, alpha: float
) -> tuple[WatchedContainer, str | None]:
    """Classify one container (lines 4 to 22), without the request of lines 15 and 16."""
    mark, earlier, _, _, converged, decided, requested, rebalanced = before
    lines = None
    if earlier is not None:
        label, previous = mark.label, mark.growth
        category, growth = label, abs(level - earlier) / (magnitude or 1.0)
        if previous is not None:
            category, lines = next_category(label, growth, previous, alpha)
            if category != CONVERGED:
                converged = None
            elif label != CONVERGED:
                converged = now
        mark = Mark(mark.job, category, growth)
    return WatchedContainer._make(
        (mark, level, level, magnitude, converged, decided, requested, rebalanced)
    ), lines


def _classification_reason(
    before: WatchedContainer, after: WatchedContainer, lines: str, alpha: float, worker: str | None
) -> Reason:
    """Return the reason for a classification."""
    was, now = before.mark, after.mark
    # the container was classified, so all three are known
    growth, previous, level = cast("tuple[float, float, float]", (now.growth, was.growth, after.level))
    text = (
        f"{now.job} grew {growth:.3g} after {previous:.3g}: {list_word(was.label)} → {list_word(now.label)}."
    )
    values = (("G", growth), ("previous G", previous), ("alpha", alpha), ("E", level))
    return Reason(f"Algorithm 3, lines {lines}", text, now.job, worker, values)


def next_category(category: str, growth: float, previous: float, alpha: float) -> tuple[str, str]:
    """Return a container's next category and its lines."""
    if growth >= alpha:
        return PROGRESSING, "19–22"
    if growth >= previous:
        return category, "17–18"
    return _NEXT_LOWER[category]


def _count_active(
    watched: Mapping[str, WatchedContainer], jobs: Mapping[str, JobPosition]
) -> dict[str | None, int]:
    """Return |PC| + |WC| of every worker."""
    active: dict[str | None, int] = {}
    for name, each in watched.items():
        if each.mark.label != CONVERGED and (worker := jobs[name].worker) is not None:
            active[worker] = active.get(worker, 0) + 1
    return active


def _choose_requests(
    slowing: Iterable[tuple[str, str | None]], active: Mapping[str | None, int]
) -> dict[str, Reason]:
    """Return the requests of containers beside which others progress (lines 15 and 16)."""
    return {
        name: Reason(
            "Algorithm 3, lines 15–16",
            f"{name} converges beside {active[worker]} that progress: it asks to be reallocated.",
            name,
            worker,
            (("PC and WC", float(active[worker])),),
        )
        for name, worker in slowing
        if active.get(worker, 0) > 1
    }
