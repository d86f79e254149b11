"""One sample of an engine: its containers, their usage, and totals."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from core.engines.errors import ChangeRefused, ContainerGone, HostLost
from core.engines.terms import read_terms
from core.engines.values import AGENT, GOAL, LOSS, has_label, why_not_restarted
from core.errors import InputError
from core.phases.model import WARM_UP
from core.progress import GoalReader, ProgressReader, read_goal
from core.sampling.engines import ready_engine
from core.sampling.values import FIELDS, TOTALS, ContainerRow, LiveView, Totals
from core.units import phase_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from core.engines.ports import Container, Readings, WatchedHost
    from core.engines.values import Counters, EngineKey, HostInfo
    from core.sampling.gpus import GpuReader
    from core.sampling.phases import PhaseTracker


@dataclass(frozen=True, slots=True)
class Usage:
    """A container's use between two readings."""

    #: Cores, the mean over the interval; None at the first reading.
    cpu: float | None
    #: Bytes at its end.
    memory: float | None
    #: Bytes per second, both directions together; None at the first reading.
    io: float | None = None
    network: float | None = None
    #: The share of its quota's periods in which it was throttled; None where no period passed.
    throttled: float | None = None
    #: Cores that its quota kept from it: for how long its threads were throttled, on each processor, per
    #: second; None at the first reading.
    withheld: float | None = None
    #: Why something was not measured, in a sentence; empty if all answers could be read.
    unreadable: str = ""


class UsageReader:
    """Remembers the last reading of every container."""

    def __init__(self) -> None:
        self._before: dict[str, Counters] = {}

    def take(self, counters: Mapping[str, Counters]) -> dict[str, Usage]:
        """Each container's use since it was read before; others are forgotten."""
        usage = {name: usage_between(self._before.get(name), now) for name, now in counters.items()}
        self._before = dict(counters)
        return usage


def usage_between(before: Counters | None, now: Counters) -> Usage:
    """Return the use between two readings of a container.

    A counter that fell belongs to a container that was started again: there is no reading before. Without
    the counter of CPU that cannot be told, so there are no rates.
    """
    memory = None if now.memory is None else float(now.memory)
    used = None if before is None else _difference((now.cpu_seconds,), (before.cpu_seconds,))
    if before is None or now.time <= before.time or used is None or used < 0:
        return Usage(None, memory, unreadable=now.unreadable)
    seconds = now.time - before.time
    periods = _difference((now.periods,), (before.periods,))
    held_back = _difference((now.throttled_periods,), (before.throttled_periods,))
    io = _difference((now.io_read, now.io_written), (before.io_read, before.io_written))
    traffic = _difference((now.net_received, now.net_sent), (before.net_received, before.net_sent))
    withheld = _difference((now.throttled_seconds,), (before.throttled_seconds,))
    return Usage(
        used / seconds,
        memory,
        None if io is None else max(io, 0) / seconds,
        None if traffic is None else max(traffic, 0) / seconds,
        min(max(held_back / periods, 0.0), 1.0) if periods and held_back is not None else None,
        None if withheld is None else max(withheld, 0.0) / seconds,
        now.unreadable,
    )


_TOO_MUCH = "Its {} use would be more than the host has."
_MOST_TIMES = 2.0
"""Use of so many times what the host has was read wrong; clocks that differ explain less."""


def _possible(usage: Usage, info: HostInfo) -> Usage:
    """Return the use without what the host cannot have given."""
    if usage.cpu is not None and usage.cpu > _MOST_TIMES * info.cores:
        usage = replace(usage, cpu=None, unreadable=usage.unreadable or _TOO_MUCH.format("CPU"))
    if usage.memory is not None and usage.memory > _MOST_TIMES * info.memory:
        usage = replace(usage, memory=None, unreadable=usage.unreadable or _TOO_MUCH.format("memory"))
    return usage


def _difference(now: Sequence[float | None], before: Sequence[float | None]) -> float | None:
    """The sum of counters less what it was before; None if one of them was not measured."""
    if any(each is None for each in (*now, *before)):
        return None
    return sum(each for each in now if each is not None) - sum(each for each in before if each is not None)


Rows: TypeAlias = "dict[str, tuple[float, ...]]"
"""Values of `FIELDS` by container id, and those of the host (`TOTALS`) last."""

_MAX_FOREIGN = 500
_MAX_STOPPED = 100
_STOPPED_FOR = 86_400.0
"""Seconds for which a container that has ended stays on the page, unless it is removed."""


class MarkedContainers(Protocol):
    """The containers that a person picked, and those with changed limits."""

    def picked(self, engine: str) -> Collection[str]:
        """Return the ids of the containers that a person picked."""

    def saved_containers(self, engine: EngineKey) -> Collection[str]:
        """Return the ids of the containers of an engine that have saved limits."""


class Sampler:
    """Samples one engine."""

    def __init__(
        self,
        host: WatchedHost,
        marked_containers: MarkedContainers,
        losses: LossReader,
        gpus: GpuReader | None = None,
    ) -> None:
        self._host = host
        self._with_label = marked_containers
        self._losses = losses
        self._gpus = gpus
        self._usage = UsageReader()
        self._running: Collection[str] = ()  # the ids of the containers that ran at the last sample

    def sample(self, phaser: PhaseTracker | None = None, model: str | None = None) -> tuple[LiveView, Rows]:
        """Sample once; return the view for pages and the rows for the history.

        Raises HostLost if the engine does not answer.
        """
        name, info = self._host.name, self._host.info()
        picked, changed = self._with_label.picked(name), self._with_label.saved_containers(info.key)
        containers = self._host.containers()
        ours, stopped = self._ours(containers, lambda each: has_label(each) or each.id in picked)
        taken = self._usage.take(self._host.counters(ours))
        usage = {key: _possible(use, info) for key, use in taken.items()}
        at, pressure = time.time(), self._host.pressure()
        losses = self._losses.read(ours, at)
        rows = {
            each.id: row_of(each, usage.get(each.id), each.id in picked, each.id in changed, at, pressure)
            for each in ours
        }
        for key, (value, why) in losses.items():
            if key in rows:
                rows[key] = _with(rows[key], loss=value, loss_why=why)
        if self._gpus is not None and info.local:
            for key, use in self._gpus.read(rows).items():
                gpu_values = {"gpu": use.share, "gpu_memory": use.memory, "gpu_power": use.power}
                rows[key] = _with(
                    rows[key], **{name: _finite_or_none(value) for name, value in gpu_values.items()}
                )
        values = {key: field_values(row) for key, row in rows.items() if row.cpu is not None}
        if phaser is not None:
            for key, phase in phaser.push(at, values).items():
                rows[key] = _with(rows[key], phase=phase)
        listed = tuple(sorted(rows.values(), key=lambda row: row.name))
        others = [each for each in containers if each.id not in rows]
        totals = replace(sum_totals(listed, info.cores, float(info.memory)), pressure=pressure)
        view = LiveView(
            engine=ready_engine(self._host.address, info),
            at=at,
            rows=listed,
            stopped=tuple(
                row_of(each, None, each.id in picked, each.id in changed, at)
                for each in sorted(stopped, key=lambda each: -(each.ending.at or at))
                if each.id not in rows and _is_shown(each, at)
            ),
            others=len(others),
            foreign=tuple(_foreign_rows(others[:_MAX_FOREIGN])),
            totals=totals,
            model=model,
        )
        return view, {**values, TOTALS: _totals_row(totals)}

    def _ours(
        self, containers: Sequence[Container], wanted: Callable[[Any], bool]
    ) -> tuple[Sequence[Container], Sequence[Container]]:
        """Return the wanted containers that run, and those that do not.

        The host's lists are of two moments: what starts or ends in between can be in both or in neither. So
        each is taken as it was seen last, and what ran at the last sample and is in no list is asked for.
        """
        running = {each.id: each for each in containers if wanted(each)}
        stopped: dict[str, Container] = {}
        later = list(self._host.stopped(wanted, _MAX_STOPPED))
        for container in sorted(set(self._running).difference(running, (each.id for each in later))):
            with contextlib.suppress(ContainerGone, ChangeRefused):
                later += filter(wanted, [self._host.inspect(container)])
        for each in later:
            running.pop(each.id, None)
            (running if each.running else stopped)[each.id] = each
        self._running = set(running)
        return list(running.values()), list(stopped.values())


def _is_shown(container: Container, at: float) -> bool:
    """Whether a container without processes stays on the page: it restarts, did not start or just ended."""
    if container.running:
        return False
    if container.unreadable:
        return True
    ended = container.ending.at
    return container.state == "restarting" or (ended is not None and at - ended < _STOPPED_FOR)


def row_of(
    container: Container,
    usage: Usage | None,
    picked: bool,
    held: bool,
    at: float,
    pressure: float | None = None,
) -> ContainerRow:
    """Return a container's row for the page; None for values that were not measured."""
    limits, labelled = container.limits, read_terms(container.labels, at)
    memory_limit = limits.memory_bytes
    return ContainerRow(
        id=container.id,
        name=container.name,
        image=container.image,
        labelled=has_label(container),
        picked=picked,
        state=container.state,
        cpu=None if usage is None else usage.cpu,
        cpu_limit=limits.cores,
        memory=None if usage is None else usage.memory,
        memory_limit=None if memory_limit is None else float(memory_limit),
        io=None if usage is None else usage.io,
        network=None if usage is None else usage.network,
        throttled=None if usage is None else usage.throttled,
        withheld=None if usage is None else usage.withheld,
        pressure=None if usage is None else pressure,
        held=held,
        malleable=bool(container.labels.get(AGENT)),
        started=container.started or None,
        ended=container.ending.at,
        exit_code=container.ending.exit_code,
        kills=container.ending.kills,
        restarts=container.ending.restarts,
        error=container.ending.error,
        no_restart=why_not_restarted(container.labels),
        wrong=" ".join(f"{name}: {why}" for name, why in labelled.wrong.items()),
        max_cores=labelled.terms.max,
        unreadable=container.unreadable or ("" if usage is None else usage.unreadable),
    )


def field_values(row: ContainerRow) -> tuple[float, ...]:
    """Return a row's values of `FIELDS`, NaN for unknown ones."""
    return tuple(
        map(
            _nan_if_missing,
            (
                row.cpu,
                row.cpu_limit,
                row.memory,
                row.memory_limit,
                row.loss,
                row.throttled,
                row.io,
                row.network,
                row.gpu,
                row.gpu_memory,
                row.gpu_power,
                row.withheld,
                row.pressure,
            ),
        )
    )


def sum_totals(rows: Sequence[ContainerRow], cores: float | None, memory: float | None) -> Totals:
    """Sums over containers, leaving out missing values; unknown where all are missing."""
    throttled = [row.throttled for row in rows if row.throttled is not None]
    used = [row.cpu for row in rows if row.cpu is not None]
    held = [row.memory for row in rows if row.memory is not None]
    return Totals(
        cpu=math.fsum(used) if used or not rows else None,
        cores=cores,
        memory=math.fsum(held) if held or not rows else None,
        memory_total=memory,
        throttled=math.fsum(throttled) / len(throttled) if throttled else None,
        containers=len(rows),
    )


def count_labels(labels: Iterable[str | None]) -> tuple[tuple[str, int], ...]:
    """Count the containers by label, the largest count first."""
    counts: dict[str, int] = {}
    for label in labels:
        if label:
            counts[label] = counts.get(label, 0) + 1
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def mark_rows(
    rows: Iterable[ContainerRow], marks: Mapping[str, tuple[str, float | None]], *, phases: bool = False
) -> tuple[ContainerRow, ...]:
    """Rows with an attached policy's labels and growth; with `phases` the labels are phases."""
    return tuple(_with_label(row, *marks[row.id], phases=phases) if row.id in marks else row for row in rows)


def _with_label(row: ContainerRow, label: str, growth: float | None, *, phases: bool) -> ContainerRow:
    phase = phase_of(label) if phases else WARM_UP
    if phase != WARM_UP:
        return _with(row, phase=phase, growth=growth)
    return _with(row, label=label or None, growth=growth)


def _with(row: ContainerRow, **values: object) -> ContainerRow:
    """Return a row with some other values; three times as fast as `dataclasses.replace`."""
    plain = {name: getattr(row, name) for name in ContainerRow.__slots__}
    return ContainerRow(**{**plain, **values})


def _foreign_rows(containers: Iterable[Container]) -> Iterable[ContainerRow]:
    for each in containers:
        yield ContainerRow(each.id, each.name, each.image, state=each.state)


def _totals_row(totals: Totals) -> tuple[float, ...]:
    nan = math.nan
    values = (totals.cpu, totals.cores, totals.memory, totals.memory_total, None, totals.throttled)
    return (*map(_nan_if_missing, values), *[nan] * (len(FIELDS) - len(values)))


def _finite_or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


def _nan_if_missing(value: float | None) -> float:
    return math.nan if value is None else float(value)


Loss: TypeAlias = "tuple[float | None, str]"
"""The last value of E, and where there is none a sentence that says why."""

_AT_MOST = 8
_FOR_AT_MOST = 0.1
_SOONEST, _LATEST, _SLOWER = 2.0, 20.0, 1.5
_FIRST_LINES, _LINES = 400, 4000
_NOTHING_YET = "Its agent has reported nothing yet: wait for its first step."


class LossReader:
    """Follows the containers of one host."""

    def __init__(self, host: WatchedHost) -> None:
        self._host = host
        self._sources: dict[str, _FromAgent | _FromLog] = {}

    def read(self, containers: Sequence[Container], at: float) -> dict[str, Loss]:
        """Return the last value of each container, by id.

        Raises HostLost if the host does not answer.
        """
        sources = self._sources
        self._sources = {each.id: sources.get(each.id) or self._open_source(each) for each in containers}
        logs = []
        for source in self._sources.values():
            if isinstance(source, _FromAgent):
                source.read()
            elif source.is_due(at):
                logs.append(source)
        started = time.monotonic()
        for source in sorted(logs, key=lambda each: each.due)[:_AT_MOST]:
            source.read(self._host, at)
            if time.monotonic() - started > _FOR_AT_MOST:
                break
        return {name: (source.value, source.why) for name, source in self._sources.items()}

    def _open_source(self, container: Container) -> _FromAgent | _FromLog:
        readings = self._host.readings(container)
        if readings is not None:
            return _FromAgent(readings, container.labels.get(GOAL, ""))
        return _FromLog(container)


class _FromAgent:
    """The readings that an agent writes."""

    def __init__(self, readings: Readings, goal: str) -> None:
        self._readings = readings
        self.value: float | None = None
        self.why = _NOTHING_YET
        try:
            self._evaluate = GoalReader(read_goal(goal))
        except InputError as error:
            self.why = str(error)
            self._evaluate = GoalReader(read_goal(""))

    def read(self) -> None:
        for _, printed in self._readings.news():
            value = self._evaluate(printed)
            if value is not None:
                self.value, self.why = value, ""


class _FromLog:
    """The loss in a container's log."""

    def __init__(self, container: Container) -> None:
        self._container = container.id
        self._since, self._every = 0.0, _SOONEST
        self._reader: ProgressReader | None = None
        self.value: float | None = None
        self.why = ""
        self.due = 0.0
        try:
            self._reader = ProgressReader(
                container.labels.get(LOSS, ""), container.labels.get(GOAL, "") or "min"
            )
        except InputError as error:
            self.why, self.due = str(error), math.inf

    def is_due(self, at: float) -> bool:
        """Whether it is to be read again; one due later than any was read before the clock was set back."""
        return self.due <= at or at + _LATEST < self.due < math.inf

    def read(self, host: WatchedHost, at: float) -> None:
        """Read the lines since the last time."""
        if self._reader is None:
            return
        try:
            lines = host.logs_since(self._container, self._since, _LINES if self._since else _FIRST_LINES)
        except (ContainerGone, ChangeRefused, HostLost) as error:  # a host that is lost is noticed elsewhere
            self.value, self.why, self.due = None, str(error), at + _LATEST
            return
        self._since = lines[-1][0] if lines else self._since
        for _, value in self._reader.feed(lines):
            self.value = value
        self.why = self._reader.why or ""
        if self.why:
            self.value = None
        self._every = _SOONEST if lines else min(self._every * _SLOWER, _LATEST)
        self.due = at + self._every
