"""Several files in a folder that are read as one: joined by execution and time (see `core.reading.joining`).

Each file is recognised by itself. Together they look like one table with the columns ``execution``,
``timestamp``, and those of all files; a mapping of that table is taken apart again for reading.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.errors import InputError, format_names
from core.progress_reporting import scale_progress
from core.reading.cleaning import build_recorded_set, finish_trace_set, require_usable, resample_set
from core.reading.inspection import (
    JOINED,
    PREVIEW_ROWS,
    ColumnInfo,
    Inspection,
    inspect_single_file,
    read_single_file,
)
from core.reading.joining import JoinedFiles, find_clock, find_clock_differences, join_files, strip_endings
from core.reading.mapping import UNKNOWN, ColumnMapping, MappedColumn
from core.reading.preview import (
    EXECUTION,
    TIME,
    FilePreview,
    join_previews,
    make_file_part,
    name_features,
    name_file_in_error,
    preview_file,
)
from core.traces.model import ROLE_NAMES, Resampling, Role
from core.traces.validation import ProblemLog, Report, problem
from core.units import Unit, format_duration, format_value, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from core.progress_reporting import Progress
    from core.reading.joining import FilePart
    from core.traces.model import TraceSet
    from core.traces.validation import Problem

MAX_FILES = 200


def list_files(folder: Path) -> tuple[Path, ...]:
    """List the files of a folder by name.

    Raises InputError if there is none, or more than `MAX_FILES`.
    """
    files = tuple(sorted(one for one in folder.iterdir() if one.is_file() and not one.name.startswith(".")))
    if not files:
        raise InputError(
            f"“{folder.name}” is a folder without files.", "Choose a file, or a folder of files."
        )
    if len(files) > MAX_FILES:
        raise InputError(
            f"“{folder.name}” has {len(files):,} files; at most {MAX_FILES} are joined.",
            "Put their rows into fewer files.",
        )
    return files


def inspect_folder(folder: Path) -> Inspection:
    """Inspect the beginnings of the files of a folder as one joined table.

    Raises InputError if a file cannot be read, or the files do not belong together.
    """
    previews = [preview_file(path) for path in list_files(folder)]
    joined, names = join_previews(previews), name_features(previews)
    mapping = _suggest_mapping(previews, names)
    sizes = [one.inspection.n_rows for one in previews]
    return Inspection(
        layout=JOINED,
        label=f"{len(previews)} files joined by execution and time",
        mapping=mapping,
        reasons=("", *_reasons(previews, joined)),
        columns=_columns(previews, names, joined.traces),
        rows_preview=_preview(joined.traces, mapping),
        size=sum(one.inspection.size for one in previews),
        n_rows=None if None in sizes else sum(size or 0 for size in sizes),
        problems=tuple(
            problem for one in previews for problem in _prefix_file(one.path.name, one.inspection.problems)
        ),
        questions=tuple(
            replace(
                question,
                column=TIME if question.time else names_in_all.get(question.column, question.column),
                sentence=f"{one.path.name}: {question.sentence}",
                candidates=tuple(names_in_all.get(name, name) for name in question.candidates),
            )
            for one, names_in_all in zip(previews, names, strict=True)
            for question in one.inspection.questions
        ),
    )


def _suggest_mapping(previews: Sequence[FilePreview], names: Sequence[Mapping[str, str]]) -> ColumnMapping:
    """Suggest the mapping of the joined table; the first file's CPU and memory keep their roles."""
    features: dict[str, MappedColumn] = {}
    for one, names_in_all in zip(previews, names, strict=True):
        for mapped in one.mapping.features:
            used_roles = {feature.role for feature in features.values()}
            role = Role.OTHER if mapped.role in used_roles & {Role.CPU, Role.MEMORY} else mapped.role
            features.setdefault(
                names_in_all[mapped.column], MappedColumn(names_in_all[mapped.column], role, mapped.unit_key)
            )
    mappings = [one.mapping for one in previews]
    attributes = dict.fromkeys(name for one in mappings for name in one.attributes)
    assumed_time = (TIME,) if any(one.time in one.assumed for one in mappings) else ()
    assumed = (
        names_in_all[name]
        for one, names_in_all in zip(mappings, names, strict=True)
        for name in one.assumed
        if name in names_in_all
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
        assumed=tuple(dict.fromkeys((*assumed_time, *assumed))),
    )


def _time_unit(mappings: Sequence[ColumnMapping]) -> str:
    """Return the unit of time to edit: the unknown one, else the first file's."""
    units = [one.time_unit for one in mappings]
    return UNKNOWN if UNKNOWN in units else units[0]


def _reasons(previews: Sequence[FilePreview], joined: JoinedFiles) -> list[str]:
    """List the columns of each file and how the files were matched."""
    problems = []
    for one in previews:
        roles = [ROLE_NAMES[f.role] for f in one.mapping.features if f.role in (Role.CPU, Role.MEMORY)]
        others = len(one.mapping.features) - len(roles)
        parts = roles + ([plural(others, "further column")] if others else [])
        problems.append(f"{one.path.name}: {' and '.join(parts)}.")
    problems += [
        one.message for one in joined.problems if one.kind in ("named_by_files", "named_by_pods", "goes_on")
    ]
    return problems if len(problems) <= 8 else [*problems[:6], f"… and {len(problems) - 6} more."]


def _columns(
    previews: Sequence[FilePreview], names: Sequence[Mapping[str, str]], traces: TraceSet
) -> tuple[ColumnInfo, ...]:
    columns = {EXECUTION: ColumnInfo(EXECUTION, "text", traces.ids[:3]), TIME: ColumnInfo(TIME, "time", ())}
    for one, names_in_all in zip(previews, names, strict=True):
        for column in one.inspection.columns:
            name = names_in_all.get(column.name, column.name)
            if column.name in names_in_all or column.name in one.mapping.attributes:
                columns.setdefault(name, replace(column, name=name))
    return tuple(columns.values())


def _preview(traces: TraceSet, mapping: ColumnMapping) -> tuple[tuple[str, ...], ...]:
    """Return the first joined rows in the order of the columns, with units."""
    ends = traces.offsets[1:]
    rows = []
    for i in range(min(PREVIEW_ROWS, traces.n_samples)):
        owner = int((ends <= i).sum())
        values = {
            feature.name: _format_cell(float(column[i]), feature.unit)
            for feature, column in zip(traces.features, traces.columns, strict=True)
        }
        values |= {key: texts[owner] for key, texts in traces.attributes.items()}
        cells = [
            values.get(name, "") for name in (*(f.column for f in mapping.features), *mapping.attributes)
        ]
        rows.append((traces.ids[owner], _format_time(float(traces.time[i])), *cells))
    return tuple(rows)


def _format_cell(value: float, unit: Unit) -> str:
    return f"{value:.10g}" if unit is Unit.PLAIN else format_value(value, unit)


def _format_time(seconds: float) -> str:
    if 1e8 < seconds < 1e11:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return format_duration(seconds)


def _prefix_file(file: str, problems: Sequence[Problem]) -> list[Problem]:
    """Return problems with the name of their file."""
    return [replace(one, message=f"{file}: {one.message}") for one in problems]


def read_folder(folder: Path, mapping: ColumnMapping | None, progress: Progress) -> tuple[TraceSet, Report]:
    """Read files and join them by execution and time.

    Raises InputError if a file cannot be read, or the files do not belong together; UnusableError if no
    execution remains; its report says why.
    """
    paths = list_files(folder)
    if mapping is None:
        mapping = _require_mapping(inspect_folder(folder).mapping)
    if mapping.unknown:
        mapping.require(mapping.columns)
    parts, reports = [], list[tuple[str, Report]]()
    mappings_by_file, clocks = _split_mapping(paths, mapping), dict[str, str]()
    for i, (path, (file_mapping, names, inspection)) in enumerate(mappings_by_file.items()):
        file_progress = scale_progress(
            progress, 0.9 * i / len(mappings_by_file), 0.9 * (i + 1) / len(mappings_by_file)
        )
        try:
            traces, report = read_single_file(path, file_mapping, file_progress, build_recorded_set)
        except InputError as error:
            raise name_file_in_error(path, error) from error
        parts.append(make_file_part(path.name, traces, report, names, file_mapping.execution is None))
        reports.append((path.name, report))
        clocks[path.name] = find_clock(
            file_mapping.time_unit, _preview_cells(inspection, file_mapping.time), float(traces.time.min())
        )
    problems = [one for file, report in reports for one in _prefix_file(file, report.problems)]
    problems += _report_unused([path.name for path in paths if path not in mappings_by_file])
    rows_read = sum(report.rows_read for _, report in reports)
    return _finish_join(parts, mapping, problems, rows_read, clocks)


def _require_mapping(mapping: ColumnMapping | None) -> ColumnMapping:
    if mapping is None:
        raise InputError("None of the files contains numbers.", "Choose files that hold measurements.")
    return mapping


def _split_mapping(
    paths: Sequence[Path], mapping: ColumnMapping
) -> dict[Path, tuple[ColumnMapping, dict[str, str], Inspection]]:
    """Split the mapping by file: each file's mapping, its columns' names in the join, its inspection."""
    recognised = {path: inspect_single_file(path) for path in paths}
    suggestions = {path: _require_mapping(inspection.mapping) for path, inspection in recognised.items()}
    common = _time_unit(list(suggestions.values()))
    mappings_by_file: dict[Path, tuple[ColumnMapping, dict[str, str], Inspection]] = {}
    column_names = set[str]()
    for path, suggestion in suggestions.items():
        header = [column.name for column in recognised[path].columns]
        names = _rename_columns(header, path, mapping)
        column_names |= set(names.values()) | set(header)
        features = tuple(
            replace(one, column=name)
            for one in mapping.features
            for name, names_in_all in names.items()
            if names_in_all == one.column
        )
        if features:
            follows_common = suggestion.time_unit in (UNKNOWN, common)
            file_mapping = replace(
                suggestion,
                features=features,
                execution=suggestion.execution if mapping.execution else None,
                execution_parts=suggestion.execution_parts if mapping.execution else (),
                time_unit=mapping.time_unit if follows_common else suggestion.time_unit,
                attributes=tuple(name for name in mapping.attributes if name in header),
                cores=mapping.cores,
                memory_bytes=mapping.memory_bytes,
                min_samples=1,
                max_gap=mapping.max_gap,
                assumed=(),
            )
            mappings_by_file[path] = (file_mapping, names, recognised[path])
    _check_mapping(mapping, column_names)
    return mappings_by_file


def _preview_cells(inspection: Inspection, name: str | None) -> list[str]:
    """Return the first cells of a column as written."""
    place = [column.name for column in inspection.columns].index(name or "")
    return [row[place] for row in inspection.rows_preview if place < len(row)]


def _rename_columns(header: Sequence[str], path: Path, mapping: ColumnMapping) -> dict[str, str]:
    """Return the names in the joined mapping of the columns of a file."""
    mapped_names = {one.column for one in mapping.features}
    names = {}
    for name in header:
        labelled = (f"{name} ({label})" for label in (strip_endings(path.name), path.name))
        names_in_all = next((one for one in labelled if one in mapped_names), name)
        if names_in_all in mapped_names:
            names[name] = names_in_all
    return names


def _check_mapping(mapping: ColumnMapping, column_names: set[str]) -> None:
    """Check that the mapping is of joined files."""
    if mapping.execution not in (None, EXECUTION) or mapping.time != TIME or mapping.execution_parts:
        raise InputError(
            "Joined files use the columns of execution and time recognised in each file.",
            "Import a file alone to choose its columns of execution and time.",
        )
    missing = [name for name in mapping.columns if name not in column_names | {EXECUTION, TIME}]
    if missing:
        raise InputError(f"None of the files has a column {format_names(missing)}.", "Change the mapping.")


def _report_unused(files: Sequence[str]) -> list[Problem]:
    return [
        problem("file_unused", f"{file} was not read: none of its columns is in the mapping.", count=1)
        for file in files
    ]


def _finish_join(
    parts: Sequence[FilePart],
    mapping: ColumnMapping,
    problems: Sequence[Problem],
    rows_read: int,
    clocks: Mapping[str, str],
) -> tuple[TraceSet, Report]:
    """Join, resample and report the samples of all files."""
    log = ProblemLog()
    recorded = sum(part.traces.n_samples for part in parts)
    if mapping.period is not None and mapping.resampling is not Resampling.NONE:
        parts = [replace(part, traces=resample_set(part.traces, mapping, log)) for part in parts]
    joined_files = join_files(parts)
    samples = sum(part.traces.n_samples for part in parts)
    traces, n_kept = finish_trace_set(joined_files.traces, mapping, log)
    clock_problems = find_clock_differences(clocks) if joined_files.weight > 1 else ()
    problems = (*problems, *joined_files.problems, *clock_problems, *log.problems)
    rows_kept = min(round(n_kept * joined_files.weight * recorded / samples), recorded)
    report = Report(problems, rows_read, rows_kept, traces.n_executions)
    require_usable(traces.n_executions > 0, log, rows_read)
    return traces, report
