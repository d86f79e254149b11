"""Experiments and their runs: asked for as tasks, kept run by run, shown, compared and replayed.

A run depends on nothing but its scenario, its policy with settings, and its seed, so it is kept under the
digest of these: an experiment that was stopped, or that shares arms with another, makes only what is missing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import and_, func, or_, select

from core.errors import ConflictError, NotFoundError
from core.experiments.measures.learning import Learning
from core.experiments.outcome import RunResult
from core.experiments.reading.experiment import from_dict
from core.runs.making import RunMaker, report, side_by_side
from core.runs.records import RunRecords, left_by_dead
from core.runs.runner import replay_arm
from core.runs.values import Keep, experiment_info, run_info
from core.workspace.files import checked_id
from core.workspace.ledgers import Ledgers
from core.workspace.records import RunState
from core.workspace.tables import ExperimentRow, RunRow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from sqlalchemy import ColumnElement

    from core.experiments.measures.learning import Lines
    from core.experiments.spec import Experiment
    from core.progress_reporting import Progress
    from core.runs.stages import Stages
    from core.runs.values import ExperimentInfo, RunInfo
    from core.scheduling.loop import Difference
    from core.tasks.store import Tasks
    from core.workspace.database import Database

    RunList: TypeAlias = list[RunInfo]
    ExperimentList: TypeAlias = list[ExperimentInfo]
    Differences: TypeAlias = list[Difference]


class Runs:
    """The experiments and runs of a workspace."""

    def __init__(self, database: Database, tasks: Tasks, stages: Stages, ready: Callable[[Any], Any]) -> None:
        self._ready = ready
        self._database = database
        self._tasks = tasks
        self._stages = stages
        self._records = RunRecords(database)
        self.ledgers = Ledgers(database)
        self._maker = RunMaker(self._records, self.ledgers, stages, self.result)

    def submit(self, experiment: Experiment, keep: Keep = Keep.FIRST, title: str | None = None) -> str:
        """Submit an experiment; returns the task's id. Its parameters and result name the ``experiment``."""
        self._stages.check(experiment)
        made = self._records.add_experiment(experiment, task=None)
        params = {"experiment": made, "keep": keep.value}
        task = self._tasks.submit("simulate", title or f"Simulate {experiment.name}", params)
        self._records.set_task(made, task)
        return task

    def make(
        self,
        experiment: Experiment | str,
        progress: Progress | None = None,
        keep: Keep = Keep.FIRST,
        task: str | None = None,
    ) -> ExperimentInfo:
        """Run an experiment here and now; runs that are kept already are not made again.

        Raises
        ------
        NotFoundError
            If there is no experiment of that id.
        ConflictError
            If a policy leaves jobs that can never end.
        """
        known = experiment if isinstance(experiment, str) else self._records.add_experiment(experiment, task)
        info = self.experiment(known)
        self._stages.check(info.experiment)
        self._maker.make(info, progress, keep, task)
        return self.experiment(known)

    def list(
        self,
        limit: int = 200,
        *,
        experiment: str | None = None,
        policy: str | None = None,
        seed: int | None = None,
        state: RunState | None = None,
        text: str = "",
    ) -> RunList:
        """Runs, the newest first."""
        query = select(RunRow).order_by(RunRow.created.desc(), RunRow.id).limit(limit)
        wanted = {"experiment": experiment, "policy": policy, "seed": seed}
        for name, value in wanted.items():
            if value is not None:
                query = query.where(getattr(RunRow, name) == value)
        if text.strip():
            like = text.strip().lower()
            query = query.where(
                or_(
                    func.lower(RunRow.name).contains(like, autoescape=True),
                    func.lower(RunRow.label).contains(like, autoescape=True),
                )
            )
        with self._database.read() as session:
            left = left_by_dead(session)
            if state is not None:
                query = query.where(_shown_as(state, left))
            return [run_info(row, left.get(row.id, RunState(row.state))) for row in session.scalars(query)]

    def get(self, run: str) -> RunInfo:
        """Look a run up.

        Raises
        ------
        NotFoundError
            If there is none of this id.
        """
        with self._database.read() as session:
            row = session.get(RunRow, checked_id(run, "run"))
            if row is None:
                raise NotFoundError("There is no run with this id.", "Choose a run from the list.")
            return run_info(row, left_by_dead(session).get(run, RunState(row.state)))

    def result(self, run: str) -> RunResult:
        """A run's result, with its jobs.

        Raises
        ------
        NotFoundError
            If there is none of this id.
        ConflictError
            If it is not done.
        """
        info = self.get(run)
        if info.summary is None:
            raise ConflictError(f"The run is {info.state}, so it has no result.", "Choose one that is done.")
        with self._database.read() as session:
            jobs = session.scalars(select(RunRow.jobs).where(RunRow.id == run)).first()
        return RunResult.from_dict({**info.summary, "jobs": list(jobs or [])})

    def delete(self, runs: Collection[str]) -> int:
        """Remove runs with their ledgers; comparisons that were made with them are kept. Returns how many.

        Raises
        ------
        ConflictError
            If one of them is under way.
        """
        for run in runs:
            if self.get(run).state is RunState.RUNNING:
                raise ConflictError("A run in progress cannot be removed.", "Cancel its task first.")
        return self._records.delete_runs(runs)

    def count(self) -> int:
        """How many experiments there are."""
        with self._database.read() as session:
            return session.scalars(select(func.count()).select_from(ExperimentRow)).one()

    def experiments(self, limit: int = 100) -> ExperimentList:
        """The experiments that were asked for, the newest first."""
        query = select(ExperimentRow).order_by(ExperimentRow.created.desc(), ExperimentRow.id).limit(limit)
        with self._database.read() as session:
            return [experiment_info(row, from_dict(row.facts)) for row in session.scalars(query)]

    def experiment(self, experiment: str) -> ExperimentInfo:
        """Look an experiment up.

        Raises
        ------
        NotFoundError
            If there is none of this id.
        """
        with self._database.read() as session:
            row = session.get(ExperimentRow, checked_id(experiment, "experiment"))
        if row is None:
            raise NotFoundError("There is no experiment with this id.", "Choose an experiment from the list.")
        return experiment_info(row, from_dict(row.facts))

    def delete_experiment(self, experiment: str) -> int:
        """Remove an experiment and the runs that it made; returns how many runs there were.

        Raises
        ------
        ConflictError
            If one of its runs is under way.
        """
        info = self.experiment(experiment)
        own = [run.id for run in self.list(1_000_000, experiment=info.id)]
        removed = self.delete(own)
        self._records.delete_experiment(info.id)
        return removed

    def compare(self, runs: Sequence[str], baseline: str) -> dict[str, Any]:
        """Any runs side by side, grouped by their labels.

        Raises
        ------
        NotFoundError
            If a run does not exist.
        ConflictError
            If one is not done.
        """
        if baseline not in runs:
            raise NotFoundError("The baseline is not among these runs.", "Choose one of them as baseline.")
        infos = [self.get(run) for run in runs]
        return side_by_side(infos, {info.id: self.result(info.id) for info in infos}, baseline)

    def against(self, experiment: str, baseline: str) -> dict[str, Any]:
        """An experiment's report with another baseline; as `ExperimentInfo.report`.

        Raises
        ------
        NotFoundError
            If there is no such experiment, no such label, or one of its runs was removed.
        ConflictError
            If its runs are not all done.
        """
        info = self.experiment(experiment)
        if info.report is None:
            raise ConflictError("The experiment is not finished, so it has no report.", "Wait for its task.")
        if baseline not in info.runs:
            raise NotFoundError(
                f"The experiment has no policy labelled “{baseline}”.", f"It has: {', '.join(info.runs)}."
            )
        runs = [(label, seed, run) for label, by_seed in info.runs.items() for seed, run in by_seed.items()]
        return report(replace(info.experiment, baseline=baseline), runs, self.result)

    def learning(self, run: str, step: float, end: float) -> Lines:
        """Loss and growth of a run's jobs on common intervals, from its ledger.

        Raises
        ------
        NotFoundError
            If its ledger was not kept.
        """
        info = self.get(run)
        if not info.ticks:
            raise NotFoundError("The ledger of this run was not saved.", "Run it again and save its ledger.")
        made = Learning()
        for entry in self.ledgers.entries(info.id):
            made.add(entry)
        return made.lines(step, end)

    def replay(self, run: str) -> Differences:
        """Show a run's policy its ledger again; returns the decisions that differ from the recorded ones.

        Raises
        ------
        NotFoundError
            If the run's ledger was not kept, or its policy does not exist any more.
        """
        info = self.get(run)
        if not info.ticks:
            raise NotFoundError("The ledger of this run was not saved.", "Run it again and save its ledger.")
        return replay_arm(info.policy, info.settings, info.seed, self.ledgers.entries(run), self._ready)

    def sweep(self) -> int:
        """Settle the runs that killed processes abandoned; returns how many."""
        self._tasks.reap()
        return self._records.settle()

    def remove_left(self) -> int:
        """Remove the containers that killed runs left on engines; returns how many."""
        return self._stages.remove_left(self._records.ended)


def _shown_as(state: RunState, left: Mapping[str, RunState]) -> ColumnElement[bool]:
    """The condition that a run is shown in a state, whatever its row still says."""
    inside = [run for run, now in left.items() if now is state]
    return or_(and_(RunRow.state == state, RunRow.id.not_in(list(left))), RunRow.id.in_(inside))
