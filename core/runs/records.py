"""The rows of experiments and runs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, func, or_, select, update

from core.errors import NotFoundError
from core.experiments.reading.experiment import from_dict
from core.runs.values import experiment_info, run_info
from core.tasks.crashed_workers import lost_tasks
from core.workspace.files import new_id
from core.workspace.records import RunState, TaskState
from core.workspace.tables import ExperimentRow, RunRow, TaskRow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import ColumnElement
    from sqlalchemy.orm import Session

    from core.experiments.outcome import RunResult
    from core.experiments.spec import Arm, Experiment
    from core.runs.values import ExperimentInfo, RunInfo
    from core.workspace.database import Database

_FORGOTTEN = 3600.0
_ENDINGS = {
    TaskState.FAILED.value: RunState.FAILED,
    TaskState.CANCELLED.value: RunState.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Origin:
    """What a run is made of.

    Parameters
    ----------
    info
        The experiment that asks for it.
    arm, seed
        The policy with its settings, and the seed.
    scenario, key
        The digests of what all policies meet, and of everything that the run depends on.
    task
        The task that it is part of, or None.
    """

    info: ExperimentInfo
    arm: Arm
    seed: int
    scenario: str
    key: str
    task: str | None


class RunRecords:
    """Reads and writes rows of experiments and runs.

    Parameters
    ----------
    database
        Where they are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add_experiment(self, experiment: Experiment, task: str | None) -> str:
        """Note an experiment; returns its id."""
        row = ExperimentRow(
            id=new_id(),
            name=experiment.name,
            created=time.time(),
            task=task,
            facts=experiment.to_dict(),
            runs=[],
            report=None,
        )
        with self._database.write() as session:
            session.add(row)
        return row.id

    def set_task(self, experiment: str, task: str) -> None:
        """Note which task runs an experiment."""
        self._change(experiment, task=task)

    def set_runs(self, experiment: str, runs: Sequence[tuple[str, int, str]]) -> None:
        """Note the runs of an experiment: (label, seed, id)."""
        self._change(experiment, runs=[list(run) for run in runs])

    def set_report(self, experiment: str, report: dict[str, Any]) -> None:
        """Note what an experiment's runs say when they are compared."""
        self._change(experiment, report=report)

    def experiment(self, experiment: str) -> ExperimentInfo:
        """Look an experiment up.

        Raises
        ------
        NotFoundError
            If there is none of this id.
        """
        with self._database.read() as session:
            row = session.get(ExperimentRow, experiment)
        if row is None:
            raise NotFoundError("There is no experiment with this id.", "Choose an experiment from the list.")
        return experiment_info(row, from_dict(row.facts))

    def count(self) -> int:
        """How many experiments there are."""
        with self._database.read() as session:
            return session.scalars(select(func.count()).select_from(ExperimentRow)).one()

    def experiments(self, limit: int) -> list[ExperimentInfo]:
        """Experiments, the newest first."""
        query = select(ExperimentRow).order_by(ExperimentRow.created.desc(), ExperimentRow.id).limit(limit)
        with self._database.read() as session:
            return [experiment_info(row, from_dict(row.facts)) for row in session.scalars(query)]

    def delete_experiment(self, experiment: str) -> None:
        """Remove an experiment's row."""
        with self._database.write() as session:
            session.execute(delete(ExperimentRow).where(ExperimentRow.id == experiment))

    def find(self, key: str, with_ledger: bool) -> str | None:
        """The id of a run that was made already and is done, or None."""
        query = select(RunRow.id).where(RunRow.key == key, RunRow.state == RunState.DONE)
        if with_ledger:
            query = query.where(RunRow.entries > 0)
        with self._database.read() as session:
            return session.scalars(query.order_by(RunRow.created)).first()

    def add_run(self, origin: Origin, state: RunState, result: RunResult | None = None) -> str:
        """Note a run that begins, or one that is done; returns its id."""
        row = RunRow(
            id=new_id(),
            experiment=origin.info.id,
            name=origin.info.name,
            label=origin.arm.label,
            policy=origin.arm.policy,
            settings=dict(origin.arm.settings),
            seed=origin.seed,
            scenario=origin.scenario,
            key=origin.key,
            state=state,
            task=origin.task,
            created=time.time(),
            entries=0,
            **_came_to(result),
        )
        with self._database.write() as session:
            session.add(row)
        return row.id

    def end(self, run: str, state: RunState, result: RunResult | None = None) -> None:
        """Note how a run ended, and its result."""
        values = {"state": state, **_came_to(result)}
        with self._database.write() as session:
            session.execute(update(RunRow).where(RunRow.id == run).values(**values))

    def run(self, run: str) -> RunInfo:
        """Look a run up.

        Raises
        ------
        NotFoundError
            If there is none of this id.
        """
        with self._database.read() as session:
            row = session.get(RunRow, run)
            if row is None:
                raise NotFoundError("There is no run with this id.", "Choose a run from the list.")
            return run_info(row, _left(session).get(run, RunState(row.state)))

    def runs(
        self,
        limit: int,
        *,
        experiment: str | None,
        policy: str | None,
        seed: int | None,
        state: RunState | None,
        text: str,
    ) -> list[RunInfo]:
        """Runs, the newest first; see `core.runs.service.Runs.list`."""
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
            left = _left(session)
            if state is not None:
                query = query.where(_shown_as(state, left))
            return [run_info(row, left.get(row.id, RunState(row.state))) for row in session.scalars(query)]

    def jobs(self, run: str) -> list[dict[str, Any]]:
        """The outcomes of a run's jobs as plain values; none if it is not done."""
        with self._database.read() as session:
            return list(session.scalars(select(RunRow.jobs).where(RunRow.id == run)).first() or [])

    def delete_runs(self, runs: Collection[str]) -> int:
        """Remove runs and, with them, their ledgers; returns how many."""
        with self._database.write() as session:
            gone = session.execute(delete(RunRow).where(RunRow.id.in_(list(runs))).returning(RunRow.id)).all()
        return len(gone)

    def ended(self, runs: Collection[str]) -> frozenset[str]:
        """Those of some ids that are runs of this workspace and have ended."""
        query = select(RunRow.id).where(RunRow.id.in_(list(runs)), RunRow.state != RunState.RUNNING)
        with self._database.read() as session:
            return frozenset(session.scalars(query))

    def settle(self) -> int:
        """Give abandoned runs, whose process died, the state that they are really in; returns how many."""
        with self._database.read() as session:
            left = _left(session)
        if left:
            with self._database.write() as session:
                for run, state in left.items():
                    still = (RunRow.id == run, RunRow.state == RunState.RUNNING)
                    session.execute(update(RunRow).where(*still).values(state=state))
        return len(left)

    def _change(self, experiment: str, **values: Any) -> None:
        with self._database.write() as session:
            session.execute(update(ExperimentRow).where(ExperimentRow.id == experiment).values(**values))


def _came_to(result: RunResult | None) -> dict[str, Any]:
    if result is None:
        return {"summary": None, "jobs": None}
    plain = result.to_dict()
    jobs = list(plain.pop("jobs"))
    return {"summary": plain, "jobs": jobs}


def _shown_as(state: RunState, left: Mapping[str, RunState]) -> ColumnElement[bool]:
    """The condition that a run is shown in a state, whatever its row still says."""
    inside = [run for run, now in left.items() if now is state]
    return or_(and_(RunRow.state == state, RunRow.id.not_in(list(left))), RunRow.id.in_(inside))


def _left(session: Session) -> dict[str, RunState]:
    """Abandoned runs whose rows still say that they run, by id, with the state that they are really in."""
    running = RunRow.state == RunState.RUNNING
    query = select(RunRow.id, RunRow.task, RunRow.created, TaskRow.state).outerjoin(
        TaskRow, RunRow.task == TaskRow.id
    )
    rows = session.execute(query.where(running)).all()
    lost = lost_tasks(session) if rows else {}
    found = {}
    for run, task, created, stored in rows:
        if task is None:
            if time.time() - created > _FORGOTTEN:
                found[run] = RunState.INTERRUPTED
            continue
        now = lost[task].state if task in lost else stored
        if now not in (TaskState.QUEUED, TaskState.RUNNING):
            found[run] = _ENDINGS.get(now or "", RunState.INTERRUPTED)
    return found
