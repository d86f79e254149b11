"""Running an experiment: every policy on every missing seed, then the report.

The row of a run comes first, its ledger as it goes, its result at the end.

Real runs are told apart from simulated ones here: they always keep their ledgers, and the simulator says what
it would have expected of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import Cancelled, Interrupted
from core.experiments.compare import compare
from core.experiments.predicting import predict
from core.experiments.series import Series
from core.runs.records import Origin
from core.runs.runner import run_arm, run_key, run_scenario, scenario_key
from core.runs.values import Keep
from core.workspace.records import RunState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.experiments.outcome import Outcome, RunResult
    from core.experiments.spec import Arm, Experiment
    from core.progress_reporting import Progress
    from core.runs.records import RunRecords
    from core.runs.stages import Stages
    from core.runs.values import ExperimentInfo, RunInfo
    from core.scheduling.loop import Entry
    from core.workspace.ledgers import Ledgers


def report(
    experiment: Experiment, runs: Sequence[tuple[str, int, str]], result: Callable[[str], RunResult]
) -> dict[str, Any]:
    """The report on an experiment's runs."""
    results: dict[str, dict[int, RunResult]] = {arm.label: {} for arm in experiment.policies}
    for label, seed, run in runs:
        results[label][seed] = result(run)
    return {"comparison": compare(results, experiment.baseline), "baseline": experiment.baseline}


def side_by_side(infos: Sequence[RunInfo], results: Mapping[str, RunResult], baseline: str) -> dict[str, Any]:
    """Any runs, grouped by their labels; see `core.runs.service.Runs.compare`."""
    names = labels(infos)
    grouped: dict[str, dict[int, RunResult]] = {}
    for info in infos:
        grouped.setdefault(names[info.id], {})[info.seed] = results[info.id]
    return {
        "comparison": compare(grouped, names[baseline]),
        "baseline": names[baseline],
        "labels": names,
        "paired": len({info.scenario for info in infos}) == 1,
    }


def labels(infos: Sequence[RunInfo]) -> dict[str, str]:
    """A label for each run; runs of different arms that share a label get their experiment's name or id."""
    arms: dict[str, set[tuple[str, str]]] = {}
    for info in infos:
        arms.setdefault(info.label, set()).add((info.experiment, info.name))
    several = {label for label, owners in arms.items() if len(owners) > 1}
    names = {info.id: info.label for info in infos}
    for info in infos:
        if info.label in several:
            alike = len({name for _, name in arms[info.label]}) < len(arms[info.label])
            names[info.id] = f"{info.label} · {info.name}{f' ({info.experiment[:6]})' if alike else ''}"
    return names


class RunMaker:
    """Makes the runs of experiments and their reports, and writes them down."""

    def __init__(
        self, records: RunRecords, ledgers: Ledgers, stages: Stages, result: Callable[[str], RunResult]
    ) -> None:
        self._records = records
        self._ledgers = ledgers
        self._stages = stages
        self._result = result

    def make(
        self,
        info: ExperimentInfo,
        progress: Progress | None = None,
        keep: Keep = Keep.FIRST,
        task: str | None = None,
    ) -> None:
        """Make the runs that are missing, then the report.

        Raises
        ------
        ConflictError
            If a policy leaves jobs that can never end.
        """
        plan = [(arm, seed) for seed in info.experiment.seeds for arm in info.experiment.policies]
        runs: list[tuple[str, int, str]] = []
        for at, (arm, seed) in enumerate(plan, 1):
            say = _part(progress, at - 1, len(plan), f"{arm.label}, seed {seed}")
            wanted = _kept(info.experiment, keep, seed)
            runs.append((arm.label, seed, self._run(info, arm, seed, wanted, say, task)))
            if at % len(info.experiment.policies) == 0:
                self._records.set_runs(info.id, runs)
        self._records.set_report(
            info.id, report(info.experiment, runs, self._result) | self._predicted(info.experiment, runs)
        )

    def _predicted(self, experiment: Experiment, runs: Sequence[tuple[str, int, str]]) -> dict[str, Any]:
        """What the simulator says of real runs, fitted to the baseline's; nothing for simulated ones."""
        if not experiment.real:
            return {}
        ledgers = {
            seed: [entry.observation for entry in self._ledgers.entries(run)]
            for label, seed, run in runs
            if label == experiment.baseline
        }
        made = predict(experiment, ledgers, run_scenario)
        return {} if made is None else {"predicted": made.to_dict()}

    def _run(
        self,
        info: ExperimentInfo,
        arm: Arm,
        seed: int,
        keep: bool,
        say: Callable[[float], None],
        task: str | None,
    ) -> str:
        """Make one run, or find it; returns its id."""
        say(0.0)
        key = run_key(info.experiment, arm, seed, info.id)
        found = self._records.find(key, keep)
        if found is not None:
            return found
        scenario = scenario_key(info.experiment)
        origin = Origin(info, arm, seed, scenario, key, task)
        return self._with_ledger(origin, say) if keep else self._without(origin, say)

    def _without(self, origin: Origin, say: Callable[[float], None]) -> str:
        """Write a run only once it is done, in one go."""
        experiment, arm, seed = origin.info.experiment, origin.arm, origin.seed
        n, stage = experiment.n_jobs, self._stages.simulated(experiment, arm, seed)
        result = run_arm(experiment, arm, seed, lambda _, outcome: say(outcome.ended / n), stage)
        return self._records.add_run(origin, RunState.DONE, result)

    def _with_ledger(self, origin: Origin, say: Callable[[float], None]) -> str:
        """The row is there from the beginning, so that its ledger can be looked at while it grows."""
        run = self._records.add_run(origin, RunState.RUNNING)
        try:
            self._follow(run, origin, say)
        except (Cancelled, KeyboardInterrupt):
            self._records.end(run, RunState.CANCELLED)
            raise
        except Interrupted:
            self._records.end(run, RunState.INTERRUPTED)
            raise
        except Exception:
            self._records.end(run, RunState.FAILED)
            raise
        return run

    def _follow(self, run: str, origin: Origin, say: Callable[[float], None]) -> None:
        experiment, arm, seed = origin.info.experiment, origin.arm, origin.seed
        ledger, series, n = self._ledgers.writer(run), Series(), experiment.n_jobs
        real, done = experiment.real, 0.0

        def listen(entry: Entry, outcome: Outcome) -> None:
            nonlocal done
            ledger.add(entry)
            if real:
                ledger.flush()
            series.add(entry)
            done = outcome.ended / n
            say(done)

        try:
            with self._stages.open(experiment, arm, seed, run, lambda: say(done)) as stage:
                result = run_arm(experiment, arm, seed, listen, stage)
        finally:
            ledger.flush()
        self._ledgers.keep_series(run, series.to_dict())
        self._records.end(run, RunState.DONE, result)


def _kept(experiment: Experiment, keep: Keep, seed: int) -> bool:
    """Whether a run keeps its ledger; real ones always do, for they cannot be repeated."""
    if experiment.real:
        return True
    return keep is Keep.ALL or (keep is Keep.FIRST and seed == experiment.seeds[0])


def _part(progress: Progress | None, at: int, n: int, what: str) -> Callable[[float], None]:
    def say(fraction: float) -> None:
        if progress is not None:
            progress((at + fraction) / n, f"{what} ({at + 1:,} of {n:,})")

    return say
