"""Docker as an entry of the register of engines: its hosts, and starting a run of an experiment there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from core.engines.docker_host.connection import REQUEST_TIMEOUT, parse_addresses
from core.engines.docker_host.host import Host
from core.engines.ports import EngineKind
from core.engines.run import Node, PlannedJob, RunEngine
from core.engines.values import RUN
from core.units import GIB

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from core.engines.docker_host.connection import Address
    from core.engines.ports import Container, Keeper, RunRequest
    from core.engines.values import FollowOptions
    from core.experiments.spec import Experiment
    from core.simulation.scenario import JobSpec


def _connect(
    address: Address,
    keeper: Keeper | None,
    guard: Callable[[Container], bool],
    request_timeout: float | None = None,
) -> Host:
    return Host(address, keeper, guard, REQUEST_TIMEOUT if request_timeout is None else request_timeout)


def _open(request: RunRequest) -> RunEngine:
    if request.folder is None:
        raise ValueError("jobs need a folder")
    experiment, hosts = request.experiment, cast("Mapping[str, Host]", request.hosts)
    threads = request.arm.threads or experiment.docker.threads
    engine = RunEngine(
        _make_workers(experiment, hosts),
        [
            _plan_job(experiment, job, request.seed + at, request.run, threads)
            for at, job in enumerate(request.scenario.jobs)
        ],
        folder=request.folder,
        idle=request.idle,
        follow=threads == "follow",
    )
    request.at_end(engine.close)
    return engine


def _adopt(
    host: Host,
    folder: Path,
    adopt: Callable[[Container], bool],
    idle: Callable[[], None],
    options: FollowOptions,
) -> RunEngine:
    workers = [Node(host.name, host)]
    return RunEngine(workers, folder=folder, idle=idle, adopt=adopt, options=options)


def _make_workers(experiment: Experiment, hosts: Mapping[str, Host]) -> list[Node]:
    """Machines as sets of processors, in order; each host's are counted from its first."""
    first, free, workers = next(iter(hosts)), dict.fromkeys(hosts, 0), []
    for group in experiment.workers:
        host = group.host or first
        for name in group.names:
            begin, free[host] = free[host], free[host] + int(group.cores)
            workers.append(Node(name, hosts[host], tuple(range(begin, free[host]))))
    return workers


def _plan_job(experiment: Experiment, job: JobSpec, seed: int, run: str, threads: str) -> PlannedJob:
    kind, docker = experiment.kinds[job.model], experiment.docker
    command = [*kind.command(threads), "--seed", str(seed)]
    if kind.steps:
        command += ["--steps", str(kind.steps)]
    return PlannedJob(
        id=job.id,
        image=kind.image or docker.image,
        command=tuple(command),
        arrival=job.arrival,
        labels={RUN: run},
        memory=int(job.memory or docker.memory * GIB) or None,
        request=job.request,
        terms=job.terms,
        can_migrate=kind.checkpoint is not None,
        can_resize=threads == "follow",
    )


ENGINE: Final = EngineKind(
    "docker",
    "Docker",
    _open,
    real=True,
    setting="docker",
    hosts=parse_addresses,
    connect=_connect,
    adopt=_adopt,
    takes_jobs=True,
)
