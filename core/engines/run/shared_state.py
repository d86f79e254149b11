"""The state of a run, shared by its modules, and the number of threads of each job.

Threads beyond a job's cores wait for each other and waste those cores. A limit alone does not determine the
cores of a job: three jobs that may each use both cores of a machine get two thirds of one. So a job whose
threads follow its cores is requested to use its share of its worker, rounded up: weighted water-filling over
all running jobs of the worker, whether or not these follow.
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

from core.engines.values import name_occurrence
from core.errors import InputError
from core.scheduling.model import JobState, Trigger
from core.scheduling.shares import threads_for, water_fill

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from core.engines.ports import Container
    from core.engines.run.host import ContainerHost
    from core.engines.run.job import LiveJob, Node, PlannedJob
    from core.engines.values import Counters, FollowOptions
    from core.scheduling.model import Failure


def compute_thread_count(shared: SharedState, job: LiveJob, limit: float | None, worker: Node) -> int | None:
    """Return the number of threads of a job with a limit on a worker, given its neighbours.

    None if its threads do not follow its cores, or if its policy sets their number.
    """
    if not (shared.follow and job.can_resize) or job.threads_set_by_policy:
        return None
    neighbours = [
        each
        for each in list(shared.jobs.values())
        if each is not job and each.worker is worker and each.state is JobState.RUNNING
    ]
    caps = [inf if cap is None else cap for cap in (limit, *(each.limit for each in neighbours))]
    share = water_fill(worker.capacity, caps, [job.weight, *(each.weight for each in neighbours)])[0]
    return threads_for(share)


def request_threads_for_limit(shared: SharedState, job: LiveJob, limit: float | None) -> None:
    """Request the threads that suit a limit, unless already requested."""
    if job.worker is not None:
        request_threads(job, compute_thread_count(shared, job, limit, job.worker))


def request_threads(job: LiveJob, threads: int | None) -> None:
    """Request a number of threads, unless already requested; None requests nothing."""
    if job.agent is not None and threads is not None and threads != job.agent.request.threads:
        job.agent.send_request(threads=threads)


def adjust_threads(shared: SharedState) -> None:
    """Request the threads that suit its limit from every running job; from adopted ones once changed."""
    for job in shared.jobs.values():
        if job.state is JobState.RUNNING and (job.changed or not job.adopted):
            with suppress(OSError):  # a full disk: retried at the next update
                request_threads_for_limit(shared, job, job.limit)


PULSE: Final = 0.4
"""Seconds between two polls while the engine waits; `idle` is called as often."""


_MIN_INTERVAL: Final = 0.3
"""The minimum interval of a measurement of the cores in use, seconds."""


class RunClock:
    """Seconds since its creation plus those `elapsed`, by the monotonic clock: the wall clock may jump."""

    def __init__(self, elapsed: float = 0.0) -> None:
        self._begin, self._unix = time.monotonic() - elapsed, time.time() - elapsed

    def now(self) -> float:
        """Return the seconds since the beginning."""
        return time.monotonic() - self._begin

    def at(self, unix: float) -> float:
        """Convert a Unix time of this machine to the run's time; may be negative."""
        return unix - self._unix

    def wait(self, news: SimpleQueue[Callable[[], None] | None], seconds: float) -> Callable[[], None] | None:
        """Return the next of the news.

        Raises queue.Empty if there is none within so many seconds.
        """
        return news.get(timeout=seconds)


class SharedState:
    """The state of a run.

    Raises InputError if a name occurs twice, or there is no worker.
    """

    def __init__(
        self,
        workers: Sequence[Node],
        plans: Sequence[PlannedJob],
        folder: Path,
        idle: Callable[[], None],
        adopt: Callable[[Container], bool] | None,
        follow: bool,
        options: FollowOptions,
        clock: Callable[[float], RunClock] = RunClock,
    ) -> None:
        _check(workers, plans)
        self.workers = {worker.name: worker for worker in workers}
        self.hosts: dict[str, ContainerHost] = {worker.host.name: worker.host for worker in workers}
        self.planned_jobs = sorted(plans, key=lambda plan: plan.arrival)
        self.folder, self.idle, self.adopt, self.follow = folder, idle, adopt, follow
        self.options, self._make_clock = options, clock
        self.jobs: dict[str, LiveJob] = {}
        self.ended: list[LiveJob] = []
        self.failures: list[Failure] = []
        self.triggers: set[Trigger] = set()
        self.reasons: dict[str, str] = {}
        self.used: dict[str, float | None] = {}
        self.memory_used: dict[str, float | None] = {}
        self.news_queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.executor = ThreadPoolExecutor(8, thread_name_prefix="run-engine")
        self.created: dict[str, tuple[ContainerHost, LiveJob]] = {}
        self.unanswered: dict[str, tuple[ContainerHost, LiveJob]] = {}
        self.adopted: list[tuple[ContainerHost, LiveJob]] = []
        self.names = dict(options.earlier_part.occurrences)
        self.lost: dict[str, float] = {}
        #: When each host was last looked at, by the run's clock.
        self.looked_at: dict[str, float] = {}
        self.returned: dict[str, float] = {}
        self.numbers = count(1)
        self.kills: Counter[str] = Counter()
        self._last_counters: dict[str, Mapping[str, Counters]] = {}
        self._measured_at: dict[str, float] = {}
        self.token = secrets.token_hex(3)
        self._clock: RunClock | None = None
        self._pulsed_at = float("-inf")

    @property
    def clock(self) -> RunClock:
        """The run's clock, which begins at its first use."""
        if self._clock is None:
            self._clock = self._make_clock(self.options.earlier_part.now)
        return self._clock

    def new_folder(self, name: str) -> Path:
        """Create a new folder of this run."""
        path = self.folder / self.token / name
        while path.exists():
            path = path.with_name(f"{name}-{next(self.numbers)}")
        path.mkdir(parents=True)
        return path.resolve()

    def lasting_folder(self, name: str) -> Path:
        """Return the folder of a job whose container outlives the run; the same in every run."""
        path = self.folder / "jobs" / name
        path.mkdir(parents=True, exist_ok=True)
        return path.resolve()

    def new_name(self, name: str) -> str:
        """Return a job's name in this run; a second job of one name is ``name#2``."""
        self.names[name] = occurrences = self.names.get(name, 0) + 1
        return name_occurrence(name, occurrences)

    def host_of(self, job: LiveJob) -> ContainerHost:
        """Return the host of a placed job."""
        if job.worker is None:
            raise LookupError(job.id)
        return job.worker.host

    def end(self, job: LiveJob, state: JobState, why: str) -> None:
        """End a job and remember the reason."""
        if self.jobs.pop(job.id, None) is None:
            return
        job.state = state
        self.reasons[job.id] = why
        self.ended.append(job)
        self.triggers.add(Trigger.DEPARTURE)

    def notify(self, news: Callable[[], None] | None = None) -> None:
        """Wake the engine from any thread; `news` is then called in the engine's thread."""
        self.news_queue.put(news)

    def wait_for_news(self, seconds: float) -> None:
        """Wait this long, or until `notify` is called; call the pending news."""
        try:
            news = self.clock.wait(self.news_queue, max(seconds, 0.0))
            while True:
                if news is not None:
                    news()
                news = self.news_queue.get_nowait()
        except Empty:
            return

    def pulse(self) -> None:
        """Call `idle`, at most a few times a second."""
        now = time.monotonic()
        if now - self._pulsed_at >= PULSE / 2:
            self._pulsed_at = now
            self.idle()

    def record_usage(
        self, host: ContainerHost, running: Mapping[str, Container], counters: Mapping[str, Counters]
    ) -> None:
        """Compute what all containers together use on a host's workers; unknown if one is not measured."""
        now = self.clock.now()
        if now - self._measured_at.get(host.name, float("-inf")) < _MIN_INTERVAL:
            return
        self._measured_at[host.name] = now
        cores = int(host.info().cores)
        last = self._last_counters.get(host.name, {})
        rates = {name: _compute_rate(last.get(name), counters.get(name)) for name in running}
        memory = _sum_known([counters[name].memory if name in counters else None for name in running])
        for worker in self.workers.values():
            if worker.host is host:
                own_cpus = set(worker.cpus) if worker.cpus is not None else set(range(cores))
                cpus = {name: running[name].processors(cores) for name in running}
                shares = {name: len(own_cpus & cpus[name]) / len(cpus[name]) for name in running}
                used = _sum_known(
                    [
                        None if rate is None else rate * shares[name]
                        for name, rate in rates.items()
                        if shares[name]
                    ]
                )
                self.used[worker.name] = None if used is None else min(used, worker.capacity)
                self.memory_used[worker.name] = memory
        self._last_counters[host.name] = counters

    def worker_of(self, host: ContainerHost, container: Container) -> Node | None:
        """Return the worker whose processors overlap most with a container's; None without overlap."""
        cores = int(host.info().cores)
        cpus = container.processors(cores)
        best_worker, largest_share = None, 0.0
        for worker in self.workers.values():
            if worker.host is host:
                own_cpus = set(worker.cpus) if worker.cpus is not None else set(range(cores))
                shared = len(own_cpus & cpus) / len(own_cpus)
                best_worker, largest_share = (
                    (worker, shared) if shared > largest_share else (best_worker, largest_share)
                )
        return best_worker


def _compute_rate(before: Counters | None, now: Counters | None) -> float | None:
    """Return the cores in use between two readings; None without both."""
    if before is None or now is None or now.time <= before.time:
        return None
    if now.cpu_seconds is None or before.cpu_seconds is None:
        return None
    return max(now.cpu_seconds - before.cpu_seconds, 0.0) / (now.time - before.time)


def _sum_known(values: Sequence[float | None]) -> float | None:
    """Return a sum; None if a part of it is unknown."""
    return None if None in values else float(sum(each for each in values if each is not None))


def _check(workers: Sequence[Node], plans: Sequence[PlannedJob]) -> None:
    if not workers:
        raise InputError("There is no worker.", "Name at least one host.")
    for noun, names in (("workers", [w.name for w in workers]), ("jobs", [p.id for p in plans])):
        duplicates = {name for name in names if names.count(name) > 1}
        if duplicates:
            raise InputError(f"Two {noun} are called {min(duplicates)}.", "Give each a name of its own.")
