"""The rows of experiments and runs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, update

from core.tasks.crashed_workers import lost_tasks
from core.workspace.database_schema import ExperimentRow, RunRow, TaskRow
from core.workspace.files import new_id
from core.workspace.records import RunState, TaskState

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy.orm import Session

    from core.experiments.outcome import RunResult
    from core.experiments.spec import Arm, Experiment
    from core.runs.values import ExperimentInfo
    from core.workspace.database import Database

_ABANDONED_AFTER = 3600.0
_ENDINGS = {
    TaskState.FAILED.value: RunState.FAILED,
    TaskState.CANCELLED.value: RunState.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Origin:
    """The experiment, policy and seed that a run depends on."""

    #: The experiment that it belongs to.
    info: ExperimentInfo
    #: The policy with its settings, and the seed.
    arm: Arm
    seed: int
    #: The digests of what all policies meet, and of everything that the run depends on.
    scenario: str
    key: str
    #: The task that it is part of, or None.
    task: str | None


class RunRecords:
    """Reads and writes rows of experiments and runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add_experiment(self, experiment: Experiment, task: str | None) -> str:
        """Store an experiment; returns its id."""
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
        """Store the task that runs an experiment."""
        self._change(experiment, task=task)

    def set_runs(self, experiment: str, runs: Sequence[tuple[str, int, str]]) -> None:
        """Store the runs of an experiment: (label, seed, id)."""
        self._change(experiment, runs=[list(run) for run in runs])

    def set_report(self, experiment: str, report: dict[str, Any]) -> None:
        """Store the comparison of an experiment's runs."""
        self._change(experiment, report=report)

    def delete_experiment(self, experiment: str) -> None:
        """Remove an experiment's row."""
        with self._database.write() as session:
            session.execute(delete(ExperimentRow).where(ExperimentRow.id == experiment))

    def find(self, key: str, with_ledger: bool) -> str | None:
        """Return the id of a stored, finished run, or None."""
        query = select(RunRow.id).where(RunRow.key == key, RunRow.state == RunState.DONE)
        if with_ledger:
            query = query.where(RunRow.entries > 0)
        with self._database.read() as session:
            return session.scalars(query.order_by(RunRow.created)).first()

    def add_run(self, origin: Origin, state: RunState, result: RunResult | None = None) -> str:
        """Store a run that begins, or one that is done; returns its id."""
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
            **_result_columns(result),
        )
        with self._database.write() as session:
            session.add(row)
        return row.id

    def end(self, run: str, state: RunState, result: RunResult | None = None) -> None:
        """Store the end state of a run, and its result."""
        values = {"state": state, **_result_columns(result)}
        with self._database.write() as session:
            session.execute(update(RunRow).where(RunRow.id == run).values(**values))

    def delete_runs(self, runs: Collection[str]) -> int:
        """Remove runs and, with them, their ledgers; returns how many."""
        with self._database.write() as session:
            deleted = session.execute(
                delete(RunRow).where(RunRow.id.in_(list(runs))).returning(RunRow.id)
            ).all()
        return len(deleted)

    def ended(self, runs: Collection[str]) -> frozenset[str]:
        """Return the ids that are ended runs of this workspace."""
        query = select(RunRow.id).where(RunRow.id.in_(list(runs)), RunRow.state != RunState.RUNNING)
        with self._database.read() as session:
            return frozenset(session.scalars(query))

    def settle_abandoned(self) -> int:
        """Give abandoned runs, whose process died, their real state; returns how many."""
        with self._database.read() as session:
            abandoned = left_by_dead(session)
        if abandoned:
            with self._database.write() as session:
                for run, state in abandoned.items():
                    still = (RunRow.id == run, RunRow.state == RunState.RUNNING)
                    session.execute(update(RunRow).where(*still).values(state=state))
        return len(abandoned)

    def _change(self, experiment: str, **values: Any) -> None:
        with self._database.write() as session:
            session.execute(update(ExperimentRow).where(ExperimentRow.id == experiment).values(**values))


def _result_columns(result: RunResult | None) -> dict[str, Any]:
    if result is None:
        return {"summary": None, "jobs": None}
    plain = result.to_dict()
    jobs = list(plain.pop("jobs"))
    return {"summary": plain, "jobs": jobs}


def left_by_dead(session: Session) -> dict[str, RunState]:
    """Return the real state of abandoned runs whose row still says running, by id."""
    running = RunRow.state == RunState.RUNNING
    query = select(RunRow.id, RunRow.task, RunRow.created, TaskRow.state).outerjoin(
        TaskRow, RunRow.task == TaskRow.id
    )
    rows = session.execute(query.where(running)).all()
    lost = lost_tasks(session) if rows else {}
    states = {}
    for run, task, created, stored in rows:
        if task is None:
            if time.time() - created > _ABANDONED_AFTER:
                states[run] = RunState.INTERRUPTED
            continue
        now = lost[task].state if task in lost else stored
        if now not in (TaskState.QUEUED, TaskState.RUNNING):
            states[run] = _ENDINGS.get(now or "", RunState.INTERRUPTED)
    return states
