"""Experiments and their runs: submitting as tasks, storing run by run, listing and replaying.

A run depends on nothing but its scenario, its policy with settings, and its seed, so it is stored under the
digest of these: an experiment that was stopped, or that shares arms with another, makes only what is missing.
The row of a run comes first, its ledger as it goes, its result at the end; simulated runs without a ledger
are written once they are done. Real runs always have ledgers, and the simulator predicts their results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import func, select

from core.errors import Cancelled, ConflictError, Interrupted, NotFoundError
from core.experiments.leaderboard import compare
from core.experiments.learning import Learning
from core.experiments.outcome import RunResult
from core.experiments.predicting import predict
from core.experiments.series import Series
from core.experiments.spec_reader import from_dict
from core.runs.records import Origin, RunRecords, left_by_dead
from core.runs.runner import replay_arm, run_arm, run_key, run_scenario, scenario_key
from core.runs.values import Keep, experiment_info, run_info
from core.workspace.database_schema import ExperimentRow, RunRow
from core.workspace.files import checked_id
from core.workspace.ledgers import Ledgers
from core.workspace.records import RunState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from core.experiments.learning import Lines
    from core.experiments.outcome import Outcome
    from core.experiments.spec import Arm, Experiment
    from core.progress_reporting import Progress
    from core.runs.runner import Stages
    from core.runs.values import ExperimentInfo, RunInfo
    from core.scheduling.loop import Difference, Entry
    from core.tasks.store import Tasks
    from core.workspace.database import Database

    RunList: TypeAlias = list[RunInfo]
    ExperimentList: TypeAlias = list[ExperimentInfo]
    Differences: TypeAlias = list[Difference]


def _has_ledger(experiment: Experiment, keep: Keep, seed: int) -> bool:
    """Whether the ledger of a run is stored; always true for a real run, which cannot be repeated."""
    if experiment.real:
        return True
    return keep is Keep.ALL or (keep is Keep.FIRST and seed == experiment.seeds[0])


def _part_progress(progress: Progress | None, at: int, n: int, what: str) -> Callable[[float], None]:
    def say(fraction: float) -> None:
        if progress is not None:
            progress((at + fraction) / n, f"{what} ({at + 1:,} of {n:,})")

    return say


class Runs:
    """The experiments and runs of a workspace."""

    def __init__(self, database: Database, tasks: Tasks, stages: Stages, ready: Callable[[Any], Any]) -> None:
        self._ready = ready
        self._database = database
        self._tasks = tasks
        self._stages = stages
        self._records = RunRecords(database)
        self.ledgers = Ledgers(database)

    def check(self, experiment: Experiment) -> None:
        """Check that an experiment can be run here.

        Raises ConflictError with the reason if it cannot.
        """
        self._stages.check(experiment)

    def submit(self, experiment: Experiment, keep: Keep = Keep.FIRST, title: str | None = None) -> str:
        """Submit an experiment; returns the task's id. Its parameters and result name the ``experiment``."""
        self._stages.check(experiment)
        added = self._records.add_experiment(experiment, task=None)
        params = {"experiment": added, "keep": keep.value}
        task = self._tasks.submit("simulate", title or f"Simulate {experiment.name}", params)
        self._records.set_task(added, task)
        return task

    def make(
        self,
        experiment: Experiment | str,
        progress: Progress | None = None,
        keep: Keep = Keep.FIRST,
        task: str | None = None,
    ) -> ExperimentInfo:
        """Run an experiment in this process; runs that are already stored are reused."""
        experiment_id = (
            experiment if isinstance(experiment, str) else self._records.add_experiment(experiment, task)
        )
        info = self.experiment(experiment_id)
        self._stages.check(info.experiment)
        self._make(info, progress, keep, task)
        return self.experiment(experiment_id)

    def list(self, limit: int = 200, *, experiment: str | None = None) -> RunList:
        """Runs, of one experiment or of all, the newest first."""
        query = select(RunRow).order_by(RunRow.created.desc(), RunRow.id).limit(limit)
        if experiment is not None:
            query = query.where(RunRow.experiment == experiment)
        with self._database.read() as session:
            abandoned = left_by_dead(session)
            return [
                run_info(row, abandoned.get(row.id, RunState(row.state))) for row in session.scalars(query)
            ]

    def get(self, run: str) -> RunInfo:
        """Look a run up."""
        with self._database.read() as session:
            row = session.get(RunRow, checked_id(run, "run"))
            if row is None:
                raise NotFoundError("There is no run with this id.", "Choose a run from the list.")
            return run_info(row, left_by_dead(session).get(run, RunState(row.state)))

    def result(self, run: str) -> RunResult:
        """Return a run's result, with its jobs."""
        info = self.get(run)
        if info.summary is None:
            raise ConflictError(f"The run is {info.state}, so it has no result.", "Choose one that is done.")
        with self._database.read() as session:
            jobs = session.scalars(select(RunRow.jobs).where(RunRow.id == run)).first()
        return RunResult.from_dict({**info.summary, "jobs": list(jobs or [])})

    def delete(self, runs: Collection[str]) -> int:
        """Remove runs with their ledgers, but not reports on them; returns how many."""
        for run in runs:
            if self.get(run).state is RunState.RUNNING:
                raise ConflictError("A run in progress cannot be removed.", "Cancel its task first.")
        return self._records.delete_runs(runs)

    def count(self) -> int:
        """Return the number of experiments."""
        with self._database.read() as session:
            return session.scalars(select(func.count()).select_from(ExperimentRow)).one()

    def experiments(self, limit: int = 100) -> ExperimentList:
        """Return the experiments that were submitted or run, the newest first."""
        query = select(ExperimentRow).order_by(ExperimentRow.created.desc(), ExperimentRow.id).limit(limit)
        with self._database.read() as session:
            return [experiment_info(row, from_dict(row.facts)) for row in session.scalars(query)]

    def experiment(self, experiment: str) -> ExperimentInfo:
        """Look an experiment up."""
        with self._database.read() as session:
            row = session.get(ExperimentRow, checked_id(experiment, "experiment"))
        if row is None:
            raise NotFoundError("There is no experiment with this id.", "Choose an experiment from the list.")
        return experiment_info(row, from_dict(row.facts))

    def delete_experiment(self, experiment: str) -> int:
        """Remove an experiment with its runs; return the number of runs."""
        info = self.experiment(experiment)
        runs = [run.id for run in self.list(1_000_000, experiment=info.id)]
        removed = self.delete(runs)
        self._records.delete_experiment(info.id)
        return removed

    def learning(self, run: str, step: float, end: float) -> Lines:
        """Loss and growth of a run's jobs on common intervals, from its ledger."""
        info = self.get(run)
        if not info.ticks:
            raise NotFoundError("The ledger of this run was not saved.", "Run it again and save its ledger.")
        learning = Learning()
        for entry in self.ledgers.entries(info.id):
            learning.add(entry)
        return learning.lines(step, end)

    def replay(self, run: str) -> Differences:
        """Show a run's policy its ledger again; returns the decisions that differ from the recorded ones."""
        info = self.get(run)
        if not info.ticks:
            raise NotFoundError("The ledger of this run was not saved.", "Run it again and save its ledger.")
        return replay_arm(info.policy, info.settings, info.seed, self.ledgers.entries(run), self._ready)

    def sweep(self) -> int:
        """Give runs of killed processes their real state; returns how many."""
        self._tasks.reap()
        return self._records.settle_abandoned()

    def remove_left(self) -> int:
        """Remove the containers that killed runs left on engines; returns how many."""
        return self._stages.remove_left(self._records.ended)

    def _make(self, info: ExperimentInfo, progress: Progress | None, keep: Keep, task: str | None) -> None:
        """Make the runs that are missing, then the report."""
        experiment = info.experiment
        plan = [(arm, seed) for seed in experiment.seeds for arm in experiment.policies]
        runs: list[tuple[str, int, str]] = []
        for at, (arm, seed) in enumerate(plan, 1):
            say = _part_progress(progress, at - 1, len(plan), f"{arm.label}, seed {seed}")
            with_ledger = _has_ledger(experiment, keep, seed)
            runs.append((arm.label, seed, self._run(info, arm, seed, with_ledger, say, task)))
            if at % len(experiment.policies) == 0:
                self._records.set_runs(info.id, runs)
        self._records.set_report(info.id, self._report(experiment, runs))

    def _report(self, experiment: Experiment, runs: Sequence[tuple[str, int, str]]) -> dict[str, Any]:
        results: dict[str, dict[int, RunResult]] = {arm.label: {} for arm in experiment.policies}
        for label, seed, run in runs:
            results[label][seed] = self.result(run)
        comparison = compare(results, experiment.baseline)
        return {"comparison": comparison, "baseline": experiment.baseline} | self._predict_runs(
            experiment, runs
        )

    def _predict_runs(self, experiment: Experiment, runs: Sequence[tuple[str, int, str]]) -> dict[str, Any]:
        """Return the simulator's prediction of real runs; empty for simulated ones."""
        if not experiment.real:
            return {}
        ledgers = {
            seed: [entry.observation for entry in self.ledgers.entries(run)]
            for label, seed, run in runs
            if label == experiment.baseline
        }
        prediction = predict(experiment, ledgers, run_scenario)
        return {} if prediction is None else {"predicted": prediction.to_dict()}

    def _run(
        self,
        info: ExperimentInfo,
        arm: Arm,
        seed: int,
        keep: bool,
        say: Callable[[float], None],
        task: str | None,
    ) -> str:
        """Make a run unless it is stored; return its id."""
        say(0.0)
        key = run_key(info.experiment, arm, seed, info.id)
        stored = self._records.find(key, keep)
        if stored is not None:
            return stored
        scenario = scenario_key(info.experiment)
        origin = Origin(info, arm, seed, scenario, key, task)
        return self._run_with_ledger(origin, say) if keep else self._run_without(origin, say)

    def _run_without(self, origin: Origin, say: Callable[[float], None]) -> str:
        """Write a run only once it is done, in one go."""
        experiment, arm, seed = origin.info.experiment, origin.arm, origin.seed
        n, stage = experiment.n_jobs, self._stages.simulated(experiment, arm, seed)
        result = run_arm(experiment, arm, seed, lambda _, outcome: say(outcome.ended / n), stage)
        return self._records.add_run(origin, RunState.DONE, result)

    def _run_with_ledger(self, origin: Origin, say: Callable[[float], None]) -> str:
        """Add the row first, so that its ledger can be read while it grows; return the run's id."""
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
        ledger, series, n = self.ledgers.writer(run), Series(), experiment.n_jobs
        real, share = experiment.real, 0.0

        def listen(entry: Entry, outcome: Outcome) -> None:
            nonlocal share
            ledger.add(entry)
            if real:
                ledger.flush()
            series.add(entry)
            share = outcome.ended / n
            say(share)

        try:
            with self._stages.open(experiment, arm, seed, run, lambda: say(share)) as stage:
                result = run_arm(experiment, arm, seed, listen, stage)
        finally:
            ledger.flush()
        self.ledgers.keep_series(run, series.to_dict())
        self._records.end(run, RunState.DONE, result)
