"""Running one policy on one seed: the engine is opened, the policy drives it, and entries are collected."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import time
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from core.engines.ports import RunRequest, ShowsContainers
from core.engines.registry import begin
from core.engines.simulated import simulated
from core.engines.values import RUN
from core.engines.watch_only import StartOnly
from core.errors import ConflictError
from core.experiments.outcome import Outcome, Truth
from core.experiments.scenarios import ground_truth, scenario
from core.experiments.spec import SIMULATED
from core.sampling.usage_wrapper import HostSamples, with_usage
from core.scheduling.loop import drive, replay
from core.scheduling.policies import POLICIES
from core.workspace.code_version import code_digest
from core.workspace.earlier_runs import Kind, LearningEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from core.config import Settings
    from core.engines.ports import SteeredHost
    from core.experiments.outcome import RunResult
    from core.experiments.spec import Arm, Experiment
    from core.sampling.engines import Engines
    from core.scheduling.loop import Difference, Entry
    from core.scheduling.ports import Engine
    from core.simulation.scenario import JobSpec, Scenario
    from core.workspace.earlier_runs import EarlierRuns
    from core.workspace.fitted_policies import FittedPolicies
    from core.workspace.models import ModelLibrary


_PACE = 2.0


@dataclass(frozen=True, slots=True)
class Stage:
    """An engine that is open for one run."""

    #: The engine.
    engine: Engine
    #: The ground truth of its jobs.
    truth: Truth
    #: The most seconds between observations, or None.
    pace: float | None = None
    #: The policy's settings with a fitted model, where it needs one; None: as chosen.
    ready: Any = None

    def settings(self, arm: Arm) -> Any:
        """Return the settings that a policy runs with."""
        return POLICIES[arm.policy].build_settings(arm.settings) if self.ready is None else self.ready


def simulated_stage(experiment: Experiment, arm: Arm, seed: int) -> Stage:
    """Return the simulator at time 0."""
    world = scenario(experiment, seed)
    name = SIMULATED if experiment.real else experiment.engine
    engine = begin(name, RunRequest(experiment, arm, seed, world))
    return Stage(engine, ground_truth(world))


class Stages:
    """Opens engines for runs, and removes containers of killed runs."""

    def __init__(
        self,
        settings: Settings,
        engines: Engines,
        earlier: EarlierRuns,
        fitted: FittedPolicies,
        models: ModelLibrary,
    ) -> None:
        self._settings = settings
        self._engines = engines
        self._earlier = earlier
        self._fitted = fitted
        self._models = models

    def simulated(self, experiment: Experiment, arm: Arm, seed: int) -> Stage:
        """Return the simulator at time 0, with the policy's fitted model."""
        return replace(simulated_stage(experiment, arm, seed), ready=self._build_settings(arm))

    def _build_settings(self, arm: Arm) -> Any:
        return self._fitted.ready(POLICIES[arm.policy].build_settings(arm.settings))

    def check(self, experiment: Experiment) -> None:
        """Check that an experiment can be run here."""
        if not experiment.real:
            return
        if not self._settings.control:
            raise ConflictError(
                "This experiment starts and steers containers, and PHASEDOCK_CONTROL is off.",
                "Start PhaseDock with PHASEDOCK_CONTROL=on, or choose the simulator.",
            )
        for name, cores in _needed_cores(experiment, self._default_host(experiment)).items():
            info = self._engines.get(name)
            if info.state != "ready":
                raise ConflictError(info.message, info.hint)
            if info.cores is not None and cores > info.cores:
                raise ConflictError(
                    f"The experiment wants {cores} processors of {name}, which has {info.cores:g}.",
                    "Give its machines fewer cores, or spread them over more hosts.",
                )

    @contextmanager
    def open(
        self, experiment: Experiment, arm: Arm, seed: int, run: str, idle: Callable[[], None]
    ) -> Iterator[Stage]:
        """Open an engine for one run; on exit everything that it started is removed."""
        if not experiment.real:
            yield self.simulated(experiment, arm, seed)
            return
        folder = self._settings.home / "jobs" / run
        with ExitStack() as stack:
            stack.enter_context(exclusive(self._settings.home / "jobs" / "lock", idle))
            self._remove_dead()
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)
            yield self._open_real(stack, experiment, arm, seed, run, folder, idle)

    def _open_real(
        self,
        stack: ExitStack,
        experiment: Experiment,
        arm: Arm,
        seed: int,
        run: str,
        folder: Path,
        idle: Callable[[], None],
    ) -> Stage:
        hosts: dict[str, SteeredHost] = {}
        for name in _needed_cores(experiment, self._default_host(experiment)):
            hosts[name] = self._engines.host(name, None, lambda each: each.labels.get(RUN) == run)
            stack.callback(hosts[name].close)
        jobs_scenario = scenario(experiment, seed)
        kinds = {job.id: _job_kind(experiment, arm, job) for job in jobs_scenario.jobs}
        jobs_scenario = replace(
            jobs_scenario,
            jobs=tuple(self._with_profile(experiment, job, kinds[job.id]) for job in jobs_scenario.jobs),
        )
        request = RunRequest(experiment, arm, seed, jobs_scenario, run, hosts, folder, idle, stack.callback)
        engine = begin(experiment.engine, request)
        profiles = {job.id: job.profile for job in jobs_scenario.jobs}
        learning, ready = LearningEngine(engine, kinds, profiles, self._earlier), self._build_settings(arm)

        def containers() -> Mapping[str, str]:
            return engine.containers if isinstance(engine, ShowsContainers) else {}

        samples = HostSamples(hosts.values(), lambda: containers().values())
        observed_engine = with_usage(learning, containers, samples, ready, self._models)
        return Stage(
            observed_engine, Truth(models={job.id: job.model for job in jobs_scenario.jobs}), _PACE, ready
        )

    def _with_profile(self, experiment: Experiment, job: JobSpec, kind: Kind) -> JobSpec:
        """Return a job with the profile of earlier runs, or else the measured speeds of its file."""
        if job.profile is None:
            return job
        measured = job.profile if experiment.kinds[job.model].throughput else None
        return replace(job, profile=self._earlier.profile(kind) or measured)

    def _default_host(self, experiment: Experiment) -> str:
        """Return the host of machines without a configured host."""
        return self._engines.of_kind(experiment.engine)[0]

    def _remove_dead(self) -> None:
        """Remove what killed runs of this workspace left; only the run that holds the lock is alive."""
        folders = {
            folder.name: folder for folder in (self._settings.home / "jobs").iterdir() if folder.is_dir()
        }
        if folders:
            self.remove_left(lambda runs: folders.keys() & runs)
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)

    def remove_left(self, dead: Callable[[Collection[str]], Collection[str]]) -> int:
        """Remove the containers of abandoned runs; returns how many."""
        removed = 0
        for info in self._engines.all():
            if info.state != "ready":
                continue
            host = self._engines.host(info.name, None, lambda each: RUN in each.labels)
            try:
                run_by_container = {
                    each.id: each.labels[RUN]
                    for each in host.containers(running_only=False)
                    if RUN in each.labels
                }
                dead_runs = set(dead(set(run_by_container.values())))
                for container in [name for name, run in run_by_container.items() if run in dead_runs]:
                    host.remove(container)
                    removed += 1
            finally:
                host.close()
        return removed


@contextmanager
def exclusive(lock: Path, idle: Callable[[], None], every: float = 0.5) -> Iterator[None]:
    """Wait for the lock, so that two runs do not share processors."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                idle()
                time.sleep(every)
        yield


def _job_kind(experiment: Experiment, arm: Arm, job: JobSpec) -> Kind:
    kind, docker = experiment.kinds[job.model], experiment.docker
    steps = ("--steps", str(kind.steps)) if kind.steps else ()
    return Kind(kind.image or docker.image, (*kind.command(arm.threads or docker.threads), *steps))


def _needed_cores(experiment: Experiment, first: str) -> dict[str, int]:
    """Return the processors that an experiment needs on each host."""
    needed: dict[str, int] = {}
    for group in experiment.workers:
        name = group.host or first
        needed[name] = needed.get(name, 0) + group.count * int(group.cores)
    return needed


_FORMAT = 2
# the code that a run depends on, and what a simulated one depends on besides: a real engine has no sources
_DECIDING = ("core.scheduling", "core.progress", "core.settings_fields")
_LEARNING = ("core.provisioning", "core.phases", "core.traces")
_SIMULATING = ("core.simulation", "core.experiments", "core.engines.simulated")


def run_arm(
    experiment: Experiment,
    arm: Arm,
    seed: int,
    listen: Callable[[Entry, Outcome], None] | None = None,
    stage: Stage | None = None,
) -> RunResult:
    """Run one policy on one seed."""
    where, policy = stage or simulated_stage(experiment, arm, seed), POLICIES[arm.policy]
    outcome = Outcome(where.truth)
    began, used = time.monotonic(), time.process_time()
    engine = StartOnly(where.engine) if arm.watch else where.engine
    for entry in drive(engine, policy, where.settings(arm), seed, where.pace):
        outcome.add(entry)
        if listen is not None:
            listen(entry, outcome)
    if where.pace is None:
        return outcome.result()
    share = (time.process_time() - used) / (time.monotonic() - began)
    return replace(outcome.result(), controller=share)


def run_scenario(scenario: Scenario, arm: Arm, seed: int) -> RunResult:
    """Simulate one policy on a scenario, such as one that was calibrated from a recording."""
    outcome, policy = Outcome(ground_truth(scenario)), POLICIES[arm.policy]
    for entry in drive(simulated(scenario, seed), policy, policy.build_settings(arm.settings), seed):
        outcome.add(entry)
    return outcome.result()


def replay_arm(
    policy: str,
    settings: Mapping[str, Any],
    seed: int,
    entries: Iterable[Entry],
    ready: Callable[[Any], Any] = lambda chosen: chosen,
) -> list[Difference]:
    """Replay a ledger to its policy; returns the decisions that differ from the recorded ones."""
    entry = POLICIES[policy]
    return list(replay(entry, ready(entry.build_settings(settings)), seed, entries))


def scenario_key(experiment: Experiment) -> str:
    """Return the digest of an experiment's scenario, without seeds."""
    return _digest([_FORMAT, experiment.scenario_dict()])


def run_key(experiment: Experiment, arm: Arm, seed: int, experiment_id: str) -> str:
    """Return the digest of everything that a run depends on; a real run belongs to one experiment."""
    policy = POLICIES[arm.policy]
    settings = asdict(policy.build_settings(arm.settings))
    real = [experiment_id, arm.threads] if experiment.real else []
    watched = ["watched"] if arm.watch else []
    deciding = (*_DECIDING, *_LEARNING) if policy.sees_use else _DECIDING
    code = code_digest(deciding if real else (*deciding, *_SIMULATING), [policy])
    return _digest([_FORMAT, code, scenario_key(experiment), arm.policy, settings, seed, *real, *watched])


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
