"""Several files in a folder that are read as one: joined by execution and time (see `core.traces.joining`).

Each file is recognised by itself. Together they look like one table with the columns ``execution``,
``timestamp``, and those of all files; a mapping of that table is taken apart again for reading.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.errors import InputError, format_names
from core.store.inspection import JOINED, PREVIEW_ROWS, ColumnInfo, Inspection, inspect_one, part_of, read_one
from core.store.preview import EXECUTION, TIME, Look, look, names_of, of_file, part_of_join, tried
from core.traces.cleaning import finished, record, require, resampled
from core.traces.joining import Joined, join
from core.traces.joining.stacks import clock_of, differing, stem
from core.traces.mapping import UNKNOWN, ColumnMapping, MappedColumn
from core.traces.model import ROLE_NAMES, Resampling, Role
from core.traces.validation import ProblemLog, Report, problem
from core.units import Unit, format_duration, format_value, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from core.traces.joining import Part
    from core.traces.model import TraceSet
    from core.traces.validation import Problem

    Progress = Callable[[float, str], None]

MOST_FILES = 200


def files_in(folder: Path) -> tuple[Path, ...]:
    """The files of a folder that are joined, by name.

    Raises
    ------
    InputError
        If there is none, or more than `MOST_FILES`.
    """
    found = tuple(sorted(one for one in folder.iterdir() if one.is_file() and not one.name.startswith(".")))
    if not found:
        raise InputError(
            f"“{folder.name}” is a folder without files.", "Choose a file, or a folder of files."
        )
    if len(found) > MOST_FILES:
        raise InputError(
            f"“{folder.name}” has {len(found):,} files; at most {MOST_FILES} are joined.",
            "Put what belongs together into fewer files.",
        )
    return found


def inspect_several(folder: Path) -> Inspection:
    """Look at the beginnings of files that are to be joined.

    Raises
    ------
    InputError
        If one of them cannot be read, or they do not belong together; names the file.
    """
    looks = [look(path) for path in files_in(folder)]
    joined, names = tried(looks), names_of(looks)
    mapping = _suggested(looks, names)
    sizes = [one.inspection.n_rows for one in looks]
    return Inspection(
        layout=JOINED,
        label=f"{len(looks)} files joined by execution and time",
        mapping=mapping,
        reasons=("", *_reasons(looks, joined)),
        columns=_columns(looks, names, joined.traces),
        rows_preview=_preview(joined.traces, mapping),
        size=sum(one.inspection.size for one in looks),
        n_rows=None if None in sizes else sum(size or 0 for size in sizes),
        problems=tuple(
            problem for one in looks for problem in _prefixed(one.path.name, one.inspection.problems)
        ),
        questions=tuple(
            replace(
                question,
                column=TIME if question.time else called.get(question.column, question.column),
                sentence=f"{one.path.name}: {question.sentence}",
                candidates=tuple(called.get(name, name) for name in question.candidates),
            )
            for one, called in zip(looks, names, strict=True)
            for question in one.inspection.questions
        ),
    )


def _suggested(looks: Sequence[Look], names: Sequence[Mapping[str, str]]) -> ColumnMapping:
    """The mapping of the table that the files are together; CPU and memory are those of the first file."""
    features: dict[str, MappedColumn] = {}
    for one, called in zip(looks, names, strict=True):
        for mapped in one.mapping.features:
            taken = {known.role for known in features.values()}
            role = Role.OTHER if mapped.role in taken & {Role.CPU, Role.MEMORY} else mapped.role
            features.setdefault(
                called[mapped.column], MappedColumn(called[mapped.column], role, mapped.unit_key)
            )
    mappings = [one.mapping for one in looks]
    attributes = dict.fromkeys(name for one in mappings for name in one.attributes)
    timed = (TIME,) if any(one.time in one.assumed for one in mappings) else ()
    assumed = (
        called[name]
        for one, called in zip(mappings, names, strict=True)
        for name in one.assumed
        if name in called
    )
    return ColumnMapping(
        features=tuple(features.values()),
        execution=EXECUTION,
        time=TIME,
        time_unit=_time_unit(mappings),
        resampling=Resampling.NONE
        if all(one.resampling is Resampling.NONE for one in mappings)
        else Resampling.HOLD,
        attributes=tuple(
            name for name in attributes if name not in features and name not in (EXECUTION, TIME)
        ),
        assumed=tuple(dict.fromkeys((*timed, *assumed))),
    )


def _time_unit(mappings: Sequence[ColumnMapping]) -> str:
    """The unit of time that a person may change: the one that is not known, else the first file's."""
    units = [one.time_unit for one in mappings]
    return UNKNOWN if UNKNOWN in units else units[0]


def _reasons(looks: Sequence[Look], joined: Joined) -> list[str]:
    """What each file brings, and what is known of how they fit."""
    said = []
    for one in looks:
        roles = [ROLE_NAMES[f.role] for f in one.mapping.features if f.role in (Role.CPU, Role.MEMORY)]
        others = len(one.mapping.features) - len(roles)
        parts = roles + ([plural(others, "further column")] if others else [])
        said.append(f"{one.path.name}: {' and '.join(parts)}.")
    said += [
        one.message for one in joined.problems if one.kind in ("named_by_files", "named_by_pods", "goes_on")
    ]
    return said if len(said) <= 8 else [*said[:6], f"… and {len(said) - 6} more."]


def _columns(
    looks: Sequence[Look], names: Sequence[Mapping[str, str]], traces: TraceSet
) -> tuple[ColumnInfo, ...]:
    found = {
        EXECUTION: ColumnInfo(EXECUTION, "text", traces.ids[:3]),
        TIME: ColumnInfo(TIME, "time", ()),
    }
    for one, called in zip(looks, names, strict=True):
        for column in one.inspection.columns:
            name = called.get(column.name, column.name)
            if column.name in called or column.name in one.mapping.attributes:
                found.setdefault(name, replace(column, name=name))
    return tuple(found.values())


def _preview(traces: TraceSet, mapping: ColumnMapping) -> tuple[tuple[str, ...], ...]:
    """The first joined rows, in the order of the columns: quantities with their units."""
    ends = traces.offsets[1:]
    rows = []
    for i in range(min(PREVIEW_ROWS, traces.n_samples)):
        owner = int((ends <= i).sum())
        values = {
            feature.name: _shown(float(column[i]), feature.unit)
            for feature, column in zip(traces.features, traces.columns, strict=True)
        }
        values |= {key: texts[owner] for key, texts in traces.attributes.items()}
        known = [
            values.get(name, "") for name in (*(f.column for f in mapping.features), *mapping.attributes)
        ]
        rows.append((traces.ids[owner], _moment(float(traces.time[i])), *known))
    return tuple(rows)


def _shown(value: float, unit: Unit) -> str:
    return f"{value:.10g}" if unit is Unit.PLAIN else format_value(value, unit)


def _moment(seconds: float) -> str:
    if 1e8 < seconds < 1e11:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return format_duration(seconds)


def _prefixed(file: str, problems: Sequence[Problem]) -> list[Problem]:
    """Problems that say in which file they were found."""
    return [replace(one, message=f"{file}: {one.message}") for one in problems]


def read_several(
    folder: Path, mapping: ColumnMapping | None, progress: Progress | None
) -> tuple[TraceSet, Report]:
    """Read files and join them by execution and time.

    Raises
    ------
    InputError
        If a file cannot be read, or they do not belong together; names the file.
    UnusableError
        If no execution is left; its report says why.
    """
    paths = files_in(folder)
    if mapping is None:
        mapping = _required(inspect_several(folder).mapping)
    if mapping.unknown:
        mapping.require(mapping.columns)
    parts, reports = [], list[tuple[str, Report]]()
    own, clocks = _taken_apart(paths, mapping), dict[str, str]()
    for i, (path, (mine, names, found)) in enumerate(own.items()):
        tell = part_of(progress, 0.9 * i / len(own), 0.9 * (i + 1) / len(own))
        try:
            traces, report = read_one(path, mine, tell, record)
        except InputError as error:
            raise of_file(path, error) from error
        parts.append(part_of_join(path.name, traces, report, names, mine.execution is None))
        reports.append((path.name, report))
        clocks[path.name] = clock_of(mine.time_unit, _cells(found, mine.time), float(traces.time.min()))
    said = [one for file, report in reports for one in _prefixed(file, report.problems)]
    said += _not_read([path.name for path in paths if path not in own])
    rows_read = sum(report.rows_read for _, report in reports)
    return _joined(parts, mapping, said, rows_read, clocks)


def _required(mapping: ColumnMapping | None) -> ColumnMapping:
    if mapping is None:
        raise InputError("None of the files contains numbers.", "Choose files that hold measurements.")
    return mapping


def _taken_apart(
    paths: Sequence[Path], mapping: ColumnMapping
) -> dict[Path, tuple[ColumnMapping, dict[str, str], Inspection]]:
    """Per file with a mapped column, its mapping, what its features are called in all, and its look."""
    recognised = {path: inspect_one(path) for path in paths}
    suggestions = {path: _required(found.mapping) for path, found in recognised.items()}
    common = _time_unit(list(suggestions.values()))
    own: dict[Path, tuple[ColumnMapping, dict[str, str], Inspection]] = {}
    known = set[str]()
    for path, suggestion in suggestions.items():
        header = [column.name for column in recognised[path].columns]
        names = _called(header, path, mapping)
        known |= set(names.values()) | set(header)
        features = tuple(
            replace(one, column=name)
            for one in mapping.features
            for name, called in names.items()
            if called == one.column
        )
        if features:
            open_ = suggestion.time_unit in (UNKNOWN, common)
            mine = replace(
                suggestion,
                features=features,
                execution=suggestion.execution if mapping.execution else None,
                execution_parts=suggestion.execution_parts if mapping.execution else (),
                time_unit=mapping.time_unit if open_ else suggestion.time_unit,
                attributes=tuple(name for name in mapping.attributes if name in header),
                cores=mapping.cores,
                memory_bytes=mapping.memory_bytes,
                min_samples=1,
                max_gap=mapping.max_gap,
                assumed=(),
            )
            own[path] = (mine, names, recognised[path])
    _check(mapping, known)
    return own


def _cells(found: Inspection, name: str | None) -> list[str]:
    """The first cells of a column, as they are written."""
    place = [column.name for column in found.columns].index(name or "")
    return [row[place] for row in found.rows_preview if place < len(row)]


def _called(header: Sequence[str], path: Path, mapping: ColumnMapping) -> dict[str, str]:
    """What the columns of a file are called in the mapping of all."""
    wanted = {one.column for one in mapping.features}
    names = {}
    for name in header:
        labelled = (f"{name} ({label})" for label in (stem(path.name), path.name))
        called = next((one for one in labelled if one in wanted), name)
        if called in wanted:
            names[name] = called
    return names


def _check(mapping: ColumnMapping, known: set[str]) -> None:
    """Check that the mapping is one of files that are joined."""
    if mapping.execution not in (None, EXECUTION) or mapping.time != TIME or mapping.execution_parts:
        raise InputError(
            "Execution and time of joined files are those that were recognised in each of them.",
            "Import a file alone to choose its columns of execution and time.",
        )
    missing = [name for name in mapping.columns if name not in known | {EXECUTION, TIME}]
    if missing:
        raise InputError(f"None of the files has a column {format_names(missing)}.", "Change the mapping.")


def _not_read(files: Sequence[str]) -> list[Problem]:
    return [
        problem("file_unused", f"{file} was not read: none of its columns is in the mapping.", count=1)
        for file in files
    ]


def _joined(
    parts: Sequence[Part],
    mapping: ColumnMapping,
    said: Sequence[Problem],
    rows_read: int,
    clocks: Mapping[str, str],
) -> tuple[TraceSet, Report]:
    """The set of what was read, resampled, and the report on all of it."""
    log = ProblemLog()
    recorded = sum(part.traces.n_samples for part in parts)
    if mapping.period is not None and mapping.resampling is not Resampling.NONE:
        parts = [replace(part, traces=resampled(part.traces, mapping, log)) for part in parts]
    made = join(parts)
    samples = sum(part.traces.n_samples for part in parts)
    traces, kept = finished(made.traces, mapping, log)
    odd = differing(clocks) if made.weight > 1 else ()
    problems = (*said, *made.problems, *odd, *log.problems)
    rows_kept = min(round(kept * made.weight * recorded / samples), recorded)
    report = Report(problems, rows_read, rows_kept, traces.n_executions)
    require(traces.n_executions > 0, log, rows_read)
    return traces, report
