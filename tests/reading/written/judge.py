"""Compares what was read of a file with what is true, and asks whether every difference is spoken of.

A verdict is ``right``, ``asked``, ``refused`` or a sentence that begins with ``wrong``: what is read differs
from what is true, and no problem, question or sentence about it names the column, the rows or the times.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from core.errors import PhaseDockError
from core.reading import inspect_file, read_with_report
from core.reading.mapping import INTERVAL, ColumnMapping
from core.traces.model import Role
from core.traces.validation import Severity
from tests.reading.written.sheets import CORES, values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from core.reading.inspection import Inspection
    from core.traces.model import Execution, TraceSet
    from core.traces.validation import Problem
    from tests.reading.written.sheets import Column, Sheet

RIGHT, ASKED, REFUSED, WRONG = "right", "asked", "refused", "wrong"
WORDS = {
    Role.CPU: ("cpu", "busy"),
    Role.MEMORY: ("memory", "mem", "rss", "real_mib"),
    Role.MEMORY_LIMIT: ("limit", "memory"),
    Role.CPU_LIMIT: ("limit",),
    Role.MEMORY_REQUEST: ("request",),
    Role.CPU_REQUEST: ("request",),
    Role.NETWORK_IN: ("net",),
    Role.GPU: ("gpu", "util", "sm"),
    Role.GPU_MEMORY: ("memory", "fb"),
    Role.GPU_POWER: ("power", "pwr"),
}
"""What names a role where the column itself is not named."""
TIME_KINDS = frozenset(
    ("unsorted", "duplicate_time", "starts_again", "gap", "mixed_periods", "missing_time", "unparsable_time",
     "past_midnight", "assumed_unit", "assumed_zone", "doubtful", "ragged", "other_header",
     "idle_rows", "too_short", "filled", "thinned", "irregular")
)  # fmt: skip


@dataclass(frozen=True)
class Damaged:
    """A file with a defect, and what of its sheet is no longer to be read.

    `cells` are (container, sample, role) whose value cannot be known any more, `rows` (container, sample)
    that are not there, and `gone` roles of which nothing can be known.
    """

    name: str
    data: bytes
    sheet: Sheet
    cells: frozenset[tuple[int, int, Role]] = frozenset()
    rows: frozenset[tuple[int, int]] = frozenset()
    gone: frozenset[Role] = frozenset()
    #: Whether times of day or their order cannot be known any more.
    odd_times: bool = False
    #: Parts that an execution's name has to have, in any order; () for the sheet's own names.
    parts: tuple[tuple[str, ...], ...] = ()
    #: Whether nothing says what the columns are, so that a name may be any.
    is_nameless: bool = False
    first: int | None = None
    others: dict[str, bytes] = field(default_factory=dict)


def write(folder: Path, damaged: Damaged) -> Path:
    path = folder / damaged.name
    path.write_bytes(damaged.data)
    return path


def judge(path: Path, damaged: Damaged, usual: frozenset[tuple[object, ...]] = frozenset()) -> str:
    """The verdict on a file; `usual` are the problems of the same file without its defect."""
    try:
        found = inspect_file(path)
        if found.mapping is None:
            return ASKED if found.reasons else f"{WRONG}: no mapping and no reason"
        if any(one.column != INTERVAL for one in found.questions):
            return ASKED
        mapping = _answer_interval(ColumnMapping.from_dict(found.mapping.to_dict()))
        traces, _ = read_with_report(path, replace(mapping or found.mapping, cores=float(CORES)))
        _, report = read_with_report(path, mapping)
    except PhaseDockError as error:
        return REFUSED if error.message and error.hint else f"{WRONG}: refused without a next step: {error}"
    problems = tuple(one for one in (*report.problems, *found.problems) if _key(one) not in usual)
    said = list(differences(traces, found, problems, damaged))
    silent = [sentence for sentence, is_spoken in said if not is_spoken]
    return f"{WRONG}: {silent[0]}" if silent else ASKED if said else RIGHT


def _answer_interval(mapping: ColumnMapping | None) -> ColumnMapping | None:
    """The mapping of a file without times, whose rows are 1 s apart; None for any other file."""
    is_open = mapping is not None and mapping.unknown == (INTERVAL,)
    return replace(mapping, period=1.0) if mapping is not None and is_open else None


def _key(one: Problem) -> tuple[object, ...]:
    return one.kind, one.column, one.count


def usual_problems(path: Path) -> frozenset[tuple[object, ...]]:
    """The problems of a file without a defect."""
    found = inspect_file(path)
    _, report = read_with_report(path, _answer_interval(found.mapping))
    return frozenset(map(_key, (*report.problems, *found.problems)))


def differences(
    traces: TraceSet, found: Inspection, problems: Sequence[Problem], damaged: Damaged
) -> Iterator[tuple[str, bool]]:
    """What is not as it is true, and whether the problems speak of it."""
    sheet, known = damaged.sheet, damaged.sheet.known
    loud = [one for one in problems if one.severity is not Severity.INFO]
    owners = _owners(traces, damaged)
    if owners is None:
        wanted = [sheet.executions(name) for name in known.names]
        said = any("execution" in one.sentence() or one.column == sheet.title for one in loud)
        said |= any(one.kind == "ragged" for one in loud)
        said |= any("No column names an execution" in one for one in found.reasons)
        yield f"executions {traces.ids} instead of {wanted}", said
        return
    rows_speak = any(
        one.kind in TIME_KINDS or ("row" in one.message.lower() and one.kind != "columns_unused")
        for one in problems
    )
    times_speak = any(one.kind in TIME_KINDS for one in problems) or any(
        "time" in one.message for one in loud
    )
    for column in sheet.lane_columns():
        features = [one for one in traces.features if one.role is column.role]
        if not features:
            is_unnamed = damaged.is_nameless and any(one.kind == "unnamed_column" for one in problems)
            is_said = (
                is_unnamed
                or any(one.kind == "ragged" and one.count >= known.samples for one in loud)
                or (column.role in _OF_GPUS and _names(problems, column))
            )
            yield f"no {column.role.value}", _names(loud, column) or is_said
    for p, mine in enumerate(owners):
        if mine is None:
            said = any(
                one.kind in ("too_short", "empty_column") or known.names[p] in one.message for one in loud
            )
            yield f"no {known.names[p]}", said or rows_speak
            continue
        execution = traces.execution(mine)
        place = _places(execution, p, damaged, traces)
        if place is None:
            yield f"{mine} begins at {execution.time[0]} with {len(execution.time)} samples", times_speak
            continue
        missing = set(range(damaged.first or sheet.first, known.samples)) - set(place.tolist())
        unexplained = {i for i in missing if (p, i) not in damaged.rows}
        explained = {
            i for i in unexplained if any((p, i, one.role) in damaged.cells for one in sheet.columns)
        }
        if unexplained - explained:
            yield f"{mine} has no samples {sorted(unexplained - explained)[:5]}", rows_speak
        if explained:
            yield f"{mine} has no samples {sorted(explained)[:5]}", rows_speak
        yield from _value_differences(traces, execution, p, place, damaged, problems)


def _owners(traces: TraceSet, damaged: Damaged) -> list[str | None] | None:
    """The execution of each container; None where they cannot be told."""
    sheet, ids = damaged.sheet, list(traces.ids)
    if damaged.is_nameless and len(ids) == 1 == len(sheet.known.names):
        return [ids[0]]
    parts = damaged.parts or tuple((sheet.executions(name),) for name in sheet.known.names)
    found: list[str | None] = []
    for wanted in parts:
        mine = [
            one
            for one in ids
            if one == wanted[-1] or (len(wanted) > 1 and all(word in one for word in wanted))
        ]
        found.append(mine[0] if len(mine) == 1 else None)
    known = [one for one in found if one]
    return found if known and len(known) == len(set(known)) == len(ids) else None


def _places(execution: Execution, p: int, damaged: Damaged, traces: TraceSet) -> np.ndarray | None:
    """The sample of each time; None where times are not those that are true.

    Clocks that begin anywhere are set so that most values are right.
    """
    known, clock, time = damaged.sheet.known, damaged.sheet.clock, execution.time
    if clock in ("epoch", "day"):
        start = known.start % 86_400 if clock == "day" else known.start
        return _whole((time - start) / known.period, known.samples)
    steps = (time - time[0]) / (1.0 if clock == "rows" else known.period)
    places = [place for k in range(known.samples) if (place := _whole(steps + k, known.samples)) is not None]

    def right(place: np.ndarray) -> int:
        return sum(
            int(
                (
                    np.abs(execution.columns[feature.name] - values_of(known, column.role)[p][place])
                    <= column.error
                ).sum()
            )
            for column in damaged.sheet.lane_columns()
            for feature in traces.features
            if feature.role is column.role
        )

    return max(places, key=right, default=None)


def _whole(place: np.ndarray, samples: int) -> np.ndarray | None:
    whole = np.rint(place).astype(int)
    is_taken = (
        len(whole) and np.abs(place - whole).max() <= 1e-3 and whole.min() >= 0 and whole.max() < samples
    )
    return whole if is_taken else None


def _value_differences(
    traces: TraceSet,
    execution: Execution,
    p: int,
    place: np.ndarray,
    damaged: Damaged,
    problems: Sequence[Problem],
) -> Iterator[tuple[str, bool]]:
    loud = [one for one in problems if one.severity is not Severity.INFO]
    for column in damaged.sheet.lane_columns():
        role = column.role
        feature = next((one for one in traces.features if one.role is role), None)
        if feature is None:
            continue
        values, true = execution.columns[feature.name], values_of(damaged.sheet.known, role)[p][place]
        error = column.error + 1e-9 * np.abs(true)
        differs = ~(np.abs(values - true) <= error)
        # what was taken is held where a row or a cell is not there
        absent = np.array([(p, int(i)) in damaged.rows or (p, int(i), role) in damaged.cells for i in place])
        if role in damaged.gone:
            yield f"{role.value} is read as {values[:3]}, and cannot be known", _names(loud, column)
            continue
        held = np.isnan(values) | np.isin(values, values[~absent]) | (damaged.sheet.first > 0)
        wrong, filled = differs & ~(absent & held), differs & absent & held & (damaged.sheet.first == 0)
        if wrong.any():
            i = int(np.argmax(wrong))
            said = f"{role.value} of {execution.name} at {place[i]} is {values[i]:g}, not {true[i]:g}"
            yield f"{said} ({int(wrong.sum())} of {len(wrong)})", _names(loud, column) or _names_rows(loud)
        if filled.any():
            yield (
                f"{role.value} held at {place[int(np.argmax(filled))]}",
                _names(problems, column) or _names_rows(problems),
            )


_OF_GPUS = (Role.GPU, Role.GPU_MEMORY, Role.GPU_POWER)
"""Which of them are measured differs between GPUs: those that are not are listed, without a warning."""


def _names(problems: Sequence[Problem], column: Column) -> bool:
    """Whether a problem names a column, or what it is."""
    words = (column.name.lower(), *WORDS.get(column.role, ()))
    return any(
        any(word in text.lower() for word in words)
        for one in problems
        for text in (one.message, one.column or "")
    )


_ROW_KINDS = frozenset(
    ("ragged", "duplicate_time", "unsorted", "starts_again", "gap", "missing_time", "unparsable_time",
     "other_header", "idle_rows", "quote", "doubtful", "mixed_periods", "counter_reset", "filled", "thinned",
     "irregular", "missing_execution")
)  # fmt: skip


def _names_rows(problems: Sequence[Problem]) -> bool:
    return any(one.kind in _ROW_KINDS for one in problems)
