"""From a file's columns to a checked trace set.

The steps; each first checks whether there is anything to do (for a clean file none of them copies
a column), and records in the report what it did:

1. rows without execution or time are dropped,
2. rows are grouped by execution and sorted by time; of equal times the last row stays,
3. impossible numbers (infinite, negative usage, absurdly large) are removed,
4. growing counters become usage per second, file units become canonical ones,
5. missing cells are filled with the execution's last value, or the row is dropped,
6. samples are resampled to the sampling period, and executions that are too short are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.build.cleaning import clean
from core.traces.build.finishing import finished
from core.traces.build.working import Working
from core.traces.validation import ProblemLog, Report, UnusableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.traces.mapping import ColumnMapping
    from core.traces.model import TraceSet
    from core.traces.raw import RawTable


def build(
    raw: RawTable, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
) -> tuple[TraceSet, Report]:
    """Check a file's columns and make a trace set of them.

    Raises
    ------
    UnusableError
        If no execution is left; its report says why.
    InputError
        If resampling would not fit into memory.
    """
    say = progress or _silent
    log = ProblemLog()
    log.extend(raw.problems)
    say(0.0, "Checking the rows")
    work = checked(raw, mapping, log)
    say(0.5, "Resampling to one period")
    traces, rows_kept = finished(work.recorded(), mapping, log, work.row_of)
    report = Report(log.problems, raw.rows_read, rows_kept, traces.n_executions)
    require(traces.n_executions > 0, log, raw.rows_read)
    say(1.0, "Checked")
    return traces, report


def record(
    raw: RawTable, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
) -> tuple[TraceSet, Report]:
    """As `build`, but the samples stay as they were recorded: other files are to be joined to them.

    Raises
    ------
    UnusableError
        If no row is left; its report says why.
    """
    log = ProblemLog()
    log.extend(raw.problems)
    (progress or _silent)(0.0, "Checking the rows")
    work = checked(raw, mapping, log)
    traces = work.recorded()
    return traces, Report(log.problems, raw.rows_read, work.n, traces.n_executions)


def checked(raw: RawTable, mapping: ColumnMapping, log: ProblemLog) -> Working:
    """The rows of a file after every check, in canonical units and as they were recorded.

    Raises
    ------
    UnusableError
        If no row is left.
    """
    work = Working.of(raw, mapping, log)
    clean(work)
    require(work.n > 0, log, raw.rows_read)
    return work


def _silent(_share: float, _message: str) -> None:
    pass


def require(usable: bool, log: ProblemLog, rows_read: int) -> None:
    """Raise if nothing is left, with the reason that matters most.

    Raises
    ------
    UnusableError
        If nothing is `usable`.
    """
    if usable:
        return
    report = Report(log.problems, rows_read)
    sentences = report.sentences()
    if rows_read == 0:
        raise UnusableError("The file has no rows below its header.", "Choose a file with samples.", report)
    hint = sentences[0] if sentences else "Check the mapping."
    raise UnusableError(f"None of the {rows_read:,} rows could be used.", hint, report)
