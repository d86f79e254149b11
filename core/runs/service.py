"""Experiments and their runs: asked for as tasks, kept run by run, shown, compared and replayed.

A run depends on nothing but its scenario, its policy with settings, and its seed, so it is kept under the
digest of these: an experiment that was stopped, or that shares arms with another, makes only what is missing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from core.errors import ConflictError, NotFoundError
from core.experiments.measures.learning import Learning
from core.experiments.outcome import RunResult
from core.runs.compare import report, side_by_side
from core.runs.making import ExperimentMaker
from core.runs.records import RunRecords
from core.runs.run_writer import RunWriter
from core.runs.runner import replay_arm
from core.runs.values import Keep
from core.workspace.files import checked_id
from core.workspace.ledgers import Ledgers, Tick
from core.workspace.records import RunState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from core.experiments.measures.learning import Lines
    from core.experiments.spec import Experiment
    from core.progress_reporting import Progress
    from core.runs.stages import Stages
    from core.runs.values import ExperimentInfo, RunInfo
    from core.scheduling.loop import Difference, Entry
    from core.tasks.store import Tasks
    from core.workspace.database import Database

    RunList: TypeAlias = list[RunInfo]
    ExperimentList: TypeAlias = list[ExperimentInfo]
    TickList: TypeAlias = list[Tick]
    Differences: TypeAlias = list[Difference]


class Runs:
    """The experiments and runs of a workspace.

    Parameters
    ----------
    database
        Where they are.
    tasks
        The work on them.
    worlds
        Opens the engines that they run on.
    ready
        Adds to a policy's settings what it steers by, where that has to be fitted.
    """

    def __init__(self, database: Database, tasks: Tasks, worlds: Stages, ready: Callable[[Any], Any]) -> None:
        self._ready = ready
        self._tasks = tasks
        self._worlds = worlds
        self._records = RunRecords(database)
        self._ledgers = Ledgers(database)
        writer = RunWriter(self._ledgers, self._records, worlds)
        self._maker = ExperimentMaker(self._records, writer, self.result, self.entries)

    def submit(self, experiment: Experiment, keep: Keep = Keep.FIRST, title: str | None = None) -> str:
        """Submit an experiment; returns the task's id. Its parameters and result name the ``experiment``.

        Parameters
        ----------
        experiment
            What to run.
        keep
            Which runs keep their ledgers: the first seed of each policy, all, or none.
        title
            What the task is called.
        """
        self._worlds.check(experiment)
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

        Parameters
        ----------
        experiment
            What to run, or the id of one that was asked for.
        progress
            Called as the work proceeds; it may raise to stop it.
        keep
            Which runs keep their ledgers.
        task
            The task that this runs in.

        Raises
        ------
        NotFoundError
            If there is no experiment of that id.
        ConflictError
            If a policy leaves jobs that can never end.
        """
        known = experiment if isinstance(experiment, str) else self._records.add_experiment(experiment, task)
        info = self.experiment(known)
        self._worlds.check(info.experiment)
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
        """Runs, the newest first.

        Parameters
        ----------
        limit
            The largest number of runs.
        experiment, policy, seed, state
            Only those of this experiment id, policy name, seed or state.
        text
            Only those whose experiment's name or label contains it.
        """
        return self._records.runs(
            limit, experiment=experiment, policy=policy, seed=seed, state=state, text=text
        )

    def get(self, run: str) -> RunInfo:
        """Look a run up.

        Raises
        ------
        NotFoundError
            If there is none of this id.
        """
        return self._records.run(checked_id(run, "run"))

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
        return RunResult.from_dict({**info.summary, "jobs": self._records.jobs(run)})

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
        return self._records.count()

    def experiments(self, limit: int = 100) -> ExperimentList:
        """The experiments that were asked for, the newest first."""
        return self._records.experiments(limit)

    def experiment(self, experiment: str) -> ExperimentInfo:
        """Look an experiment up.

        Raises
        ------
        NotFoundError
            If there is none of this id.
        """
        return self._records.experiment(checked_id(experiment, "experiment"))

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

        Parameters
        ----------
        runs
            Ids of runs that are done.
        baseline
            The id of one of them; the others are compared with all runs of its label.

        Returns
        -------
        dict
            ``comparison`` as `core.experiments.compare.compare` gives it, ``baseline`` (its label),
            ``labels`` (label by run id) and ``paired``: whether all met the same workers, jobs and rules.

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

    def ticks(self, run: str) -> TickList:
        """A run's ledger in short: when the policy was asked, why, and how much was done."""
        return self._ledgers.ticks(self.get(run).id)

    def ledger(self, run: str, tick: int) -> Entry:
        """One entry of a run's ledger, without loading the rest.

        Raises
        ------
        NotFoundError
            If there is no such run or tick, or its ledger was not kept.
        """
        return self._ledgers.entry(self.get(run).id, tick)

    def entries(self, run: str) -> Iterator[Entry]:
        """All entries of a run's ledger, in order."""
        return self._ledgers.entries(self.get(run).id)

    def series(self, run: str) -> dict[str, Any]:
        """A run's time series, as `core.experiments.series.Series.to_dict` gives them.

        Raises
        ------
        NotFoundError
            If they were not kept.
        """
        return self._ledgers.series(self.get(run).id)

    def learning(self, run: str, step: float, end: float) -> Lines:
        """Loss and growth of a run's jobs on common intervals, from its ledger.

        Parameters
        ----------
        run
            Its id.
        step, end
            The length of the intervals and the end of the last, seconds; the same for runs side by side.

        Raises
        ------
        NotFoundError
            If its ledger was not kept.
        """
        info = self.get(run)
        if not info.ticks:
            raise NotFoundError("The ledger of this run was not saved.", "Run it again and save its ledger.")
        made = Learning()
        for entry in self.entries(info.id):
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
        return replay_arm(info.policy, info.settings, info.seed, self.entries(run), self._ready)

    def sweep(self) -> int:
        """Settle the runs that killed processes abandoned; returns how many."""
        self._tasks.reap()
        return self._records.settle()

    def remove_left(self) -> int:
        """Remove the containers that killed runs left on engines; returns how many."""
        return self._worlds.remove_left(self._records.ended)
