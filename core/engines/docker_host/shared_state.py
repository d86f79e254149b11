"""How many threads a job should use: as many as the cores that its neighbours and its limit leave it.

Threads beyond a job's cores wait for each other and waste those cores. A limit alone does not say how many
cores a job gets: three jobs that may each use both cores of a machine get two thirds of one. So a job whose
threads follow its cores is asked for its share of its worker, rounded up: weighted water-filling over what
runs there (`water_filling`), whether or not its neighbours follow.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from math import inf
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from core.engines.docker_host.containers import parse_cpus
from core.errors import InputError
from core.scheduling.model import JobState, Trigger
from core.scheduling.shares import threads_for, water_fill

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from core.engines.docker_host.containers import Container
    from core.engines.docker_host.host import Host
    from core.engines.docker_host.job import DockerWorker, LiveJob, PlannedJob
    from core.engines.values import Counters
    from core.scheduling.model import Failure


def wanted_threads(
    shared: SharedState, job: LiveJob, limit: float | None, worker: DockerWorker
) -> int | None:
    """Threads of a job with this limit on that worker, beside what runs there.

    None if it does not follow, or if its policy said how many.
    """
    if not (shared.follow and job.can_resize) or job.told:
        return None
    beside = [
        each
        for each in list(shared.jobs.values())
        if each is not job and each.worker is worker and each.state is JobState.RUNNING
    ]
    caps = [inf if cap is None else cap for cap in (limit, *(each.limit for each in beside))]
    share = water_fill(worker.capacity, caps, [job.weight, *(each.weight for each in beside)])[0]
    return threads_for(share)


def want(shared: SharedState, job: LiveJob, limit: float | None) -> None:
    """Ask a job for the threads that suit a limit, unless it was asked for them already."""
    if job.worker is not None:
        ask(job, wanted_threads(shared, job, limit, job.worker))


def ask(job: LiveJob, threads: int | None) -> None:
    """Ask a job for so many threads, unless it was asked for them already; None asks for nothing."""
    if job.agent is not None and threads is not None and threads != job.agent.wants.threads:
        job.agent.want(threads=threads)


def fit(shared: SharedState) -> None:
    """Ask every running job for the threads that suit its limit; an adopted one only once it was changed."""
    for job in shared.jobs.values():
        if job.state is JobState.RUNNING and (job.changed or not job.adopted):
            with suppress(OSError):  # a full disk: it is asked at the next look
                want(shared, job, job.limit)


PULSE: Final = 0.4
"""Seconds between two polls while the engine waits; `idle` is called as often."""


_LEAST: Final = 0.3
"""The shortest time over which the cores in use are measured, seconds."""


class RunClock:
    """Seconds since it was made; follows the monotonic clock, so the wall clock may jump."""

    def __init__(self) -> None:
        self._begin, self._unix = time.monotonic(), time.time()

    def now(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._begin

    def at(self, unix: float) -> float:
        """The run's time for a Unix time that was taken on this machine; may be negative."""
        return unix - self._unix


class SharedState:
    """The state of a run on Docker.

    Raises
    ------
    InputError
        If a name comes twice, or there is no worker.
    """

    def __init__(
        self,
        workers: Sequence[DockerWorker],
        plans: Sequence[PlannedJob],
        folder: Path,
        idle: Callable[[], None],
        adopt: Callable[[Container], bool] | None,
        follow: bool,
        reconnect_within: float,
        logs_every: float,
    ) -> None:
        _check(workers, plans)
        self.workers = {worker.name: worker for worker in workers}
        self.hosts: dict[str, Host] = {worker.host.name: worker.host for worker in workers}
        self.to_come = sorted(plans, key=lambda plan: plan.arrival)
        self.folder, self.idle, self.adopt, self.follow = folder, idle, adopt, follow
        self.reconnect_within, self.logs_every = reconnect_within, logs_every
        self.jobs: dict[str, LiveJob] = {}
        self.ended: list[LiveJob] = []
        self.failures: list[Failure] = []
        self.happened: set[Trigger] = set()
        self.reasons: dict[str, str] = {}
        self.used: dict[str, float] = dict.fromkeys(self.workers, 0.0)
        self.memory_used: dict[str, float] = {}
        self.news_queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.executor = ThreadPoolExecutor(8, thread_name_prefix="docker-engine")
        self.mine: dict[str, tuple[Host, LiveJob]] = {}
        self.unanswered: dict[str, tuple[Host, LiveJob]] = {}
        self.adopted: list[tuple[Host, LiveJob]] = []
        self.names: dict[str, int] = {}
        self.lost: dict[str, float] = {}
        self.returned: dict[str, float] = {}
        self.numbers = count(1)
        self.kills: Counter[str] = Counter()
        self._last: dict[str, Mapping[str, Counters]] = {}
        self._noted: dict[str, float] = {}
        self.token = secrets.token_hex(3)
        self._clock: RunClock | None = None
        self._pulsed = float("-inf")

    @property
    def clock(self) -> RunClock:
        """The run's clock, which begins when it is first looked at."""
        if self._clock is None:
            self._clock = RunClock()
        return self._clock

    def new_folder(self, name: str) -> Path:
        """A folder of this run for something of this name; never an existing one."""
        path = self.folder / self.token / name
        while path.exists():
            path = path.with_name(f"{name}-{next(self.numbers)}")
        path.mkdir(parents=True)
        return path.resolve()

    def kept_folder(self, name: str) -> Path:
        """The folder of a job whose container outlives the run; the same in every run."""
        path = self.folder / "jobs" / name
        path.mkdir(parents=True, exist_ok=True)
        return path.resolve()

    def new_name(self, name: str) -> str:
        """A job's name in this run: the name of an ended one is not used twice, so another is ``name#2``."""
        self.names[name] = times = self.names.get(name, 0) + 1
        return name if times == 1 else f"{name}#{times}"

    def host_of(self, job: LiveJob) -> Host:
        """The host of a placed job."""
        if job.worker is None:
            raise LookupError(job.id)
        return job.worker.host

    def end(self, job: LiveJob, state: JobState, why: str) -> None:
        """End a job for good, and remember why."""
        if self.jobs.pop(job.id, None) is None:
            return
        job.state = state
        self.reasons[job.id] = why
        self.ended.append(job)
        self.happened.add(Trigger.DEPARTURE)

    def notify(self, news: Callable[[], None] | None = None) -> None:
        """Wake the engine up, from any thread; `news` is then called in the engine's own thread."""
        self.news_queue.put(news)

    def rest(self, seconds: float) -> None:
        """Wait this long, or until `notify` is called; calls the news that have arrived."""
        try:
            news = self.news_queue.get(timeout=max(seconds, 0.0))
            while True:
                if news is not None:
                    news()
                news = self.news_queue.get_nowait()
        except Empty:
            return

    def pulse(self) -> None:
        """Call `idle`, a few times a second at most."""
        now = time.monotonic()
        if now - self._pulsed >= PULSE / 2:
            self._pulsed = now
            self.idle()

    def note_usage(
        self, host: Host, running: Mapping[str, Container], counters: Mapping[str, Counters]
    ) -> None:
        """Work out the cores in use on a host's workers, everybody's containers together."""
        now = time.monotonic()
        if now - self._noted.get(host.name, float("-inf")) < _LEAST:
            return
        self._noted[host.name] = now
        cores = int(host.info().cores)
        last = self._last.get(host.name, {})
        rates = {name: _rate(last.get(name), read) for name, read in counters.items()}
        for worker in self.workers.values():
            if worker.host is host:
                own = set(worker.cpus) if worker.cpus is not None else set(range(cores))
                shares = ((rate, parse_cpus(running[name].cpuset, cores)) for name, rate in rates.items())
                used = sum(rate * len(own & cpus) / len(cpus) for rate, cpus in shares)
                self.used[worker.name] = min(used, worker.capacity)
                self.memory_used[worker.name] = float(sum(read.memory for read in counters.values()))
        self._last[host.name] = counters

    def worker_of(self, host: Host, container: Container) -> DockerWorker | None:
        """The worker of a host whose processors overlap most with a container's; None if none do."""
        cores = int(host.info().cores)
        cpus = parse_cpus(container.cpuset, cores)
        best, most = None, 0.0
        for worker in self.workers.values():
            if worker.host is host:
                own = set(worker.cpus) if worker.cpus is not None else set(range(cores))
                shared = len(own & cpus) / len(own)
                best, most = (worker, shared) if shared > most else (best, most)
        return best


def _rate(before: Counters | None, now: Counters) -> float:
    """Cores in use between two readings."""
    if before is None or now.time <= before.time:
        return 0.0
    return max(now.cpu_seconds - before.cpu_seconds, 0.0) / (now.time - before.time)


def _check(workers: Sequence[DockerWorker], plans: Sequence[PlannedJob]) -> None:
    if not workers:
        raise InputError("There is no worker.", "Name at least one Docker host.")
    for what, names in (("workers", [w.name for w in workers]), ("jobs", [p.id for p in plans])):
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise InputError(f"Two {what} are called {min(twice)}.", "Give each a name of its own.")
