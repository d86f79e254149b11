"""Running an experiment: every policy on every missing seed, then the report.

Real runs are told apart from simulated ones here: they always keep their ledgers, and the simulator says what
it would have expected of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.experiments.predicting import predict
from core.runs.compare import report
from core.runs.runner import run_scenario
from core.runs.values import Keep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from core.experiments.outcome import RunResult
    from core.experiments.spec import Experiment
    from core.progress_reporting import Progress
    from core.runs.records import RunRecords
    from core.runs.run_writer import RunWriter
    from core.runs.values import ExperimentInfo
    from core.scheduling.loop import Entry


class ExperimentMaker:
    """Makes the runs of experiments and their reports.

    Parameters
    ----------
    records
        Where experiments and runs are.
    writer
        Makes one run and keeps it.
    result, entries
        A run's result, and the entries of its ledger, by its id.
    """

    def __init__(
        self,
        records: RunRecords,
        writer: RunWriter,
        result: Callable[[str], RunResult],
        entries: Callable[[str], Iterator[Entry]],
    ) -> None:
        self._records = records
        self._writer = writer
        self._result = result
        self._entries = entries

    def make(
        self,
        info: ExperimentInfo,
        progress: Progress | None = None,
        keep: Keep = Keep.FIRST,
        task: str | None = None,
    ) -> None:
        """Make the runs that are missing, then the report.

        Parameters
        ----------
        info
            The experiment.
        progress
            Called as the work proceeds; it may raise to stop it.
        keep
            Which runs keep their ledgers.
        task
            The task that this runs in.

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
            runs.append((arm.label, seed, self._writer.run(info, arm, seed, wanted, say, task)))
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
            seed: [entry.observation for entry in self._entries(run)]
            for label, seed, run in runs
            if label == experiment.baseline
        }
        made = predict(experiment, ledgers, run_scenario)
        return {} if made is None else {"predicted": made.to_dict()}


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
