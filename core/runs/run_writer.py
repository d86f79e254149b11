"""Making one run: its row first, its ledger as it goes, its result at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import Cancelled, Interrupted
from core.experiments.series import Series
from core.runs.records import Origin
from core.runs.runner import run_arm, run_key, scenario_key
from core.workspace.records import RunState

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.experiments.outcome import Outcome
    from core.experiments.spec import Arm
    from core.runs.records import RunRecords
    from core.runs.stages import Stages
    from core.runs.values import ExperimentInfo
    from core.scheduling.loop import Entry
    from core.workspace.ledgers import Ledgers


class RunWriter:
    """Makes runs and writes them down.

    Parameters
    ----------
    ledgers, records
        Where to write.
    worlds
        Opens the engines that runs take place on.
    """

    def __init__(self, ledgers: Ledgers, records: RunRecords, worlds: Stages) -> None:
        self._ledgers = ledgers
        self._records = records
        self._worlds = worlds

    def run(
        self,
        info: ExperimentInfo,
        arm: Arm,
        seed: int,
        keep: bool,
        say: Callable[[float], None],
        task: str | None,
    ) -> str:
        """Make one run, or find it; returns its id.

        Parameters
        ----------
        info
            The experiment.
        arm, seed
            What to run.
        keep
            Whether its ledger and its time series are to be kept.
        say
            Called with the share that is done; it may raise to stop the run.
        task
            The task that this is part of.
        """
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
        n, stage = experiment.n_jobs, self._worlds.simulated(experiment, arm, seed)
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
            with self._worlds.open(experiment, arm, seed, run, lambda: say(done)) as stage:
                result = run_arm(experiment, arm, seed, listen, stage)
        finally:
            ledger.flush()
        self._ledgers.keep_series(run, series.to_dict())
        self._records.end(run, RunState.DONE, result)
