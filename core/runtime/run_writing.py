"""Making one run: its row first, its ledger as it goes, its result at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import Cancelled
from core.experiments.series import Series
from core.runtime.run_infos import RunState
from core.runtime.run_records import Origin
from core.runtime.simulating import run_arm, run_key, scenario_key
from core.runtime.task_context import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.experiments.outcome import Outcome
    from core.experiments.spec import Arm
    from core.runtime.database import Database
    from core.runtime.ledgers import Ledgers
    from core.runtime.run_infos import ExperimentInfo
    from core.runtime.run_records import RunRecords
    from core.scheduling.loop import Entry


class RunWriter:
    """Makes runs and writes them down.

    Parameters
    ----------
    database, ledgers, records
        Where.
    """

    def __init__(self, database: Database, ledgers: Ledgers, records: RunRecords) -> None:
        self._database = database
        self._ledgers = ledgers
        self._records = records

    def run(
        self,
        info: ExperimentInfo,
        arm: Arm,
        seed: int,
        keep: bool,
        say: Callable[[float], None],
        task: str | None,
    ) -> str:
        """Make one run, or find it; gives its id.

        Parameters
        ----------
        info
            The experiment.
        arm, seed
            What to run.
        keep
            Whether its ledger and its lines over time are to be kept.
        say
            Called with the share that is done; it may raise to stop the run.
        task
            The task that this is part of.
        """
        say(0.0)
        key = run_key(info.experiment, arm, seed)
        found = self._records.find(key, keep)
        if found is not None:
            return found
        scenario = scenario_key(info.experiment)
        origin = Origin(info, arm, seed, scenario, key, task)
        return self._with_ledger(origin, say) if keep else self._without(origin, say)

    def _without(self, origin: Origin, say: Callable[[float], None]) -> str:
        """Only a run that was done is written, in one go."""
        n = origin.info.experiment.n_jobs
        result = run_arm(
            origin.info.experiment, origin.arm, origin.seed, lambda _, outcome: say(outcome.ended / n)
        )
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
        experiment = origin.info.experiment
        ledger, series, n = self._ledgers.writer(run), Series(), experiment.n_jobs

        def listen(entry: Entry, outcome: Outcome) -> None:
            ledger.add(entry)
            series.add(entry)
            say(outcome.ended / n)

        try:
            result = run_arm(experiment, origin.arm, origin.seed, listen)
        finally:
            ledger.flush()
        self._ledgers.keep_series(run, series.to_dict())
        self._records.end(run, RunState.DONE, result)
